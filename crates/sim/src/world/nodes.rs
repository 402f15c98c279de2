//! Nodes that come, change, drain, leave and die.

use model::{Key, Kind, Millis, NodeFacts};

use super::World;
use super::happenings::Happening;
use super::records::{NodeAt, Phase, PodAt};
use crate::quantities::columns;

/// How long after a node is gone the pods that name it are removed, at least and at most.
pub(super) const COLLECTED: (Millis, Millis) = (Millis(1_000), Millis(40_000));

impl World {
    pub(super) fn node_joins(&mut self, node: NodeAt) {
        if self.nodes[node.0].is_there {
            return;
        }
        self.set_there(node, true);
        self.publish_node(node);
        self.renew_kubelet(node);
    }

    pub(super) fn publish_node(&mut self, node: NodeAt) {
        let facts = self.nodes[node.0].facts.clone();
        self.publish(facts);
    }

    /// What it offers counts while it is there, and what is requested of it too.
    fn set_there(&mut self, node: NodeAt, is_there: bool) {
        self.meter_node(node, -1);
        self.nodes[node.0].is_there = is_there;
        self.meter_node(node, 1);
    }

    fn meter_node(&mut self, node: NodeAt, sign: i64) {
        let record = &self.nodes[node.0];
        if !record.is_there {
            return;
        }
        self.meter.offer(record.pool, columns(&record.facts.allocatable), sign);
        for pod in &record.pods {
            if self.pods[pod.0].phase == Phase::Running(node) {
                let requested = columns(&self.charge(*pod));
                self.meter.request(record.pool, requested, sign);
            }
        }
    }

    pub(super) fn change_node(&mut self, node: NodeAt, change: impl FnOnce(&mut NodeFacts)) {
        self.meter_node(node, -1);
        change(&mut self.nodes[node.0].facts);
        self.meter_node(node, 1);
        self.happened.nodes_changed += 1;
        if self.nodes[node.0].is_there {
            self.publish_node(node);
            self.renew_kubelet(node);
        }
    }

    pub(super) fn running_on(&self, node: NodeAt) -> Vec<PodAt> {
        let running = |pod: &&PodAt| self.pods[pod.0].phase == Phase::Running(node);
        self.nodes[node.0].pods.iter().filter(running).copied().collect()
    }

    /// Evicts what runs on a node, except for pods of DaemonSets and static pods, as
    /// `kubectl drain` does. The owner of every pod makes another one in its place.
    pub(super) fn drain(&mut self, node: NodeAt) {
        for pod in self.running_on(node) {
            if !self.pods[pod.0].is_terminating && !self.is_of_node(pod) {
                self.terminate(pod);
                self.replace(pod);
            }
        }
    }

    pub(super) fn node_leaves(&mut self, node: NodeAt) {
        if !self.nodes[node.0].is_there {
            return;
        }
        for pod in self.running_on(node) {
            self.lose_pod(pod);
        }
        self.lose(node);
    }

    /// Its pods stay behind until they are collected.
    pub(super) fn node_dies(&mut self, node: NodeAt) {
        if !self.nodes[node.0].is_there {
            return;
        }
        self.lose(node);
        for pod in self.running_on(node) {
            self.collect_later(pod);
        }
    }

    fn lose(&mut self, node: NodeAt) {
        self.set_there(node, false);
        self.happened.nodes_lost += 1;
        let name = self.nodes[node.0].facts.name.clone();
        self.publish_gone(Key::new(Kind::Node, name));
    }

    pub(super) fn collect_later(&mut self, pod: PodAt) {
        let at = self.now + self.draw(COLLECTED);
        self.agenda.add(at, Happening::PodCollected(pod));
    }

    /// Removes a pod whose node is gone, unless the node came back.
    pub(super) fn collect(&mut self, pod: PodAt) {
        let Phase::Running(node) = self.pods[pod.0].phase else { return };
        if !self.nodes[node.0].is_there {
            self.lose_pod(pod);
        }
    }

    /// A pod goes with its node, and its owner makes another one.
    fn lose_pod(&mut self, pod: PodAt) {
        let was_terminating = self.pods[pod.0].is_terminating;
        self.remove(pod);
        if !was_terminating && !self.is_of_node(pod) {
            self.replace(pod);
        }
    }
}
