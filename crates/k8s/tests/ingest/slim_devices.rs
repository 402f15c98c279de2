//! Devices in ResourceSlices and ResourceClaims: slim, and without names.

use model::device::{ClaimedDevice, SliceDevice};
use model::{Event, Fact};
use serde_json::{Value, json};

use crate::slim_kinds::{event, metadata, nameless, object};

/// Devices that a driver of its own tells of, and one of them that is allocated.
pub(crate) fn devices() -> Vec<Value> {
    let result = |device: &str| {
        json!({"request": "noise", "driver": "gpu.acme.example", "pool": "acme-east-1",
            "device": device, "consumedCapacity": {"noise": "1"}})
    };
    vec![
        object(
            "resource.k8s.io/v1",
            "ResourceSlice",
            metadata("acme-slice", json!({})),
            json!({"spec": {
                "driver": "gpu.acme.example", "nodeName": "acme-node",
                "pool": {"name": "acme-east-1", "generation": 1, "resourceSliceCount": 1},
                "devices": [{
                    "name": "gpu-0",
                    "attributes": {
                        "gpu.acme.example/uuid": {"string": "u-9"},
                        "noise": {"string": "noise"},
                        "type": {"string": "gpu"},
                        "productName": {"string": "NVIDIA L4"},
                        "resource.kubernetes.io/pciBusID": {"string": "0000:17:00.0"},
                        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:16"},
                        "nvlink-domain": {"string": "left"},
                        "nvlink-peers": {"string": "gpu-1, crimson"}
                    },
                    "capacity": {"gpu.acme.example/memory": {"value": "22Gi"}, "noise": {}},
                    "taints": [{"key": "acme.example/xid", "effect": "NoSchedule"}]
                }, {"name": "crimson"}]
            }}),
        ),
        object(
            "resource.k8s.io/v1",
            "ResourceClaim",
            metadata("acme-claim", json!({"namespace": "payroll"})),
            json!({"spec": {"noise": []}, "status": {"allocation": {"devices": {
                "results": [result("gpu-0"), result("crimson")]}}}}),
        ),
    ]
}

#[test]
fn devices_without_names_are_where_they_were_and_as_they_were() {
    let found = nameless(&devices());
    let [Event::Seen(Fact::ResourceSlice(slice)), Event::Seen(Fact::ResourceClaim(claim))] =
        [event(&found[0]), event(&found[1])]
    else {
        panic!("{found:?}");
    };
    let claimed = |device: &SliceDevice| ClaimedDevice {
        driver: slice.driver.clone(),
        pool: slice.pool.clone(),
        device: device.name.clone(),
    };
    assert!(slice.devices.iter().map(claimed).eq(claim.devices.iter().cloned()));
    let device = &slice.devices[0];
    assert_eq!(*device.nvlink_peers, ["gpu-1".into(), slice.devices[1].name.clone()]);
    assert_eq!((device.memory, device.is_tainted), (Some(22 << 30), true));
    assert_eq!(device.bus.map(|bus| bus.to_string()).as_deref(), Some("0000:17:00.0"));
    assert_eq!(device.root.as_deref(), Some("pci0000:16"));
    assert_eq!(device.model.as_deref(), Some("NVIDIA L4"));
}
