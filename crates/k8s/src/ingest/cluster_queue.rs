//! ClusterQueue objects of Kueue to facts. What is read of them is the same in all versions.

use model::{ClusterQueueFacts, Event};

use super::company::label_selector;
use super::seen::read_text;
use super::view::ClusterQueueView;
use super::{IngestError, read};

const KIND: &str = "ClusterQueue";

/// The event that a ClusterQueue is there.
///
/// # Errors
/// When the object does not have the shape of a ClusterQueue.
pub fn cluster_queue(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(event(read(KIND, object)?))
}

/// Reads the text of a ClusterQueue: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a ClusterQueue.
pub fn read_cluster_queue(text: &[u8]) -> Result<(String, Event), IngestError> {
    let mut view: ClusterQueueView = read_text(KIND, text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, event(view)))
}

fn event(view: ClusterQueueView) -> Event {
    let namespaces = view.spec.namespace_selector.as_ref().map(label_selector);
    // A selector that makes no sense means no namespace.
    let namespaces = namespaces.filter(model::LabelSelector::is_sound);
    Event::seen(ClusterQueueFacts { name: view.metadata.name.into(), namespaces })
}
