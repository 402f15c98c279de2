//! Rules that a scheduler must keep, checked from outside.
//!
//! They share nothing with engine and plugins. What a scheduler may know is kept in a [`Ledger`] of
//! its own, from the events that were delivered to it; what a placement must satisfy is written
//! down a second time in [`rules`]. Every binding is checked in every run ([`check_binding`]); what
//! looks at everything ([`Inspector`]) runs in the swarm and in tests.

pub(crate) mod rules;

mod alignment;
pub(crate) mod company;
mod evictions;
mod fabric;
mod gangs;
mod gpus;
mod hardware_tiers;
mod insides;
mod inspector;
mod kinds;
mod ledger;
mod members;
mod order;
mod roster;
mod spread;
mod tiers;
mod told;
mod trees;
mod volumes;
mod work;

use std::fmt;

use model::PodFacts;

pub(crate) use alignment::Alignment;
use company::Scene;
pub(crate) use evictions::{Eviction, check_eviction, check_preemption, helps};
pub(crate) use fabric::Networked;
pub(crate) use gangs::{
    Patience, check_disband, check_whole, is_partial, is_partial_tree, is_ready, witness,
};
pub(crate) use gpus::{check_given_gpus, check_gpus};
pub(crate) use hardware_tiers::laws;
pub(crate) use inspector::{Inspector, takes_one, waits_with_others};
pub(crate) use kinds::Kinds;
pub(crate) use ledger::{Given, Ledger, Spot};
pub(crate) use order::Order;
pub(crate) use roster::{Gang, GangKey, SeatFacts, gang_of};
use rules::Objection;
pub(crate) use spread::check_spread;
pub(crate) use tiers::{TIER, Tiers};
pub(crate) use told::check_told;
#[cfg(test)]
pub(crate) use volumes::KeptPod;
pub(crate) use volumes::{Kept, check_commits, check_given, check_prepared};
pub(crate) use work::Before;

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A decision names something that does not exist.
    Unknown {
        /// What it names.
        name: String,
    },
    /// A pod was given a node though it had one, was gone, or was kept back.
    NotWaiting {
        /// The pod.
        pod: String,
        /// The node it was given.
        node: String,
        /// What it was instead of waiting.
        state: &'static str,
    },
    /// A node was given more than it has.
    OverCapacity {
        /// The pod that was too much.
        pod: String,
        /// The node.
        node: String,
        /// What it lacks.
        resource: String,
    },
    /// What is taken inside a node is not what pods take.
    Inside {
        /// The node.
        node: String,
        /// What is wrong.
        why: String,
    },
    /// A kubelet refused a pod, and the scheduler that placed it knew all that it takes to
    /// foresee that.
    Unaligned {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
    },
    /// A node got more than it has, by bindings of ours alone.
    Overfull {
        /// The pod that was too much.
        pod: String,
        /// The node.
        node: String,
    },
    /// A pod was given a node that its constraints exclude.
    WrongNode {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
        /// Which constraint.
        why: &'static str,
    },
    /// A pod of a service was given a node in a zone that has more of its like than another one.
    Crowded {
        /// The pod.
        pod: String,
        /// The node.
        node: String,
        /// A node of the other zone.
        other: String,
        /// How many of its like the two zones have.
        counts: (usize, usize),
    },
    /// A waiting pod that nobody will ever try, or a pod that is gone and is still counted.
    Lost {
        /// The pod, or what is counted.
        pod: String,
        /// What is known of it.
        state: String,
    },
    /// A unit is parked though a node takes it.
    Asleep {
        /// The pod.
        pod: String,
        /// The node that takes it.
        node: String,
    },
    /// What is counted as taken of a node is not what its pods take.
    Miscounted {
        /// The node.
        node: String,
        /// Of what.
        resource: String,
        /// What is counted.
        counted: i64,
        /// What its pods take.
        taken: i64,
    },
    /// Pods were to be evicted for another one, and must not be.
    Eviction {
        /// For which pod.
        pod: String,
        /// From which node.
        node: String,
        /// Why not.
        why: String,
    },
    /// A pod was evicted for a plan that did not stand any more.
    Senseless {
        /// For which pod.
        pod: String,
        /// From which node.
        node: String,
        /// Who was evicted.
        victim: String,
    },
    /// Evictions for a pod were planned again and again, and nothing happened between.
    Restless {
        /// For which pod.
        pod: String,
        /// How often.
        plans: usize,
    },
    /// A gang is not treated as one.
    Gang {
        /// The gang, with its namespace.
        gang: String,
        /// What is wrong.
        why: String,
    },
    /// A pod is served as another tier than what was delivered makes it.
    Tier {
        /// The pod.
        pod: String,
        /// How it is served.
        given: &'static str,
        /// How it should be.
        right: &'static str,
    },
    /// An event cost more than what it is about explains.
    Overworked {
        /// The event.
        event: String,
        /// How much the scheduler looked at.
        looks: u64,
        /// How much it may look at.
        most: u64,
    },
    /// A unit had its turn, and it was not its turn.
    Order {
        /// A pod of the unit that was tried.
        tried: String,
        /// A pod of the unit that should have been.
        first: String,
        /// Why that one.
        why: String,
    },
    /// A pod was told what was found for another one, and it cannot stand in line with that one.
    Line {
        /// The pod.
        pod: String,
        /// The one that was tried.
        head: String,
        /// Why not.
        why: &'static str,
    },
    /// Volumes of a pod are not treated as they must be.
    Volume {
        /// The pod.
        pod: String,
        /// What is wrong.
        why: String,
    },
    /// What a waiting pod was told is not so.
    Untrue {
        /// The pod.
        pod: String,
        /// What it was told, and what is so.
        text: String,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => write!(out, "{name} does not exist"),
            Self::NotWaiting { pod, node, state } => {
                write!(out, "pod {pod} was given node {node}, but it was {state}")
            }
            Self::OverCapacity { pod, node, resource } => {
                write!(out, "pod {pod} was given node {node}, which has not enough {resource} left")
            }
            Self::Inside { node, why } => write!(out, "inside node {node}: {why}"),
            Self::Unaligned { pod, node } => {
                write!(out, "pod {pod} was given node {node}, whose kubelet refuses it")
            }
            Self::Overfull { pod, node } => {
                write!(out, "node {node} had no room for pod {pod} by the time it was bound")
            }
            Self::WrongNode { pod, node, why } => {
                write!(out, "pod {pod} was given node {node}, but {why}")
            }
            Self::Crowded { pod, node, other, counts: (here, there) } => write!(
                out,
                "pod {pod} was given node {node}, whose zone has {here} of its like, and the zone \
                 of node {other} has {there}"
            ),
            Self::Lost { pod, state } => write!(out, "{pod} is lost: {state}"),
            Self::Asleep { pod, node } => {
                write!(out, "pod {pod} is parked, but node {node} takes it: nobody woke it")
            }
            Self::Miscounted { node, resource, counted, taken } => {
                write!(
                    out,
                    "{counted} of {resource} is counted on node {node}, but its pods take {taken}"
                )
            }
            Self::Eviction { pod, node, why } => {
                write!(out, "pods were evicted from node {node} for pod {pod}, but {why}")
            }
            Self::Senseless { pod, node, victim } => {
                write!(out, "{victim} was evicted for {pod}, which does not wait for node {node}")
            }
            Self::Restless { pod, plans } => {
                write!(out, "{plans} times pods were to be evicted for {pod}, without any change")
            }
            Self::Gang { gang, why } => write!(out, "gang {gang}: {why}"),
            Self::Tier { pod, given, right } => {
                write!(out, "pod {pod} is {given}, but what was delivered makes it {right}")
            }
            Self::Overworked { event, looks, most } => {
                write!(out, "{looks} looks for an event that is worth {most} at most: {event}")
            }
            Self::Order { tried, first, why } => {
                write!(out, "{tried} was tried though it was the turn of {first}: {why}")
            }
            Self::Line { pod, head, why } => {
                write!(out, "pod {pod} was told what was found for pod {head}: {why}")
            }
            Self::Volume { pod, why } => write!(out, "volumes of pod {pod}: {why}"),
            Self::Untrue { pod, text } => write!(out, "pod {pod} was told {text}"),
        }
    }
}

impl std::error::Error for Violation {}

/// Checks a binding that was decided, before it is carried out.
pub(crate) fn check_binding(ledger: &Ledger, uid: &str, node: &str) -> Result<(), Violation> {
    let known = ledger.pod(uid);
    let known = known.ok_or_else(|| Violation::Unknown { name: format!("pod {uid}") })?;
    let facts = known.facts();
    let pod = || facts.key.name.to_string();
    if let Some(state) = not_waiting(&known.spot, facts) {
        return Err(Violation::NotWaiting { pod: pod(), node: node.to_owned(), state });
    }
    let found = ledger.node(node);
    let (node, _) = found.ok_or_else(|| Violation::Unknown { name: format!("node {node}") })?;
    let wrong = |why| Violation::WrongNode { pod: pod(), node: node.name.clone(), why };
    if rules::unsupported(&facts.spec).is_some() {
        return Err(wrong("it asks for something that is not supported"));
    }
    if !ledger.may_be_placed(facts) {
        return Err(wrong("by what it says of gangs it has to wait"));
    }
    let objection = gpus::objection(ledger, facts, node);
    if let Some(why) = objection.or_else(|| fabric::objection(ledger, facts, node)) {
        return Err(wrong(why));
    }
    gangs::check_begin(ledger, facts)?;
    let objections = company::objections(&Scene::of(ledger), facts, node);
    let Some(objection) = objections.into_iter().next() else { return Ok(()) };
    let lacks =
        |resource| Violation::OverCapacity { pod: pod(), node: node.name.clone(), resource };
    Err(match objection {
        Objection::NotNamed => wrong("it is for another node"),
        Objection::Closed => wrong("the node is closed"),
        Objection::Tainted => wrong("it does not tolerate a taint of the node"),
        Objection::Affinity => wrong("its selector or affinity excludes the node"),
        Objection::Feature => wrong("the node lacks a feature it needs"),
        Objection::SpreadLabel => wrong("the node lacks a label its pods are spread by"),
        Objection::SpreadSkew => wrong("too many of its pods are in the node's domain"),
        Objection::NotNear => wrong("no pod it must be near is in the node's domain"),
        Objection::NotFar => wrong("a pod it must be far from is in the node's domain"),
        Objection::Unwelcome => wrong("a pod in the node's domain wants it to be far"),
        Objection::Volume(word) => wrong(word),
        Objection::Tier("NodeReservedForTier") => wrong("it is reserved for other tenants"),
        Objection::Tier("AcceleratorNodeReserved") => {
            wrong("it has accelerators, and they are kept")
        }
        Objection::Tier(_) => wrong("its tenant may not use hardware of that tier"),
        Objection::Slow => wrong("the node's network is not for it"),
        Objection::Port => lacks("host ports".to_owned()),
        Objection::Pods => lacks("pods".to_owned()),
        Objection::Lack { resource, .. } => lacks(resource),
    })
}

/// Checks that all claims of a pod have their volumes, which is bound at once.
pub(crate) fn check_needs_nothing(ledger: &Ledger, uid: &str) -> Result<(), Violation> {
    let facts = ledger.pod(uid).map(ledger::Known::facts);
    let names = facts.into_iter().flat_map(|pod| {
        pod.volumes.iter().filter_map(|it| Some(model::claim_key(&pod.key.namespace, it.claim()?)))
    });
    for key in names {
        let claim = ledger.storage().claim(&key);
        if claim.is_none_or(|claim| claim.volume.is_empty() || !claim.is_bind_completed) {
            let why = format!("it is bound, and claim {key} has no volume yet");
            return Err(Violation::Volume { pod: uid.to_owned(), why });
        }
    }
    Ok(())
}

/// What a pod is instead of waiting for a node.
fn not_waiting(spot: &Spot, facts: &PodFacts) -> Option<&'static str> {
    match spot {
        Spot::Assumed(..) => Some("on its way to a node"),
        Spot::Bound(_) => Some("on a node"),
        Spot::Waiting if facts.rest.is_terminating => Some("being deleted"),
        Spot::Waiting if !facts.rest.gates.is_empty() => Some("kept back by a gate"),
        Spot::Waiting => None,
    }
}
