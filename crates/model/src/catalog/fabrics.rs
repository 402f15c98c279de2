//! Domains of the network between nodes, level by level: nodes with the same value of a label, in
//! the same domain of the next wider level that they have a label of. So domains are a forest.

use std::cmp::Reverse;

use crate::catalog::Catalog;
use crate::catalog::nodes::{Node, Nodes};
use crate::fabric::FabricLevel;
use crate::ids::{FabricDomainId, FabricId, GangId, NodeId};
use crate::map::Map;
use crate::symbol::{Symbol, Symbols};

/// The network as the labels of some levels tell it.
#[derive(Debug)]
pub struct Fabric {
    /// The tightest first.
    levels: Box<[FabricLevel]>,
    /// The labels of each level.
    labels: Box<[Box<[Symbol]>]>,
    /// For every place of a node a domain of each level, if it has one. As long as the last node
    /// with a label asks for.
    of_node: Vec<Option<FabricDomainId>>,
    domains: Vec<FabricDomain>,
    /// Domains without a node, to be used again.
    free: Vec<FabricDomainId>,
    by_value: Map<Key, FabricDomainId>,
}

/// The next wider domain, the level and the value of its label.
type Key = (Option<FabricDomainId>, usize, Symbol);

/// Nodes that are close to each other.
#[derive(Clone, Copy, Debug)]
pub struct FabricDomain {
    /// The next wider domain.
    pub parent: Option<FabricDomainId>,
    /// Its level: 0 is the tightest.
    pub level: usize,
    /// The value of its label.
    pub value: Symbol,
    /// How many nodes are in it.
    pub nodes: u32,
}

impl Fabric {
    fn new(levels: &[FabricLevel], symbols: &mut Symbols) -> Self {
        let mut labels =
            |level: &FabricLevel| level.labels.iter().map(|label| symbols.hold(label)).collect();
        Self {
            labels: levels.iter().map(&mut labels).collect(),
            levels: levels.into(),
            of_node: Vec::new(),
            domains: Vec::new(),
            free: Vec::new(),
            by_value: Map::default(),
        }
    }

    /// The levels, the tightest first.
    #[must_use]
    pub fn levels(&self) -> &[FabricLevel] {
        &self.levels
    }

    /// Whether no node is in any domain.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_value.is_empty()
    }

    /// How many places for domains there are; every id is below it.
    #[must_use]
    pub fn places(&self) -> usize {
        self.domains.len()
    }

    /// A domain that has nodes.
    #[must_use]
    pub fn domain(&self, id: FabricDomainId) -> &FabricDomain {
        &self.domains[id.index()]
    }

    /// The domains of a node, one for each level from the tightest on; none if it has no label.
    #[must_use]
    pub fn path(&self, node: NodeId) -> &[Option<FabricDomainId>] {
        let from = node.index() * self.levels.len();
        self.of_node.get(from..from + self.levels.len()).unwrap_or_default()
    }

    /// The tightest domain of a node.
    #[must_use]
    pub fn tightest(&self, node: NodeId) -> Option<FabricDomainId> {
        self.path(node).iter().find_map(|domain| *domain)
    }

    /// Takes in a node that came, went or changed.
    fn put(&mut self, id: NodeId, node: Option<&Node>) {
        let count = self.levels.len();
        let from = id.index() * count;
        let mut path = vec![None; count];
        let mut parent = None;
        for level in (0..count).rev() {
            let labels = self.labels[level].iter();
            let value = node.and_then(|node| labels.copied().find_map(|label| node.label(label)));
            if let Some(value) = value {
                parent = Some(self.enter((parent, level, value)));
                path[level] = parent;
            }
        }
        if self.of_node.len() < from + count {
            if parent.is_none() {
                return;
            }
            self.of_node.resize(from + count, None);
        }
        for (level, domain) in path.into_iter().enumerate() {
            if let Some(before) = std::mem::replace(&mut self.of_node[from + level], domain) {
                self.leave(before);
            }
        }
    }

    fn enter(&mut self, key: Key) -> FabricDomainId {
        let (parent, level, value) = key;
        let id = *self.by_value.entry(key).or_insert_with(|| {
            let domain = FabricDomain { parent, level, value, nodes: 0 };
            if let Some(id) = self.free.pop() {
                self.domains[id.index()] = domain;
                return id;
            }
            self.domains.push(domain);
            FabricDomainId::at(self.domains.len() - 1)
        });
        self.domains[id.index()].nodes += 1;
        id
    }

    fn leave(&mut self, id: FabricDomainId) {
        let domain = &mut self.domains[id.index()];
        domain.nodes -= 1;
        if domain.nodes == 0 {
            self.by_value.remove(&(domain.parent, domain.level, domain.value));
            self.free.push(id);
        }
    }
}

impl Catalog {
    /// Keeps a word for good, so that it can be compared with labels.
    pub fn hold_symbol(&mut self, text: &str) -> Symbol {
        self.symbols.hold(text)
    }

    /// The network as some levels of labels tell it, kept from now on.
    pub fn add_fabric(&mut self, levels: &[FabricLevel]) -> FabricId {
        self.fabrics.add(levels, &self.nodes, &mut self.symbols)
    }

    /// A network that is kept.
    #[must_use]
    pub fn fabric(&self, id: FabricId) -> &Fabric {
        self.fabrics.get(id)
    }

    /// For each level the domain that most pods of a gang are in, of those in the wider ones that
    /// were found before; of many pods only some are looked at.
    #[must_use]
    pub fn most_of_gang(
        &self,
        fabric: FabricId,
        gang: GangId,
        pods_max: usize,
    ) -> Vec<Option<FabricDomainId>> {
        let fabric = self.fabric(fabric);
        let members = self.parts_of(gang).flat_map(|part| &part.members);
        let nodes = members.filter_map(|pod| self.pod(*pod).state.node()).take(pods_max);
        let mut paths: Vec<_> = nodes.map(|node| fabric.path(node)).collect();
        paths.retain(|path| !path.is_empty());
        let mut most = vec![None; fabric.levels.len()];
        for level in (0..most.len()).rev() {
            let mut counts: Map<FabricDomainId, usize> = Map::default();
            for domain in paths.iter().filter_map(|path| path[level]) {
                *counts.entry(domain).or_default() += 1;
            }
            let name = |id: FabricDomainId| self.symbols().text(fabric.domain(id).value);
            let found = counts.into_iter().max_by_key(|(id, count)| (*count, Reverse(name(*id))));
            most[level] = found.map(|(id, _)| id);
            if most[level].is_some() {
                paths.retain(|path| path[level] == most[level]);
            }
        }
        most
    }
}

/// All networks that profiles speak of: mostly there is one.
#[derive(Default)]
pub(super) struct Fabrics {
    all: Vec<Fabric>,
}

impl Fabrics {
    /// The network of some levels, for good.
    pub(super) fn add(
        &mut self,
        levels: &[FabricLevel],
        nodes: &Nodes,
        symbols: &mut Symbols,
    ) -> FabricId {
        if let Some(at) = self.all.iter().position(|fabric| *fabric.levels == *levels) {
            return FabricId::at(at);
        }
        let mut fabric = Fabric::new(levels, symbols);
        nodes.present().iter().for_each(|node| fabric.put(*node, nodes.get(*node)));
        self.all.push(fabric);
        FabricId::at(self.all.len() - 1)
    }

    pub(super) fn get(&self, id: FabricId) -> &Fabric {
        &self.all[id.index()]
    }

    /// Takes in a node that came, went or changed.
    pub(super) fn put(&mut self, id: NodeId, nodes: &Nodes) {
        self.all.iter_mut().for_each(|fabric| fabric.put(id, nodes.get(id)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::NodeFacts;

    fn level(name: &str, labels: &[&str]) -> FabricLevel {
        let labels = labels.iter().map(|label| (*label).into()).collect();
        FabricLevel { name: name.into(), labels }
    }

    fn node(name: &str, labels: &[(&str, &str)]) -> NodeFacts {
        let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into()));
        NodeFacts { name: name.into(), labels: labels.collect(), ..NodeFacts::default() }
    }

    fn shared(catalog: &Catalog, id: FabricId, one: &str, other: &str) -> Option<usize> {
        let fabric = catalog.fabric(id);
        let path = |name: &str| fabric.path(catalog.find_node(name).expect("it is there"));
        let mut pairs = path(one).iter().zip(path(other));
        pairs.position(|(one, other)| one.is_some() && one == other)
    }

    #[test]
    fn nodes_share_domains_by_their_labels_and_what_is_around_them() {
        let mut catalog = Catalog::default();
        catalog.apply_node(&node("early", &[("rack", "1"), ("zone", "a")]));
        let levels = [level("rack", &["rack", "rack-id"]), level("zone", &["zone"])];
        let id = catalog.add_fabric(&levels);
        for facts in [
            node("same", &[("rack-id", "1"), ("zone", "a")]),
            node("far", &[("rack", "1"), ("zone", "b")]),
            node("near", &[("zone", "a")]),
            node("nowhere", &[]),
        ] {
            catalog.apply_node(&facts);
        }
        let table = [
            ("early", "same", Some(0)),
            ("early", "far", None),
            ("early", "near", Some(1)),
            ("near", "nowhere", None),
        ];
        for (one, other, expected) in table {
            assert_eq!(shared(&catalog, id, one, other), expected, "{one} and {other}");
        }
        assert_eq!(catalog.add_fabric(&levels), id, "it is known");
        catalog.apply_node(&node("far", &[("rack", "1"), ("zone", "a")]));
        assert_eq!(shared(&catalog, id, "early", "far"), Some(0), "it moved");
        for name in ["early", "same", "far", "near", "nowhere"] {
            catalog.delete_node(name);
        }
        assert!(catalog.fabric(id).is_empty(), "nothing is left of nodes that are gone");
    }
}
