//! What came of a run, as data. All of it is read from the world's records.

use std::collections::BTreeMap;

use model::{Catalog, Reason};
use serde::Serialize;

use crate::cluster::Group;
use crate::demo::{Options, Tally};
use crate::workload::Kind;
use crate::world::{Phase, PodRecord, World};

/// What came of a run. Equal options lead to equal reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The seed it followed from.
    pub seed: u64,
    /// How many nodes there were, those that joined later or left included.
    pub nodes: u32,
    /// How many virtual minutes passed.
    pub minutes: u32,
    /// All pods.
    pub pods: PodCounts,
    /// Pods by kind.
    pub kinds: Vec<KindReport>,
    /// Node groups.
    pub groups: Vec<GroupReport>,
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
    /// All that ever arrived: the sum of running, finished, evicted, binding and waiting.
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
        };
        *count += 1;
        self.placed = self.running + self.finished + self.evicted;
    }
}

/// Pods of a kind, and how long they waited for their place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KindReport {
    /// The kind.
    pub kind: &'static str,
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

/// How full a node group was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupReport {
    /// The group.
    pub group: &'static str,
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
    /// Their kind.
    pub kind: &'static str,
    /// How many there are.
    pub pods: u64,
    /// How long the one that waits longest has waited, in virtual milliseconds.
    pub longest_ms: u64,
    /// Their reasons in kube-scheduler's words, without counts of nodes.
    pub reasons: Vec<String>,
    /// What the one that waits longest was last told.
    pub message: String,
}

pub(crate) fn of(options: Options, world: &World, tally: &Tally, catalog: &Catalog) -> Report {
    let mut pods = PodCounts::default();
    world.pods().iter().for_each(|pod| pods.add(pod.phase));
    Report {
        seed: options.seed,
        nodes: options.nodes,
        minutes: options.minutes,
        pods,
        kinds: Kind::ALL.map(|kind| kind_report(world, kind)).into(),
        groups: Group::ALL.iter().filter_map(|group| group_report(world, *group)).collect(),
        waiting: waiting_reports(world, catalog),
        bindings: tally.bindings,
        waits: tally.waits,
        refusals: world.refusals(),
        decision_hash: format!("{:016x}", tally.fingerprint.value()),
    }
}

fn kind_report(world: &World, kind: Kind) -> KindReport {
    let mut pods = PodCounts::default();
    let mut waits_ms = Vec::new();
    for pod in world.pods().iter().filter(|pod| world.job(pod.job).kind == kind) {
        pods.add(pod.phase);
        waits_ms.extend(pod.placed.map(|placed| placed.0 - pod.since.0));
    }
    waits_ms.sort_unstable();
    let placement = || Placement {
        p50_ms: percentile(&waits_ms, 50),
        p99_ms: percentile(&waits_ms, 99),
        max_ms: percentile(&waits_ms, 100),
    };
    let placement = (!waits_ms.is_empty()).then(placement);
    KindReport { kind: kind.name(), pods, placement }
}

/// The smallest of `sorted`, which is not empty, that `percent` of a hundred are not above.
fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// Nothing for a group without nodes.
fn group_report(world: &World, group: Group) -> Option<GroupReport> {
    let nodes = world.nodes().iter().filter(|node| node.group == group);
    let (mut count, mut is_known) = (0, false);
    for node in nodes {
        is_known = true;
        count += u64::from(node.is_there);
    }
    let gauge = world.meter().gauge(group);
    let share = |column: usize| Share {
        end_permille: permille(gauge.requested[column].into(), gauge.offered[column].into()),
        mean_permille: permille(gauge.requested_ms[column], gauge.offered_ms[column]),
    };
    let gpu = (gauge.offered_ms[2] > 0).then(|| share(2));
    let name = group.name();
    is_known.then(|| GroupReport {
        group: name,
        nodes: count,
        cpu: share(0),
        memory: share(1),
        gpu,
    })
}

fn permille(part: i128, whole: i128) -> u32 {
    let permille = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    u32::try_from(permille).expect("no more is requested than there is")
}

fn waiting_reports(world: &World, catalog: &Catalog) -> Vec<WaitingReport> {
    let mut groups: BTreeMap<(Kind, Vec<String>), WaitingReport> = BTreeMap::new();
    for pod in world.pods().iter().filter(|pod| pod.phase == Phase::Waiting) {
        let kind = world.job(pod.job).kind;
        let (reasons, message) = why(pod, catalog);
        let waited_ms = world.now().0 - pod.since.0;
        let group = groups.entry((kind, reasons.clone())).or_insert_with(|| WaitingReport {
            kind: kind.name(),
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
    // Stable: groups of the same size stay in the order of kinds and reasons.
    groups.sort_by_key(|group| std::cmp::Reverse(group.pods));
    groups
}

/// The reasons of a waiting pod, and the sentence its owner reads.
fn why(pod: &PodRecord, catalog: &Catalog) -> (Vec<String>, String) {
    let text = |reason: &Reason| k8s::render::reason_text(reason, catalog);
    if let Some(gates) = pod.gates() {
        let gated = text(&Reason::Gated(gates));
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
