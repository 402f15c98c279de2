//! Services and controllers to facts, and which controller a pod says it was made by.

use model::{Event, GroupingFacts, GroupingKey, GroupingKind, LabelSelector, Owner};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::company::{equal, label_selector};
use super::seen::read_text;
use super::view::{ControllerView, OwnerView, ServiceView};
use super::{IngestError, read};

/// The event that a service or a controller is there.
///
/// # Errors
/// When the object does not have the shape of its kind.
pub fn grouping(kind: GroupingKind, object: &Value) -> Result<Event, IngestError> {
    facts(kind, Source::Object(object)).map(|(_, event)| event)
}

/// Reads the text of a service or a controller: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of its kind.
pub fn read_grouping(kind: GroupingKind, text: &[u8]) -> Result<(String, Event), IngestError> {
    facts(kind, Source::Text(text))
}

enum Source<'a> {
    Object(&'a Value),
    Text(&'a [u8]),
}

impl Source<'_> {
    fn read<T: DeserializeOwned>(self, kind: &'static str) -> Result<T, IngestError> {
        match self {
            Self::Object(object) => read(kind, object),
            Self::Text(text) => read_text(kind, text),
        }
    }
}

fn facts(kind: GroupingKind, source: Source<'_>) -> Result<(String, Event), IngestError> {
    let word = word(kind);
    let (metadata, selector) = match kind {
        // Their selectors are maps, of which nobody asks whether the labels are sound.
        GroupingKind::Service | GroupingKind::ReplicationController => {
            let view: ServiceView = source.read(word)?;
            let labels = view.spec.selector.iter().map(|(key, value)| equal(key, value));
            (view.metadata, LabelSelector { requirements: labels.collect() })
        }
        GroupingKind::ReplicaSet | GroupingKind::StatefulSet => {
            let view: ControllerView = source.read(word)?;
            let selector = view.spec.selector.as_ref().map(label_selector);
            (view.metadata, selector.filter(LabelSelector::is_sound).unwrap_or_default())
        }
    };
    let (namespace, name) = (metadata.namespace.into(), metadata.name.into());
    let facts = GroupingFacts { key: GroupingKey { kind, namespace, name }, selector };
    Ok((metadata.resource_version, Event::seen(facts)))
}

fn word(kind: GroupingKind) -> &'static str {
    match kind {
        GroupingKind::Service => "Service",
        GroupingKind::ReplicationController => "ReplicationController",
        GroupingKind::ReplicaSet => "ReplicaSet",
        GroupingKind::StatefulSet => "StatefulSet",
    }
}

/// The controller among the owners of a pod, if it is of a kind and version that group pods.
pub(super) fn owner(owners: &[OwnerView]) -> Option<Owner> {
    let owner = owners.iter().find(|owner| owner.controller)?;
    let kind = match (owner.api_version.as_str(), owner.kind.as_str()) {
        ("v1" | "/v1", "ReplicationController") => GroupingKind::ReplicationController,
        ("apps/v1", "ReplicaSet") => GroupingKind::ReplicaSet,
        ("apps/v1", "StatefulSet") => GroupingKind::StatefulSet,
        _ => return None,
    };
    Some(Owner { kind, name: owner.name.as_str().into() })
}
