//! Nodes as clusters serve them.

use model::{Effect, Features, Taint};
use serde_json::{Value, json};

use crate::node_facts;

/// A GPU node of a managed cluster, with what its agents write about it.
fn gpu_node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "gpu-a100-7f9c", "uid": "5f3c1e7a", "resourceVersion": "81234567",
            "creationTimestamp": "2026-01-10T08:00:00Z",
            "labels": {
                "kubernetes.io/hostname": "gpu-a100-7f9c",
                "kubernetes.io/arch": "amd64",
                "node.kubernetes.io/instance-type": "a2-highgpu-8g",
                "topology.kubernetes.io/zone": "europe-west4-a",
                "feature.node.kubernetes.io/cpu-cpuid.AVX512F": "true",
                "feature.node.kubernetes.io/pci-10de.present": "true",
                "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
                "nvidia.com/gpu.count": "8"
            },
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "managedFields": [{"manager": "kubelet", "operation": "Update", "apiVersion": "v1",
                "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:allocatable": {}}}}]
        },
        "spec": {
            "podCIDR": "10.8.3.0/24", "providerID": "gce://project/zone/gpu-a100-7f9c",
            "unschedulable": true,
            "taints": [
                {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule",
                 "timeAdded": "2026-02-01T00:00:00Z"},
                {"key": "spot", "effect": "PreferNoSchedule"},
                {"key": "gone", "effect": "NoExecute"},
                {"key": "new", "effect": "NoWayEver"}
            ]
        },
        "status": {
            "capacity": {"cpu": "96", "memory": "1433Gi", "pods": "64", "nvidia.com/gpu": "8"},
            "allocatable": {
                "cpu": "95690m", "memory": "1402718556Ki", "ephemeral-storage": "47093746742",
                "hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": "64", "nvidia.com/gpu": "8"
            },
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "addresses": [{"type": "InternalIP", "address": "10.164.0.12"}],
            "nodeInfo": {"kubeletVersion": "v1.37.1", "architecture": "amd64"},
            "images": [
                {"names": ["nvcr.io/nvidia/pytorch@sha256:0123", "nvcr.io/nvidia/pytorch:26.01"],
                 "sizeBytes": 9_876_543_210_i64},
                {"names": ["registry.k8s.io/pause:3.10"], "sizeBytes": 320_000},
                {"names": null, "sizeBytes": 5}
            ],
            "declaredFeatures": ["SomethingNew", "VolumeBindMountOptions"]
        }
    })
}

#[test]
fn a_gpu_node_becomes_facts() {
    let facts = node_facts(&gpu_node());
    assert_eq!(facts.name, "gpu-a100-7f9c");
    assert!(facts.is_closed);
    assert_eq!(facts.labels.len(), 8);
    let zone = ("topology.kubernetes.io/zone".into(), "europe-west4-a".into());
    assert!(facts.labels.contains(&zone));
    assert_eq!(facts.pods_max, 64);
    let offer = &facts.allocatable;
    assert_eq!((offer.cpu, offer.memory), (95_690, 1_402_718_556 * 1024));
    assert_eq!(offer.ephemeral, 47_093_746_742);
    let scalars: [(String, i64); 3] =
        [("hugepages-1Gi".into(), 0), ("hugepages-2Mi".into(), 0), ("nvidia.com/gpu".into(), 8)];
    assert_eq!(*offer.scalars, scalars);
    assert_eq!(facts.features, Features::BIND_MOUNT_OPTIONS);
}

#[test]
fn images_are_known_by_each_of_their_names() {
    let expected: [(String, i64); 3] = [
        ("nvcr.io/nvidia/pytorch@sha256:0123".into(), 9_876_543_210),
        ("nvcr.io/nvidia/pytorch:26.01".into(), 9_876_543_210),
        ("registry.k8s.io/pause:3.10".into(), 320_000),
    ];
    assert_eq!(node_facts(&gpu_node()).images, expected);
}

#[test]
fn taints_keep_their_order() {
    let taint = |key: &str, value: &str, effect| Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    };
    let expected = [
        taint("nvidia.com/gpu", "present", Effect::NoSchedule),
        taint("node.kubernetes.io/unschedulable", "", Effect::NoSchedule),
        taint("spot", "", Effect::PreferNoSchedule),
        taint("gone", "", Effect::NoExecute),
        taint("new", "", Effect::Unknown),
    ];
    assert_eq!(node_facts(&gpu_node()).taints, expected);
}

/// What a node has is not what it offers.
#[test]
fn capacity_alone_offers_nothing() {
    let facts = node_facts(&json!({"status": {"capacity": {"cpu": "4", "pods": "110"}}}));
    assert_eq!((facts.allocatable.cpu, facts.pods_max), (0, 0));
}
