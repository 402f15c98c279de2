//! Totals of nodes with the best of every sixteen beside them, level upon level.
//!
//! Changing one total and finding the best both look at sixteen values per level, which are one
//! cache line, whatever the number of nodes.

/// The total of a node that does not fit.
pub(crate) const UNFIT: i32 = i32::MIN;
/// Values per block.
const FAN: usize = 16;

/// One cache line of totals or of maxima.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Block([i32; FAN]);

impl Block {
    fn best(&self) -> i32 {
        self.0.iter().fold(UNFIT, |best, value| best.max(*value))
    }

    /// The place of one of the values that equal `best`, by hash.
    fn draw(&self, best: i32, seed: u64) -> usize {
        let ties = self.0.iter().enumerate().filter(|(_, value)| **value == best);
        let drawn = ties.max_by_key(|(at, _)| mix(seed ^ *at as u64));
        drawn.expect("the best of a block is in the block").0
    }
}

/// A tree of maxima. The lowest level holds the totals themselves, the highest is one block.
#[derive(Default)]
pub(crate) struct Peaks {
    levels: Vec<Vec<Block>>,
}

impl Peaks {
    /// A tree over `count` nodes of which none fits.
    pub(crate) fn new(count: usize) -> Self {
        let mut width = count.div_ceil(FAN);
        let mut levels = vec![vec![Block([UNFIT; FAN]); width]];
        while width > 1 {
            width = width.div_ceil(FAN);
            levels.push(vec![Block([UNFIT; FAN]); width]);
        }
        Self { levels }
    }

    /// The total of a node.
    pub(crate) fn total(&self, at: usize) -> i32 {
        self.levels[0][at / FAN].0[at % FAN]
    }

    /// The total of a node, to be changed: [`Peaks::lift`] or [`Peaks::lift_all`] must follow.
    pub(crate) fn total_mut(&mut self, at: usize) -> &mut i32 {
        &mut self.levels[0][at / FAN].0[at % FAN]
    }

    /// Brings the levels above one total up to date, which was `before`.
    // Hot: once per touched node.
    pub(crate) fn lift(&mut self, mut at: usize, mut before: i32) {
        let mut value = self.total(at);
        for level in 1..self.levels.len() {
            at /= FAN;
            let above = self.levels[level][at / FAN].0[at % FAN];
            // Only a best that got worse makes it necessary to look at the others.
            let best = match before == above && value < above {
                true => self.levels[level - 1][at].best(),
                false => above.max(value),
            };
            if above == best {
                return;
            }
            self.levels[level][at / FAN].0[at % FAN] = best;
            (before, value) = (above, best);
        }
    }

    /// Brings all levels up to date.
    pub(crate) fn lift_all(&mut self) {
        for level in 1..self.levels.len() {
            for at in 0..self.levels[level - 1].len() {
                let best = self.levels[level - 1][at].best();
                self.levels[level][at / FAN].0[at % FAN] = best;
            }
        }
    }

    /// The place of the best total, if any node fits. Of several that are equally good, a hash of
    /// `seed` and the place decides: first between blocks, then inside the block.
    // Hot: once per pod.
    pub(crate) fn best(&self, mut seed: u64) -> Option<usize> {
        let best = self.levels.last()?.first()?.best();
        if best == UNFIT {
            return None;
        }
        let mut at = 0;
        for level in self.levels.iter().rev() {
            seed = mix(seed);
            at = at * FAN + level[at].draw(best, seed);
        }
        Some(at)
    }
}

/// Spreads the bits of a number over all others.
fn mix(value: u64) -> u64 {
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
            let before = peaks.levels.clone();
            peaks.lift_all();
            assert_eq!(peaks.levels, before, "lifting one by one equals lifting all");
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
