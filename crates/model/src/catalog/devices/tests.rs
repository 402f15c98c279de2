//! Devices from slices, labels, lists and tables.

use super::*;
use crate::device::{ClaimedDevice, Device, PciAddress, ResourceDevices, Sharing, SliceDevice};
use crate::event::{NodeAspects, NodeFacts};
use crate::hardware::{AllGpus, Gpu, GpuLink, GpuPart, HardwareFacts, SharedGpus};
use crate::{Fact, NodeChange};

const DRIVER: &str = "gpu.nvidia.com";
const GPU: &str = "nvidia.com/gpu";

/// A node that offers so many of a resource.
fn offering(resource: &str, amount: i64) -> NodeFacts {
    let mut facts = NodeFacts { name: "a".into(), ..NodeFacts::default() };
    facts.allocatable.scalars = [(resource.to_owned(), amount)].into();
    facts
}

fn node(gpus: i64) -> NodeFacts {
    offering(GPU, gpus)
}

fn with(mut facts: NodeFacts, hardware: HardwareFacts) -> NodeFacts {
    facts.hardware = Some(Box::new(hardware));
    facts
}

fn all(all_gpus: AllGpus) -> HardwareFacts {
    HardwareFacts { all_gpus, ..HardwareFacts::default() }
}

fn listed(gpus: impl Into<Box<[Gpu]>>) -> HardwareFacts {
    HardwareFacts { gpus: gpus.into(), ..HardwareFacts::default() }
}

fn device(name: &str) -> SliceDevice {
    SliceDevice { name: name.into(), ..SliceDevice::default() }
}

/// A slice of a pool of its own.
fn slice(name: &str, devices: impl IntoIterator<Item = SliceDevice>) -> ResourceSliceFacts {
    ResourceSliceFacts {
        name: name.into(),
        node: "a".into(),
        driver: DRIVER.into(),
        pool: "a".into(),
        generation: 1,
        slice_count: 1,
        devices: devices.into_iter().collect(),
        unread: Box::default(),
    }
}

fn gpus(count: usize) -> Vec<SliceDevice> {
    (0..count).map(|number| device(&format!("gpu-{number}"))).collect()
}

fn claim(name: &str, devices: &[&str]) -> ResourceClaimFacts {
    let claimed = |device: &&str| ClaimedDevice {
        driver: DRIVER.into(),
        pool: "a".into(),
        device: (*device).into(),
    };
    let devices = devices.iter().map(claimed).collect();
    ResourceClaimFacts { namespace: "default".into(), name: name.into(), devices }
}

/// The devices of the resource of a node, if slices or others tell of them, and what is in doubt.
fn found(catalog: &Catalog) -> (Option<ResourceDevices>, Vec<String>) {
    let node = catalog.find_node("a").expect("the node is there");
    let resource = catalog.find_resource(GPU);
    let devices = catalog.devices(node);
    let found = devices.and_then(|devices| devices.get(resource?).cloned());
    let text = |it: &Unread| format!("{}: {}: {}", it.key, it.value, it.expected);
    (found, catalog.doubts(node).map(text).collect())
}

fn from(
    facts: &NodeFacts,
    slices: &[ResourceSliceFacts],
) -> (Option<ResourceDevices>, Vec<String>) {
    let mut catalog = Catalog::default();
    catalog.apply_node(facts);
    slices.iter().for_each(|slice| _ = catalog.set_resource_slice(slice));
    let after = found(&catalog);
    // The order in which they are seen makes no difference.
    let mut other = Catalog::default();
    slices.iter().rev().for_each(|slice| _ = other.set_resource_slice(slice));
    other.apply_node(facts);
    assert_eq!(found(&other), after);
    after
}

fn names(devices: &ResourceDevices) -> Vec<&str> {
    devices.devices.iter().map(|device| &*device.name).collect()
}

#[test]
fn slices_describe_a_resource_if_all_of_the_newest_generation_are_there() {
    let part = |name: &str, generation: i64, first: usize| {
        let devices = gpus(first + 2).split_off(first);
        ResourceSliceFacts { generation, slice_count: 2, ..slice(name, devices) }
    };
    let (found, doubts) = from(&node(4), &[part("x", 2, 0), part("y", 2, 2)]);
    assert_eq!(names(&found.expect("both are there")), ["gpu-0", "gpu-1", "gpu-2", "gpu-3"]);
    assert!(doubts.is_empty());
    let (found, doubts) = from(&node(4), &[part("x", 1, 0), part("y", 1, 2), part("z", 2, 0)]);
    assert_eq!(found, None);
    let expected = "the pool a of gpu.nvidia.com in ResourceSlices: \
                    1 slices of the newest generation: 2";
    assert_eq!(doubts, [expected]);
    let old = part("x", 1, 0);
    let (found, doubts) = from(&node(2), &[old, slice("y", gpus(2))]);
    assert_eq!((found, doubts.len()), (None, 1), "two slices of which one says that it is alone");
    let new = ResourceSliceFacts { generation: 2, ..slice("y", gpus(2)) };
    assert!(from(&node(2), &[part("x", 1, 0), new]).0.is_some(), "the old one does not count");
}

#[test]
fn slices_count_only_if_as_many_are_healthy_as_the_node_offers() {
    let mut devices = gpus(4);
    devices[1].is_tainted = true;
    let slice = slice("s", devices);
    let (found, doubts) = from(&node(3), std::slice::from_ref(&slice));
    let health: Vec<bool> =
        found.expect("three").devices.iter().map(|device| device.is_healthy).collect();
    assert_eq!((health, doubts.len()), (vec![true, false, true, true], 0));
    for offered in [2, 4, 200] {
        let (found, doubts) = from(&node(offered), std::slice::from_ref(&slice));
        assert_eq!((found, doubts.len()), (None, 1), "{offered}");
        let pool = "the pool a of gpu.nvidia.com in ResourceSlices: 4 devices, 3 healthy: ";
        assert!(doubts[0].starts_with(pool), "{doubts:?}");
    }
    // Without a plugin that offers them there is nothing that slices could describe.
    let nothing = from(&node(0), &[slice]);
    assert_eq!(nothing, (None, Vec::new()));
}

#[test]
fn devices_of_one_name_too_many_slices_and_pools_of_several_nodes_count_for_nothing() {
    let twice = slice("s", [device("gpu-0"), device("gpu-0")]);
    assert_eq!(from(&node(2), &[twice]).0, None);
    let mut many: Vec<_> = (0..65).map(|at| slice(&format!("s{at}"), [])).collect();
    let (found, doubts) = from(&node(1), &many);
    assert_eq!((found, doubts), (None, vec!["ResourceSlices of the node: 65: at most 64".into()]));
    many.clear();
    let mut catalog = Catalog::default();
    let (a, _) = catalog.apply_node(&node(1));
    let (b, _) = catalog.apply_node(&NodeFacts { name: "b".into(), ..node(1) });
    assert_eq!(catalog.set_resource_slice(&slice("s", gpus(1))), [a]);
    assert!(catalog.devices(a).is_some_and(|devices| devices.resources.len() == 1));
    let other = ResourceSliceFacts { node: "b".into(), ..slice("t", gpus(1)) };
    assert_eq!(catalog.set_resource_slice(&other), [a, b], "the pool is not a's alone any more");
    assert_eq!(found_count(&catalog, a), 0);
    assert_eq!(catalog.delete_resource_slice("t"), [a, b]);
    assert_eq!(found_count(&catalog, a), 1);
}

fn found_count(catalog: &Catalog, node: NodeId) -> usize {
    catalog.devices(node).map_or(0, |devices| devices.resources.len())
}

#[test]
fn devices_are_numbered_by_address_or_by_name_or_as_the_list_of_the_node_has_them() {
    let bus = |text: &str| PciAddress::parse(text);
    let at = |name: &str, text: &str| SliceDevice { bus: bus(text), ..device(name) };
    let devices = [at("gpu-0", "0000:c1:00.0"), at("gpu-1", "0000:17:00.0")];
    let (found, _) = from(&node(2), &[slice("s", devices.clone())]);
    assert_eq!(names(&found.expect("two")), ["gpu-1", "gpu-0"]);
    let unordered = ["gpu-10", "gpu-9", "gpu-x", "gpu-1"].map(device);
    let (found, _) = from(&node(4), &[slice("s", unordered)]);
    assert_eq!(names(&found.expect("four")), ["gpu-1", "gpu-9", "gpu-10", "gpu-x"]);
    let gpu = |index: u32, text: &str| Gpu { index, bus: bus(text), ..Gpu::default() };
    let own = listed([gpu(0, "0000:c1:00.0"), gpu(1, "0000:17:00.0")]);
    let (found, doubts) = from(&with(node(2), own), &[slice("s", devices.clone())]);
    assert_eq!(names(&found.expect("two")), ["gpu-0", "gpu-1"]);
    assert!(doubts.is_empty());
    // By uuid as well; and where the list has other devices, its numbers mean nothing.
    let uuid = |text: &str| Some(text.into());
    let gpus = |uuids: [&str; 2]| {
        let gpu = |(index, of): (u32, &str)| Gpu { index, uuid: uuid(of), ..Gpu::default() };
        listed((0..).zip(uuids).map(gpu).collect::<Vec<_>>())
    };
    let devices = ["u1", "u0"].map(|of| SliceDevice { uuid: uuid(of), ..device(of) });
    let (found, _) = from(&with(node(2), gpus(["u0", "u1"])), &[slice("s", devices.clone())]);
    let found = found.expect("two");
    assert_eq!((names(&found), found.is_foreseen), (vec!["u0", "u1"], true));
    let (found, doubts) = from(&with(node(2), gpus(["u0", "u2"])), &[slice("s", devices)]);
    assert!(!found.expect("two").is_foreseen);
    assert_eq!(doubts, ["the list of gpu.kubenexus.io: 2 GPUs: the 2 of ResourceSlices"]);
}

#[test]
fn every_fact_of_a_device_comes_from_the_best_source_that_has_it() {
    let slice_device = |zones: &[u32]| SliceDevice {
        zones: zones.into(),
        root: Some("pci0000:16".into()),
        nvlink_domain: Some("left".into()),
        nvlink_peers: ["gpu-1".into(), "1".into(), "nobody".into()].into(),
        ..device("gpu-0")
    };
    let mut second = slice_device(&[]);
    (second.name, second.nvlink_peers) = ("gpu-1".into(), ["0".into()].into());
    let gpu = |index: u32| Gpu {
        index,
        vendor: Some(0x10de),
        device: Some(0x2330),
        zone: Some(1),
        root: Some("0000:15:00.0".into()),
        switch: Some("0000:14:00.0".into()),
        ..Gpu::default()
    };
    let facts = with(node(2), listed([gpu(0), gpu(1)]));
    let (found, doubts) = from(&facts, &[slice("s", [slice_device(&[0, 1]), second])]);
    let found = found.expect("two");
    let expected = Device {
        name: "gpu-0".into(),
        zones: Some([0, 1].into()),
        root: Some("pci0000:16".into()),
        switch: Some("0000:14:00.0".into()),
        nvlink_domain: Some(0),
        nvlink_peers: 0b10,
        memory: Some(81_559 << 20),
        model: None,
        partition: None,
        is_healthy: true,
    };
    assert_eq!(found.devices[0], expected);
    assert_eq!(found.devices[1].zones.as_deref(), Some(&[1][..]), "only the agent knows");
    assert_eq!(found.devices[1].nvlink_peers, 0b01);
    assert_eq!(found.link, Some(GpuLink::NvLink), "as the product has it");
    let unknown = "nvlink-peers of gpu-0 in ResourceSlices: nobody: a device of the node by name, \
                   uuid, address or number";
    assert_eq!(doubts, [unknown]);
}

#[test]
fn contradictions_are_told_once_and_of_memory_the_smaller_amount_counts() {
    let says = |index: u32| Gpu {
        index,
        zone: Some(1),
        model: Some("NVIDIA A100-SXM4-80GB".into()),
        memory: Some(90 << 30),
        ..Gpu::default()
    };
    let slice_device = |name: &str| SliceDevice {
        zones: [0].into(),
        model: Some("NVIDIA H100 80GB HBM3".into()),
        memory: Some(80 << 30),
        ..device(name)
    };
    let mut hardware = listed([says(0), says(1)]);
    hardware.all_gpus.model = Some("NVIDIA-H100-80GB-HBM3".into());
    hardware.all_gpus.memory = Some(79 << 30);
    let slices = [slice("s", [slice_device("gpu-0"), slice_device("gpu-1")])];
    let (found, doubts) = from(&with(node(2), hardware.clone()), &slices);
    let found = found.expect("two");
    assert!(found.devices.iter().all(|device| device.memory == Some(79 << 30)));
    assert_eq!(found.devices[0].model.as_deref(), Some("NVIDIA H100 80GB HBM3"));
    assert_eq!(found.devices[1].zones.as_deref(), Some(&[0][..]));
    let expected = [
        "the model in gpu.kubenexus.io/devices: NVIDIA A100-SXM4-80GB: \
         \"NVIDIA H100 80GB HBM3\", as the model in ResourceSlices says",
        "memory in ResourceSlices: 81920 MiB: 80896 MiB, as nvidia.com/gpu.memory says",
        "vram in gpu.kubenexus.io/devices: 92160 MiB: 80896 MiB, as nvidia.com/gpu.memory says",
        "the zone of GPU 0 in gpu.kubenexus.io: 1: one of [0], as ResourceSlices say",
        "the zone of GPU 1 in gpu.kubenexus.io: 1: one of [0], as ResourceSlices say",
    ];
    assert_eq!(doubts, expected, "each once, though two devices have it");
    // What is said of all of them is not said of each where they differ.
    let mut slices = slices;
    slices[0].devices[1].memory = Some(40 << 30);
    hardware.gpus = Box::default();
    let (found, doubts) = from(&with(node(2), hardware), &slices);
    let memory: Vec<_> = found.expect("two").devices.iter().map(|it| it.memory).collect();
    assert_eq!((memory, doubts.len()), (vec![Some(80 << 30), Some(40 << 30)], 0));
}

#[test]
fn without_slices_labels_tell_of_all_devices_and_products_of_their_memory() {
    let model = Some("NVIDIA-A100-SXM4-40GB".into());
    let product = AllGpus { model, count: Some(8), ..AllGpus::default() };
    let (found, doubts) = from(&with(node(8), all(product.clone())), &[]);
    let found = found.expect("eight");
    assert_eq!((found.devices.len(), doubts.len()), (8, 0));
    assert!(found.devices.iter().all(|device| device.memory == Some(40_960 << 20)));
    assert_eq!((found.link, found.is_foreseen), (Some(GpuLink::NvLink), false));
    let memory = AllGpus { memory: Some(1 << 30), link: Some(GpuLink::Pcie), ..product.clone() };
    let (found, _) = from(&with(node(8), all(memory)), &[]);
    let found = found.expect("eight");
    assert_eq!((found.devices[7].memory, found.link), (Some(1 << 30), Some(GpuLink::Pcie)));
    assert_eq!(from(&with(node(7), all(product)), &[]).0, None, "of one it is not known why");
}

#[test]
fn shared_and_divided_devices_are_told_apart() {
    let shared = |resource: &str, replicas, is_mps| SharedGpus {
        resource: resource.into(),
        replicas,
        is_mps,
    };
    let model: Option<Box<str>> = Some("Tesla-T4".into());
    let told = |is_mps| AllGpus {
        model: model.clone(),
        shared: [shared(GPU, 4, is_mps)].into(),
        ..AllGpus::default()
    };
    let (found, _) = from(&with(node(8), all(told(false))), &[slice("s", gpus(2))]);
    let found = found.expect("two of four each");
    assert_eq!((found.devices.len(), found.sharing), (2, Sharing::TimeSlicing(4)));
    assert!(!found.is_foreseen);
    let (found, _) = from(&with(node(8), all(told(true))), &[]);
    assert_eq!(found.map(|it| (it.devices.len(), it.sharing)), Some((2, Sharing::Mps(4))));
    let (found, doubts) = from(&with(node(6), all(told(true))), &[slice("s", gpus(2))]);
    assert_eq!((found, doubts.len()), (None, 1), "six is no multiple of four");
    // Under a name of its own, and as parts.
    let part = GpuPart { profile: "1g.5gb".into(), model: model.clone(), memory: Some(5 << 30) };
    let parts = AllGpus { parts: [part].into(), ..told(false) };
    let devices = |resource: &str| {
        let mut catalog = Catalog::default();
        let (id, _) = catalog.apply_node(&with(offering(resource, 8), all(parts.clone())));
        let resource = catalog.find_resource(resource).expect("it is offered");
        catalog.devices(id).and_then(|devices| devices.get(resource).cloned())
    };
    let found = devices("nvidia.com/gpu.shared").expect("shared ones");
    assert_eq!((found.devices.len(), found.sharing), (2, Sharing::TimeSlicing(4)));
    let found = devices("nvidia.com/mig-1g.5gb").expect("parts");
    assert_eq!(found.devices.len(), 8);
    let device = &found.devices[0];
    assert_eq!((device.memory, device.partition.as_deref()), (Some(5 << 30), Some("1g.5gb")));
    assert_eq!(devices("nvidia.com/mig-2g.10gb"), None);
}

#[test]
fn what_is_allocated_to_claims_is_counted_by_claim() {
    let mut catalog = Catalog::default();
    let (id, _) = catalog.apply_node(&node(3));
    let resource = catalog.find_resource(GPU).expect("it is offered");
    let both = claim("c", &["gpu-0", "gpu-2"]);
    assert_eq!(catalog.set_resource_claim(&both), [], "nobody has such a pool");
    assert_eq!(catalog.set_resource_slice(&slice("s", gpus(3))), [id]);
    assert_eq!(catalog.claimed_devices(id, resource), 0b101);
    assert_eq!(catalog.set_resource_claim(&claim("d", &["gpu-2", "gpu-9"])), []);
    assert_eq!(catalog.set_resource_claim(&claim("c", &["gpu-1"])), [id]);
    assert_eq!(catalog.claimed_devices(id, resource), 0b110, "gpu-2 is d's as well");
    assert!(catalog.has(&Fact::from(claim("c", &["gpu-1"]))));
    assert_eq!(catalog.delete_resource_claim("default/d"), [id]);
    assert_eq!(catalog.set_resource_claim(&claim("c", &[])), [id]);
    assert_eq!(catalog.claimed_devices(id, resource), 0);
    assert!(catalog.has(&Fact::from(claim("c", &[]))) && catalog.slices.are_unclaimed());
    assert_eq!(catalog.delete_resource_claim("default/c"), []);
}

#[test]
fn only_what_drivers_of_the_table_tell_is_kept() {
    let mut catalog = Catalog::default();
    let foreign = ResourceSliceFacts { driver: "dra.cpu".into(), ..slice("f", gpus(1)) };
    let nowhere = ResourceSliceFacts { node: Box::default(), ..slice("n", []) };
    for slice in [&foreign, &nowhere] {
        assert!(catalog.has(&Fact::from(slice.clone())), "there is nothing to take in");
        assert_eq!(catalog.set_resource_slice(slice), []);
    }
    assert_eq!(catalog.facts().count(), 0);
    let entry = |driver: &str| (driver.to_owned(), "example.com/cpu".to_owned());
    let mut many: Vec<_> = (0..65).map(|at| entry(&format!("d{at}"))).collect();
    assert!(!catalog.set_device_drivers(many.clone()));
    many.truncate(64);
    assert!(catalog.set_device_drivers(many));
    assert!(!catalog.set_device_drivers(vec![entry("d"), entry("d")]));
    assert!(!catalog.set_device_drivers(vec![entry("")]));
    assert!(catalog.set_device_drivers(vec![entry("dra.cpu")]));
    let (id, _) = catalog.apply_node(&offering("example.com/cpu", 1));
    assert!(!catalog.has(&Fact::from(foreign.clone())));
    assert_eq!(catalog.set_resource_slice(&foreign), [id]);
    assert!(catalog.has(&Fact::from(foreign)) && found_count(&catalog, id) == 1);
    assert_eq!(catalog.facts().count(), 1);
    // A slice of a driver that is not there any more, or of another node, is gone from the first.
    let moved = ResourceSliceFacts { driver: "dra.cpu".into(), node: "b".into(), ..slice("f", []) };
    assert_eq!(catalog.set_resource_slice(&moved), [id]);
    assert_eq!(found_count(&catalog, id), 0);
}

#[test]
fn a_node_whose_offer_makes_its_slices_fit_has_other_devices() {
    let mut catalog = Catalog::default();
    catalog.apply_node(&node(5));
    catalog.set_resource_slice(&slice("s", gpus(4)));
    let hardware = NodeAspects { hardware: true, ..NodeAspects::default() };
    assert_eq!(catalog.apply_node(&node(4)).1, NodeChange::Changed(hardware));
    assert_eq!(catalog.apply_node(&node(4)).1, NodeChange::Same);
}

#[test]
fn alike_nodes_share_devices_as_long_as_a_node_has_them() {
    let mut catalog = Catalog::default();
    for name in ["a", "b"] {
        catalog.apply_node(&NodeFacts { name: name.into(), ..node(2) });
        let mut of_node = slice(name, gpus(2));
        (of_node.node, of_node.pool) = (name.into(), name.into());
        for (at, device) in of_node.devices.iter_mut().enumerate() {
            device.uuid = Some(format!("{name}-{at}").into());
        }
        catalog.set_resource_slice(&of_node);
    }
    assert_eq!(catalog.devices.alike.count(), 1);
    catalog.delete_node("a");
    assert_eq!(catalog.devices.alike.count(), 1);
    catalog.delete_resource_slice("b");
    assert_eq!((catalog.devices.alike.count(), catalog.devices.of_node.len()), (0, 0));
    assert!(catalog.delete_resource_slice("a").is_empty());
    assert_eq!(catalog.facts().count(), 0);
}
