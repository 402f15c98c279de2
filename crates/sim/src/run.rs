//! Runs schedulers in the world: from one happening to the next, until the time is over.
//!
//! ```text
//!  world ─ changes ─▶ watches ─ events ─▶ replicas ─ decisions ─▶ shell ─ requests ─▶ world
//!                   (delay, cuts)     engine and ledger      (loss, refusal, silence)
//! ```
//!
//! The engine is the real one, and is not changed for this in any way.

mod evict;
mod gangs;
mod inspect;
mod lease;
mod prepare;
mod replica;
mod shell;
mod show;
mod swarm;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s::config::Settings;
use model::{Attempt, Decision, Event, Fact, Key, Kind, NodeId, PodId, Time, Waiting};

use crate::checkers::{self, Alignment, Inspector, Violation};
use crate::dice::{Dice, Stream};
use crate::fingerprint::Fingerprint;
use crate::history::Recorder;
use crate::map::{self, ClusterMap};
use crate::plan::{Faults, Job, Plan};
use crate::report::{self, Report};
use crate::world::{
    Agenda, Answer, ByKind, Change, NodeAt, Phase, PodAt, WATCHED, Whereabouts, World, watched,
};
use evict::{Eviction, Said};
use lease::Lead;
use prepare::{Prepare, WriteStep};
pub(crate) use replica::{Replica, scheduler};
use replica::{ReplicaId, names};
use shell::{After, BINDS_MAX, Request, RequestId};

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
    /// Its namespace.
    pub tenant: &'a str,
    /// The name of its job.
    pub job: &'a str,
    /// Since when it may be scheduled.
    pub since: Time,
    /// When its binding was accepted.
    pub placed: Option<Time>,
    /// The node that it runs on now.
    pub node: Option<&'a str>,
}

/// A run in progress.
pub struct Run {
    seed: u64,
    end: Time,
    settings: Settings,
    faults: Faults,
    dice: Dice,
    world: World,
    /// Services, controllers and whatever else does not change, of which replicas are told when
    /// they start.
    told: Vec<Arc<Event>>,
    agenda: Agenda<Doing>,
    /// The versions of the API server: how many changes of each kind there were.
    versions: ByKind<u64>,
    /// What is watched.
    kinds: Vec<Kind>,
    has_storage: bool,
    /// Whether it is the storage of a whole cluster, of which the rules do not know everything.
    is_cluster: bool,
    /// Those that live, oldest first.
    replicas: Vec<Replica>,
    replicas_made: u64,
    lead: Lead,
    /// Until when requests of replicas that are gone may arrive.
    fences: BTreeMap<ReplicaId, Time>,
    requests: BTreeMap<RequestId, Request>,
    requests_made: u64,
    evictions: BTreeMap<RequestId, Eviction>,
    prepares: BTreeMap<RequestId, Prepare>,
    tally: Tally,
    recorder: Recorder,
    ends_when_settled: bool,
    /// Looks at everything, if that is wanted.
    inspector: Option<(ReplicaId, Inspector)>,
    /// What was known of nodes whose kubelets must not refuse pods, and the profiles whose pods
    /// they must not refuse.
    alignment: Alignment,
    aligning: Vec<String>,
    /// An event that cost a replica too much.
    overworked: Option<Violation>,
    changes: Vec<Change>,
    decisions: Vec<Decision>,
    #[cfg(test)]
    saboteur: Option<Box<dyn crate::swarm::Saboteur>>,
}

/// Something that happens between the world and its schedulers.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Cut(ReplicaId, Kind),
    Lists(ReplicaId, Kind),
    LeaderLost,
    TakesOver,
    Arrives(RequestId),
    ArrivesLate {
        replica: ReplicaId,
        pod: PodAt,
        node: NodeAt,
    },
    Answered(RequestId, Answer),
    Read(RequestId, After),
    ReadArrives(RequestId, After),
    Found(RequestId, After, Whereabouts),
    SendAgain(RequestId),
    /// An eviction is sent.
    Evict(RequestId),
    EvictionArrives(RequestId),
    EvictionArrivesLate(Eviction),
    EvictionAnswered(RequestId, Said),
    /// Something that pods need before they can be bound is written.
    Writes(RequestId, WriteStep),
}

/// What the scheduler decided so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) bindings: u64,
    pub(crate) waits: u64,
    pub(crate) preemptions: u64,
    pub(crate) disbands: u64,
    pub(crate) reports: u64,
    pub(crate) fingerprint: Fingerprint,
}

impl Run {
    /// A world that follows the plan, and a scheduler that knows nothing of it. Every binding is
    /// checked before it is carried out.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let Plan { seed, span, nodes, jobs, settings, faults, .. } = plan;
        let groups = plan.pod_groups.iter().map(|group| Key::from(group.facts.key.clone()).kind);
        let there: BTreeSet<Kind> = groups.chain(plan.fixed.iter().map(Fact::kind)).collect();
        let is_batch = |job: &Job| job.gang.as_ref().is_some_and(|gang| gang.batch.is_some());
        let has_jobs = jobs.iter().any(is_batch);
        let has_storage = !plan.storage.is_empty();
        let has_drivers = !plan.storage.objects.is_empty();
        let is_cluster = plan.storage.cluster.is_some();
        let objects = (plan.pod_groups, plan.namespaces, plan.storage);
        let recorder = Recorder::new(&jobs, span);
        let groupings = plan.groupings.into_iter().map(Fact::from);
        // What is watched is listed.
        let (listed, told): (Vec<Fact>, Vec<Fact>) =
            plan.fixed.into_iter().partition(|fact| WATCHED.contains(&fact.kind()));
        let told = groupings.chain(told).map(|fact| Arc::new(Event::Seen(fact)));
        let aligning = inspect::aligning(&settings);
        let mut run = Self {
            seed,
            recorder,
            ends_when_settled: false,
            end: Time::default() + span,
            world: World::new(seed, nodes, (jobs, plan.budgets), objects, faults, names(&settings)),
            told: told.collect(),
            settings,
            faults,
            dice: Dice::new(seed, Stream::Network),
            agenda: Agenda::default(),
            versions: WATCHED.map(|_| 0),
            kinds: watched(&there, has_jobs, has_storage, has_drivers),
            has_storage,
            is_cluster,
            replicas: Vec::new(),
            replicas_made: 0,
            lead: Lead::Vacant,
            fences: BTreeMap::new(),
            requests: BTreeMap::new(),
            requests_made: 0,
            evictions: BTreeMap::new(),
            prepares: BTreeMap::new(),
            tally: Tally::default(),
            inspector: None,
            alignment: Alignment::default(),
            aligning,
            overworked: None,
            changes: Vec::new(),
            decisions: Vec::new(),
            #[cfg(test)]
            saboteur: None,
        };
        run.world.keep(listed);
        run.start_replica(Time::default());
        if faults.leader_lost_every.is_some() {
            run.start_replica(Time::default());
        }
        run.takes_over();
        run
    }

    /// The same, and everything is looked at after every step.
    #[must_use]
    pub fn inspected(plan: Plan) -> Self {
        let mut run = Self::new(plan);
        run.inspector = Some((ReplicaId(0), Inspector::default()));
        run.world.watch_room();
        run
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
        self.end
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
            let tenant = &pod.key.namespace;
            let at = if let Phase::Running(at) = pod.phase { Some(at) } else { None };
            let node = at.map(|at| &*self.world.node(at).facts.name);
            PodTimes { tenant, job, since: pod.since, placed: pod.placed, node }
        })
    }

    /// Runs until the given virtual time, or the end. In how many parts a run is done changes
    /// nothing about its result.
    ///
    /// # Errors
    /// When a scheduler breaks a rule.
    pub fn run_until(&mut self, time: Time) -> Result<(), Violation> {
        let until = time.min(self.end);
        while let Some(now) = self.next_at().filter(|at| *at <= until) {
            if self.is_settled() {
                break;
            }
            self.recorder.pass(&self.world, now);
            self.world.advance(now);
            self.check_refusals()?;
            while let Some((_, doing)) = self.agenda.take_until(now) {
                self.carry_on(doing)?;
            }
            self.show();
            self.check_lead();
            self.decide()?;
            self.check_gangs()?;
            self.inspect()?;
        }
        if self.is_settled() {
            self.end = self.world.now();
            return Ok(());
        }
        let rest = until.max(self.world.now());
        self.recorder.pass(&self.world, rest);
        self.world.advance(rest);
        Ok(())
    }

    /// Runs to the end and tells what came of it.
    ///
    /// # Errors
    /// When a scheduler breaks a rule.
    pub fn finish(mut self) -> Result<Report, Violation> {
        self.run_until(self.end)?;
        let history = self.recorder.finish(&self.world);
        let replica = self.leader().or(self.replicas.first());
        let scheduler = &replica.expect("there is always a replica").scheduler;
        Ok(report::of(self.seed, &self.world, &self.tally, scheduler, history))
    }

    /// Who is where at this moment.
    #[must_use]
    pub fn map(&self) -> ClusterMap {
        let replica = self.leader().or(self.replicas.first());
        map::of(&self.world, &replica.expect("there is always a replica").scheduler)
    }

    fn is_settled(&self) -> bool {
        self.ends_when_settled && self.is_quiet()
    }

    /// When something happens next, in the world, on its way, or in the leader's queue.
    fn next_at(&self) -> Option<Time> {
        let shown = self.replicas.iter().filter_map(Replica::next_at).min();
        let times = [self.world.next_at(), self.agenda.next_at(), shown, self.next_turn()];
        times.into_iter().flatten().min()
    }

    /// When the leader can do something next.
    fn next_turn(&self) -> Option<Time> {
        let leader = self.leader().filter(|leader| leader.in_flight < BINDS_MAX)?;
        // A unit whose turn it is already is tried now, not in the past.
        leader.scheduler.next_wakeup().map(|at| at.max(self.world.now()))
    }

    fn carry_on(&mut self, doing: Doing) -> Result<(), Violation> {
        match doing {
            Doing::Cut(id, kind) => self.cut(id, kind),
            Doing::Lists(id, kind) => self.list(id, kind),
            Doing::LeaderLost => self.leader_lost(),
            Doing::TakesOver => self.takes_over(),
            Doing::Arrives(id) => self.arrives(id),
            Doing::ArrivesLate { replica, pod, node } => self.arrives_late(replica, pod, node),
            Doing::Answered(id, answer) => self.answered(id, answer),
            Doing::Read(id, after) => self.read(id, after),
            Doing::ReadArrives(id, after) => self.read_arrives(id, after),
            Doing::Found(id, after, found) => self.found(id, after, found),
            Doing::SendAgain(id) => self.send_again(id),
            Doing::Evict(id) => return self.evict(id),
            Doing::EvictionArrives(id) => self.eviction_arrives(id),
            Doing::EvictionArrivesLate(eviction) => self.eviction_arrives_late(eviction),
            Doing::EvictionAnswered(id, said) => self.eviction_answered(id, said),
            Doing::Writes(id, step) => self.write_step(id, step),
        }
        Ok(())
    }

    fn chance(&mut self, percent: u64) -> bool {
        percent > 0 && self.dice.percent(percent)
    }
}

// === What the leader decides ===

impl Run {
    pub(crate) fn leader(&self) -> Option<&Replica> {
        let Lead::Leading(id) = self.lead else { return None };
        self.replicas.iter().find(|replica| replica.id == id)
    }

    fn leader_mut(&mut self) -> Option<&mut Replica> {
        let Lead::Leading(id) = self.lead else { return None };
        self.replicas.iter_mut().find(|replica| replica.id == id)
    }

    fn decide(&mut self) -> Result<(), Violation> {
        let now = self.world.now();
        // Where pods are on their way, what became of them is looked at before others are tried.
        let mut is_review = false;
        while self.next_turn().is_some_and(|at| at <= now) {
            is_review = self.has_storage && !is_review;
            let budget = usize::from(!is_review);
            let mut decisions = std::mem::take(&mut self.decisions);
            let is_inspected = self.inspector.is_some();
            let leader = self.leader_mut().expect("only a leader has a turn");
            leader.step((now, budget), is_inspected, &mut decisions)?;
            // Room that is new in a step that places nobody was there before it decided.
            if decisions.iter().any(|decision| matches!(decision, Decision::Bind { .. })) {
                leader.drop_seats();
            } else {
                leader.sync_seats();
            }
            let (mut bound, mut orders) = (Vec::new(), Vec::new());
            self.check_commits(&decisions)?;
            for decision in decisions.drain(..) {
                match decision {
                    Decision::Bind { pod, node, attempt, .. } => {
                        bound.extend(self.bind(pod, node, attempt)?);
                    }
                    Decision::Preempt(preemption) => self.preempt(&preemption)?,
                    Decision::Wait(waiting) => self.explain(waiting)?,
                    Decision::Disband(disband) => self.disband(&disband)?,
                    Decision::Report(report) => self.report(&report),
                    Decision::Prepare(order) => orders.push(order),
                    Decision::Unprepared { pod, why } => self.unprepared(pod, &why),
                }
            }
            self.decisions = decisions;
            self.sync_commits();
            self.begin_commit(orders)?;
            let leader = self.leader_mut().expect("only a leader decides");
            leader.sync_seats();
            checkers::check_whole(&leader.ledger, &bound)?;
        }
        Ok(())
    }

    /// Sends a pod to a node; tells which pod, if it was not on its way before.
    fn bind(
        &mut self,
        pod: PodId,
        node: NodeId,
        attempt: Attempt,
    ) -> Result<Option<Box<str>>, Violation> {
        let leader = self.leader().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let uid = catalog.pod(pod).key.uid.clone();
        let name: Box<str> = catalog.node_name(node).into();
        let is_new = !leader.ledger.is_given(&uid);
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            let orders = saboteur.order(&uid, &name, &self.world);
            let done = |(uid, node): (Box<str>, Box<str>)| self.order(&uid, &node, attempt);
            orders.into_iter().try_for_each(done)?;
            return Ok(is_new.then_some(uid));
        }
        self.order(&uid, &name, attempt)?;
        Ok(is_new.then_some(uid))
    }

    fn order(&mut self, uid: &str, name: &str, attempt: Attempt) -> Result<(), Violation> {
        let pod = self.find_pod(uid)?;
        let unknown = || Violation::Unknown { name: format!("node {name}") };
        let node = self.world.find_node(name).ok_or_else(unknown)?;
        let is_inspected = self.inspector.is_some();
        let leader = self.leader_mut().expect("only a leader decides");
        if leader.ledger.is_given(uid) {
            checkers::check_prepared(&leader.ledger, uid, name, attempt)?;
            leader.ledger.ungive(uid);
        } else {
            checkers::check_needs_nothing(&leader.ledger, uid)?;
            checkers::check_binding(&leader.ledger, uid, name)?;
            if is_inspected {
                checkers::check_spread(&leader.ledger, uid, name)?;
            }
            leader.ledger.assume(uid, name, attempt);
            checkers::check_given_gpus(&leader.ledger, &leader.scheduler, uid)?;
        }
        leader.in_flight += 1;
        let replica = leader.id;
        self.note_alignment(uid, name);
        self.tally.bindings += 1;
        self.note(uid);
        self.tally.fingerprint.text(name);
        self.carry_out(replica, pod, node, attempt);
        Ok(())
    }

    fn explain(&mut self, waiting: Waiting) -> Result<(), Violation> {
        let leader = self.leader_mut().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let (uid, proposed) =
            (&catalog.pod(waiting.pod).key.uid, catalog.pod(waiting.pod).nominated);
        let proposed = proposed.map(|name| catalog.symbols().text(name).to_owned());
        leader.ledger.told(uid, &waiting.diagnosis);
        let uid = uid.clone();
        let pod = self.find_pod(&uid)?;
        if !self.chance(self.faults.lost_percent) {
            self.world.propose(pod, proposed.as_deref());
        }
        self.tally.waits += 1;
        self.note(&uid);
        for (_, count) in &waiting.diagnosis.counts {
            self.tally.fingerprint.number(*count as u64);
        }
        self.world.explain(pod, waiting.diagnosis);
        Ok(())
    }

    /// Every decision leaves its mark: when, and about which pod.
    fn note(&mut self, uid: &str) {
        self.tally.fingerprint.number(self.world.now().0);
        self.tally.fingerprint.text(uid);
    }

    fn find_pod(&self, uid: &str) -> Result<PodAt, Violation> {
        let unknown = || Violation::Unknown { name: format!("pod {uid}") };
        self.world.find_pod(uid).ok_or_else(unknown)
    }
}
