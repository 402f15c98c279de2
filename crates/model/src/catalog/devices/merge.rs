//! Puts together what is told of the devices of a node.

mod fill;
mod list;

use super::super::nodes::Offer;
use super::super::slices::Slices;
use crate::device::{NodeDevices, ResourceDevices, Sharing};
use crate::hardware::{AllGpus, HardwareFacts, SharedGpus, Unread};
use crate::ids::ResourceId;
use crate::resources::Resources;
use fill::fill;
use list::{Listed, list};

/// Resources of GPUs, by the PCI ids of their vendors; the first is that of GPUs whose vendor is
/// not told.
const GPUS: [(u16, &str); 2] = [(0x10de, "nvidia.com/gpu"), (0x1002, "amd.com/gpu")];
/// How resources begin that are parts of GPUs, and how those end that are shared under a name of
/// their own.
const PARTS: &str = "nvidia.com/mig-";
const SHARED: &str = ".shared";
/// How many contradictions of a node are kept.
const UNREAD_MAX: usize = 16;

/// Everything that is told of a node.
pub(super) struct Told<'a> {
    pub(super) node: &'a str,
    pub(super) hardware: Option<&'a HardwareFacts>,
    pub(super) offer: &'a Offer,
    pub(super) names: &'a Resources,
    pub(super) slices: &'a Slices,
}

/// What is made of it.
pub(super) struct Merged {
    pub(super) devices: NodeDevices,
    pub(super) claimed: Box<[(ResourceId, u128)]>,
    pub(super) unread: Box<[Unread]>,
}

/// What contradicts something else.
#[derive(Default)]
struct Doubts(Vec<Unread>);

impl Doubts {
    fn add(&mut self, key: impl Into<Box<str>>, value: impl Into<Box<str>>, expected: String) {
        let (key, value) = (key.into(), value.into());
        let unread = Unread { key, value, expected: expected.into() };
        if self.0.len() < UNREAD_MAX && !self.0.contains(&unread) {
            self.0.push(unread);
        }
    }
}

/// A resource of a node whose devices are looked for.
struct Wanted<'a> {
    id: ResourceId,
    /// The resource whose devices they are; shared ones may be offered under another name.
    name: &'a str,
    /// How many devices there should be; nothing if the node offers no whole number of them.
    count: Option<usize>,
    sharing: Sharing,
}

/// The devices of a node; nothing if nothing is told of any.
pub(super) fn merged(told: &Told<'_>) -> Option<Merged> {
    let mut doubts = Doubts::default();
    let pools = told.slices.pools(told.node).unwrap_or_else(|count| {
        doubts.add("ResourceSlices of the node", count.to_string(), "at most 64".into());
        Vec::new()
    });
    if pools.is_empty() && told.hardware.is_none() && doubts.0.is_empty() {
        return None;
    }
    for slice in pools.iter().flat_map(|pool| &pool.slices) {
        let unread = slice.unread.iter().cloned();
        doubts.0.extend(unread.take(UNREAD_MAX.saturating_sub(doubts.0.len())));
    }
    let none = AllGpus::default();
    let all = told.hardware.map_or(&none, |hardware| &hardware.all_gpus);
    let (mut resources, mut claimed) = (Vec::new(), Vec::new());
    for (id, amount) in &told.offer.amounts.scalars {
        let Some(wanted) = wanted(told, all, *id, *amount) else { continue };
        if let Some(profile) = wanted.name.strip_prefix(PARTS) {
            resources.extend(parts(all, profile, &wanted));
            continue;
        }
        let Some(listed) = list(told, &pools, all, &wanted, &mut doubts) else { continue };
        let taken = listed.claimed(told.slices);
        if taken != 0 {
            claimed.push((*id, taken));
        }
        resources.push(made(&listed, all, &wanted, &mut doubts));
    }
    if resources.is_empty() && doubts.0.is_empty() {
        return None;
    }
    resources.sort_unstable_by_key(|of| of.resource);
    let devices = NodeDevices { resources: resources.into() };
    Some(Merged { devices, claimed: claimed.into(), unread: doubts.0.into() })
}

/// What is looked for under a resource of a node, if it is one of devices that are told of.
fn wanted<'a>(told: &Told<'a>, all: &AllGpus, id: ResourceId, amount: i64) -> Option<Wanted<'a>> {
    let name = told.names.name(id)?;
    let base = name.strip_suffix(SHARED).unwrap_or(name);
    let is_of_gpus = GPUS.iter().any(|(_, gpus)| *gpus == base);
    if !is_of_gpus && !base.starts_with(PARTS) && !told.slices.tells_of(base) {
        return None;
    }
    let sharing = all.shared.iter().find(|shared| *shared.resource == *base);
    let sharing = sharing.map_or(Sharing::Exclusive, |SharedGpus { replicas, is_mps, .. }| {
        if *is_mps { Sharing::Mps(*replicas) } else { Sharing::TimeSlicing(*replicas) }
    });
    // A name of its own is only used for devices that are shared.
    if name != base && sharing == Sharing::Exclusive {
        return None;
    }
    let amount = usize::try_from(amount).ok().filter(|amount| *amount > 0)?;
    let replicas = sharing.replicas() as usize;
    let count = amount.is_multiple_of(replicas).then_some(amount / replicas);
    Some(Wanted { id, name: base, count, sharing })
}

/// Parts of GPUs that are offered by their profile: they are all alike.
fn parts(all: &AllGpus, profile: &str, wanted: &Wanted<'_>) -> Option<ResourceDevices> {
    let told = all.parts.iter().find(|part| *part.profile == *profile)?;
    let count = wanted.count.filter(|count| *count <= crate::topology::DEVICES_MAX)?;
    let device = crate::device::Device {
        memory: told.memory,
        model: told.model.clone(),
        partition: Some(profile.into()),
        is_healthy: true,
        ..Default::default()
    };
    Some(ResourceDevices {
        resource: wanted.id,
        devices: vec![device; count].into(),
        sharing: wanted.sharing,
        link: None,
        is_foreseen: false,
    })
}

/// The devices of a resource.
fn made(
    listed: &Listed<'_>,
    all: &AllGpus,
    wanted: &Wanted<'_>,
    doubts: &mut Doubts,
) -> ResourceDevices {
    // What is said of all GPUs is said by NVIDIA's discovery.
    let none = AllGpus::default();
    let all = if wanted.name == GPUS[0].1 { all } else { &none };
    let (devices, link) = fill(listed, all, wanted, doubts);
    let is_told = devices.iter().all(|device| device.zones.is_some());
    let is_foreseen = listed.is_numbered
        && wanted.sharing == Sharing::Exclusive
        && (listed.has_own_list || is_told && listed.has_slices);
    let (resource, sharing) = (wanted.id, wanted.sharing);
    ResourceDevices { resource, devices, sharing, link, is_foreseen }
}
