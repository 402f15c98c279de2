//! From facts to what should be written: labels for short values, annotations for lists.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::cpulist::CpuList;
use crate::gpus::{self, Gpu};
use crate::kubelet::config::KubeletConfig;
use crate::kubelet::pods::Uids;
use crate::kubelet::resources::{Allocatable, Pod};
use crate::sysfs::{Device, Machine, Nic, NumaNode, Port};
use crate::{allocations, keys, topology};

/// The longest value a label may have.
const LABEL_MAX: usize = 63;
/// The longest annotation that is written, and that the scheduler reads: 512 cores with two CPUs
/// each need 4 KiB, eight GPUs with all that is known of them 3 KiB.
const BYTES_MAX: usize = allocations::BYTES_MAX;
/// With more NUMA nodes than this, distances are not written as labels: there are too many.
const NODES_WITH_DISTANCES_MAX: usize = 16;

/// Everything that is known of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The machine.
    pub machine: Machine,
    /// Its GPUs.
    pub gpus: Vec<Gpu>,
    /// What the kubelet is told to do, if its configuration can be read.
    pub kubelet: Option<KubeletConfig>,
    /// Who holds what, if the kubelet says so.
    pub held: Option<Held>,
    /// What there is to hold, if the kubelet says so.
    pub allocatable: Option<Allocatable>,
}

/// Who holds what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// What every pod holds.
    pub pods: Vec<Pod>,
    /// How the scheduler knows them.
    pub uids: Uids,
}

/// Where NUMA nodes are described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zones {
    /// In labels and annotations of the node.
    Labels,
    /// In a NodeResourceTopology.
    Topology,
}

/// What should be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Desired {
    /// Labels of the node.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the node.
    pub annotations: BTreeMap<String, String>,
    /// Attributes and zones of the NodeResourceTopology.
    pub topology: Option<Value>,
}

/// What should be written of these facts.
pub fn desired(facts: &Facts, zones: Zones) -> Desired {
    let mut desired = Desired::default();
    match zones {
        Zones::Labels => numa(&mut desired, &facts.machine),
        Zones::Topology => desired.topology = topology::of(facts),
    }
    cores(&mut desired, &facts.machine);
    devices(&mut desired, &facts.gpus);
    network(&mut desired, &facts.machine);
    if let Some(kubelet) = &facts.kubelet {
        desired.annotations.insert(keys::KUBELET.into(), json(kubelet));
    }
    if let Some(held) = &facts.held {
        let text = allocations::text(&held.pods, &held.uids, &facts.gpus);
        desired.annotations.insert(keys::ALLOCATIONS.into(), text);
    }
    desired
}

fn numa(desired: &mut Desired, machine: &Machine) {
    let nodes = &machine.nodes;
    if nodes.is_empty() {
        return;
    }
    desired.label(keys::NODE_COUNT.into(), nodes.len());
    for node in nodes {
        numa_node(desired, node, nodes.len() <= NODES_WITH_DISTANCES_MAX);
    }
}

fn numa_node(desired: &mut Desired, node: &NumaNode, has_distances: bool) {
    if let Some(cpus) = &node.cpus {
        let key = keys::node(node.id, "cpus");
        match label_of(cpus) {
            Some(value) => desired.label(key, value),
            None => {
                desired.annotations.insert(key, cpus.to_string());
            }
        }
    }
    let facts = [
        ("memory", node.memory_bytes),
        ("bandwidth", node.bandwidth_mbs),
        ("socket", node.socket.map(u64::from)),
    ];
    for (fact, value) in facts {
        if let Some(value) = value {
            desired.label(keys::node(node.id, fact), value);
        }
    }
    for (other, distance) in node.distances.iter().filter(|_| has_distances) {
        desired.label(keys::node(node.id, &format!("distance-{other}")), *distance);
    }
}

/// A list of CPUs as the value of a label, where `_` stands for the comma, if it is short enough.
fn label_of(cpus: &CpuList) -> Option<String> {
    let value = cpus.to_string().replace(',', "_");
    (value.len() <= LABEL_MAX).then_some(value)
}

fn cores(desired: &mut Desired, machine: &Machine) {
    if let Some(threads) = machine.threads_per_core {
        desired.label(keys::THREADS_PER_CORE.into(), threads);
    }
    let cores: Vec<_> = machine.cores.iter().map(ToString::to_string).collect();
    let cores = cores.join(";");
    if !cores.is_empty() && cores.len() <= BYTES_MAX {
        desired.annotations.insert(keys::CORES.into(), cores);
    }
}

/// Where a device is. Names are those that ResourceSlices use.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Place<'a> {
    pcie_bus_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    numa_node: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pcie_root: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pcie_switch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vendor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
}

impl<'a> From<&'a Device> for Place<'a> {
    fn from(device: &'a Device) -> Self {
        Self {
            pcie_bus_id: &device.bus,
            numa_node: device.numa,
            pcie_root: device.root.as_deref(),
            pcie_switch: device.switch.as_deref(),
            vendor: device.vendor.map(|id| format!("{id:04x}")),
            device: device.device.map(|id| format!("{id:04x}")),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct GpuEntry<'a> {
    index: usize,
    #[serde(flatten)]
    place: Place<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vram: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nvlink_domain: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nvlink_peers: Vec<usize>,
}

fn devices(desired: &mut Desired, gpus: &[Gpu]) {
    if gpus.is_empty() {
        return;
    }
    let domains = gpus::domains(gpus);
    let mut entries = Vec::new();
    for (index, gpu) in gpus.iter().enumerate() {
        if let Some(numa) = gpu.pci.numa {
            desired.label(keys::gpu_numa(index), numa);
        }
        entries.push(GpuEntry {
            index,
            place: (&gpu.pci).into(),
            uuid: gpu.uuid.as_deref(),
            model: gpu.model.as_deref(),
            vram: gpu.memory_bytes,
            nvlink_domain: domains[index],
            nvlink_peers: gpu.peers.iter().copied().collect(),
        });
    }
    let details: [fn(&mut GpuEntry<'_>); 3] = [
        |_| {},
        // The domain says it as well, but for GPUs that are connected through others.
        |entry| entry.nvlink_peers.clear(),
        |entry| (entry.uuid, entry.model) = (None, None),
    ];
    for remove in details {
        entries.iter_mut().for_each(remove);
        let text = json(&entries);
        if text.len() <= BYTES_MAX {
            desired.annotations.insert(keys::GPUS.into(), text);
            break;
        }
    }
    if let Some(clique) = gpus::clique(gpus).filter(|clique| clique.len() <= LABEL_MAX) {
        desired.label(keys::CLIQUE.into(), clique);
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct NetworkEntry<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u32>,
    #[serde(flatten)]
    place: Option<Place<'a>>,
    link_layer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    active: Option<bool>,
}

fn network(desired: &mut Desired, machine: &Machine) {
    let ports = machine.fabric.as_ref().map_or(&[][..], |fabric| &fabric.ports);
    if let Some(fabric) = &machine.fabric {
        desired.label(keys::FABRIC.into(), fabric.layer.name());
        if let Some(rate) = fabric.rate_mbits {
            desired.label(keys::BANDWIDTH.into(), rate_text(rate));
        }
    }
    let mut entries: Vec<_> = ports.iter().map(|port| port_entry(port, &machine.nics)).collect();
    let is_rdma = |nic: &&Nic| ports.iter().any(|port| port.bus.as_ref() == Some(&nic.pci.bus));
    for nic in machine.nics.iter().filter(|nic| !is_rdma(nic)) {
        entries.extend(nic.interfaces.iter().map(|name| NetworkEntry {
            name,
            port: None,
            place: Some((&nic.pci).into()),
            link_layer: "ethernet",
            rate: None,
            active: None,
        }));
    }
    // The last ones are plain interfaces, of which there may be many.
    while json(&entries).len() > BYTES_MAX {
        entries.pop();
    }
    if !entries.is_empty() {
        desired.annotations.insert(keys::NETWORK.into(), json(&entries));
    }
}

fn port_entry<'a>(port: &'a Port, nics: &'a [Nic]) -> NetworkEntry<'a> {
    let nic = nics.iter().find(|nic| port.bus.as_ref() == Some(&nic.pci.bus));
    NetworkEntry {
        name: &port.device,
        port: Some(port.number),
        place: nic.map(|nic| (&nic.pci).into()),
        link_layer: port.layer.name(),
        rate: port.rate_mbits.map(rate_text),
        active: Some(port.is_active),
    }
}

/// `200Gbps`, `2.5Gbps`, `100Mbps`.
fn rate_text(mbits: u64) -> String {
    match (mbits / 1000, mbits % 1000 / 100) {
        (0, _) => format!("{mbits}Mbps"),
        (whole, 0) => format!("{whole}Gbps"),
        (whole, tenths) => format!("{whole}.{tenths}Gbps"),
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers are JSON")
}

impl Desired {
    fn label(&mut self, key: String, value: impl ToString) {
        self.labels.insert(key, value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_as_people_say_them() {
        let texts = [200_000, 2_500, 100].map(rate_text);
        assert_eq!(texts, ["200Gbps", "2.5Gbps", "100Mbps"]);
    }

    #[test]
    fn many_gpus_are_described_in_less_detail() {
        let written = |count: usize| {
            let gpu = |index: usize| {
                let uuid = Some(format!("GPU-00000000-0000-0000-0000-{index:012}"));
                let model = Some("NVIDIA H100 80GB HBM3".to_owned());
                let peers = (0..count).filter(|peer| *peer != index).collect();
                let mut gpu = Gpu { uuid, model, peers, ..Gpu::default() };
                gpu.pci.bus = format!("0000:{index:02x}:00.0");
                gpu
            };
            let facts = Facts { gpus: (0..count).map(gpu).collect(), ..Facts::default() };
            desired(&facts, Zones::Labels).annotations.remove(keys::GPUS).unwrap()
        };
        assert!(written(8).contains("nvlink-peers"));
        assert!(!written(64).contains("nvlink-peers") && written(64).contains("uuid"));
        assert!(!written(120).contains("uuid") && written(120).len() <= BYTES_MAX);
    }

    #[test]
    fn a_list_of_cpus_that_is_too_long_for_a_label_is_an_annotation() {
        let node = |cpus: CpuList| NumaNode { id: 3, cpus: Some(cpus), ..NumaNode::default() };
        let written = |cpus: CpuList| {
            let machine = Machine { nodes: vec![node(cpus)], ..Machine::default() };
            desired(&Facts { machine, ..Facts::default() }, Zones::Labels)
        };
        let key = "numa.kubenexus.io/node-3-cpus";
        let short = written(CpuList::parse("0-15,32-47").unwrap());
        assert_eq!(short.labels[key], "0-15_32-47");
        assert!(short.annotations.is_empty());
        let long = written((0..60).map(|cpu| cpu * 2).collect());
        assert!(long.annotations[key].starts_with("0,2,4,") && !long.labels.contains_key(key));
    }
}
