//! ResourceSlices and ResourceClaims.

use kubenexus_k8s::ingest::{
    read_resource_claim, read_resource_slice, resource_claim, resource_slice,
};
use model::device::{
    ClaimedDevice, PciAddress, ResourceClaimFacts, ResourceSliceFacts, SliceDevice,
};
use model::{Event, Fact};
use serde_json::{Value, json};

/// The facts of a slice; the same whether it is read as a value or as text.
fn slice(spec: Value) -> ResourceSliceFacts {
    let object = json!({"metadata": {"name": "s", "resourceVersion": "7"}, "spec": spec});
    let event = resource_slice(&object).expect("a slice");
    let read = read_resource_slice(object.to_string().as_bytes()).expect("a slice");
    assert_eq!(read, ("7".into(), event.clone()));
    let Event::Seen(Fact::ResourceSlice(facts)) = event else { panic!("no slice: {object}") };
    *facts
}

fn of_node(devices: Value) -> ResourceSliceFacts {
    slice(json!({
        "driver": "gpu.nvidia.com",
        "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
        "nodeName": "n",
        "devices": devices,
    }))
}

/// What is read of a device with these attributes, and what is not.
fn read(attributes: Value) -> (SliceDevice, Vec<String>) {
    let facts = of_node(json!([{"name": "gpu-0", "attributes": attributes}]));
    let unread = facts.unread.iter().map(|it| format!("{}: {}: {}", it.key, it.value, it.expected));
    (facts.devices[0].clone(), unread.collect())
}

fn device() -> SliceDevice {
    SliceDevice { name: "gpu-0".into(), ..SliceDevice::default() }
}

#[test]
fn a_slice_of_a_node_has_the_devices_that_the_driver_writes() {
    let facts = of_node(json!([{
        "name": "gpu-0",
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": "GPU-1"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "580.1.1"},
            "pcieBusID": {"string": "0000:17:00.0"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:16"}
        },
        "capacity": {"memory": {"value": "81559Mi"}},
    }]));
    let expected = ResourceSliceFacts {
        name: "s".into(),
        node: "n".into(),
        driver: "gpu.nvidia.com".into(),
        pool: "p".into(),
        generation: 3,
        slice_count: 2,
        devices: [SliceDevice {
            bus: PciAddress::parse("0000:17:00.0"),
            root: Some("pci0000:16".into()),
            uuid: Some("GPU-1".into()),
            model: Some("NVIDIA H100 80GB HBM3".into()),
            memory: Some(81_559 << 20),
            ..device()
        }]
        .into(),
        unread: [].into(),
    };
    assert_eq!(facts, expected);
}

#[test]
fn attributes_have_their_names_with_the_domain_of_the_driver_or_without_and_standard_ones_win() {
    let zones = |zones: &[u32]| SliceDevice { zones: zones.into(), ..device() };
    let table = [
        (json!({"numa-node": {"int": 1}}), zones(&[1])),
        (json!({"numaNode": {"int": 0}}), zones(&[0])),
        (json!({"numa": {"int": 2}}), zones(&[2])),
        (json!({"gpu.nvidia.com/numa-node": {"int": 1}}), zones(&[1])),
        (json!({"other.example/numa-node": {"int": 1}}), zones(&[])),
        (json!({"resource.kubernetes.io/numaNode": {"ints": [3, 1, 3]}}), zones(&[1, 3])),
        (json!({"numa": {"int": 1}, "resource.kubernetes.io/numaNode": {"int": 0}}), zones(&[0])),
        (json!({"numa": {"int": -1}}), zones(&[])),
        (json!({"numa": {"string": "1"}}), zones(&[])),
        (json!({"numa": {"bool": true}}), zones(&[])),
        (json!({"numa": {"future": [1]}}), zones(&[])),
        (
            json!({"model": {"string": "H100"}}),
            SliceDevice { model: Some("H100".into()), ..device() },
        ),
        (
            json!({"nvlink-domain": {"int": 4}, "nvlink-peers": {"string": "gpu-1, gpu-2,"}}),
            SliceDevice {
                nvlink_domain: Some("4".into()),
                nvlink_peers: ["gpu-1".into(), "gpu-2".into()].into(),
                ..device()
            },
        ),
        (
            json!({"pcie-switch": {"string": "s"}, "pcie-bus-id": {"string": "17:00.0"}}),
            SliceDevice {
                switch: Some("s".into()),
                bus: PciAddress::parse("0000:17:00.0"),
                ..device()
            },
        ),
        (
            json!({"vram": {"int": 85_899_345_920_u64}}),
            SliceDevice { memory: Some(80 << 30), ..device() },
        ),
    ];
    for (attributes, expected) in table {
        let text = attributes.to_string();
        assert_eq!(read(attributes), (expected, Vec::new()), "{text}");
    }
}

#[test]
fn what_means_nothing_is_unknown_and_named() {
    let many = vec!["x"; 129].join(",");
    let table = [
        (
            json!({"numa-node": {"int": 64}}),
            "numa-node of device gpu-0 in ResourceSlice s: 64: ids of zones from 0 to 63",
        ),
        (
            json!({"pcie-bus-id": {"string": "17"}}),
            "pcie-bus-id of device gpu-0 in ResourceSlice s: 17: \
             a PCI address such as 0000:65:00.0",
        ),
        (
            json!({"vram": {"int": 0}}),
            "vram of device gpu-0 in ResourceSlice s: 0: an amount of bytes",
        ),
        (
            json!({"nvlink-peers": {"string": many}}),
            "nvlink-peers of device gpu-0 in ResourceSlice s: more: at most 128 peers",
        ),
    ];
    for (attributes, expected) in table {
        assert_eq!(read(attributes), (device(), vec![expected.to_owned()]));
    }
    let both = of_node(json!([{
        "name": "gpu-0",
        "attributes": {"vram": {"int": 5}},
        "capacity": {"memory": {"value": "7"}},
    }]));
    assert_eq!((both.devices[0].memory, both.unread.len()), (Some(5), 1), "the smaller counts");
    let devices = |count: usize| json!(vec![json!({"name": "x"}); count]);
    assert_eq!(of_node(devices(128)).devices.len(), 128);
    let facts = of_node(devices(129));
    assert_eq!((facts.devices.len(), facts.unread.len()), (0, 1));
}

#[test]
fn taints_that_keep_pods_off_make_a_device_unfit() {
    let table = [("NoSchedule", true), ("NoExecute", true), ("None", false), ("Later", false)];
    for (effect, expected) in table {
        let taints = json!([{"key": "example.com/xid", "effect": effect}]);
        let facts = of_node(json!([{"name": "gpu-0", "taints": taints}]));
        assert_eq!(facts.devices[0].is_tainted, expected, "{effect}");
    }
}

#[test]
fn parts_of_devices_and_devices_of_several_nodes_are_left_out() {
    let of = |kind: &str| json!({"name": kind, "attributes": {"type": {"string": kind}}});
    let facts = of_node(json!([of("gpu"), of("mig"), of("vfio")]));
    assert_eq!(facts.devices.iter().map(|it| &*it.name).collect::<Vec<_>>(), ["gpu"]);
    let selector = json!({"nodeSelectorTerms": []});
    for place in [json!({"allNodes": true}), json!({"nodeSelector": selector}), json!({})] {
        let mut spec = json!({"driver": "d", "pool": {}, "devices": [{"name": "x"}]});
        spec.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        let facts = slice(spec);
        assert!(facts.node.is_empty() && facts.devices.is_empty(), "{place}");
    }
}

#[test]
fn of_a_claim_nothing_is_read_but_what_is_allocated_to_it() {
    let claim = |status: Value| {
        let metadata = json!({"name": "c", "namespace": "ns", "resourceVersion": "8"});
        let object = json!({"metadata": metadata, "spec": {"devices": {}}, "status": status});
        let event = resource_claim(&object).expect("a claim");
        let read = read_resource_claim(object.to_string().as_bytes()).expect("a claim");
        assert_eq!(read, ("8".into(), event.clone()));
        let Event::Seen(Fact::ResourceClaim(facts)) = event else { panic!("no claim: {object}") };
        *facts
    };
    let facts = claim(json!({"allocation": {"devices": {"results": [
        {"request": "r", "driver": "d", "pool": "p", "device": "x", "adminAccess": null},
        {"request": "r", "driver": "d", "pool": "p", "device": "y", "adminAccess": true},
    ]}}}));
    let x = ClaimedDevice { driver: "d".into(), pool: "p".into(), device: "x".into() };
    let (namespace, name) = ("ns".into(), "c".into());
    assert_eq!(facts, ResourceClaimFacts { namespace, name, devices: [x].into() });
    for status in [json!(null), json!({}), json!({"allocation": null})] {
        assert!(claim(status).devices.is_empty());
    }
    let error = resource_claim(&json!({"status": []})).expect_err("no status");
    let expected = "ResourceClaim: status: expected an object, found a list";
    assert_eq!(error.to_string(), expected);
}
