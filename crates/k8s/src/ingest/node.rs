//! Node objects to facts.

use model::{Effect, Event, Features, NodeFacts, Taint};

use super::quantity::{List, amounts};
use super::view::{NodeView, TaintView};
use super::{IngestError, read};

/// The event that a node is there.
///
/// # Errors
/// When the object does not have the shape of a Node.
pub fn node(object: &serde_json::Value) -> Result<Event, IngestError> {
    let view: NodeView = read("Node", object)?;
    let images = view
        .status
        .images
        .iter()
        .flat_map(|image| image.names.iter().map(|name| (name.clone(), image.size_bytes)));
    Ok(Event::NodeApplied(Box::new(NodeFacts {
        name: view.metadata.name,
        labels: view.metadata.labels.into_iter().collect(),
        taints: view.spec.taints.into_iter().map(taint).collect(),
        is_closed: view.spec.unschedulable,
        allocatable: amounts(&view.status.allocatable),
        pods_max: pods_max(&view.status.allocatable),
        images: images.collect(),
        features: Features::named(view.status.declared_features.iter().map(String::as_str)),
    })))
}

fn pods_max(allocatable: &List) -> i64 {
    allocatable.get("pods").map_or(0, |amount| amount.0.units())
}

fn taint(view: TaintView) -> Taint<String> {
    Taint { key: view.key, value: view.value, effect: effect(&view.effect) }
}

/// The effect a word stands for.
pub(super) fn effect(word: &str) -> Effect {
    match word {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Unknown,
    }
}
