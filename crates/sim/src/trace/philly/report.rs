//! What came of the jobs: how long they waited, when they were done, and how busy the GPUs were.

use std::collections::BTreeMap;

use model::{Millis, Time};
use serde::Serialize;

use super::{LIMITATION, Replay, TraceJob};
use crate::report::percentile;

/// A start within this time of the arrival is a prompt one.
const PROMPT: Millis = Millis::seconds(60);

/// What came of a replay. Times are virtual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The profile that placed the pods.
    pub profile: &'static str,
    /// What is not modelled.
    pub limitation: &'static str,
    /// Nodes of the cluster.
    pub nodes: u64,
    /// Its GPUs.
    pub gpus: u64,
    /// From the first arrival to the last.
    pub arrivals_ms: u64,
    /// From the first arrival to the end of the last job that started.
    pub makespan_ms: u64,
    /// Pods that take a whole node.
    pub islands: Islands,
    /// All jobs.
    pub overall: VirtualCluster,
    /// Jobs by virtual cluster.
    pub virtual_clusters: Vec<VirtualCluster>,
}

/// Pods that take all GPUs of the largest nodes there are: each needs one that is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Islands {
    /// How many GPUs that is.
    pub gpus: u64,
    /// How many such pods there are.
    pub pods: u64,
    /// How many of them were placed.
    pub started: u64,
    /// How many of them within a minute of their arrival.
    pub started_within_minute: u64,
}

/// Jobs of a virtual cluster, or all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VirtualCluster {
    /// Its name; it is the namespace of the pods.
    pub name: String,
    /// Its jobs.
    pub jobs: u64,
    /// Jobs all of whose pods were placed.
    pub started: u64,
    /// GPUs times time that its pods took, in seconds.
    pub gpu_seconds: u64,
    /// The share of all GPUs that its pods took while jobs arrived, in thousandths.
    pub gpu_permille: u64,
    /// From the arrival of a job to its start, if any started.
    pub wait: Option<Spread>,
    /// From the arrival of a job to its end, if any started.
    pub completion: Option<Spread>,
}

/// How a time is spread over jobs, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean_ms: u64,
    /// Half of the jobs are not above.
    pub p50_ms: u64,
    /// 90 of a hundred are not above.
    pub p90_ms: u64,
    /// 99 of a hundred are not above.
    pub p99_ms: u64,
    /// None is above.
    pub max_ms: u64,
}

pub(super) fn of(replay: &Replay) -> Report {
    let outcomes = outcomes(replay);
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    let mut overall = Group::default();
    for (job, outcome) in replay.jobs.iter().zip(&outcomes) {
        groups.entry(&job.cluster).or_default().add(job, outcome);
        overall.add(job, outcome);
    }
    let arrivals_ms = replay.last_arrival().0;
    let offered_ms = u128::from(replay.gpus) * u128::from(arrivals_ms);
    Report {
        profile: replay.profile.scheduler(),
        limitation: LIMITATION,
        nodes: replay.nodes,
        gpus: replay.gpus,
        arrivals_ms,
        makespan_ms: overall.last_end.0,
        islands: islands(replay),
        overall: overall.summary("all", offered_ms),
        virtual_clusters: groups
            .into_iter()
            .map(|(name, group)| group.summary(name, offered_ms))
            .collect(),
    }
}

/// What became of a job.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    /// GPUs of its pods that were placed.
    gpus: u64,
    /// When the last of them was placed.
    start: Time,
    /// GPUs times time that its pods took.
    gpu_ms: u128,
    /// The part of it before the last job arrived.
    gpu_arrivals_ms: u128,
}

/// What became of each job, in the order of arrival.
fn outcomes(replay: &Replay) -> Vec<Outcome> {
    let mut outcomes = vec![Outcome::default(); replay.jobs.len()];
    for pod in replay.run.pods() {
        let (Some(placed), Some((job, gpus))) = (pod.placed, replay.owners.get(pod.job)) else {
            continue;
        };
        let outcome = &mut outcomes[*job];
        let runs = replay.jobs[*job].runs;
        let till_last = replay.last_arrival().0.saturating_sub(placed.0);
        outcome.gpus += gpus;
        outcome.start = outcome.start.max(placed);
        outcome.gpu_ms += u128::from(*gpus) * u128::from(runs.0);
        outcome.gpu_arrivals_ms += u128::from(*gpus) * u128::from(runs.0.min(till_last));
    }
    outcomes
}

/// What became of pods that take a whole node.
fn islands(replay: &Replay) -> Islands {
    let gpus = replay.largest;
    let pods = replay.jobs.iter().map(|job| job.gpus / gpus).sum();
    let mut islands = Islands { gpus, pods, ..Islands::default() };
    for pod in replay.run.pods() {
        let owner = replay.owners.get(pod.job).filter(|(_, of_pod)| *of_pod == gpus);
        let (Some(placed), Some((job, _))) = (pod.placed, owner) else { continue };
        let is_prompt = placed <= replay.jobs[*job].at + PROMPT;
        islands.started += 1;
        islands.started_within_minute += u64::from(is_prompt);
    }
    islands
}

/// Jobs that are reported together.
#[derive(Default)]
struct Group {
    jobs: u64,
    waits_ms: Vec<u64>,
    completions_ms: Vec<u64>,
    last_end: Time,
    gpu_ms: u128,
    gpu_arrivals_ms: u128,
}

impl Group {
    fn add(&mut self, job: &TraceJob, outcome: &Outcome) {
        self.jobs += 1;
        self.gpu_ms += outcome.gpu_ms;
        self.gpu_arrivals_ms += outcome.gpu_arrivals_ms;
        if outcome.gpus == job.gpus {
            let end = outcome.start + job.runs;
            self.waits_ms.push(outcome.start.0 - job.at.0);
            self.completions_ms.push(end.0 - job.at.0);
            self.last_end = self.last_end.max(end);
        }
    }

    fn summary(self, name: &str, offered_ms: u128) -> VirtualCluster {
        let permille = (self.gpu_arrivals_ms * 1000).checked_div(offered_ms).unwrap_or(0);
        VirtualCluster {
            name: name.to_owned(),
            jobs: self.jobs,
            started: self.waits_ms.len() as u64,
            gpu_seconds: (self.gpu_ms / 1000) as u64,
            gpu_permille: permille as u64,
            wait: Spread::of(self.waits_ms),
            completion: Spread::of(self.completions_ms),
        }
    }
}

impl Spread {
    /// None of nothing.
    fn of(mut values_ms: Vec<u64>) -> Option<Self> {
        values_ms.sort_unstable();
        let sum: u128 = values_ms.iter().map(|value| u128::from(*value)).sum();
        let mean = sum.checked_div(values_ms.len() as u128)?;
        let at = |percent| percentile(&values_ms, percent);
        Some(Self {
            mean_ms: mean as u64,
            p50_ms: at(50),
            p90_ms: at(90),
            p99_ms: at(99),
            max_ms: at(100),
        })
    }
}
