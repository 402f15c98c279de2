//! Microsoft's Philly trace (Jeon et al., USENIX ATC 2019): jobs with their own arrival times and
//! durations, scheduled by the engine on a cluster of the user's choice.
//!
//! A virtual cluster of the trace is a namespace. It has no quota. A job of more GPUs than a node
//! has is a gang, by an object of Kubernetes' own API, which counts in every profile.

mod jobs;
mod nodes;
mod report;
#[cfg(test)]
mod tests;

use model::{
    Amounts, Hints, Map, Millis, PodGroupFacts, PodGroupKey, PodGroupKind, PodSpec, Said, Time,
    Workload,
};

use crate::checkers::Violation;
use crate::plan::{Faults, Job, Life, Membership, NodePlan, Plan, PodGroupPlan};
use crate::quantities::{columns, requests};
use crate::run::{Progress, Run};
pub use jobs::{TraceJob, read_jobs};
pub use nodes::read_nodes;
pub use report::{Islands, Report, Spread, VirtualCluster};

/// What is not modelled, in a sentence.
pub const LIMITATION: &str = "Virtual clusters have no quotas, jobs ask for GPUs and nothing else, \
     and a job that was tried several times runs once, for the duration that the trace tells.";

/// How much virtual time passes between two looks at where the run is.
const STEP: Millis = Millis::seconds(6 * 3600);

/// Who places the pods: a profile of the scheduler as it is when there is no configuration file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Our own.
    #[default]
    Kubenexus,
    /// That of kube-scheduler.
    Kube,
}

impl Profile {
    /// The name that pods ask for it by.
    #[must_use]
    pub fn scheduler(self) -> &'static str {
        match self {
            Self::Kubenexus => "kubenexus-scheduler",
            Self::Kube => "default-scheduler",
        }
    }
}

/// Jobs of the trace on their way through the scheduler.
pub struct Replay {
    profile: Profile,
    jobs: Vec<TraceJob>,
    /// The job of the trace that a job of the plan is part of, and the GPUs of each of its pods.
    owners: Map<String, (usize, u64)>,
    run: Run,
    nodes: u64,
    gpus: u64,
    /// The most GPUs that a node has.
    largest: u64,
    pods: u64,
    /// How many pods were placed when that last changed, and when.
    placed: (u64, Time),
}

impl Replay {
    /// A run of jobs on nodes, by a scheduler without a configuration file. None if no node has a
    /// GPU.
    #[must_use]
    pub fn new(jobs: Vec<TraceJob>, nodes: Vec<NodePlan>, profile: Profile) -> Option<Self> {
        let gpus_of = |node: &NodePlan| columns(&node.facts.allocatable)[2].max(0) as u64;
        let largest = nodes.iter().map(gpus_of).max().filter(|gpus| *gpus > 0)?;
        let (node_count, gpus) = (nodes.len() as u64, nodes.iter().map(gpus_of).sum());
        let (mut owners, mut planned, mut pod_groups) = (Map::default(), Vec::new(), Vec::new());
        for (at, job) in jobs.iter().enumerate() {
            let gang = (job.gpus > largest).then(|| gang(job, at, largest));
            for (pods, gpus) in [(job.gpus / largest, largest), (1, job.gpus % largest)] {
                if pods > 0 && gpus > 0 {
                    let name = format!("job-{}", planned.len() + 1);
                    owners.insert(name.clone(), (at, gpus));
                    let gang = gang.as_ref().map(|(membership, _)| membership.clone());
                    planned.push(Job { gang, ..plan(job, name, (pods, gpus), profile) });
                }
            }
            pod_groups.extend(gang.map(|(_, object)| object));
        }
        let pods = planned.iter().map(|job| job.pods).sum();
        let plan = Plan {
            seed: 0,
            // Never reached: the replay ends when all pods have been placed, or cannot be.
            span: Millis::seconds(1000 * 366 * 86_400),
            nodes,
            jobs: planned,
            budgets: Vec::new(),
            pod_groups,
            groupings: Vec::new(),
            namespaces: Vec::new(),
            storage: Default::default(),
            fixed: Vec::new(),
            settings: k8s::config::defaults(plugins::known()),
            faults: Faults::NONE,
        };
        let (run, placed) = (Run::new(plan), (0, Time::default()));
        Some(Self { profile, jobs, owners, run, nodes: node_count, gpus, largest, pods, placed })
    }

    /// When the last job arrives.
    #[must_use]
    pub fn last_arrival(&self) -> Time {
        self.jobs.last().map_or(Time::default(), |job| job.at)
    }

    /// Where the run is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.run.progress()
    }

    /// Runs a few hours of virtual time. False if nothing is left to be placed, or nothing that is
    /// left can be.
    ///
    /// # Errors
    /// When a decision breaks a rule that every placement must keep.
    pub fn advance(&mut self) -> Result<bool, Violation> {
        let now = self.progress().now + STEP;
        self.run.run_until(now)?;
        let placed = self.progress().placed;
        if placed != self.placed.0 {
            self.placed = (placed, now);
        }
        Ok(placed < self.pods && !self.is_stuck(now))
    }

    /// Whether all jobs have arrived, those that run have ended, and still nothing is placed.
    fn is_stuck(&self, now: Time) -> bool {
        let longest = self.jobs.iter().map(|job| job.runs).max().unwrap_or_default();
        now > self.placed.1.max(self.last_arrival()) + longest + STEP
    }

    /// What came of it so far.
    #[must_use]
    pub fn report(&self) -> Report {
        report::of(self)
    }
}

/// What the pods of a job that is larger than any node say of each other, and the object that they
/// name: all of them start together.
fn gang(job: &TraceJob, at: usize, largest: u64) -> (Membership, PodGroupPlan) {
    let name: Box<str> = format!("gang-{}", at + 1).into();
    let pods = u32::try_from(job.gpus.div_ceil(largest)).expect("a job has few enough pods");
    let kind = PodGroupKind::Native;
    let facts = PodGroupFacts {
        key: PodGroupKey { kind, namespace: job.cluster.clone(), name: name.clone() },
        mins: [("".into(), pods)].into(),
        timeout: None,
        priority: None,
        topology: Box::default(),
        is_evicted_whole: false,
        parent: None,
        is_started: false,
        min_resources: Amounts::default(),
    };
    let object = PodGroupPlan { facts, at: job.at, deleted: None, later: Vec::new() };
    (Membership { gang: name, object: Some(kind), ..Membership::default() }, object)
}

/// Pods of a job that ask for the same number of GPUs. The trace says nothing of CPU and memory. It
/// is of jobs that train models.
fn plan(job: &TraceJob, name: String, (pods, gpus): (u64, u64), profile: Profile) -> Job {
    let hints = Hints { declared: Some(Said::Known(Workload::Training)), ..Hints::default() };
    let spec = PodSpec {
        scheduler: profile.scheduler().to_owned(),
        namespace: job.cluster.to_string(),
        requests: requests(0, 0, gpus as i64),
        hints: hints.if_any(),
        ..PodSpec::default()
    };
    let runs = Some((job.runs, job.runs));
    Job {
        name,
        at: job.at,
        pods,
        followers: 0,
        spec,
        labels: Default::default(),
        priority: 0,
        node: None,
        runs,
        gates: None,
        life: Life::default(),
        gang: None,
    }
}
