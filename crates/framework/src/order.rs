//! "Who goes first?" The answer is a key, a value: nothing is compared by calling plugins.

use model::Time;

use crate::plugin::Plugin;

/// Where a unit stands in the queue; the smallest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OrderKey {
    /// Rank by importance, smaller first.
    pub rank: i64,
    /// Since when it waits for its turn.
    pub since: Time,
    /// The order of arrival, so that no two keys are equal.
    pub arrival: u64,
}

/// Gives units their place in the queue.
pub trait Order: Plugin {
    /// The rank of a unit whose most important pod has this priority.
    fn rank(&self, priority: i32) -> i64;
}
