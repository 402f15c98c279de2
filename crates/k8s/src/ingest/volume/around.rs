//! What decides where volumes can be used: classes, and what CSI drivers say of themselves, of
//! nodes, and of how much is left.

use model::{
    BindingMode, CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts, LabelOperator,
    LabelSelector, NodeTerm, RequirementSpec, StorageClassFacts, VolumeAttachmentFacts,
};

use super::translate::PLUGINS;
use crate::ingest::company::label_selector;
use crate::ingest::view::{
    AttachmentView, CapacityView, CsiDriverView, CsiNodeView, StorageClassView, TopologyTerm,
};

pub(super) fn class(view: StorageClassView) -> StorageClassFacts {
    let StorageClassView { metadata, provisioner, volume_binding_mode, allowed_topologies } = view;
    let topologies: Vec<NodeTerm> = allowed_topologies.into_iter().map(topology).collect();
    StorageClassFacts {
        name: metadata.name.into(),
        provisioner: provisioner.into(),
        mode: volume_binding_mode.map(|word| match word.as_str() {
            "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
            _ => BindingMode::Immediate,
        }),
        topologies: Some(topologies).filter(|terms| !terms.is_empty()),
    }
}

fn topology(term: TopologyTerm) -> NodeTerm {
    let expressions = term.match_label_expressions.into_iter().map(|it| RequirementSpec {
        key: it.key,
        operator: LabelOperator::In,
        values: it.values,
    });
    NodeTerm { expressions: expressions.collect(), fields: Vec::new() }
}

pub(super) fn csi_node(view: CsiNodeView) -> CsiNodeFacts {
    let CsiNodeView { metadata, spec } = view;
    let drivers = spec.drivers.into_iter();
    let migrated = metadata.annotations.migrated_plugins;
    // Of a list that somebody wrote only those are kept that are asked for.
    let is_listed = |name: &str| migrated.split(',').any(|listed| listed == name);
    let known = PLUGINS.into_iter().filter(|plugin| is_listed(plugin.name));
    CsiNodeFacts {
        name: metadata.name.into(),
        drivers: drivers.map(|it| (it.name.into(), it.allocatable.count)).collect(),
        migrated: known.map(|plugin| plugin.name.into()).collect(),
    }
}

pub(super) fn csi_driver(view: CsiDriverView) -> CsiDriverFacts {
    CsiDriverFacts {
        name: view.metadata.name.into(),
        tells_capacity: view.spec.storage_capacity,
        is_required: view.spec.prevent_pod_scheduling_if_missing,
    }
}

pub(super) fn capacity(view: CapacityView) -> CsiStorageCapacityFacts {
    let topology = view.node_topology.as_ref().map(label_selector);
    CsiStorageCapacityFacts {
        namespace: view.metadata.namespace.into(),
        name: view.metadata.name.into(),
        class: view.storage_class_name.into(),
        topology: topology.filter(LabelSelector::is_sound),
        capacity: view.capacity.map(|amount| amount.0.units()),
        volume_max: view.maximum_volume_size.map(|amount| amount.0.units()),
    }
}

pub(super) fn attachment(view: AttachmentView) -> VolumeAttachmentFacts {
    let AttachmentView { metadata, spec } = view;
    VolumeAttachmentFacts {
        name: metadata.name.into(),
        node: spec.node_name.into(),
        attacher: spec.attacher.into(),
        volume: spec.source.persistent_volume_name.map(Into::into),
    }
}
