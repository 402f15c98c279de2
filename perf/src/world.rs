//! What the API server of a workload has: nodes, and pods on them. It makes the events of what is
//! created, and of what else happens.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use anyhow::{Context, Result, ensure};
use k8s::ingest;
use model::{Event, Kind};
use serde_json::Value;

use crate::cluster;
use crate::workload::{CreatePods, Machine, Meanwhile, Size, Step, Template, Workload};

/// The state of the API server.
pub(crate) struct World<'a> {
    workload: &'a Workload,
    size: &'a Size,
    creations: Vec<Creation<'a>>,
    /// What is told of the inside of nodes.
    machine: Machine,
    /// How many nodes in a row are in one rack; 0 is in none.
    rack: usize,
    /// Nodes that are there, oldest first.
    nodes: VecDeque<usize>,
    nodes_made: usize,
    changes: usize,
    /// Pods on nodes, oldest first; empty where nobody will ask, since it takes memory.
    placed: VecDeque<(u32, u32)>,
    is_placed_kept: bool,
    /// The racks of gangs that must be within one, by their first pods.
    racks: BTreeMap<usize, usize>,
}

/// A step that creates pods.
struct Creation<'a> {
    step: &'a CreatePods,
    /// Which pods.
    pods: Range<usize>,
    /// A pod of every shape, to which names are given.
    shapes: Vec<Value>,
    /// How many namespaces its pods are in; none is the default one.
    namespaces: usize,
    /// How many pods in a row are of one job, and whether they are a gang.
    job: usize,
    is_gang: bool,
}

impl Creation<'_> {
    /// How many pods a job has: the last may have fewer.
    fn gang(&self, job: usize) -> usize {
        self.job.min(self.pods.len() - job * self.job)
    }
}

impl<'a> World<'a> {
    pub(crate) fn new(workload: &'a Workload, size: &'a Size) -> Self {
        let mut creations: Vec<Creation<'_>> = Vec::new();
        for step in &workload.steps {
            if let Step::CreatePods(step) = &step.value {
                let first = creations.last().map_or(0, |creation| creation.pods.end);
                let pods = first..first + step.count.at(size);
                let shapes = 0..step.shapes.at(size).max(1);
                let pod = |shape| cluster::pod(shape, step.template(shape), workload.profile);
                let shapes = shapes.map(pod);
                let (shapes, namespaces) = (shapes.collect(), step.namespaces.at(size));
                let (job, is_gang) = (step.job.at(size), step.gang.at(size) > 0);
                creations.push(Creation { step, pods, shapes, namespaces, job, is_gang });
            }
        }
        let is_moving = |creation: &Creation<'_>| rates(&creation.step.meanwhile, size) != [0; 4];
        Self {
            workload,
            size,
            machine: workload.nodes().machine,
            rack: workload.nodes().rack.at(size),
            is_placed_kept: creations.iter().any(is_moving),
            creations,
            nodes: VecDeque::new(),
            nodes_made: 0,
            changes: 0,
            placed: VecDeque::new(),
            racks: BTreeMap::new(),
        }
    }

    /// The pods that a step creates.
    pub(crate) fn created_by(&self, step: &CreatePods) -> Range<usize> {
        let mut creations = self.creations.iter();
        let found = creations.find(|creation| std::ptr::eq(creation.step, step));
        found.expect("every step that creates pods is listed").pods.clone()
    }

    /// How many pods the workload creates.
    pub(crate) fn pods_created(&self) -> usize {
        self.creations.last().map_or(0, |creation| creation.pods.end)
    }

    /// A pod, on no node.
    pub(crate) fn pod(&self, at: usize) -> Value {
        let (creation, shape) = self.creation(at);
        let mut pod = creation.shapes[shape].clone();
        // All pods of a round of shapes are in the same one, so that each has pods of all shapes.
        let round = (at - creation.pods.start) / creation.shapes.len();
        cluster::name(&mut pod, at, round.checked_rem(creation.namespaces));
        if let Some(job) = (at - creation.pods.start).checked_div(creation.job) {
            let size = creation.gang(job);
            match creation.step.within {
                Some(_) if creation.is_gang => cluster::join_group(&mut pod, job),
                Some(_) | None => cluster::join(&mut pod, job, creation.is_gang.then_some(size)),
            }
        }
        pod
    }

    /// A pod that is on a node.
    pub(crate) fn pod_on(&self, at: usize, node: usize) -> Value {
        let mut pod = self.pod(at);
        pod["spec"]["nodeName"] = cluster::node_name(node).into();
        pod
    }

    /// Whether a pod was made to fit nowhere.
    pub(crate) fn fits_nowhere(&self, at: usize) -> bool {
        let (creation, shape) = self.creation(at);
        creation.step.template(shape).fits_nowhere
    }

    /// Pods arrive.
    pub(crate) fn arrivals(&self, pods: Range<usize>) -> Result<Vec<Event>> {
        pods.map(|at| Ok(ingest::pod(&self.pod(at))?)).collect()
    }

    /// The node on which a pod of a step that creates bound pods is: they take turns.
    pub(crate) fn node_in_turn(&self, at: usize) -> usize {
        let (creation, _) = self.creation(at);
        self.nodes[(at - creation.pods.start) % self.nodes.len()]
    }

    /// Fails if a pod of a gang that must be within a rack is put elsewhere.
    pub(crate) fn must_be_within(&mut self, pod: usize, node: usize) -> Result<()> {
        let (creation, _) = self.creation(pod);
        let (Some(_), Some(rack)) = (&creation.step.within, node.checked_div(self.rack)) else {
            return Ok(());
        };
        let before = (pod - creation.pods.start).checked_rem(creation.job).unwrap_or_default();
        let other = *self.racks.entry(pod - before).or_insert(rack);
        ensure!(rack == other, "pod {pod} is in rack {rack}, others of its gang in {other}");
        Ok(())
    }

    /// Notes that a pod is on a node.
    pub(crate) fn place(&mut self, pod: usize, node: usize) {
        if self.is_placed_kept {
            let small = |at: usize| u32::try_from(at).expect("workloads have thousands of objects");
            self.placed.push_back((small(pod), small(node)));
        }
    }

    /// The namespaces that pods are in, without the default one.
    pub(crate) fn namespaces(&self) -> impl Iterator<Item = Value> {
        let counts = self.creations.iter().map(|creation| creation.namespaces);
        (0..counts.max().unwrap_or(0)).map(cluster::namespace)
    }

    /// The native PodGroups that pods are in.
    pub(crate) fn pod_groups(&self) -> impl Iterator<Item = Value> {
        let native = |creation: &&Creation<'_>| creation.is_gang && creation.job > 0;
        self.creations.iter().filter(native).flat_map(|creation| {
            let key = creation.step.within.iter();
            key.flat_map(move |key| {
                (0..creation.pods.len().div_ceil(creation.job))
                    .map(move |job| cluster::pod_group(job, creation.gang(job), key))
            })
        })
    }

    /// A node joins.
    pub(crate) fn join(&mut self) -> Value {
        let at = self.nodes_made;
        self.nodes_made += 1;
        self.nodes.push_back(at);
        self.node(at)
    }

    /// A node.
    pub(crate) fn node(&self, at: usize) -> Value {
        cluster::node(at, self.machine, self.rack)
    }

    /// A pod that no step creates, with a number.
    pub(crate) fn extra_pod(&self, at: usize) -> Value {
        let mut pod = cluster::pod(0, &Template::default(), self.workload.profile);
        cluster::name(&mut pod, at, None);
        pod
    }

    /// Nodes that are there.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = usize> {
        self.nodes.iter().copied()
    }

    /// What happens while the pods of `arrivals` come, of which `before` came before them.
    pub(crate) fn happenings(
        &mut self,
        meanwhile: &Meanwhile,
        before: usize,
        arrivals: usize,
    ) -> Result<Vec<Event>> {
        let due = |rate: usize| (before + arrivals) * rate / 1000 - before * rate / 1000;
        let [finish, join, leave, change] = rates(meanwhile, self.size).map(due);
        let mut events = Vec::new();
        for _ in 0..finish {
            let gone = self.placed.pop_front().map(|(pod, _)| pod);
            events.push(deleted(gone.context("no pod is left to finish")?));
        }
        for _ in 0..leave {
            self.leave(&mut events)?;
        }
        for _ in 0..join {
            events.push(ingest::node(&self.join())?);
        }
        for _ in 0..change {
            self.changes += 1;
            // A step that is prime to most numbers goes through all nodes.
            let node = self.nodes[self.changes * 7919 % self.nodes.len()];
            events.push(ingest::node(&cluster::changed_node(self.node(node), self.changes))?);
        }
        Ok(events)
    }

    /// The oldest node is gone, after its pods.
    fn leave(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let node = self.nodes.pop_front().context("no node is left to leave")?;
        self.placed.retain(|(pod, on)| {
            let stays = *on as usize != node;
            if !stays {
                events.push(deleted(*pod));
            }
            stays
        });
        events.push(Event::gone(Kind::Node, cluster::node_name(node)));
        Ok(())
    }

    /// The step that creates a pod, and the pod's shape.
    fn creation(&self, at: usize) -> (&Creation<'a>, usize) {
        let mut creations = self.creations.iter();
        let creation = creations.find(|creation| creation.pods.contains(&at));
        let creation = creation.expect("a pod that was created");
        (creation, (at - creation.pods.start) % creation.shapes.len())
    }
}

fn deleted(pod: u32) -> Event {
    Event::gone(Kind::Pod, cluster::pod_uid(pod as usize))
}

/// Pods that finish, nodes that join, leave and change, per 1,000 arrivals.
fn rates(meanwhile: &Meanwhile, size: &Size) -> [usize; 4] {
    let Meanwhile { pods_finish, nodes_join, nodes_leave, nodes_change } = meanwhile;
    [pods_finish, nodes_join, nodes_leave, nodes_change].map(|number| number.at(size))
}
