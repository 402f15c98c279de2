//! What the cluster is and what is taken.
//!
//! Two halves. [`Catalog`] holds facts that came from the API and changes only while an event is
//! applied. [`Usage`] holds what is taken of every node and changes only inside a [`Txn`], which
//! undoes itself when dropped. A scheduling step borrows the one and changes the other, so a gang
//! can be judged once and placed member by member.
//!
//! This crate must never read a clock, start a thread, open anything or iterate a map whose order
//! is not fixed: the same events must lead to the same decisions, always.

mod amounts;
mod catalog;
mod decision;
pub mod device;
mod event;
mod fabric;
mod fingerprint;
mod gang;
mod gpu;
mod grouping;
pub mod hardware;
mod ids;
mod kinds;
mod looks;
mod map;
mod names;
mod need;
mod node_resource_topology;
mod numa;
mod profile;
mod quantity;
mod reason;
mod resources;
mod selector;
mod spec;
mod symbol;
mod taint;
mod tiers;
mod time;
pub mod topology;
mod txn;
mod usage;
mod volume;

pub use amounts::{Amounts, Charge, Requests};
pub use catalog::{
    Catalog, Chain, Class, Company, Crowd, Fabric, FabricDomain, Found, Gang, GangTerms, Held,
    ImageSpread, Kept, Learnt, Memberships, Moved, Node, NodeChange, Occupant, Offer, Pod,
    PodState, Progress, Rule, Sizes, Spread, Stage, StorageCapacity, StorageClass, Tags, Tenant,
    Volume, Wish,
};
pub use decision::{
    Attempt, Decision, Diagnosis, Disband, GangReport, GangState, OnPartialFailure, Outlook,
    Preemption, Preparation, Rescue, Shortfall, Unprepared, Waiting, Write,
};
pub use event::{
    BudgetFacts, Change, ClusterQueueFacts, Eligible, Event, LocalQueueFacts, NamespaceFacts,
    NodeAspects, NodeFacts, Outcome, PodFacts, PodKey, PodRest, Present,
};
pub use fabric::{CoLocation, FabricFault, FabricLevel, FabricTier, FabricWish};
pub use fingerprint::fingerprint;
pub use gang::{
    GANG_AFTER_MAX, GANG_CHAIN_MAX, GANG_CLAIMS_MAX, GANG_LEVELS_MAX, GANG_MAX, GangClaim,
    GroupPart, JobFacts, PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts, Workers,
};
pub use gpu::{
    ANY_MODEL, GpuAsk, GpuDemand, GpuFault, GpuLayout, GpuModel, GpuPrices, GpuRoom, GpuShape,
    GpuShare, GpuWish, LeftBeside, Nearness, ROOM_SIZES, Taking, WHOLE_MILLI, is_gpu,
};
pub use grouping::{GroupingFacts, GroupingKey, GroupingKind, Owner};
pub use ids::{
    ClassId, CrowdId, DomainId, FabricDomainId, FabricId, GangId, KeyId, NodeId, PodId, ResourceId,
    TagsId, UnitId,
};
pub use kinds::{Fact, Key, Kind};
pub use map::{Map, Table, hash_of};
pub use names::{is_label_value, is_qualified_name, is_subdomain};
pub use need::{Features, Need};
pub use node_resource_topology::{
    FingerprintMethod, NodeResourceTopologyFacts, PodsFingerprint, ToldZone, ZoneAmount,
};
pub use numa::{Alignment, GangSpread, KubeletCause, NumaFault, NumaPolicy, NumaWish};
pub use profile::{
    Bond, Hardware, Hints, Ignored, Known, Said, Source, Tier, Workload, WorkloadProfile,
};
pub use quantity::{Quantity, QuantityError};
pub use reason::{Code, Reason};
pub use resources::{Resources, is_extended_resource, is_huge_page, is_scalar_resource};
pub use selector::{Requirement, Selector, SelectorTerm, Term, WeightedTerm};
pub use spec::{
    FieldOperator, HostPort, LabelOperator, LabelSelector, Labels, NodeTerm, PodSpec, PodTerm,
    Preference, Protocol, RequirementSpec, SpreadSpec, Target,
};
pub use symbol::{Symbol, Symbols};
pub use taint::{Effect, Operator, Taint, Toleration};
pub use tiers::{HardwareTier, ReservedFor, TENANT_TIER_LABEL, TierFault, TierLabels};
pub use time::{Millis, Moment, Time};
pub use txn::{Savepoint, Txn};
pub use usage::{
    AMOUNT_MAX, Account, Assigned, Columns, GpuGuest, GpuPool, Guest, Hold, HoldOwner, Holds,
    Inside, Levels, Load, Touch, Touched, Usage, Ways,
};
pub use volume::{
    AccessModes, Assignment, BindingMode, ClaimRef, CsiDriverFacts, CsiNodeFacts,
    CsiStorageCapacityFacts, CsiVolume, Disk, DiskId, Migrated, PersistentVolumeFacts, PodClaims,
    PodVolume, PodVolumes, StorageClassFacts, StorageFacts, StorageKind, VolumeAttachmentFacts,
    VolumeClaimFacts, VolumeFault, VolumeSource, Way, claim_key,
};
