//! A NodeResourceTopology (`topology.node.k8s.io/v1alpha2`): what every NUMA node has, what pods
//! may get of it, and what is left.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cpulist::CpuList;
use crate::desired::Facts;
use crate::keys;
use crate::kubelet::resources::{Allocatable, Devices, Memory, Pod};
use crate::sysfs::NumaNode;

/// Amounts of a resource in a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    capacity: u64,
    allocatable: u64,
    available: u64,
}

type Amounts = BTreeMap<String, Amount>;

/// Attributes and zones. `None` where the kubelet does not say what it can give and has given: a
/// zone without these amounts is refused by the API server, and to invent them would be a lie.
pub fn of(facts: &Facts) -> Option<Value> {
    let (held, allocatable) = (facts.held.as_ref()?, facts.allocatable.as_ref()?);
    let nodes = &facts.machine.nodes;
    if nodes.is_empty() {
        return None;
    }
    let mut amounts: BTreeMap<u32, Amounts> =
        nodes.iter().map(|node| (node.id, cpus_of(node, allocatable, &held.pods))).collect();
    memory(&mut amounts, nodes, allocatable, &held.pods);
    devices(&mut amounts, allocatable, &held.pods);
    let zones: Vec<_> = nodes.iter().map(|node| zone(node, &amounts[&node.id])).collect();
    let mut attributes = Vec::new();
    if let Some(kubelet) = &facts.kubelet {
        let attribute = |name: &str, value: &str| json!({"name": name, "value": value});
        attributes.push(attribute("topologyManagerPolicy", &kubelet.topology_manager_policy));
        attributes.push(attribute("topologyManagerScope", &kubelet.topology_manager_scope));
    }
    Some(json!({"attributes": attributes, "zones": zones}))
}

fn zone(node: &NumaNode, amounts: &Amounts) -> Value {
    let costs: Vec<_> = node
        .distances
        .iter()
        .map(|(id, distance)| json!({"name": name(*id), "value": distance}))
        .collect();
    let resources: Vec<_> = amounts
        .iter()
        .map(|(resource, amount)| {
            json!({
                "name": resource,
                "capacity": amount.capacity.to_string(),
                "allocatable": amount.allocatable.to_string(),
                "available": amount.available.to_string(),
            })
        })
        .collect();
    let mut zone = json!({"name": name(node.id), "type": "Node", "resources": resources});
    if !costs.is_empty() {
        zone["costs"] = costs.into();
    }
    if let Some(cpus) = &node.cpus {
        zone["attributes"] = json!([{"name": keys::ZONE_CPUS, "value": cpus.to_string()}]);
    }
    zone
}

/// As other updaters call zones.
fn name(id: u32) -> String {
    format!("node-{id}")
}

/// A kubelet that gives no CPUs exclusively does not keep any zone's for anybody.
fn cpus_of(node: &NumaNode, allocatable: &Allocatable, pods: &[Pod]) -> Amounts {
    let Some(cpus) = node.cpus.as_ref().filter(|cpus| !cpus.is_empty()) else {
        return Amounts::new();
    };
    let open = match allocatable.cpus.is_empty() {
        true => cpus.clone(),
        false => cpus.common(&allocatable.cpus),
    };
    let taken: CpuList = pods.iter().flat_map(|pod| pod.cpus.iter()).collect();
    let count = |cpus: &CpuList| cpus.len() as u64;
    let amount = Amount {
        capacity: count(cpus),
        allocatable: count(&open),
        available: count(&open.without(&taken)),
    };
    Amounts::from([("cpu".into(), amount)])
}

fn memory(
    amounts: &mut BTreeMap<u32, Amounts>,
    nodes: &[NumaNode],
    allocatable: &Allocatable,
    pods: &[Pod],
) {
    for node in nodes {
        let Some(total) = node.memory_bytes else { continue };
        let of = amounts.entry(node.id).or_default();
        let mut huge = 0;
        for (kib, pages) in &node.huge_pages {
            let bytes = kib.saturating_mul(*pages).saturating_mul(1024);
            huge = bytes.saturating_add(huge);
            of.insert(format!("hugepages-{}", page_size(*kib)), Amount::all(bytes));
        }
        let rest = total.saturating_sub(huge);
        of.insert("memory".into(), Amount { capacity: total, ..Amount::all(rest) });
    }
    // Where the kubelet pins memory, what it can give is what it says, and nothing where it is
    // silent about a zone.
    if !allocatable.memory.is_empty() {
        for amount in amounts.values_mut().flat_map(Amounts::iter_mut) {
            if amount.0 != "cpu" {
                (amount.1.allocatable, amount.1.available) = (0, 0);
            }
        }
    }
    for block in &allocatable.memory {
        let [node] = block.nodes[..] else { continue };
        let amount = amounts.get_mut(&node).and_then(|of| of.get_mut(&block.kind));
        if let Some(amount) = amount {
            amount.allocatable = amount.allocatable.saturating_add(block.bytes);
            amount.available = amount.allocatable;
        }
    }
    for block in pods.iter().flat_map(|pod| &pod.memory) {
        take(amounts, block);
    }
}

/// Takes memory of several nodes from the lowest on, as the kubelet does.
fn take(amounts: &mut BTreeMap<u32, Amounts>, block: &Memory) {
    let mut open = block.bytes;
    for node in &block.nodes {
        let amount = amounts.get_mut(node).and_then(|of| of.get_mut(&block.kind));
        let Some(amount) = amount else { continue };
        let part = open.min(amount.available);
        amount.available -= part;
        open -= part;
    }
}

/// Devices of one NUMA node; what is attached to several or to none is in no zone.
fn devices(amounts: &mut BTreeMap<u32, Amounts>, allocatable: &Allocatable, pods: &[Pod]) {
    for devices in &allocatable.devices {
        if let Some(amount) = device_amount(amounts, devices, true) {
            let count = devices.ids.len() as u64;
            amount.capacity += count;
            amount.allocatable += count;
            amount.available += count;
        }
    }
    for devices in pods.iter().flat_map(|pod| &pod.devices) {
        if let Some(amount) = device_amount(amounts, devices, false) {
            amount.available = amount.available.saturating_sub(devices.ids.len() as u64);
        }
    }
}

fn device_amount<'a>(
    amounts: &'a mut BTreeMap<u32, Amounts>,
    devices: &Devices,
    is_new: bool,
) -> Option<&'a mut Amount> {
    let [node] = devices.nodes[..] else { return None };
    let of = amounts.get_mut(&node)?;
    match is_new {
        true => Some(of.entry(devices.resource.clone()).or_default()),
        false => of.get_mut(&devices.resource),
    }
}

/// `2Mi`, `1Gi`, as Kubernetes names huge pages.
fn page_size(kib: u64) -> String {
    match kib {
        _ if kib.is_multiple_of(1 << 20) => format!("{}Gi", kib >> 20),
        _ if kib.is_multiple_of(1 << 10) => format!("{}Mi", kib >> 10),
        _ => format!("{kib}Ki"),
    }
}

impl Amount {
    fn all(amount: u64) -> Self {
        Self { capacity: amount, allocatable: amount, available: amount }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::desired::Held;
    use crate::kubelet::config::KubeletConfig;
    use crate::sysfs::Machine;

    fn facts() -> Facts {
        let node = |id: u32, cpus: &str| NumaNode {
            id,
            cpus: CpuList::parse(cpus),
            memory_bytes: Some(1000 << 20),
            huge_pages: BTreeMap::from([(2048, 100)]),
            distances: BTreeMap::from([(0, 10 + 11 * id), (1, 21 - 11 * id)]),
            ..NumaNode::default()
        };
        let machine = Machine { nodes: vec![node(0, "0-3"), node(1, "4-7")], ..Machine::default() };
        let (held, allocatable) = (Some(Held::default()), Some(Allocatable::default()));
        Facts { machine, held, allocatable, ..Facts::default() }
    }

    fn resources(facts: &Facts, zone: usize) -> String {
        let topology = of(facts).unwrap();
        let resources = topology["zones"][zone]["resources"].as_array().unwrap().iter();
        let lines = resources.map(|resource| {
            let text = |field: &str| resource[field].as_str().unwrap().to_owned();
            format!(
                "{} {}/{}/{}",
                text("name"),
                text("available"),
                text("allocatable"),
                text("capacity")
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_kubelet_without_policies_keeps_nothing() {
        let expected = "cpu 4/4/4\nhugepages-2Mi 209715200/209715200/209715200\n\
                        memory 838860800/838860800/1048576000";
        assert_eq!(resources(&facts(), 1), expected);
        let topology = of(&facts()).unwrap();
        let zone = &topology["zones"][1];
        assert_eq!((&zone["name"], &zone["type"]), (&json!("node-1"), &json!("Node")));
        let costs = json!([{"name": "node-0", "value": 21}, {"name": "node-1", "value": 10}]);
        assert_eq!(zone["costs"], costs);
        let cpus = json!([{"name": "numa.kubenexus.io/cpus", "value": "4-7"}]);
        assert_eq!(zone["attributes"], cpus);
        assert_eq!(topology["attributes"], json!([]));
    }

    #[test]
    fn what_is_reserved_and_what_pods_hold_is_subtracted() {
        let mut facts = facts();
        facts.kubelet = Some(KubeletConfig::default());
        let memory = |bytes: u64, nodes: &[u32]| Memory {
            kind: "memory".into(),
            bytes: bytes << 20,
            nodes: nodes.into(),
        };
        let devices = |ids: &[&str], nodes: &[u32]| Devices {
            resource: "nvidia.com/gpu".into(),
            ids: ids.iter().map(|id| (*id).into()).collect(),
            nodes: nodes.into(),
        };
        facts.allocatable = Some(Allocatable {
            devices: vec![devices(&["a", "b"], &[1]), devices(&["c"], &[]), devices(&["d"], &[0])],
            cpus: CpuList::parse("1-7").unwrap(),
            memory: vec![memory(500, &[0]), memory(700, &[1])],
        });
        let pod = Pod {
            devices: vec![devices(&["a"], &[1]), devices(&["c"], &[])],
            cpus: CpuList::parse("3-5").unwrap(),
            memory: vec![memory(600, &[0, 1])],
            ..Pod::default()
        };
        facts.held = Some(Held { pods: vec![pod], ..Held::default() });
        let mib = |amount: u64| amount << 20;
        let expected = format!(
            "cpu 2/3/4\nhugepages-2Mi 0/0/209715200\nmemory 0/{}/1048576000\nnvidia.com/gpu 1/1/1",
            mib(500)
        );
        assert_eq!(resources(&facts, 0), expected);
        let expected = format!(
            "cpu 2/4/4\nhugepages-2Mi 0/0/209715200\nmemory {}/{}/1048576000\nnvidia.com/gpu 1/2/2",
            mib(600),
            mib(700)
        );
        assert_eq!(resources(&facts, 1), expected);
        let attributes = json!([
            {"name": "topologyManagerPolicy", "value": "none"},
            {"name": "topologyManagerScope", "value": "container"},
        ]);
        assert_eq!(of(&facts).unwrap()["attributes"], attributes);
    }

    #[test]
    fn without_the_kubelets_word_there_is_none() {
        assert_eq!(of(&Facts { held: None, ..facts() }), None);
        assert_eq!(of(&Facts { allocatable: None, ..facts() }), None);
        assert_eq!(of(&Facts { machine: Machine::default(), ..facts() }), None);
    }
}
