//! Storage of a plan: what there is of it, and how its controllers behave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    CsiNodeFacts, CsiVolume, Disk, Millis, PersistentVolumeFacts, PodVolume, StorageClassFacts,
    StorageFacts, StorageKind, Time, VolumeClaimFacts,
};

/// Everything about volumes that is not a pod's own. The default is that there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoragePlan {
    /// StorageClasses, and since when they are there.
    pub classes: Vec<(Time, StorageClassFacts)>,
    /// PersistentVolumes that an administrator makes, and when. They say for whom they are only
    /// later.
    pub volumes: Vec<(Time, PersistentVolumeFacts)>,
    /// Claims that several pods may name.
    pub claims: Vec<ClaimPlan>,
    /// What drivers say of nodes, and since when.
    pub csi_nodes: Vec<(Time, CsiNodeFacts)>,
    /// What else comes, changes or goes, and when; no claims.
    pub objects: Vec<(Time, StorageChange)>,
    /// How long the PersistentVolume controller takes, at least and at most.
    pub controller: (Millis, Millis),
    /// Who makes volumes.
    pub provisioner: Provisioner,
    /// That it is the storage of a whole cluster, as files describe it, and what they say beside.
    /// Claims that wait for no pod get their volumes at once then, and what becomes of a volume
    /// whose claim is gone follows from its policy.
    pub cluster: Option<ClusterStorage>,
}

/// What the files of a cluster say of storage beside the objects that schedulers are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterStorage {
    /// For every driver that any CSINode names, by which labels of nodes it says where its volumes
    /// can be used; none means everywhere.
    pub topology_keys: BTreeMap<Box<str>, Vec<Box<str>>>,
    /// Volumes that are deleted when their claims are.
    pub deleted: BTreeSet<Box<str>>,
    /// Classes whose volumes are kept when their claims are deleted.
    pub retaining: BTreeSet<Box<str>>,
}

impl StoragePlan {
    /// Whether there is no storage.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What becomes of an object of storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageChange {
    /// It is there, or says something else than before.
    Is(Box<StorageFacts>),
    /// It is gone, by name.
    Gone(StorageKind, Box<str>),
}

/// A claim that several pods may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPlan {
    /// What it asks for.
    pub facts: VolumeClaimFacts,
    /// When it comes and when it goes, in turns. One that comes back is another one.
    pub times: Vec<Time>,
}

/// Who makes volumes for claims that have a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Provisioner {
    /// How long it takes, at least and at most.
    pub takes: (Millis, Millis),
    /// How many of a hundred times it fails, and gives the node back.
    pub failed_percent: u64,
    /// How many of a hundred times it does not answer, until everything calms down.
    pub silent_percent: u64,
    /// How many of a hundred times it does not answer for long, whether everything calms down or
    /// not.
    pub stubborn_percent: u64,
    /// For how long, at least and at most.
    pub stubborn: (Millis, Millis),
    /// How many of a hundred volumes can be used in the zone of the node only.
    pub near_percent: u64,
}

/// A volume of every pod of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// A claim of the plan, by name.
    Shared(Box<str>),
    /// A disk that the pod names itself.
    Disk(PodVolume),
    /// A generic ephemeral volume: a claim that is made for each pod, and goes with it.
    Ephemeral {
        /// The name of the volume.
        volume: Box<str>,
        /// What the claim asks for; without it nobody makes one.
        template: Option<Arc<VolumeClaimFacts>>,
        /// The owner that a claim of the plan has which was made for this very pod.
        owner: Box<str>,
    },
    /// A claim of the pod's own, which goes some time after the pod.
    Own {
        /// Its class.
        class: Box<str>,
        /// How much it asks for, in GiB.
        gib: i64,
        /// Whether it is a generic ephemeral volume.
        is_ephemeral: bool,
        /// How much later than the pod it is made, at least and at most.
        late: (Millis, Millis),
    },
    /// A disk that the pods name themselves.
    Inline {
        /// What must not be mounted twice.
        disk: Disk,
        /// What counts against the limit of a CSI driver.
        csi: Option<CsiVolume>,
    },
}
