//! How the GPUs of a node are laid out: which of them are near each other, and by what.

use super::ask::GpuAsk;
use super::sets::Picks;
use crate::device::{Device, ResourceDevices, Sharing};
use crate::hardware::GpuLink;
use crate::ids::ResourceId;
use crate::topology::DEVICES_MAX;

/// A model of GPUs, by its number in the catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuModel(pub u16);

/// GPUs of a node that are offered as one resource. Nodes that are alike share one.
///
/// Sets of GPUs are bits, bit 0 being the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GpuLayout {
    /// The resource.
    pub resource: ResourceId,
    /// The model of the first; none if nobody tells.
    pub model: Option<GpuModel>,
    /// Whether they share one, and how often each is offered.
    pub sharing: Sharing,
    /// How they reach each other, at best.
    pub link: Option<GpuLink>,
    /// Memory of each in bytes; 0 where nobody tells.
    memory: Box<[u64]>,
    /// Those that may be given to anybody.
    healthy: u128,
    /// Those of one model; one set if they are alike.
    models: Box<[u128]>,
    /// Those that all reach each other over NVLink.
    domains: Box<[u128]>,
    /// Which each reaches over NVLink.
    peers: Box<[u128]>,
    /// Those below one PCIe switch or root.
    buses: Box<[u128]>,
    /// Those near one NUMA zone.
    zones: Box<[u128]>,
    /// What is lost or kept as a whole: NVLink domains, else PCIe roots, else all. Every GPU is in
    /// one of them.
    islands: Box<[u128]>,
    /// GPUs that have a device of another resource at their PCIe root.
    beside: Box<[(ResourceId, u128)]>,
    pub(super) picks: Picks,
}

impl GpuLayout {
    /// GPUs of which nothing is told but how many there are.
    pub(crate) fn unknown(resource: ResourceId, count: usize) -> Option<Self> {
        (1..=DEVICES_MAX).contains(&count).then(|| {
            let devices = vec![Device { is_healthy: true, ..Device::default() }; count];
            Self::of_devices(resource, &devices, (Sharing::Exclusive, None), None, Box::default())
        })
    }

    /// GPUs as all sources together tell of them; `others` are the other devices of the node.
    pub(crate) fn new(
        of: &ResourceDevices,
        model: Option<GpuModel>,
        others: &[ResourceDevices],
    ) -> Option<Self> {
        let beside = others.iter().filter(|other| other.resource != of.resource);
        let beside = beside.map(|other| (other.resource, beside_of(&of.devices, &other.devices)));
        let beside = beside.filter(|(_, gpus)| *gpus != 0).collect();
        (1..=DEVICES_MAX).contains(&of.devices.len()).then(|| {
            Self::of_devices(of.resource, &of.devices, (of.sharing, of.link), model, beside)
        })
    }

    fn of_devices(
        resource: ResourceId,
        devices: &[Device],
        (sharing, link): (Sharing, Option<GpuLink>),
        model: Option<GpuModel>,
        beside: Box<[(ResourceId, u128)]>,
    ) -> Self {
        let all = all(devices.len());
        let is_switched = link == Some(GpuLink::NvSwitch);
        let mut domains = sets(devices, |device| device.nvlink_domain.map(|it| vec![it]));
        let peers: Box<[u128]> = match devices.iter().all(|device| device.nvlink_peers == 0) {
            // Nobody tells who reaches whom, and all can: they are connected in some way.
            true if domains.is_empty() && link == Some(GpuLink::NvLink) => {
                (0..devices.len()).map(|at| all & !(1 << at)).collect()
            }
            _ => devices.iter().map(|device| device.nvlink_peers & all).collect(),
        };
        if domains.is_empty() && is_switched {
            domains = Box::new([all]);
        }
        let switches = sets(devices, |device| device.switch.as_ref().map(|it| vec![&**it]));
        let roots = sets(devices, |device| device.root.as_ref().map(|it| vec![&**it]));
        let buses: Box<[u128]> = switches.iter().chain(&roots).copied().collect();
        let islands = islands(all, &domains, &peers, &roots);
        Self {
            resource,
            model,
            sharing,
            link,
            memory: devices.iter().map(|device| device.memory.unwrap_or(0)).collect(),
            healthy: bits(devices, |device| device.is_healthy),
            models: by_model(devices),
            domains,
            peers,
            buses,
            zones: sets(devices, |device| device.zones.as_ref().map(|zones| zones.to_vec())),
            islands,
            beside,
            picks: Picks::default(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.memory.len()
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> u128 {
        all(self.count())
    }

    /// Those that may be given to anybody.
    #[must_use]
    pub fn healthy(&self) -> u128 {
        self.healthy
    }

    /// The memory of one in bytes; 0 if nobody tells.
    #[must_use]
    pub fn memory(&self, at: usize) -> u64 {
        self.memory[at]
    }

    /// Those with at least so many bytes of memory.
    #[must_use]
    pub fn with_memory(&self, bytes: u64) -> u128 {
        let has = |(at, memory): (usize, &u64)| u128::from(*memory >= bytes) << at;
        self.memory.iter().enumerate().map(has).fold(0, |all, one| all | one)
    }

    /// Whether nobody tells how much memory any of them has.
    #[must_use]
    pub fn is_memory_unknown(&self) -> bool {
        self.memory.iter().all(|memory| *memory == 0)
    }

    /// Sets of one model each.
    #[must_use]
    pub fn models(&self) -> &[u128] {
        &self.models
    }

    /// Islands: sets that are worth more whole.
    #[must_use]
    pub fn islands(&self) -> &[u128] {
        &self.islands
    }

    /// Sets below one PCIe switch or root.
    pub(super) fn buses(&self) -> &[u128] {
        &self.buses
    }

    /// Sets near one NUMA zone.
    pub(super) fn zones(&self) -> &[u128] {
        &self.zones
    }

    /// Sets that all reach each other over NVLink.
    pub(super) fn domains(&self) -> &[u128] {
        &self.domains
    }

    /// Those that some of a set reach over NVLink.
    pub(super) fn peers_of(&self, set: u128) -> u128 {
        places(set).fold(0, |peers, at| peers | self.peers[at])
    }

    /// Those that have all other devices that a pod asks for at their PCIe root, as far as anybody
    /// tells where these are; none if nobody does.
    #[must_use]
    pub fn favoured(&self, ask: &GpuAsk) -> u128 {
        let beside = self.beside.iter().filter(|(of, _)| ask.others.contains(of));
        beside.map(|(_, gpus)| *gpus).reduce(|all, one| all & one).unwrap_or(0)
    }

    /// Whether it is told by what GPUs are near each other.
    #[must_use]
    pub fn is_told(&self) -> bool {
        let sets = [&self.domains, &self.buses, &self.zones];
        sets.iter().any(|sets| !sets.is_empty()) || self.peers.iter().any(|peers| *peers != 0)
    }
}

/// The first so many.
pub(super) fn all(count: usize) -> u128 {
    if count >= 128 { u128::MAX } else { (1 << count) - 1 }
}

/// The places of the bits of a set, lowest first.
pub(crate) fn places(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(at)
    })
}

fn bits(devices: &[Device], is_in: impl Fn(&Device) -> bool) -> u128 {
    let bit = |(at, device): (usize, &Device)| u128::from(is_in(device)) << at;
    devices.iter().enumerate().map(bit).fold(0, |all, one| all | one)
}

/// Sets of devices that have a word in common, of two or more devices each, in the order of the
/// words.
fn sets<'a, W: Ord>(
    devices: &'a [Device],
    words: impl Fn(&'a Device) -> Option<Vec<W>>,
) -> Box<[u128]> {
    let mut found: std::collections::BTreeMap<W, u128> = std::collections::BTreeMap::new();
    for (at, device) in devices.iter().enumerate() {
        for word in words(device).into_iter().flatten() {
            *found.entry(word).or_default() |= 1 << at;
        }
    }
    found.into_values().filter(|set| set.count_ones() > 1).collect()
}

fn by_model(devices: &[Device]) -> Box<[u128]> {
    let mut found: Vec<(Option<&str>, u128)> = Vec::new();
    for (at, device) in devices.iter().enumerate() {
        let model = device.model.as_deref();
        match found.iter_mut().find(|(other, _)| *other == model) {
            Some((_, set)) => *set |= 1 << at,
            None => found.push((model, 1 << at)),
        }
    }
    found.into_iter().map(|(_, set)| set).collect()
}

/// GPUs at whose PCIe root there is one of the other devices.
fn beside_of(gpus: &[Device], others: &[Device]) -> u128 {
    let has = |root: &str| others.iter().any(|other| other.root.as_deref() == Some(root));
    bits(gpus, |gpu| gpu.root.as_deref().is_some_and(has))
}

/// What is kept whole: what NVLink connects, else what a PCIe root does, else everything.
fn islands(all: u128, domains: &[u128], peers: &[u128], roots: &[u128]) -> Box<[u128]> {
    let mut connected: Vec<u128> = domains.to_vec();
    if connected.is_empty() {
        let mut left = all;
        while left != 0 {
            let mut set = left & left.wrapping_neg();
            loop {
                let wider = set | places(set).fold(0, |near, at| near | peers[at]);
                if wider == set {
                    break;
                }
                set = wider;
            }
            left &= !set;
            if set.count_ones() > 1 {
                connected.push(set);
            }
        }
    }
    let of = if connected.is_empty() { roots } else { &connected };
    let mut islands: Vec<u128> = Vec::new();
    let mut left = all;
    for set in of.iter().map(|set| set & all) {
        if set & left != 0 {
            islands.push(set & left);
            left &= !set;
        }
    }
    match islands.is_empty() {
        true => islands.push(all),
        // What is connected to nothing is an island of its own.
        false => islands.extend(places(left).map(|at| 1 << at)),
    }
    islands.into()
}
