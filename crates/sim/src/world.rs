//! A cluster in memory that behaves like an API server with nodes behind it.
//!
//! It holds the truth: which nodes and pods there are, and which pod is on which node. What
//! happens is told as events; what the scheduler decides comes back as [`World::bind`] and
//! [`World::explain`]. The world knows nothing of the engine, and decides nothing for it.

mod agenda;
mod happenings;
mod records;

use std::sync::Arc;

use model::{Attempt, Diagnosis, Event, Map, Millis, PodFacts, PodKey, Time};

use crate::dice::{Dice, Stream};
use crate::meter::{Meter, PoolAt};
use crate::plan::{Faults, Job, NodePlan};
use agenda::{Agenda, Happening};
pub(crate) use records::{JobAt, NodeAt, NodeRecord, Phase, PodAt, PodRecord};

/// The cluster.
pub(crate) struct World {
    now: Time,
    dice: Dice,
    faults: Faults,
    agenda: Agenda,
    nodes: Vec<NodeRecord>,
    pods: Vec<PodRecord>,
    jobs: Vec<Job>,
    node_by_name: Map<String, NodeAt>,
    pod_by_uid: Map<Box<str>, PodAt>,
    pools: Vec<Box<str>>,
    meter: Meter,
    refusals: u64,
    placed: u64,
    /// Pods that have no node and are not on their way to one.
    waiting: u64,
}

impl World {
    /// A world in which nothing has happened yet.
    pub(crate) fn new(seed: u64, nodes: Vec<NodePlan>, jobs: Vec<Job>, faults: Faults) -> Self {
        let mut pools: Vec<Box<str>> = Vec::new();
        for plan in &nodes {
            if !pools.contains(&plan.pool) {
                pools.push(plan.pool.clone());
            }
        }
        let mut world = Self {
            now: Time::default(),
            dice: Dice::new(seed, Stream::World),
            faults,
            agenda: Agenda::default(),
            nodes: Vec::new(),
            pods: Vec::new(),
            jobs,
            node_by_name: Map::default(),
            pod_by_uid: Map::default(),
            meter: Meter::new(pools.len()),
            pools,
            refusals: 0,
            placed: 0,
            waiting: 0,
        };
        nodes.into_iter().for_each(|plan| world.expect_node(plan));
        for (at, job) in world.jobs.iter().enumerate() {
            world.agenda.add(job.at, Happening::JobArrives(JobAt(at)));
        }
        world
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

    /// Lets time pass until `to`, and tells what happened.
    pub(crate) fn advance(&mut self, to: Time, events: &mut Vec<Event>) {
        while let Some((at, happening)) = self.agenda.take_until(to) {
            self.pass(at);
            self.happen(happening, events);
        }
        self.pass(to);
    }

    fn pass(&mut self, to: Time) {
        assert!(self.now <= to, "time does not go backwards");
        self.meter.pass(Millis(to.0 - self.now.0));
        self.now = to;
    }

    /// Takes an order to bind a pod; how it went is told later.
    pub(crate) fn bind(&mut self, pod: PodAt, node: NodeAt, attempt: Attempt) {
        let (low, high) = self.faults.request;
        let at = self.now + Millis(2 * self.dice.between(low.0, high.0));
        let is_refused = self.dice.percent(self.faults.refused_percent);
        self.nodes[node.0].pods.insert(pod);
        self.pods[pod.0].phase = Phase::Ordered(node);
        self.waiting -= 1;
        self.agenda.add(at, Happening::BindingAnswered { pod, node, attempt, is_refused });
    }

    /// Takes note of why a pod has to wait.
    pub(crate) fn explain(&mut self, pod: PodAt, why: Arc<Diagnosis>) {
        self.pods[pod.0].condition = Some(why);
    }

    /// The API object of a pod that is there.
    fn facts(&self, pod: PodAt, is_finished: bool) -> Box<PodFacts> {
        let record = &self.pods[pod.0];
        let job = self.job(record.job);
        let node = record.phase.node().map(|node| self.nodes[node.0].facts.name.clone());
        Box::new(PodFacts {
            key: record.key.clone(),
            spec: job.spec.clone(),
            labels: Box::default(),
            priority: job.priority,
            gates: self.gates(pod).cloned().unwrap_or_default(),
            is_preempting: true,
            node,
            nominated: None,
            is_finished,
            is_terminating: false,
        })
    }

    /// Makes a pod of a job.
    fn create(&mut self, job: JobAt, is_gated: bool) -> PodAt {
        let at = PodAt(self.pods.len());
        let Job { name, spec, .. } = &self.jobs[job.0];
        let key = PodKey {
            uid: format!("{name}.{}", at.0).into(),
            namespace: spec.namespace.as_str().into(),
            name: format!("{name}-{:05}", at.0).into(),
        };
        self.pod_by_uid.insert(key.uid.clone(), at);
        self.pods.push(PodRecord::new(job, key, is_gated, self.now));
        self.waiting += 1;
        at
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
    pub(crate) fn gates(&self, pod: PodAt) -> Option<&Box<[Box<str>]>> {
        let record = &self.pods[pod.0];
        let gates = self.jobs[record.job.0].gates.as_ref().filter(|_| record.is_gated);
        gates.map(|gates| &gates.names)
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
        self.refusals
    }

    /// How many pods were ever placed, and how many wait now.
    pub(crate) fn placed_and_waiting(&self) -> (u64, u64) {
        (self.placed, self.waiting)
    }
}
