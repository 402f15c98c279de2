//! Which CPUs the kubelet gives with the option `distribute-cpus-across-numa`: evenly many of every
//! zone of the smallest set of zones that has enough.
//!
//! The kubelet walks through combinations of zones and keeps the best one. The memory in which it
//! builds a combination of four, or of six and more, is written again for the next one with the
//! same beginning, so what it kept changes afterwards. That is a mistake, and it decides which
//! zones are taken; [`Kept`] makes it too.

use super::cpus::CpuSet;
use super::facts::CpuManagerFacts;
use super::processors::Processors;
use super::take::{Taking, TooFew, packed};
use super::zones::{ZONES_MAX, ZoneMask};

/// A combination of zones, in the order in which they are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Combination {
    zones: [usize; ZONES_MAX],
    count: usize,
}

/// The best combination so far.
#[derive(Clone, Copy, Default)]
struct Kept(Option<Combination>);

/// The best combination, from where what cannot be divided is taken, and how uneven it leaves the
/// zones, in thousandths.
#[derive(Clone, Copy)]
struct Best {
    combination: Kept,
    rest: Kept,
    balance: f64,
    is_one_socket: bool,
}

/// What a combination is judged with.
struct Division<'a> {
    processors: &'a Processors,
    zones: Combination,
    /// Free CPUs by zone.
    free: [u32; ZONES_MAX],
    count: u32,
    /// CPUs that are taken together.
    group: u32,
    is_by_socket: bool,
}

/// Takes `count` CPUs out of `from`, distributed.
pub(super) fn distributed(
    processors: &Processors,
    options: &CpuManagerFacts,
    from: &CpuSet,
    count: u32,
) -> Result<CpuSet, TooFew> {
    let group = if options.is_full_cores_only { processors.per_core() } else { 1 };
    if group == 0 || !count.is_multiple_of(group) {
        return packed(processors, options, from, count);
    }
    let mut taking = Taking::new(processors, from, count);
    if taking.is_done() {
        return Ok(taking.taken);
    }
    if taking.needed > i64::from(taking.free.count()) {
        return Err(TooFew);
    }
    let division = Division::new(processors, &taking.free, count, group, options);
    let (fewest, most) = division.range();
    for size in fewest..=most {
        let best = division.best(size)?;
        if let Some(combination) = best.combination.0 {
            division.take(&mut taking, options, combination, best.rest.0)?;
            return if taking.needed == 0 { Ok(taking.taken) } else { Err(TooFew) };
        }
    }
    packed(processors, options, from, count)
}

impl<'a> Division<'a> {
    fn new(
        processors: &'a Processors,
        from: &CpuSet,
        count: u32,
        group: u32,
        options: &CpuManagerFacts,
    ) -> Self {
        let order = processors.zones_in_order(from);
        let mut zones = Combination { zones: [0; ZONES_MAX], count: order.len().min(ZONES_MAX) };
        let mut free = [0; ZONES_MAX];
        for (slot, zone) in zones.zones.iter_mut().zip(order.iter()) {
            *slot = zone;
            free[zone] = from.count_in(&processors.zones[zone]);
        }
        let is_by_socket = options.is_aligned_by_socket;
        Division { processors, zones, free, count, group, is_by_socket }
    }

    /// How many zones are tried at least and at most.
    fn range(&self) -> (usize, usize) {
        let groups = self.processors.all.count().div_ceil(self.group);
        let per_zone = groups.div_ceil(self.processors.with_cpus.count() as u32);
        let needed = self.count.div_ceil(self.group);
        let fewest = needed.div_ceil(per_zone) as usize;
        (fewest, (needed as usize).min(self.zones.count))
    }

    /// The best combination of `size` zones.
    fn best(&self, size: usize) -> Result<Best, TooFew> {
        let mut best = Best {
            combination: Kept(None),
            rest: Kept(None),
            balance: f64::MAX,
            is_one_socket: false,
        };
        let mut stuck = false;
        self.zones.each(size, &mut |combination| {
            best.combination.overwrite(combination);
            if best.balance == 0.0 && (!self.is_by_socket || best.is_one_socket) {
                return false;
            }
            stuck |= self.consider(combination, &mut best).is_err();
            !stuck
        });
        if stuck { Err(TooFew) } else { Ok(best) }
    }

    /// Keeps a combination if it is better than the one that is kept.
    fn consider(&self, combination: Combination, best: &mut Best) -> Result<(), TooFew> {
        let zones = || combination.iter();
        let total: u32 = zones().map(|zone| self.free[zone]).sum();
        let groups: u32 = zones().map(|zone| self.free[zone] / self.group).sum();
        if total < self.count || groups * self.group < self.count {
            return Ok(());
        }
        let mut share = self.share(combination);
        if self.is_by_socket {
            share = share.min(self.least_in_groups(combination));
        }
        if zones().any(|zone| self.free[zone] < share) {
            return Ok(());
        }
        let mut left = self.free;
        zones().for_each(|zone| left[zone] -= share);
        let rest = self.count - share * combination.count as u32;
        let (balance, from) = self.rest(combination, &left, rest)?;
        let is_one_socket = self.is_by_socket && self.is_one_socket(combination);
        let is_better = if self.is_by_socket && is_one_socket != best.is_one_socket {
            is_one_socket
        } else {
            balance < best.balance
        };
        if is_better {
            *best =
                Best { combination: Kept(Some(combination)), rest: from, balance, is_one_socket };
        }
        Ok(())
    }

    /// The even share of every zone, in whole groups.
    fn share(&self, combination: Combination) -> u32 {
        self.count / combination.count as u32 / self.group * self.group
    }

    fn least_in_groups(&self, combination: Combination) -> u32 {
        let whole = combination.iter().map(|zone| self.free[zone] / self.group * self.group);
        whole.min().unwrap_or(0)
    }

    fn is_one_socket(&self, combination: Combination) -> bool {
        let zones =
            combination.iter().fold(ZoneMask::EMPTY, |all, zone| all.union(ZoneMask::of(zone)));
        self.processors.sockets_of(zones) <= 1
    }

    /// From which zones the rest is taken, and how balanced that leaves them.
    fn rest(
        &self,
        combination: Combination,
        left: &[u32; ZONES_MAX],
        rest: u32,
    ) -> Result<(f64, Kept), TooFew> {
        if rest == 0 {
            return Ok((self.balance(left), Kept(None)));
        }
        let mut candidates = Combination { zones: [0; ZONES_MAX], count: 0 };
        for zone in combination.iter().filter(|zone| left[*zone] >= self.group) {
            candidates.zones[candidates.count] = zone;
            candidates.count += 1;
        }
        let (mut lowest, mut kept, mut stuck) = (f64::MAX, Kept(None), false);
        for size in (1..=candidates.count).rev() {
            candidates.each(size, &mut |subset| {
                kept.overwrite_of(size, subset);
                if subset.iter().map(|zone| left[zone]).sum::<u32>() < rest {
                    return true;
                }
                let Some(after) = self.without_rest(subset, *left, rest) else {
                    stuck = true;
                    return false;
                };
                let balance = self.balance(&after);
                if balance < lowest {
                    (lowest, kept) = (balance, Kept(Some(subset)));
                }
                true
            });
        }
        if stuck { Err(TooFew) } else { Ok((lowest, kept)) }
    }

    /// What is left once the rest is taken in turns; nothing where the kubelet would take turns for
    /// ever.
    fn without_rest(
        &self,
        subset: Combination,
        mut left: [u32; ZONES_MAX],
        mut rest: u32,
    ) -> Option<[u32; ZONES_MAX]> {
        while rest > 0 {
            let before = rest;
            for zone in subset.iter() {
                if rest > 0 && left[zone] >= self.group {
                    left[zone] -= self.group;
                    rest -= self.group;
                }
            }
            if rest == before {
                return None;
            }
        }
        Some(left)
    }

    /// The standard deviation of what is free in zones, with the kubelet's rounding.
    fn balance(&self, left: &[u32; ZONES_MAX]) -> f64 {
        let count = self.zones.count as f64;
        let thousandths = |value: f64| (value * 1_000.0).round() / 1_000.0;
        let sum: f64 = self.zones.iter().map(|zone| f64::from(left[zone])).sum();
        let mean = thousandths(sum / count);
        let square = |zone: usize| (f64::from(left[zone]) - mean) * (f64::from(left[zone]) - mean);
        let squares: f64 = self.zones.iter().map(square).sum();
        thousandths((squares / count).sqrt())
    }

    /// Takes an even share of every zone, then the rest in turns.
    fn take(
        &self,
        taking: &mut Taking<'_>,
        options: &CpuManagerFacts,
        combination: Combination,
        rest_from: Option<Combination>,
    ) -> Result<(), TooFew> {
        let plain = CpuManagerFacts { prefers_one_cache: false, ..*options };
        let share = self.share(combination).min(self.least_in_groups(combination));
        let take = |taking: &mut Taking<'_>, zone: usize, count: u32| {
            let from = taking.free.common(&self.processors.zones[zone]);
            // The kubelet drops this error too, and notices later that CPUs are missing.
            let cpus = packed(self.processors, &plain, &from, count).unwrap_or_default();
            taking.take(&cpus);
        };
        combination.iter().for_each(|zone| take(taking, zone, share));
        let mut rest = self.count - share * combination.count as u32;
        while rest > 0 {
            let before = rest;
            for zone in rest_from.iter().flat_map(|zones| zones.iter()) {
                let free = taking.free.count_in(&self.processors.zones[zone]);
                if rest > 0 && free >= self.group {
                    take(taking, zone, self.group);
                    rest -= self.group;
                }
            }
            if rest == before {
                return Err(TooFew);
            }
        }
        Ok(())
    }
}

impl Combination {
    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.zones[..self.count].iter().copied()
    }

    /// Visits every combination of `size` of its zones, in their order, until one says no.
    fn each(&self, size: usize, visit: &mut impl FnMut(Combination) -> bool) {
        if size == 0 || size > self.count {
            return;
        }
        // Places of the chosen zones, counted up as the digits of a number are.
        let mut chosen: [usize; ZONES_MAX] = std::array::from_fn(|place| place);
        loop {
            let mut combination = Combination { zones: [0; ZONES_MAX], count: size };
            for (zone, place) in combination.zones.iter_mut().zip(&chosen[..size]) {
                *zone = self.zones[*place];
            }
            if !visit(combination) {
                return;
            }
            let can_grow = |digit: &usize| chosen[*digit] < self.count - size + *digit;
            let Some(digit) = (0..size).rev().find(can_grow) else { return };
            chosen[digit] += 1;
            for next in digit + 1..size {
                chosen[next] = chosen[next - 1] + 1;
            }
        }
    }

    /// How many of its zones another combination must share to be built in the same memory. Memory
    /// is had for 1, 2, 4 and 8 zones in turn, when there is no room for one more.
    fn beginning(&self) -> usize {
        match self.count {
            4 => 3,
            6.. => 5,
            count => count,
        }
    }
}

impl Kept {
    /// Another combination is built, maybe where the kept one is.
    fn overwrite(&mut self, by: Combination) {
        if let Some(kept) = &mut self.0
            && kept.zones[..kept.beginning()] == by.zones[..kept.beginning()]
        {
            *kept = by;
        }
    }

    /// The same, among combinations of `size` zones.
    fn overwrite_of(&mut self, size: usize, by: Combination) {
        if self.0.is_some_and(|kept| kept.count == size) {
            self.overwrite(by);
        }
    }
}
