//! Sets of CPUs.

use serde::{Deserialize, Serialize};

/// CPU ids lie below this.
pub const CPUS_MAX: usize = 1_024;

const WORDS: usize = CPUS_MAX / 64;

/// CPUs of a machine, by the ids that the operating system gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSet([u64; WORDS]);

impl CpuSet {
    /// No CPU.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// Adds a CPU. An id of [`CPUS_MAX`] or more names none and is not added: returns whether it
    /// was.
    pub fn insert(&mut self, cpu: u32) -> bool {
        let word = self.0.get_mut(cpu as usize / 64);
        let is_known = word.is_some();
        if let Some(word) = word {
            *word |= 1 << (cpu % 64);
        }
        is_known
    }

    /// Whether a CPU is in it.
    #[must_use]
    pub fn has(&self, cpu: u32) -> bool {
        self.0.get(cpu as usize / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| ones(*word)).sum()
    }

    /// How many are in both.
    #[must_use]
    pub fn count_in(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(word, theirs)| ones(word & theirs)).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Adds those of `other`.
    pub fn add(&mut self, other: &Self) {
        for (word, theirs) in self.0.iter_mut().zip(&other.0) {
            *word |= theirs;
        }
    }

    /// Removes those of `other`.
    pub fn remove(&mut self, other: &Self) {
        for (word, theirs) in self.0.iter_mut().zip(&other.0) {
            *word &= !theirs;
        }
    }

    /// Those in both.
    #[must_use]
    pub fn common(mut self, other: &Self) -> Self {
        for (word, theirs) in self.0.iter_mut().zip(&other.0) {
            *word &= theirs;
        }
        self
    }

    /// The ids, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                if bit == 64 {
                    return None;
                }
                left &= left - 1;
                Some(index as u32 * 64 + bit)
            })
        })
    }
}

/// How many bits are set. Machines have far fewer CPUs than there is room for, and to count is many
/// instructions where none is made for it.
fn ones(word: u64) -> u32 {
    if word == 0 { 0 } else { word.count_ones() }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::EMPTY;
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}
