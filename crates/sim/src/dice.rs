//! Chance that replays: every draw follows from the seed, on every machine.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// What a stream of draws is for. Each has its own, so that more draws in one change no other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Cluster = 1,
    Workload = 2,
    World = 3,
    Network = 4,
    Swarm = 5,
    Shapes = 6,
    /// Who says how important a gang is.
    Ranks = 7,
    /// Whose pods are made by Jobs of Kubernetes.
    Batch = 8,
    /// What becomes of claims and volumes.
    Storage = 9,
    /// Which storage a seed has.
    StorageShapes = 10,
    /// Which rarer storage it has beyond that.
    StorageMore = 11,
    /// What is inside the nodes of a seed.
    Insides = 12,
    /// What kubelets leave to chance.
    Kubelets = 13,
    /// Which rarer insides a seed has beyond that.
    InsidesMore = 14,
    /// Which GPUs a seed has, and who wants what of them.
    Gpus = 15,
    TraceArrivals = 16,
    TracePolicy = 17,
    /// Which services a seed has, and which zones.
    Spread = 18,
    /// How costly the nodes of a seed are, and for whom they are.
    Tiers = 19,
    /// Which network is between the nodes of a seed, and who wants what of it.
    Fabric = 20,
}

/// A stream of draws.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64, stream: Stream) -> Self {
        let mut source = ChaCha8Rng::seed_from_u64(seed);
        source.set_stream(stream as u64);
        Self(source)
    }

    /// A number from `low` to `high`, both included; `low` if the range is empty.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0.random_range(low..=high.max(low))
    }

    /// True in `percent` of a hundred draws.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.between(0, 99) < percent
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let last = choices.len().checked_sub(1).expect("something to pick from");
        // Below the length of a slice, so it fits.
        choices[self.between(0, last as u64) as usize]
    }
}
