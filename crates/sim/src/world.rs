//! A cluster in memory that behaves like an API server with nodes behind it.
//!
//! It holds the truth: which nodes and pods there are, and which pod is on which node. Every change
//! of it is an event, which watches show to schedulers sooner or later (`run::watch`). Requests are
//! answered as Kubernetes answers them (`bindings`). The world knows nothing of the engine, and
//! decides nothing for it.

mod admissions;
mod agenda;
mod batch;
mod bindings;
mod budgets;
mod evictions;
mod gangs;
mod happenings;
mod kubelets;
mod namespaces;
mod nodes;
mod pods;
mod records;
mod second_scheduler;
mod storage;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use model::{
    Diagnosis, Event, Fact, GangClaim, Key, Kind, Map, Millis, PodGroupKind, PodKey, StorageKind,
    Time,
};

use crate::dice::{Dice, Stream};
use crate::happened::Happened;
use crate::meter::{Meter, PoolAt};
use crate::plan::{Budget, Fate, Faults, Job, NamespacePlan, NodePlan, PodGroupPlan, StoragePlan};
pub(crate) use agenda::Agenda;
use batch::BatchRecord;
pub(crate) use bindings::{Answer, Whereabouts};
use budgets::Budgets;
pub(crate) use evictions::Step;
use gangs::GroupRecord;
use happenings::Happening;
use kubelets::Kubelets;
pub(crate) use kubelets::bits;
use namespaces::NamespaceRecord;
pub(crate) use records::{JobAt, NodeAt, NodeRecord, Phase, PodAt, PodRecord};
use storage::Storage;
pub(crate) use storage::{Said, Written};

/// Names of scheduling gates.
type GateNames = Box<[Box<str>]>;

/// What is watched. What most worlds have none of comes last.
pub(crate) const WATCHED: ByKind<Kind> = [
    Kind::Node,
    Kind::Pod,
    Kind::Budget,
    Kind::PodGroup(PodGroupKind::Native),
    Kind::PodGroup(PodGroupKind::Coscheduling),
    Kind::Succeeded,
    Kind::Namespace,
    Kind::PodGroup(PodGroupKind::Composite),
    Kind::Job,
    Kind::Storage(StorageKind::Volume),
    Kind::Storage(StorageKind::Claim),
    Kind::Storage(StorageKind::Class),
    Kind::Storage(StorageKind::CsiNode),
    Kind::Storage(StorageKind::CsiDriver),
    Kind::Storage(StorageKind::Capacity),
    Kind::Storage(StorageKind::Attachment),
    Kind::PodGroup(PodGroupKind::Workload),
    Kind::PodGroup(PodGroupKind::Volcano),
    Kind::PodGroup(PodGroupKind::Kai),
];

/// Something for each kind that is watched.
pub(crate) type ByKind<T> = [T; 19];

/// Those that are watched, with Jobs, storage and its drivers or without, and what there is beside.
pub(crate) fn watched(
    there: &BTreeSet<Kind>,
    has_jobs: bool,
    has_storage: bool,
    has_drivers: bool,
) -> Vec<Kind> {
    let has_jobs = has_jobs || there.contains(&Kind::Job);
    let composites = place_of(Kind::PodGroup(PodGroupKind::Composite));
    let drivers = place_of(Kind::Storage(StorageKind::CsiDriver));
    let is_watched = |(at, kind): &(usize, Kind)| match at.cmp(&composites) {
        Ordering::Less => true,
        Ordering::Equal => has_jobs || there.contains(kind),
        Ordering::Greater if *kind == Kind::Job => has_jobs,
        Ordering::Greater => {
            let is_storage = has_storage && matches!(kind, Kind::Storage(_));
            is_storage && (has_drivers || *at < drivers) || there.contains(kind)
        }
    };
    WATCHED.into_iter().enumerate().filter(is_watched).map(|(_, kind)| kind).collect()
}

/// The place of a kind among those that are watched.
pub(crate) fn place_of(kind: Kind) -> usize {
    WATCHED.iter().position(|each| *each == kind).expect("worlds have no other objects")
}

/// Something that changed, as watches show it.
pub(crate) struct Change {
    pub(crate) kind: Kind,
    pub(crate) event: Arc<Event>,
}

/// The cluster.
pub(crate) struct World {
    now: Time,
    dice: Dice,
    faults: Faults,
    agenda: Agenda<Happening>,
    nodes: Vec<NodeRecord>,
    pods: Vec<PodRecord>,
    jobs: Vec<Job>,
    budgets: Budgets,
    groups: Vec<GroupRecord>,
    /// For each job how far the Job of Kubernetes behind it is.
    batches: Vec<BatchRecord>,
    namespaces: Vec<NamespaceRecord>,
    storage: Storage,
    kubelets: Kubelets,
    /// Pods that kubelets refused since it was last asked for them.
    refusals: Vec<(PodAt, NodeAt)>,
    /// What is there from the start to the end.
    fixed: Vec<Fact>,
    /// What the pods of each job say of their gang.
    claims: Vec<Option<Arc<GangClaim>>>,
    node_by_name: Map<String, NodeAt>,
    pod_by_uid: Map<Box<str>, PodAt>,
    pools: Vec<Box<str>>,
    meter: Meter,
    happened: Happened,
    /// Names of the profiles of our scheduler.
    ours: Vec<String>,
    /// Whether a node can be given more than it has, so that it has to look.
    can_overflow: bool,
    /// Whether nobody but our scheduler can give a node more than it has, and the first who did.
    is_room_ours: bool,
    overfull: Option<(PodAt, NodeAt)>,
    /// Whether nothing happens by itself any more.
    is_calm: bool,
    /// What changed since it was last asked for.
    changes: Vec<Change>,
    placed: u64,
    /// Pods that have no node and are not on their way to one.
    waiting: u64,
}

impl World {
    /// A world in which nothing has happened yet. `ours` are the names of our profiles.
    pub(crate) fn new(
        seed: u64,
        nodes: Vec<NodePlan>,
        (jobs, budgets): (Vec<Job>, Vec<Budget>),
        (groups, namespaces, storage): (Vec<PodGroupPlan>, Vec<NamespacePlan>, StoragePlan),
        faults: Faults,
        ours: Vec<String>,
    ) -> Self {
        let mut pools: Vec<Box<str>> = Vec::new();
        for plan in &nodes {
            if !pools.contains(&plan.pool) {
                pools.push(plan.pool.clone());
            }
        }
        let resizes = |(_, fate): &(Time, Fate)| matches!(fate, Fate::Resizes { .. });
        let can_overflow = faults.second_scheduler.is_some()
            || nodes.iter().any(|plan| plan.fates.iter().any(resizes))
            || jobs.iter().any(|job| job.life.resized.is_some());
        let mut world = Self {
            now: Time::default(),
            dice: Dice::new(seed, Stream::World),
            faults,
            agenda: Agenda::default(),
            nodes: Vec::new(),
            pods: Vec::new(),
            budgets: Budgets::new(budgets, &jobs),
            groups: Vec::new(),
            namespaces: Vec::new(),
            storage: Storage::new(seed, storage),
            kubelets: Kubelets::new(seed),
            refusals: Vec::new(),
            fixed: Vec::new(),
            claims: gangs::claims(&jobs),
            batches: jobs.iter().map(BatchRecord::new).collect(),
            jobs,
            node_by_name: Map::default(),
            pod_by_uid: Map::default(),
            meter: Meter::new(pools.len()),
            pools,
            happened: Happened::default(),
            ours,
            can_overflow,
            is_room_ours: false,
            overfull: None,
            is_calm: false,
            changes: Vec::new(),
            placed: 0,
            waiting: 0,
        };
        nodes.into_iter().for_each(|plan| world.expect_node(plan));
        groups.into_iter().for_each(|plan| world.expect_group(plan));
        namespaces.into_iter().for_each(|plan| world.expect_namespace(plan));
        world.expect_storage();
        for (at, job) in world.jobs.iter().enumerate().filter(|(_, job)| !gangs::is_made(job)) {
            world.agenda.add(job.at, Happening::JobArrives(JobAt(at)));
        }
        world
    }

    /// Takes in what is there from the start to the end.
    pub(crate) fn keep(&mut self, fixed: Vec<Fact>) {
        self.fixed = fixed;
    }

    fn expect_node(&mut self, plan: NodePlan) {
        let at = NodeAt(self.nodes.len());
        self.agenda.add(plan.joins, Happening::NodeJoins(at));
        for (number, (time, _)) in plan.fates.iter().enumerate() {
            self.agenda.add(*time, Happening::NodeMeets(at, number));
        }
        let pool = self.pools.iter().position(|pool| *pool == plan.pool);
        let pool = PoolAt(pool.expect("every pool is listed"));
        self.node_by_name.insert(plan.facts.name.clone(), at);
        self.nodes.push(NodeRecord::new(pool, plan));
    }

    /// When something happens next.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.agenda.next_at()
    }

    /// Lets time pass until `to`, and what happens until then happen.
    pub(crate) fn advance(&mut self, to: Time) {
        while let Some((at, happening)) = self.agenda.take_until(to) {
            self.pass(at);
            self.happen(happening);
        }
        self.pass(to);
    }

    fn pass(&mut self, to: Time) {
        assert!(self.now <= to, "time does not go backwards");
        self.meter.pass(Millis(to.0 - self.now.0));
        self.now = to;
    }

    /// What changed since it was last asked for, in order.
    pub(crate) fn take_changes(&mut self, into: &mut Vec<Change>) {
        self.renew_budgets();
        into.append(&mut self.changes);
    }

    fn publish(&mut self, fact: impl Into<Fact>) {
        let fact = fact.into();
        let (kind, event) = (fact.kind(), Arc::new(Event::Seen(fact)));
        self.changes.push(Change { kind, event });
    }

    fn publish_gone(&mut self, key: Key) {
        let (kind, event) = (key.kind, Arc::new(Event::Gone(key)));
        self.changes.push(Change { kind, event });
    }

    /// Looks at the room of a node whenever a pod comes to it, where nobody but our scheduler could
    /// be the one who gave it too much.
    pub(crate) fn watch_room(&mut self) {
        self.is_room_ours = !self.can_overflow && self.jobs.iter().all(|job| job.node.is_none());
    }

    /// The first pod that a node had no room for, where that could not be anybody else's fault.
    pub(crate) fn overfull(&self) -> Option<(PodAt, NodeAt)> {
        self.overfull
    }

    /// Nothing goes wrong from now on, nothing new comes, nobody ends by himself. What is under
    /// way comes to its end.
    pub(crate) fn calm_down(&mut self) {
        self.is_calm = true;
        self.faults = Faults::NONE;
        self.agenda.retain(Happening::goes_on);
        self.calm_storage();
    }

    fn draw(&mut self, (low, high): (Millis, Millis)) -> Millis {
        Millis(if high == low { low.0 } else { self.dice.between(low.0, high.0) })
    }

    /// Makes a pod of a job.
    fn create(&mut self, job: JobAt, is_gated: bool) -> PodAt {
        let at = PodAt(self.pods.len());
        let is_named = std::mem::take(&mut self.jobs[job.0].life.is_named);
        let Job { name, spec, .. } = &self.jobs[job.0];
        let key = PodKey {
            uid: format!("{name}.{}", at.0).into(),
            namespace: spec.namespace.as_str().into(),
            name: if is_named {
                name.as_str().into()
            } else {
                format!("{name}-{:05}", at.0).into()
            },
        };
        self.pod_by_uid.insert(key.uid.clone(), at);
        let proposed = self.jobs[job.0].life.nominated.clone();
        self.pods.push(PodRecord::new(job, key, is_gated, proposed, self.now));
        self.waiting += 1;
        self.happened.pods += 1;
        self.expect_claims(at);
        at
    }
}

// === What the scheduler is about to do ===

impl World {
    /// Takes note that the scheduler sends a pod to a node.
    pub(crate) fn order(&mut self, pod: PodAt, node: NodeAt) {
        if self.pods[pod.0].phase == Phase::Waiting {
            self.set_phase(pod, Phase::Ordered(node));
        }
    }

    /// Takes note that the scheduler's order came to nothing.
    pub(crate) fn unorder(&mut self, pod: PodAt) {
        if matches!(self.pods[pod.0].phase, Phase::Ordered(_)) {
            self.set_phase(pod, Phase::Waiting);
        }
    }

    /// Takes note that a binding of a pod was refused.
    pub(crate) fn refuse(&mut self, pod: PodAt) {
        self.unorder(pod);
        self.pods[pod.0].refusals += 1;
        self.happened.refused += 1;
    }

    /// Writes down why a pod has to wait, where watches see it if it is another reason than before.
    /// The status may not come through, and what it proposes is lost then.
    pub(crate) fn explain(&mut self, pod: PodAt, why: Arc<Diagnosis>) {
        let record = &mut self.pods[pod.0];
        record.told = Some(self.now);
        let is_news = record.condition.as_ref() != Some(&why);
        record.condition = Some(why);
        if is_news && !record.is_gone {
            self.publish_pod(pod);
        }
    }

    /// Forgets what a scheduler that is gone was about to do, and what it said: its reasons speak
    /// of resources by numbers of its own.
    pub(crate) fn forget_scheduler(&mut self) {
        for at in 0..self.pods.len() {
            self.unorder(PodAt(at));
            self.pods[at].condition = None;
        }
    }
}

// === What can be read ===

impl World {
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    pub(crate) fn nodes(&self) -> &[NodeRecord] {
        &self.nodes
    }

    pub(crate) fn node(&self, at: NodeAt) -> &NodeRecord {
        &self.nodes[at.0]
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = (PodAt, &PodRecord)> {
        self.pods.iter().enumerate().map(|(at, pod)| (PodAt(at), pod))
    }

    pub(crate) fn pod(&self, at: PodAt) -> &PodRecord {
        &self.pods[at.0]
    }

    pub(crate) fn job(&self, at: JobAt) -> &Job {
        &self.jobs[at.0]
    }

    pub(crate) fn find_node(&self, name: &str) -> Option<NodeAt> {
        self.node_by_name.get(name).copied()
    }

    pub(crate) fn find_pod(&self, uid: &str) -> Option<PodAt> {
        self.pod_by_uid.get(uid).copied()
    }

    /// The scheduling gates that keep a pod back, if there are any.
    pub(crate) fn gates(&self, pod: PodAt) -> Option<&GateNames> {
        let record = &self.pods[pod.0];
        let gates = self.jobs[record.job.0].gates.as_ref().filter(|_| record.is_gated);
        gates.map(|gates| &gates.names)
    }

    /// Whether our scheduler is to place the pods of a job.
    pub(crate) fn is_ours(&self, job: JobAt) -> bool {
        self.ours.contains(&self.jobs[job.0].spec.scheduler)
    }

    /// Pools of nodes, by name.
    pub(crate) fn pools(&self) -> impl Iterator<Item = (PoolAt, &str)> {
        self.pools.iter().enumerate().map(|(at, name)| (PoolAt(at), &**name))
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    /// How many bindings were refused.
    pub(crate) fn refusals(&self) -> u64 {
        self.happened.refused
    }

    /// What happened so far.
    pub(crate) fn happened(&self) -> &Happened {
        &self.happened
    }

    /// For what happens between the world and its schedulers.
    pub(crate) fn happened_mut(&mut self) -> &mut Happened {
        &mut self.happened
    }

    /// How many pods were ever placed, and how many wait now.
    pub(crate) fn placed_and_waiting(&self) -> (u64, u64) {
        (self.placed, self.waiting)
    }
}
