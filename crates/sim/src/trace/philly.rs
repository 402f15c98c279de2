//! Microsoft's Philly trace (Jeon et al., USENIX ATC 2019): jobs with their own arrival times and
//! durations, scheduled by the engine on a cluster of the user's choice.
//!
//! A virtual cluster of the trace is a namespace. It has no quota.

mod jobs;
mod nodes;
mod report;
#[cfg(test)]
mod tests;

use model::{Map, Millis, PodSpec, Time};

use crate::checkers::Violation;
use crate::plan::{Faults, Job, Life, NodePlan, Plan};
use crate::quantities::{columns, requests};
use crate::run::{Progress, Run};
pub use jobs::{TraceJob, read_jobs};
pub use nodes::read_nodes;
pub use report::{Report, Spread, VirtualCluster};

/// What is not modelled, in a sentence.
pub const LIMITATION: &str = "A job of more GPUs than a node has is several pods that are placed \
     one by one, not as a gang: each runs for the duration of the job from its own start, and the \
     job has started once the last of them is placed.";

/// How much virtual time passes between two looks at where the run is.
const STEP: Millis = Millis::seconds(6 * 3600);

/// Jobs of the trace on their way through the scheduler.
pub struct Replay {
    jobs: Vec<TraceJob>,
    /// The job of the trace that a job of the plan is part of, and the GPUs of each of its pods.
    owners: Map<String, (usize, u64)>,
    run: Run,
    nodes: u64,
    gpus: u64,
    pods: u64,
    /// How many pods were placed when that last changed, and when.
    placed: (u64, Time),
}

impl Replay {
    /// A run of jobs on nodes, by a scheduler without a configuration file. None if no node has a
    /// GPU.
    #[must_use]
    pub fn new(jobs: Vec<TraceJob>, nodes: Vec<NodePlan>) -> Option<Self> {
        let gpus_of = |node: &NodePlan| columns(&node.facts.allocatable)[2].max(0) as u64;
        let largest = nodes.iter().map(gpus_of).max().filter(|gpus| *gpus > 0)?;
        let (node_count, gpus) = (nodes.len() as u64, nodes.iter().map(gpus_of).sum());
        let settings = k8s::config::defaults(plugins::known());
        let scheduler = settings.profiles[0].scheduler.clone();
        let (mut owners, mut planned) = (Map::default(), Vec::new());
        for (at, job) in jobs.iter().enumerate() {
            for (pods, gpus) in [(job.gpus / largest, largest), (1, job.gpus % largest)] {
                if pods > 0 && gpus > 0 {
                    let name = format!("job-{}", planned.len() + 1);
                    owners.insert(name.clone(), (at, gpus));
                    planned.push(plan(job, name, pods, gpus, &scheduler));
                }
            }
        }
        let pods = planned.iter().map(|job| job.pods).sum();
        let plan = Plan {
            seed: 0,
            // Never reached: the replay ends when all pods have been placed, or cannot be.
            span: Millis::seconds(1000 * 366 * 86_400),
            nodes,
            jobs: planned,
            budgets: Vec::new(),
            pod_groups: Vec::new(),
            groupings: Vec::new(),
            namespaces: Vec::new(),
            storage: Default::default(),
            fixed: Vec::new(),
            settings,
            faults: Faults::NONE,
        };
        let (run, placed) = (Run::new(plan), (0, Time::default()));
        Some(Self { jobs, owners, run, nodes: node_count, gpus, pods, placed })
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

/// Pods of a job that ask for the same number of GPUs. The trace says nothing of CPU and memory.
fn plan(job: &TraceJob, name: String, pods: u64, gpus: u64, scheduler: &str) -> Job {
    let spec = PodSpec {
        scheduler: scheduler.to_owned(),
        namespace: job.cluster.to_string(),
        requests: requests(0, 0, gpus as i64),
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
