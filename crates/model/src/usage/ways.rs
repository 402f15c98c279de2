//! The ways to take a node: with which of its zones a pod could be aligned, and how good each is.
//!
//! Where the node's kubelet aligns the pod there is one way, the kubelet's own. Elsewhere every set
//! of zones that has what the pod needs is a way, as long as none is narrower. What a pod is
//! charged with is the best of them, so that whoever ranks nodes and whoever counts what is taken
//! cannot disagree.

use super::insides::Inside;
use crate::catalog::Catalog;
use crate::ids::GangId;
use crate::numa::{Alignment, GangSpread, NumaFault, NumaPolicy};
use crate::topology::{Free, Machine, MaskSet, Needs, Predictor, TopologyPolicy, ZoneMask};

/// What a fact counts for that is not known.
const NEUTRAL: u64 = 50;
/// The distance between zones where it is not told, in hundredths.
const FAR: u64 = 2_000;

/// The ways to take a node.
pub struct Ways<'a> {
    inside: &'a Inside,
    alignment: &'a Alignment,
    free: Free<'a>,
    sets: MaskSet,
}

impl Inside {
    /// The ways in which pods of a class could take the node, if they ask to be aligned so. There
    /// may be none for pods that do not insist.
    ///
    /// # Errors
    /// Why the node does not take them.
    // Hot: once per node that a pod which is to be aligned is looked at on.
    pub fn ways<'a>(
        &'a self,
        alignment: &'a Alignment,
        asked: NumaPolicy,
        predictor: &mut Predictor,
    ) -> Result<Ways<'a>, NumaFault> {
        let machine = self.machine();
        let decided = self.decided(alignment, predictor)?;
        let is_known = !machine.is_kubelet_unknown() && machine.zone_ids().len() > 1;
        if is_known && asked.is_beyond(machine.policy()) {
            return Err(NumaFault::Weaker { asked });
        }
        let free = Free::new(machine, self.state(), self.shared());
        let open = Open::new(self, alignment, asked);
        let sets = match decided {
            Some(zones) => self.only(alignment, asked, zones, (&free, &open))?,
            None => self.narrowest(alignment, asked, (&free, &open))?,
        };
        Ok(Ways { inside: self, alignment, free, sets })
    }

    /// The zones that the kubelet would choose, if it is known and chooses any.
    fn decided(
        &self,
        alignment: &Alignment,
        predictor: &mut Predictor,
    ) -> Result<Option<ZoneMask>, NumaFault> {
        let machine = self.machine();
        if machine.is_kubelet_unknown() {
            return Ok(None);
        }
        let found = match machine.policy() {
            // Nothing is aligned, but CPUs are given in an order of their own.
            TopologyPolicy::None => predictor
                .predict(machine, self.state(), &alignment.ask)
                .map(|taken| self.zones_taken(taken)),
            TopologyPolicy::BestEffort
            | TopologyPolicy::Restricted
            | TopologyPolicy::SingleNumaNode => {
                predictor.zones(machine, self.state(), &alignment.ask)
            }
        };
        found.map_err(|rejection| {
            let is_estimated = self.is_estimated() || rejection.is_guess;
            NumaFault::Refused { cause: rejection.cause.into(), is_estimated }
        })
    }

    /// The kubelet's way, unless something else is against it.
    fn only(
        &self,
        Alignment { ask, needs, .. }: &Alignment,
        asked: NumaPolicy,
        zones: ZoneMask,
        (free, open): (&Free<'_>, &Open),
    ) -> Result<MaskSet, NumaFault> {
        if zones.meets(open.kept) {
            return Err(NumaFault::Kept);
        }
        let is_single = asked < NumaPolicy::SingleNuma || zones.count() == 1;
        let has_room = free.fits_shared(needs, ask.is_exclusive, zones);
        let fault = if zones.meets(open.avoided) {
            NumaFault::Avoided
        } else if !is_single || !has_room || zones.meets(open.busy) {
            NumaFault::NoZones { asked, is_estimated: self.is_estimated() }
        } else {
            let mut sets = MaskSet::EMPTY;
            sets.insert(zones);
            return Ok(sets);
        };
        if asked.is_strict() { Err(fault) } else { Ok(MaskSet::EMPTY) }
    }

    /// The sets of as few zones as possible that have what a pod needs.
    fn narrowest(
        &self,
        Alignment { needs, .. }: &Alignment,
        asked: NumaPolicy,
        (free, open): (&Free<'_>, &Open),
    ) -> Result<MaskSet, NumaFault> {
        let among = |zones: ZoneMask| narrowest_of(free, needs, zones);
        let all = self.machine().all_zones();
        let closed = open.avoided.union(open.kept).union(open.busy);
        let (count, sets) = among(all.without(closed));
        let suits = match asked {
            NumaPolicy::None | NumaPolicy::BestEffort => count > 0,
            NumaPolicy::Restricted => {
                count > 0 && free.narrowest(needs).all(|least| least == count)
            }
            NumaPolicy::SingleNuma | NumaPolicy::Isolated => count == 1,
        };
        if suits {
            return Ok(sets);
        }
        let is_avoided = || among(all.without(open.kept.union(open.busy))).0 > 0;
        let fault = if !open.avoided.is_empty() && is_avoided() {
            NumaFault::Avoided
        } else if !open.kept.is_empty() {
            NumaFault::Kept
        } else {
            NumaFault::NoZones { asked, is_estimated: true }
        };
        match asked.is_strict() || fault == NumaFault::Kept {
            true => Err(fault),
            false => Ok(MaskSet::EMPTY),
        }
    }
}

/// Zones that a pod must not have.
struct Open {
    /// Because it says so. Ids of zones that the node has not mean nothing.
    avoided: ZoneMask,
    /// Because they are kept for pods that must be alone there.
    kept: ZoneMask,
    /// Because others have CPUs or devices there, and it must be alone.
    busy: ZoneMask,
}

impl Open {
    fn new(inside: &Inside, Alignment { ask, wish, .. }: &Alignment, asked: NumaPolicy) -> Self {
        Self {
            avoided: zones_by_id(inside.machine(), wish.avoided),
            kept: if ask.is_plain() { ZoneMask::EMPTY } else { inside.kept() },
            busy: match asked {
                NumaPolicy::Isolated => inside.busy(),
                NumaPolicy::None
                | NumaPolicy::BestEffort
                | NumaPolicy::Restricted
                | NumaPolicy::SingleNuma => ZoneMask::EMPTY,
            },
        }
    }
}

/// Zones of a machine by their ids, a bit for each; ids that it has not mean nothing.
pub(super) fn zones_by_id(machine: &Machine, ids: u64) -> ZoneMask {
    let places = machine.zone_ids().iter().enumerate();
    let named = places.filter(|(_, id)| ids >> **id & 1 == 1);
    named.fold(ZoneMask::EMPTY, |zones, (place, _)| zones.union(ZoneMask::of(place)))
}

/// The sets of as few of these zones as possible that have what a pod needs, and how few; 0 if all
/// together have not.
fn narrowest_of(free: &Free<'_>, needs: &Needs, zones: ZoneMask) -> (usize, MaskSet) {
    let (mut count, mut sets) = (0, MaskSet::EMPTY);
    for set in zones.subsets() {
        if (count > 0 && set.count() > count) || !free.fits(needs, set) {
            continue;
        }
        if set.count() != count {
            (count, sets) = (set.count(), MaskSet::EMPTY);
        }
        sets.insert(set);
    }
    (count, sets)
}

impl Ways<'_> {
    /// The best way for a pod and how good it is, from 0 to 100; nothing if there is none.
    // Hot: once per node that a pod which is to be aligned is looked at on.
    #[must_use]
    pub fn best(&self, catalog: &Catalog, gang: Option<GangId>) -> Option<(i32, ZoneMask)> {
        let wish = &self.alignment.wish;
        let preferred = zones_by_id(self.inside.machine(), wish.preferred);
        let gang = gang.filter(|_| wish.spread.is_some());
        let rated = self.sets.iter().map(|zones| {
            let is_preferred = !preferred.is_empty() && zones.is_within(preferred);
            let worth = self.worth(zones, is_preferred, catalog, gang);
            (worth, is_preferred, std::cmp::Reverse(zones))
        });
        let (worth, _, std::cmp::Reverse(zones)) = rated.max()?;
        Some((worth, zones))
    }

    /// How good it is to have these zones: how well the pod fits, what is left of their memory's
    /// bandwidth, how near they are to each other, and where the rest of the gang is.
    fn worth(
        &self,
        zones: ZoneMask,
        is_preferred: bool,
        catalog: &Catalog,
        gang: Option<GangId>,
    ) -> i32 {
        let fit = match fit(self.free.fullness(&self.alignment.needs, zones)) {
            fit if is_preferred => (fit * 6 / 5).min(100),
            fit => fit,
        };
        let machine = self.inside.machine();
        let distance = distance(machine, zones);
        let gang = gang.map_or(NEUTRAL, |gang| self.gang(zones, catalog, gang));
        let worth = 40 * fit + 25 * self.bandwidth(zones) + 20 * distance + 15 * gang;
        i32::try_from(worth / 100).unwrap_or(100)
    }

    fn bandwidth(&self, zones: ZoneMask) -> u64 {
        let Alignment { needs, wish, .. } = self.alignment;
        let is_intensive = wish.is_memory_intensive.unwrap_or(needs.is_memory_intensive);
        let machine = self.inside.machine();
        let is_known = zones.places().all(|place| machine.zone(place).has_bandwidth);
        if !is_known || !is_intensive {
            return NEUTRAL;
        }
        self.free.memory_used(zones).map_or(NEUTRAL, |used| 100 - used.min(100))
    }

    /// How well zones suit the spread of a gang, by its pods on this node.
    fn gang(&self, zones: ZoneMask, catalog: &Catalog, gang: GangId) -> u64 {
        let mut here = 0_u64;
        let mut on_node = 0_u64;
        for guest in self.inside.guests() {
            let is_of_gang = |pod| catalog.pod(pod).gang == Some(gang);
            if guest.pod.is_some_and(is_of_gang) {
                on_node += 1;
                here += u64::from(guest.zones.meets(zones));
            }
        }
        match self.alignment.wish.spread {
            None => NEUTRAL,
            Some(GangSpread::Packed) => {
                let others = catalog.gang(gang).members.len().saturating_sub(1).max(1) as u64;
                (100 * here / others).min(100)
            }
            Some(GangSpread::Balanced) => {
                let all = self.inside.machine().zone_ids().len() as u64;
                let (total, ours) = (on_node + 1, zones.count() as u64);
                let even = (total * ours).div_ceil(all);
                let excess = (here + 1).saturating_sub(even);
                100_u64.saturating_sub(100 * excess / even)
            }
            Some(GangSpread::Isolated) => {
                if here == 0 {
                    100
                } else {
                    0
                }
            }
        }
    }
}

/// How well a pod fits zones that are so full with it, in percent: best between half and two
/// thirds, and never so bad that an exact fit counts for nothing.
fn fit(fullness: u64) -> u64 {
    match fullness {
        0..50 => 50 + fullness,
        50..=70 => 100,
        _ => 100 - (fullness.min(100) - 70) * 2,
    }
}

/// How near zones are to each other, in percent.
fn distance(machine: &Machine, zones: ZoneMask) -> u64 {
    let mean = machine.mean_distance(zones).unwrap_or(FAR);
    100_u64.saturating_sub(mean.saturating_sub(1_000) * 5 / 100)
}
