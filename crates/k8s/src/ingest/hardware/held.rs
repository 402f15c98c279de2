//! Who holds what of a node, in `device.kubenexus.io/allocations`.

use std::collections::BTreeMap;

use model::hardware::{HeldByPod, HeldDevices, HeldFacts, HeldMemory};
use serde::Deserialize;

use super::zones::zone_id;
use super::{Reader, cpus};

const ALLOCATIONS: &str = "device.kubenexus.io/allocations";
/// The version of the text.
const VERSION: u32 = 1;

/// Something for every pod, by uid.
type ByPod<T> = BTreeMap<Box<str>, T>;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Allocations {
    version: u32,
    #[serde(default)]
    devices: BTreeMap<Box<str>, ByPod<Vec<Option<u32>>>>,
    #[serde(default)]
    cpus: ByPod<String>,
    #[serde(default)]
    memory: ByPod<BTreeMap<Box<str>, BTreeMap<String, u64>>>,
    #[serde(default)]
    left_out: Vec<Box<str>>,
}

pub(super) fn read(reader: &mut Reader<'_>) -> Option<HeldFacts> {
    let value = reader.get(ALLOCATIONS)?;
    let allocations: Option<Allocations> = serde_json::from_str(value).ok();
    let allocations = allocations.filter(|allocations| allocations.version == VERSION);
    let expected = "what pods hold as kubenexus-agent writes it, version 1";
    reader.check((ALLOCATIONS, value), allocations.and_then(held), expected)
}

fn held(allocations: Allocations) -> Option<HeldFacts> {
    let mut pods: ByPod<HeldByPod> = BTreeMap::new();
    let mut devices: ByPod<Vec<HeldDevices>> = BTreeMap::new();
    for (resource, by_pod) in allocations.devices {
        for (uid, indices) in by_pod {
            let (resource, indices) = (resource.clone(), indices.into());
            devices.entry(uid).or_default().push(HeldDevices { resource, indices });
        }
    }
    for (uid, devices) in devices {
        pods.entry(uid).or_default().devices = devices.into();
    }
    for (uid, text) in allocations.cpus {
        pods.entry(uid).or_default().cpus = cpus(&text)?;
    }
    for (uid, amounts) in allocations.memory {
        let mut memory = Vec::new();
        for (resource, by_zones) in amounts {
            for (zones, bytes) in by_zones {
                let zones: Option<Box<[u32]>> = zones.split(',').map(zone_id).collect();
                memory.push(HeldMemory { resource: resource.clone(), zones: zones?, bytes });
            }
        }
        pods.entry(uid).or_default().memory = memory.into();
    }
    let named = |(uid, pod): (Box<str>, HeldByPod)| HeldByPod { uid, ..pod };
    let pods = pods.into_iter().map(named).collect();
    Some(HeldFacts { pods, left_out: allocations.left_out.into() })
}
