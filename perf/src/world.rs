//! What the API server of a workload has: nodes, and pods on them. It makes the events of what is
//! created, and of what else happens.

use std::collections::VecDeque;
use std::ops::Range;

use anyhow::{Context, Result};
use k8s::ingest;
use model::Event;
use serde_json::Value;

use crate::cluster;
use crate::workload::{CreatePods, Meanwhile, Size, Step, Workload};

/// The state of the API server.
pub(crate) struct World<'a> {
    size: &'a Size,
    /// Steps that create pods, with the pods they create.
    creations: Vec<(Range<usize>, &'a CreatePods)>,
    /// Nodes that are there, oldest first.
    nodes: VecDeque<usize>,
    nodes_made: usize,
    changes: usize,
    /// Pods on nodes, oldest first; empty where nobody will ask, since it takes memory.
    placed: VecDeque<(u32, u32)>,
    is_placed_kept: bool,
}

impl<'a> World<'a> {
    pub(crate) fn new(workload: &'a Workload, size: &'a Size) -> Self {
        let mut creations = Vec::new();
        let mut first = 0;
        for step in &workload.steps {
            if let Step::CreatePods(pods) = &step.value {
                let end = first + pods.count.at(size);
                creations.push((first..end, pods));
                first = end;
            }
        }
        let changes = |(_, pods): &(_, &CreatePods)| rates(&pods.meanwhile, size) != [0; 4];
        Self {
            size,
            is_placed_kept: creations.iter().any(changes),
            creations,
            nodes: VecDeque::new(),
            nodes_made: 0,
            changes: 0,
            placed: VecDeque::new(),
        }
    }

    /// The pods that a step creates.
    pub(crate) fn created_by(&self, pods: &CreatePods) -> Range<usize> {
        let mut creations = self.creations.iter();
        let found = creations.find(|(_, other)| std::ptr::eq(*other, pods));
        found.expect("every step that creates pods is listed").0.clone()
    }

    /// How many pods the workload creates.
    pub(crate) fn pods_created(&self) -> usize {
        self.creations.last().map_or(0, |(pods, _)| pods.end)
    }

    /// A pod, on no node.
    pub(crate) fn pod(&self, at: usize) -> Value {
        let (pods, creation) = self.creation(at);
        let shape = (at - pods.start) % creation.shapes.at(self.size).max(1);
        cluster::pod(at, shape, creation.template(shape))
    }

    /// A pod that is on a node.
    pub(crate) fn pod_on(&self, at: usize, node: usize) -> Value {
        let mut pod = self.pod(at);
        pod["spec"]["nodeName"] = cluster::node_name(node).into();
        pod
    }

    /// Whether a pod was made to fit nowhere.
    pub(crate) fn fits_nowhere(&self, at: usize) -> bool {
        let (pods, creation) = self.creation(at);
        let shape = (at - pods.start) % creation.shapes.at(self.size).max(1);
        creation.template(shape).fits_nowhere
    }

    /// Pods arrive.
    pub(crate) fn arrivals(&self, pods: Range<usize>) -> Result<Vec<Event>> {
        pods.map(|at| Ok(ingest::pod(&self.pod(at))?)).collect()
    }

    /// The node on which a pod of a step that creates bound pods is: they take turns.
    pub(crate) fn node_in_turn(&self, at: usize) -> usize {
        let (pods, _) = self.creation(at);
        self.nodes[(at - pods.start) % self.nodes.len()]
    }

    /// Notes that a pod is on a node.
    pub(crate) fn place(&mut self, pod: usize, node: usize) {
        if self.is_placed_kept {
            let small = |at: usize| u32::try_from(at).expect("workloads have thousands of objects");
            self.placed.push_back((small(pod), small(node)));
        }
    }

    /// A node joins.
    pub(crate) fn join(&mut self) -> Value {
        let at = self.nodes_made;
        self.nodes_made += 1;
        self.nodes.push_back(at);
        cluster::node(at)
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
            events.push(ingest::node(&cluster::changed_node(node, self.changes))?);
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
        events.push(Event::NodeDeleted(cluster::node_name(node)));
        Ok(())
    }

    fn creation(&self, at: usize) -> &(Range<usize>, &'a CreatePods) {
        let mut creations = self.creations.iter();
        creations.find(|(pods, _)| pods.contains(&at)).expect("a pod that was created")
    }
}

fn deleted(pod: u32) -> Event {
    Event::PodDeleted(cluster::pod_uid(pod as usize))
}

/// Pods that finish, nodes that join, leave and change, per 1,000 arrivals.
fn rates(meanwhile: &Meanwhile, size: &Size) -> [usize; 4] {
    let Meanwhile { pods_finish, nodes_join, nodes_leave, nodes_change } = meanwhile;
    [pods_finish, nodes_join, nodes_leave, nodes_change].map(|number| number.at(size))
}
