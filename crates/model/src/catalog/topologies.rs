//! NodeResourceTopologies: they may come before their nodes, and outlive them.

use std::collections::BTreeMap;

use super::Catalog;
use crate::ids::NodeId;
use crate::node_resource_topology::NodeResourceTopologyFacts;

/// All of them, by the name of the node.
#[derive(Default)]
pub(super) struct Topologies(BTreeMap<Box<str>, Box<NodeResourceTopologyFacts>>);

impl Topologies {
    pub(super) fn get(&self, node: &str) -> Option<&NodeResourceTopologyFacts> {
        self.0.get(node).map(|facts| &**facts)
    }

    pub(super) fn has(&self, facts: &NodeResourceTopologyFacts) -> bool {
        self.get(&facts.node) == Some(facts)
    }

    /// All of them, by the name of the node.
    pub(super) fn facts(&self) -> impl Iterator<Item = &NodeResourceTopologyFacts> {
        self.0.values().map(|facts| &**facts)
    }
}

impl Catalog {
    /// The NodeResourceTopology of a node that is there.
    #[must_use]
    pub fn node_resource_topology(&self, node: NodeId) -> Option<&NodeResourceTopologyFacts> {
        self.topologies.get(self.node_name(node))
    }

    /// Takes in a NodeResourceTopology; tells which node is different now, if it is there.
    pub fn set_node_resource_topology(
        &mut self,
        facts: &NodeResourceTopologyFacts,
    ) -> Option<NodeId> {
        if self.topologies.has(facts) {
            return None;
        }
        self.topologies.0.insert(facts.node.clone(), Box::new(facts.clone()));
        self.told_of(&facts.node)
    }

    /// Forgets a NodeResourceTopology; tells which node is different now, if it is there.
    pub fn delete_node_resource_topology(&mut self, node: &str) -> Option<NodeId> {
        self.topologies.0.remove(node)?;
        self.told_of(node)
    }

    fn told_of(&mut self, node: &str) -> Option<NodeId> {
        let node = self.find_node(node)?;
        self.make_machine(node);
        Some(node)
    }
}
