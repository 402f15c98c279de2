//! Node objects to facts.

use model::{Effect, Event, Features, NodeFacts, Taint};

use super::hardware::hardware;
use super::quantity::{List, Resource};
use super::view::{NodeView, TaintView};
use super::{IngestError, read};

/// The event that a node is there.
///
/// # Errors
/// When the object does not have the shape of a Node.
pub fn node(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(Event::seen(facts(read("Node", object)?)))
}

/// A node's facts.
pub(super) fn facts(view: NodeView) -> NodeFacts {
    let images = view
        .status
        .images
        .iter()
        .flat_map(|image| image.names.iter().map(|name| (name.clone(), image.size_bytes)));
    let (hardware, held) = hardware(&view.metadata.labels, &view.metadata.annotations);
    NodeFacts {
        name: view.metadata.name,
        labels: view.metadata.labels.into_iter().collect(),
        taints: view.spec.taints.into_iter().map(taint).collect(),
        is_closed: view.spec.unschedulable,
        allocatable: view.status.allocatable.amounts(),
        pods_max: pods_max(&view.status.allocatable),
        images: images.collect(),
        features: Features::named(view.status.declared_features.iter().map(String::as_str)),
        hardware,
        held,
    }
}

fn pods_max(allocatable: &List) -> i64 {
    allocatable.get(&Resource::Pods).map_or(0, |amount| amount.0.units())
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
