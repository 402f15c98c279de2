//! What is told of the inside of a node by others than the node.

use model::{Change, NodeAspects, NodeId, Time};

use crate::Scheduler;

/// Another inside of a node, or other holders of it.
const INSIDE_CHANGED: Change = Change::Changed(NodeAspects {
    allocatable: false,
    labels: false,
    taints: false,
    opened: false,
    features: false,
    hardware: true,
});

impl Scheduler {
    /// Another object than the node tells of its inside.
    pub(super) fn told_of_inside(&mut self, node: Option<NodeId>, now: Time) {
        let Some(node) = node else { return };
        self.usage.touch_facts(&self.catalog, node);
        self.wake(INSIDE_CHANGED, node, now);
    }

    /// Another pod is on a node: its kubelet may have told before what the pod holds.
    pub(super) fn catch_up_inside(&mut self, node: NodeId, now: Time) {
        if self.usage.catch_up_inside(&self.catalog, node) {
            self.wake(INSIDE_CHANGED, node, now);
        }
    }

    /// All pods are known: what is told of the inside of any node may account for them.
    pub(super) fn recount_insides(&mut self, now: Time) {
        for node in self.catalog.nodes().to_vec() {
            self.recount_inside(node, now);
        }
    }

    /// Other pods are on a node, or they run: what is told of its inside may account for them.
    pub(super) fn recount_inside(&mut self, node: NodeId, now: Time) {
        if self.usage.recount_inside(&self.catalog, node) {
            self.wake(INSIDE_CHANGED, node, now);
        }
    }
}
