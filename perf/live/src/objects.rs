//! Nodes, pods and claims that are created.

use serde_json::{Value, json};

use crate::watch::Meta;
use crate::whole;

/// Whom the pods ask for. Every contender answers to this name, so that all get the same pods.
pub(crate) const SCHEDULER: &str = "kubenexus-scheduler";

/// Nodes of a rack.
pub(crate) const RACK_NODES: usize = 100;
/// Pools of nodes that diverse pods choose from.
const POOLS: usize = 5;
/// Shapes of diverse pods.
const SHAPES: usize = 50;
/// Apps of pods with rules about each other.
const APPS: usize = 10;
/// The label of namespaces that such rules select.
pub(crate) const KIND: &str = "bench";
/// What pods are worth that may take the place of others.
pub(crate) const HIGH_PRIORITY: &str = "high";

/// Where a pod says with which NUMA nodes it was bound.
pub(crate) const PLACEMENT: &str = "numa.kubenexus.io/placement";
/// What `kubenexus-agent` tells of a machine, and what its node offers. Annotations that are not
/// texts are JSON there.
const TWO_SOCKETS: &str = include_str!("../../machines/two-sockets.json");

/// Who makes volumes.
pub(crate) const PROVISIONER: &str = "bench.kubenexus.io";
/// Which node is selected for the volume of a claim.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const STORAGE_CLASS: &str = "bench";
const ACCESS_MODE: &str = "ReadWriteOnce";
const STORAGE: &str = "1Gi";

/// What the pods of a run are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// All of one shape.
    Plain,
    /// Fifty shapes in turns: requests, node selectors, tolerations.
    Diverse,
    /// 3,600 sizes, as those of notebooks and of pods that an autoscaler resizes.
    Sizes,
    /// Ten apps, each spread evenly over zones.
    Spread,
    /// Ten apps, each in zones where it already is.
    Affinity,
    /// Ten apps, no two pods of one on a node, whatever their namespace.
    AntiAffinity,
    /// A quarter of a node each, less a little.
    Low,
    /// In place of three of those.
    High,
    /// Native gangs of so many, which start whole.
    Gangs(usize),
    /// The same, each within one rack.
    Racks(usize),
    /// All of one shape, each with a claim of its own.
    Volumes,
    /// Five shapes with CPUs, and some with GPUs, of their own.
    Numa,
    /// What every part of our own profile speaks about.
    Whole,
}

impl Workload {
    /// As figures spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Diverse => "diverse",
            Self::Sizes => "sizes",
            Self::Spread => "spread",
            Self::Affinity => "affinity",
            Self::AntiAffinity => "anti_affinity",
            Self::Low => "low",
            Self::High => "high",
            Self::Gangs(_) => "gangs",
            Self::Racks(_) => "racks",
            Self::Volumes => "volumes",
            Self::Numa => "numa",
            Self::Whole => "whole",
        }
    }

    /// The pod at a position.
    pub(crate) fn pod(self, at: usize) -> Value {
        let app = format!("app-{}", at % APPS);
        let labels = json!({"app": app});
        match self {
            Self::Plain => pod(at, json!({"app": "bench"}), [100, 128], json!({})),
            Self::Diverse => diverse(at),
            Self::Sizes => {
                let size = [50 + 37 * at % 400, 64 + 53 * at % 900];
                pod(at, json!({"app": "bench"}), size, json!({}))
            }
            Self::Spread => pod(at, labels.clone(), [100, 128], spread(&labels)),
            Self::Affinity => {
                let affinity = json!({"podAffinity": required(ZONE, &labels)});
                pod(at, labels, [100, 128], json!({"affinity": affinity}))
            }
            Self::AntiAffinity => {
                let mut rule = required(HOSTNAME, &labels);
                rule[REQUIRED][0]["namespaceSelector"] = json!({"matchLabels": {"kind": KIND}});
                pod(at, labels, [100, 128], json!({"affinity": {"podAntiAffinity": rule}}))
            }
            // Nobody is there to end them: they are gone as soon as they are deleted.
            Self::Low => pod(at, labels, [7_200, 128], json!({"terminationGracePeriodSeconds": 0})),
            Self::High => {
                pod(at, labels, [24_000, 128], json!({"priorityClassName": HIGH_PRIORITY}))
            }
            Self::Gangs(size) => {
                let group = json!({"schedulingGroup": {"podGroupName": gang(at / size)}});
                pod(at, json!({"app": "bench"}), [100, 128], group)
            }
            Self::Racks(size) => {
                let group = json!({"schedulingGroup": {"podGroupName": gang(at / size)}});
                pod(at, json!({"app": "bench"}), [2_000, 128], group)
            }
            Self::Volumes => {
                let volume = json!({
                    "name": "data", "persistentVolumeClaim": {"claimName": claim_name(at)},
                });
                pod(at, json!({"app": "bench"}), [100, 128], json!({"volumes": [volume]}))
            }
            Self::Numa => aligned(at),
            Self::Whole => whole::at(at),
        }
    }

    /// How many pods, from a position on, are created together where others are one at a time.
    pub(crate) fn unit(self, at: usize) -> usize {
        if self == Self::Whole { whole::unit(at) } else { 1 }
    }

    /// The gang at a position, if its pods are in gangs.
    pub(crate) fn pod_group(self, at: usize) -> Option<Value> {
        let (Self::Gangs(size) | Self::Racks(size)) = self else { return None };
        let mut group = json!({
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": gang(at)},
            "spec": {"schedulingPolicy": {"gang": {"minCount": size}}},
        });
        if matches!(self, Self::Racks(_)) {
            group["spec"]["schedulingConstraints"] = json!({"topology": [{"key": RACK}]});
        }
        Some(group)
    }

    /// How many gangs so many pods are in.
    pub(crate) fn pod_groups(self, pods: usize) -> usize {
        match self {
            Self::Gangs(size) | Self::Racks(size) => pods.div_ceil(size),
            Self::Plain
            | Self::Diverse
            | Self::Sizes
            | Self::Spread
            | Self::Affinity
            | Self::AntiAffinity
            | Self::Low
            | Self::High
            | Self::Volumes
            | Self::Numa
            | Self::Whole => 0,
        }
    }
}

fn claim_name(at: usize) -> String {
    format!("claim-{at}")
}

/// The claim of the pod at a position. If the node for its volume is selected already, it waits
/// for no pod.
pub(crate) fn claim(at: usize, selected_node: Option<&str>) -> Value {
    let annotations = selected_node.map_or(json!({}), |node| json!({SELECTED_NODE: node}));
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim_name(at), "annotations": annotations},
        "spec": {
            "accessModes": [ACCESS_MODE],
            "storageClassName": STORAGE_CLASS,
            "resources": {"requests": {"storage": STORAGE}},
        },
    })
}

/// The class of all claims: a volume is made when a node is selected for it.
pub(crate) fn storage_class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": STORAGE_CLASS},
        "provisioner": PROVISIONER,
        "volumeBindingMode": "WaitForFirstConsumer",
    })
}

/// A volume for a claim, which a node can use.
pub(crate) fn volume(claim: &Meta, node: &str) -> Value {
    let name = format!("pvc-{}", claim.uid);
    let is_there = json!({"key": HOSTNAME, "operator": "In", "values": [node]});
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": name, "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER},
        },
        "spec": {
            "accessModes": [ACCESS_MODE],
            "capacity": {"storage": STORAGE},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": claim.namespace, "name": claim.name, "uid": claim.uid,
            },
            "csi": {"driver": PROVISIONER, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": STORAGE_CLASS,
            "nodeAffinity":
                {"required": {"nodeSelectorTerms": [{"matchExpressions": [is_there]}]}},
        },
    })
}

fn gang(at: usize) -> String {
    format!("gang-{at}")
}

const HOSTNAME: &str = "kubernetes.io/hostname";
const RACK: &str = "topology.kubernetes.io/rack";
pub(crate) const ZONE: &str = "topology.kubernetes.io/zone";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// A pod with labels that asks for thousandths of a CPU and MiB of memory; `spec` is added.
pub(crate) fn pod(at: usize, labels: Value, [cpu, memory]: [usize; 2], mut spec: Value) -> Value {
    let requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")});
    spec["schedulerName"] = json!(SCHEDULER);
    spec["containers"] =
        json!([{"name": "main", "image": "pause", "resources": {"requests": requests}}]);
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("pod-{at}"), "labels": labels},
        "spec": spec,
    })
}

/// A pod that a kubelet gives CPUs of its own to; two of five have a GPU, and two of five insist on
/// one NUMA node.
fn aligned(at: usize) -> Value {
    let (cpus, gpus, is_single) =
        [(4, 0, false), (2, 0, true), (4, 1, false), (6, 0, false), (8, 1, true)][at % 5];
    let labels = json!({"app": "bench", "workload.kubenexus.io/type": "batch"});
    let mut pod = pod(at, labels, [1_000 * cpus, 4_096], json!({}));
    let resources = &mut pod["spec"]["containers"][0]["resources"];
    if gpus > 0 {
        resources["requests"]["nvidia.com/gpu"] = json!(gpus.to_string());
    }
    resources["limits"] = resources["requests"].clone();
    if is_single {
        let policy = json!({"numa.scheduling.kubenexus.io/policy": "single-numa"});
        pod["metadata"]["annotations"] = policy;
    }
    pod
}

/// Makes a node one that tells what is inside it.
pub(crate) fn tell_zones(node: &mut Value) {
    let told: Value = serde_json::from_str(TWO_SOCKETS).expect("the committed file is JSON");
    let fields = |part: &str| told[part].as_object().into_iter().flatten();
    for (key, label) in fields("labels") {
        node["metadata"]["labels"][key] = label.clone();
    }
    for (key, value) in fields("annotations") {
        let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
        node["metadata"]["annotations"][key] = text.into();
    }
    for (resource, amount) in fields("allocatable") {
        node["status"]["capacity"][resource] = amount.clone();
        node["status"]["allocatable"][resource] = amount.clone();
    }
}

fn diverse(at: usize) -> Value {
    let shape = at % SHAPES;
    let mut spec = json!({});
    if shape % 3 == 1 {
        spec["nodeSelector"] = json!({"pool": pool(shape)});
    }
    if shape % 4 == 2 {
        let key = format!("dedicated-{}", shape % 7);
        spec["tolerations"] = json!([{"key": key, "operator": "Exists", "effect": "NoSchedule"}]);
    }
    pod(at, json!({"app": "bench"}), [100 + 10 * (shape % 10), 128 + 16 * (shape / 10)], spec)
}

fn spread(labels: &Value) -> Value {
    json!({"topologySpreadConstraints": [{
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }]})
}

/// A rule about pods with the same labels.
fn required(key: &str, labels: &Value) -> Value {
    json!({REQUIRED: [{"topologyKey": key, "labelSelector": {"matchLabels": labels}}]})
}

/// Nodes of a pool: ready, without taints, with room for every run. They are named `POOL-0`,
/// `POOL-1`, ...
pub(crate) fn pools(nodes: usize) -> impl Iterator<Item = (usize, Value)> {
    (0..POOLS).map(move |at| {
        let room = json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
        let labels = json!({
            "pool": pool(at),
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/region": "region",
            ZONE: format!("zone-{}", at % 3),
        });
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        });
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": pool(at), "labels": labels},
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
        });
        (nodes / POOLS + usize::from(at < nodes % POOLS), node)
    })
}

/// The nodes of a pool in racks. They are named `POOL-RACK-0`, `POOL-RACK-1`, ...
pub(crate) fn racks(nodes: usize, node: &Value) -> impl Iterator<Item = (usize, Value)> {
    (0..nodes.div_ceil(RACK_NODES)).map(move |at| {
        let mut node = node.clone();
        let name = format!("{}-{at}", node["metadata"]["name"].as_str().unwrap_or_default());
        node["metadata"]["labels"][RACK] = json!(name);
        node["metadata"]["name"] = json!(name);
        (RACK_NODES.min(nodes - at * RACK_NODES), node)
    })
}

/// The rack of a node that [`racks`] made, by its name.
pub(crate) fn rack_of(node: &str) -> &str {
    node.rsplit_once('-').map_or(node, |(rack, _)| rack)
}

/// The gang of a pod of gangs of a size, by its name.
pub(crate) fn gang_of(pod: &str, size: usize) -> Option<usize> {
    pod.strip_prefix("pod-")?.parse::<usize>().ok()?.checked_div(size)
}

fn pool(at: usize) -> String {
    format!("pool-{}", at % POOLS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shapes(workload: Workload) -> usize {
        let specs = (0..5_000).map(|at| workload.pod(at)["spec"].to_string());
        specs.collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn pods_have_as_many_shapes_as_is_said() {
        assert_eq!(shapes(Workload::Plain), 1);
        assert_eq!(shapes(Workload::Diverse), SHAPES);
        assert_eq!(shapes(Workload::Sizes), 3_600);
        assert_eq!(shapes(Workload::AntiAffinity), APPS);
        assert_eq!(shapes(Workload::Numa), 5);
    }

    #[test]
    fn a_node_that_tells_of_its_inside_keeps_what_it_had() {
        let (_, mut node) = pools(1).next().unwrap();
        tell_zones(&mut node);
        let (labels, offer) = (&node["metadata"]["labels"], &node["status"]["allocatable"]);
        assert_eq!(labels["pool"], "pool-0");
        assert_eq!(labels["numa.kubenexus.io/node-count"], "2");
        assert_eq!((&offer["pods"], &offer["nvidia.com/gpu"]), (&json!("110"), &json!("8")));
        let kubelet = node["metadata"]["annotations"]["numa.kubenexus.io/kubelet"].as_str();
        assert!(kubelet.unwrap().contains(r#""topologyManagerPolicy":"single-numa-node""#));
    }

    #[test]
    fn four_low_pods_fill_a_node_and_three_make_room_for_a_high_one() {
        let (_, node) = pools(1).next().unwrap();
        let whole =
            1_000 * node["status"]["allocatable"]["cpu"].as_str().unwrap().parse::<u32>().unwrap();
        let [low, high] = [Workload::Low, Workload::High].map(|workload| {
            let pod = workload.pod(0);
            let cpu = &pod["spec"]["containers"][0]["resources"]["requests"]["cpu"];
            cpu.as_str().unwrap().trim_end_matches('m').parse::<u32>().unwrap()
        });
        assert!(4 * low <= whole && 5 * low > whole);
        assert!(high + low <= whole && high + 2 * low > whole);
    }

    #[test]
    fn racks_of_a_pool_add_up_and_names_tell_them_and_gangs() {
        let (_, node) = pools(1).next().unwrap();
        let racks: Vec<_> = racks(250, &node).collect();
        let counts = racks.iter().map(|(count, _)| *count);
        assert_eq!(counts.collect::<Vec<_>>(), [100, 100, 50]);
        for (_, node) in &racks {
            let (name, rack) = (&node["metadata"]["name"], &node["metadata"]["labels"][RACK]);
            assert_eq!(rack_of(&format!("{}-7", name.as_str().unwrap())), rack.as_str().unwrap());
        }
        let workload = Workload::Racks(4);
        let (pod, group) = (workload.pod(11), workload.pod_group(2).unwrap());
        assert_eq!(pod["spec"]["schedulingGroup"]["podGroupName"], group["metadata"]["name"]);
        assert_eq!(gang_of(pod["metadata"]["name"].as_str().unwrap(), 4), Some(2));
        assert_eq!(group["spec"]["schedulingConstraints"]["topology"][0]["key"], RACK);
    }

    #[test]
    fn pools_add_up() {
        for nodes in [1, 7, 1_000] {
            assert_eq!(pools(nodes).map(|(count, _)| count).sum::<usize>(), nodes);
        }
    }
}
