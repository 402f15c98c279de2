//! Room that is kept on nodes for pods that are not there, by who may pass it.
//!
//! A hold is charged to nobody: whoever must respect it is asked twice, as if its pod were there
//! and as if not. It follows from what the catalog says of waiting pods, so nothing but
//! [`Usage::settle_holds`] changes it.

use std::collections::BTreeMap;

use super::{Touch, Usage};
use crate::catalog::{Catalog, Occupant};
use crate::ids::{NodeId, PodId};
use crate::map::Map;

/// Room on a node for a waiting pod for which the node is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// For whom. It passes its own hold.
    pub owner: PodId,
    /// What will be there.
    pub occupant: Occupant,
    /// Where.
    pub node: NodeId,
    /// More important pods pass it.
    pub priority: i32,
}

/// All holds.
#[derive(Default)]
pub struct Holds {
    /// By place of a node, the most important first.
    on_node: Vec<Vec<Hold>>,
    /// How many holds of each priority are on which nodes.
    by_priority: BTreeMap<i32, BTreeMap<NodeId, u32>>,
    /// Where the hold of a pod is, and with which priority.
    of_pod: Map<PodId, (NodeId, i32)>,
}

impl Holds {
    /// The holds on a node, the most important first.
    #[must_use]
    pub fn on(&self, node: NodeId) -> &[Hold] {
        self.on_node.get(node.index()).map_or(&[], |holds| holds)
    }

    /// The holds on a node that a pod of some priority must respect.
    // Hot: asked of every touched node while there are holds.
    pub fn against(&self, pod: PodId, priority: i32, node: NodeId) -> impl Iterator<Item = &Hold> {
        let above = self.on(node).iter().take_while(move |hold| hold.priority >= priority);
        above.filter(move |hold| hold.owner != pod)
    }

    /// Nodes with holds that are at least as important as this, in order.
    #[must_use]
    pub fn nodes_from(&self, priority: i32) -> Vec<NodeId> {
        let above = self.by_priority.range(priority..).map(|(_, nodes)| nodes);
        let mut nodes: Vec<NodeId> = above.flat_map(BTreeMap::keys).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The highest priority of a hold.
    #[must_use]
    pub fn highest(&self) -> Option<i32> {
        self.by_priority.last_key_value().map(|(priority, _)| *priority)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.of_pod.len()
    }

    /// All of them, node by node.
    pub fn all(&self) -> impl Iterator<Item = &Hold> {
        self.on_node.iter().flatten()
    }

    /// The hold of a pod.
    fn of(&self, pod: PodId) -> Option<Hold> {
        let (node, _) = self.of_pod.get(&pod)?;
        self.on(*node).iter().find(|hold| hold.owner == pod).copied()
    }

    fn insert(&mut self, hold: Hold) {
        let at = hold.node.index();
        if self.on_node.len() <= at {
            self.on_node.resize_with(at + 1, Vec::new);
        }
        let holds = &mut self.on_node[at];
        holds.insert(holds.partition_point(|other| other.priority >= hold.priority), hold);
        let nodes = self.by_priority.entry(hold.priority).or_default();
        *nodes.entry(hold.node).or_default() += 1;
        self.of_pod.insert(hold.owner, (hold.node, hold.priority));
    }

    fn remove(&mut self, pod: PodId) {
        let Some((node, priority)) = self.of_pod.remove(&pod) else { return };
        self.on_node[node.index()].retain(|hold| hold.owner != pod);
        let nodes = self.by_priority.get_mut(&priority).expect("a hold is counted");
        let count = nodes.get_mut(&node).expect("a hold is counted on its node");
        *count -= 1;
        if *count == 0 {
            nodes.remove(&node);
        }
        if nodes.is_empty() {
            self.by_priority.remove(&priority);
        }
    }
}

impl Usage {
    /// The room that is kept.
    #[must_use]
    pub fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Brings holds in line with what is proposed for waiting pods. To be called after whatever
    /// changes pods or nodes, and before anybody is placed.
    pub fn settle_holds(&mut self, catalog: &mut Catalog) {
        for pod in catalog.take_reproposed() {
            let (before, after) = (self.holds.of(pod), catalog.hold_of(pod));
            if before == after {
                continue;
            }
            self.holds.remove(pod);
            if let Some(hold) = after {
                self.holds.insert(hold);
            }
            let nodes = before.into_iter().chain(after).map(|hold| hold.node);
            nodes.for_each(|node| self.touch(Touch { node, is_facts: false }));
        }
    }
}
