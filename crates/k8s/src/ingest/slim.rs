//! Objects without what scheduling does not read. What it reads is what the views have, so there
//! is no second list.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::quantity::{Amount, List};
use super::timestamp::Timestamp;
use super::view::{DisruptionMode, NodeView, PodView, Weight};

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

/// Whether a key of an object is the field of a view: `hostIP` is `host_ip`.
pub(super) fn is_field(key: &str, field: &str) -> bool {
    let field = field.strip_prefix("r#").unwrap_or(field);
    let letters = field.bytes().filter(|letter| *letter != b'_');
    key.bytes().map(|letter| letter.to_ascii_lowercase()).eq(letters)
}

/// A Node with no more than scheduling reads.
#[must_use]
pub fn slim_node(mut node: Value) -> Value {
    NodeView::slim(&mut node);
    named("Node", node)
}

/// A Pod with no more than scheduling reads, and its labels, and all that is said about its
/// affinity: tools that read snapshots know more than views do.
#[must_use]
pub fn slim_pod(mut pod: Value) -> Value {
    let kept = ["/metadata/labels", "/spec/affinity"];
    let kept = kept.map(|path| (path, pod.pointer(path).cloned()));
    PodView::slim(&mut pod);
    for (path, value) in kept {
        let (parent, key) = path.rsplit_once('/').expect("a path has a parent");
        if let (Some(Value::Object(parent)), Some(value)) = (pod.pointer_mut(parent), value) {
            parent.insert(key.into(), value);
        }
    }
    named("Pod", pod)
}

/// Says what it is; nobody needs to know its version.
fn named(kind: &str, object: Value) -> Value {
    let Value::Object(mut object) = object else { return object };
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("resourceVersion");
    }
    let mut named = Map::new();
    named.insert("apiVersion".into(), json!("v1"));
    named.insert("kind".into(), json!(kind));
    named.append(&mut object);
    Value::Object(named)
}
