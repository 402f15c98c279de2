//! The engine's thread: takes in what is fed, decides, and hands out orders.
//!
//! Nothing here waits for the network. At most [`BINDS_MAX`] bindings are out at a time; beyond
//! that units wait in the engine's queue, where a more important one can still overtake them, and
//! are decided on with what is known by then.

mod counted;
mod eligible;
mod evictions;
mod gangs;
mod hardware;
mod notes;
mod patience;
mod prepared;
mod recorded;
mod synced;
#[cfg(test)]
mod tests;
mod tiers;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use engine::Scheduler;
use journal::{Decided, Journal};
use k8s::render;
use model::{
    Decision, Diagnosis, Event, Fact, GangId, Key, Kind, Moment, NodeId, PodGroupKey, PodId,
    Present, Rescue, Time, Waiting,
};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tracing::{debug, info};

use crate::feed::{Closed, Inbox, Input, Outcome, Seen};
use crate::metrics::{Attempt, Metrics};
use crate::order::{Bind, Order, PodRef, Tell};
use crate::serve::Health;
use crate::watch::Watched;
use gangs::Groups;
use hardware::Doubts;
use notes::Notes;
use tiers::Tiers;
use versions::Versions;

/// Bindings that may be out at a time.
const BINDS_MAX: usize = 64;
/// A step that takes this long hands its orders out at once.
const LONG_STEP_SECONDS: f64 = 0.0002;
/// Inputs taken in, and decisions made, before the other gets its turn.
const BATCH: usize = 256;
/// The engine and what surrounds it.
pub(crate) struct Core {
    pub(crate) scheduler: Scheduler,
    /// Names of the profiles.
    pub(crate) profiles: Vec<Arc<str>>,
    pub(crate) inbox: Inbox,
    pub(crate) orders: UnboundedSender<Order>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) health: Arc<Health>,
    /// Where everything that goes in and comes out is written down, if anywhere.
    pub(crate) journal: Option<Journal>,
    /// What all times of the engine count from.
    pub(crate) start: Instant,
    /// What the clock on the wall said then, in milliseconds since 1970.
    pub(crate) started_unix_ms: u64,
    pub(crate) state: State,
}

/// What changes while it runs.
#[derive(Default)]
pub(crate) struct State {
    has_nodes: bool,
    has_pods: bool,
    has_namespaces: bool,
    has_budgets: bool,
    /// Kinds that every cluster has and that are not listed yet.
    awaited: Vec<&'static Watched>,
    /// Kinds that not every cluster has and that are not listed yet; nothing as long as it is not
    /// known which there are.
    awaited_kinds: Option<Vec<Kind>>,
    is_leading: bool,
    /// Whom to tell when nothing is out any more; nothing is decided from then on.
    drain: Option<oneshot::Sender<()>>,
    is_draining: bool,
    /// Bindings that are out.
    in_flight: usize,
    /// Orders that are held back while decisions are made.
    outbox: Option<Vec<Order>>,
    /// Evictions that are out, by the uid of the pod that is to go, and whether they are wanted.
    evicting: BTreeMap<Box<str>, Arc<AtomicBool>>,
    notes: Notes,
    versions: Versions,
    groups: Groups,
    tiers: Tiers,
    doubts: Doubts,
    /// When the first pod of a gang that we place came into the queue.
    arrivals: BTreeMap<GangId, Instant>,
    /// With how many of them those are forgotten that are gone.
    arrivals_max: usize,
    /// How long the last step took.
    step_seconds: f64,
    /// When it was last looked for pods whose gates are gone.
    eligible_seen: Option<Instant>,
    /// When the gangs that wait were last counted.
    gangs_counted: Option<Instant>,
    /// The last diagnosis that was put into words: pods of one shape share theirs.
    worded: Option<(Arc<Diagnosis>, &'static str, Arc<str>)>,
}

impl State {
    /// Nothing is known yet; these have to be listed beside the rest.
    pub(crate) fn awaiting(awaited: Vec<&'static Watched>) -> Self {
        Self { awaited, ..Self::default() }
    }
}

impl Core {
    /// Runs until nobody feeds it any more.
    pub(crate) fn run(mut self) {
        let mut decisions = Vec::new();
        self.begin_segment();
        loop {
            let (until, patience) = self.patience();
            match self.inbox.wait(until, patience) {
                Ok(Some(input)) => self.take(input),
                Ok(None) => {}
                Err(Closed) => return,
            }
            for _ in 1..BATCH {
                let Ok(Some(input)) = self.inbox.next() else { break };
                self.take(input);
            }
            self.decide(&mut decisions);
            self.tell_eligible();
            self.spare();
            self.tell_doubts();
            self.finish_draining();
            self.count_waiting_gangs();
            self.publish();
        }
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.start.elapsed().as_millis()).expect("an age fits 64 bits"))
    }

    /// The engine's time, and what the clock on the wall says.
    fn moment(&self) -> Moment {
        let at = self.now();
        let expected = self.started_unix_ms.saturating_add(at.0);
        // The journal need not say again and again what follows from its header.
        let is_expected = |wall: &u64| wall.abs_diff(expected) < 1000;
        let wall_ms = Some(unix_ms()).filter(|wall| !is_expected(wall)).unwrap_or(expected);
        Moment { at, wall_ms }
    }

    fn may_decide(&self) -> bool {
        let state = &self.state;
        let is_synced = state.is_synced();
        is_synced && state.is_leading && !state.is_draining && state.in_flight < BINDS_MAX
    }

    fn take(&mut self, input: Input) {
        match input {
            Input::Seen(seen) => self.see(seen),
            Input::Outcome(outcome) => self.settle(outcome),
            Input::Prepared { pod, attempt, result } => self.prepared(&pod, attempt, result),
            Input::Eviction { uid, is_done } => self.evicted(&uid, is_done),
            Input::NotTold { uid } => {
                self.state.notes.forget_told(&uid);
                self.state.groups.forget_told(&uid);
            }
            Input::Await(kinds) => self.wait_for(kinds),
            Input::Lead => self.state.is_leading = true,
            Input::Drain(done) => {
                self.state.is_draining = true;
                self.state.drain = Some(done);
            }
        }
    }

    fn see(&mut self, seen: Seen) {
        // Controllers report whatever becomes of their pods; what is read of them stays the same.
        if matches!(&seen.event, Event::Seen(fact) if self.scheduler.catalog().has(fact)) {
            return;
        }
        let began = Instant::now();
        let handled = self.handled(&seen.event);
        match &seen.event {
            Event::Seen(Fact::Pod(facts)) => {
                let is_ours = self.profiles.iter().any(|name| **name == *facts.spec.scheduler);
                self.state.notes.pod_applied(facts, is_ours, &seen);
            }
            Event::Gone(Key { kind: Kind::Pod, name: uid }) => {
                self.state.notes.pod_deleted(uid);
            }
            Event::Seen(Fact::PodGroup(facts)) => {
                if let Some((api, standing)) = seen.group.as_deref() {
                    self.state.groups.applied(&facts.key, api, standing);
                }
            }
            Event::Gone(Key { kind: Kind::PodGroup(sort), name }) => {
                self.state.groups.deleted(&PodGroupKey::of(*sort, name));
            }
            Event::Seen(Fact::Namespace(facts)) => {
                let before = self.scheduler.catalog().namespace_labels(&facts.name);
                if before != Some(&facts.labels) {
                    self.state.tiers.forget(&facts.name);
                }
            }
            Event::Gone(Key { kind: Kind::Namespace, name }) => {
                self.state.tiers.forget(name);
                self.metrics.forget_namespace(name);
            }
            Event::Listed(kind, present) => self.listed(*kind, present),
            Event::Seen(_) | Event::Gone(_) | Event::Outcome(_) => {}
        }
        self.note_doubts(&seen.event);
        let now = self.moment();
        self.scheduler.apply(&seen.event, now);
        if let Event::Seen(Fact::Pod(facts)) = &seen.event
            && let Some(pod) = self.scheduler.catalog().find_pod(&facts.key.uid)
        {
            self.state.versions.seen(pod, seen.version);
        }
        if let Some(handled) = handled {
            self.metrics.handled(handled, began.elapsed().as_secs_f64());
        }
        self.record_applied(now, seen.event);
    }

    fn listed(&mut self, kind: Kind, present: &Present) {
        let state = &mut self.state;
        let was_synced = state.is_synced();
        state.listed(kind);
        let names = &*present.names();
        match kind {
            Kind::Node => {
                info!(nodes = names.len(), "nodes are listed");
                state.has_nodes = true;
                state.doubts.reset(names);
            }
            Kind::Pod => {
                info!(pods = names.len(), "pods are listed");
                state.has_pods = true;
                state.notes.reset(names);
            }
            Kind::Namespace => {
                state.has_namespaces = true;
                state.tiers.reset(names);
                self.metrics.keep_namespaces(names);
            }
            Kind::Budget => state.has_budgets = true,
            Kind::ResourceSlice => {
                let gone = self.scheduler.catalog().not_among(kind, names);
                gone.iter().for_each(|slice| self.slice_gone(slice));
            }
            Kind::PodGroup(sort) => {
                state.groups.reset(sort, names);
            }
            Kind::Grouping(_)
            | Kind::Succeeded
            | Kind::LocalQueue
            | Kind::ClusterQueue
            | Kind::Job
            | Kind::NodeResourceTopology
            | Kind::ResourceClaim
            | Kind::Storage(_) => {}
        }
        self.tell_health(was_synced);
    }

    /// Takes in what became of a binding.
    fn settle(&mut self, outcome: Outcome) {
        self.state.in_flight -= 1;
        let Outcome { pod, attempt, result } = outcome;
        let Err(refusal) = result else { return };
        let now = self.moment();
        self.state.notes.unplaced(&pod.uid);
        let uid = pod.uid.clone();
        let event = Event::Outcome(model::Outcome::BindRefused { uid, attempt });
        self.scheduler.apply(&event, now);
        self.record_applied(now, event);
        let Some(message) = refusal.message else { return };
        let Some(id) = self.scheduler.catalog().find_pod(&pod.uid) else { return };
        self.tell(id, "SchedulerError", message.into());
    }

    /// Decides as long as there is something to decide, and room.
    fn decide(&mut self, decisions: &mut Vec<Decision>) {
        self.state.outbox = Some(Vec::new());
        self.decide_on(decisions);
        self.hand_out();
        self.state.outbox = None;
    }

    fn decide_on(&mut self, decisions: &mut Vec<Decision>) {
        for _ in 0..BATCH {
            if !self.may_decide() {
                return;
            }
            let began = Instant::now();
            decisions.clear();
            let now = self.now();
            self.scheduler.step(now, 1, decisions);
            // A step that decides nothing leaves nothing behind that the next would not do.
            if decisions.is_empty() {
                return;
            }
            self.state.step_seconds = began.elapsed().as_secs_f64();
            self.metrics.algorithm(self.state.step_seconds);
            self.count_placed(decisions);
            let mut decided = Vec::new();
            for decision in decisions.drain(..) {
                match decision {
                    Decision::Preempt(preemption) => {
                        if self.journal.is_some() {
                            let catalog = self.scheduler.catalog();
                            decided.push(Decided::preempt(catalog, &preemption));
                        }
                        self.preempt(&preemption);
                    }
                    Decision::Bind { pod, node, attempt, tries, arrived } => {
                        if self.journal.is_some() {
                            let catalog = self.scheduler.catalog();
                            decided.push(Decided::bind(catalog, pod, node, attempt));
                        }
                        let arrived = self.start + Duration::from_millis(arrived.0);
                        self.bind((pod, node, attempt), (began, arrived), tries);
                    }
                    Decision::Disband(disband) => {
                        if self.journal.is_some() {
                            let catalog = self.scheduler.catalog();
                            decided.push(Decided::disband(catalog, &disband));
                        }
                        self.disband(&disband);
                    }
                    Decision::Report(report) => self.report(&report),
                    Decision::Prepare(preparation) => self.prepare(preparation),
                    Decision::Unprepared { pod, why } => self.unprepared(pod, &why),
                    Decision::Wait(waiting) => {
                        let message = self.wait(&waiting, began);
                        if self.journal.is_some() {
                            let catalog = self.scheduler.catalog();
                            decided.push(Decided::wait(catalog, &waiting, &message));
                        }
                    }
                }
            }
            self.record_stepped(now, decided);
            if self.state.step_seconds > LONG_STEP_SECONDS {
                self.hand_out();
            }
        }
    }

    /// Has a pod bound.
    fn bind(
        &mut self,
        (pod, node, attempt): (PodId, NodeId, model::Attempt),
        (began, arrived): (Instant, Instant),
        tries: u32,
    ) {
        let catalog = self.scheduler.catalog();
        let zones = self.scheduler.zones_to_tell(pod, node);
        let gpus = self.scheduler.gpus_to_tell(pod, node);
        let binding = render::binding(catalog, pod, node, zones.as_deref(), gpus.as_deref());
        let body = serde_json::to_vec(&binding).expect("a binding is plain text");
        let PodRef { key, version } = self.reference(pod);
        let order = Bind {
            version,
            node: catalog.node_name(node).into(),
            scheduler: self.scheduler_of(pod),
            attempt,
            body,
            read_at: self.state.notes.placed(&key.uid),
            began,
            arrived,
            tries,
            pod: key,
        };
        self.state.arrived(self.scheduler.catalog(), pod, arrived);
        debug!(pod = %order.pod.name, node = %order.node, "binding");
        self.state.in_flight += 1;
        self.send(Order::Bind(order));
        self.tell_tier(pod);
    }

    /// Puts into words why a pod fits nowhere.
    fn wait(&mut self, waiting: &Waiting, began: Instant) -> Arc<str> {
        let (reason, message) = match &self.state.worded {
            Some((of, reason, message)) if Arc::ptr_eq(of, &waiting.diagnosis) => {
                (*reason, message.clone())
            }
            Some(_) | None => {
                let catalog = self.scheduler.catalog();
                let condition = render::condition(&waiting.diagnosis, catalog);
                let message: Arc<str> = condition.message.into();
                let diagnosis = waiting.diagnosis.clone();
                self.state.worded = Some((diagnosis, condition.reason, message.clone()));
                (condition.reason, message)
            }
        };
        self.metrics.waits(waiting.diagnosis.words());
        match &waiting.diagnosis.rescue {
            Rescue::NotAsked | Rescue::Silent | Rescue::ClaimsUnknown => {}
            Rescue::Preempts { victims, .. } => self.metrics.preemption(Some(*victims)),
            Rescue::NotPreempting
            | Rescue::NoVictims(_)
            | Rescue::NoCandidates { .. }
            | Rescue::VictimsLeaving => self.metrics.preemption(None),
        }
        // Who is held was not tried.
        if reason != render::HELD {
            let result =
                if reason == "Unschedulable" { Attempt::Unschedulable } else { Attempt::Error };
            let seconds = began.elapsed().as_secs_f64();
            self.metrics.attempt(&self.scheduler_of(waiting.pod), result, seconds);
        }
        self.tell(waiting.pod, reason, message.clone());
        self.tell_tier(waiting.pod);
        message
    }

    /// Tells the owner of a pod why it waits, as far as that was not told before.
    fn tell(&mut self, pod: PodId, reason: &'static str, message: Arc<str>) {
        let catalog = self.scheduler.catalog();
        let (key, nominated) = (&catalog.pod(pod).key, catalog.pod(pod).nominated);
        let nominated = nominated.map(|name| catalog.symbols().text(name));
        let (notes, turn) = (&mut self.state.notes, self.scheduler.turn_since(pod));
        let since = notes.eligible(&key.uid, reason, turn);
        let (status, has_event) = notes.tell(&key.uid, reason, &message, nominated);
        if status.is_none() && !has_event {
            return;
        }
        self.send(Order::Tell(Tell {
            pod: self.reference(pod),
            scheduler: self.scheduler_of(pod),
            reason,
            message,
            since_unix_ms: since.map(|at| self.unix_ms_at(at)),
            status,
            has_event,
        }));
    }

    /// A pod as it is known at this time.
    fn reference(&self, pod: PodId) -> PodRef {
        let key = self.scheduler.catalog().pod(pod).key.clone();
        PodRef { key, version: self.state.versions.text(pod) }
    }

    fn scheduler_of(&self, pod: PodId) -> Arc<str> {
        let catalog = self.scheduler.catalog();
        let name = &*catalog.class(catalog.pod(pod).class).spec.scheduler;
        let profile = self.profiles.iter().find(|profile| &***profile == name);
        profile.expect("only pods of our profiles are decided on").clone()
    }

    /// Hands an order out; those of decisions are held back and go together.
    fn send(&mut self, order: Order) {
        match &mut self.state.outbox {
            Some(outbox) => outbox.push(order),
            // The other end is only gone when the process is about to end.
            None => drop(self.orders.send(order)),
        }
    }

    fn hand_out(&mut self) {
        for order in self.state.outbox.iter_mut().flat_map(|outbox| outbox.drain(..)) {
            let _ = self.orders.send(order);
        }
    }

    /// Says so once nothing is out any more and the watch has shown all of it, so that whoever
    /// leads next sees what we did.
    fn finish_draining(&mut self) {
        let state = &mut self.state;
        let is_settled = state.in_flight == 0 && state.evicting.is_empty();
        let is_done = is_settled && !state.notes.has_unconfirmed();
        if is_done && let Some(done) = state.drain.take() {
            let _ = done.send(());
        }
    }
}

/// What the clock on the wall says, in milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
