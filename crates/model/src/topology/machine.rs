//! A machine as the kubelet's managers see it, with what follows from its facts alone.

use super::devices::Devices;
use super::facts::{CpuManagerFacts, MachineFacts, TopologyPolicy, TopologyScope, ZoneFacts};
use super::needs::Whole;
use super::processors::Processors;
use super::zones::{ZONES_MAX, ZoneMask};
use crate::ids::ResourceId;

/// Devices of one resource.
pub const DEVICES_MAX: usize = 128;

/// Resources that device plugins of a machine offer.
pub const DEVICE_RESOURCES_MAX: usize = 16;

/// Memory and the sizes of huge pages.
pub const MEMORY_KINDS_MAX: usize = 4;

/// A machine and how its kubelet is configured. Nodes that are alike can share one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    zone_ids: Box<[u32]>,
    /// By place.
    zones: Box<[Zone]>,
    is_kubelet_unknown: bool,
    pub(super) policy: TopologyPolicy,
    pub(super) scope: TopologyScope,
    pub(super) cpu_manager: Option<CpuManagerFacts>,
    pub(super) processors: Processors,
    pub(super) devices: Box<[Devices]>,
    pub(super) memory: Option<Memory>,
    /// What there is in its zones together.
    pub(super) whole: Whole,
    /// Distances by place, row by row, if closeness counts.
    distances: Option<Box<[u32]>>,
}

/// What is known of a zone beside its CPUs and devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its memory in bytes, if that is known.
    pub memory: Option<u64>,
    /// Whether it is known what its memory can move.
    pub has_bandwidth: bool,
    /// How far the zones at all places are; 0 where that is not known.
    distances: [u32; ZONES_MAX],
}

/// What the memory manager has to give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Memory first, then huge pages.
    pub(super) kinds: Box<[ResourceId]>,
    /// By kind and place.
    pub(super) allocatable: Box<[[u64; ZONES_MAX]]>,
}

/// Why nothing can be predicted for a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MachineFault {
    /// It has no zone.
    NoZone,
    /// It has more than [`ZONES_MAX`] zones: the kubelet aligns nothing there, unless its option
    /// `max-allowable-numa-nodes` says otherwise.
    TooManyZones,
    /// Two zones have the same id.
    ZoneTwice,
    /// A zone has an id above 63, which the kubelet cannot put into a mask.
    ZoneIdTooLarge,
    /// A CPU is listed twice.
    CpuTwice,
    /// A CPU has an id of `CPUS_MAX` or more, or there are more than 64 sockets.
    TooManyCpus,
    /// A core has more than eight threads.
    TooManyThreads,
    /// A reserved CPU is not there.
    ReservedCpuUnknown,
    /// Options of the CPU manager that the kubelet does not start with.
    CpuOptionsContradict,
    /// A resource has more than [`DEVICES_MAX`] devices.
    TooManyDevices,
    /// There are more than [`DEVICE_RESOURCES_MAX`] resources of device plugins.
    TooManyResources,
    /// There are more than [`MEMORY_KINDS_MAX`] kinds of memory.
    TooManyMemoryKinds,
    /// Zones differ in the sizes of their huge pages.
    HugePagesDiffer,
    /// More memory is reserved, or in huge pages, than there is.
    MemoryOverReserved,
    /// Closeness counts and a distance is missing.
    DistanceMissing,
}

impl Machine {
    /// A machine from what is known of it.
    ///
    /// # Errors
    /// Why nothing can be predicted for it.
    pub fn new(facts: &MachineFacts) -> Result<Machine, MachineFault> {
        let mut zones: Vec<&ZoneFacts> = facts.zones.iter().collect();
        zones.sort_by_key(|zone| zone.id);
        check_zones(&zones)?;
        let zone_ids: Box<[u32]> = zones.iter().map(|zone| zone.id).collect();
        if facts.devices.len() > DEVICE_RESOURCES_MAX {
            return Err(MachineFault::TooManyResources);
        }
        let devices: Result<_, _> =
            facts.devices.iter().map(|devices| Devices::new(devices, &zone_ids)).collect();
        let processors = Processors::new(&zones, &facts.reserved_cpus)?;
        check_options(facts, &processors)?;
        let distances = facts.prefers_closest.then(|| distances(&zones)).transpose()?;
        let memory = facts.is_memory_static.then(|| Memory::new(&zones)).transpose()?;
        let zones: Box<[Zone]> = zones.iter().map(|zone| Zone::new(zone, &zone_ids)).collect();
        Ok(Machine {
            whole: Whole::new(&processors, &zones),
            zones,
            zone_ids,
            is_kubelet_unknown: facts.is_kubelet_unknown,
            policy: facts.policy,
            scope: facts.scope,
            cpu_manager: facts.cpu_manager,
            processors,
            devices: devices?,
            memory,
            distances: distances.filter(|_| facts.policy != TopologyPolicy::SingleNumaNode),
        })
    }

    /// Ids of its zones, lowest first: a zone's place in a [`ZoneMask`] is its place here.
    #[must_use]
    pub fn zone_ids(&self) -> &[u32] {
        &self.zone_ids
    }

    /// All zones.
    #[must_use]
    pub fn all_zones(&self) -> ZoneMask {
        ZoneMask::first(self.zone_ids.len())
    }

    /// The place of the zone with this id.
    #[must_use]
    pub fn zone_place(&self, id: u32) -> Option<usize> {
        self.zone_ids.binary_search(&id).ok()
    }

    /// What is known of the zone at a place.
    #[must_use]
    pub fn zone(&self, place: usize) -> &Zone {
        &self.zones[place]
    }

    /// Whether nobody tells how its kubelet is configured.
    #[must_use]
    pub fn is_kubelet_unknown(&self) -> bool {
        self.is_kubelet_unknown
    }

    /// Whether whole CPUs of guaranteed pods are given to them alone.
    #[must_use]
    pub fn gives_cpus(&self) -> bool {
        self.cpu_manager.is_some()
    }

    /// The mean distance between zones of a set, in hundredths; nothing if one is not known. A
    /// zone is at distance 10 from itself.
    #[must_use]
    pub fn mean_distance(&self, zones: ZoneMask) -> Option<u64> {
        let pairs = || {
            let to = move |from| zones.places().map(move |to| (from, to));
            zones.places().flat_map(to).filter(|(from, to)| from != to)
        };
        let count = pairs().count() as u64;
        if count == 0 {
            return Some(1_000);
        }
        let known = |(from, to): (usize, usize)| match self.zones[from].distances[to] {
            0 => None,
            distance => Some(u64::from(distance)),
        };
        let sum = pairs().map(known).sum::<Option<u64>>()?;
        Some(sum * 100 / count)
    }

    /// What the topology manager insists on.
    #[must_use]
    pub fn policy(&self) -> TopologyPolicy {
        self.policy
    }

    /// What the topology manager aligns as a whole.
    #[must_use]
    pub fn scope(&self) -> TopologyScope {
        self.scope
    }

    /// All CPUs, reserved ones included.
    #[must_use]
    pub fn cpus(&self) -> &super::CpuSet {
        &self.processors.all
    }

    /// CPUs of the zone at a place, reserved ones included.
    #[must_use]
    pub fn cpus_of(&self, place: usize) -> &super::CpuSet {
        &self.processors.zones[place]
    }

    /// CPUs that are never given exclusively.
    #[must_use]
    pub fn reserved_cpus(&self) -> &super::CpuSet {
        &self.processors.reserved
    }

    /// The CPUs that the kubelet takes first, packed as closely as possible; nothing if there are
    /// fewer.
    #[must_use]
    pub fn first_cpus(&self, count: u32) -> Option<super::CpuSet> {
        let Processors { all, .. } = &self.processors;
        super::take::packed(&self.processors, &CpuManagerFacts::default(), all, count).ok()
    }

    /// Resources of device plugins; the place in here is the number of a resource in a
    /// [`super::State`].
    pub fn device_resources(&self) -> impl Iterator<Item = ResourceId> {
        self.devices.iter().map(|devices| devices.resource)
    }

    /// Devices of a resource that lie in a zone, by the place of the resource: bit 0 is device 0. A
    /// device in several zones is in the set of each.
    #[must_use]
    pub fn devices_of(&self, resource: usize, zone: usize) -> u128 {
        self.devices[resource].meeting(ZoneMask::of(zone))
    }

    /// Healthy devices of a resource.
    #[must_use]
    pub fn healthy_devices(&self, resource: usize) -> u128 {
        self.devices[resource].healthy
    }

    /// Kinds of memory that the memory manager pins, memory itself first; empty if it pins none.
    #[must_use]
    pub fn memory_kinds(&self) -> &[ResourceId] {
        self.memory.as_ref().map_or(&[], |memory| &memory.kinds)
    }

    /// Whether the kubelet prefers a mask to another one, both being possible and equally preferred
    /// by those who hinted at them.
    pub(super) fn prefers(&self, mask: ZoneMask, other: ZoneMask) -> bool {
        if mask.count() == other.count()
            && let Some(distances) = &self.distances
        {
            // Means of equally many distances compare as their sums do.
            let (ours, theirs) = (self.spread(distances, mask), self.spread(distances, other));
            return (ours, mask) < (theirs, other);
        }
        mask.is_narrower(other)
    }

    fn spread(&self, distances: &[u32], mask: ZoneMask) -> u64 {
        let zones = self.zone_ids.len();
        let row =
            |from: usize| mask.places().map(move |to| u64::from(distances[from * zones + to]));
        mask.places().flat_map(row).sum()
    }
}

impl Zone {
    fn new(facts: &ZoneFacts, ids: &[u32]) -> Self {
        let mut distances = [0; ZONES_MAX];
        for (distance, id) in distances.iter_mut().zip(ids) {
            *distance = facts.distances.get(*id as usize).copied().unwrap_or(0);
        }
        Self { memory: facts.memory, has_bandwidth: facts.bandwidth.is_some(), distances }
    }
}

impl Memory {
    fn new(zones: &[&ZoneFacts]) -> Result<Memory, MachineFault> {
        let pages = &zones[0].huge_pages;
        if pages.len() >= MEMORY_KINDS_MAX {
            return Err(MachineFault::TooManyMemoryKinds);
        }
        let kinds: Box<[ResourceId]> = std::iter::once(ResourceId::MEMORY)
            .chain(pages.iter().map(|pages| pages.resource))
            .collect();
        let mut allocatable = vec![[0; ZONES_MAX]; kinds.len()];
        for (place, zone) in zones.iter().enumerate() {
            if zone.huge_pages.len() != pages.len() {
                return Err(MachineFault::HugePagesDiffer);
            }
            let mut left = zone.memory.unwrap_or(0).checked_sub(zone.memory_reserved);
            for pages in &zone.huge_pages {
                let kind = kinds.iter().position(|kind| *kind == pages.resource);
                let kind = kind.filter(|kind| *kind > 0).ok_or(MachineFault::HugePagesDiffer)?;
                let free = pages.total.checked_sub(pages.reserved);
                allocatable[kind][place] = free.ok_or(MachineFault::MemoryOverReserved)?;
                left = left.and_then(|left| left.checked_sub(pages.total));
            }
            allocatable[0][place] = left.ok_or(MachineFault::MemoryOverReserved)?;
        }
        Ok(Memory { kinds, allocatable: allocatable.into() })
    }

    pub(super) fn kind(&self, resource: ResourceId) -> Option<usize> {
        self.kinds.iter().position(|kind| *kind == resource)
    }
}

fn check_zones(zones: &[&ZoneFacts]) -> Result<(), MachineFault> {
    let Some(last) = zones.last() else { return Err(MachineFault::NoZone) };
    if zones.len() > ZONES_MAX {
        return Err(MachineFault::TooManyZones);
    }
    if last.id > 63 {
        return Err(MachineFault::ZoneIdTooLarge);
    }
    if zones.windows(2).any(|pair| pair[0].id == pair[1].id) {
        return Err(MachineFault::ZoneTwice);
    }
    Ok(())
}

fn check_options(facts: &MachineFacts, processors: &Processors) -> Result<(), MachineFault> {
    let Some(options) = facts.cpu_manager else { return Ok(()) };
    let across_cores = options.is_distributed_across_cores;
    let across_zones = options.is_distributed_across_zones;
    let by_socket = options.is_aligned_by_socket;
    let contradict = (across_cores && (options.is_full_cores_only || across_zones))
        || (options.prefers_one_cache && (across_cores || across_zones))
        || (by_socket && facts.policy == TopologyPolicy::SingleNumaNode)
        || (by_socket && processors.sockets.len() > processors.with_cpus.count());
    if contradict { Err(MachineFault::CpuOptionsContradict) } else { Ok(()) }
}

/// Distances by place. The kubelet finds the distance to a zone by its id in a list that has no
/// gaps, so where ids have gaps it finds another one, or none and stops.
fn distances(zones: &[&ZoneFacts]) -> Result<Box<[u32]>, MachineFault> {
    let find = |from: &ZoneFacts, to: &ZoneFacts| from.distances.get(to.id as usize).copied();
    let row = |from| zones.iter().map(move |to| find(from, to));
    let all: Option<Box<[u32]>> = zones.iter().flat_map(|from| row(from)).collect();
    all.ok_or(MachineFault::DistanceMissing)
}
