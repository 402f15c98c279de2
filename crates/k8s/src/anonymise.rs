//! Objects without the names people gave them. Equal names stay equal, so that pods fit where they
//! fitted: a pod still finds its claim, the claim its volume, and the volume its nodes.
//!
//! Only what is listed here is kept as it is. A string that nobody listed is hashed, an object that
//! nobody listed is emptied: what later versions read must be added, and cannot leak before.

mod devices;

use std::cell::RefCell;
use std::collections::BTreeMap;

use model::{is_label_value, is_qualified_name};
use serde_json::{Map, Value, json};

use crate::ingest::{
    AFTER, ANNOTATIONS, MEMBERS, SPARK_ROLE, is_known_controller, is_word, setting,
};

/// Domains whose keys are the same everywhere.
const WELL_KNOWN: [&str; 10] = [
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "nvidia.com",
    "amd.com",
    "intel.com",
    "kubenexus.io",
    // By which drivers say the zones of volumes that plugins of Kubernetes itself made.
    "topology.cinder.csi.openstack.org",
    "topology.ebs.csi.aws.com",
    "topology.gke.io",
];

/// Roles that are the same everywhere; others are names.
const ROLES: [&str; 3] = ["control-plane", "master", "worker"];

/// Words that Kubernetes gives, not people; and when pods were made, became eligible and started,
/// by which turns are given and victims chosen.
const KEPT: [&str; 35] = [
    "accessModes",
    "action",
    "allocatable",
    "apiVersion",
    "available",
    "bindMountOptions",
    "capacity",
    "creationTimestamp",
    "declaredFeatures",
    "disruptionMode",
    "effect",
    "kind",
    "lastTransitionTime",
    "maxUnavailable",
    "maximumVolumeSize",
    "minAvailable",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "operator",
    "persistentVolumeReclaimPolicy",
    "phase",
    "preemptionPolicy",
    "protocol",
    "reason",
    "reclaimPolicy",
    "restartPolicy",
    "schedulerName",
    "startTime",
    "status",
    "topologyPolicies",
    "type",
    "volumeBindingMode",
    "volumeMode",
    "weight",
    "whenUnsatisfiable",
];

/// Objects that are gone into.
const ENTERED: [&str; 69] = [
    // The object itself.
    "",
    "affinity",
    "allocation",
    "allowedTopologies",
    "awsElasticBlockStore",
    "azureDisk",
    "cinder",
    "claimRef",
    "conditions",
    "containerStatuses",
    "containers",
    "costs",
    "csi",
    "devices",
    "disruptionMode",
    "drivers",
    "env",
    "ephemeral",
    "ephemeralContainers",
    "gang",
    "gcePersistentDisk",
    "image",
    "images",
    "initContainerStatuses",
    "initContainers",
    "iscsi",
    "labelSelector",
    "matchExpressions",
    "matchFields",
    "matchLabelExpressions",
    "metadata",
    "namespaceSelector",
    "nodeAffinity",
    "nodeSelectorTerms",
    "nodeTopology",
    "ownerReferences",
    "persistentVolumeClaim",
    "podAffinity",
    "podAffinityTerm",
    "podAntiAffinity",
    "podGroups",
    "policy",
    "pool",
    "ports",
    "portworxVolume",
    "preference",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "rbd",
    "required",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "resources",
    "restartPolicyRules",
    "results",
    "schedulingConstraints",
    "schedulingGates",
    "schedulingGroup",
    "schedulingPolicy",
    "source",
    "spec",
    "status",
    "taints",
    "tolerations",
    "topology",
    "topologySpreadConstraints",
    "volumeClaimTemplate",
    "volumeMounts",
    "volumes",
    "workloadRef",
    "zones",
];

/// Attributes of NodeResourceTopologies and of their zones whose values are no names.
const ATTRIBUTES: [&str; 3] =
    ["numa.kubenexus.io/cpus", "topologyManagerPolicy", "topologyManagerScope"];

/// Controllers that are the same everywhere, beside those that are known for what their pods do;
/// others are names.
const OWNERS: [&str; 2] = ["ReplicationController", "Node"];

/// Quantities by resource.
const AMOUNTS: [&str; 6] =
    ["allocatable", "allocatedResources", "capacity", "minResources", "overhead", "requests"];

/// Annotations about storage whose values are no names.
const STORAGE_WORDS: [&str; 3] = [
    "pv.kubernetes.io/bind-completed",
    "storage.alpha.kubernetes.io/migrated-plugins",
    "storageclass.kubernetes.io/is-default-class",
];

/// Annotations about storage whose values are names of classes and nodes.
const STORAGE_NAMES: [&str; 2] =
    ["volume.beta.kubernetes.io/storage-class", "volume.kubernetes.io/selected-node"];

/// Drivers that took over from plugins of Kubernetes itself, and those whose devices are those of a
/// resource, which are known by these names.
const DRIVERS: [&str; 6] = [
    "cinder.csi.openstack.org",
    "disk.csi.azure.com",
    "ebs.csi.aws.com",
    "gpu.nvidia.com",
    "pd.csi.storage.gke.io",
    "pxd.portworx.com",
];

/// What separates the zones of a volume that is in several.
const BETWEEN_ZONES: &str = "__";

/// Replaces names.
///
/// Claims that are made for a pod are named after it and its volume, so pods must come before
/// claims and volumes.
pub struct Anonymiser<H> {
    hash: H,
    /// What stands for the names of claims that are made for pods.
    made: RefCell<BTreeMap<String, String>>,
}

impl<H: Fn(&str) -> u64> Anonymiser<H> {
    /// With a hash that nobody can compute again: it must depend on a secret.
    pub fn new(hash: H) -> Self {
        Self { hash, made: RefCell::default() }
    }

    /// An object without names.
    #[must_use]
    pub fn object(&self, mut object: Value) -> Value {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let (kind, name) = (text("/kind").unwrap_or_default(), text("/metadata/name"));
        if let ("Pod", Some(pod)) = (&*kind, &name) {
            self.note_made(pod, &object);
        }
        self.walk(&mut object, "", "");
        let name = name.filter(|name| !name.is_empty()).map(|name| match &*kind {
            "CSIDriver" => self.driver(&name),
            "PriorityClass" => self.priority_class(&name),
            "PersistentVolumeClaim" => self.claim(&name),
            // As the labels and annotations that name gangs.
            "PodGroup" | "CompositePodGroup" | "Workload" => self.value(&name),
            _ => self.word(&name),
        });
        if let (Some(name), Some(at)) = (name, object.pointer_mut("/metadata/name")) {
            *at = name.into();
        }
        object
    }

    /// Takes note of the claims that are made for a pod.
    fn note_made(&self, pod: &str, object: &Value) {
        let volumes = object.pointer("/spec/volumes").and_then(Value::as_array);
        let is_made = |volume: &&Value| volume.get("ephemeral").is_some_and(|it| !it.is_null());
        for volume in volumes.into_iter().flatten().filter(is_made) {
            let volume = volume.get("name").and_then(Value::as_str).unwrap_or_default();
            let name = format!("{}-{}", self.word(pod), self.word(volume));
            self.made.borrow_mut().insert(format!("{pod}-{volume}"), name);
        }
    }

    /// Goes through the value of `key`, which is below `parent`; items of a list have its key.
    fn walk(&self, value: &mut Value, key: &str, parent: &str) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *text = self.text(text, key, parent),
            Value::Array(items) => items.iter_mut().for_each(|it| self.walk(it, key, parent)),
            Value::Object(fields) => match key {
                "labels" | "matchLabels" | "nodeSelector" => self.labels(fields),
                "annotations" => self.annotations(fields),
                // Of services it is labels, of others it has labels and expressions.
                "selector" if fields.values().all(Value::is_string) => self.labels(fields),
                "selector" => self.enter(fields, key),
                // By the names of pods.
                "disruptedPods" => {
                    let own = std::mem::take(fields);
                    fields.extend(own.into_iter().map(|(name, _)| (self.word(&name), json!(null))));
                }
                "attributes" if matches!(parent, "" | "zones") => {
                    let name = fields.get("name").and_then(Value::as_str).unwrap_or_default();
                    if !ATTRIBUTES.contains(&name) {
                        fields.clear();
                    }
                }
                "attributes" => self.attributes(fields),
                "capacity" if parent == "devices" => self.capacities(fields),
                _ if AMOUNTS.contains(&key) => {}
                _ if ENTERED.contains(&key) => self.enter(fields, key),
                _ => fields.clear(),
            },
        }
    }

    fn enter(&self, fields: &mut Map<String, Value>, key: &str) {
        // What a kubelet or a scheduler says is full of names.
        fields.retain(|name, _| key != "conditions" || name != "message");
        for (name, value) in fields.iter_mut() {
            self.walk(value, name, key);
        }
    }

    fn text(&self, text: &str, key: &str, parent: &str) -> String {
        match (parent, key) {
            _ if text.is_empty() => String::new(),
            ("ownerReferences", "kind") if OWNERS.contains(&text) || is_known_controller(text) => {
                text.into()
            }
            ("ownerReferences", "apiVersion") if is_kubernetes(text) => text.into(),
            ("ownerReferences", _) => self.word(text),
            // As the labels and annotations that name gangs.
            ("schedulingGroup" | "workloadRef", _)
            | ("podGroups", "name")
            | (_, "parentCompositePodGroupName") => self.value(text),
            // Resources are named in amounts of pods and nodes as well.
            ("resources", "name") => text.into(),
            ("zones" | "costs", "name") if is_numa_node(text) => text.into(),
            ("drivers", "name") | (_, "driver" | "provisioner" | "attacher") => self.driver(text),
            ("devices", "name") | ("results", "device") => self.device(text),
            ("awsElasticBlockStore", "volumeID") => self.ebs(text),
            ("rbd", "image") => self.word(text),
            ("claimRef", "name") | (_, "claimName") => self.claim(text),
            (_, "priorityClassName") => self.priority_class(text),
            (_, "command" | "args") | ("env", "value") => settings(text),
            _ if KEPT.contains(&key) => text.into(),
            ("metadata", "deletionTimestamp") => "1970-01-01T00:00:00Z".into(),
            ("matchFields", "key") if text == "metadata.name" => text.into(),
            ("matchFields", "values") => self.word(text),
            (_, "key" | "topologyKey" | "topologyKeys" | "matchLabelKeys") => self.key(text),
            (_, "value" | "values") => self.value(text),
            (_, "image" | "reference") => self.image(text),
            ("images", "names") => format!("{}:x", self.word(text)),
            (_, "hostIP") if text == "0.0.0.0" => text.into(),
            _ => self.word(text),
        }
    }

    fn labels(&self, labels: &mut Map<String, Value>) {
        let own = std::mem::take(labels);
        for (key, mut value) in own {
            let is_role =
                key == SPARK_ROLE && matches!(value.as_str(), Some("driver" | "executor"));
            if is_role || value.as_str().is_some_and(|value| is_word(&key, value)) {
                labels.insert(key, value);
                continue;
            }
            if let Value::String(text) = &mut value {
                *text = self.value(text);
            }
            labels.insert(self.key(&key), value);
        }
    }

    /// What is said about gangs and storage, and what the pod is. Names of gangs stand in labels as
    /// well, and stay equal.
    fn annotations(&self, annotations: &mut Map<String, Value>) {
        let is_open = |key: &str, value: &Value| {
            STORAGE_WORDS.contains(&key) || value.as_str().is_some_and(|it| is_word(key, it))
        };
        annotations.retain(|key, value| {
            let key = key.as_str();
            ANNOTATIONS.contains(&key) || STORAGE_NAMES.contains(&key) || is_open(key, value)
        });
        for (key, value) in annotations.iter_mut().filter(|(key, value)| !is_open(key, value)) {
            let Value::String(text) = value else { continue };
            *text = match key.as_str() {
                MEMBERS => shapes(text).unwrap_or_else(|| self.word(text)),
                key if STORAGE_NAMES.contains(&key) && text.is_empty() => String::new(),
                key if STORAGE_NAMES.contains(&key) => self.word(text),
                AFTER => {
                    let names = text.split(',').map(|name| self.value(name.trim()));
                    names.collect::<Vec<_>>().join(",")
                }
                _ => self.value(text),
            };
        }
    }

    /// The key of a label or taint. One that Kubernetes refuses is still refused.
    fn key(&self, key: &str) -> String {
        if !is_qualified_name(key) {
            return format!("{}!", self.word(key));
        }
        let Some((domain, name)) = key.split_once('/') else { return self.word(key) };
        let is_within = |known: &&str| {
            domain.strip_suffix(*known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if !WELL_KNOWN.iter().any(is_within) {
            return self.word(key);
        }
        if domain == "node-role.kubernetes.io" && !ROLES.contains(&name) {
            return format!("{domain}/{}", self.word(name));
        }
        key.into()
    }

    /// The value of a label or taint. Numbers are compared by size and stay. Zones of a volume are
    /// compared one by one.
    fn value(&self, value: &str) -> String {
        if value.contains(BETWEEN_ZONES) && is_label_value(value) {
            let parts = value.split(BETWEEN_ZONES).map(|part| self.value(part));
            return parts.collect::<Vec<_>>().join(BETWEEN_ZONES);
        }
        let is_open = value.is_empty() || matches!(value, "true" | "false");
        if is_open || value.parse::<i64>().is_ok() {
            return value.into();
        }
        let word = self.word(value);
        if is_label_value(value) { word } else { format!("{word}!") }
    }

    /// An image of a pod, by the name a node has it under.
    fn image(&self, name: &str) -> String {
        format!("{}:x", self.word(&crate::ingest::with_tag(name)))
    }

    /// Who makes volumes, or attaches them: plugins of Kubernetes itself, and the drivers that took
    /// over from them, are the same everywhere.
    fn driver(&self, name: &str) -> String {
        let is_known = name.starts_with("kubernetes.io/") || DRIVERS.contains(&name);
        if is_known { name.into() } else { self.word(name) }
    }

    /// The id of an EBS volume, whether it stands alone or as `aws://zone/vol-1`.
    fn ebs(&self, id: &str) -> String {
        let hidden = |id: &str| match id.starts_with("vol-") {
            true => format!("vol-{}", self.word(id)),
            false => self.word(id),
        };
        let Some(rest) = id.strip_prefix("aws://") else { return hidden(id) };
        match rest.split_once('/') {
            Some((zone, id)) => format!("aws://{}/{}", self.value(zone), hidden(id)),
            None => format!("aws://{}", self.word(rest)),
        }
    }

    /// The name of a claim, which may be made for a pod.
    fn claim(&self, name: &str) -> String {
        self.made.borrow().get(name).cloned().unwrap_or_else(|| self.word(name))
    }

    /// The classes that every cluster has stay.
    fn priority_class(&self, name: &str) -> String {
        if name.starts_with("system-") { name.into() } else { self.word(name) }
    }

    /// What stands for a name.
    fn word(&self, text: &str) -> String {
        format!("h{:016x}", (self.hash)(text))
    }
}

/// Whether it is what updaters of NodeResourceTopology call the zone of a NUMA node.
fn is_numa_node(name: &str) -> bool {
    name.strip_prefix("node-").is_some_and(|id| id.parse::<u8>().is_ok())
}

/// Whether a version is one that Kubernetes itself serves.
fn is_kubernetes(version: &str) -> bool {
    matches!(version, "v1" | "/v1" | "apps/v1" | "batch/v1")
}

/// The settings among the words a container is started with: numbers and sizes, but no names.
fn settings(text: &str) -> String {
    let found = text.split_whitespace().filter_map(setting);
    let found: Vec<_> = found.map(|(key, value)| format!("{key}={value}")).collect();
    found.join(" ")
}

/// Counts and amounts of pods that another one makes.
fn shapes(text: &str) -> Option<String> {
    let list: Vec<Map<String, Value>> = serde_json::from_str(text).ok()?;
    let shape = |fields: &Map<String, Value>| {
        let amounts = fields.get("resources").and_then(Value::as_object).cloned();
        let is_amount = |value: &Value| match value {
            Value::Number(_) => true,
            Value::String(text) => model::Quantity::parse(text).is_ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
        };
        let amounts = amounts.unwrap_or_default().into_iter();
        let amounts: Map<_, _> = amounts.filter(|(_, value)| is_amount(value)).collect();
        json!({"count": fields.get("count").and_then(Value::as_u64), "resources": amounts})
    };
    Some(Value::Array(list.iter().map(shape).collect()).to_string())
}
