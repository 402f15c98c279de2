//! Placements as a transaction: what is not committed is undone.

use crate::catalog::{Catalog, Occupant};
use crate::ids::NodeId;
use crate::usage::Usage;

/// One change, with what is needed to take it back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Placed(Occupant, NodeId),
    Evicted(Occupant, NodeId),
}

/// Changes to usage that hold only if [`Txn::commit`] is reached. Leaving early, for any reason,
/// drops the transaction, which takes back every change in reverse order.
pub struct Txn<'a> {
    catalog: &'a Catalog,
    usage: &'a mut Usage,
}

impl<'a> Txn<'a> {
    /// Starts with nothing changed.
    pub fn begin(catalog: &'a Catalog, usage: &'a mut Usage) -> Self {
        assert!(usage.undo.is_empty(), "transactions do not nest");
        Self { catalog, usage }
    }

    /// Usage as it is with the changes so far.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        self.usage
    }

    /// Puts a pod on a node.
    pub fn place(&mut self, occupant: Occupant, node: NodeId) {
        self.usage.place(self.catalog, occupant, node);
        self.usage.undo.push(Step::Placed(occupant, node));
    }

    /// Takes a pod off a node.
    pub fn evict(&mut self, occupant: Occupant, node: NodeId) {
        self.usage.evict(self.catalog, occupant, node);
        self.usage.undo.push(Step::Evicted(occupant, node));
    }

    /// Makes the changes last.
    pub fn commit(self) {
        self.usage.undo.clear();
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        while let Some(step) = self.usage.undo.pop() {
            match step {
                Step::Placed(pod, node) => self.usage.evict(self.catalog, pod, node),
                Step::Evicted(pod, node) => self.usage.place(self.catalog, pod, node),
            }
        }
    }
}
