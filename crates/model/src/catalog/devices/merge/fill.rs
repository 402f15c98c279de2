//! What is said of each device, from the best source that says it.

use super::list::{Listed, Source};
use super::{Doubts, Wanted};
use crate::device::{
    Device, PciAddress, Product, Sharing, SliceDevice, product_by_name, product_by_pci,
};
use crate::hardware::{AllGpus, Gpu, GpuLink};
use crate::map::Map;

/// The devices, and how they reach each other.
pub(super) fn fill(
    listed: &Listed<'_>,
    all: &AllGpus,
    wanted: &Wanted<'_>,
    doubts: &mut Doubts,
) -> (Box<[Device]>, Option<GpuLink>) {
    let sources = &listed.sources;
    let names = Names::new(sources);
    let mut domains = Domains::default();
    // What is said of all devices cannot be true of each where they differ.
    let none = AllGpus::default();
    let all = if are_alike(sources) { all } else { &none };
    let mut products: Vec<Option<&'static Product>> = Vec::with_capacity(sources.len());
    let mut devices: Vec<Device> = Vec::with_capacity(sources.len());
    for (number, source) in sources.iter().enumerate() {
        let (slice, gpu) = (source.slice.map(|(_, device)| device), source.gpu);
        let model = model(source, all, doubts);
        let product = match &model {
            Some(model) => product_by_name(model),
            None => gpu.and_then(|gpu| product_by_pci(gpu.vendor?, gpu.device?)),
        };
        let memory = memory(source, all, wanted, doubts);
        // A part of a GPU has a part of its memory.
        let whole = product.filter(|_| all.partition.is_none());
        products.push(product);
        devices.push(Device {
            name: slice.map(|device| device.name.clone()).unwrap_or_default(),
            zones: zones(number, source, doubts),
            root: names.root(slice, gpu),
            switch: names.switch(slice, gpu),
            nvlink_domain: domains.of(&names, slice, gpu),
            nvlink_peers: 0,
            memory: memory.or_else(|| whole.map(|product| product.memory_mib << 20)),
            model,
            partition: all.partition.clone(),
            is_healthy: slice.is_none_or(|device| !device.is_tainted),
        });
    }
    peers(sources, &mut devices, &names, doubts);
    let first = products.first().copied().flatten();
    let is_one = |product: &Option<&Product>| product.is_some() && *product == first;
    let link = all.link.or_else(|| first.filter(|_| products.iter().all(is_one))?.link);
    (devices.into(), link)
}

/// Of what slices speak: then they alone are asked for all devices, since every source has names of
/// its own.
struct Names {
    of_roots: bool,
    of_switches: bool,
    of_domains: bool,
    of_peers: bool,
}

impl Names {
    fn new(sources: &[Source<'_>]) -> Self {
        let says = |what: fn(&SliceDevice) -> bool| {
            sources.iter().any(|source| source.slice.is_some_and(|(_, device)| what(device)))
        };
        Self {
            of_roots: says(|device| device.root.is_some()),
            of_switches: says(|device| device.switch.is_some()),
            of_domains: says(|device| device.nvlink_domain.is_some()),
            of_peers: says(|device| !device.nvlink_peers.is_empty()),
        }
    }

    fn root(&self, slice: Option<&SliceDevice>, gpu: Option<&Gpu>) -> Option<Box<str>> {
        if self.of_roots { slice?.root.clone() } else { gpu?.root.clone() }
    }

    fn switch(&self, slice: Option<&SliceDevice>, gpu: Option<&Gpu>) -> Option<Box<str>> {
        if self.of_switches { slice?.switch.clone() } else { gpu?.switch.clone() }
    }
}

/// Numbers of NVLink domains that have names, in the order in which they are met.
#[derive(Default)]
struct Domains<'a>(Map<&'a str, u32>);

impl<'a> Domains<'a> {
    fn of(
        &mut self,
        names: &Names,
        slice: Option<&'a SliceDevice>,
        gpu: Option<&Gpu>,
    ) -> Option<u32> {
        if !names.of_domains {
            return gpu?.nvlink_domain;
        }
        let next = u32::try_from(self.0.len()).ok()?;
        Some(*self.0.entry(slice?.nvlink_domain.as_deref()?).or_insert(next))
    }
}

/// Whether nobody says that devices differ.
fn are_alike(sources: &[Source<'_>]) -> bool {
    sources.windows(2).all(|pair| {
        let [one, other] = [&pair[0], &pair[1]];
        let is_same_slice = match (one.slice, other.slice) {
            (Some((_, one)), Some((_, other))) => {
                (&one.model, one.memory) == (&other.model, other.memory)
            }
            _ => true,
        };
        let is_same_gpu = match (one.gpu, other.gpu) {
            (Some(one), Some(other)) => (&one.model, one.memory) == (&other.model, other.memory),
            _ => true,
        };
        is_same_slice && is_same_gpu
    })
}

fn model(source: &Source<'_>, all: &AllGpus, doubts: &mut Doubts) -> Option<Box<str>> {
    let slice = source.slice.and_then(|(_, device)| device.model.as_deref());
    let gpu = source.gpu.and_then(|gpu| gpu.model.as_deref());
    let said = [
        ("the model in ResourceSlices", slice),
        ("nvidia.com/gpu.product", all.model.as_deref()),
        ("the model in gpu.kubenexus.io/devices", gpu),
    ];
    let mut said = said.into_iter().filter_map(|(key, model)| Some((key, model?)));
    let (best, model) = said.next()?;
    for (key, other) in said {
        // Labels have no blanks.
        let is_same = other.bytes().map(unblank).eq(model.bytes().map(unblank));
        if !is_same {
            doubts.add(key, other, format!("{model:?}, as {best} says"));
        }
    }
    Some(model.into())
}

fn unblank(letter: u8) -> u8 {
    if letter == b' ' { b'-' } else { letter }
}

/// The smallest amount that anybody says.
fn memory(
    source: &Source<'_>,
    all: &AllGpus,
    wanted: &Wanted<'_>,
    doubts: &mut Doubts,
) -> Option<u64> {
    let slice = source.slice.and_then(|(_, device)| device.memory);
    let gpu = source.gpu.and_then(|gpu| gpu.memory);
    // What discovery says of GPUs that are shared may be said of a share.
    let is_whole = wanted.sharing == Sharing::Exclusive || (slice.is_none() && gpu.is_none());
    let said = [
        ("memory in ResourceSlices", slice),
        ("nvidia.com/gpu.memory", all.memory.filter(|_| is_whole)),
        ("vram in gpu.kubenexus.io/devices", gpu),
    ];
    let said: Vec<_> = said.into_iter().filter_map(|(key, bytes)| Some((key, bytes?))).collect();
    let (best, least) = *said.iter().min_by_key(|(_, bytes)| *bytes)?;
    for (key, bytes) in said {
        // Labels have whole MiB.
        if bytes >> 20 != least >> 20 {
            let expected = format!("{} MiB, as {best} says", least >> 20);
            doubts.add(key, format!("{} MiB", bytes >> 20), expected);
        }
    }
    Some(least)
}

fn zones(number: usize, source: &Source<'_>, doubts: &mut Doubts) -> Option<Box<[u32]>> {
    let slice = source.slice.map_or(&[][..], |(_, device)| &device.zones);
    let own = source.gpu.and_then(|gpu| gpu.zone);
    if slice.is_empty() {
        return own.map(|zone| [zone].into());
    }
    if let Some(zone) = own.filter(|zone| !slice.contains(zone)) {
        let key = format!("the zone of GPU {number} in gpu.kubenexus.io");
        doubts.add(key, zone.to_string(), format!("one of {slice:?}, as ResourceSlices say"));
    }
    Some(slice.into())
}

/// Who reaches whom over NVLink.
fn peers(sources: &[Source<'_>], devices: &mut [Device], names: &Names, doubts: &mut Doubts) {
    if !names.of_peers {
        for (number, source) in sources.iter().enumerate() {
            let peers = source.gpu.map_or(&[][..], |gpu| &gpu.nvlink_peers);
            let peers = peers.iter().filter(|peer| (**peer as usize) < sources.len());
            devices[number].nvlink_peers = peers.fold(0, |peers, peer| peers | 1 << peer);
        }
        return;
    }
    let mut numbers: Map<String, usize> = Map::default();
    for (number, source) in sources.iter().enumerate() {
        let Some((_, device)) = source.slice else { continue };
        let uuid = device.uuid.as_deref().map(Into::into);
        let bus = device.bus.map(|bus| bus.to_string());
        let words = [Some(device.name.to_string()), uuid, bus, Some(number.to_string())];
        for word in words.into_iter().flatten() {
            numbers.entry(word).or_insert(number);
        }
    }
    for (number, source) in sources.iter().enumerate() {
        let Some((_, device)) = source.slice else { continue };
        for peer in &device.nvlink_peers {
            let address = PciAddress::parse(peer).map(|bus| bus.to_string());
            match numbers.get(&**peer).or_else(|| numbers.get(&address?)) {
                Some(peer) => devices[number].nvlink_peers |= 1 << peer,
                None => doubts.add(
                    format!("nvlink-peers of {} in ResourceSlices", device.name),
                    peer.clone(),
                    "a device of the node by name, uuid, address or number".into(),
                ),
            }
        }
    }
}
