//! Totals of nodes with the best of every sixteen beside them, level upon level.
//!
//! Changing one total and finding the best both look at sixteen values per level, whatever the
//! number of nodes.

/// The total of a node that does not fit.
pub(crate) const UNFIT: i64 = i64::MIN;
/// Values per block: two cache lines.
const FAN: usize = 16;

/// A tree of maxima. The lowest level holds the totals themselves.
#[derive(Default)]
pub(crate) struct Peaks {
    levels: Vec<Vec<i64>>,
}

impl Peaks {
    /// A tree over `count` nodes of which none fits.
    pub(crate) fn new(count: usize) -> Self {
        let mut levels = vec![vec![UNFIT; count]];
        let mut width = count;
        while width > FAN {
            width = width.div_ceil(FAN);
            levels.push(vec![UNFIT; width]);
        }
        Self { levels }
    }

    /// The totals, to be changed: call [`Peaks::lift`] or [`Peaks::lift_all`] afterwards.
    pub(crate) fn totals_mut(&mut self) -> &mut [i64] {
        self.levels.first_mut().map_or(&mut [], Vec::as_mut_slice)
    }

    /// Brings the levels above one total up to date.
    // Hot: once per touched node.
    pub(crate) fn lift(&mut self, mut at: usize) {
        for level in 1..self.levels.len() {
            let best = best_of(block(&self.levels[level - 1], at / FAN));
            at /= FAN;
            if self.levels[level][at] == best {
                return;
            }
            self.levels[level][at] = best;
        }
    }

    /// Brings all levels up to date.
    pub(crate) fn lift_all(&mut self) {
        for level in 1..self.levels.len() {
            for at in 0..self.levels[level].len() {
                self.levels[level][at] = best_of(block(&self.levels[level - 1], at));
            }
        }
    }

    /// The place of the best total, if any node fits. Of several that are equally good, a hash of
    /// `seed` and the place decides: first between blocks, then inside the block.
    // Hot: once per pod.
    pub(crate) fn best(&self, mut seed: u64) -> Option<usize> {
        let top = self.levels.last()?;
        let best = best_of(top);
        if best == UNFIT {
            return None;
        }
        let mut at = draw(top, best, seed)?;
        for level in self.levels.iter().rev().skip(1) {
            seed = mix(seed);
            at = at * FAN + draw(block(level, at), best, seed)?;
        }
        Some(at)
    }
}

fn block(level: &[i64], at: usize) -> &[i64] {
    &level[at * FAN..level.len().min((at + 1) * FAN)]
}

fn best_of(values: &[i64]) -> i64 {
    values.iter().fold(UNFIT, |best, value| best.max(*value))
}

/// The place of one of the values that equal `best`, by hash.
fn draw(values: &[i64], best: i64, seed: u64) -> Option<usize> {
    let ties = values.iter().enumerate().filter(|(_, value)| **value == best);
    ties.max_by_key(|(at, _)| mix(seed ^ *at as u64)).map(|(at, _)| at)
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
                let total = i64::try_from(mix(step ^ 77) % 50).expect("a total");
                peaks.totals_mut()[at] = if total == 0 { UNFIT } else { total };
                peaks.lift(at);
                let best = peaks.levels[0].iter().max().copied().filter(|best| *best != UNFIT);
                assert_eq!(peaks.best(step).map(|at| peaks.levels[0][at]), best);
            }
            let before = peaks.levels.clone();
            peaks.lift_all();
            assert_eq!(peaks.levels, before, "lifting one by one equals lifting all");
        }
    }

    #[test]
    fn ties_are_spread_over_all_nodes() {
        let mut peaks = Peaks::new(300);
        peaks.totals_mut().fill(1);
        peaks.lift_all();
        let drawn: std::collections::BTreeSet<_> =
            (0..20_000).filter_map(|seed| peaks.best(mix(seed))).collect();
        assert_eq!(drawn.len(), 300);
    }
}
