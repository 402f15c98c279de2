//! Evictions, held against the plain rules: who may be evicted for whom, that it is needed, and
//! that it helps.
//!
//! Pods that leave anyway are not named in a plan, though it may count on them. So a plan must make
//! room when all of them are gone, and must not be larger than needed when all of them stay.

use model::{NodeFacts, PodFacts};

use super::company::{self, Scene};
use super::ledger::{Known, Ledger, Place, Spot};
use super::roster::{Gang, gang_of};
use super::told::{self, Allowed};
use super::{Violation, not_waiting};

/// Pods that are evicted for another one: uids, and the name of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Eviction {
    pub(crate) pod: Box<str>,
    pub(crate) node: Box<str>,
    pub(crate) victims: Vec<Box<str>>,
    /// Pods for which the node is not proposed any more.
    pub(crate) outranked: Vec<Box<str>>,
}

/// Checks evictions that were decided, before they are carried out.
pub(crate) fn check_preemption(ledger: &Ledger, plan: &Eviction) -> Result<(), Violation> {
    let known = ledger.pod(&plan.pod);
    let known = known.ok_or_else(|| Violation::Unknown { name: format!("pod {}", plan.pod) })?;
    let facts = known.facts();
    let wrong = |why: String| {
        let (pod, node) = (facts.key.name.to_string(), plan.node.to_string());
        Err(Violation::Eviction { pod, node, why })
    };
    if let Some(state) = not_waiting(&known.spot, facts) {
        return wrong(format!("it is {state}"));
    }
    if !facts.rest.is_preempting {
        return wrong("it does not want that".to_owned());
    }
    let Some((node, place)) = ledger.node(&plan.node) else {
        return wrong("the node does not exist".to_owned());
    };
    for victim in &plan.victims {
        if let Some(why) = not_a_victim(ledger, facts, &plan.node, victim) {
            return wrong(why);
        }
    }
    for pod in &plan.outranked {
        let other = ledger.pod(pod);
        let is_right = other.is_some_and(|other| {
            other.proposed.as_ref() == Some(&plan.node)
                && other.facts().rest.priority < facts.rest.priority
        });
        if !is_right {
            return wrong(format!("the node was not proposed for {pod}, or for good reasons"));
        }
    }
    let allowed = gang_of(facts).map(|key| told::allowed(ledger, &Gang::of(ledger, &key)));
    let mut allowed = allowed.unwrap_or_else(|| vec![None]);
    allowed.retain(|nodes| is_among(nodes, &plan.node));
    if allowed.is_empty() {
        return wrong("pods of its gang must not be there".to_owned());
    }
    let taker = |nodes: &Allowed<'_>| {
        let mut among = ledger.nodes().filter(|(node, _)| is_among(nodes, &node.name));
        among.find(|(node, _)| surely(ledger, &[], facts, node)).map(|(node, _)| &node.name)
    };
    if let Some(takers) = allowed.iter().map(taker).collect::<Option<Vec<_>>>() {
        return wrong(format!("node {} takes it as it is", takers[0]));
    }
    check_size(ledger, plan, facts, (node, place)).or_else(wrong)?;
    check_budgets(ledger, plan, facts, &allowed).or_else(wrong)
}

fn is_among(nodes: &Allowed<'_>, name: &str) -> bool {
    nodes.as_ref().is_none_or(|nodes| nodes.iter().any(|node| *node.name == *name))
}

/// Why a pod must not be evicted for another one.
fn not_a_victim(ledger: &Ledger, pod: &PodFacts, node: &str, victim: &str) -> Option<String> {
    let Some(known) = ledger.pod(victim) else { return Some(format!("{victim} is not there")) };
    let name = &known.facts().key.name;
    if known.spot.node() != Some(node) {
        return Some(format!("{name} is not on it"));
    }
    if known.facts().rest.priority >= pod.rest.priority {
        return Some(format!("{name} is as important"));
    }
    known.is_leaving().then(|| format!("{name} leaves already"))
}

/// Checks that the pod has room when its victims are gone, and would not if one of them stayed.
fn check_size(
    ledger: &Ledger,
    plan: &Eviction,
    pod: &PodFacts,
    (node, place): (&NodeFacts, &Place),
) -> Result<(), String> {
    let victims: Vec<&str> = plan.victims.iter().map(|victim| &**victim).collect();
    let leaving: Vec<&str> = leaving(ledger, place, pod).collect();
    let has_company = company::matters(ledger, pod);
    // Room that is kept for its gang is given up for the pod when it is tried again.
    let gang = gang_of(pod);
    let has_seats = ledger.seats().iter().any(|seat| Some(&seat.gang) == gang.as_ref());
    // Who else leaves could be missed by a pod that has to be near others.
    if !has_seats && (leaving.is_empty() || !has_company) {
        let gone: Vec<&str> = victims.iter().chain(&leaving).copied().collect();
        if !takes(ledger, &gone, pod, node) {
            return Err("it has no room there even then".to_owned());
        }
    }
    if !pod.spec.near.is_empty() {
        return Ok(());
    }
    for spared in &victims {
        let gone: Vec<&str> = victims.iter().filter(|victim| *victim != spared).copied().collect();
        if surely(ledger, &gone, pod, node) {
            return Err(format!("{spared} could stay"));
        }
    }
    Ok(())
}

/// Checks that no budget is broken where another node has room without that.
fn check_budgets(
    ledger: &Ledger,
    plan: &Eviction,
    pod: &PodFacts,
    allowed: &[Allowed<'_>],
) -> Result<(), String> {
    let is_broken = |victim: &str| {
        let facts = ledger.pod(victim).expect("a victim is known").facts();
        ledger.budgets_of(facts).any(|budget| budget.allowed <= 0)
    };
    let Some(broken) = plan.victims.iter().find(|one| is_broken(one)) else { return Ok(()) };
    // What room means to such a pod depends on who stays.
    if company::matters(ledger, pod) {
        return Ok(());
    }
    let is_allowed = |node: &NodeFacts| allowed.iter().all(|nodes| is_among(nodes, &node.name));
    for (node, place) in ledger.nodes().filter(|(node, _)| is_allowed(node)) {
        let lesser: Vec<&PodFacts> =
            place.pods().filter(|other| other.rest.priority < pod.rest.priority).collect();
        let is_free = |other: &&PodFacts| {
            let mut budgets = ledger.budgets_of(other);
            budgets.all(|budget| usize::try_from(budget.allowed).unwrap_or(0) >= lesser.len())
        };
        let free = lesser.iter().copied().filter(is_free).map(|other| &*other.key.uid);
        if surely(ledger, &free.collect::<Vec<_>>(), pod, node) {
            return Err(format!("the budget of {broken} would be kept on node {}", node.name));
        }
    }
    Ok(())
}

/// Less important pods that leave a node.
fn leaving<'a>(
    ledger: &'a Ledger,
    place: &'a Place,
    pod: &'a PodFacts,
) -> impl Iterator<Item = &'a str> {
    let lesser = place.pods().filter(|other| other.rest.priority < pod.rest.priority);
    let uids = lesser.map(|other| &*other.key.uid);
    uids.filter(|uid| ledger.pod(uid).is_some_and(|other| other.is_leaving()))
}

/// Whether a node takes a pod when others are gone from it.
fn takes(ledger: &Ledger, gone: &[&str], pod: &PodFacts, node: &NodeFacts) -> bool {
    company::objections(&Scene::without(ledger, gone), pod, node).is_empty()
}

/// The same, if what is delivered says so for certain.
fn surely(ledger: &Ledger, gone: &[&str], pod: &PodFacts, node: &NodeFacts) -> bool {
    company::surely_takes(&Scene::without(ledger, gone), pod, node)
}

/// Checks an eviction that is sent: somebody still waits for the room.
pub(crate) fn check_eviction(
    ledger: &Ledger,
    pod: &str,
    node: &str,
    victim: &str,
) -> Result<(), Violation> {
    let is_waiting =
        |known: &&Known| known.spot == Spot::Waiting && known.proposed.as_deref() == Some(node);
    if ledger.pod(pod).filter(is_waiting).is_some() {
        return Ok(());
    }
    let (pod, node, victim) = (pod.to_owned(), node.to_owned(), victim.to_owned());
    Err(Violation::Senseless { pod, node, victim })
}

/// A node on which evicting would make room for a pod, if there is one for certain.
pub(crate) fn helps<'a>(ledger: &'a Ledger, pod: &PodFacts) -> Option<&'a str> {
    if !pod.rest.is_preempting || !pod.spec.near.is_empty() {
        return None;
    }
    let mut nodes = ledger.nodes().filter(|(node, place)| {
        let lesser = place.pods().filter(|other| other.rest.priority < pod.rest.priority);
        let lesser: Vec<&str> = lesser.map(|other| &*other.key.uid).collect();
        !lesser.is_empty() && surely(ledger, &lesser, pod, node)
    });
    nodes.next().map(|(node, _)| &*node.name)
}
