//! GPUs in `gpu.kubenexus.io/...`, and what NVIDIA's GPU feature discovery says of all of them.

use std::collections::{BTreeMap, BTreeSet};

use model::device::PciAddress;
use model::hardware::{AllGpus, Gpu, GpuLink, GpuPart, HardwareFacts, SharedGpus, ZONE_ID_MAX};
use serde::Deserialize;

use super::zones::zone_id;
use super::{Reader, small};

const PREFIX: &str = "gpu.kubenexus.io/";
const DEVICES: &str = "gpu.kubenexus.io/devices";
const CLIQUE: &str = "gpu.kubenexus.io/clique";
const GFD_CLIQUE: &str = "nvidia.com/gpu.clique";
const GFD_PRODUCT: &str = "nvidia.com/gpu.product";
const GFD_MEMORY: &str = "nvidia.com/gpu.memory";
const GFD_COUNT: &str = "nvidia.com/gpu.count";
const MIG_STRATEGY: &str = "nvidia.com/mig.strategy";
const SHARING: &str = "nvidia.com/gpu.sharing-strategy";
const NVIDIA: &str = "nvidia.com/";
const TOPOLOGY: &str = "nvidia.com/gpu.topology";
/// Labels that say that GPUs have NVLink.
const NVLINK: [&str; 2] = ["nvidia.com/nvlink", "topology.nvidia.com/nvlink"];
/// How many GPUs a node may have.
const GPUS_MAX: u32 = 128;
/// How often a GPU may be offered, and how many kinds of parts are read.
const REPLICAS_MAX: u64 = 4_096;
const PARTS_MAX: usize = 32;
/// More MiB than any GPU has.
const MEMORY_MIB_MAX: u64 = 1 << 24;

/// An entry of the list that the agent writes. Other fields of it are for people.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    index: u32,
    vendor: Option<String>,
    device: Option<String>,
    numa_node: Option<u32>,
    pcie_root: Option<Box<str>>,
    pcie_switch: Option<Box<str>>,
    model: Option<Box<str>>,
    vram: Option<u64>,
    nvlink_domain: Option<u32>,
    #[serde(default)]
    nvlink_peers: Vec<u32>,
    pcie_bus_id: Option<Box<str>>,
    uuid: Option<Box<str>>,
}

pub(super) fn read(reader: &mut Reader<'_>, facts: &mut HardwareFacts) {
    let mut gpus = listed(reader);
    let mut labelled: BTreeMap<u32, u32> = BTreeMap::new();
    // The first spelling counts where both are there.
    for is_first in [true, false] {
        for (key, name, value) in reader.all(PREFIX) {
            let number = match is_first {
                true => name.strip_prefix("gpu").and_then(|name| name.strip_suffix("-numa")),
                false => name.strip_prefix("numa-node-"),
            };
            let Some(number) = number else { continue };
            let index = small(number).filter(|index| *index < GPUS_MAX);
            let expected = "the number of a GPU from 0 to 127 in the key";
            let Some(index) = reader.check((key, value), index, expected) else { continue };
            let zone = zone_id(value);
            let expected = "the number of a zone from 0 to 63";
            let Some(zone) = reader.check((key, value), zone, expected) else { continue };
            let known = gpus.get(&index).and_then(|gpu| gpu.zone);
            match known.or_else(|| labelled.get(&index).copied()) {
                Some(known) if known != zone => {
                    reader.reject(key, value, &format!("{known}, as another source says"));
                }
                Some(_) => {}
                None => _ = labelled.insert(index, zone),
            }
        }
    }
    for (index, zone) in labelled {
        let gpu = gpus.entry(index).or_insert_with(|| Gpu { index, ..Gpu::default() });
        gpu.zone = Some(zone);
    }
    facts.gpus = gpus.into_values().collect();
    of_all(reader, facts);
}

/// The list that the agent writes.
fn listed(reader: &mut Reader<'_>) -> BTreeMap<u32, Gpu> {
    let Some(value) = reader.get(DEVICES) else { return BTreeMap::new() };
    let entries: Option<Vec<Entry>> = serde_json::from_str(value).ok();
    let gpus = entries.and_then(|entries| {
        let gpus: Option<Vec<_>> = entries.into_iter().map(gpu).collect();
        let gpus = gpus?;
        let indices: BTreeSet<u32> = gpus.iter().map(|gpu| gpu.index).collect();
        (indices.len() == gpus.len()).then_some(gpus)
    });
    let expected = "a list of GPUs as kubenexus-agent writes it, each index from 0 to 127 once";
    let gpus = reader.check((DEVICES, value), gpus, expected).unwrap_or_default();
    gpus.into_iter().map(|gpu| (gpu.index, gpu)).collect()
}

fn gpu(entry: Entry) -> Option<Gpu> {
    let id = |text: &String| u16::from_str_radix(text, 16).ok();
    let is_near = |peer: &u32| *peer < GPUS_MAX;
    if entry.index >= GPUS_MAX || !entry.nvlink_peers.iter().all(is_near) {
        return None;
    }
    Some(Gpu {
        index: entry.index,
        vendor: entry.vendor.as_ref().and_then(id),
        device: entry.device.as_ref().and_then(id),
        zone: entry.numa_node.filter(|id| *id <= ZONE_ID_MAX),
        root: entry.pcie_root,
        switch: entry.pcie_switch,
        model: entry.model,
        memory: entry.vram,
        nvlink_domain: entry.nvlink_domain,
        nvlink_peers: entry.nvlink_peers.into(),
        bus: entry.pcie_bus_id.as_deref().and_then(PciAddress::parse),
        uuid: entry.uuid,
    })
}

fn of_all(reader: &mut Reader<'_>, facts: &mut HardwareFacts) {
    let all = &mut facts.all_gpus;
    all.clique = reader.get(GFD_CLIQUE).or_else(|| reader.get(CLIQUE)).map(Into::into);
    product(reader, all);
    if let Some(value) = reader.get(GFD_COUNT) {
        let count = reader.number((GFD_COUNT, value), 0..=u64::from(GPUS_MAX));
        all.count = count.and_then(|count| count.try_into().ok());
    }
    if let Some(value) = reader.get(GFD_MEMORY) {
        let mib = reader.number((GFD_MEMORY, value), 1..=MEMORY_MIB_MAX);
        all.memory = mib.map(|mib| mib << 20);
    }
    let has_nvlink = NVLINK.iter().any(|key| reader.get(key) == Some("true"));
    all.link = has_nvlink.then_some(GpuLink::NvLink);
    if let Some(value) = reader.get(TOPOLOGY) {
        let link = match value {
            "nvswitch" => Some(GpuLink::NvSwitch),
            "nvlink" => Some(GpuLink::NvLink),
            "pcie" => Some(GpuLink::Pcie),
            _ => None,
        };
        let said = reader.check((TOPOLOGY, value), link, "nvswitch, nvlink or pcie");
        all.link = said.or(all.link);
    }
    sharing(reader, all);
}

/// The product, without what discovery adds to its name: `-SHARED` if it is shared, and before that
/// `-MIG-` and the profile if GPUs are divided into parts that are all alike.
fn product(reader: &Reader<'_>, all: &mut AllGpus) {
    let Some(value) = reader.get(GFD_PRODUCT) else { return };
    let name = value.strip_suffix("-SHARED").unwrap_or(value);
    let is_single = reader.get(MIG_STRATEGY) == Some("single");
    let (name, profile) = match name.split_once("-MIG-").filter(|_| is_single) {
        Some((name, profile)) => (name, Some(profile)),
        None => (name, None),
    };
    all.model = Some(name.into());
    all.partition = profile.map(Into::into);
}

/// Which resources are offered more often than there are devices, and parts of GPUs that have a
/// resource of their own.
fn sharing(reader: &mut Reader<'_>, all: &mut AllGpus) {
    let is_mps = reader.get(SHARING) == Some("mps");
    let is_off = reader.get(SHARING) == Some("none");
    let (mut shared, mut parts) = (Vec::new(), BTreeMap::new());
    for (key, name, value) in reader.all(NVIDIA) {
        let Some((resource, fact)) = name.rsplit_once('.') else { continue };
        let profile = resource.strip_prefix("mig-");
        let is_theirs = resource == "gpu" || profile.is_some();
        if !is_theirs || !["count", "memory", "product", "replicas"].contains(&fact) {
            continue;
        }
        if fact == "replicas" {
            // None where it is not known whether they are shared.
            let replicas = reader.number((key, value), 0..=REPLICAS_MAX).unwrap_or(0);
            if replicas > 1 && !is_off {
                let (resource, replicas) = (format!("{NVIDIA}{resource}"), replicas as u32);
                shared.push(SharedGpus { resource: resource.into(), replicas, is_mps });
            }
        }
        let Some(profile) = profile.filter(|_| parts.len() < PARTS_MAX) else { continue };
        let part: &mut GpuPart = parts.entry(profile).or_default();
        match fact {
            "memory" => {
                let mib = reader.number((key, value), 1..=MEMORY_MIB_MAX);
                part.memory = mib.map(|mib| mib << 20);
            }
            "product" => {
                let name = value.strip_suffix("-SHARED").unwrap_or(value);
                part.model = Some(name.split_once("-MIG-").map_or(name, |(it, _)| it).into());
            }
            _ => {}
        }
    }
    let part = |(profile, part): (&str, GpuPart)| GpuPart { profile: profile.into(), ..part };
    (all.shared, all.parts) = (shared.into(), parts.into_iter().map(part).collect());
}

#[cfg(test)]
mod tests {
    use super::super::{NodeAnnotations, hardware};
    use super::*;

    /// Every key that is read, with what stands for numbers and profiles in it.
    const KEYS: [&str; 18] = [
        GFD_PRODUCT,
        GFD_MEMORY,
        GFD_COUNT,
        "nvidia.com/gpu.replicas",
        SHARING,
        GFD_CLIQUE,
        TOPOLOGY,
        NVLINK[0],
        NVLINK[1],
        MIG_STRATEGY,
        "nvidia.com/mig-<profile>.count",
        "nvidia.com/mig-<profile>.memory",
        "nvidia.com/mig-<profile>.product",
        "nvidia.com/mig-<profile>.replicas",
        DEVICES,
        "gpu.kubenexus.io/gpu<k>-numa",
        "gpu.kubenexus.io/numa-node-<k>",
        CLIQUE,
    ];

    /// What a node says of its GPUs with these labels, beside two that others speak of.
    fn told(more: &[(String, &str)]) -> HardwareFacts {
        let product = (GFD_PRODUCT.to_owned(), "NVIDIA-H100-PCIe-MIG-1g.10gb-SHARED");
        let replicas = ("nvidia.com/gpu.replicas".to_owned(), "3");
        let all = [product, replicas].into_iter().chain(more.iter().cloned());
        let labels = all.map(|(key, value)| (key, value.to_owned())).collect();
        let (facts, _) = hardware(&labels, &NodeAnnotations::default());
        *facts.expect("the product is told")
    }

    #[test]
    fn the_page_lists_every_key_with_a_value_that_says_something() {
        let page = include_str!("../../../../../docs/gpu.md");
        let (_, table) = page.split_once("| Label or annotation of a node |").expect("a table");
        let (table, _) = table.split_once("\n\n").expect("an end");
        let quoted = |row: &'static str| -> Vec<&str> { row.split('`').collect() };
        let rows: Vec<Vec<&str>> = table.lines().skip(2).map(quoted).collect();
        assert_eq!(rows.iter().map(|row| row[1]).collect::<Vec<_>>(), KEYS);
        for row in rows {
            let key = row[1].replace("<k>", "1").replace("<profile>", "1g.5gb");
            let facts = told(&[(key, row[3])]);
            assert!(facts.unread.is_empty() && facts != told(&[]), "{row:?}");
        }
    }
}
