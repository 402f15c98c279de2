//! Hash maps whose hashing is the same in every run.

use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;

/// A hash map with a fixed seed. Iterate one only where the order cannot be seen.
pub type Map<K, V> = hashbrown::HashMap<K, V, FixedState>;

/// A hash table of ids whose keys live elsewhere, so that no key is stored twice.
pub type Table<T> = hashbrown::HashTable<T>;

/// The hash of a value, the same in every run of the same build.
pub fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    FixedState::with_seed(0x6b75_6265_6e65_7875).hash_one(value)
}
