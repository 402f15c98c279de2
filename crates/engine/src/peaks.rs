//! Totals of nodes with the best of every few beside them, level upon level.
//!
//! Changing one total and finding the best both look at one cache line per level, whatever the
//! number of nodes.

use std::collections::BinaryHeap;

/// The total of a node that does not fit.
pub(crate) const UNFIT: i32 = i32::MIN;
/// Nodes per leaf.
const LEAF: usize = 8;
/// Values per block above the leaves.
const FAN: usize = 16;

/// One cache line of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Leaf {
    totals: [i32; LEAF],
    /// The part of each total that follows from facts alone; unfit if facts rule the node out.
    fixed: [i32; LEAF],
}

/// One cache line of maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Block([i32; FAN]);

/// A tree of maxima over the nodes; its highest level is one block.
#[derive(Default)]
pub(crate) struct Peaks {
    count: usize,
    leaves: Vec<Leaf>,
    levels: Vec<Vec<Block>>,
}

impl Peaks {
    /// A tree over `count` nodes of which none fits.
    pub(crate) fn new(count: usize) -> Self {
        let mut width = count.div_ceil(LEAF);
        let leaves = vec![Leaf { totals: [UNFIT; LEAF], fixed: [UNFIT; LEAF] }; width];
        let mut levels = Vec::new();
        while levels.is_empty() || width > 1 {
            width = width.div_ceil(FAN);
            levels.push(vec![Block([UNFIT; FAN]); width]);
        }
        Self { count, leaves, levels }
    }

    /// How many nodes there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The total of a node.
    pub(crate) fn total(&self, at: usize) -> i32 {
        self.leaves[at / LEAF].totals[at % LEAF]
    }

    /// The total of a node, to be changed: [`Peaks::lift`] or [`Peaks::lift_all`] must follow.
    pub(crate) fn total_mut(&mut self, at: usize) -> &mut i32 {
        &mut self.leaves[at / LEAF].totals[at % LEAF]
    }

    /// The part of a node's total that follows from facts.
    pub(crate) fn fixed(&self, at: usize) -> i32 {
        self.leaves[at / LEAF].fixed[at % LEAF]
    }

    /// The part of a node's total that follows from facts, to be changed.
    pub(crate) fn fixed_mut(&mut self, at: usize) -> &mut i32 {
        &mut self.leaves[at / LEAF].fixed[at % LEAF]
    }

    /// Brings the levels above one total up to date, which was `before`.
    // Hot: once per touched node.
    pub(crate) fn lift(&mut self, node: usize, mut before: i32) {
        let mut value = self.total(node);
        let mut at = node / LEAF;
        for level in 0..self.levels.len() {
            let above = self.levels[level][at / FAN].0[at % FAN];
            // Only a best that got worse makes it necessary to look at the others.
            let best = match before == above && value < above {
                true => self.best_below(level, at),
                false => above.max(value),
            };
            if above == best {
                return;
            }
            self.levels[level][at / FAN].0[at % FAN] = best;
            (before, value) = (above, best);
            at /= FAN;
        }
    }

    /// Brings all levels up to date.
    pub(crate) fn lift_all(&mut self) {
        for level in 0..self.levels.len() {
            let below = if level == 0 { self.leaves.len() } else { self.levels[level - 1].len() };
            for at in 0..below {
                self.levels[level][at / FAN].0[at % FAN] = self.best_below(level, at);
            }
        }
    }

    /// The best of the leaf or block that a value of a level stands for.
    fn best_below(&self, level: usize, at: usize) -> i32 {
        match level {
            0 => best_of(&self.leaves[at].totals),
            _ => best_of(&self.levels[level - 1][at].0),
        }
    }

    /// The place of the best total, if any node fits. Of several that are equally good, a hash of
    /// `seed` and the place decides: first between blocks, then inside the block.
    // Hot: once per pod.
    pub(crate) fn best(&self, seed: u64) -> Option<usize> {
        let best = best_of(&self.levels.last()?.first()?.0);
        if best == UNFIT {
            return None;
        }
        let mut at = 0;
        // A level is known by its height above the leaves, so that empty places at the end, which
        // can make the tree higher, change nothing.
        for (height, level) in self.levels.iter().enumerate().rev() {
            at = at * FAN + draw(&level[at].0, best, mix(seed ^ (height as u64 + 1)));
        }
        Some(at * LEAF + draw(&self.leaves[at].totals, best, mix(seed)))
    }

    /// Places of nodes that fit, from the best total down. Of several that are equally good, a hash
    /// of `seed` and the place decides. `open` is room to work in.
    // Hot: once per pod to which it matters where others are.
    pub(crate) fn descend(
        &self,
        seed: u64,
        open: &mut BinaryHeap<Open>,
    ) -> impl Iterator<Item = usize> {
        open.clear();
        self.open(self.levels.len() + 1, 0, seed, open);
        std::iter::from_fn(move || {
            loop {
                let Open { height, at, .. } = open.pop()?;
                if height == 0 {
                    return Some(at as usize);
                }
                self.open(height.into(), at as usize, seed, open);
            }
        })
    }

    /// Puts what is below a leaf, which has the height 1, or below a block to what is open.
    fn open(&self, height: usize, at: usize, seed: u64, open: &mut BinaryHeap<Open>) {
        let below: &[i32] = match height {
            1 => &self.leaves[at].totals,
            _ => self.levels[height - 2].get(at).map_or(&[], |block| &block.0),
        };
        let first = at * below.len();
        let fitting = below.iter().enumerate().filter(|(_, total)| **total != UNFIT);
        open.extend(fitting.map(|(offset, total)| {
            let at = first + offset;
            let hash = mix(mix(seed ^ height as u64) ^ at as u64);
            let height = u8::try_from(height - 1).expect("a tree is not that high");
            Open { total: *total, hash, height, at: u32::try_from(at).expect("a place of a node") }
        }));
    }
}

/// A node, leaf or block on the way down, ordered by how good it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Open {
    /// The best total below.
    total: i32,
    hash: u64,
    /// 0 for a node, 1 for a leaf.
    height: u8,
    at: u32,
}

fn best_of(values: &[i32]) -> i32 {
    values.iter().fold(UNFIT, |best, value| best.max(*value))
}

/// The place of one of the values that equal `best`, by hash.
fn draw(values: &[i32], best: i32, seed: u64) -> usize {
    let ties = values.iter().enumerate().filter(|(_, value)| **value == best);
    let drawn = ties.max_by_key(|(at, _)| mix(seed ^ *at as u64));
    drawn.expect("the best of a block is in the block").0
}

/// Spreads the bits of a number over all others.
pub(crate) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_found_after_every_change() {
        for count in [0, 1, 15, 16, 17, 255, 256, 257, 5000] {
            let mut peaks = Peaks::new(count);
            assert_eq!(peaks.best(7), None);
            for step in 0..2000u64.min(count as u64 * 8) {
                let at = usize::try_from(mix(step) % count as u64).expect("a place");
                let total = i32::try_from(mix(step ^ 77) % 50).expect("a total");
                let total = if total == 0 { UNFIT } else { total };
                let before = std::mem::replace(peaks.total_mut(at), total);
                peaks.lift(at, before);
                let best = (0..count).map(|at| peaks.total(at)).max().filter(|best| *best != UNFIT);
                assert_eq!(peaks.best(step).map(|at| peaks.total(at)), best);
            }
            let mut open = BinaryHeap::new();
            let totals: Vec<_> = peaks.descend(3, &mut open).map(|at| peaks.total(at)).collect();
            assert!(totals.is_sorted_by(|better, worse| better >= worse));
            let fitting = (0..count).filter(|at| peaks.total(*at) != UNFIT).count();
            assert_eq!(totals.len(), fitting, "every node that fits comes once");
            let before = peaks.levels.clone();
            peaks.lift_all();
            assert_eq!(peaks.levels, before, "lifting one by one equals lifting all");
        }
    }

    #[test]
    fn empty_places_at_the_end_change_nothing() {
        for (count, more) in [(8, 9), (100, 129), (128, 4000), (2000, 40_000)] {
            let [few, many] = [count, more].map(|places| {
                let mut peaks = Peaks::new(places);
                (0..count).for_each(|at| *peaks.total_mut(at) = i32::from(at % 3 == 0));
                peaks.lift_all();
                peaks
            });
            for seed in 0..100 {
                assert_eq!(few.best(seed), many.best(seed), "{count} of {more} places");
                let [mut open, mut other] = [BinaryHeap::new(), BinaryHeap::new()];
                assert!(few.descend(seed, &mut open).eq(many.descend(seed, &mut other)));
            }
        }
    }

    #[test]
    fn ties_are_spread_over_all_nodes() {
        let mut peaks = Peaks::new(300);
        (0..300).for_each(|at| *peaks.total_mut(at) = 1);
        peaks.lift_all();
        let drawn: std::collections::BTreeSet<_> =
            (0..20_000).filter_map(|seed| peaks.best(mix(seed))).collect();
        assert_eq!(drawn.len(), 300);
    }
}
