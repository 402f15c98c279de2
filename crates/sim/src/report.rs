//! What came of a run, as data. All of it is read from the world's records.

use std::collections::BTreeMap;

use engine::Scheduler;
use model::{Catalog, Reason};
use serde::Serialize;

use crate::gpu_room::{self, RoomReport};
use crate::held::{self, HeldReport};
use crate::history::{Level, Levels, Sample};
use crate::meter::Gauge;
use crate::quantities::permille;
use crate::run::Tally;
use crate::world::{Phase, PodAt, PodRecord, World};

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
    /// How long they waited for their place, if any was placed.
    pub placement: Option<Placement>,
    /// Placed pods by how long they waited, shortest first.
    pub waits_ms: Vec<WaitBucket>,
    /// Pods by tenant.
    pub tenants: Vec<TenantReport>,
    /// The whole cluster, under the name `all`.
    pub cluster: PoolReport,
    /// Pools of nodes.
    pub pools: Vec<PoolReport>,
    /// Waiting pods by reason, most pods first.
    pub waiting: Vec<WaitingReport>,
    /// Waiting pods by what they belong to.
    pub waiting_jobs: Vec<WaitingJob>,
    /// Decisions to bind.
    pub bindings: u64,
    /// Decisions that a pod has to wait; a pod is told every time it was tried.
    pub waits: u64,
    /// Bindings that the API refused.
    pub refusals: u64,
    /// Pods that were evicted for more important ones.
    pub preempted: u64,
    /// What kubelets made of the pods that they had to align, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelets: Option<KubeletReport>,
    /// Who holds what inside nodes at the end, if anybody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldReport>,
    /// How many jobs of several GPUs would fit at the end, if there are GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_room: Option<RoomReport>,
    /// The same for two runs that decided the same in the same order, as 16 hexadecimal digits.
    pub decision_hash: String,
    /// How it went: samples at equal distances, and one of the end.
    pub history: Vec<Sample>,
}

/// Pods that kubelets had to align with zones, because they have whole CPUs, pinned memory or
/// devices to themselves on nodes of which it is told what is inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KubeletReport {
    /// How many there were.
    pub aligned: u64,
    /// Those of them that failed because their kubelet refused them.
    pub rejected: u64,
    /// These in thousandths.
    pub rejected_permille: u32,
    /// These by the reason in their status.
    pub reasons: BTreeMap<&'static str, u64>,
}

impl KubeletReport {
    fn of(world: &World) -> Option<Self> {
        let (aligned, rejected) = (world.happened().aligned, world.happened().unaligned);
        (aligned > 0).then(|| Self {
            aligned,
            rejected,
            rejected_permille: permille(rejected.into(), aligned.into()),
            reasons: world.refused_by_kubelets().collect(),
        })
    }
}

/// Pods by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PodCounts {
    /// All that ever arrived: the sum of running, finished, evicted, binding, waiting and deleted.
    pub created: u64,
    /// Had a node when they arrived.
    pub given: u64,
    /// Got a node from the scheduler: running, finished and evicted without those given.
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
    fn add(&mut self, pod: &PodRecord, is_given: bool) {
        self.created += 1;
        let count = match pod.phase {
            Phase::Waiting => &mut self.waiting,
            Phase::Ordered(_) => &mut self.binding,
            Phase::Running(_) => &mut self.running,
            Phase::Finished => &mut self.finished,
            Phase::Evicted => &mut self.evicted,
            Phase::Deleted => &mut self.deleted,
        };
        *count += 1;
        self.given += u64::from(is_given);
        self.placed = self.running + self.finished + self.evicted - self.given;
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
    /// 90 of a hundred waited no longer.
    pub p90_ms: u64,
    /// 99 of a hundred waited no longer.
    pub p99_ms: u64,
    /// None waited longer.
    pub max_ms: u64,
}

/// Placed pods that waited about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WaitBucket {
    /// The longest wait that belongs here, in milliseconds; none for the last, which has no bound.
    pub up_to_ms: Option<u64>,
    /// How many pods.
    pub pods: u64,
}

/// Upper bounds of waits that are counted together.
const BOUNDS_MS: [u64; 11] = [
    20, 100, 1_000, 10_000, 60_000, 300_000, 900_000, 3_600_000, 14_400_000, 43_200_000, 86_400_000,
];

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
    /// How much of what is free is of no use.
    pub fragmentation: Fragmentation,
}

/// Of what is free, the part that is of no use: the chance that a pod of the workload, taken at
/// random, does not fit where a free unit, taken at random, is. None if nothing was ever free, or
/// nobody wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fragmentation {
    /// CPU, to pods without GPUs.
    pub cpu: Option<Share>,
    /// Memory, to pods without GPUs.
    pub memory: Option<Share>,
    /// GPUs, to pods that ask for some.
    pub gpu: Option<Share>,
}

/// A part of a whole, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// At the end.
    pub end_permille: u32,
    /// On average over the whole run.
    pub mean_permille: u32,
}

/// Pods of one job, Deployment or the like that wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct WaitingJob {
    /// Their namespace.
    pub tenant: String,
    /// What they belong to.
    pub job: String,
    /// How many there are.
    pub pods: u64,
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
    /// The codes of these reasons, each once.
    pub reason_codes: Vec<&'static str>,
    /// What the one that waits longest was last told.
    pub message: String,
}

pub(crate) fn of(
    seed: u64,
    world: &World,
    tally: &Tally,
    scheduler: &Scheduler,
    history: Vec<Sample>,
) -> Report {
    let mut all = Tenant::default();
    world.pods().for_each(|(_, pod)| all.add(world, pod));
    all.waits_ms.sort_unstable();
    let gauges = world.pools().map(|(at, _)| world.meter().gauge(at));
    let gauge = gauges.fold(Gauge::default(), Gauge::plus);
    let nodes = world.nodes().iter().filter(|node| node.is_there).count() as u64;
    let cluster = pool_report("all", nodes, &gauge, history.iter().map(|sample| &sample.all));
    Report {
        seed,
        nodes: world.nodes().len() as u64,
        span_ms: world.now().0,
        pods: all.pods,
        placement: Placement::of(&all.waits_ms),
        waits_ms: wait_buckets(&all.waits_ms),
        tenants: tenant_reports(world),
        cluster,
        pools: pool_reports(world, &history),
        waiting: waiting_reports(world, scheduler.catalog()),
        waiting_jobs: waiting_jobs(world),
        bindings: tally.bindings,
        waits: tally.waits,
        refusals: world.refusals(),
        preempted: world.happened().preempted,
        kubelets: KubeletReport::of(world),
        held: Some(held::of(scheduler)).filter(|held| !held.nodes.is_empty()),
        gpu_room: gpu_room::of(scheduler),
        decision_hash: format!("{:016x}", tally.fingerprint.value()),
        history,
    }
}

/// Pods of a tenant while they are counted.
#[derive(Default)]
struct Tenant {
    pods: PodCounts,
    waits_ms: Vec<u64>,
}

impl Tenant {
    fn add(&mut self, world: &World, pod: &PodRecord) {
        let waited_ms = pod.placed.map(|placed| placed.0 - pod.since.0);
        // What replaces an evicted pod belongs to the same job, but had to be placed.
        let is_given = world.job(pod.job).node.is_some() && waited_ms == Some(0);
        self.pods.add(pod, is_given);
        self.waits_ms.extend(waited_ms.filter(|_| !is_given));
    }
}

fn tenant_reports(world: &World) -> Vec<TenantReport> {
    let mut tenants: BTreeMap<&str, Tenant> = BTreeMap::new();
    for (_, pod) in world.pods() {
        tenants.entry(&pod.key.namespace).or_default().add(world, pod);
    }
    let report = |(name, mut tenant): (&str, Tenant)| {
        tenant.waits_ms.sort_unstable();
        let placement = Placement::of(&tenant.waits_ms);
        TenantReport { tenant: name.to_owned(), pods: tenant.pods, placement }
    };
    tenants.into_iter().map(report).collect()
}

impl Placement {
    /// Of waits in ascending order.
    pub(crate) fn of(waits_ms: &[u64]) -> Option<Self> {
        (!waits_ms.is_empty()).then(|| Self {
            p50_ms: percentile(waits_ms, 50),
            p90_ms: percentile(waits_ms, 90),
            p99_ms: percentile(waits_ms, 99),
            max_ms: percentile(waits_ms, 100),
        })
    }
}

fn wait_buckets(sorted: &[u64]) -> Vec<WaitBucket> {
    let mut below = 0;
    let mut buckets: Vec<WaitBucket> = Vec::new();
    for up_to_ms in BOUNDS_MS.map(Some).into_iter().chain([None]) {
        let end = up_to_ms.map_or(sorted.len(), |bound| sorted.partition_point(|ms| *ms <= bound));
        buckets.push(WaitBucket { up_to_ms, pods: (end - below) as u64 });
        below = end;
    }
    buckets
}

/// The smallest of `sorted`, which is not empty, that `percent` of a hundred are not above.
pub(crate) fn percentile(sorted: &[u64], percent: usize) -> u64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

fn pool_reports(world: &World, history: &[Sample]) -> Vec<PoolReport> {
    let report = |(at, name)| {
        let nodes = world.nodes().iter().filter(|node| node.pool == at && node.is_there);
        let levels = history.iter().map(|sample| &sample.pools[at.0]);
        pool_report(name, nodes.count() as u64, world.meter().gauge(at), levels)
    };
    world.pools().map(report).collect()
}

fn pool_report<'a>(
    name: &str,
    nodes: u64,
    gauge: &Gauge,
    levels: impl Iterator<Item = &'a Levels> + Clone,
) -> PoolReport {
    let share = |column: usize| Share {
        end_permille: permille(gauge.requested[column].into(), gauge.offered[column].into()),
        mean_permille: permille(gauge.requested_ms[column], gauge.offered_ms[column]),
    };
    let gpu = (gauge.offered_ms[2] > 0 || gauge.offered[2] > 0).then(|| share(2));
    let fragmentation = Fragmentation {
        cpu: fragmented(levels.clone().map(|levels| Some(levels.cpu))),
        memory: fragmented(levels.clone().map(|levels| Some(levels.memory))),
        gpu: fragmented(levels.map(|levels| levels.gpu)),
    };
    PoolReport { pool: name.to_owned(), nodes, cpu: share(0), memory: share(1), gpu, fragmentation }
}

/// At the end and on average over the samples that have it.
fn fragmented(levels: impl Iterator<Item = Option<Level>>) -> Option<Share> {
    let (mut sum, mut count, mut end_permille) = (0u64, 0u64, 0);
    for level in levels {
        let found = level.and_then(|level| level.fragmented_permille);
        end_permille = found.unwrap_or(0);
        sum += u64::from(end_permille);
        count += u64::from(found.is_some());
    }
    let mean_permille = u32::try_from(sum.checked_div(count)?).expect("a mean of such numbers");
    Some(Share { end_permille, mean_permille })
}

fn waiting_jobs(world: &World) -> Vec<WaitingJob> {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (_, pod) in world.pods().filter(|(_, pod)| pod.phase == Phase::Waiting) {
        *counts.entry((&pod.key.namespace, &world.job(pod.job).name)).or_default() += 1;
    }
    let job = |((tenant, job), pods): ((&str, &str), u64)| WaitingJob {
        tenant: tenant.to_owned(),
        job: job.to_owned(),
        pods,
    };
    counts.into_iter().map(job).collect()
}

fn waiting_reports(world: &World, catalog: &Catalog) -> Vec<WaitingReport> {
    let mut groups: BTreeMap<(&str, Vec<String>), WaitingReport> = BTreeMap::new();
    for (at, pod) in world.pods().filter(|(_, pod)| pod.phase == Phase::Waiting) {
        let tenant = &*pod.key.namespace;
        let Why { reasons, codes, message } = why(world, at, catalog);
        let waited_ms = world.now().0 - pod.since.0;
        let group = groups.entry((tenant, reasons.clone())).or_insert_with(|| WaitingReport {
            tenant: tenant.to_owned(),
            pods: 0,
            longest_ms: 0,
            reasons,
            reason_codes: codes,
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

/// Why a pod waits.
struct Why {
    reasons: Vec<String>,
    codes: Vec<&'static str>,
    /// The sentence its owner reads.
    message: String,
}

fn why(world: &World, at: PodAt, catalog: &Catalog) -> Why {
    let pod = world.pod(at);
    let text = |reason: &Reason| k8s::render::reason_text(reason, catalog);
    if let Some(gates) = world.gates(at) {
        let gated = Reason::Gated(gates.clone());
        let message = text(&gated);
        return Why { reasons: vec![message.clone()], codes: vec![gated.word()], message };
    }
    let Some(diagnosis) = &pod.condition else {
        let untried = if pod.refusals > 0 { "binding refused" } else { "not tried yet" };
        let message = untried.to_owned();
        return Why { reasons: vec![message.clone()], codes: Vec::new(), message };
    };
    let mut reasons: Vec<String> = diagnosis.reasons().map(text).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let codes = diagnosis.words().into_iter().collect();
    Why { reasons, codes, message: k8s::render::message(diagnosis, catalog) }
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
    fn every_wait_is_in_the_first_bucket_it_fits() {
        let buckets = wait_buckets(&[0, 20, 21, 1_000, 86_400_000, 86_400_001]);
        assert_eq!(buckets.iter().map(|bucket| bucket.pods).sum::<u64>(), 6);
        let pods =
            |up_to_ms| buckets.iter().find(|bucket| bucket.up_to_ms == up_to_ms).unwrap().pods;
        assert_eq!([Some(20), Some(100), Some(1_000), None].map(pods), [2, 1, 1, 1]);
    }

    #[test]
    fn fragmentation_is_a_mean_of_the_samples_that_have_it() {
        let level = |fragmented_permille| Some(Level { used_permille: 0, fragmented_permille });
        let found = fragmented([level(Some(100)), level(None), None, level(Some(500))].into_iter());
        assert_eq!(found, Some(Share { end_permille: 500, mean_permille: 300 }));
        assert_eq!(fragmented([level(None), None].into_iter()), None);
    }
}
