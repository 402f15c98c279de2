//! Clusters and pods to measure on, as the objects an API server would serve. The same objects go
//! to us and to the peer.

use serde_json::{Map, Value, json};

use crate::workload::{Family, Machine, Profile, Template};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// What `kubenexus-agent` tells of a machine with two sockets and eight GPUs, and what its node
/// offers. Annotations that are not texts are JSON there.
const TWO_SOCKETS: &str = include_str!("../machines/two-sockets.json");
/// The annotation that tells how a kubelet is configured.
const KUBELET: &str = "numa.kubenexus.io/kubelet";

/// A node of which something may be told about its inside. So many in a row are in one rack, or
/// none is in any.
pub(crate) fn node(at: usize, machine: Machine, rack: usize) -> Value {
    let mut node = bare_node(at);
    if let Some(rack) = at.checked_div(rack) {
        let labels = &mut node["metadata"]["labels"];
        labels["topology.kubernetes.io/rack"] = format!("rack-{rack}").into();
        // A rack is in one zone.
        labels["topology.kubernetes.io/zone"] = format!("zone-{}", rack % 8).into();
    }
    let is_kubelet_told = match machine {
        Machine::Untold => return node,
        Machine::TwoSockets => true,
        Machine::TwoSocketsKubeletUntold => false,
    };
    let told: Value = serde_json::from_str(TWO_SOCKETS).expect("the committed file is JSON");
    let fields = |part: &str| told[part].as_object().into_iter().flatten();
    for (key, label) in fields("labels") {
        node["metadata"]["labels"][key] = label.clone();
    }
    for (key, value) in fields("annotations").filter(|(key, _)| is_kubelet_told || *key != KUBELET)
    {
        let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
        node["metadata"]["annotations"][key] = text.into();
    }
    for (resource, amount) in fields("allocatable") {
        node["status"]["allocatable"][resource] = amount.clone();
    }
    node
}

/// A node: three sizes, eight zones, a few images; every tenth asks to be avoided.
fn bare_node(at: usize) -> Value {
    let (cpu, memory) = [(32, 128), (64, 256), (96, 384)][at % 3];
    let taints = if at.is_multiple_of(10) {
        json!([{"key": "spot", "value": "true", "effect": "PreferNoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node_name(at), "uid": format!("node-uid-{at}"), "labels": {
            "kubernetes.io/hostname": node_name(at),
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

/// A node after its `change`th change, which is of its labels, of what it offers, or of its taints.
pub(crate) fn changed_node(mut node: Value, change: usize) -> Value {
    match change % 3 {
        0 => node["metadata"]["labels"]["rollout"] = json!(format!("r{change}")),
        1 => {
            let memory = &mut node["status"]["allocatable"]["memory"];
            let bytes = memory.as_str().and_then(|text| text.parse::<u64>().ok());
            let bytes = bytes.expect("a node has bytes of memory") + change as u64 * MIB;
            *memory = json!(bytes.to_string());
        }
        _ => {
            let taint = json!({"key": "rollout", "value": "r", "effect": "PreferNoSchedule"});
            node["spec"]["taints"] = json!([taint]);
        }
    }
    node
}

pub(crate) fn node_name(at: usize) -> String {
    format!("node-{at:05}")
}

/// Which node has a name that [`node_name`] made.
pub(crate) fn node_of_name(name: &str) -> Option<usize> {
    name.strip_prefix("node-")?.parse().ok()
}

pub(crate) fn pod_uid(at: usize) -> String {
    format!("{at:08x}-0000-4000-8000-{at:012x}")
}

/// Which pod has a uid that [`pod_uid`] made.
pub(crate) fn pod_of_uid(uid: &str) -> Option<usize> {
    usize::from_str_radix(uid.split('-').next()?, 16).ok()
}

/// A pod of a shape, without a name. Shapes differ in what they ask for and, if the template says
/// so, in where they may go.
pub(crate) fn pod(shape: usize, template: &Template, profile: Profile) -> Value {
    let (cpu, memory) = match template.from {
        Family::Plain | Family::Mixed => (100 + 10 * shape, (128 + 16 * shape) << 10),
        Family::Sizes => (50 + 37 * shape % 400, ((64 + 53 * shape % 900) << 10) + shape),
    };
    let mut requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Ki")});
    put(&mut requests, &template.requests);
    let mut spec = match template.from {
        Family::Plain | Family::Sizes => json!({}),
        Family::Mixed => mixed(shape),
    };
    let image = format!("registry/app-{}:1", shape % 7);
    spec["schedulerName"] = json!(profile.scheduler());
    let mut resources = json!({"requests": requests});
    if template.guaranteed {
        resources["limits"] = resources["requests"].clone();
    }
    spec["containers"] = json!([{"name": "main", "image": image, "resources": resources}]);
    put(&mut spec, &template.spec);
    let mut metadata = json!({"labels": template.labels});
    if !template.annotations.is_empty() {
        metadata["annotations"] = json!(template.annotations);
    }
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
    name_shape(&mut pod, &shape.to_string());
    pod
}

/// Puts the number of a shape where a template asks for it.
fn name_shape(value: &mut Value, shape: &str) {
    match value {
        Value::String(text) => *text = text.replace("{shape}", shape),
        Value::Array(values) => values.iter_mut().for_each(|value| name_shape(value, shape)),
        Value::Object(fields) => fields.values_mut().for_each(|value| name_shape(value, shape)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Gives a pod its name, in a namespace with a number or in the default one.
pub(crate) fn name(pod: &mut Value, at: usize, namespace: Option<usize>) {
    let metadata = &mut pod["metadata"];
    metadata["name"] = json!(format!("pod-{at:07}"));
    metadata["namespace"] = json!(namespace.map_or("default".into(), namespace_name));
    metadata["uid"] = json!(pod_uid(at));
}

/// Makes a pod one of a job, and of a gang of so many if it is one.
pub(crate) fn join(pod: &mut Value, job: usize, gang: Option<usize>) {
    let labels = &mut pod["metadata"]["labels"];
    labels["batch.kubernetes.io/job-name"] = json!(format!("job-{job}"));
    if let Some(size) = gang {
        labels["pod-group.scheduling.kubenexus.io/name"] = json!(format!("job-{job}"));
        labels["pod-group.scheduling.kubenexus.io/min-available"] = json!(size.to_string());
    }
}

/// Makes a pod one of a job that is a native gang.
pub(crate) fn join_group(pod: &mut Value, job: usize) {
    join(pod, job, None);
    pod["spec"]["schedulingGroup"] = json!({"podGroupName": format!("job-{job}")});
}

/// The native gang of a job: so many pods, on nodes with one value of a label.
pub(crate) fn pod_group(job: usize, size: usize, key: &str) -> Value {
    let name = format!("job-{job}");
    json!({
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "uid": format!("group-uid-{job}")},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": size}},
            "schedulingConstraints": {"topology": [{"key": key}]},
        },
    })
}

/// A namespace of a team.
pub(crate) fn namespace(at: usize) -> Value {
    let labels = json!({"kubernetes.io/metadata.name": namespace_name(at), "kind": "team"});
    let metadata = json!({"name": namespace_name(at), "labels": labels});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
}

fn namespace_name(at: usize) -> String {
    format!("team-{at}")
}

/// Some select zones, some prefer disks, some tolerate taints.
fn mixed(shape: usize) -> Value {
    match shape % 5 {
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
    }
}

fn disk(operator: &str, value: &str) -> Value {
    json!({"key": "disk", "operator": operator, "values": [value]})
}

fn put(object: &mut Value, fields: &Map<String, Value>) {
    fields.iter().for_each(|(key, value)| object[key] = value.clone());
}
