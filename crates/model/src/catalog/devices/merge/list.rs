//! Which devices there are, and what each source calls the same one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::super::super::slices::{NodePool, Slices};
use super::{Doubts, GPUS, Told, Wanted};
use crate::device::SliceDevice;
use crate::hardware::{AllGpus, Gpu};
use crate::topology::DEVICES_MAX;

/// The devices of a resource, in the order of their numbers.
pub(super) struct Listed<'a> {
    pub(super) sources: Vec<Source<'a>>,
    /// Whether slices tell of them, and whether lists or labels of our own domain do.
    pub(super) has_slices: bool,
    pub(super) has_own_list: bool,
    /// Whether numbers are those of the node's agent, or it numbers none.
    pub(super) is_numbered: bool,
    pools: &'a [NodePool<'a>],
}

/// Who tells of a device.
#[derive(Clone, Copy, Default)]
pub(super) struct Source<'a> {
    /// With the place of its pool.
    pub(super) slice: Option<(usize, &'a SliceDevice)>,
    pub(super) gpu: Option<&'a Gpu>,
}

impl Listed<'_> {
    /// Devices that are allocated to claims.
    pub(super) fn claimed(&self, slices: &Slices) -> u128 {
        if slices.are_unclaimed() {
            return 0;
        }
        let numbered = self.sources.iter().enumerate();
        numbered.fold(0, |claimed, (number, source)| match source.slice {
            Some((pool, device)) if slices.is_claimed(&self.pools[pool], &device.name) => {
                claimed | 1 << number
            }
            Some(_) | None => claimed,
        })
    }
}

/// The devices of a resource; nothing if nobody tells of as many as the node offers.
pub(super) fn list<'a>(
    told: &Told<'a>,
    pools: &'a [NodePool<'a>],
    all: &AllGpus,
    wanted: &Wanted<'_>,
    doubts: &mut Doubts,
) -> Option<Listed<'a>> {
    let own = own(told, wanted.name);
    let listed = |sources, has_slices, is_numbered| {
        let has_own_list = !own.is_empty() && is_numbered;
        Listed { sources, has_slices, has_own_list, is_numbered, pools }
    };
    if let Some(mut devices) = described(told, pools, wanted, doubts) {
        put_in_order(&mut devices);
        let (sources, is_numbered) = paired(&devices, &own, doubts);
        return Some(listed(sources, true, is_numbered));
    }
    if !own.is_empty() && are_numbered(&own) && wanted.count == Some(own.len()) {
        let sources = own.iter().map(|gpu| Source { gpu: Some(*gpu), slice: None });
        return Some(listed(sources.collect(), false, true));
    }
    let is_known = all.model.is_some() || all.memory.is_some();
    let count = wanted.count.filter(|count| is_known && *count <= DEVICES_MAX)?;
    let is_told = all.count.is_none_or(|told| told as usize == count);
    let is_theirs = wanted.name == GPUS[0].1;
    (is_told && is_theirs).then(|| listed(vec![Source::default(); count], false, false))
}

/// GPUs of a resource in lists and labels of our own domain, by index.
fn own<'a>(told: &Told<'a>, name: &str) -> Vec<&'a Gpu> {
    let gpus = told.hardware.map_or(&[][..], |hardware| &hardware.gpus);
    let Some(at) = GPUS.iter().position(|(_, of)| *of == name) else { return Vec::new() };
    let is_it = |gpu: &&Gpu| gpu.vendor.map_or(at == 0, |vendor| vendor == GPUS[at].0);
    gpus.iter().filter(is_it).collect()
}

/// Whether their places are their indices, by which reports name them.
fn are_numbered(own: &[&Gpu]) -> bool {
    own.iter().enumerate().all(|(at, gpu)| gpu.index as usize == at)
}

/// The devices that slices tell of, each with the place of its pool, if they describe the resource.
fn described<'a>(
    told: &Told<'_>,
    pools: &'a [NodePool<'a>],
    wanted: &Wanted<'_>,
    doubts: &mut Doubts,
) -> Option<Vec<(usize, &'a SliceDevice)>> {
    let mut devices: Vec<(usize, &SliceDevice)> = Vec::new();
    let (mut is_whole, mut first) = (true, None);
    for (at, pool) in pools.iter().enumerate() {
        if told.slices.resource(pool.driver) != Some(wanted.name) {
            continue;
        }
        first = first.or(Some(pool));
        if let Some((found, expected)) = fault(pool) {
            doubts.add(key(pool), found, expected);
            is_whole = false;
        }
        let of_pool = pool.slices.iter().flat_map(|slice| &*slice.devices);
        devices.extend(of_pool.map(|device| (at, device)));
    }
    let pool = first.filter(|_| is_whole)?;
    let healthy = devices.iter().filter(|(_, device)| !device.is_tainted).count();
    if Some(healthy) == wanted.count && devices.len() <= DEVICES_MAX {
        return Some(devices);
    }
    let expected = match wanted.count {
        Some(count) if count <= DEVICES_MAX => {
            format!("{count} healthy ones, as the node offers of {}", wanted.name)
        }
        Some(_) => format!("at most {DEVICES_MAX}"),
        None => format!("a divisor of what the node offers of {}", wanted.name),
    };
    doubts.add(key(pool), format!("{} devices, {healthy} healthy", devices.len()), expected);
    None
}

/// What keeps a pool from being counted: what was found, and what was expected.
fn fault(pool: &NodePool<'_>) -> Option<(String, String)> {
    let (found, count) = (pool.slices.len(), pool.slice_count());
    let names = pool.slices.iter().flat_map(|slice| &*slice.devices).map(|device| &*device.name);
    let mut seen = BTreeSet::new();
    if pool.is_spread {
        Some(("slices of several nodes".into(), "those of one".into()))
    } else if found != count {
        Some((format!("{found} slices of the newest generation"), count.to_string()))
    } else {
        let mut twice = names.filter(|name| !seen.insert(*name));
        twice.next().map(|name| (format!("two devices {name}"), "every name once".into()))
    }
}

fn key(pool: &NodePool<'_>) -> String {
    format!("the pool {} of {} in ResourceSlices", pool.pool, pool.driver)
}

/// By where they are on the PCI bus, which is how NVIDIA's library numbers them; by pool and name
/// if that is not told of all.
fn put_in_order(devices: &mut [(usize, &SliceDevice)]) {
    if devices.iter().all(|(_, device)| device.bus.is_some()) {
        devices.sort_by_key(|(pool, device)| (device.bus, *pool));
    } else {
        devices.sort_by(|(pool, device), (other, to)| {
            pool.cmp(other).then_with(|| by_number(&device.name, &to.name))
        });
    }
}

/// Names that end in numbers in the order of these, `gpu-2` before `gpu-10`.
fn by_number(name: &str, other: &str) -> Ordering {
    fn parts(name: &str) -> (&str, Option<u64>) {
        let front = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        (front, name[front.len()..].parse().ok())
    }
    parts(name).cmp(&parts(other)).then_with(|| name.cmp(other))
}

/// What the lists of our own domain call the devices of slices, and whether that gives all of them
/// their numbers.
fn paired<'a>(
    devices: &[(usize, &'a SliceDevice)],
    own: &[&'a Gpu],
    doubts: &mut Doubts,
) -> (Vec<Source<'a>>, bool) {
    let alone = devices.iter().map(|device| Source { slice: Some(*device), gpu: None });
    if own.is_empty() {
        return (alone.collect(), true);
    }
    if are_numbered(own) && own.len() == devices.len() {
        if own.iter().all(|gpu| gpu.bus.is_none() && gpu.uuid.is_none()) {
            let both = alone.zip(own);
            return (
                both.map(|(source, gpu)| Source { gpu: Some(*gpu), ..source }).collect(),
                true,
            );
        }
        if let Some(sources) = same(devices, own) {
            return (sources, true);
        }
    }
    let expected = format!("the {} of ResourceSlices", devices.len());
    doubts.add("the list of gpu.kubenexus.io", format!("{} GPUs", own.len()), expected);
    (alone.collect(), false)
}

/// Every device of slices with the GPU of a list that has its address or its uuid, in the order of
/// the list; nothing if one has none.
fn same<'a>(devices: &[(usize, &'a SliceDevice)], own: &[&'a Gpu]) -> Option<Vec<Source<'a>>> {
    let numbered = || own.iter().enumerate();
    let by_bus: BTreeMap<_, usize> =
        numbered().filter_map(|(at, gpu)| Some((gpu.bus?, at))).collect();
    let by_uuid: BTreeMap<&str, usize> =
        numbered().filter_map(|(at, gpu)| Some((gpu.uuid.as_deref()?, at))).collect();
    let mut sources = vec![Source::default(); own.len()];
    for (pool, device) in devices {
        let bus = device.bus.and_then(|bus| by_bus.get(&bus));
        let at = bus.or_else(|| by_uuid.get(device.uuid.as_deref()?))?;
        if sources[*at].slice.is_some() {
            return None;
        }
        sources[*at] = Source { slice: Some((*pool, device)), gpu: Some(own[*at]) };
    }
    Some(sources)
}
