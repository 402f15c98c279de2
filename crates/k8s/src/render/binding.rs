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
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<Annotations>,
}

/// The API server copies these to the pod.
#[derive(Debug, Serialize)]
struct Annotations {
    /// The zones that the pod is thought to be in.
    #[serde(rename = "numa.kubenexus.io/placement", skip_serializing_if = "Option::is_none")]
    zones: Option<String>,
    /// The GPUs that it is thought to have.
    #[serde(rename = "gpu.kubenexus.io/placement", skip_serializing_if = "Option::is_none")]
    gpus: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Target<'a> {
    api_version: &'static str,
    kind: &'static str,
    name: &'a str,
}

/// The binding of a pod to a node, with the ids of the zones it is thought to be in and of the GPUs
/// it is thought to have. The uid makes it fail for another pod of the same name.
#[must_use]
pub fn binding<'a>(
    catalog: &'a Catalog,
    pod: PodId,
    node: NodeId,
    zones: Option<&[u32]>,
    gpus: Option<&[u32]>,
) -> Binding<'a> {
    let key = &catalog.pod(pod).key;
    let listed = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let annotations = (zones.is_some() || gpus.is_some())
        .then(|| Annotations { zones: zones.map(listed), gpus: gpus.map(listed) });
    Binding {
        api_version: "v1",
        kind: "Binding",
        metadata: Meta { name: &key.name, namespace: &key.namespace, uid: &key.uid, annotations },
        target: Target { api_version: "v1", kind: "Node", name: catalog.node_name(node) },
    }
}
