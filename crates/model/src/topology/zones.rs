//! Sets of NUMA zones, and sets of such sets.

use serde::{Deserialize, Serialize};

/// Zones of a machine that can be told apart. The kubelet refuses to start with more, unless an
/// option of its topology manager says otherwise.
pub const ZONES_MAX: usize = 8;

/// Words of a [`MaskSet`]: one bit for every set of zones.
const WORDS: usize = (1 << ZONES_MAX) / 64;

/// A set of zones of one machine, by their places: the zone with the lowest id is at place 0.
///
/// Since places follow ids, masks compare as those of the kubelet do, which have a bit per id.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct ZoneMask(u8);

impl ZoneMask {
    /// No zone.
    pub const EMPTY: Self = Self(0);

    /// The zone at a place.
    #[must_use]
    pub const fn of(place: usize) -> Self {
        Self(1 << place)
    }

    /// The first `count` zones.
    #[must_use]
    pub const fn first(count: usize) -> Self {
        Self(((1_u16 << count) - 1) as u8)
    }

    /// The mask with these bits, bit 0 being the zone at place 0.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Bit 0 is the zone at place 0.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// How many zones.
    #[must_use]
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the zone at a place is in it.
    #[must_use]
    pub const fn has(self, place: usize) -> bool {
        self.0 >> place & 1 == 1
    }

    /// Whether they have a zone in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether every zone of it is in `other`.
    #[must_use]
    pub const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Zones of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Zones of it that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The places of its zones, lowest first.
    pub fn places(self) -> impl Iterator<Item = usize> {
        (0..ZONES_MAX).filter(move |place| self.has(*place))
    }

    /// Every set of at least one of its zones.
    pub fn subsets(self) -> impl Iterator<Item = ZoneMask> {
        (1..=self.0).filter(move |bits| bits & !self.0 == 0).map(ZoneMask)
    }

    /// Whether the kubelet prefers it to `other` by size and bits alone.
    pub(super) const fn is_narrower(self, other: Self) -> bool {
        let (ours, theirs) = (self.count(), other.count());
        ours < theirs || (ours == theirs && self.0 < other.0)
    }
}

/// How much sets of zones have of something, by what each zone has: two tables of half a mask each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    low: [u64; 16],
    high: [u64; 16],
}

impl Sums {
    /// Adds up what the first `zones` zones have. Sets with others among them are not asked about.
    // Hot: machines with few zones pay for few sets.
    pub(super) fn new(of: &[u64; ZONES_MAX], zones: usize) -> Sums {
        let (low, high) = of.split_at(4);
        let zones = [zones.min(4), zones.saturating_sub(4)];
        Sums { low: Self::half(low, zones[0]), high: Self::half(high, zones[1]) }
    }

    fn half(of: &[u64], zones: usize) -> [u64; 16] {
        let mut sums = [0; 16];
        for bits in 1..1_usize << zones {
            let (rest, zone) = (bits & (bits - 1), bits.trailing_zeros() as usize);
            sums[bits] = of[zone].saturating_add(sums[rest]);
        }
        sums
    }

    pub(super) fn of(&self, mask: ZoneMask) -> u64 {
        let (low, high) = (usize::from(mask.0 & 15), usize::from(mask.0 >> 4));
        self.low[low].saturating_add(self.high[high])
    }
}

/// A set of masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskSet([u64; WORDS]);

impl MaskSet {
    /// No set.
    pub const EMPTY: Self = Self([0; WORDS]);
    pub(super) const ALL: Self = Self([u64::MAX; WORDS]);

    /// Adds a set.
    pub fn insert(&mut self, mask: ZoneMask) {
        self.0[usize::from(mask.0 >> 6)] |= 1 << (mask.0 & 63);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        for (word, theirs) in self.0.iter_mut().zip(&other.0) {
            *word &= theirs;
        }
    }

    /// The sets, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = ZoneMask> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = u8::try_from(left.checked_ilog2()?).ok()?;
                left &= !(1 << bit);
                Some(ZoneMask(u8::try_from(index << 6).ok()? | bit))
            })
        })
    }

    /// What can be had by intersecting a mask of each set, of machines with `zones` zones.
    ///
    /// For every mask it is counted how many masks of either set contain it; multiplied, that is
    /// how many pairs have it in common, and what the larger masks take of it is subtracted again.
    /// So the cost is that of the masks and not of the pairs.
    pub(super) fn intersections(&self, other: &Self, zones: usize) -> Self {
        let mut pairs = self.supersets(zones);
        for (pair, theirs) in pairs.iter_mut().zip(other.supersets(zones)) {
            *pair *= theirs;
        }
        let masks = 1_usize << zones;
        for zone in 0..zones {
            for mask in (0..masks).filter(|mask| mask >> zone & 1 == 0) {
                pairs[mask] -= pairs[mask | 1 << zone];
            }
        }
        let mut found = Self::EMPTY;
        for (bits, _) in pairs[..masks].iter().enumerate().filter(|(_, pairs)| **pairs > 0) {
            found.0[bits >> 6] |= 1 << (bits & 63);
        }
        found
    }

    /// For every mask, how many masks of the set contain it.
    fn supersets(&self, zones: usize) -> [u32; 1 << ZONES_MAX] {
        let mut counts = [0; 1 << ZONES_MAX];
        let masks = 1_usize << zones;
        for (bits, count) in counts[..masks].iter_mut().enumerate() {
            *count = (self.0[bits >> 6] >> (bits & 63) & 1) as u32;
        }
        for zone in 0..zones {
            for mask in (0..masks).filter(|mask| mask >> zone & 1 == 0) {
                counts[mask] += counts[mask | 1 << zone];
            }
        }
        counts
    }
}
