//! Runs the engine on the world: from one happening to the next, until the time is over.

#[cfg(test)]
mod tests;

use engine::{Backoff, QueueCounts, Scheduler};
use k8s::config::Settings;
use model::{Attempt, Catalog, Decision, Event, Millis, NodeId, PodId, Time, Waiting};

use crate::checkers::{self, Violation};
use crate::fingerprint::Fingerprint;
use crate::history::Recorder;
use crate::map::{self, ClusterMap};
use crate::plan::Plan;
use crate::report::{self, Report};
use crate::world::{PodAt, World};

/// Units decided between two looks at the queue; any number leads to the same decisions.
const BUDGET: usize = 256;

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The virtual time that has passed.
    pub now: Time,
    /// Pods that got a node so far.
    pub placed: u64,
    /// Pods without one.
    pub waiting: u64,
    /// Decisions of the scheduler so far.
    pub decisions: u64,
}

/// When a pod came, and when it got its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodTimes<'a> {
    /// The name of its job.
    pub job: &'a str,
    /// Since when it may be scheduled.
    pub since: Time,
    /// When its binding was accepted.
    pub placed: Option<Time>,
}

/// A run in progress.
pub struct Run {
    seed: u64,
    span: Millis,
    world: World,
    scheduler: Scheduler,
    tally: Tally,
    recorder: Recorder,
    ends_when_settled: bool,
    events: Vec<Event>,
    decisions: Vec<Decision>,
}

/// What the scheduler decided so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bindings: u64,
    pub(crate) waits: u64,
    pub(crate) fingerprint: Fingerprint,
}

impl Run {
    /// A world that follows the plan, and a scheduler that knows nothing of it.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let Plan { seed, span, nodes, jobs, settings, faults } = plan;
        let recorder = Recorder::new(&jobs, span);
        Self {
            seed,
            span,
            recorder,
            ends_when_settled: false,
            world: World::new(seed, nodes, jobs, faults),
            scheduler: scheduler(&settings, seed),
            tally: Tally::default(),
            events: Vec::new(),
            decisions: Vec::new(),
        }
    }

    /// Ends the run, before its span is over, once nothing will happen by itself any more and the
    /// scheduler has tried everything that it knows a reason to try.
    #[must_use]
    pub fn until_settled(self) -> Self {
        Self { ends_when_settled: true, ..self }
    }

    /// The virtual time at which the run is over.
    #[must_use]
    pub fn end(&self) -> Time {
        Time::default() + self.span
    }

    /// Where the run is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let (placed, waiting) = self.world.placed_and_waiting();
        let decisions = self.tally.bindings + self.tally.waits;
        Progress { now: self.world.now(), placed, waiting, decisions }
    }

    /// All pods so far, in the order they came.
    pub fn pods(&self) -> impl Iterator<Item = PodTimes<'_>> {
        self.world.pods().map(|(_, pod)| {
            let job = &self.world.job(pod.job).name;
            PodTimes { job, since: pod.since, placed: pod.placed }
        })
    }

    /// Runs until the given virtual time, or the end. In how many parts a run is done changes
    /// nothing about its result.
    ///
    /// # Errors
    /// When a decision breaks a rule that every placement must keep.
    pub fn run_until(&mut self, time: Time) -> Result<(), Violation> {
        let until = time.min(self.end());
        while let Some(now) = self.next_at().filter(|at| *at <= until) {
            if self.is_settled() {
                break;
            }
            self.recorder.pass(&self.world, now);
            self.world.advance(now, &mut self.events);
            for event in self.events.drain(..) {
                self.scheduler.apply(&event, now);
            }
            self.decide(now)?;
        }
        if self.is_settled() {
            self.span = Millis(self.world.now().0);
            return Ok(());
        }
        let rest = until.max(self.world.now());
        self.recorder.pass(&self.world, rest);
        self.world.advance(rest, &mut self.events);
        debug_assert!(self.events.is_empty(), "everything up to this time has happened");
        Ok(())
    }

    /// Runs to the end and tells what came of it.
    ///
    /// # Errors
    /// When a decision breaks a rule that every placement must keep.
    pub fn finish(mut self) -> Result<Report, Violation> {
        self.run_until(self.end())?;
        let history = self.recorder.finish(&self.world);
        Ok(report::of(self.seed, &self.world, &self.tally, self.scheduler.catalog(), history))
    }

    /// Who is where at this moment.
    #[must_use]
    pub fn map(&self) -> ClusterMap {
        map::of(&self.world)
    }

    fn is_settled(&self) -> bool {
        let is_idle = |counts: QueueCounts| counts.active + counts.backoff == 0;
        self.ends_when_settled
            && self.world.next_at().is_none()
            && is_idle(self.scheduler.waiting())
    }

    /// When something happens next, in the world or in the scheduler's queue.
    fn next_at(&self) -> Option<Time> {
        // A unit whose turn it is already is tried now, not in the past.
        let wakeup = self.scheduler.next_wakeup().map(|at| at.max(self.world.now()));
        self.world.next_at().into_iter().chain(wakeup).min()
    }

    fn decide(&mut self, now: Time) -> Result<(), Violation> {
        while self.scheduler.next_wakeup().is_some_and(|at| at <= now) {
            let mut decisions = std::mem::take(&mut self.decisions);
            self.scheduler.step(now, BUDGET, &mut decisions);
            for decision in decisions.drain(..) {
                match decision {
                    Decision::Bind { pod, node, attempt, .. } => self.bind(pod, node, attempt)?,
                    Decision::Wait(waiting) => self.explain(waiting)?,
                }
            }
            self.decisions = decisions;
        }
        Ok(())
    }

    fn bind(&mut self, pod: PodId, node: NodeId, attempt: Attempt) -> Result<(), Violation> {
        let pod = self.find_pod(pod)?;
        let name = self.scheduler.catalog().node_name(node);
        let unknown = || Violation::Unknown { name: format!("node {name}") };
        let node = self.world.find_node(name).ok_or_else(unknown)?;
        checkers::check(&self.world, pod, node)?;
        self.tally.bindings += 1;
        self.note(pod);
        self.tally.fingerprint.text(&self.world.node(node).facts.name);
        self.world.bind(pod, node, attempt);
        Ok(())
    }

    fn explain(&mut self, waiting: Waiting) -> Result<(), Violation> {
        let pod = self.find_pod(waiting.pod)?;
        self.tally.waits += 1;
        self.note(pod);
        for (_, count) in &waiting.diagnosis.counts {
            self.tally.fingerprint.number(*count as u64);
        }
        self.world.explain(pod, waiting.diagnosis);
        Ok(())
    }

    /// Every decision leaves its mark: when, and about which pod.
    fn note(&mut self, pod: PodAt) {
        self.tally.fingerprint.number(self.world.now().0);
        self.tally.fingerprint.text(&self.world.pod(pod).key.uid);
    }

    fn find_pod(&self, pod: PodId) -> Result<PodAt, Violation> {
        let key = &self.scheduler.catalog().pod(pod).key;
        let unknown = || Violation::Unknown { name: format!("pod {}", key.name) };
        self.world.find_pod(&key.uid).ok_or_else(unknown)
    }
}

/// A scheduler with these settings.
fn scheduler(settings: &Settings, seed: u64) -> Scheduler {
    let mut catalog = Catalog::default();
    let build = |profile| plugins::build(profile, &mut catalog);
    let profiles: Result<_, _> = settings.profiles.iter().map(build).collect();
    let profiles = profiles.expect("settings name only plugins that are built");
    let backoff = Backoff {
        initial: settings.initial_backoff,
        max: settings.max_backoff,
        ..Backoff::default()
    };
    Scheduler::new(catalog, profiles, engine::Options { backoff, seed, ..Default::default() })
}
