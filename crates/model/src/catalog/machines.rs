//! Machines: what is inside nodes, put together from what is told of them. Nodes that are alike
//! share one.

mod merge;

use std::sync::Arc;

use super::Catalog;
use super::nodes::{Node, Offer, Replaced};
use crate::device::{NodeDevices, ResourceDevices};
use crate::hardware::{CpuRanges, HardwareFacts, KubeletFacts, NumaZone, Unread};
use crate::ids::{NodeId, ResourceId};
use crate::map::{Map, hash_of};
use crate::node_resource_topology::NodeResourceTopologyFacts;
use crate::resources::{Resources, is_extended_resource, is_huge_page};
use crate::topology::{
    CpuFacts, DEVICE_RESOURCES_MAX, DEVICES_MAX, DeviceFacts, DevicesFacts, HugePagesFacts,
    Machine, MachineFacts, ZoneFacts,
};

/// The machines of all nodes of which enough is told.
#[derive(Default)]
pub(super) struct Machines {
    /// Each with the hash of what it is made of.
    of_node: Map<NodeId, (u64, Arc<Machine>)>,
    /// Machines by that hash, and how many nodes are each.
    made: Map<u64, Vec<(Arc<Machine>, u32)>>,
    /// Where sources contradict each other.
    doubts: Map<NodeId, Box<[Unread]>>,
}

/// All that is told of a node.
pub(super) struct Told<'a> {
    labels: Option<&'a HardwareFacts>,
    object: Option<&'a NodeResourceTopologyFacts>,
    devices: Option<&'a NodeDevices>,
    offer: &'a Offer,
    names: &'a Resources,
}

impl Machines {
    pub(super) fn get(&self, node: NodeId) -> Option<&Arc<Machine>> {
        self.of_node.get(&node).map(|(_, machine)| machine)
    }

    /// Takes in what is told of a node; nothing if it is gone.
    fn set(&mut self, id: NodeId, told: Option<&Told<'_>>) {
        let merged = told.and_then(|told| Some((told, merge::merged(told.labels, told.object)?)));
        let made = merged.and_then(|(told, merged)| {
            let machine = made(&merged, told)?;
            Some((hash_of(&(&merged.zones, &merged.cores, &merged.kubelet)), machine))
        });
        let before = match made.map(|(hash, machine)| self.shared(hash, machine)) {
            Some(shared) => self.of_node.insert(id, shared),
            None => self.of_node.remove(&id),
        };
        if let Some((hash, machine)) = before {
            self.release(hash, &machine);
        }
        let doubts = told.and_then(|told| Some(merge::doubts(told.labels?, told.object?)));
        match doubts.filter(|doubts| !doubts.is_empty()) {
            Some(doubts) => _ = self.doubts.insert(id, doubts),
            None => _ = self.doubts.remove(&id),
        }
    }

    /// A node is not this machine any more.
    fn release(&mut self, hash: u64, machine: &Arc<Machine>) {
        let alike = self.made.get_mut(&hash).expect("a machine of a node is known");
        for (_, nodes) in alike.iter_mut().filter(|(known, _)| Arc::ptr_eq(known, machine)) {
            *nodes -= 1;
        }
        alike.retain(|(_, nodes)| *nodes > 0);
        if alike.is_empty() {
            self.made.remove(&hash);
        }
    }

    /// The same machine, which alike nodes have too, and the hash of what it is made of.
    fn shared(&mut self, hash: u64, machine: Machine) -> (u64, Arc<Machine>) {
        let alike = self.made.entry(hash).or_default();
        let at = alike.iter().position(|(known, _)| **known == machine).unwrap_or_else(|| {
            alike.push((Arc::new(machine), 0));
            alike.len() - 1
        });
        let (shared, nodes) = &mut alike[at];
        *nodes += 1;
        (hash, shared.clone())
    }
}

impl Catalog {
    /// What is inside a node and how its kubelet deals with it, if enough is told of that.
    #[must_use]
    pub fn machine(&self, node: NodeId) -> Option<&Arc<Machine>> {
        self.machines.get(node)
    }

    /// What is told of the inside of a node and not followed: what means nothing, and what a source
    /// that counts more contradicts.
    pub fn doubts(&self, node: NodeId) -> impl Iterator<Item = &Unread> {
        let labels = self.nodes.get(node).and_then(|node| node.hardware.as_deref());
        let object = self.node_resource_topology(node);
        let unread = labels.into_iter().flat_map(|labels| &labels.unread);
        let unread = unread.chain(object.into_iter().flat_map(|object| &object.unread));
        let unread = unread.chain(self.machines.doubts.get(&node).into_iter().flatten());
        unread.chain(self.devices.doubts(node))
    }

    /// Brings in line what is inside a node that was replaced; tells whether it has other devices
    /// now.
    pub(super) fn renew_machine(&mut self, id: NodeId, replaced: &Replaced) -> bool {
        let has_other_devices = self.merge_devices(id);
        let is_told = |node: &Node| node.hardware.is_some();
        if replaced.node.as_deref().is_some_and(is_told)
            || self.nodes.get(id).is_some_and(is_told)
            || self.node_resource_topology(id).is_some()
        {
            self.make_machine(id);
        }
        has_other_devices
    }

    /// Makes the machine of a node anew.
    pub(super) fn make_machine(&mut self, id: NodeId) {
        let told = self.nodes.get(id).map(|node| Told {
            labels: node.hardware.as_deref(),
            object: self.topologies.get(self.symbols.text(node.name)),
            devices: self.devices.get(id),
            offer: self.nodes.offer(id),
            names: &self.resources,
        });
        self.machines.set(id, told.as_ref());
    }
}

/// A machine; nothing if too little is told of its zones, or what is told fits no kubelet that
/// starts.
fn made(told: &HardwareFacts, all: &Told<'_>) -> Option<Machine> {
    let mut facts = facts(told, all)?;
    let machine = Machine::new(&facts).ok()?;
    let count = told.kubelet.as_ref().map_or(0, |kubelet| kubelet.reserved_cpu_count);
    if facts.cpu_manager.is_none() || !facts.reserved_cpus.is_empty() || count == 0 {
        return Some(machine);
    }
    // Where only their number is told, the kubelet takes the first ones.
    facts.reserved_cpus = machine.first_cpus(count)?.iter().collect();
    Machine::new(&facts).ok()
}

/// What a machine is made of.
fn facts(told: &HardwareFacts, all: &Told<'_>) -> Option<MachineFacts> {
    let assumed = KubeletFacts::assumed();
    let kubelet = told.kubelet.as_ref().unwrap_or(&assumed);
    let count = told.zone_count.map_or(told.zones.len(), |count| count as usize);
    if count == 0 || count != told.zones.len() {
        return None;
    }
    let cores = Cores::new(&told.cores);
    let is_about_cores = |options: &crate::topology::CpuManagerFacts| {
        options.is_full_cores_only || options.is_distributed_across_cores
    };
    if kubelet.cpu_manager.as_ref().is_some_and(is_about_cores) && told.cores.is_empty() {
        return None;
    }
    let pages = page_sizes(told, kubelet, all)?;
    let zone = |zone| zone_facts(zone, kubelet, &cores, &pages);
    let zones: Option<Vec<ZoneFacts>> = told.zones.iter().map(zone).collect();
    Some(MachineFacts {
        zones: zones?,
        reserved_cpus: kubelet.reserved_cpus.iter().collect(),
        devices: devices(all),
        is_kubelet_unknown: told.kubelet.is_none(),
        policy: kubelet.policy,
        scope: kubelet.scope,
        prefers_closest: kubelet.prefers_closest,
        cpu_manager: kubelet.cpu_manager,
        is_memory_static: kubelet.is_memory_static,
    })
}

/// The sizes of huge pages that a node offers. Nothing if they are pinned and nobody tells where
/// they lie.
fn page_sizes<'a>(
    told: &HardwareFacts,
    kubelet: &KubeletFacts,
    Told { offer, names, .. }: &Told<'a>,
) -> Option<Vec<(ResourceId, &'a str)>> {
    let name = |(resource, amount): &(ResourceId, i64)| {
        let name = names.name(*resource).filter(|name| is_huge_page(name))?;
        Some((*resource, name, *amount))
    };
    let is_placed = |size: &str| {
        let mut all = told.zones.iter().flat_map(|zone| &zone.huge_pages);
        all.any(|(name, _)| **name == *size)
    };
    let offered = offer.amounts.scalars.iter().filter_map(name);
    let size = |(resource, name, amount): (ResourceId, &'a str, i64)| {
        let is_known = amount == 0 || !kubelet.is_memory_static || is_placed(name);
        is_known.then_some((resource, name))
    };
    offered.map(size).collect()
}

/// Which CPUs share a core.
struct Cores(Map<u32, u32>);

impl Cores {
    fn new(cores: &[CpuRanges]) -> Self {
        let of_core = |core: &CpuRanges| {
            let first = core.iter().next().unwrap_or(0);
            core.iter().map(move |cpu| (cpu, first)).collect::<Vec<_>>()
        };
        Self(cores.iter().flat_map(of_core).collect())
    }

    /// The first CPU of the core that a CPU belongs to.
    fn of(&self, cpu: u32) -> u32 {
        self.0.get(&cpu).copied().unwrap_or(cpu)
    }
}

fn zone_facts(
    zone: &NumaZone,
    kubelet: &KubeletFacts,
    cores: &Cores,
    pages: &[(ResourceId, &str)],
) -> Option<ZoneFacts> {
    let socket = zone.socket.unwrap_or(zone.id);
    let cpu = |id: u32| CpuFacts { id, core: cores.of(id), socket, cache: socket };
    let reserved = |resource: &str| {
        let kept = kubelet.reserved_memory.iter().filter(|kept| kept.zone == zone.id);
        kept.filter(|kept| *kept.resource == *resource)
            .fold(0, |sum: u64, kept| sum.saturating_add(kept.bytes))
    };
    let pages = pages.iter().map(|(resource, name)| {
        let total = zone.huge_pages.iter().find(|(size, _)| **size == **name);
        let total = total.map_or(0, |(_, bytes)| *bytes);
        HugePagesFacts { resource: *resource, total, reserved: reserved(name).min(total) }
    });
    if kubelet.is_memory_static && zone.memory.is_none() {
        return None;
    }
    let distances = zone.distances.last().map_or(0, |(last, _)| *last as usize + 1);
    let mut distances = vec![0; distances];
    zone.distances.iter().for_each(|(to, distance)| distances[*to as usize] = *distance);
    Some(ZoneFacts {
        id: zone.id,
        cpus: zone.cpus.as_ref()?.iter().map(cpu).collect(),
        memory: zone.memory,
        memory_reserved: reserved("memory"),
        huge_pages: pages.collect(),
        distances,
        bandwidth: zone.bandwidth,
    })
}

/// Devices of resources that the node offers as many of as are told: by their own numbers, or, if
/// these do not say where the devices are, by how many every zone has.
fn devices(told: &Told<'_>) -> Vec<DevicesFacts> {
    let is_placed = |of: &DevicesFacts| of.devices.iter().any(|device| device.zones.is_some());
    let (placed, others): (Vec<_>, Vec<_>) = foreseen(told.devices).partition(is_placed);
    let mut all: Vec<DevicesFacts> = Vec::new();
    for of in placed.into_iter().chain(counted_devices(told)).chain(others) {
        if all.iter().all(|better| better.resource != of.resource) {
            all.push(of);
        }
    }
    all.truncate(DEVICE_RESOURCES_MAX);
    all
}

/// Devices of which it can be foreseen what the kubelet does with them.
fn foreseen(devices: Option<&NodeDevices>) -> impl Iterator<Item = DevicesFacts> {
    let of_resource = |of: &ResourceDevices| {
        let devices = of.devices.iter().map(|device| DeviceFacts {
            zones: device.zones.as_ref().map(|zones| zones.to_vec()),
            is_healthy: device.is_healthy,
        });
        DevicesFacts { resource: of.resource, devices: devices.collect() }
    };
    let resources = devices.into_iter().flat_map(|devices| &*devices.resources);
    resources.filter(|of| of.is_foreseen).map(of_resource)
}

/// Devices by how many of them the zones of a NodeResourceTopology have, numbered zone by zone.
fn counted_devices(Told { object, offer, names, .. }: &Told<'_>) -> Vec<DevicesFacts> {
    let Some(object) = object else { return Vec::new() };
    let amounts = object.zones.iter().flat_map(|zone| &zone.amounts);
    let mut all: Vec<&str> = amounts.map(|amount| &*amount.resource).collect();
    all.retain(|name| is_extended_resource(name));
    all.sort_unstable();
    all.dedup();
    let of_resource = |name: &str| {
        let resource = names.find(name)?;
        let offered = u64::try_from(offer.amounts.scalar(&resource)?).ok()?;
        let amounts = object.zones.iter().filter_map(|zone| Some((zone.id, zone.amount(name)?)));
        let amounts: Vec<_> = amounts.map(|(zone, amount)| (zone, amount.allocatable)).collect();
        let sum = amounts.iter().try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))?;
        // What lies in several zones or in none cannot be told apart.
        if sum != offered || sum > DEVICES_MAX as u64 {
            return None;
        }
        let device = |zone: u32| DeviceFacts { zones: Some(vec![zone]), is_healthy: true };
        let of_zone = |(zone, count): &(u32, u64)| (0..*count).map(|_| device(*zone)).collect();
        let devices = amounts.iter().flat_map::<Vec<_>, _>(of_zone).collect();
        Some(DevicesFacts { resource, devices })
    };
    all.into_iter().filter_map(of_resource).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, words: &str) -> crate::event::NodeFacts {
        let kubelet = Some(KubeletFacts::default());
        let zone =
            |id: u32| NumaZone { id, cpus: CpuRanges::new(vec![(id, id)]), ..NumaZone::default() };
        let zones = (0..words.parse().unwrap_or(0)).map(zone).collect();
        let told = HardwareFacts { zones, kubelet, ..HardwareFacts::default() };
        let hardware = Some(Box::new(told));
        crate::event::NodeFacts { name: name.into(), hardware, ..Default::default() }
    }

    #[test]
    fn machines_are_shared_and_kept_as_long_as_a_node_is_one() {
        let mut catalog = Catalog::default();
        let ids = ["a", "b"].map(|name| catalog.apply_node(&node(name, "2")).0);
        let [a, b] = ids.map(|id| catalog.machine(id).expect("a machine").clone());
        assert!(Arc::ptr_eq(&a, &b));
        catalog.apply_node(&node("a", "4"));
        assert_eq!(catalog.machines.made.len(), 2);
        // Whoever still holds one does not keep it among those of nodes.
        catalog.apply_node(&node("b", "4"));
        assert_eq!(catalog.machines.made.len(), 1);
        catalog.delete_node("a");
        catalog.apply_node(&node("b", "0"));
        assert!(catalog.machines.made.is_empty() && catalog.machine(ids[1]).is_none());
    }
}
