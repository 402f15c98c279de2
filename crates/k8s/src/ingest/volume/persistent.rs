//! PersistentVolumes and their claims to facts.

use model::{
    AccessModes, ClaimRef, Migrated, NodeTerm, PersistentVolumeFacts, VolumeClaimFacts,
    VolumeSource,
};

use super::translate::{self, AZURE, CINDER, EBS, GCE, PORTWORX, Plugin};
use crate::ingest::company::{label_selector, labels};
use crate::ingest::cut;
use crate::ingest::terms::term;
use crate::ingest::view::{
    ClaimAnnotations, ClaimView, NodeSelector, PersistentVolumeView, StorageAmounts,
};

/// How long a name can be. One that is longer is cut off, in a way that no name ends.
const NAME_MAX: usize = 253;

pub(super) fn volume(mut view: PersistentVolumeView) -> PersistentVolumeFacts {
    let terms = view.spec.node_affinity.required.take().map(terms);
    let source = source(&view, terms.as_deref());
    let PersistentVolumeView { metadata, spec, status } = view;
    let scored_class = spec.storage_class_name.as_str().into();
    let class = class(&metadata.annotations, spec.storage_class_name);
    PersistentVolumeFacts {
        name: metadata.name.into(),
        uid: metadata.uid.into(),
        version: metadata.resource_version.into(),
        labels: labels(&metadata.labels),
        class,
        scored_class,
        capacity: spec.capacity.storage.unwrap_or_default().0,
        modes: modes(&spec.access_modes),
        is_block: is_block(&spec.volume_mode),
        attributes_class: spec.volume_attributes_class_name.into(),
        claim: spec.claim_ref.map(|claim| ClaimRef {
            namespace: claim.namespace.into(),
            name: claim.name.into(),
            uid: claim.uid.into(),
        }),
        is_available: status.phase == "Available",
        is_terminating: metadata.deletion_timestamp.is_some(),
        affinity: terms,
        source,
    }
}

pub(super) fn claim(view: ClaimView) -> VolumeClaimFacts {
    let ClaimView { metadata, spec, status } = view;
    let StorageAmounts { storage } = spec.resources.requests;
    let class = class(&metadata.annotations, spec.storage_class_name);
    let owner = metadata.owner_references.into_iter().find(|owner| owner.controller);
    let ClaimAnnotations { bind_completed, selected_node, .. } = metadata.annotations;
    VolumeClaimFacts {
        namespace: metadata.namespace.into(),
        name: metadata.name.into(),
        uid: metadata.uid.into(),
        version: metadata.resource_version.into(),
        volume: spec.volume_name.into(),
        is_bind_completed: bind_completed.is_some(),
        is_lost: status.phase == "Lost",
        is_terminating: metadata.deletion_timestamp.is_some(),
        class,
        size: storage.map(|amount| amount.0),
        modes: modes(&spec.access_modes),
        is_block: is_block(&spec.volume_mode),
        attributes_class: spec.volume_attributes_class_name.into(),
        selector: spec.selector.as_ref().map(label_selector),
        selected_node: selected_node.map(|name| named(&name)),
        owner: owner.map(|owner| owner.uid.into()),
    }
}

/// A name that somebody wrote where nobody asks whether it is one.
fn named(name: &str) -> Box<str> {
    if name.len() <= NAME_MAX { name.into() } else { cut(name, NAME_MAX).into() }
}

/// The class of a volume or a claim: the old annotation counts first.
fn class(annotations: &ClaimAnnotations, named_class: String) -> Box<str> {
    annotations.class.as_deref().map_or_else(|| named_class.into(), named)
}

fn modes(words: &[String]) -> AccessModes {
    AccessModes::named(words.iter().map(String::as_str))
}

fn is_block(mode: &str) -> bool {
    mode == "Block"
}

fn terms(selector: NodeSelector) -> Vec<NodeTerm> {
    selector.node_selector_terms.into_iter().map(term).collect()
}

fn source(view: &PersistentVolumeView, terms: Option<&[NodeTerm]>) -> VolumeSource {
    let (spec, labels) = (&view.spec, &view.metadata.labels);
    if let Some(source) = &spec.csi {
        let (driver, handle) =
            (source.driver.as_str().into(), source.volume_handle.as_str().into());
        return VolumeSource::Csi(model::CsiVolume { driver, handle });
    }
    let (plugin, volume): (&Plugin, _) = if let Some(source) = &spec.aws_elastic_block_store {
        (&EBS, translate::ebs(source))
    } else if let Some(source) = &spec.gce_persistent_disk {
        (&GCE, translate::gce(source, labels))
    } else if let Some(source) = &spec.azure_disk {
        (&AZURE, translate::azure(source))
    } else if let Some(source) = &spec.cinder {
        (&CINDER, Some(CINDER.volume(source.volume_id.as_str())))
    } else if let Some(source) = &spec.portworx_volume {
        (&PORTWORX, Some(PORTWORX.volume(source.volume_id.as_str())))
    } else {
        return VolumeSource::Other;
    };
    let affinity = translate::affinity(plugin, terms, labels);
    VolumeSource::InTree(Migrated { plugin: plugin.name.into(), volume, affinity })
}
