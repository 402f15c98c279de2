//! Storage: what the API says of it, how a pod can take a node with its volumes, and why not.

mod facts;
mod fault;
mod ways;

pub use facts::{
    AccessModes, BindingMode, ClaimRef, CsiDriverFacts, CsiNodeFacts, CsiStorageCapacityFacts,
    CsiVolume, Disk, DiskId, Migrated, PersistentVolumeFacts, PodVolume, PodVolumes,
    StorageClassFacts, StorageFacts, StorageKind, VolumeAttachmentFacts, VolumeClaimFacts,
    VolumeSource, claim_key,
};
pub use fault::VolumeFault;
pub use ways::{Assignment, PodClaims, Way};
