//! A NodeResourceTopology: what an updater tells of the zones of a node, and how much of them was
//! free when it last looked.

use serde::{Deserialize, Serialize};

use crate::hardware::{CpuRanges, Unread};
use crate::topology::{TopologyPolicy, TopologyScope};

/// A NodeResourceTopology as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeResourceTopologyFacts {
    /// The node it is about, by name.
    pub node: Box<str>,
    /// Its `resourceVersion`: another one is another update. 0 if it has none.
    #[serde(skip_serializing_if = "is_zero")]
    pub version: u64,
    /// The kubelet's `topologyManagerPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<TopologyPolicy>,
    /// The kubelet's `topologyManagerScope`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<TopologyScope>,
    /// Its zones, by id; none if they cannot be understood.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub zones: Box<[ToldZone]>,
    /// Which pods it accounts for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodsFingerprint>,
    /// What is written there and means nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unread: Box<[Unread]>,
}

/// A zone of which amounts are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToldZone {
    /// The number that the operating system gives it.
    pub id: u32,
    /// What it has, by name of the resource: CPUs, bytes, devices.
    pub amounts: Box<[ZoneAmount]>,
    /// How far other zones are, by id.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub distances: Box<[(u32, u32)]>,
    /// Its CPUs, which only our own agent tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuRanges>,
}

/// How much of a resource a zone has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ZoneAmount {
    /// The resource.
    pub resource: Box<str>,
    /// All of it.
    pub capacity: u64,
    /// What pods may have.
    pub allocatable: u64,
    /// What pods had left.
    pub available: u64,
}

/// A fingerprint of the pods that an updater accounts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodsFingerprint {
    /// Of which pods.
    pub method: FingerprintMethod,
    /// The fingerprint: see [`crate::fingerprint`].
    pub sum: u64,
}

/// Which pods of a node are in a fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FingerprintMethod {
    /// All that have not ended.
    #[default]
    All,
    /// Those that have CPUs, devices or memory for themselves.
    WithExclusiveResources,
}

impl ToldZone {
    /// How much there is of a resource, if it is told.
    #[must_use]
    pub fn amount(&self, resource: &str) -> Option<&ZoneAmount> {
        self.amounts.iter().find(|amount| &*amount.resource == resource)
    }
}

impl NodeResourceTopologyFacts {
    /// Whether it tells how much there is of a resource in some zone.
    #[must_use]
    pub fn tells(&self, resource: &str) -> bool {
        self.zones.iter().any(|zone| zone.amount(resource).is_some())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
