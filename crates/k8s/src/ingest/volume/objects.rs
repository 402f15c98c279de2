//! Objects of storage to facts.

use model::{Event, StorageFacts, StorageKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{around, persistent};
use crate::ingest::seen::read_text;
use crate::ingest::view::{
    AttachmentView, CapacityView, ClaimView, CsiDriverView, CsiNodeView, PersistentVolumeView,
    StorageClassView,
};
use crate::ingest::{IngestError, read};

/// The event that an object of storage is there.
///
/// # Errors
/// When the object does not have the shape of its kind.
pub fn storage(kind: StorageKind, object: &Value) -> Result<Event, IngestError> {
    storage_facts(kind, object).map(Event::seen)
}

/// The facts of an object of storage.
///
/// # Errors
/// When the object does not have the shape of its kind.
pub fn storage_facts(kind: StorageKind, object: &Value) -> Result<StorageFacts, IngestError> {
    facts(kind, &Source::Object(object)).map(|(_, facts)| facts)
}

/// Reads the text of an object of storage: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of its kind.
pub fn read_storage(kind: StorageKind, text: &[u8]) -> Result<(String, Event), IngestError> {
    facts(kind, &Source::Text(text)).map(|(version, facts)| (version, Event::seen(facts)))
}

/// The kind of an object of storage, by the group of its API and its name.
#[must_use]
pub fn storage_kind(group: &str, name: &str) -> Option<StorageKind> {
    let group_of = |kind: StorageKind| match kind {
        StorageKind::Volume | StorageKind::Claim => "",
        StorageKind::Class
        | StorageKind::CsiNode
        | StorageKind::CsiDriver
        | StorageKind::Capacity
        | StorageKind::Attachment => "storage.k8s.io",
    };
    let is_it = |kind: &StorageKind| word(*kind) == name && group_of(*kind) == group;
    StorageKind::ALL.into_iter().find(is_it)
}

enum Source<'a> {
    Object(&'a Value),
    Text(&'a [u8]),
}

impl Source<'_> {
    fn read<T: DeserializeOwned>(&self, kind: StorageKind) -> Result<T, IngestError> {
        match self {
            Self::Object(object) => read(word(kind), object),
            Self::Text(text) => read_text(word(kind), text),
        }
    }
}

fn facts(kind: StorageKind, source: &Source<'_>) -> Result<(String, StorageFacts), IngestError> {
    Ok(match kind {
        StorageKind::Volume => {
            let view: PersistentVolumeView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::Volume(persistent::volume(view)))
        }
        StorageKind::Claim => {
            let view: ClaimView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::Claim(persistent::claim(view)))
        }
        StorageKind::Class => {
            let view: StorageClassView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::Class(around::class(view)))
        }
        StorageKind::CsiNode => {
            let view: CsiNodeView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::CsiNode(around::csi_node(view)))
        }
        StorageKind::CsiDriver => {
            let view: CsiDriverView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::CsiDriver(around::csi_driver(view)))
        }
        StorageKind::Capacity => {
            let view: CapacityView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::Capacity(around::capacity(view)))
        }
        StorageKind::Attachment => {
            let view: AttachmentView = source.read(kind)?;
            let version = view.metadata.resource_version.clone();
            (version, StorageFacts::Attachment(around::attachment(view)))
        }
    })
}

fn word(kind: StorageKind) -> &'static str {
    match kind {
        StorageKind::Volume => "PersistentVolume",
        StorageKind::Claim => "PersistentVolumeClaim",
        StorageKind::Class => "StorageClass",
        StorageKind::CsiNode => "CSINode",
        StorageKind::CsiDriver => "CSIDriver",
        StorageKind::Capacity => "CSIStorageCapacity",
        StorageKind::Attachment => "VolumeAttachment",
    }
}
