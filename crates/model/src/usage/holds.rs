//! Room that is kept on nodes for pods that are not there, by who may pass it.
//!
//! The hold of a waiting pod is charged to nobody: whoever must respect it is asked twice, as if
//! the pod were there and as if not. It follows from what the catalog says of the pod, so nothing
//! but [`Usage::settle_holds`] changes it. The hold of a gang is charged to its node as long as it
//! is there, and comes and goes inside a [`crate::Txn`].

use std::collections::BTreeMap;

use super::{Touch, Usage};
use crate::catalog::{Catalog, Occupant};
use crate::ids::{ClassId, GangId, NodeId, PodId, TagsId};
use crate::map::Map;

/// For whom room is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldOwner {
    /// A waiting pod for which the node is proposed. It passes its own hold.
    Pod(PodId),
    /// A gang, for one of its pods that does not exist yet.
    Gang(GangId),
}

/// Room on a node for a pod that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// For whom.
    pub owner: HoldOwner,
    /// What will be there.
    pub occupant: Occupant,
    /// Where.
    pub node: NodeId,
    /// More important pods pass it.
    pub priority: i32,
}

impl Hold {
    /// Room for a pod of a gang that does not exist yet. Nobody passes it.
    #[must_use]
    pub fn of_gang(gang: GangId, occupant: Occupant, node: NodeId) -> Self {
        Self { owner: HoldOwner::Gang(gang), occupant, node, priority: i32::MAX }
    }
}

/// All holds.
#[derive(Default)]
pub struct Holds {
    /// Those of waiting pods by place of a node, the most important first.
    on_node: Vec<Vec<Hold>>,
    /// How many of these of each priority are on which nodes.
    by_priority: BTreeMap<i32, BTreeMap<NodeId, u32>>,
    /// Where the hold of a pod is, and with which priority.
    of_pod: Map<PodId, (NodeId, i32)>,
    /// How many waiting pods of each kind have one.
    kinds: BTreeMap<(ClassId, TagsId), usize>,
    /// Those of gangs, in no order.
    charged: BTreeMap<NodeId, Vec<Hold>>,
}

impl Holds {
    /// The holds of waiting pods on a node, the most important first.
    #[must_use]
    pub fn on(&self, node: NodeId) -> &[Hold] {
        self.on_node.get(node.index()).map_or(&[], |holds| holds)
    }

    /// The holds on a node that a pod of some priority must respect, beside those that are charged.
    // Hot: asked of every touched node while there are holds.
    pub fn against(&self, pod: PodId, priority: i32, node: NodeId) -> impl Iterator<Item = &Hold> {
        let above = self.on(node).iter().take_while(move |hold| hold.priority >= priority);
        above.filter(move |hold| hold.owner != HoldOwner::Pod(pod))
    }

    /// Nodes with holds of waiting pods that are at least as important as this, in order.
    #[must_use]
    pub fn nodes_from(&self, priority: i32) -> Vec<NodeId> {
        let above = self.by_priority.range(priority..).map(|(_, nodes)| nodes);
        let mut nodes: Vec<NodeId> = above.flat_map(BTreeMap::keys).copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The highest priority of a hold of a waiting pod.
    #[must_use]
    pub fn highest(&self) -> Option<i32> {
        self.by_priority.last_key_value().map(|(priority, _)| *priority)
    }

    /// How many waiting pods have one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.of_pod.len()
    }

    /// All of waiting pods, node by node.
    pub fn of_pods(&self) -> impl Iterator<Item = &Hold> {
        self.on_node.iter().flatten()
    }

    /// All of gangs, node by node. They are part of the load of their nodes.
    pub fn charged(&self) -> impl Iterator<Item = &Hold> {
        self.charged.values().flatten()
    }

    /// Those of gangs on a node.
    #[must_use]
    pub fn charged_on(&self, node: NodeId) -> &[Hold] {
        self.charged.get(&node).map_or(&[], |holds| holds)
    }

    pub(super) fn charge(&mut self, hold: Hold) {
        self.charged.entry(hold.node).or_default().push(hold);
    }

    pub(super) fn discharge(&mut self, hold: Hold) {
        let holds = self.charged.get_mut(&hold.node).expect("a hold that is given up was kept");
        let at = holds.iter().position(|other| *other == hold);
        holds.swap_remove(at.expect("a hold that is given up was kept there"));
        if holds.is_empty() {
            self.charged.remove(&hold.node);
        }
    }

    /// The hold of a pod.
    fn of(&self, pod: PodId) -> Option<Hold> {
        let (node, _) = self.of_pod.get(&pod)?;
        self.on(*node).iter().find(|hold| hold.owner == HoldOwner::Pod(pod)).copied()
    }

    /// Kinds of pods that are waited for: classes, with what other pods know them by.
    pub fn kinds(&self) -> impl Iterator<Item = (ClassId, TagsId)> {
        self.kinds.keys().copied()
    }

    fn insert(&mut self, pod: PodId, hold: Hold) {
        *self.kinds.entry((hold.occupant.class, hold.occupant.tags)).or_default() += 1;
        let at = hold.node.index();
        if self.on_node.len() <= at {
            self.on_node.resize_with(at + 1, Vec::new);
        }
        let holds = &mut self.on_node[at];
        holds.insert(holds.partition_point(|other| other.priority >= hold.priority), hold);
        let nodes = self.by_priority.entry(hold.priority).or_default();
        *nodes.entry(hold.node).or_default() += 1;
        self.of_pod.insert(pod, (hold.node, hold.priority));
    }

    fn remove(&mut self, pod: PodId) {
        let hold = self.of(pod);
        let Some((node, priority)) = self.of_pod.remove(&pod) else { return };
        let Occupant { class, tags, .. } = hold.expect("a hold is on its node").occupant;
        let count = self.kinds.get_mut(&(class, tags)).expect("a hold is counted by its kind");
        *count -= 1;
        if *count == 0 {
            self.kinds.remove(&(class, tags));
        }
        self.on_node[node.index()].retain(|hold| hold.owner != HoldOwner::Pod(pod));
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
                self.holds.insert(pod, hold);
            }
            let nodes = before.into_iter().chain(after).map(|hold| hold.node);
            nodes.for_each(|node| self.touch(Touch { node, is_facts: false }));
        }
    }
}
