//! Machines: what is inside nodes, put together from what is told of them. Nodes that are alike
//! share one.

use std::sync::Arc;

use super::Catalog;
use super::nodes::{Node, Offer, Replaced};
use crate::device::NodeDevices;
use crate::hardware::{CpuRanges, HardwareFacts, KubeletFacts, NumaZone};
use crate::ids::NodeId;
use crate::map::{Map, hash_of};
use crate::resources::{Resources, is_huge_page};
use crate::topology::{
    CpuFacts, DeviceFacts, DevicesFacts, HugePagesFacts, Machine, MachineFacts, ZoneFacts,
};

/// The machines of all nodes of which enough is told.
#[derive(Default)]
pub(super) struct Machines {
    /// Each with the hash of what it is made of.
    of_node: Map<NodeId, (u64, Arc<Machine>)>,
    /// Machines by that hash, and how many nodes are each.
    made: Map<u64, Vec<(Arc<Machine>, u32)>>,
}

impl Machines {
    pub(super) fn get(&self, node: NodeId) -> Option<&Arc<Machine>> {
        self.of_node.get(&node).map(|(_, machine)| machine)
    }

    /// Takes in what a node tells of itself; nothing if it is gone.
    pub(super) fn set(
        &mut self,
        id: NodeId,
        node: Option<(&Node, &Offer)>,
        devices: Option<&NodeDevices>,
        names: &Resources,
    ) {
        let told = node.and_then(|(node, offer)| Some((node.hardware.as_deref()?, offer)));
        let made = told.and_then(|(told, offer)| Some((told, made(told, offer, devices, names)?)));
        let before = match made.map(|(told, machine)| self.shared(told, machine)) {
            Some(shared) => self.of_node.insert(id, shared),
            None => self.of_node.remove(&id),
        };
        if let Some((hash, machine)) = before {
            self.release(hash, &machine);
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
    fn shared(&mut self, told: &HardwareFacts, machine: Machine) -> (u64, Arc<Machine>) {
        let hash = hash_of(&(&told.zones, &told.cores, &told.kubelet, told.gpus.len()));
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

    /// Brings in line what is inside a node that was replaced; tells whether it has other devices
    /// now.
    pub(super) fn renew_machine(&mut self, id: NodeId, replaced: &Replaced) -> bool {
        let has_other_devices = self.merge_devices(id);
        let is_told = |node: Option<&Node>| node.is_some_and(|node| node.hardware.is_some());
        if is_told(replaced.node.as_deref()) || is_told(self.nodes.get(id)) {
            self.remake_machine(id);
        }
        has_other_devices
    }

    /// Makes the machine of a node from what is told of it.
    pub(super) fn remake_machine(&mut self, id: NodeId) {
        let node = self.nodes.get(id).map(|node| (node, self.nodes.offer(id)));
        self.machines.set(id, node, self.devices.get(id), &self.resources);
    }
}

/// A machine; nothing if too little is told of its zones, or what is told fits no kubelet that
/// starts.
fn made(
    told: &HardwareFacts,
    offer: &Offer,
    devices: Option<&NodeDevices>,
    names: &Resources,
) -> Option<Machine> {
    let mut facts = facts(told, offer, names)?;
    facts.devices = devices.map_or_else(Vec::new, foreseen);
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
fn facts(told: &HardwareFacts, offer: &Offer, names: &Resources) -> Option<MachineFacts> {
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
    // Where huge pages lie is not told, which is known only where there are none.
    let pages = offer
        .amounts
        .scalars
        .iter()
        .filter(|(resource, _)| names.name(*resource).is_some_and(is_huge_page));
    if kubelet.is_memory_static && pages.clone().any(|(_, amount)| *amount > 0) {
        return None;
    }
    let pages =
        pages.map(|(resource, _)| HugePagesFacts { resource: *resource, total: 0, reserved: 0 });
    let pages: Vec<_> = pages.collect();
    let zones: Option<Vec<ZoneFacts>> =
        told.zones.iter().map(|zone| zone_facts(zone, kubelet, &cores, &pages)).collect();
    Some(MachineFacts {
        zones: zones?,
        reserved_cpus: kubelet.reserved_cpus.iter().collect(),
        devices: Vec::new(),
        is_kubelet_unknown: told.kubelet.is_none(),
        policy: kubelet.policy,
        scope: kubelet.scope,
        prefers_closest: kubelet.prefers_closest,
        cpu_manager: kubelet.cpu_manager,
        is_memory_static: kubelet.is_memory_static,
    })
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
    pages: &[HugePagesFacts],
) -> Option<ZoneFacts> {
    let socket = zone.socket.unwrap_or(zone.id);
    let cpu = |id: u32| CpuFacts { id, core: cores.of(id), socket, cache: socket };
    let kept = kubelet.reserved_memory.iter().filter(|kept| kept.zone == zone.id);
    let kept = kept.filter(|kept| &*kept.resource == "memory");
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
        memory_reserved: kept.map(|kept| kept.bytes).sum(),
        huge_pages: pages.into(),
        distances,
        bandwidth: zone.bandwidth,
    })
}

/// Devices of which it can be foreseen what the kubelet does with them.
fn foreseen(devices: &NodeDevices) -> Vec<DevicesFacts> {
    let of_resource = |of: &crate::device::ResourceDevices| {
        let devices = of.devices.iter().map(|device| DeviceFacts {
            zones: device.zones.as_ref().map(|zones| zones.to_vec()),
            is_healthy: device.is_healthy,
        });
        DevicesFacts { resource: of.resource, devices: devices.collect() }
    };
    devices.resources.iter().filter(|of| of.is_foreseen).map(of_resource).collect()
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
