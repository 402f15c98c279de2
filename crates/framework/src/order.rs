//! "Who goes first?" The answer is a value: nothing is compared by calling plugins.

use model::{Catalog, Class, Millis, WorkloadProfile};

use crate::plugin::Plugin;

/// Gives units their place in the queue.
pub trait Order: Plugin {
    /// The rank of a unit of this priority, smaller first.
    fn rank(&self, priority: i32) -> i64;

    /// How units of the same rank take turns; none if the one that waits longest goes first.
    fn sharing(&self) -> Option<Sharing> {
        None
    }

    /// How much sooner than others of its rank a unit of pods of this class goes. Nothing is known
    /// of the pods where nobody classifies them.
    fn boost(&self, _: &Catalog, _: &Class, _: Option<&WorkloadProfile>) -> i32 {
        0
    }
}

/// How units of the same rank take turns: the starving first, then by boost, then those of the
/// namespace that has the smallest share of the cluster, then the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// A unit that has waited for this long is starving.
    pub starving_after: Millis,
}
