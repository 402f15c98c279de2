//! What came of a run, as data. All of it is read from the world's records.

use std::collections::BTreeMap;

use model::{Catalog, Reason};
use serde::Serialize;

use crate::meter::PoolAt;
use crate::run::Tally;
use crate::world::{Phase, PodAt, World};

/// What came of a run. Equal plans lead to equal reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The seed it followed from.
    pub seed: u64,
    /// How many nodes there were, those that joined later or left included.
    pub nodes: u64,
    /// How much virtual time passed.
    pub span_ms: u64,
    /// All pods.
    pub pods: PodCounts,
    /// Pods by tenant.
    pub tenants: Vec<TenantReport>,
    /// Pools of nodes.
    pub pools: Vec<PoolReport>,
    /// Waiting pods by reason, most pods first.
    pub waiting: Vec<WaitingReport>,
    /// Decisions to bind.
    pub bindings: u64,
    /// Decisions that a pod has to wait; a pod is told every time it was tried.
    pub waits: u64,
    /// Bindings that the API refused.
    pub refusals: u64,
    /// The same for two runs that decided the same in the same order, as 16 hexadecimal digits.
    pub decision_hash: String,
}

/// Pods by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PodCounts {
    /// All that ever arrived: the sum of running, finished, evicted, binding, waiting and deleted.
    pub created: u64,
    /// That got a node: the sum of running, finished and evicted.
    pub placed: u64,
    /// On a node at the end.
    pub running: u64,
    /// Ran to their end.
    pub finished: u64,
    /// Lost their node; their owners made others in their place.
    pub evicted: u64,
    /// Had a binding on its way at the end.
    pub binding: u64,
    /// Had no node at the end.
    pub waiting: u64,
    /// Were deleted by their owner before they got a node.
    pub deleted: u64,
}

impl PodCounts {
    fn add(&mut self, phase: Phase) {
        self.created += 1;
        let count = match phase {
            Phase::Waiting => &mut self.waiting,
            Phase::Ordered(_) => &mut self.binding,
            Phase::Running(_) => &mut self.running,
            Phase::Finished => &mut self.finished,
            Phase::Evicted => &mut self.evicted,
            Phase::Deleted => &mut self.deleted,
        };
        *count += 1;
        self.placed = self.running + self.finished + self.evicted;
    }
}

/// Pods of a tenant, and how long they waited for their place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TenantReport {
    /// The namespace.
    pub tenant: String,
    /// Its pods.
    pub pods: PodCounts,
    /// How long it took, if any of them was placed.
    pub placement: Option<Placement>,
}

/// Virtual time from the moment a pod may be scheduled to its accepted binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Half of the placed pods waited no longer, in milliseconds.
    pub p50_ms: u64,
    /// 99 of a hundred waited no longer.
    pub p99_ms: u64,
    /// None waited longer.
    pub max_ms: u64,
}

/// How full a pool of nodes was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolReport {
    /// The pool.
    pub pool: String,
    /// Its nodes at the end.
    pub nodes: u64,
    /// CPU.
    pub cpu: Share,
    /// Memory.
    pub memory: Share,
    /// GPUs, if it has any.
    pub gpu: Option<Share>,
}

/// Requested of allocatable, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// At the end.
    pub end_permille: u32,
    /// On average over the whole run.
    pub mean_permille: u32,
}

/// Pods that wait for the same reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingReport {
    /// Their namespace.
    pub tenant: String,
    /// How many there are.
    pub pods: u64,
    /// How long the one that waits longest has waited, in virtual milliseconds.
    pub longest_ms: u64,
    /// Their reasons in kube-scheduler's words, without counts of nodes.
    pub reasons: Vec<String>,
    /// What the one that waits longest was last told.
    pub message: String,
}

pub(crate) fn of(seed: u64, world: &World, tally: &Tally, catalog: &Catalog) -> Report {
    let mut pods = PodCounts::default();
    world.pods().for_each(|(_, pod)| pods.add(pod.phase));
    Report {
        seed,
        nodes: world.nodes().len() as u64,
        span_ms: world.now().0,
        pods,
        tenants: tenant_reports(world),
        pools: world.pools().map(|(at, name)| pool_report(world, at, name)).collect(),
        waiting: waiting_reports(world, catalog),
        bindings: tally.bindings,
        waits: tally.waits,
        refusals: world.refusals(),
        decision_hash: format!("{:016x}", tally.fingerprint.value()),
    }
}

fn tenant_reports(world: &World) -> Vec<TenantReport> {
    let mut tenants: BTreeMap<&str, (PodCounts, Vec<u64>)> = BTreeMap::new();
    for (_, pod) in world.pods() {
        let (pods, waits_ms) = tenants.entry(&pod.key.namespace).or_default();
        pods.add(pod.phase);
        waits_ms.extend(pod.placed.map(|placed| placed.0 - pod.since.0));
    }
    let report = |(tenant, (pods, mut waits_ms)): (&str, (PodCounts, Vec<u64>))| {
        waits_ms.sort_unstable();
        let placement = || Placement {
            p50_ms: percentile(&waits_ms, 50),
            p99_ms: percentile(&waits_ms, 99),
            max_ms: percentile(&waits_ms, 100),
        };
        let placement = (!waits_ms.is_empty()).then(placement);
        TenantReport { tenant: tenant.to_owned(), pods, placement }
    };
    tenants.into_iter().map(report).collect()
}

/// The smallest of `sorted`, which is not empty, that `percent` of a hundred are not above.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

fn pool_report(world: &World, at: PoolAt, name: &str) -> PoolReport {
    let nodes = world.nodes().iter().filter(|node| node.pool == at && node.is_there);
    let gauge = world.meter().gauge(at);
    let share = |column: usize| Share {
        end_permille: permille(gauge.requested[column].into(), gauge.offered[column].into()),
        mean_permille: permille(gauge.requested_ms[column], gauge.offered_ms[column]),
    };
    let gpu = (gauge.offered_ms[2] > 0).then(|| share(2));
    let nodes = nodes.count() as u64;
    PoolReport { pool: name.to_owned(), nodes, cpu: share(0), memory: share(1), gpu }
}

fn permille(part: i128, whole: i128) -> u32 {
    let permille = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    u32::try_from(permille).expect("no more is requested than there is")
}

fn waiting_reports(world: &World, catalog: &Catalog) -> Vec<WaitingReport> {
    let mut groups: BTreeMap<(&str, Vec<String>), WaitingReport> = BTreeMap::new();
    for (at, pod) in world.pods().filter(|(_, pod)| pod.phase == Phase::Waiting) {
        let tenant = &*pod.key.namespace;
        let (reasons, message) = why(world, at, catalog);
        let waited_ms = world.now().0 - pod.since.0;
        let group = groups.entry((tenant, reasons.clone())).or_insert_with(|| WaitingReport {
            tenant: tenant.to_owned(),
            pods: 0,
            longest_ms: 0,
            reasons,
            message: message.clone(),
        });
        group.pods += 1;
        if waited_ms > group.longest_ms {
            (group.longest_ms, group.message) = (waited_ms, message);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    // Stable: groups of the same size stay in the order of tenants and reasons.
    groups.sort_by_key(|group| std::cmp::Reverse(group.pods));
    groups
}

/// The reasons of a waiting pod, and the sentence its owner reads.
fn why(world: &World, at: PodAt, catalog: &Catalog) -> (Vec<String>, String) {
    let pod = world.pod(at);
    let text = |reason: &Reason| k8s::render::reason_text(reason, catalog);
    if let Some(gates) = world.gates(at) {
        let gated = text(&Reason::Gated(gates.clone()));
        return (vec![gated.clone()], gated);
    }
    let Some(diagnosis) = &pod.condition else {
        let untried = if pod.refusals > 0 { "binding refused" } else { "not tried yet" };
        return (vec![untried.to_owned()], untried.to_owned());
    };
    let mut reasons: Vec<String> = diagnosis.reasons().map(text).collect();
    reasons.sort_unstable();
    reasons.dedup();
    (reasons, k8s::render::message(diagnosis, catalog))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_by_table() {
        let hundred: Vec<u64> = (1..=100).collect();
        // (values, percent, expected)
        let table: [(&[u64], usize, u64); 6] = [
            (&hundred, 50, 50),
            (&hundred, 99, 99),
            (&hundred, 100, 100),
            (&[7], 50, 7),
            (&[7], 99, 7),
            (&[1, 2, 3], 50, 2),
        ];
        for (values, percent, expected) in table {
            assert_eq!(percentile(values, percent), expected, "{percent} of {values:?}");
        }
    }

    #[test]
    fn shares_are_rounded_and_nothing_of_nothing_is_none() {
        assert_eq!(
            [permille(1, 3), permille(2, 3), permille(5, 5), permille(0, 0)],
            [333, 667, 1000, 0]
        );
    }
}
