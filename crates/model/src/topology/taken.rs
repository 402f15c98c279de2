//! What a pod takes of a machine.

use serde::{Deserialize, Serialize};

use super::cpus::CpuSet;
use super::machine::{MEMORY_KINDS_MAX, Machine};
use super::zones::ZoneMask;

/// What a pod holds once its kubelet has admitted it, and all that it takes to undo it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// The zones that every container is aligned with, in the order of the containers; nothing for
    /// a container that is not aligned.
    pub masks: Vec<Option<ZoneMask>>,
    /// CPUs that it has for itself, those of init containers included.
    pub cpus: CpuSet,
    /// Those of them that were not free, which happens where sockets or cores are not all of one
    /// size and the kubelet gives CPUs away twice, or reserved ones.
    pub(super) cpus_twice: Option<Box<CpuSet>>,
    /// Devices, for each resource of which it has any.
    pub devices: Vec<DevicesTaken>,
    /// Memory that is pinned, container by container.
    pub blocks: Vec<Block>,
    /// How zones change by the blocks.
    pub zones: Vec<ZoneTaken>,
    /// The place of the first container for which the kubelet may take devices at other zones, if
    /// there is one: what is said of later containers and of devices is a guess.
    pub guess: Option<usize>,
}

/// Devices of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevicesTaken {
    /// The place of the resource in [`Machine::device_resources`].
    pub resource: usize,
    /// The devices, bit 0 being device 0. Which ones among those of the same zones is assumed.
    pub devices: u128,
}

/// Memory that a container has in zones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The place of the container.
    pub container: usize,
    /// The zones.
    pub zones: ZoneMask,
    /// The place of the kind in [`Machine::memory_kinds`].
    pub kind: usize,
    /// Bytes, without what later containers use again.
    pub amount: u64,
    /// Whether it is given back once the container has ended, before the pod does.
    pub is_init: bool,
}

/// How the memory of a zone changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZoneTaken {
    /// The place of the zone.
    pub zone: usize,
    /// Bytes by kind of memory.
    pub amounts: [u64; MEMORY_KINDS_MAX],
    pub(super) assignments: u32,
    pub(super) group_before: ZoneMask,
    pub(super) group: ZoneMask,
}

impl Taken {
    /// Forgets everything and keeps the room it had.
    pub(super) fn clear(&mut self) {
        self.masks.clear();
        self.cpus = CpuSet::EMPTY;
        self.cpus_twice = None;
        self.devices.clear();
        self.blocks.clear();
        self.zones.clear();
        self.guess = None;
    }

    /// Whether nothing is taken that others could miss.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty() && self.devices.is_empty() && self.blocks.is_empty()
    }

    /// Exclusive CPUs in the zone at a place.
    #[must_use]
    pub fn cpus_in(&self, machine: &Machine, zone: usize) -> u32 {
        self.cpus.count_in(machine.cpus_of(zone))
    }

    /// Devices of a resource near the zone at a place. A device near several zones counts in each.
    #[must_use]
    pub fn devices_in(&self, machine: &Machine, resource: usize, zone: usize) -> u32 {
        let devices = self.devices.iter().find(|taken| taken.resource == resource);
        let near = machine.devices_of(resource, zone);
        devices.map_or(0, |taken| (taken.devices & near).count_ones())
    }

    /// Bytes of a kind of memory in the zone at a place.
    #[must_use]
    pub fn memory_in(&self, kind: usize, zone: usize) -> u64 {
        let taken = self.zones.iter().find(|taken| taken.zone == zone);
        taken.map_or(0, |taken| taken.amounts[kind])
    }

    /// Adds devices of a resource.
    pub(super) fn add_devices(&mut self, resource: usize, devices: u128) {
        match self.devices.iter_mut().find(|taken| taken.resource == resource) {
            Some(taken) => taken.devices |= devices,
            None if devices == 0 => {}
            None => self.devices.push(DevicesTaken { resource, devices }),
        }
    }
}
