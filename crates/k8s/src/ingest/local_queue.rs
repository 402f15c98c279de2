//! LocalQueue objects of Kueue to facts. What is read of them is the same in all versions.

use model::{Event, LocalQueueFacts};

use super::seen::read_text;
use super::view::LocalQueueView;
use super::{IngestError, read};

const KIND: &str = "LocalQueue";

/// The event that a LocalQueue is there.
///
/// # Errors
/// When the object does not have the shape of a LocalQueue.
pub fn local_queue(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(event(read(KIND, object)?))
}

/// Reads the text of a LocalQueue: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a LocalQueue.
pub fn read_local_queue(text: &[u8]) -> Result<(String, Event), IngestError> {
    let mut view: LocalQueueView = read_text(KIND, text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, event(view)))
}

fn event(view: LocalQueueView) -> Event {
    Event::seen(LocalQueueFacts {
        namespace: view.metadata.namespace.into(),
        name: view.metadata.name.into(),
        cluster_queue: view.spec.cluster_queue.into(),
    })
}
