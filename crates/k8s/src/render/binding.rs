//! A placement as the Binding that is posted to `pods/binding`.

use model::{Catalog, NodeId, PodId};
use serde::Serialize;

/// A `v1` Binding. It borrows its words: one is written out as soon as it is made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Binding<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Meta<'a>,
    target: Target<'a>,
}

#[derive(Debug, Serialize)]
struct Meta<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Target<'a> {
    api_version: &'static str,
    kind: &'static str,
    name: &'a str,
}

/// The binding of a pod to a node. The uid makes it fail for another pod of the same name.
#[must_use]
pub fn binding(catalog: &Catalog, pod: PodId, node: NodeId) -> Binding<'_> {
    let key = &catalog.pod(pod).key;
    Binding {
        api_version: "v1",
        kind: "Binding",
        metadata: Meta { name: &key.name, namespace: &key.namespace, uid: &key.uid },
        target: Target { api_version: "v1", kind: "Node", name: catalog.node_name(node) },
    }
}
