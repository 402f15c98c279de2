//! The best set of GPUs that a pod could have: near each other, and such that what is left is worth
//! most.
//!
//! Up to eight GPUs every set is looked at. Beyond, the sets of the layout are tried one after the
//! other, the tightest that has enough first.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use super::layout::{GpuLayout, places};

/// With more free GPUs than this, not every set is looked at.
const EXACT_MAX: u32 = 8;

/// How near the GPUs of a set are to each other, the nearest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Nearness {
    /// By nothing that is known.
    Apart,
    /// At one NUMA zone.
    Zone,
    /// Below one PCIe switch or root.
    Bus,
    /// Over NVLink, some through others.
    Connected,
    /// All directly over NVLink; or it is one GPU.
    Domain,
}

impl Nearness {
    /// What it is worth, of a hundred.
    #[must_use]
    pub fn points(self) -> i32 {
        match self {
            Self::Apart => 20,
            Self::Zone => 40,
            Self::Bus => 60,
            Self::Connected => 80,
            Self::Domain => 100,
        }
    }
}

impl GpuLayout {
    /// How near the GPUs of a set are to each other.
    #[must_use]
    pub fn nearness(&self, set: u128) -> Nearness {
        let is_in = |sets: &[u128]| sets.iter().any(|other| set & !other == 0);
        if set.count_ones() < 2 || is_in(self.domains()) || self.are_peers(set) {
            Nearness::Domain
        } else if self.is_connected(set) {
            Nearness::Connected
        } else if is_in(self.buses()) {
            Nearness::Bus
        } else if is_in(self.zones()) {
            Nearness::Zone
        } else {
            Nearness::Apart
        }
    }

    /// Whether every one of a set is told to reach every other.
    fn are_peers(&self, set: u128) -> bool {
        places(set).all(|at| set & !self.peers_of(1 << at) == 1 << at)
    }

    fn is_connected(&self, set: u128) -> bool {
        self.reached(set & set.wrapping_neg(), set) == set
    }

    /// What of `among` can be reached from some of it.
    fn reached(&self, mut from: u128, among: u128) -> u128 {
        loop {
            let wider = from | self.peers_of(from) & among;
            if wider == from {
                return from;
            }
            from = wider;
        }
    }

    /// What free GPUs are worth together: whole islands count for more than as many single ones.
    #[must_use]
    pub fn worth(&self, free: u128) -> u32 {
        const SIZES: [u32; 4] = [1, 2, 4, 8];
        let of_island = |island: &u128| {
            let count = (free & island).count_ones();
            SIZES.iter().map(|size| count / size * size * size).sum::<u32>()
        };
        let total = free.count_ones();
        let in_islands: u32 = self.islands().iter().map(of_island).sum();
        2 * in_islands + SIZES.iter().map(|size| total / size * size).sum::<u32>()
    }

    /// The best set of so many GPUs that are free and `allowed`; those that `favoured` has are
    /// better than others that are as near. Nothing if there are too few.
    // Hot: once per node that a pod with GPUs is looked at on.
    #[must_use]
    pub fn best_set(&self, free: u128, allowed: u128, count: u32, favoured: u128) -> Option<u128> {
        let among = free & allowed;
        if among.count_ones() < count || count == 0 {
            return None;
        }
        if among.count_ones() == count {
            return Some(among);
        }
        match self.count() as u32 <= EXACT_MAX && among == free && favoured == 0 {
            true => Some(self.picks.of(self, free, count)),
            false => self.search(free, among, count, favoured),
        }
    }

    /// Looks for the best set among some of the free GPUs, of which there are enough.
    pub(super) fn search(
        &self,
        free: u128,
        among: u128,
        count: u32,
        favoured: u128,
    ) -> Option<u128> {
        let rated = |set: &u128| {
            let near = (self.nearness(*set), (set & favoured).count_ones());
            (near, self.worth(free & !set), Reverse(*set))
        };
        match among.count_ones() <= EXACT_MAX {
            true => subsets(among, count).max_by_key(rated),
            false => {
                let best = self.candidates(free, among, count, favoured).max_by_key(rated)?;
                Some(improved(best, among, rated))
            }
        }
    }

    /// Sets to choose from where there are too many to look at all of them.
    fn candidates(
        &self,
        free: u128,
        among: u128,
        count: u32,
        favoured: u128,
    ) -> impl Iterator<Item = u128> + '_ {
        let whole = [self.all()];
        let within = [self.domains(), self.islands(), self.buses(), self.zones(), &whole];
        let sets: Vec<u128> = within.into_iter().flatten().map(|set| set & among).collect();
        let enough = sets.into_iter().filter(move |set| set.count_ones() >= count);
        enough.flat_map(move |set| {
            let few = subsets(set, count).take_while(move |_| set.count_ones() <= EXACT_MAX);
            few.chain(self.grown(set, free, count, favoured))
        })
    }

    /// Sets inside another one that begin with each of it and grow by what is nearest.
    fn grown(&self, within: u128, free: u128, count: u32, favoured: u128) -> Vec<u128> {
        let grow = |first: usize| {
            let mut set = 1_u128 << first;
            while set.count_ones() < count {
                let next = places(within & !set).max_by_key(|at| {
                    let wider = set | 1 << at;
                    let is_favoured = favoured >> at & 1;
                    let left = self.worth(free & !wider);
                    (self.nearness(wider), is_favoured, left, Reverse(*at))
                });
                let Some(next) = next else { break };
                set |= 1 << next;
            }
            set
        };
        places(within).map(grow).collect()
    }
}

/// A set in which one GPU or two are replaced by others, as long as that makes it better.
fn improved<R: Ord>(mut best: u128, among: u128, rated: impl Fn(&u128) -> R) -> u128 {
    loop {
        let swapped = |count: u32| {
            let out = subsets(best, count);
            let swaps = out
                .flat_map(|out| subsets(among & !best, count).map(move |into| best & !out | into));
            swaps.max_by_key(&rated).filter(|set| rated(set) > rated(&best))
        };
        match swapped(1).or_else(|| swapped(2)) {
            Some(better) => best = better,
            None => return best,
        }
    }
}

/// All sets of so many GPUs out of some, lowest first.
pub(super) fn subsets(of: u128, count: u32) -> impl Iterator<Item = u128> {
    let places: Vec<usize> = places(of).collect();
    let end = 1_u64 << places.len().min(63);
    // The next larger number with as many bits: the lowest run of ones moves up by one.
    let mut next = (1_u64 << count.min(63)) - 1;
    std::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let bits = next;
        let (low, ripple) = (bits & bits.wrapping_neg(), bits + (bits & bits.wrapping_neg()));
        let run = ((bits ^ ripple) >> 2).checked_div(low);
        next = run.map_or(end, |run| ripple | run);
        let set = places.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
        Some(set.fold(0, |set, (_, place)| set | 1 << place))
    })
}

/// The best sets of a layout of few GPUs, for every state it can be in. Worked out when it is first
/// asked for; layouts that are the same have the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Picks(OnceLock<Box<[[u8; EXACT_MAX as usize]]>>);

impl Picks {
    fn of(&self, layout: &GpuLayout, free: u128, count: u32) -> u128 {
        let rows = self.0.get_or_init(|| {
            let row = |free: usize| {
                let free = free as u128;
                let mut row = [0; EXACT_MAX as usize];
                for (count, pick) in (1..=free.count_ones()).zip(&mut row) {
                    let best = layout.search(free, free, count, 0);
                    *pick = best.and_then(|set| u8::try_from(set).ok()).unwrap_or(0);
                }
                row
            };
            (0..1 << layout.count()).map(row).collect()
        });
        rows[free as usize][count as usize - 1].into()
    }
}

// What is worked out from a layout is no part of what it is.
impl PartialEq for Picks {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Picks {}

impl Hash for Picks {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}
