//! Totals of nodes with the best of every few beside them, level upon level.
//!
//! Changing one total and finding the best both look at one cache line per level, whatever the
//! number of nodes.

use framework::UNFIT;
use model::NodeId;

/// Nodes per leaf.
const LEAF: usize = 8;
/// Values per block above the leaves.
const FAN: usize = 16;
/// Room is made for a multiple of so many nodes, so that not every new one needs more.
const ROOM: usize = LEAF * FAN;

/// One cache line of maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Block([i32; FAN]);

/// A tree of maxima over the nodes; its highest level is one block.
#[derive(Default)]
pub(crate) struct Peaks {
    count: usize,
    /// In leaves; what is beyond the nodes in the last one does not fit.
    totals: Vec<i32>,
    levels: Vec<Vec<Block>>,
}

impl Peaks {
    /// A tree over `count` nodes of which none fits.
    pub(crate) fn new(count: usize) -> Self {
        let mut width = count.div_ceil(LEAF);
        let totals = vec![UNFIT; width * LEAF];
        let mut levels = Vec::new();
        while levels.is_empty() || width > 1 {
            width = width.div_ceil(FAN);
            levels.push(vec![Block([UNFIT; FAN]); width]);
        }
        Self { count, totals, levels }
    }

    /// Makes room for more nodes, of which none fits.
    pub(crate) fn grow(&mut self, count: usize) {
        if count > self.count {
            let mut grown = Self::new(count.next_multiple_of(ROOM));
            grown.totals[..self.totals.len()].copy_from_slice(&self.totals);
            grown.lift_all();
            *self = grown;
        }
    }

    /// Has room for so many nodes, whose totals must all be set then; of others none fits.
    pub(crate) fn reset(&mut self, count: usize) {
        let room = count.next_multiple_of(ROOM);
        if room == self.count {
            self.totals[count..].fill(UNFIT);
        } else {
            *self = Self::new(room);
        }
    }

    /// How many nodes there is room for.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The total of a node.
    pub(crate) fn total(&self, at: usize) -> i32 {
        self.totals[at]
    }

    /// The total of a node, to be changed: [`Peaks::lift_all`] must follow.
    pub(crate) fn total_mut(&mut self, at: usize) -> &mut i32 {
        &mut self.totals[at]
    }

    /// The totals of all nodes.
    pub(crate) fn totals(&self) -> &[i32] {
        &self.totals[..self.count]
    }

    /// The totals of all nodes, to be changed: [`Peaks::lift_all`] must follow.
    pub(crate) fn totals_mut(&mut self) -> &mut [i32] {
        &mut self.totals[..self.count]
    }

    /// How many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let above: usize = self.levels.iter().map(|level| level.len() * FAN).sum();
        size_of::<i32>() * (self.totals.len() + above)
    }

    /// Changes a total, and brings the levels above it up to date; gives back what it was.
    // Hot: once per touched node.
    pub(crate) fn set(&mut self, node: usize, total: i32) -> i32 {
        let (leaf, mut at) = (&mut self.totals.as_chunks_mut::<LEAF>().0[node / LEAF], node / LEAF);
        let before = std::mem::replace(&mut leaf[node % LEAF], total);
        let Some(mut step) = Step { before, value: total }.up(leaf, &mut self.levels[0], at) else {
            return before;
        };
        for level in 1..self.levels.len() {
            let [below, above] = &mut self.levels[level - 1..=level] else { break };
            at /= FAN;
            match step.up(&below[at].0, above, at) {
                Some(next) => step = next,
                None => break,
            }
        }
        before
    }

    /// Brings all levels up to date.
    pub(crate) fn lift_all(&mut self) {
        let Some((first, rest)) = self.levels.split_first_mut() else { return };
        let bests = self.totals.as_chunks::<LEAF>().0.iter().map(|leaf| best_of(leaf));
        let slots = first.iter_mut().flat_map(|block| &mut block.0);
        slots.zip(bests).for_each(|(slot, best)| *slot = best);
        let mut below = first;
        for level in rest {
            let bests = below.iter().map(|block| best_of(&block.0));
            let slots = level.iter_mut().flat_map(|block| &mut block.0);
            slots.zip(bests).for_each(|(slot, best)| *slot = best);
            below = level;
        }
    }

    fn leaf(&self, at: usize) -> &[i32] {
        &self.totals[at * LEAF..(at + 1) * LEAF]
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
        Some(at * LEAF + draw(self.leaf(at), best, mix(seed)))
    }

    /// Puts places into `out` whose total, and then hash, are above `best`: from a leaf on, until
    /// there are `enough`. Tells at which leaf to go on; none if that was the last.
    // Hot: a few times per pod to which it matters where others are.
    pub(crate) fn above(
        &self,
        best: Option<(i32, u64)>,
        seed: u64,
        from: usize,
        enough: usize,
        out: &mut Vec<NodeId>,
    ) -> Option<usize> {
        let floor = best.map_or(UNFIT + 1, |(total, _)| total);
        let (mut next, leaves) = (from, self.totals.len() / LEAF);
        while next < leaves {
            let (at, block) = (next, next / FAN);
            let is_below = |level: &Vec<Block>| level[block / FAN].0[block % FAN] < floor;
            if self.levels.get(1).is_some_and(is_below) {
                next = (block + 1) * FAN;
                continue;
            }
            next += 1;
            if self.levels[0][block].0[at % FAN] < floor {
                continue;
            }
            let places = (at * LEAF..).zip(self.leaf(at).iter().copied());
            let is_above = |(at, total): &(usize, i32)| {
                *total >= floor && Some((*total, tie(seed, *at))) > best
            };
            out.extend(places.filter(is_above).map(|(at, _)| NodeId::at(at)));
            if out.len() >= enough {
                return Some(at + 1);
            }
        }
        None
    }
}

/// A value that changed.
#[derive(Clone, Copy)]
struct Step {
    before: i32,
    value: i32,
}

impl Step {
    /// The change that follows on the level above the values that it is among, if one does.
    #[inline]
    fn up<const N: usize>(self, among: &[i32; N], level: &mut [Block], at: usize) -> Option<Self> {
        let slot = &mut level[at / FAN].0[at % FAN];
        let Self { before, value } = self;
        let above = *slot;
        // Only a best that got worse makes it necessary to look at the others.
        let best = match before == above && value < above {
            true => best_of(among),
            false => above.max(value),
        };
        *slot = best;
        (above != best).then_some(Self { before: above, value: best })
    }
}

/// What decides between nodes that are equally good.
pub(crate) fn tie(seed: u64, at: usize) -> u64 {
    mix(seed ^ at as u64)
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
                peaks.set(at, total);
                let best = (0..count).map(|at| peaks.total(at)).max().filter(|best| *best != UNFIT);
                assert_eq!(peaks.best(step).map(|at| peaks.total(at)), best);
            }
            let before = peaks.levels.clone();
            peaks.lift_all();
            assert_eq!(peaks.levels, before, "lifting one by one equals lifting all");
        }
    }

    #[test]
    fn places_above_the_best_so_far_lead_to_the_best_of_all() {
        for count in [1, 8, 9, 130, 1000] {
            let mut peaks = Peaks::new(count);
            (0..count).for_each(|at| *peaks.total_mut(at) = [3, 7, UNFIT, 5, 7][at % 5]);
            peaks.lift_all();
            for seed in 0..20 {
                let key = |at: usize| (peaks.total(at), tie(seed, at));
                let (mut best, mut out, mut next) = (None, Vec::new(), Some(0));
                while let Some(from) = next {
                    out.clear();
                    next = peaks.above(best, seed, from, 10, &mut out);
                    assert!(out.iter().all(|node| Some(key(node.index())) > best));
                    best = best.max(out.iter().map(|node| key(node.index())).max());
                }
                assert_eq!(best, (0..count).map(key).max(), "{count} nodes");
            }
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
