//! Runs a workload once with the real engine: events are applied, units are decided about, and
//! every decision is written out as it would be for the API server.

mod restart;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use engine::{Options, Scheduler};
use k8s::{config, ingest, render};
use model::{Catalog, Decision, Event, NodeId, PodGroupKind, PodId, Time};

use crate::cluster::{node_of_name, pod_of_uid};
use crate::memory::resident;
use crate::metric::Metric;
use crate::stopwatch::{Stopwatch, Taken, on_core};
use crate::workload::{CreatePods, Profile, Size, Step, Workload};
use crate::world::World;

/// How many pods arrive between two rounds of decisions, as they would in bursts from a watch.
const BURST: usize = 128;

/// What was measured.
#[derive(Default)]
pub(crate) struct Sample {
    /// Pods of the measured step that were placed, or listed.
    pub(crate) pods: usize,
    /// Decisions of the measured step.
    pub(crate) decisions: usize,
    /// Decisions about pods of earlier steps.
    pub(crate) retries: usize,
    /// Tries of pods of earlier steps, and how many of these were placed.
    pub(crate) retried: u64,
    pub(crate) cured: usize,
    /// How long the measured step took, without the making of its objects.
    pub(crate) taken: Taken,
    /// Nanoseconds from one decision about a pod of the step to the next; empty without a stock,
    /// since it takes memory.
    pub(crate) gaps: Vec<u32>,
    /// The same as time on a core, where that is asked for.
    pub(crate) core_gaps: Vec<u32>,
    /// The longest that it took to decide about a unit, on a core; where that is asked for.
    pub(crate) longest: Duration,
    /// How long it took to read the text of a restart and keep nothing.
    pub(crate) bare_read: Taken,
    /// Nodes and pods that the scheduler knows at the end.
    pub(crate) nodes_known: usize,
    pub(crate) pods_known: usize,
    /// Resident memory when all nodes were there, and at the end.
    pub(crate) resident_with_nodes: u64,
    pub(crate) resident: u64,
}

/// Events of the pods that arrive, made beforehand. Making them between measurements would spoil
/// the caches, and keeping them would spoil what is said of memory.
pub(crate) struct Stock(Vec<Vec<Event>>);

impl Stock {
    pub(crate) fn new(workload: &Workload, size: &Size) -> Result<Self> {
        let world = World::new(workload, size);
        let events = |step: &Step| match step {
            Step::CreatePods(pods) if !pods.bound => world.arrivals(world.created_by(pods)),
            Step::CreatePods(_) | Step::CreateNodes(_) | Step::Restart(_) => Ok(Vec::new()),
        };
        Ok(Self(workload.steps.iter().map(|step| events(&step.value)).collect::<Result<_>>()?))
    }
}

/// Runs all steps. Without a stock, pods are made as they arrive.
pub(crate) fn run(workload: &Workload, size: &Size, stock: Option<&Stock>) -> Result<Sample> {
    let mut run = Run {
        scheduler: scheduler(workload.profile)?,
        world: World::new(workload, size),
        size,
        now: Time::default(),
        decisions: Vec::new(),
        moments: Vec::new(),
        is_timed_on_core: workload.asks_for(Metric::CoreUsP99),
        longest: workload.asks_for(Metric::LongestMs).then_some(Duration::ZERO),
        body: Vec::new(),
    };
    for namespace in run.world.namespaces() {
        run.scheduler.apply(&ingest::namespace(&namespace)?, run.now);
    }
    for group in run.world.pod_groups() {
        run.scheduler.apply(&ingest::pod_group(PodGroupKind::Native, &group)?, run.now);
    }
    let mut sample = Sample::default();
    for (at, step) in workload.steps.iter().enumerate() {
        match &step.value {
            Step::CreateNodes(nodes) => {
                run.create_nodes(nodes.count.at(size), !workload.is_restart())?;
                sample.resident_with_nodes = resident()?;
            }
            Step::CreatePods(pods) if pods.bound => {
                run.create_bound(pods, !workload.is_restart())?;
            }
            Step::CreatePods(pods) => {
                let ready = stock.map(|stock| &stock.0[at][..]);
                let measured = run.create_pods(pods, ready)?;
                if pods.measure {
                    let resident_with_nodes = sample.resident_with_nodes;
                    sample = Sample { resident_with_nodes, ..measured };
                }
            }
            Step::Restart(_) => sample = run.restart()?,
        }
    }
    sample.resident = resident()?;
    sample.nodes_known = run.scheduler.catalog().nodes().len();
    sample.pods_known = run.scheduler.catalog().pods().count();
    Ok(sample)
}

/// A scheduler that knows nothing. Labels make gangs in either profile.
fn scheduler(profile: Profile) -> Result<Scheduler> {
    let plugins = match profile {
        Profile::DefaultScheduler => "{permit: {enabled: [{name: Coscheduling}]}}",
        Profile::KubenexusScheduler => "{}",
    };
    let name = profile.scheduler();
    let file = format!(
        "{{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, \
         profiles: [{{schedulerName: {name}, plugins: {plugins}}}]}}"
    );
    let settings = config::load(&file, plugins::known())?;
    let mut catalog = Catalog::default();
    let profile = plugins::build(&settings.profiles[0], &mut catalog)?;
    Ok(Scheduler::new(catalog, vec![profile], Options::default()))
}

/// When something was done.
#[derive(Clone, Copy)]
struct Moment {
    by_clock: Instant,
    /// None where it is not asked for.
    on_core: Option<Duration>,
}

struct Run<'a> {
    scheduler: Scheduler,
    world: World<'a>,
    size: &'a Size,
    now: Time,
    /// Decisions of a burst, and when each was written out.
    decisions: Vec<Decision>,
    moments: Vec<Moment>,
    is_timed_on_core: bool,
    /// The longest that a unit took; none where it is not asked for.
    longest: Option<Duration>,
    body: Vec<u8>,
}

impl Run<'_> {
    fn create_nodes(&mut self, count: usize, is_told: bool) -> Result<()> {
        for _ in 0..count {
            let node = self.world.join();
            if is_told {
                self.scheduler.apply(&ingest::node(&node)?, self.now);
            }
        }
        Ok(())
    }

    fn create_bound(&mut self, pods: &CreatePods, is_told: bool) -> Result<()> {
        for at in self.world.created_by(pods) {
            let node = self.world.node_in_turn(at);
            self.world.place(at, node);
            if is_told {
                self.scheduler.apply(&ingest::pod(&self.world.pod_on(at, node))?, self.now);
            }
        }
        Ok(())
    }

    fn create_pods(&mut self, pods: &CreatePods, ready: Option<&[Event]>) -> Result<Sample> {
        let created = self.world.created_by(pods);
        let per_second = pods.pods_per_second.as_ref().map(|rate| rate.at(self.size).max(1));
        let (first, start) = (created.start, self.now);
        let mut sample = Sample::default();
        let mut bound = Vec::new();
        let tries = self.scheduler.tries();
        self.longest = self.longest.and(Some(Duration::ZERO));
        for at in created.clone().step_by(BURST) {
            let burst = at..(at + BURST).min(created.end);
            let before = at - first;
            let happened = self.world.happenings(&pods.meanwhile, before, burst.len())?;
            let made;
            let arrivals = match ready {
                Some(ready) => &ready[before..before + burst.len()],
                None => {
                    made = self.world.arrivals(burst.clone())?;
                    &made
                }
            };
            if let Some(per_second) = per_second {
                self.now = Time(start.0 + (before * 1000 / per_second) as u64);
            }
            sample.taken += self.decide(happened.iter().chain(arrivals))?;
            self.count(first, &mut sample, &mut bound)?;
            if ready.is_none() {
                sample.gaps.clear();
                sample.core_gaps.clear();
            }
            if pods.confirm {
                sample.taken += self.confirm(&bound)?;
            }
            for (pod, node) in bound.drain(..) {
                self.world.must_be_within(pod, node)?;
                self.world.place(pod, node);
            }
        }
        // Every arrival of the step is tried once at least; who fits nowhere stands in a line.
        sample.longest = self.longest.unwrap_or_default();
        let own = sample.decisions - sample.retries;
        sample.retried = (self.scheduler.tries() - tries).saturating_sub(own as u64);
        let fitting = created.filter(|at| !self.world.fits_nowhere(*at)).count();
        let placed = sample.pods;
        ensure!(placed == fitting, "{placed} pods found a node, not {fitting} as was said");
        Ok(sample)
    }

    /// Applies events, and decides until it is nobody's turn. Tells how long it took.
    fn decide<'e>(&mut self, events: impl Iterator<Item = &'e Event>) -> Result<Taken> {
        let (mut decided, mut written) = (0, 0);
        self.decisions.clear();
        self.moments.clear();
        let stopwatch = Stopwatch::start();
        for event in events {
            self.scheduler.apply(event, self.now);
        }
        self.moments.push(self.moment());
        loop {
            let before = self.longest.map(|longest| (longest, on_core()));
            self.scheduler.step(self.now, 1, &mut self.decisions);
            self.longest = before.map(|(longest, before)| longest.max(on_core() - before));
            if self.decisions.len() == decided {
                break;
            }
            for decision in &self.decisions[decided..] {
                self.body.clear();
                write(&self.scheduler, decision, &mut self.body)?;
                written += self.body.len();
                self.moments.push(self.moment());
            }
            decided = self.decisions.len();
        }
        let taken = stopwatch.taken();
        ensure!(written >= 100 * decided, "every decision was written out");
        Ok(taken)
    }

    fn moment(&self) -> Moment {
        Moment { by_clock: Instant::now(), on_core: self.is_timed_on_core.then(on_core) }
    }

    /// Counts the decisions of a burst, and lists who is bound where.
    fn count(
        &self,
        first: usize,
        sample: &mut Sample,
        bound: &mut Vec<(usize, usize)>,
    ) -> Result<()> {
        let mut moments = self.moments.iter().copied();
        let mut before = moments.next().context("a burst has a start")?;
        for (decision, moment) in self.decisions.iter().zip(moments) {
            let (id, node) = match decision {
                Decision::Bind { pod, node, .. } => (*pod, Some(*node)),
                Decision::Preempt(_)
                | Decision::Disband(_)
                | Decision::Report(_)
                | Decision::Prepare(_)
                | Decision::Unprepared { .. } => continue,
                Decision::Wait(waiting) => (waiting.pod, None),
            };
            let pod = self.pod_at(id)?;
            sample.decisions += 1;
            if pod >= first {
                let nanos = |gap: Duration| u32::try_from(gap.as_nanos()).unwrap_or(u32::MAX);
                sample.gaps.push(nanos(moment.by_clock - before.by_clock));
                let on_core = moment.on_core.zip(before.on_core);
                sample.core_gaps.extend(on_core.map(|(now, then)| nanos(now - then)));
                before = moment;
            } else {
                sample.retries += 1;
            }
            let Some(node) = node else { continue };
            bound.push((pod, self.node_at(node)?));
            sample.cured += usize::from(pod < first);
            if pod >= first {
                sample.pods += 1;
                ensure!(!self.world.fits_nowhere(pod), "a pod that fits nowhere found a node");
            }
        }
        Ok(())
    }

    /// The API server says that pods are bound.
    fn confirm(&mut self, bound: &[(usize, usize)]) -> Result<Taken> {
        let event = |(pod, node): &(usize, usize)| ingest::pod(&self.world.pod_on(*pod, *node));
        let events = bound.iter().map(event).collect::<Result<Vec<_>, _>>()?;
        let stopwatch = Stopwatch::start();
        events.iter().for_each(|event| self.scheduler.apply(event, self.now));
        Ok(stopwatch.taken())
    }

    fn pod_at(&self, pod: PodId) -> Result<usize> {
        let uid = &self.scheduler.catalog().pod(pod).key.uid;
        pod_of_uid(uid).with_context(|| format!("no workload makes a pod with the uid {uid}"))
    }

    fn node_at(&self, node: NodeId) -> Result<usize> {
        let name = self.scheduler.catalog().node_name(node);
        node_of_name(name).with_context(|| format!("no workload makes a node called {name}"))
    }
}

/// Writes a decision as it goes to the API server.
fn write(scheduler: &Scheduler, decision: &Decision, body: &mut Vec<u8>) -> Result<()> {
    let catalog = scheduler.catalog();
    match decision {
        Decision::Bind { pod, node, .. } => {
            let zones = scheduler.zones_to_tell(*pod, *node);
            let gpus = scheduler.gpus_to_tell(*pod, *node);
            let binding = render::binding(catalog, *pod, *node, zones.as_deref(), gpus.as_deref());
            serde_json::to_writer(body, &binding)?;
        }
        Decision::Preempt(preemption) => {
            for victim in &preemption.victims {
                let victim = &catalog.pod(*victim).key;
                serde_json::to_writer(&mut *body, &render::deletion(victim))?;
            }
        }
        Decision::Disband(_)
        | Decision::Report(_)
        | Decision::Prepare(_)
        | Decision::Unprepared { .. } => {}
        Decision::Wait(waiting) => {
            serde_json::to_writer(body, &render::condition(&waiting.diagnosis, catalog))?;
        }
    }
    Ok(())
}
