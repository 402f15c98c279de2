//! Preemption: which less important pods would have to go so that a pod finds room on a node, and
//! on which node that does the least harm. All nodes are looked at, and by the rules of
//! kube-scheduler.

mod contest;
mod fresh;
mod yields;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use model::{Catalog, GangId, NodeId, Occupant, PodId, Reason};

use crate::trial::Trial;

pub(crate) use contest::Contest;

/// What goes as a whole, wherever its pods are. A plain pod goes alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Victim {
    pods: Box<[PodId]>,
    priority: i32,
    /// When its first pod started; later than all others if none did.
    started: i64,
}

/// Victims on a node, with the harm their eviction does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// The most important first.
    pub(crate) victims: Box<[PodId]>,
    pub(crate) harm: Harm,
}

/// What candidates are compared by, in this order; the least is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Harm {
    /// Pods whose budget does not allow it.
    pub(crate) violations: usize,
    highest_priority: i32,
    /// Of priorities, all made positive.
    sum: i64,
    count: usize,
    /// When the first of the most important victims started: the later, the less is lost.
    started: Reverse<i64>,
}

/// Pods on a node that are less important than `priority`, and not of the gang `spared`.
fn victims_on(
    catalog: &Catalog,
    node: NodeId,
    priority: i32,
    spared: Option<GangId>,
) -> Vec<Victim> {
    let mut whole = BTreeSet::new();
    let is_spared = |id: &&PodId| {
        let gang = catalog.pod(**id).gang.filter(|_| spared.is_some());
        gang.is_some_and(|gang| Some(catalog.root_of(gang)) == spared)
    };
    let victim = |id: &PodId| match whole_gang(catalog, *id) {
        Some(gang) => whole.insert(gang).then(|| gang_victim(catalog, gang)),
        None => Some(pod_victim(catalog, *id)),
    };
    let victims = catalog.pods_on(node).iter().filter(|id| !is_spared(id)).filter_map(victim);
    victims.filter(|victim| victim.priority < priority).collect()
}

/// The gang whose pods are not evicted for a pod: its own, where pods have to start together.
/// Without one of them the pod would have to wait for the gang again.
fn spared(catalog: &Catalog, pod: PodId) -> Option<GangId> {
    let gang = catalog.pod(pod).gang?;
    let root = catalog.root_of(gang);
    (root != gang || catalog.gang(gang).min() > 1).then_some(root)
}

fn pod_victim(catalog: &Catalog, id: PodId) -> Victim {
    let pod = catalog.pod(id);
    let started = pod.rest.started.unwrap_or(i64::MAX);
    Victim { pods: Box::new([id]), priority: pod.rest.priority, started }
}

/// The gang of a pod, if its pods are only evicted together.
pub(crate) fn whole_gang(catalog: &Catalog, pod: PodId) -> Option<GangId> {
    let gang = catalog.pod(pod).gang?;
    catalog.gang(gang).terms.as_ref().is_ok_and(|terms| terms.is_evicted_whole).then_some(gang)
}

fn gang_victim(catalog: &Catalog, gang: GangId) -> Victim {
    let gang = catalog.gang(gang);
    let is_placed = |pod: &PodId| catalog.pod(*pod).state.node().is_some();
    let pods: Box<[PodId]> = gang.members.iter().copied().filter(is_placed).collect();
    let of_pods = pods.iter().map(|pod| catalog.pod(*pod).rest.priority).max();
    let said = gang.terms.as_ref().ok().and_then(|terms| terms.priority);
    let started = pods.iter().filter_map(|pod| catalog.pod(*pod).rest.started).min();
    Victim {
        priority: said.or(of_pods).unwrap_or(i32::MAX),
        started: started.unwrap_or(i64::MAX),
        pods,
    }
}

/// The least important of `victims` that have to go so that nothing turns the pod away any more;
/// or what still does when all of them are gone.
fn choose(
    trial: &mut Trial<'_, '_>,
    mut victims: Vec<Victim>,
    mut why_not: impl FnMut(&mut Trial<'_, '_>) -> Option<Vec<Reason>>,
) -> Result<Candidate, Vec<Reason>> {
    let start = trial.txn.savepoint();
    victims.iter().for_each(|victim| evict(trial, victim));
    if let Some(reasons) = why_not(trial) {
        trial.take_back(start);
        return Err(reasons);
    }
    let catalog = trial.txn.catalog();
    // The most important stay if they can; of equals, those that have run for longer.
    let importance = |victim: &Victim| {
        let uid = &*catalog.pod(victim.pods[0]).key.uid;
        (Reverse(victim.priority), Reverse(victim.pods.len()), victim.started, uid)
    };
    victims.sort_unstable_by(|one, other| importance(one).cmp(&importance(other)));
    let violations = violations(catalog, &victims);
    let mut gone: Vec<(Victim, usize)> = Vec::new();
    // Those whose budgets would be broken are the first to be given back.
    let (broken, kept): (Vec<_>, Vec<_>) =
        victims.into_iter().zip(violations).partition(|(_, violations)| *violations > 0);
    for (victim, violations) in broken.into_iter().chain(kept) {
        give_back(trial, &victim);
        if why_not(trial).is_some() {
            evict(trial, &victim);
            gone.push((victim, violations));
        }
    }
    trial.take_back(start);
    gone.sort_unstable_by(|(one, _), (other, _)| importance(one).cmp(&importance(other)));
    Ok(candidate(&gone))
}

fn candidate(gone: &[(Victim, usize)]) -> Candidate {
    let highest_priority = gone.first().map_or(i32::MIN, |(victim, _)| victim.priority);
    let most_important =
        gone.iter().map(|(victim, _)| victim).filter(|victim| victim.priority == highest_priority);
    let weight = |victim: &Victim| {
        let count = i64::try_from(victim.pods.len()).expect("pods are counted in 32 bits");
        count * (i64::from(victim.priority) - i64::from(i32::MIN))
    };
    Candidate {
        harm: Harm {
            violations: gone.iter().map(|(_, violations)| violations).sum(),
            highest_priority,
            sum: gone.iter().map(|(victim, _)| weight(victim)).sum(),
            count: gone.iter().map(|(victim, _)| victim.pods.len()).sum(),
            started: Reverse(most_important.map(|victim| victim.started).min().unwrap_or(i64::MAX)),
        },
        victims: gone.iter().flat_map(|(victim, _)| victim.pods.iter().copied()).collect(),
    }
}

/// How many pods of each victim go against a budget, if the victims go in this order.
fn violations(catalog: &Catalog, victims: &[Victim]) -> Vec<usize> {
    let mut left: BTreeMap<(&str, &str), i32> = BTreeMap::new();
    let mut is_violating = |pod: &PodId| {
        catalog.budgets_of(*pod).any(|budget| {
            let left = left.entry((&budget.namespace, &budget.name)).or_insert(budget.allowed);
            *left -= 1;
            *left < 0
        })
    };
    victims.iter().map(|v| v.pods.iter().filter(|pod| is_violating(pod)).count()).collect()
}

fn evict(trial: &mut Trial<'_, '_>, victim: &Victim) {
    for (occupant, node) in places(trial.txn.catalog(), victim) {
        trial.txn.evict(occupant, node);
    }
}

fn give_back(trial: &mut Trial<'_, '_>, victim: &Victim) {
    for (occupant, node) in places(trial.txn.catalog(), victim) {
        trial.txn.place(occupant, node);
    }
}

/// What the pods of a victim are, and on which nodes.
fn places<'a>(
    catalog: &'a Catalog,
    victim: &'a Victim,
) -> impl Iterator<Item = (Occupant, NodeId)> + 'a {
    let place = |id: &PodId| {
        let pod = catalog.pod(*id);
        (pod.occupant(*id), pod.state.node().expect("a victim is on a node"))
    };
    victim.pods.iter().map(place)
}
