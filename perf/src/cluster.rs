//! Clusters and pods to measure on, as the objects an API server would serve. The same objects go
//! to us and to the peer.

use serde_json::{Value, json};

const GIB: u64 = 1 << 30;

/// A node: three sizes, eight zones, a few images; every tenth asks to be avoided.
pub(crate) fn node(at: usize) -> Value {
    let (cpu, memory) = [(32, 128), (64, 256), (96, 384)][at % 3];
    let taints = if at.is_multiple_of(10) {
        json!([{"key": "spot", "value": "true", "effect": "PreferNoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": format!("node-{at:05}"), "uid": format!("node-uid-{at}"), "labels": {
            "kubernetes.io/hostname": format!("node-{at:05}"),
            "kubernetes.io/os": "linux",
            "topology.kubernetes.io/zone": format!("zone-{}", at % 8),
            "disk": if at.is_multiple_of(2) { "ssd" } else { "hdd" },
        }},
        "spec": {"taints": taints},
        "status": {
            "allocatable": {
                "cpu": cpu.to_string(),
                "memory": (memory * GIB).to_string(),
                "ephemeral-storage": (200 * GIB).to_string(),
                "pods": "110",
            },
            "images": [
                {"names": ["registry/base:1"], "sizeBytes": 80_000_000},
                {"names": [format!("registry/app-{}:1", at % 5)], "sizeBytes": 900_000_000},
            ],
        },
    })
}

/// A pod that differs from other shapes in what it asks for, and in nothing else.
pub(crate) fn plain_pod(at: usize, shape: usize) -> Value {
    pod(at, shape, json!({}))
}

/// A pod of one of the shapes of a mixed cluster: some select zones, some prefer disks, some
/// tolerate taints.
pub(crate) fn mixed_pod(at: usize, shape: usize) -> Value {
    let extra = match shape % 5 {
        0 => {
            json!({"nodeSelector": {"topology.kubernetes.io/zone": format!("zone-{}", shape % 8)}})
        }
        1 => json!({"tolerations": [{"key": "spot", "operator": "Exists"}]}),
        2 => {
            let term = json!({"matchExpressions": [disk("In", "ssd")]});
            json!({"affinity": {"nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution":
                    [{"weight": 10, "preference": term}]}}})
        }
        3 => {
            let term = json!({"matchExpressions": [disk("NotIn", "tape")]});
            json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}})
        }
        _ => json!({}),
    };
    pod(at, shape, extra)
}

/// Every second pod asks for a device that no node has.
pub(crate) fn half_waiting_pod(at: usize, shape: usize) -> Value {
    let mut pod = mixed_pod(at, shape);
    if shape.is_multiple_of(2) {
        pod["spec"]["containers"][0]["resources"]["requests"]["example.com/device"] = json!("1");
    }
    pod
}

/// Whether a pod asks for what no node has.
pub(crate) fn fits_nowhere(pod: &Value) -> bool {
    let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
    requests.get("example.com/device").is_some()
}

fn disk(operator: &str, value: &str) -> Value {
    json!({"key": "disk", "operator": operator, "values": [value]})
}

fn pod(at: usize, shape: usize, mut spec: Value) -> Value {
    let image = format!("registry/app-{}:1", shape % 7);
    let requests = json!({
        "cpu": format!("{}m", 100 + 10 * shape),
        "memory": format!("{}Mi", 128 + 16 * shape),
    });
    spec["schedulerName"] = json!("default-scheduler");
    spec["containers"] =
        json!([{"name": "main", "image": image, "resources": {"requests": requests}}]);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("pod-{at:07}"),
            "namespace": "default",
            "uid": format!("{at:08x}-0000-4000-8000-{at:012x}"),
        },
        "spec": spec,
    })
}
