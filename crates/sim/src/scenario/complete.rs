//! What the API server fills in before a scheduler sees an object: requests from limits, ports of
//! the host, priorities of classes, what a node can allocate. Manifests have not been through it.

use std::collections::BTreeMap;

use k8s::document::{quoted, suggestion};
use k8s::manifest::Manifest;
use model::VolumeClaimFacts;
use serde_json::{Map, Value as Json, json};

use super::Origin;
use super::mistakes::Mistakes;

/// How many pods a node takes that does not say.
const PODS_MAX: u32 = 110;
const HOSTNAME: &str = "kubernetes.io/hostname";

/// What is filled in by the objects of a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Defaults {
    /// The StorageClass of claims that name none.
    storage_class: Option<Box<str>>,
    /// Priorities by the name of their class.
    classes: BTreeMap<String, Priority>,
    /// Of pods that name no class.
    default: Priority,
}

/// What a class says.
#[derive(Clone, Copy, Debug, Default)]
struct Priority {
    value: i32,
    /// Whether nobody may be evicted for its pods.
    is_never: bool,
}

impl Defaults {
    pub(super) fn read(
        manifests: &[(&str, Manifest)],
        storage_class: Option<Box<str>>,
        mistakes: &mut Mistakes,
    ) -> Self {
        // The two that every cluster has.
        let own =
            [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];
        let priority = |value| Priority { value, is_never: false };
        let classes = own.map(|(name, value)| (name.to_owned(), priority(value))).into();
        let mut defaults = Self { classes, storage_class, ..Self::default() };
        for (file, manifest) in manifests {
            if let Err((path, message)) = defaults.add(&manifest.json()) {
                mistakes.add(Origin { file, line: manifest.line_at(path) }, path, message);
            }
        }
        defaults
    }

    fn add(&mut self, object: &Json) -> Result<(), (&'static str, String)> {
        let name = object.pointer("/metadata/name").and_then(Json::as_str);
        let name = name.ok_or(("metadata.name", "required, but missing".to_owned()))?;
        let value = object["value"].as_i64().and_then(|value| i32::try_from(value).ok());
        let wanted =
            || format!("expected an integer of 32 bits, found {}", shown(&object["value"]));
        let value = value.ok_or_else(|| ("value", wanted()))?;
        let policy = &object["preemptionPolicy"];
        let is_policy = |word: &str| word == "Never" || word == "PreemptLowerPriority";
        if !policy.is_null() && !policy.as_str().is_some_and(is_policy) {
            let wanted = "expected one of Never, PreemptLowerPriority, found";
            return Err(("preemptionPolicy", format!("{wanted} {}", shown(policy))));
        }
        let priority = Priority { value, is_never: policy == "Never" };
        let is_default = &object["globalDefault"];
        match is_default.as_bool() {
            Some(true) => self.default = priority,
            Some(false) => {}
            None if is_default.is_null() => {}
            None => {
                let message = format!("expected true or false, found {}", shown(is_default));
                return Err(("globalDefault", message));
            }
        }
        self.classes.insert(name.to_owned(), priority);
        Ok(())
    }

    /// Gives a claim that names no class the default one, if there is any.
    pub(super) fn claim(&self, claim: &mut VolumeClaimFacts, object: &Json) {
        let names_class = object.pointer("/spec/storageClassName").is_some_and(|it| !it.is_null());
        if !names_class && claim.class.is_empty() && claim.volume.is_empty() {
            claim.class = self.storage_class.clone().unwrap_or_default();
        }
    }

    /// The class of a pod that does not have a priority yet.
    fn of(&self, spec: &Map<String, Json>) -> Result<Priority, String> {
        let name = spec.get("priorityClassName").and_then(Json::as_str).unwrap_or_default();
        if name.is_empty() {
            return Ok(self.default);
        }
        self.classes.get(name).copied().ok_or_else(|| {
            let hint = suggestion(name, self.classes.keys().map(String::as_str));
            format!("there is no PriorityClass {}{hint}", quoted(name))
        })
    }
}

/// Completes a pod. What has the wrong shape is left for `ingest` to refuse.
pub(super) fn pod(pod: &mut Json, defaults: &Defaults) -> Result<(), (&'static str, String)> {
    let Some(spec) = pod.get_mut("spec").and_then(Json::as_object_mut) else { return Ok(()) };
    if spec.get("priority").is_none_or(Json::is_null) {
        let priority = defaults.of(spec);
        let priority = priority.map_err(|message| ("spec.priorityClassName", message))?;
        spec.insert("priority".into(), json!(priority.value));
        if priority.is_never && spec.get("preemptionPolicy").is_none_or(Json::is_null) {
            spec.insert("preemptionPolicy".into(), json!("Never"));
        }
    }
    let is_on_host = spec.get("hostNetwork") == Some(&Json::Bool(true));
    for key in ["containers", "initContainers"] {
        let containers = spec.get_mut(key).and_then(Json::as_array_mut);
        for container in containers.into_iter().flatten().filter_map(Json::as_object_mut) {
            request_limits(container);
            if is_on_host {
                take_host_ports(container);
            }
        }
    }
    Ok(())
}

/// A container that limits a resource and does not say what it requests requests the limit.
fn request_limits(container: &mut Map<String, Json>) {
    let resources = container.get_mut("resources").and_then(Json::as_object_mut);
    let Some(resources) = resources else { return };
    let limits = resources.get("limits").and_then(Json::as_object).cloned();
    let requests = resources.entry("requests").or_insert(Json::Null);
    if requests.is_null() {
        *requests = json!({});
    }
    let Some(requests) = requests.as_object_mut() else { return };
    for (name, limit) in limits.unwrap_or_default() {
        requests.entry(name).or_insert(limit);
    }
}

/// In the host's network every port of a container is a port of the host.
fn take_host_ports(container: &mut Map<String, Json>) {
    let ports = container.get_mut("ports").and_then(Json::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Json::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            port.entry("hostPort").or_insert(number);
        }
    }
}

/// Completes a node, and gives it a name if `name` is one.
pub(super) fn node(node: &mut Json, name: Option<&str>) {
    let Some(node) = node.as_object_mut() else { return };
    if let Some(metadata) = object_at(node, "metadata") {
        if let Some(name) = name {
            metadata.insert("name".into(), json!(name));
            // A copy of a node is a host of its own.
            let labels = object_at(metadata, "labels");
            labels.and_then(|labels| labels.remove(HOSTNAME));
        }
        let name = metadata.get("name").cloned().unwrap_or_default();
        if let Some(labels) = object_at(metadata, "labels") {
            labels.entry(HOSTNAME).or_insert(name);
        }
    }
    let Some(status) = object_at(node, "status") else { return };
    if status.get("allocatable").is_none_or(Json::is_null) {
        let capacity = status.get("capacity").cloned().unwrap_or(json!({}));
        status.insert("allocatable".into(), capacity);
    }
    if let Some(allocatable) = object_at(status, "allocatable") {
        allocatable.entry("pods").or_insert(json!(PODS_MAX));
    }
}

/// The object under a key, made if there is nothing; none if there is something else.
fn object_at<'a>(of: &'a mut Map<String, Json>, key: &str) -> Option<&'a mut Map<String, Json>> {
    let value = of.entry(key).or_insert(Json::Null);
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// A value in a message.
pub(super) fn shown(value: &Json) -> String {
    match value {
        Json::Null => "nothing".to_owned(),
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(text) => quoted(text),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "an object".to_owned(),
    }
}
