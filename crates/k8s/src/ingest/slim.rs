//! Objects without what scheduling does not read. What it reads is what the views have, so there
//! is no second list.

use std::collections::BTreeMap;

use model::StorageKind;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::quantity::{Amount, List};
use super::timestamp::Timestamp;
use super::view::{
    AttachmentView, BudgetView, CapacityView, ClaimSpec, ClaimView, ClusterQueueView,
    ControllerView, CsiDriverView, CsiNodeView, DisruptionMode, JobView, LocalQueueView,
    NamespaceView, NodeResourceTopologyView, NodeView, PersistentVolumeView, PodGroupView, PodView,
    ResourceClaimView, ResourceSliceView, ServiceView, StorageClassView, Weight,
};
use super::{pod_group_kind, storage_kind};

/// What a view of this type keeps of a value.
pub(super) trait Slim {
    /// Takes out what is not read. A value of another shape stays, for others to complain about.
    fn slim(_value: &mut Value) {}
}

impl Slim for String {}
impl Slim for bool {}
impl Slim for i32 {}
impl Slim for i64 {}
impl Slim for List {}
impl Slim for Amount {}
impl Slim for Weight {}
impl Slim for DisruptionMode {}
impl Slim for Timestamp {}
impl Slim for BTreeMap<String, String> {}
/// That it is there is all that is read; a later version may read more.
impl Slim for IgnoredAny {}
impl Slim for BTreeMap<String, IgnoredAny> {}

impl<T: Slim> Slim for Option<T> {
    fn slim(value: &mut Value) {
        T::slim(value);
    }
}

impl<T: Slim> Slim for Vec<T> {
    fn slim(value: &mut Value) {
        if let Value::Array(items) = value {
            items.iter_mut().for_each(T::slim);
        }
    }
}

/// Whether a key of an object is the field of a view: `hostIP` is `host_ip`, unless the field has a
/// name of its own in objects.
pub(super) fn is_field(key: &str, field: &str, own: &[&str]) -> bool {
    if let [own] = own {
        return key == *own;
    }
    let field = field.strip_prefix("r#").unwrap_or(field);
    let letters = field.bytes().filter(|letter| *letter != b'_');
    key.bytes().map(|letter| letter.to_ascii_lowercase()).eq(letters)
}

/// A Node with no more than scheduling reads.
#[must_use]
pub fn slim_node(node: Value) -> Value {
    slim("v1", "Node", node)
}

/// A Pod with no more than scheduling reads, and its labels, and all that is said about its
/// affinity.
#[must_use]
pub fn slim_pod(pod: Value) -> Value {
    slim("v1", "Pod", pod)
}

/// An object of a version and a kind with no more than scheduling reads, and the little more that
/// tools make use of which read snapshots. Nobody needs to know its `resourceVersion`. Of a kind
/// that is not read nothing is kept.
#[must_use]
pub fn slim(api_version: &str, kind: &str, mut object: Value) -> Value {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let (slim, more) = known(group, kind);
    let more: Vec<_> = more.iter().map(|path| (*path, object.pointer(path).cloned())).collect();
    let keys = (kind == "CSINode").then(|| topology_keys(&object));
    slim(&mut object);
    for (path, value) in more {
        put(&mut object, path, value);
    }
    if kind == "Pod" {
        slim_templates(&mut object);
    }
    put_topology_keys(&mut object, keys);
    let Value::Object(mut object) = object else { return object };
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("resourceVersion");
    }
    let mut named = Map::new();
    named.insert("apiVersion".into(), json!(api_version));
    named.insert("kind".into(), json!(kind));
    named.append(&mut object);
    Value::Object(named)
}

/// What is kept of a kind, and beside it which paths: tools that read snapshots know more than
/// views do. What budgets ask for, which class is the default and what becomes of volumes is the
/// business of a simulated cluster.
fn known(group: &str, kind: &str) -> (fn(&mut Value), &'static [&'static str]) {
    if pod_group_kind(group, kind).is_some() {
        return (PodGroupView::slim, &[]);
    }
    if let Some(sort) = storage_kind(group, kind) {
        return of_storage(sort);
    }
    match (group, kind) {
        ("", "Node") => (NodeView::slim, &[]),
        ("", "Pod") => (PodView::slim, &["/metadata/labels", "/spec/affinity"]),
        ("", "Namespace") => (NamespaceView::slim, &[]),
        ("", "Service" | "ReplicationController") => (ServiceView::slim, &[]),
        ("apps", "ReplicaSet" | "StatefulSet") => (ControllerView::slim, &[]),
        ("policy", "PodDisruptionBudget") => {
            (BudgetView::slim, &["/spec/minAvailable", "/spec/maxUnavailable"])
        }
        ("batch", "Job") => (JobView::slim, &["/metadata/name", "/metadata/namespace"]),
        ("kueue.x-k8s.io", "LocalQueue") => (LocalQueueView::slim, &[]),
        ("kueue.x-k8s.io", "ClusterQueue") => (ClusterQueueView::slim, &[]),
        ("topology.node.k8s.io", "NodeResourceTopology") => (NodeResourceTopologyView::slim, &[]),
        ("resource.k8s.io", "ResourceSlice") => (ResourceSliceView::slim, &[]),
        ("resource.k8s.io", "ResourceClaim") => (ResourceClaimView::slim, &[]),
        ("scheduling.k8s.io", "PriorityClass") => (slim_priority_class, &[]),
        _ => (|object| *object = json!({}), &[]),
    }
}

fn of_storage(sort: StorageKind) -> (fn(&mut Value), &'static [&'static str]) {
    match sort {
        StorageKind::Volume => {
            (PersistentVolumeView::slim, &["/spec/persistentVolumeReclaimPolicy"])
        }
        StorageKind::Claim => (ClaimView::slim, &[]),
        StorageKind::Class => (StorageClassView::slim, &["/reclaimPolicy", IS_DEFAULT]),
        StorageKind::CsiNode => (CsiNodeView::slim, &[]),
        StorageKind::CsiDriver => (CsiDriverView::slim, &[]),
        StorageKind::Capacity => (CapacityView::slim, &[]),
        StorageKind::Attachment => (AttachmentView::slim, &[]),
    }
}

/// The annotation of the class of claims that name none.
const IS_DEFAULT: &str = "/metadata/annotations/storageclass.kubernetes.io~1is-default-class";

/// No more than gives pods their priority.
fn slim_priority_class(class: &mut Value) {
    const READ: [&str; 4] = ["metadata", "value", "globalDefault", "preemptionPolicy"];
    let Value::Object(fields) = class else { return };
    fields.retain(|key, _| READ.contains(&key.as_str()));
    if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
        metadata.retain(|key, _| key == "name");
    }
}

/// Puts back what was under a path.
fn put(object: &mut Value, path: &str, value: Option<Value>) {
    let Some(value) = value else { return };
    let (parent, key) = path.rsplit_once('/').expect("a path has a parent");
    let key = key.replace("~1", "/");
    if parent == "/metadata/annotations"
        && let Some(Value::Object(metadata)) = object.get_mut("metadata")
    {
        metadata.entry("annotations").or_insert_with(|| json!({}));
    }
    if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
        parent.insert(key, value);
    }
}

/// The labels by which each driver says where its volumes can be used.
fn topology_keys(csi_node: &Value) -> Vec<Option<Value>> {
    let drivers = csi_node.pointer("/spec/drivers").and_then(Value::as_array);
    drivers.into_iter().flatten().map(|driver| driver.get("topologyKeys").cloned()).collect()
}

fn put_topology_keys(csi_node: &mut Value, keys: Option<Vec<Option<Value>>>) {
    let drivers = csi_node.pointer_mut("/spec/drivers").and_then(Value::as_array_mut);
    for (driver, keys) in drivers.into_iter().flatten().zip(keys.into_iter().flatten()) {
        put(driver, "/topologyKeys", keys);
    }
}

/// Of the claims that are made for a pod nothing is kept but what they ask for.
fn slim_templates(pod: &mut Value) {
    let volumes = pod.pointer_mut("/spec/volumes").and_then(Value::as_array_mut);
    for volume in volumes.into_iter().flatten() {
        let Some(Value::Object(source)) = volume.get_mut("ephemeral") else { continue };
        source.retain(|key, _| key == "volumeClaimTemplate");
        let Some(Value::Object(template)) = source.get_mut("volumeClaimTemplate") else { continue };
        template.retain(|key, _| key == "spec");
        template.get_mut("spec").into_iter().for_each(ClaimSpec::slim);
    }
}
