//! One mask out of the answers of all managers.
//!
//! The kubelet forms every combination of one hint per resource, intersects the masks of each, and
//! keeps the best. The order among the results is total, so it is enough to know which results can
//! come about: a preferred one is a mask that every resource prefers, and the others are found by
//! intersecting sets of masks resource by resource.

use super::facts::TopologyPolicy;
use super::hints::Hints;
use super::machine::Machine;
use super::zones::{MaskSet, ZoneMask};

/// Answers of all managers, put together one by one.
pub(super) struct Merge<'a> {
    machine: &'a Machine,
    /// Whether any resource said that no set will do.
    is_impossible: bool,
    /// Whether any resource named sets.
    is_named: bool,
    /// What every resource so far prefers.
    preferred: MaskSet,
    /// What every resource could do with, where others than preferred sets are accepted.
    possible: &'a mut Vec<MaskSet>,
}

impl<'a> Merge<'a> {
    /// Starts with no answer; `possible` is room for those that are kept.
    pub(super) fn new(machine: &'a Machine, possible: &'a mut Vec<MaskSet>) -> Self {
        possible.clear();
        let (is_impossible, is_named) = (false, false);
        Merge { machine, is_impossible, is_named, preferred: MaskSet::ALL, possible }
    }

    pub(super) fn add(&mut self, hints: &Hints) {
        match hints {
            Hints::Any => {}
            Hints::Impossible => self.is_impossible = true,
            Hints::Some { possible, preferred } => {
                self.is_named = true;
                self.preferred.intersect(preferred);
                if self.machine.policy == TopologyPolicy::BestEffort {
                    self.possible.push(*possible);
                }
            }
        }
    }

    /// The mask that containers are aligned with, or `None` if none is given to them, and whether
    /// the hint counts as preferred; an error if the policy refuses the pod.
    pub(super) fn finish(self) -> Result<Affinity, ()> {
        match self.machine.policy {
            TopologyPolicy::None => Ok(Affinity { mask: None, is_preferred: false }),
            TopologyPolicy::SingleNumaNode => self.single(),
            TopologyPolicy::Restricted => self.agreed().ok_or(()),
            TopologyPolicy::BestEffort => Ok(self.agreed().unwrap_or_else(|| self.compromise())),
        }
    }

    /// What all prefer.
    fn agreed(&self) -> Option<Affinity> {
        if self.is_impossible {
            return None;
        }
        let mask = if self.is_named {
            let better =
                |best: ZoneMask, mask| if self.machine.prefers(mask, best) { mask } else { best };
            self.preferred.iter().reduce(better)?
        } else {
            self.machine.all_zones()
        };
        Some(Affinity { mask: Some(mask), is_preferred: true })
    }

    /// A zone that all prefer. If that is the whole machine, there is nothing to align with.
    fn single(mut self) -> Result<Affinity, ()> {
        let zones = self.machine.zone_ids().len();
        if self.is_named {
            let mut singles = MaskSet::EMPTY;
            (0..zones).for_each(|place| singles.insert(ZoneMask::of(place)));
            self.preferred.intersect(&singles);
        }
        let mut found = self.agreed().ok_or(())?;
        found.mask = found.mask.filter(|mask| *mask != self.machine.all_zones());
        Ok(found)
    }

    /// The best of what not all prefer: as many zones as the resource that needs the most, else
    /// fewer, the more the better, else more, the fewer the better.
    fn compromise(&self) -> Affinity {
        let narrowest = |masks: &MaskSet| masks.iter().map(ZoneMask::count).min().unwrap_or(0);
        let needed = self.possible.iter().map(narrowest).max().unwrap_or(0);
        let rank = |mask: ZoneMask| match mask.count() {
            count if count <= needed => needed - count,
            count => count + crate::topology::ZONES_MAX,
        };
        let better = |best: ZoneMask, mask: ZoneMask| match rank(mask).cmp(&rank(best)) {
            std::cmp::Ordering::Less => mask,
            std::cmp::Ordering::Greater => best,
            std::cmp::Ordering::Equal => {
                if self.machine.prefers(mask, best) {
                    mask
                } else {
                    best
                }
            }
        };
        let zones = self.machine.zone_ids().len();
        let met = self.possible.iter().copied().reduce(|met, of| met.intersections(&of, zones));
        let met = met.unwrap_or(MaskSet::EMPTY);
        let found = met.iter().filter(|mask| !mask.is_empty()).reduce(better);
        Affinity { mask: Some(found.unwrap_or(self.machine.all_zones())), is_preferred: false }
    }
}

/// With which zones containers are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Affinity {
    pub(super) mask: Option<ZoneMask>,
    pub(super) is_preferred: bool,
}
