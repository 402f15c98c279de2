//! The plan of the demo: a cluster of five pools, and a workload that keeps it busy. What becomes
//! of its machines with eight GPUs, and how its services are spread, shows how two profiles differ
//! on the same arrivals.

use std::collections::BTreeMap;

use model::{
    GroupingFacts, GroupingKey, GroupingKind, LabelOperator, LabelSelector, Millis, Owner,
    RequirementSpec, Time,
};
use serde::Serialize;

use crate::map::ClusterMap;
use crate::plan::{Faults, Job, Keeper, Plan};
use crate::report::Placement;
use crate::run::{PodTimes, Run};
use crate::workload::Kind;
use crate::{cluster, workload};

/// How many GPUs an island has.
const ISLAND: u64 = 8;
/// kube-scheduler's profile.
const KUBE: &str = "default-scheduler";

/// What the demo is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// Decides everything that chance decides.
    pub seed: u64,
    /// How many nodes there are, those that join later included.
    pub nodes: u32,
    /// How many minutes of virtual time pass.
    pub minutes: u32,
}

impl Demo {
    /// Nodes and jobs that follow from the seed, and the scheduler as it runs without a
    /// configuration file. Pods ask for our own profile.
    #[must_use]
    pub fn plan(self) -> Plan {
        let span = self.span();
        let nodes = cluster::plan(self.seed, self.nodes, span);
        let mut jobs = workload::plan(self.seed, &nodes, span);
        let groupings = jobs.iter_mut().filter(|job| is_replicated(job)).map(replicas).collect();
        let settings = k8s::config::defaults(plugins::known());
        let faults = Faults { refused_percent: 1, ..Faults::NONE };
        let budgets = Vec::new();
        Plan {
            seed: self.seed,
            span,
            nodes,
            jobs,
            budgets,
            pod_groups: Vec::new(),
            groupings,
            namespaces: Vec::new(),
            storage: Default::default(),
            fixed: Vec::new(),
            settings,
            faults,
        }
    }

    /// The same, but pods ask for kube-scheduler's profile.
    #[must_use]
    pub fn plan_beside(self) -> Plan {
        let mut plan = self.plan();
        plan.jobs.iter_mut().for_each(|job| job.spec.scheduler = KUBE.to_owned());
        plan
    }

    /// When small pods with GPUs have come, and the first job is yet to come that needs an island.
    #[must_use]
    pub fn eve(self) -> Time {
        Time::default() + workload::eve(self.span())
    }

    fn span(self) -> Millis {
        Millis::seconds(u64::from(self.minutes) * 60)
    }
}

/// Whether the pods of a job are those of a ReplicaSet.
fn is_replicated(job: &Job) -> bool {
    let kinds = [Kind::Service, Kind::Inference].map(Kind::name);
    kinds.contains(&job.spec.namespace.as_str())
}

/// Makes the pods of a job those of a ReplicaSet.
fn replicas(job: &mut Job) -> GroupingFacts {
    let (kind, name) = (GroupingKind::ReplicaSet, job.name.as_str());
    job.labels = [("app".into(), name.into())].into();
    job.life.keeper = Keeper::Controller(Some(Owner { kind, name: name.into() }));
    let requirement = RequirementSpec {
        key: "app".to_owned(),
        operator: LabelOperator::In,
        values: vec![name.to_owned()],
    };
    GroupingFacts {
        key: GroupingKey { kind, namespace: job.spec.namespace.as_str().into(), name: name.into() },
        selector: LabelSelector { requirements: vec![requirement] },
    }
}

/// How services are spread over zones in the end: those whose pods have no wishes, and may be on
/// any node without GPUs, also several on one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpreadReport {
    /// How many run that have two pods or more.
    pub services: u64,
    /// Those of them of which no zone has two pods more than another.
    pub even: u64,
    /// By how many pods two zones differ at most.
    pub largest_skew: u64,
}

impl SpreadReport {
    /// What became of them in a run of a plan.
    #[must_use]
    pub fn of(plan: &Plan, run: &Run) -> Self {
        let zone = |facts: &model::NodeFacts| {
            let label = facts.labels.iter().find(|(key, _)| key == cluster::ZONE);
            label.map(|(_, zone)| zone.clone())
        };
        let zones =
            plan.nodes.iter().filter_map(|node| Some((&*node.facts.name, zone(&node.facts)?)));
        let zones: BTreeMap<&str, String> = zones.collect();
        let is_free = |job: &&Job| {
            let spec = &job.spec;
            spec.namespace == Kind::Service.name()
                && spec.node_selector.is_empty()
                && spec.required.is_none()
                && spec.preferred.is_empty()
                && spec.ports.is_empty()
        };
        let names = plan.jobs.iter().filter(is_free).map(|job| job.name.as_str());
        let mut counts: BTreeMap<&str, BTreeMap<&str, u64>> =
            names.map(|name| (name, BTreeMap::new())).collect();
        for pod in run.pods() {
            let zone = pod.node.and_then(|node| zones.get(node));
            if let (Some(counts), Some(zone)) = (counts.get_mut(pod.job), zone) {
                *counts.entry(zone).or_default() += 1;
            }
        }
        let skew = |counts: &BTreeMap<&str, u64>| {
            let of = |zone: &&str| counts.get(zone).copied().unwrap_or(0);
            let all = cluster::ZONES.iter().map(of);
            all.clone().max().unwrap_or(0) - all.min().unwrap_or(0)
        };
        let running = counts.values().filter(|counts| counts.values().sum::<u64>() > 1);
        let skews: Vec<u64> = running.map(skew).collect();
        Self {
            services: skews.len() as u64,
            even: skews.iter().filter(|skew| **skew <= 1).count() as u64,
            largest_skew: skews.into_iter().max().unwrap_or(0),
        }
    }
}

/// What becomes of islands, which are machines with eight GPUs, and of jobs that need one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IslandReport {
    /// How many there were before the first such job came.
    pub islands: u64,
    /// Of how many of these nothing was taken then.
    pub whole: u64,
    /// Jobs that need one.
    pub jobs: u64,
    /// Those of them that got one.
    pub started: u64,
    /// How long these waited for it, if any got one.
    pub placement: Option<Placement>,
    /// How long the one of the others has waited that waits longest, in virtual milliseconds.
    pub longest_waiting_ms: Option<u64>,
}

impl IslandReport {
    /// What became of them in a run, from what was there before the first job came.
    #[must_use]
    pub fn of(eve: &ClusterMap, run: &Run) -> Self {
        let islands = || eve.nodes.iter().filter(|node| node.gpus >= ISLAND);
        let mut jobs: BTreeMap<&str, PodTimes<'_>> = BTreeMap::new();
        for pod in run.pods().filter(|pod| pod.tenant == Kind::Training.name()) {
            let first = jobs.entry(pod.job).or_insert(pod);
            // A job whose node left has a second pod, and had started with the first.
            first.placed = first.placed.or(pod.placed);
        }
        let waited = |pod: &PodTimes<'_>| Some(pod.placed?.0 - pod.since.0);
        let mut waits_ms: Vec<u64> = jobs.values().filter_map(waited).collect();
        waits_ms.sort_unstable();
        let waiting = jobs.values().filter(|pod| pod.placed.is_none());
        Self {
            islands: islands().count() as u64,
            whole: islands().filter(|node| node.holders.is_empty()).count() as u64,
            jobs: jobs.len() as u64,
            started: waits_ms.len() as u64,
            placement: Placement::of(&waits_ms),
            longest_waiting_ms: waiting.map(|pod| run.progress().now.0 - pod.since.0).max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn islands(demo: Demo, plan: Plan) -> IslandReport {
        let mut run = Run::new(plan);
        run.run_until(demo.eve()).unwrap();
        let eve = run.map();
        run.run_until(run.end()).unwrap();
        IslandReport::of(&eve, &run)
    }

    #[test]
    fn islands_are_left_whole_for_the_jobs_that_need_one() {
        for seed in [1, 2, 42] {
            let demo = Demo { seed, nodes: 100, minutes: 60 };
            let (ours, beside) = (islands(demo, demo.plan()), islands(demo, demo.plan_beside()));
            assert_eq!((ours.islands, ours.jobs), (beside.islands, beside.jobs), "{seed}");
            assert!(ours.whole > beside.whole, "{seed}: {ours:?} {beside:?}");
            assert!(ours.started > beside.started, "{seed}: {ours:?} {beside:?}");
        }
    }

    #[test]
    fn services_are_even_over_zones_and_no_less_is_used() {
        let (mut ours, mut beside) = (0, 0);
        for seed in [1, 2, 3, 42] {
            let demo = Demo { seed, nodes: 200, minutes: 60 };
            let [(spread, used), (other, other_used)] =
                [demo.plan(), demo.plan_beside()].map(|plan| {
                    let mut run = Run::new(plan.clone());
                    run.run_until(run.end()).unwrap();
                    (SpreadReport::of(&plan, &run), run.finish().unwrap().cluster)
                });
            assert!(spread.services > 5, "{seed}: {spread:?}");
            assert!(spread.even >= other.even, "{seed}: {spread:?} {other:?}");
            assert!(spread.largest_skew <= other.largest_skew, "{seed}: {spread:?} {other:?}");
            let means = |cluster: &crate::PoolReport| {
                [Some(cluster.cpu), Some(cluster.memory), cluster.gpu]
                    .map(|share| share.map_or(0, |share| share.mean_permille))
            };
            let (used, other_used) = (means(&used), means(&other_used));
            let is_less = used.iter().zip(&other_used).any(|(one, other)| one < other);
            assert!(!is_less, "{seed}: {used:?} {other_used:?}");
            ours += spread.even;
            beside += other.even;
        }
        assert!(ours > beside, "{ours} {beside}");
    }

    #[test]
    fn nothing_that_needs_an_island_comes_before_the_eve() {
        let demo = Demo { seed: 42, nodes: 100, minutes: 60 };
        let plan = demo.plan();
        let large = plan.jobs.iter().filter(|job| job.spec.namespace == Kind::Training.name());
        assert!(large.clone().count() > 0);
        assert!(large.clone().all(|job| job.at >= demo.eve()));
        let small = plan.jobs.iter().filter(|job| job.spec.namespace == Kind::Tuning.name());
        assert!(small.clone().count() > 0);
        assert!(small.clone().all(|job| job.at < demo.eve()));
    }
}
