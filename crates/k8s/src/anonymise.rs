//! Nodes and pods without the names people gave them. Equal names stay equal, so that pods fit
//! where they fitted.
//!
//! Only what is listed here is kept as it is. A string that nobody listed is hashed, an object that
//! nobody listed is emptied: what later versions read must be added, and cannot leak before.

use model::{is_label_value, is_qualified_name};
use serde_json::{Map, Value, json};

use crate::ingest::{
    AFTER, ANNOTATIONS, MEMBERS, SPARK_ROLE, is_known_controller, is_word, setting,
};

/// Domains whose keys are the same everywhere.
const WELL_KNOWN: [&str; 7] =
    ["kubernetes.io", "k8s.io", "x-k8s.io", "nvidia.com", "amd.com", "intel.com", "kubenexus.io"];

/// Roles that are the same everywhere; others are names.
const ROLES: [&str; 3] = ["control-plane", "master", "worker"];

/// Words that Kubernetes gives, not people; and when pods were made, became eligible and started,
/// by which turns are given and victims chosen.
const KEPT: [&str; 22] = [
    "action",
    "apiVersion",
    "bindMountOptions",
    "creationTimestamp",
    "declaredFeatures",
    "effect",
    "kind",
    "lastTransitionTime",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "operator",
    "phase",
    "preemptionPolicy",
    "protocol",
    "reason",
    "restartPolicy",
    "schedulerName",
    "startTime",
    "status",
    "type",
    "weight",
    "whenUnsatisfiable",
];

/// Objects that are gone into.
const ENTERED: [&str; 38] = [
    // The object itself.
    "",
    "affinity",
    "conditions",
    "containerStatuses",
    "containers",
    "env",
    "ephemeralContainers",
    "image",
    "images",
    "initContainerStatuses",
    "initContainers",
    "labelSelector",
    "matchExpressions",
    "matchFields",
    "metadata",
    "namespaceSelector",
    "nodeAffinity",
    "nodeSelectorTerms",
    "ownerReferences",
    "podAffinity",
    "podAffinityTerm",
    "podAntiAffinity",
    "ports",
    "preference",
    "preferredDuringSchedulingIgnoredDuringExecution",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "resources",
    "restartPolicyRules",
    "schedulingGates",
    "schedulingGroup",
    "spec",
    "status",
    "taints",
    "tolerations",
    "topologySpreadConstraints",
    "volumeMounts",
    "volumes",
    "workloadRef",
];

/// Controllers that are the same everywhere, beside those that are known for what their pods do;
/// others are names.
const OWNERS: [&str; 2] = ["ReplicationController", "Node"];

/// Quantities by resource.
const AMOUNTS: [&str; 4] = ["allocatable", "allocatedResources", "overhead", "requests"];

/// Replaces names.
pub struct Anonymiser<H> {
    hash: H,
}

impl<H: Fn(&str) -> u64> Anonymiser<H> {
    /// With a hash that nobody can compute again: it must depend on a secret.
    pub fn new(hash: H) -> Self {
        Self { hash }
    }

    /// A node or pod without names.
    #[must_use]
    pub fn object(&self, mut object: Value) -> Value {
        self.walk(&mut object, "", "");
        object
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
                _ if AMOUNTS.contains(&key) => {}
                _ if ENTERED.contains(&key) => {
                    // What a kubelet or a scheduler says is full of names.
                    fields.retain(|name, _| key != "conditions" || name != "message");
                    for (name, value) in fields.iter_mut() {
                        self.walk(value, name, key);
                    }
                }
                _ => fields.clear(),
            },
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
            ("schedulingGroup" | "workloadRef", _) => self.value(text),
            (_, "command" | "args") | ("env", "value") => settings(text),
            _ if KEPT.contains(&key) => text.into(),
            ("metadata", "deletionTimestamp") => "1970-01-01T00:00:00Z".into(),
            ("matchFields", "key") if text == "metadata.name" => text.into(),
            ("matchFields", "values") => self.word(text),
            (_, "key" | "topologyKey" | "matchLabelKeys") => self.key(text),
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

    /// What is said about gangs, and what the pod is. Names of gangs stand in labels as well, and
    /// stay equal.
    fn annotations(&self, annotations: &mut Map<String, Value>) {
        let is_open = |key: &str, value: &Value| value.as_str().is_some_and(|v| is_word(key, v));
        annotations.retain(|key, value| ANNOTATIONS.contains(&key.as_str()) || is_open(key, value));
        for (key, value) in annotations.iter_mut().filter(|(key, value)| !is_open(key, value)) {
            let Value::String(text) = value else { continue };
            *text = match key.as_str() {
                MEMBERS => shapes(text).unwrap_or_else(|| self.word(text)),
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

    /// The value of a label or taint. Numbers are compared by size and stay.
    fn value(&self, value: &str) -> String {
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

    /// What stands for a name.
    fn word(&self, text: &str) -> String {
        format!("h{:016x}", (self.hash)(text))
    }
}

/// Whether a version is one that Kubernetes itself serves.
fn is_kubernetes(version: &str) -> bool {
    matches!(version, "v1" | "apps/v1" | "batch/v1")
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
