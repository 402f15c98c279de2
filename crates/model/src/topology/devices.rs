//! Devices of a plugin: which sets of zones could serve a request, and which of them are taken.

use super::facts::DevicesFacts;
use super::hints::Hints;
use super::machine::{DEVICES_MAX, MachineFault};
use super::predict::RejectionCause;
use super::zones::{MaskSet, ZONES_MAX, ZoneMask};
use crate::ids::ResourceId;

/// What a plugin says of where a device is. Devices that are alike in this are all the same to the
/// kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Site {
    /// It says nothing.
    Unsaid,
    /// It says that there is no zone.
    Nowhere,
    /// In these zones. Ids of zones that the machine has not are dropped, so there may be none.
    Zones(ZoneMask),
}

/// Devices at one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group {
    site: Site,
    pub(super) members: u128,
}

/// The devices of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Devices {
    pub(super) resource: ResourceId,
    pub(super) healthy: u128,
    pub(super) groups: Box<[Group]>,
    /// Devices that have a zone in common with a set of zones, by the bits of the set.
    pub(super) near: Box<[u128]>,
    /// Whether any device names a zone; if none does, nothing is aligned.
    is_aligned: bool,
    /// Zones that hints are about.
    zones: ZoneMask,
    /// The most devices, healthy or not, that `k` of these zones have, at place `k - 1`.
    largest: [u32; ZONES_MAX],
}

/// Devices that were taken for a container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picked {
    pub(super) devices: u128,
    /// Whether the kubelet could as well have taken devices at another site.
    pub(super) is_guess: bool,
}

impl Devices {
    pub(super) fn new(facts: &DevicesFacts, zone_ids: &[u32]) -> Result<Devices, MachineFault> {
        if facts.devices.len() > DEVICES_MAX {
            return Err(MachineFault::TooManyDevices);
        }
        let mut groups: Vec<Group> = Vec::new();
        let (mut healthy, mut zones, mut is_aligned) = (0, ZoneMask::EMPTY, false);
        for (number, device) in facts.devices.iter().enumerate() {
            let bit = 1_u128 << number;
            if device.is_healthy {
                healthy |= bit;
            }
            let site = site(device.zones.as_deref(), zone_ids);
            if let Site::Zones(mask) = site {
                zones = zones.union(mask);
                is_aligned = true;
            }
            match groups.iter_mut().find(|group| group.site == site) {
                Some(group) => group.members |= bit,
                None => groups.push(Group { site, members: bit }),
            }
        }
        if zones.is_empty() {
            zones = ZoneMask::first(zone_ids.len());
        }
        let near = (0..1_usize << zone_ids.len()).map(|bits| {
            let mask = ZoneMask::from_bits(bits as u8);
            let meets = |group: &&Group| matches!(group.site, Site::Zones(of) if of.meets(mask));
            groups.iter().filter(meets).fold(0, |found, group| found | group.members)
        });
        let (resource, near) = (facts.resource, near.collect());
        let (groups, largest) = (groups.into(), [0; ZONES_MAX]);
        let mut devices = Devices { resource, healthy, groups, near, is_aligned, zones, largest };
        for mask in zones.subsets() {
            let count = devices.meeting(mask).count_ones();
            let largest = &mut devices.largest[mask.count() - 1];
            *largest = count.max(*largest);
        }
        Ok(devices)
    }

    /// Whether any device names a zone.
    pub(super) fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    /// Devices that have a zone in common with `zones`.
    pub(super) fn meeting(&self, zones: ZoneMask) -> u128 {
        self.near[usize::from(zones.bits())]
    }

    /// Which sets of zones could serve `count` devices, if `free` of them are free and `reusable`
    /// were taken by init containers of the same pod.
    pub(super) fn hints(&self, free: u128, reusable: u128, count: u32) -> Hints {
        if !self.is_aligned {
            return Hints::Any;
        }
        if (free | reusable).count_ones() < count {
            return Hints::Impossible;
        }
        let (possible, preferred) = self.possible(free, reusable, count);
        Hints::new(possible, preferred)
    }

    fn possible(&self, free: u128, reusable: u128, count: u32) -> (MaskSet, MaskSet) {
        let zones = self.zones.count();
        let enough = self.largest[..zones].iter().position(|largest| *largest >= count);
        let narrowest = enough.map_or(zones, |place| place + 1);
        let unsaid = self.groups.iter().find(|group| group.site == Site::Unsaid);
        // Devices of which nothing is said are no reason against a mask, and none for it.
        let reusable = reusable & !unsaid.map_or(0, |group| group.members);
        let (mut possible, mut preferred) = (MaskSet::EMPTY, MaskSet::EMPTY);
        for mask in self.zones.subsets() {
            let near = self.meeting(mask);
            let matching = reusable.count_ones() + (free & near).count_ones();
            if reusable & !near == 0 && matching >= count {
                possible.insert(mask);
                if mask.count() == narrowest {
                    preferred.insert(mask);
                }
            }
        }
        (possible, preferred)
    }

    /// Takes `count` devices: first those that init containers of the pod had, then free ones near
    /// the zones of the hint, then any.
    pub(super) fn pick(
        &self,
        free: u128,
        reusable: u128,
        count: u32,
        hint: Option<ZoneMask>,
    ) -> Result<Picked, RejectionCause> {
        if self.healthy == 0 {
            return Err(RejectionCause::NoHealthyDevice(self.resource));
        }
        let mut picked = Picked { devices: 0, is_guess: false };
        let mut left = count;
        self.pick_from(reusable, &mut left, &mut picked);
        if left == 0 {
            return Ok(picked);
        }
        let free = free & !picked.devices;
        if free.count_ones() < left {
            return Err(RejectionCause::DevicesTaken(self.resource));
        }
        let near = match hint {
            Some(hint) if self.is_aligned => free & self.meeting(hint),
            Some(_) | None => 0,
        };
        let elsewhere = match hint {
            Some(_) if self.is_aligned => free & !near & self.with_zones(),
            Some(_) | None => 0,
        };
        for from in [near, elsewhere, free & !near & !elsewhere] {
            self.pick_from(from, &mut left, &mut picked);
        }
        Ok(picked)
    }

    /// Takes as many as are left to be taken, the lowest numbers first; the kubelet takes any.
    fn pick_from(&self, from: u128, left: &mut u32, picked: &mut Picked) {
        let count = from.count_ones();
        if *left < count && *left > 0 {
            let sites = self.groups.iter().filter(|group| group.members & from != 0).count();
            picked.is_guess |= sites > 1;
        }
        let mut rest = from;
        for _ in 0..count.min(*left) {
            picked.devices |= rest & rest.wrapping_neg();
            rest &= rest - 1;
        }
        *left -= count.min(*left);
    }

    /// Devices that name a zone, be it one that the machine has not.
    fn with_zones(&self) -> u128 {
        let named = |group: &&Group| matches!(group.site, Site::Zones(_));
        self.groups.iter().filter(named).fold(0, |found, group| found | group.members)
    }
}

fn site(zones: Option<&[u32]>, zone_ids: &[u32]) -> Site {
    match zones {
        None => Site::Unsaid,
        Some([]) => Site::Nowhere,
        Some(zones) => {
            let places = zones.iter().filter_map(|zone| zone_ids.binary_search(zone).ok());
            Site::Zones(places.fold(ZoneMask::EMPTY, |all, zone| all.union(ZoneMask::of(zone))))
        }
    }
}
