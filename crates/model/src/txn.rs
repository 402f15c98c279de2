//! Placements as a transaction: what is not committed is undone.

use crate::catalog::Catalog;
use crate::ids::{ClassId, NodeId};
use crate::usage::Usage;

/// One change, with what is needed to take it back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Placed(ClassId, NodeId),
    Evicted(ClassId, NodeId),
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

    /// Puts a pod of a class on a node.
    pub fn place(&mut self, class: ClassId, node: NodeId) {
        self.usage.place(self.catalog.class(class), node);
        self.usage.undo.push(Step::Placed(class, node));
    }

    /// Takes a pod of a class off a node.
    pub fn evict(&mut self, class: ClassId, node: NodeId) {
        self.usage.evict(self.catalog.class(class), node);
        self.usage.undo.push(Step::Evicted(class, node));
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
                Step::Placed(class, node) => self.usage.evict(self.catalog.class(class), node),
                Step::Evicted(class, node) => self.usage.place(self.catalog.class(class), node),
            }
        }
    }
}
