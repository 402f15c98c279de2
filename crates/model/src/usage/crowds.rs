//! How many pods of each crowd are on which node.

use std::collections::BTreeSet;

use crate::catalog::{Catalog, Crowd, Occupant, Rule, Shifted};
use crate::ids::{CrowdId, NodeId, TagsId};
use crate::map::Map;

/// Where the pods of all crowds are.
#[derive(Default)]
pub(super) struct Gatherings {
    /// By crowd; only nodes with at least one of its pods.
    on_node: Vec<Map<NodeId, u32>>,
}

impl Gatherings {
    pub(super) fn on_node(&self, crowd: CrowdId, node: NodeId) -> u32 {
        self.on_node.get(crowd.index()).and_then(|nodes| nodes.get(&node)).copied().unwrap_or(0)
    }

    pub(super) fn is_empty(&self, crowd: CrowdId) -> bool {
        self.on_node.get(crowd.index()).is_none_or(Map::is_empty)
    }

    pub(super) fn enter(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        for crowd in catalog.crowds_of(occupant) {
            self.change(crowd, node, true);
        }
    }

    pub(super) fn leave(&mut self, catalog: &Catalog, occupant: Occupant, node: NodeId) {
        for crowd in catalog.crowds_of(occupant) {
            self.change(crowd, node, false);
        }
    }

    /// Counts the pods of a crowd anew, who have one of these tags, and names the nodes where that
    /// may make a difference.
    pub(super) fn count(
        &mut self,
        catalog: &Catalog,
        crowd: CrowdId,
        members: &[TagsId],
    ) -> Vec<NodeId> {
        let mut touched: Vec<NodeId> = self.nodes(crowd).drain().map(|(node, _)| node).collect();
        // Only a class that is known holds a rule, and it is counted from its first pod on.
        if let Crowd { rule: Rule::Meant { .. }, .. } = catalog.crowd(crowd) {
            let pods = members.iter().flat_map(|tags| catalog.pods_like(*tags));
            let placed = pods.map(|id| (*id, catalog.pod(*id))).inspect(|_| catalog.look(1));
            for (id, pod) in placed {
                let Some(node) = pod.state.node() else { continue };
                if catalog.is_in_crowd(pod.occupant(id), crowd) {
                    *self.nodes(crowd).entry(node).or_default() += 1;
                    touched.push(node);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        touched
    }

    /// Counts the pods whose tags joined or left crowds; names the nodes where that makes a
    /// difference.
    pub(super) fn shift(&mut self, catalog: &Catalog, shifted: &Shifted) -> BTreeSet<NodeId> {
        let mut touched = BTreeSet::new();
        for (tags, crowds) in shifted {
            let placed = catalog.pods_like(*tags).iter().map(|pod| catalog.pod(*pod));
            for pod in placed.inspect(|_| catalog.look(1)) {
                let Some(node) = pod.state.node() else { continue };
                for (crowd, is_member) in crowds {
                    if pod.rest.is_terminating && !catalog.counts_leaving(*crowd) {
                        continue;
                    }
                    self.change(*crowd, node, *is_member);
                    touched.insert(node);
                }
            }
        }
        touched
    }

    /// Counts a pod of a crowd that came to a node, or left it.
    fn change(&mut self, crowd: CrowdId, node: NodeId, is_there: bool) {
        let nodes = self.nodes(crowd);
        if is_there {
            *nodes.entry(node).or_default() += 1;
            return;
        }
        let count = nodes.get_mut(&node).expect("a pod that leaves was counted");
        *count -= 1;
        if *count == 0 {
            nodes.remove(&node);
        }
    }

    fn nodes(&mut self, crowd: CrowdId) -> &mut Map<NodeId, u32> {
        if self.on_node.len() <= crowd.index() {
            self.on_node.resize_with(crowd.index() + 1, Map::default);
        }
        &mut self.on_node[crowd.index()]
    }
}
