//! Domains: nodes that have the same value of a label, for the labels that rules speak of.

use crate::catalog::nodes::Nodes;
use crate::ids::{DomainId, KeyId, NodeId};
use crate::looks::Looks;
use crate::map::Map;
use crate::symbol::Symbol;

/// A label that divides nodes into domains.
struct Key {
    label: Symbol,
    holds: u32,
    /// By place; none for nodes without the label, and for nodes that are not there. As long as the
    /// last node with the label asks for.
    of_node: Vec<Option<DomainId>>,
    by_value: Map<Symbol, DomainId>,
    /// By domain, its value and how many nodes it has.
    domains: Vec<(Symbol, u32)>,
    /// Domains without a node, to be used again.
    free: Vec<DomainId>,
}

/// All such labels that somebody speaks of.
#[derive(Default)]
pub(super) struct Domains {
    keys: Vec<Option<Key>>,
    free: Vec<KeyId>,
    by_label: Map<Symbol, KeyId>,
    pub(super) looks: Looks,
}

impl Domains {
    /// The key of a label; held until [`Domains::release`].
    pub(super) fn hold(&mut self, label: Symbol, nodes: &Nodes) -> KeyId {
        let id = self.by_label.get(&label).copied().unwrap_or_else(|| self.add(label, nodes));
        self.keys[id.index()].as_mut().expect("a listed key is there").holds += 1;
        id
    }

    fn add(&mut self, label: Symbol, nodes: &Nodes) -> KeyId {
        let mut key = Key {
            label,
            holds: 0,
            of_node: Vec::new(),
            by_value: Map::default(),
            domains: Vec::new(),
            free: Vec::new(),
        };
        // Users name labels that no node has, and then no node is looked at.
        if nodes.has_label(label) {
            self.looks.add(nodes.present().len());
            nodes.present().iter().for_each(|node| key.put(*node, nodes));
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.keys.push(None);
            KeyId::at(self.keys.len() - 1)
        });
        self.keys[id.index()] = Some(key);
        self.by_label.insert(label, id);
        id
    }

    /// Gives up one hold; tells the label.
    pub(super) fn release(&mut self, id: KeyId) -> Symbol {
        let key = self.keys[id.index()].as_mut().expect("a key in use is there");
        key.holds -= 1;
        let label = key.label;
        if key.holds == 0 {
            self.keys[id.index()] = None;
            self.by_label.remove(&label);
            self.free.push(id);
        }
        label
    }

    /// Takes in a node that came, went or changed; `labels` are those it had and those it has.
    pub(super) fn put(
        &mut self,
        node: NodeId,
        labels: impl Iterator<Item = Symbol>,
        nodes: &Nodes,
    ) {
        for label in labels {
            if let Some(id) = self.by_label.get(&label) {
                let key = self.keys[id.index()].as_mut().expect("a listed key is there");
                key.put(node, nodes);
                self.looks.add(1);
            }
        }
    }

    fn get(&self, key: KeyId) -> &Key {
        self.keys[key.index()].as_ref().expect("a key in use is there")
    }

    pub(super) fn of(&self, key: KeyId, node: NodeId) -> Option<DomainId> {
        self.get(key).of_node.get(node.index()).copied().flatten()
    }

    #[inline]
    pub(super) fn by_place(&self, key: KeyId) -> &[Option<DomainId>] {
        &self.get(key).of_node
    }

    pub(super) fn find(&self, key: KeyId, value: Symbol) -> Option<DomainId> {
        self.get(key).by_value.get(&value).copied()
    }

    pub(super) fn count(&self, key: KeyId) -> usize {
        self.get(key).domains.len()
    }

    pub(super) fn label(&self, key: KeyId) -> Symbol {
        self.get(key).label
    }

    /// How many keys are kept, and how many places of nodes they list together.
    pub(super) fn size(&self) -> (usize, usize) {
        let keys = self.keys.iter().flatten();
        (self.by_label.len(), keys.map(|key| key.of_node.len()).sum())
    }
}

impl Key {
    fn put(&mut self, node: NodeId, nodes: &Nodes) {
        let value = nodes.get(node).and_then(|node| node.label(self.label));
        if self.of_node.len() <= node.index() {
            if value.is_none() {
                return;
            }
            self.of_node.resize(node.index() + 1, None);
        }
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
