//! The devices of a node, as all sources together tell of them.

use crate::hardware::GpuLink;
use crate::ids::ResourceId;

/// The devices of a node. Nodes that are alike share one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeDevices {
    /// By resource, in the order of their ids.
    pub resources: Box<[ResourceDevices]>,
}

impl NodeDevices {
    /// The devices of a resource, if something is known of them.
    #[must_use]
    pub fn get(&self, resource: ResourceId) -> Option<&ResourceDevices> {
        let found = self.resources.binary_search_by_key(&resource, |of| of.resource);
        found.ok().map(|at| &self.resources[at])
    }
}

/// The devices of a resource: as many healthy ones as the node offers, times the replicas of each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceDevices {
    /// The resource.
    pub resource: ResourceId,
    /// The devices. The place in this list is the number of a device.
    pub devices: Box<[Device]>,
    /// Whether others use a device at the same time.
    pub sharing: Sharing,
    /// How they reach each other.
    pub link: Option<GpuLink>,
    /// Whether numbers are those that the node's agent uses, or nobody else numbers them, and it is
    /// known what the kubelet is told of their zones: what it does can be foreseen.
    pub is_foreseen: bool,
}

/// Whether others use a device at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// Nobody.
    #[default]
    Exclusive,
    /// So many, one after the other.
    TimeSlicing(u32),
    /// So many at once, by NVIDIA's multi-process service.
    Mps(u32),
}

impl Sharing {
    /// How often the node offers each device.
    #[must_use]
    pub fn replicas(self) -> u32 {
        match self {
            Self::Exclusive => 1,
            Self::TimeSlicing(replicas) | Self::Mps(replicas) => replicas,
        }
    }
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Device {
    /// Its name in its pool of ResourceSlices; empty if it is in none.
    pub name: Box<str>,
    /// Ids of the zones it is near; nothing if that is not told.
    pub zones: Option<Box<[u32]>>,
    /// The root of the PCIe tree it is in.
    pub root: Option<Box<str>>,
    /// The PCIe switch above it.
    pub switch: Option<Box<str>>,
    /// Devices with the same number here reach each other over NVLink.
    pub nvlink_domain: Option<u32>,
    /// Devices that it reaches over NVLink, bit 0 being device 0.
    pub nvlink_peers: u128,
    /// Its memory in bytes.
    pub memory: Option<u64>,
    /// Its product name, as its best source spells it.
    pub model: Option<Box<str>>,
    /// The profile of MIG, if it is a part of a GPU.
    pub partition: Option<Box<str>>,
    /// Whether it may be given to anybody.
    pub is_healthy: bool,
}
