//! What is inside a node, as objects of the API tell it: NUMA zones, devices, how its kubelet deals
//! with them, and who holds what. What nobody tells is unknown; nothing is guessed here.

use serde::{Deserialize, Serialize};

use crate::device::PciAddress;
use crate::tiers::TierLabels;
use crate::topology::{CpuManagerFacts, TopologyPolicy, TopologyScope};

/// The largest id of a zone: the kubelet has room for so many in a mask.
pub const ZONE_ID_MAX: u32 = 63;

/// What one source tells of the inside of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HardwareFacts {
    /// How many zones there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_count: Option<u32>,
    /// Zones of which something is known, by id.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub zones: Box<[NumaZone]>,
    /// Cores that have several CPUs, with these.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub cores: Box<[CpuRanges]>,
    /// GPUs of which something is known, by index.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub gpus: Box<[Gpu]>,
    /// What is true of all GPUs of the node.
    #[serde(skip_serializing_if = "AllGpus::is_unknown")]
    pub all_gpus: AllGpus,
    /// What the kubelet does about zones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubelet: Option<KubeletFacts>,
    /// How costly it is, and whom it is reserved for.
    #[serde(skip_serializing_if = "TierLabels::is_silent")]
    pub tiers: TierLabels,
    /// What is written there and means nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unread: Box<[Unread]>,
}

/// A NUMA zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumaZone {
    /// The number that the operating system gives it.
    pub id: u32,
    /// Its CPUs.
    pub cpus: Option<CpuRanges>,
    /// Its memory in bytes, huge pages included.
    pub memory: Option<u64>,
    /// How many bytes of it are huge pages, by resource; nothing of a size that is not told.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub huge_pages: Box<[(Box<str>, u64)]>,
    /// What its memory can move, in MB/s.
    pub bandwidth: Option<u64>,
    /// Its socket.
    pub socket: Option<u32>,
    /// How far other zones are, by id.
    pub distances: Box<[(u32, u32)]>,
}

/// CPUs as first and last of each range, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u32, u32)>", into = "Vec<(u32, u32)>")]
pub struct CpuRanges(Ranges);

/// Ranges of CPUs. A node lists as many cores as it has, of which each is one or two, so these need
/// no room elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Ranges {
    #[default]
    None,
    One([(u16, u16); 1]),
    Two([(u16, u16); 2]),
    More(Box<[(u16, u16)]>),
}

impl CpuRanges {
    /// CPUs by ranges in any order, which may overlap. Nothing if one is inverted, or a CPU is
    /// beyond 65,535.
    #[must_use]
    pub fn new(mut ranges: Vec<(u32, u32)>) -> Option<Self> {
        if ranges.iter().any(|(first, last)| first > last) {
            return None;
        }
        ranges.sort_unstable();
        let mut joined: Vec<(u16, u16)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            let (first, last) = (u16::try_from(first).ok()?, u16::try_from(last).ok()?);
            match joined.last_mut().filter(|before| first <= before.1.saturating_add(1)) {
                Some(before) => before.1 = before.1.max(last),
                None => joined.push((first, last)),
            }
        }
        Some(Self(match joined[..] {
            [] => Ranges::None,
            [one] => Ranges::One([one]),
            [one, two] => Ranges::Two([one, two]),
            _ => Ranges::More(joined.into()),
        }))
    }

    fn ranges(&self) -> impl Iterator<Item = (u32, u32)> {
        let ranges: &[(u16, u16)] = match &self.0 {
            Ranges::None => &[],
            Ranges::One(ranges) => ranges,
            Ranges::Two(ranges) => ranges,
            Ranges::More(ranges) => ranges,
        };
        ranges.iter().map(|(first, last)| ((*first).into(), (*last).into()))
    }

    /// The CPUs, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.ranges().flat_map(|(first, last)| first..=last)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.ranges().map(|(first, last)| last - first + 1).sum()
    }
}

impl TryFrom<Vec<(u32, u32)>> for CpuRanges {
    type Error = &'static str;

    fn try_from(ranges: Vec<(u32, u32)>) -> Result<Self, Self::Error> {
        Self::new(ranges).ok_or("ranges of CPUs from 0 to 65535 are expected")
    }
}

impl From<CpuRanges> for Vec<(u32, u32)> {
    fn from(cpus: CpuRanges) -> Self {
        cpus.ranges().collect()
    }
}

/// A GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Gpu {
    /// Its number on the node.
    pub index: u32,
    /// The vendor by its PCI id.
    pub vendor: Option<u16>,
    /// The device by its PCI id.
    pub device: Option<u16>,
    /// The zone it is in.
    pub zone: Option<u32>,
    /// The PCIe root port above it.
    pub root: Option<Box<str>>,
    /// The PCIe switch above it.
    pub switch: Option<Box<str>>,
    /// Its product name.
    pub model: Option<Box<str>>,
    /// Its memory in bytes.
    pub memory: Option<u64>,
    /// GPUs with the same number here reach each other over NVLink.
    pub nvlink_domain: Option<u32>,
    /// GPUs that it reaches over NVLink.
    pub nvlink_peers: Box<[u32]>,
    /// Where it is on the PCI bus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<PciAddress>,
    /// The identity of this very GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Box<str>>,
}

/// What is true of all GPUs of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AllGpus {
    /// How many there are.
    pub count: Option<u32>,
    /// Their product name.
    pub model: Option<Box<str>>,
    /// The memory of each in bytes.
    pub memory: Option<u64>,
    /// How they reach each other.
    pub link: Option<GpuLink>,
    /// The NVLink fabric beyond the node that they are in.
    pub clique: Option<Box<str>>,
    /// The profile of MIG, if each is a part of a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<Box<str>>,
    /// Resources whose devices are offered more than once.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub shared: Box<[SharedGpus]>,
    /// Parts of GPUs that are offered by their profile.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub parts: Box<[GpuPart]>,
}

/// A resource whose devices are offered more than once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SharedGpus {
    /// The resource.
    pub resource: Box<str>,
    /// How often each is offered, which is more than once.
    pub replicas: u32,
    /// Whether they are shared by NVIDIA's multi-process service, and not one after the other.
    pub is_mps: bool,
}

/// Parts of GPUs, by their profile of MIG.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GpuPart {
    /// The profile, `1g.5gb` for example.
    pub profile: Box<str>,
    /// The product name of the GPUs.
    pub model: Option<Box<str>>,
    /// The memory of each in bytes.
    pub memory: Option<u64>,
}

impl AllGpus {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// How GPUs of a node reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GpuLink {
    /// Over PCIe.
    Pcie,
    /// Over NVLink, some or all of them.
    NvLink,
    /// All over switches of NVLink.
    NvSwitch,
}

/// How a kubelet deals with zones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KubeletFacts {
    /// `topologyManagerPolicy`.
    pub policy: TopologyPolicy,
    /// `topologyManagerScope`.
    pub scope: TopologyScope,
    /// The option `prefer-closest-numa-nodes`.
    pub prefers_closest: bool,
    /// How CPUs are given if `cpuManagerPolicy` is `static`, else nothing.
    pub cpu_manager: Option<CpuManagerFacts>,
    /// Whether `memoryManagerPolicy` is `Static`.
    pub is_memory_static: bool,
    /// CPUs that are never given exclusively.
    pub reserved_cpus: CpuRanges,
    /// How many these are, where it is not told which.
    pub reserved_cpu_count: u32,
    /// Memory and huge pages that the memory manager keeps for the system.
    pub reserved_memory: Box<[ReservedMemory]>,
}

impl KubeletFacts {
    /// What is assumed of a kubelet of which nothing is told: it gives whole CPUs to pods that may
    /// have them alone, and aligns what it can.
    #[must_use]
    pub fn assumed() -> Self {
        let cpu_manager = Some(CpuManagerFacts::default());
        Self { policy: TopologyPolicy::BestEffort, cpu_manager, ..Self::default() }
    }
}

/// Memory of a zone that is kept for the system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReservedMemory {
    /// The zone, by id.
    pub zone: u32,
    /// The resource, `memory` or huge pages of a size.
    pub resource: Box<str>,
    /// How much.
    pub bytes: u64,
}

/// A fact that means nothing: it counts as unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Unread {
    /// The label or annotation.
    pub key: Box<str>,
    /// What it says, or how that begins.
    pub value: Box<str>,
    /// What was expected.
    pub expected: Box<str>,
}

/// Who holds what of a node, as its agent reads it from the kubelet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeldFacts {
    /// By uid of the pod.
    pub pods: Box<[HeldByPod]>,
    /// What is left out because there was no room for it: resources, `cpus` or `memory`.
    pub left_out: Box<[Box<str>]>,
}

/// What a pod holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeldByPod {
    /// The pod.
    pub uid: Box<str>,
    /// Devices by resource.
    pub devices: Box<[HeldDevices]>,
    /// CPUs that are its own.
    pub cpus: CpuRanges,
    /// Memory by resource and zones.
    pub memory: Box<[HeldMemory]>,
}

/// Devices of a resource that a pod holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeldDevices {
    /// The resource.
    pub resource: Box<str>,
    /// Their indices, where these are known.
    pub indices: Box<[Option<u32>]>,
}

/// Memory that a pod holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HeldMemory {
    /// The resource, `memory` or huge pages of a size.
    pub resource: Box<str>,
    /// The zones it lies in, by id.
    pub zones: Box<[u32]>,
    /// How much.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cpus_are_joined_and_written_as_they_are_read() {
        let table: [[&[(u32, u32)]; 2]; 6] = [
            [&[], &[]],
            [&[(0, 65_535)], &[(0, 65_535)]],
            [&[(64, 64), (0, 0)], &[(0, 0), (64, 64)]],
            [&[(4, 7), (0, 3)], &[(0, 7)]],
            [&[(65_535, 65_535), (3, 65_535)], &[(3, 65_535)]],
            [&[(8, 9), (0, 1), (4, 5), (4, 4)], &[(0, 1), (4, 5), (8, 9)]],
        ];
        for [told, joined] in table {
            let cpus = CpuRanges::new(told.to_vec()).expect("they make sense");
            let ids: Vec<u32> = joined.iter().flat_map(|(first, last)| *first..=*last).collect();
            assert_eq!((cpus.count() as usize, cpus.iter().collect()), (ids.len(), ids));
            let written = Vec::from(cpus.clone());
            assert_eq!(written, joined);
            assert_eq!(CpuRanges::try_from(written), Ok(cpus));
        }
        for told in [[(1, 0)], [(0, 65_536)], [(65_536, 65_536)]] {
            assert_eq!(CpuRanges::new(told.to_vec()), None);
        }
    }
}
