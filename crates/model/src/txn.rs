//! Placements as a transaction: what is not committed is undone.

use crate::catalog::{Catalog, Occupant};
use crate::ids::{NodeId, PodId};
use crate::usage::{Hold, Usage};
use crate::volume::Assignment;

/// One change, with what is needed to take it back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Placed(Occupant, NodeId),
    Evicted(Occupant, NodeId),
    Held(Hold),
    Released(Hold),
}

/// A moment inside a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Savepoint {
    steps: usize,
    given: usize,
    mark: u64,
}

impl Savepoint {
    /// The end of the log of touched nodes at that moment.
    #[must_use]
    pub fn mark(self) -> u64 {
        self.mark
    }
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

    /// The facts it is about.
    #[must_use]
    pub fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// Puts a pod on a node.
    pub fn place(&mut self, occupant: Occupant, node: NodeId) {
        self.usage.place(self.catalog, occupant, node);
        self.usage.come_inside(self.catalog, occupant, node);
        self.usage.undo.push(Step::Placed(occupant, node));
    }

    /// Takes a pod off a node.
    pub fn evict(&mut self, occupant: Occupant, node: NodeId) {
        self.usage.evict(self.catalog, occupant, node);
        self.usage.leave_inside(self.catalog, occupant, node);
        self.usage.undo.push(Step::Evicted(occupant, node));
    }

    /// Keeps room that nobody passes, and charges it to its node.
    pub fn hold(&mut self, hold: Hold) {
        self.usage.hold(self.catalog, hold);
        self.usage.come_inside(self.catalog, hold.occupant, hold.node);
        self.usage.undo.push(Step::Held(hold));
    }

    /// Gives up room that was kept so.
    pub fn release(&mut self, hold: Hold) {
        self.usage.release(self.catalog, hold);
        self.usage.leave_inside(self.catalog, hold.occupant, hold.node);
        self.usage.undo.push(Step::Released(hold));
    }

    /// Gives something to claims of a pod that goes to a node.
    pub fn give(&mut self, pod: PodId, node: NodeId, given: Vec<Assignment>) {
        let assigned = self.usage.assigned_mut();
        assigned.give(pod, node, given);
        assigned.undo.push(pod);
    }

    /// This moment, to come back to.
    #[must_use]
    pub fn savepoint(&self) -> Savepoint {
        let given = self.usage.assigned().undo.len();
        Savepoint { steps: self.usage.undo.len(), given, mark: self.usage.mark() }
    }

    /// Takes back every change since a moment, as if nothing had been touched. Whoever looked in
    /// between catches up before the log forgets.
    pub fn rewind(&mut self, to: Savepoint, catch_up: impl FnOnce(&Usage)) {
        self.undo(to);
        catch_up(self.usage);
        self.usage.forget_touched_since(to.mark);
    }

    /// Takes back every change since a moment. The nodes count as touched, so that whoever looked
    /// in between catches up later.
    pub fn back_to(&mut self, to: Savepoint) {
        self.undo(to);
    }

    fn undo(&mut self, to: Savepoint) {
        let assigned = self.usage.assigned_mut();
        while assigned.undo.len() > to.given {
            let Some(pod) = assigned.undo.pop() else { break };
            assigned.take_back(pod);
        }
        while self.usage.undo.len() > to.steps {
            let Some(step) = self.usage.undo.pop() else { return };
            let (occupant, node) = match step {
                Step::Placed(occupant, node) | Step::Evicted(occupant, node) => (occupant, node),
                Step::Held(hold) | Step::Released(hold) => (hold.occupant, hold.node),
            };
            match step {
                Step::Placed(..) => self.usage.evict(self.catalog, occupant, node),
                Step::Evicted(..) => self.usage.place(self.catalog, occupant, node),
                Step::Held(hold) => self.usage.release(self.catalog, hold),
                Step::Released(hold) => self.usage.hold(self.catalog, hold),
            }
            self.usage.undo_inside(self.catalog, occupant, node);
        }
    }

    /// Makes the changes last.
    pub fn commit(self) {
        self.usage.undo.clear();
        self.usage.commit_insides();
        self.usage.assigned_mut().undo.clear();
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        self.undo(Savepoint::default());
    }
}
