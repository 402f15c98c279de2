//! Nodes and pods without the names people gave them. Equal names stay equal, so that pods fit
//! where they fitted.
//!
//! Only what is listed here is kept as it is. A string that nobody listed is hashed, an object that
//! nobody listed is emptied: what later versions read must be added, and cannot leak before.

use model::{is_label_value, is_qualified_name};
use serde_json::{Map, Value};

/// Domains whose keys are the same everywhere.
const WELL_KNOWN: [&str; 6] =
    ["kubernetes.io", "k8s.io", "nvidia.com", "amd.com", "intel.com", "kubenexus.io"];

/// Roles that are the same everywhere; others are names.
const ROLES: [&str; 3] = ["control-plane", "master", "worker"];

/// Words that Kubernetes gives, not people; and when pods started, by which victims are chosen.
const KEPT: [&str; 20] = [
    "action",
    "apiVersion",
    "bindMountOptions",
    "declaredFeatures",
    "effect",
    "kind",
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
const ENTERED: [&str; 34] = [
    // The object itself.
    "",
    "affinity",
    "conditions",
    "containerStatuses",
    "containers",
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
    "spec",
    "status",
    "taints",
    "tolerations",
    "topologySpreadConstraints",
    "volumeMounts",
    "volumes",
];

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
            if let Value::String(text) = &mut value {
                *text = self.value(text);
            }
            labels.insert(self.key(&key), value);
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
