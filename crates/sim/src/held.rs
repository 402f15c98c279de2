//! Who holds what inside nodes, as the scheduler knows it: foreseen when it placed a pod, or
//! reported by the node's agent since.

use std::collections::BTreeMap;

use engine::Scheduler;
use model::topology::{Machine, Taken, TopologyPolicy, TopologyScope};
use model::{Guest, Inside};
use serde::Serialize;

use crate::world::bits;

/// The most nodes that are listed, and the most pods of each.
const NODES_MAX: usize = 200;
const PODS_MAX: usize = 64;

/// What is held inside nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HeldReport {
    /// Nodes inside which pods hold something, by name.
    pub nodes: Vec<NodeHeld>,
    /// How many more there are.
    pub nodes_left_out: u64,
}

/// What pods hold inside a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeHeld {
    /// The node.
    pub node: String,
    /// `topologyManagerPolicy` of its kubelet, or `unknown`.
    pub policy: &'static str,
    /// `topologyManagerScope` of its kubelet.
    pub scope: &'static str,
    /// Who holds something.
    pub pods: Vec<PodHeld>,
    /// How many more do.
    pub pods_left_out: u64,
}

/// What a pod holds inside its node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodHeld {
    /// Its namespace.
    pub tenant: String,
    /// Its name.
    pub pod: String,
    /// Ids of the NUMA zones that it has anything of.
    pub zones: Vec<u32>,
    /// CPUs that are its own, as `0-3,8`.
    pub cpus: String,
    /// Devices by resource.
    pub devices: Vec<DevicesHeld>,
    /// How this is known.
    pub source: HeldSource,
}

impl PodHeld {
    /// Its devices as `nvidia.com/gpu 0-3,7`.
    #[must_use]
    pub fn devices_text(&self) -> String {
        let devices = self.devices.iter().map(|of| format!("{} {}", of.resource, of.numbers()));
        devices.collect::<Vec<_>>().join("; ")
    }
}

/// Devices of a resource that a pod holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DevicesHeld {
    /// The resource.
    pub resource: String,
    /// Numbers of the devices.
    pub indices: Vec<u32>,
}

impl DevicesHeld {
    /// The numbers as `0-3,7`.
    #[must_use]
    pub fn numbers(&self) -> String {
        ranges(self.indices.iter().copied())
    }
}

/// How it is known what a pod holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeldSource {
    /// As the kubelet should decide. Which devices it takes inside a zone is chance.
    Foreseen,
    /// As the node's agent told.
    Reported,
}

impl HeldSource {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Foreseen => "foreseen",
            Self::Reported => "reported",
        }
    }
}

/// What is held inside all nodes.
pub(crate) fn of(scheduler: &Scheduler) -> HeldReport {
    let catalog = scheduler.catalog();
    let mut nodes: Vec<_> = catalog.nodes().iter().collect();
    nodes.sort_by_key(|node| catalog.node_name(**node));
    let found = nodes.into_iter().filter_map(|node| {
        let inside = scheduler.usage().inside(*node)?;
        let mut guests = inside.guests().iter().filter(|guest| !guest.taken.is_empty()).peekable();
        guests.peek()?;
        Some((node, inside))
    });
    let mut report = HeldReport::default();
    for (node, inside) in found {
        if report.nodes.len() == NODES_MAX {
            report.nodes_left_out += 1;
            continue;
        }
        let all = pods(scheduler, inside);
        report.nodes.push(NodeHeld {
            node: catalog.node_name(*node).to_owned(),
            policy: policy(inside.machine()),
            scope: scope(inside.machine().scope()),
            pods_left_out: all.len().saturating_sub(PODS_MAX) as u64,
            pods: all.into_iter().take(PODS_MAX).collect(),
        });
    }
    report
}

/// GPUs by the uid of the pod that holds them, and how that is known.
pub(crate) fn gpus(scheduler: &Scheduler) -> BTreeMap<Box<str>, (Vec<u32>, HeldSource)> {
    let catalog = scheduler.catalog();
    let insides = catalog.nodes().iter().filter_map(|node| scheduler.usage().inside(*node));
    let guests = insides.flat_map(|inside| inside.guests().iter().map(move |it| (inside, it)));
    let held = guests.filter_map(|(inside, guest)| {
        let held = devices(scheduler, inside.machine(), &guest.taken);
        let gpus: Vec<_> = held.into_iter().filter(|of| of.resource.ends_with("/gpu")).collect();
        // Numbers of several resources cannot stand beside each other.
        let [gpus] = <[DevicesHeld; 1]>::try_from(gpus).ok()?;
        Some((catalog.pod(guest.pod?).key.uid.clone(), (gpus.indices, source(guest))))
    });
    held.collect()
}

fn pods(scheduler: &Scheduler, inside: &Inside) -> Vec<PodHeld> {
    let catalog = scheduler.catalog();
    let held = inside.guests().iter().filter(|guest| !guest.taken.is_empty()).map(|guest| {
        // Room for a pod that does not exist yet has no name.
        let key = guest.pod.map(|pod| &catalog.pod(pod).key);
        PodHeld {
            tenant: key.map_or(String::new(), |key| key.namespace.to_string()),
            pod: key.map_or("(kept)".to_owned(), |key| key.name.to_string()),
            zones: zones(inside.machine(), &guest.taken),
            cpus: ranges(guest.taken.cpus.iter()),
            devices: devices(scheduler, inside.machine(), &guest.taken),
            source: source(guest),
        }
    });
    held.collect()
}

fn source(guest: &Guest) -> HeldSource {
    if guest.is_reported { HeldSource::Reported } else { HeldSource::Foreseen }
}

fn zones(machine: &Machine, taken: &Taken) -> Vec<u32> {
    let has = |zone: usize| {
        let has_devices = |of: &model::topology::DevicesTaken| {
            of.devices & machine.devices_of(of.resource, zone) != 0
        };
        taken.cpus_in(machine, zone) > 0
            || taken.devices.iter().any(has_devices)
            || taken.blocks.iter().any(|block| block.zones.places().any(|place| place == zone))
    };
    let zones = machine.zone_ids().iter().enumerate();
    zones.filter(|(place, _)| has(*place)).map(|(_, id)| *id).collect()
}

fn devices(scheduler: &Scheduler, machine: &Machine, taken: &Taken) -> Vec<DevicesHeld> {
    let resources: Vec<_> = machine.device_resources().collect();
    let held = taken.devices.iter().map(|of| DevicesHeld {
        resource: scheduler.catalog().resource_name(resources[of.resource]).to_owned(),
        indices: bits(of.devices).collect(),
    });
    held.collect()
}

/// Numbers, lowest first, as `0-3,8`.
fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut().filter(|(_, last)| *last + 1 == number) {
            Some((_, last)) => *last = number,
            None => ranges.push((number, number)),
        }
    }
    let range = |(first, last): (u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

fn policy(machine: &Machine) -> &'static str {
    match machine.policy() {
        _ if machine.is_kubelet_unknown() => "unknown",
        TopologyPolicy::None => "none",
        TopologyPolicy::BestEffort => "best-effort",
        TopologyPolicy::Restricted => "restricted",
        TopologyPolicy::SingleNumaNode => "single-numa-node",
    }
}

fn scope(scope: TopologyScope) -> &'static str {
    match scope {
        TopologyScope::Container => "container",
        TopologyScope::Pod => "pod",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        let text = |numbers: &[u32]| ranges(numbers.iter().copied());
        assert_eq!(text(&[]), "");
        assert_eq!(text(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(text(&[5, 63, 64, 1023]), "5,63-64,1023");
    }
}
