//! What things cost, in looks instead of time, so that tests and the simulator can tell whether an
//! event costs more the larger a cluster is.

use std::cell::Cell;

/// Counts looks: a node that a plugin is asked about or that is added up, a selector that is
/// matched, a pod or a part of a gang that is walked past.
#[derive(Default)]
pub(crate) struct Looks(Cell<u64>);

impl Looks {
    #[inline]
    pub(crate) fn add(&self, looks: usize) {
        self.0.set(self.0.get() + looks as u64);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.get()
    }
}
