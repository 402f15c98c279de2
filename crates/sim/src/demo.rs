//! The plan of the demo: a cluster of five pools, and a workload that keeps it busy. What becomes
//! of its machines with eight GPUs shows how two profiles differ on the same arrivals.

use std::collections::BTreeMap;

use model::{Millis, Time};
use serde::Serialize;

use crate::map::ClusterMap;
use crate::plan::{Faults, Plan};
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
        let jobs = workload::plan(self.seed, &nodes, span);
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
            groupings: Vec::new(),
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
