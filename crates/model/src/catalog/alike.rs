//! Things that nodes have alike, each kept once.

use std::hash::Hash;
use std::sync::Arc;

use crate::map::{Map, hash_of};

/// Values by their hash, and how many nodes have each.
pub(super) struct Alike<T>(Map<u64, Vec<(Arc<T>, u32)>>);

impl<T> Default for Alike<T> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<T: Eq + Hash> Alike<T> {
    /// The same value, which alike nodes have too; held until [`Alike::release`].
    pub(super) fn hold(&mut self, value: T) -> Arc<T> {
        let alike = self.0.entry(hash_of(&value)).or_default();
        let at = alike.iter().position(|(known, _)| **known == value).unwrap_or_else(|| {
            alike.push((Arc::new(value), 0));
            alike.len() - 1
        });
        let (shared, nodes) = &mut alike[at];
        *nodes += 1;
        shared.clone()
    }

    /// Gives up one hold.
    pub(super) fn release(&mut self, value: &Arc<T>) {
        let hash = hash_of(&**value);
        let alike = self.0.get_mut(&hash).expect("a value that is held is known");
        for (_, nodes) in alike.iter_mut().filter(|(known, _)| Arc::ptr_eq(known, value)) {
            *nodes -= 1;
        }
        alike.retain(|(_, nodes)| *nodes > 0);
        if alike.is_empty() {
            self.0.remove(&hash);
        }
    }

    /// How many different values there are.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}
