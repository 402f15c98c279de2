//! Domains: nodes that have the same value of a label, for the labels that rules speak of.

use crate::catalog::nodes::Nodes;
use crate::ids::{DomainId, KeyId, NodeId};
use crate::map::Map;
use crate::symbol::Symbol;

/// A label that divides nodes into domains.
struct Key {
    label: Symbol,
    /// By place; none for nodes without the label, and for nodes that are not there.
    of_node: Vec<Option<DomainId>>,
    by_value: Map<Symbol, DomainId>,
    /// By domain, its value and how many nodes it has.
    domains: Vec<(Symbol, u32)>,
    /// Domains without a node, to be used again.
    free: Vec<DomainId>,
}

/// All such labels. There are few, and one that was ever used is kept.
#[derive(Default)]
pub(super) struct Domains {
    keys: Vec<Key>,
}

impl Domains {
    /// The key of a label, made if nobody used it before.
    pub(super) fn key(&mut self, label: Symbol, nodes: &Nodes) -> KeyId {
        if let Some(at) = self.keys.iter().position(|key| key.label == label) {
            return KeyId::at(at);
        }
        let mut key = Key {
            label,
            of_node: Vec::new(),
            by_value: Map::default(),
            domains: Vec::new(),
            free: Vec::new(),
        };
        nodes.present().iter().for_each(|node| key.put(*node, nodes));
        self.keys.push(key);
        KeyId::at(self.keys.len() - 1)
    }

    /// Takes in a node whose labels changed, or that came or went.
    pub(super) fn put(&mut self, node: NodeId, nodes: &Nodes) {
        self.keys.iter_mut().for_each(|key| key.put(node, nodes));
    }

    pub(super) fn of(&self, key: KeyId, node: NodeId) -> Option<DomainId> {
        self.keys[key.index()].of_node.get(node.index()).copied().flatten()
    }

    #[inline]
    pub(super) fn by_place(&self, key: KeyId) -> &[Option<DomainId>] {
        &self.keys[key.index()].of_node
    }

    pub(super) fn find(&self, key: KeyId, value: Symbol) -> Option<DomainId> {
        self.keys[key.index()].by_value.get(&value).copied()
    }

    pub(super) fn count(&self, key: KeyId) -> usize {
        self.keys[key.index()].domains.len()
    }

    pub(super) fn label(&self, key: KeyId) -> Symbol {
        self.keys[key.index()].label
    }
}

impl Key {
    fn put(&mut self, node: NodeId, nodes: &Nodes) {
        if self.of_node.len() <= node.index() {
            self.of_node.resize(node.index() + 1, None);
        }
        let value = nodes.get(node).and_then(|node| node.label(self.label));
        let before = self.of_node[node.index()];
        if before.map(|domain| self.domains[domain.index()].0) == value {
            return;
        }
        let after = value.map(|value| self.enter(value));
        self.of_node[node.index()] = after;
        if let Some(domain) = before {
            self.leave(domain);
        }
    }

    fn enter(&mut self, value: Symbol) -> DomainId {
        let domain = *self.by_value.entry(value).or_insert_with(|| {
            let domain = self.free.pop().unwrap_or_else(|| {
                self.domains.push((value, 0));
                DomainId::at(self.domains.len() - 1)
            });
            self.domains[domain.index()] = (value, 0);
            domain
        });
        self.domains[domain.index()].1 += 1;
        domain
    }

    fn leave(&mut self, domain: DomainId) {
        let (value, nodes) = &mut self.domains[domain.index()];
        *nodes -= 1;
        if *nodes == 0 {
            self.by_value.remove(value);
            self.free.push(domain);
        }
    }
}
