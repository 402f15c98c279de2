//! Random choices that replay: everything a case contains is drawn here, from a seed and the number
//! of the case, so that one case can be repeated without the ones before it.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A stream of choices that depends on nothing but its seed and case number.
#[derive(Debug)]
pub struct Draw(ChaCha8Rng);

impl Draw {
    /// The choices for case `number` of `seed`.
    pub fn new(seed: u64, number: u64) -> Draw {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number);
        Draw(rng)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high)
    }

    /// True in `percent` of 100 draws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of `items`, each equally likely. A repeated item is likelier.
    ///
    /// # Panics
    ///
    /// If there is nothing to pick from.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        assert!(!items.is_empty());
        let index = self.0.random_range(0..items.len());
        &items[index]
    }

    /// Each of `items` with a chance of `percent`, in their order.
    pub fn subset<'a, T>(&mut self, items: &'a [T], percent: u64) -> Vec<&'a T> {
        items.iter().filter(|_| self.chance(percent)).collect()
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.0.random_range(0..=end);
            items.swap(end, other);
        }
    }
}
