//! Storage as the API has it: volumes, claims, and what decides where they can be used.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;
use crate::spec::{LabelSelector, Labels, NodeTerm};

/// What an object of storage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StorageKind {
    /// A PersistentVolume.
    Volume,
    /// A PersistentVolumeClaim.
    Claim,
    /// A StorageClass.
    Class,
    /// A CSINode.
    CsiNode,
    /// A CSIDriver.
    CsiDriver,
    /// A CSIStorageCapacity.
    Capacity,
    /// A VolumeAttachment.
    Attachment,
}

impl StorageKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Volume,
        Self::Claim,
        Self::Class,
        Self::CsiNode,
        Self::CsiDriver,
        Self::Capacity,
        Self::Attachment,
    ];

    pub(crate) fn of_facts(facts: &StorageFacts) -> Self {
        match facts {
            StorageFacts::Volume(_) => Self::Volume,
            StorageFacts::Claim(_) => Self::Claim,
            StorageFacts::Class(_) => Self::Class,
            StorageFacts::CsiNode(_) => Self::CsiNode,
            StorageFacts::CsiDriver(_) => Self::CsiDriver,
            StorageFacts::Capacity(_) => Self::Capacity,
            StorageFacts::Attachment(_) => Self::Attachment,
        }
    }
}

/// An object of storage as the API has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StorageFacts {
    /// A PersistentVolume.
    Volume(PersistentVolumeFacts),
    /// A PersistentVolumeClaim.
    Claim(VolumeClaimFacts),
    /// A StorageClass.
    Class(StorageClassFacts),
    /// A CSINode.
    CsiNode(CsiNodeFacts),
    /// A CSIDriver.
    CsiDriver(CsiDriverFacts),
    /// A CSIStorageCapacity.
    Capacity(CsiStorageCapacityFacts),
    /// A VolumeAttachment.
    Attachment(VolumeAttachmentFacts),
}

impl StorageFacts {
    /// What it is.
    #[must_use]
    pub fn kind(&self) -> StorageKind {
        StorageKind::of_facts(self)
    }

    /// What it is listed by among its kind.
    #[must_use]
    pub fn name(&self) -> Box<str> {
        match self {
            Self::Volume(it) => it.name.clone(),
            Self::Claim(it) => it.key(),
            Self::Class(it) => it.name.clone(),
            Self::CsiNode(it) => it.name.clone(),
            Self::CsiDriver(it) => it.name.clone(),
            Self::Capacity(it) => it.key(),
            Self::Attachment(it) => it.name.clone(),
        }
    }
}

/// A PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PersistentVolumeFacts {
    /// Its name.
    pub name: Box<str>,
    /// The identity of this very object.
    pub uid: Box<str>,
    /// Its `resourceVersion`: a write is about this state of it.
    pub version: Box<str>,
    /// Sorted by key: selectors of claims, and VolumeZone, speak of them.
    pub labels: Labels,
    /// Its class: the beta annotation if there is one, else `storageClassName`; empty if none.
    pub class: Box<str>,
    /// Its class without the annotation, by which it is scored.
    pub scored_class: Box<str>,
    /// How much it holds; zero if it does not say.
    pub capacity: Quantity,
    /// How it can be mounted.
    pub modes: AccessModes,
    /// Whether it is a block device and no file system.
    pub is_block: bool,
    /// Its `volumeAttributesClassName`; empty if none.
    pub attributes_class: Box<str>,
    /// The claim it is for, if it says one.
    pub claim: Option<ClaimRef>,
    /// Whether its phase is `Available`.
    pub is_available: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// `spec.nodeAffinity.required`: its node must match one of the terms. None means any node.
    pub affinity: Option<Vec<NodeTerm>>,
    /// What is behind it.
    pub source: VolumeSource,
}

/// The claim that a volume is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClaimRef {
    /// The namespace of the claim.
    pub namespace: Box<str>,
    /// The name of the claim.
    pub name: Box<str>,
    /// The uid of the claim; empty where an administrator named the claim only.
    pub uid: Box<str>,
}

impl ClaimRef {
    /// What the claim is listed by.
    #[must_use]
    pub fn key(&self) -> Box<str> {
        claim_key(&self.namespace, &self.name)
    }
}

/// What is behind a PersistentVolume, as far as nodes can run out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum VolumeSource {
    /// Nothing that is counted.
    #[default]
    Other,
    /// A volume of a CSI driver.
    Csi(CsiVolume),
    /// A volume of an in-tree plugin that a CSI driver serves where the plugin is migrated.
    InTree(Migrated),
}

/// A volume of a CSI driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CsiVolume {
    /// The name of the driver.
    pub driver: Box<str>,
    /// What the driver knows the volume by.
    pub handle: Box<str>,
}

/// An in-tree volume as its CSI driver sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Migrated {
    /// The in-tree plugin, such as `kubernetes.io/gce-pd`. Only plugins whose migration is on are
    /// here: EBS, GCE PD, Azure Disk, Cinder and Portworx.
    pub plugin: Box<str>,
    /// The volume of the driver; none if it cannot be translated.
    pub volume: Option<CsiVolume>,
    /// The node affinity of the translated volume.
    pub affinity: Option<Vec<NodeTerm>>,
}

/// Ways to mount a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AccessModes(u8);

impl AccessModes {
    /// By one pod alone.
    pub const ONCE_POD: Self = Self(1 << 3);

    const WORDS: [&'static str; 4] =
        ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

    /// The modes among words; a word that is no mode is one that no volume has.
    pub fn named<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let bit = |word| Self::WORDS.iter().position(|known| *known == word).unwrap_or(7);
        words.into_iter().fold(Self::default(), |set, word| Self(set.0 | 1 << bit(word)))
    }

    /// Whether all of them are among others.
    #[must_use]
    pub fn are_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeClaimFacts {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// The identity of this very object.
    pub uid: Box<str>,
    /// Its `resourceVersion`: a write is about this state of it.
    pub version: Box<str>,
    /// `spec.volumeName`; empty if none.
    pub volume: Box<str>,
    /// Whether it has the annotation `pv.kubernetes.io/bind-completed`.
    pub is_bind_completed: bool,
    /// Whether its phase is `Lost`.
    pub is_lost: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// Its class: the beta annotation if there is one, else `storageClassName`; empty if none.
    pub class: Box<str>,
    /// How much it asks for; none if it does not say.
    pub size: Option<Quantity>,
    /// How it is to be mounted.
    pub modes: AccessModes,
    /// Whether it asks for a block device and no file system.
    pub is_block: bool,
    /// Its `volumeAttributesClassName`; empty if none.
    pub attributes_class: Box<str>,
    /// Labels that its volume must have.
    pub selector: Option<LabelSelector>,
    /// The annotation `volume.kubernetes.io/selected-node`, if it is there.
    pub selected_node: Option<Box<str>>,
    /// The uid of its controller, if it has one: the pod that an ephemeral volume is for.
    pub owner: Option<Box<str>>,
}

impl VolumeClaimFacts {
    /// What it is listed by: namespace and name.
    #[must_use]
    pub fn key(&self) -> Box<str> {
        claim_key(&self.namespace, &self.name)
    }

    /// Whether it has its volume for good.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        !self.volume.is_empty() && self.is_bind_completed
    }
}

/// What a claim is listed by.
#[must_use]
pub fn claim_key(namespace: &str, name: &str) -> Box<str> {
    format!("{namespace}/{name}").into()
}

/// A StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StorageClassFacts {
    /// Its name.
    pub name: Box<str>,
    /// Who makes its volumes.
    pub provisioner: Box<str>,
    /// When claims get their volumes; none if it does not say.
    pub mode: Option<BindingMode>,
    /// `allowedTopologies`: a node must match one of the terms, each of which has `In`
    /// requirements only. None means any node.
    pub topologies: Option<Vec<NodeTerm>>,
}

/// When claims get their volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BindingMode {
    /// At once, by the controller.
    Immediate,
    /// When a pod that uses them is placed.
    WaitForFirstConsumer,
}

/// A CSINode: what CSI drivers say of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CsiNodeFacts {
    /// The name of the node.
    pub name: Box<str>,
    /// Its drivers, each with how many volumes of it the node takes at most, if it says.
    pub drivers: Vec<(Box<str>, Option<i32>)>,
    /// In-tree plugins that are migrated on the node, from the annotation
    /// `storage.alpha.kubernetes.io/migrated-plugins`.
    pub migrated: Vec<Box<str>>,
}

/// A CSIDriver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CsiDriverFacts {
    /// Its name.
    pub name: Box<str>,
    /// Whether it says how much storage is left (`storageCapacity`).
    pub tells_capacity: bool,
    /// Whether pods wait for a node that has it (`preventPodSchedulingIfMissing`).
    pub is_required: bool,
}

/// A CSIStorageCapacity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CsiStorageCapacityFacts {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// The StorageClass it is about.
    pub class: Box<str>,
    /// The nodes that can use the storage; none, or one that makes no sense, means no node.
    pub topology: Option<LabelSelector>,
    /// How much is left, in bytes, if it says.
    pub capacity: Option<i64>,
    /// How large a volume can be, in bytes, if it says.
    pub volume_max: Option<i64>,
}

impl CsiStorageCapacityFacts {
    /// What it is listed by: namespace and name.
    #[must_use]
    pub fn key(&self) -> Box<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// A VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VolumeAttachmentFacts {
    /// Its name.
    pub name: Box<str>,
    /// The node.
    pub node: Box<str>,
    /// The driver that attaches; empty if it does not say.
    pub attacher: Box<str>,
    /// The PersistentVolume, by name; none for inline volumes.
    pub volume: Option<Box<str>>,
}

/// A volume of a pod that limits where the pod can run. Others are the kubelet's business.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PodVolume {
    /// A PersistentVolumeClaim of the pod's namespace, by name.
    Claim(Box<str>),
    /// A generic ephemeral volume.
    Ephemeral {
        /// The name of the claim that is made for it.
        claim: Box<str>,
        /// The uid of the pod, which must own the claim.
        pod: Box<str>,
        /// The name of the pod.
        pod_name: Box<str>,
    },
    /// A disk that the pod names itself.
    Inline {
        /// What must not be mounted twice.
        disk: Option<Disk>,
        /// What counts against the limit of a CSI driver, where its in-tree plugin is migrated.
        csi: Option<CsiVolume>,
        /// Whether such a driver can make nothing of it.
        #[serde(default)]
        is_broken: bool,
    },
}

impl PodVolume {
    /// The name of the claim behind it, if there is one.
    #[must_use]
    pub fn claim(&self) -> Option<&str> {
        match self {
            Self::Claim(name) | Self::Ephemeral { claim: name, .. } => Some(name),
            Self::Inline { .. } => None,
        }
    }
}

/// The volumes of a pod.
pub type PodVolumes = Arc<[PodVolume]>;

/// An in-tree disk that pods on one node share only if they all read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// What it is.
    pub id: DiskId,
    /// Whether it is only read. Nobody shares an EBS volume: it never is.
    pub is_read_only: bool,
}

/// What an in-tree disk is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DiskId {
    /// The name of a GCE disk.
    Gce(Box<str>),
    /// The id of an EBS volume.
    Ebs(Box<str>),
    /// The name of an iSCSI target.
    Iscsi(Box<str>),
    /// A Ceph image.
    Rbd {
        /// Where the image is served; one in common is the same cluster.
        monitors: Vec<Box<str>>,
        /// The pool.
        pool: Box<str>,
        /// The image.
        image: Box<str>,
    },
}

impl Disk {
    /// Whether both cannot be on one node.
    #[must_use]
    pub fn conflicts(&self, other: &Self) -> bool {
        let is_same = match (&self.id, &other.id) {
            (
                DiskId::Rbd { monitors, pool, image },
                DiskId::Rbd { monitors: others, pool: other_pool, image: other_image },
            ) => {
                (pool, image) == (other_pool, other_image)
                    && monitors.iter().any(|monitor| others.contains(monitor))
            }
            (one, other) => one == other,
        };
        is_same && !(self.is_read_only && other.is_read_only)
    }
}
