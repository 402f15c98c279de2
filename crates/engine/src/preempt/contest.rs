//! What is kept for pods of one class and priority beside those of others: which nodes are held
//! against them, what nodes say of them, and what evicting would do on every node. All of it is
//! brought up to date by the nodes that were touched.

use std::collections::BTreeMap;

use model::{Code, GangId, NodeId, Reason};

use super::fresh::Freshness;
use super::yields::{Answers, Held};
use super::{Candidate, choose, spared, victims_on};
use crate::cycle::Within;
use crate::peaks::mix;
use crate::screen::{Screen, screen};
use crate::trial::Trial;

/// What evicting would do on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing: the node is not there, or turns the pod away for what it is.
    Useless,
    /// There is nobody to evict.
    NoVictims,
    /// The pod does not fit even without everybody who could go.
    Unfit(Vec<Reason>),
    /// It makes room.
    Fits(Candidate),
}

/// What is kept for pods of one class and priority.
#[derive(Default)]
pub(crate) struct Contest {
    pub(crate) priority: i32,
    pub(crate) held: Held,
    pub(crate) answers: Answers,
    fresh: Freshness,
    outcomes: Vec<Outcome>,
}

impl Contest {
    pub(crate) fn new(priority: i32) -> Self {
        Self { priority, ..Self::default() }
    }

    /// How many bytes it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let outcomes = self.outcomes.capacity() * size_of::<Outcome>();
        outcomes + self.held.bytes() + self.answers.tally.bytes()
    }

    /// Brings what evicting would do up to date for a pod.
    pub(crate) fn refresh(&mut self, trial: &mut Trial<'_, '_>) {
        let catalog = trial.txn.catalog();
        let revisions = (catalog.node_revision(), catalog.budget_revision());
        // To the pod, nodes that are proposed for it or have pods of its gang can be others than to
        // its like.
        let mut own: Vec<NodeId> = catalog.nominated_node(trial.id).into_iter().collect();
        let spared = spared(catalog, trial.id);
        let kin = spared.into_iter().flat_map(|gang| catalog.pods_in(gang));
        own.extend(kin.filter_map(|pod| catalog.pod(pod).state.node()));
        let nodes = self.fresh.renew(trial, revisions, own, catalog.nodes().len());
        let nodes = nodes.unwrap_or_else(|| {
            self.outcomes.clear();
            catalog.nodes().into()
        });
        self.outcomes.resize(catalog.node_places(), Outcome::Useless);
        let screen = screen(&trial.board.before, trial.view());
        for node in nodes {
            self.outcomes[node.index()] = outcome(trial, &screen, node, spared);
        }
    }

    /// The nodes on which evicting makes room.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (NodeId, &Candidate)> {
        self.outcomes.iter().enumerate().filter_map(|(at, outcome)| match outcome {
            Outcome::Fits(candidate) => Some((NodeId::at(at), candidate)),
            Outcome::Useless | Outcome::NoVictims | Outcome::Unfit(_) => None,
        })
    }

    /// Where evicting does the least harm. Of several, `seed` decides.
    pub(crate) fn best(&self, within: &Within, seed: u64) -> Option<(NodeId, &Candidate)> {
        self.candidates()
            .filter(|(node, _)| within.allows(*node))
            .min_by_key(|(node, candidate)| (candidate.harm, mix(seed ^ node.index() as u64)))
    }

    /// On how many nodes evicting was considered, on how many of them there is nobody to evict, and
    /// why the pod fits none of the others.
    pub(crate) fn failures(&self, within: &Within) -> (usize, usize, Vec<(Reason, usize)>) {
        let (mut considered, mut without_victims) = (0, 0);
        let mut counts: BTreeMap<&Reason, usize> = BTreeMap::new();
        for (at, outcome) in self.outcomes.iter().enumerate() {
            if !within.allows(NodeId::at(at)) {
                continue;
            }
            match outcome {
                Outcome::Useless => continue,
                Outcome::NoVictims => without_victims += 1,
                Outcome::Unfit(reasons) => {
                    reasons.iter().for_each(|reason| *counts.entry(reason).or_default() += 1);
                }
                Outcome::Fits(_) => {}
            }
            considered += 1;
        }
        let counts = counts.into_iter().map(|(reason, count)| (reason.clone(), count)).collect();
        (considered, without_victims, counts)
    }
}

fn outcome(
    trial: &mut Trial<'_, '_>,
    screen: &Screen,
    node: NodeId,
    spared: Option<GangId>,
) -> Outcome {
    let catalog = trial.txn.catalog();
    if !catalog.has_node(node) {
        return Outcome::Useless;
    }
    let (_, reasons) = trial.why_not(screen, node).unwrap_or_default();
    if Code::worst(&reasons) != Some(Code::Unschedulable) {
        return Outcome::Useless;
    }
    let victims = victims_on(catalog, node, trial.pod.rest.priority, spared);
    if victims.is_empty() {
        return Outcome::NoVictims;
    }
    let why_not =
        |trial: &mut Trial<'_, '_>| trial.why_not(&Screen::Open, node).map(|(_, reasons)| reasons);
    match choose(trial, victims, why_not) {
        Ok(candidate) => Outcome::Fits(candidate),
        Err(reasons) => Outcome::Unfit(reasons),
    }
}
