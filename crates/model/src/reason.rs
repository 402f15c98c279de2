//! Every way to say no, as data. Texts are made at the edge, from this, and so are wake-up rules.

use serde::{Deserialize, Serialize};

use crate::fabric::FabricFault;
use crate::gpu::GpuFault;
use crate::ids::ResourceId;
use crate::need::Need;
use crate::numa::NumaFault;
use crate::tiers::TierFault;
use crate::volume::VolumeFault;

/// Whether evicting pods could turn a no into a yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// Evicting other pods may help.
    Unschedulable,
    /// Nothing that can be done to other pods helps.
    Unresolvable,
    /// The question could not be answered.
    Error,
}

impl Code {
    /// The worst code, which speaks for all reasons of a node; none if there are none.
    #[must_use]
    pub fn worst(reasons: &[Reason]) -> Option<Self> {
        reasons.iter().map(Reason::code).max()
    }
}

/// Why a pod cannot go to a node, or cannot go anywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Reason {
    /// There is no node at all.
    NoNodes,
    /// The pod waits for gates to be removed; their names, in order.
    Gated(Box<[Box<str>]>),
    /// The pod names another node.
    OtherNode,
    /// The node is closed to new pods.
    Closed,
    /// The node has a taint that the pod does not tolerate.
    UntoleratedTaint,
    /// The node does not match the pod's selector or required affinity.
    NodeAffinity,
    /// The node does not match the affinity that the profile adds to every pod.
    AddedAffinity,
    /// The pod's terms exclude each other, so that no node can match.
    AffinityConflict,
    /// Plugins name the nodes that may be looked at, and this one is not among them.
    NotNamed(Box<[Box<str>]>),
    /// Plugins name nodes, and no node is named by all of them.
    NoneNamed(Box<[Box<str>]>),
    /// A host port of the pod is taken.
    HostPort,
    /// The node holds as many pods as it may.
    TooManyPods,
    /// The node has not enough of a resource free.
    Insufficient {
        /// What is short.
        resource: ResourceId,
        /// Whether even the empty node would have too little.
        is_beyond_node: bool,
    },
    /// The node does not declare a feature that the pod needs.
    MissingFeature,
    /// The node lacks the label of a topology that the pod must be spread over.
    SpreadLabel,
    /// The node's domain has too many of the pods already that must be spread.
    SpreadSkew,
    /// No pod of those that must be near is in the node's domain.
    NotNear,
    /// A pod of those that must be far is in the node's domain.
    NotFar,
    /// A pod in the node's domain wants this one to be far.
    Unwelcome,
    /// A selector of the pod's spread constraints makes no sense.
    BrokenSpread,
    /// A selector of the pod's terms about other pods makes no sense.
    BrokenTerm,
    /// The pod asks for something that is not supported yet.
    NotSupported(Need),
    /// A term of the pod or of the profile makes no sense, so that nodes cannot be ranked.
    BrokenPreference,
    /// What is said of the pod's gang makes no sense; in words.
    GangFault(Box<str>),
    /// The object that says how many of the gang start together is not there; its name.
    NoPodGroup(Box<str>),
    /// Not enough pods of the gang are there.
    GangIncomplete {
        /// How many are.
        there: u32,
        /// How many have to start together.
        min: u32,
    },
    /// A pod of the gang waits for gates to be removed; its name.
    MemberGated(Box<str>),
    /// The pod waits for a gang to run to a good end; its name.
    After(Box<str>),
    /// Gangs wait for each other; their names, from one back to itself.
    AfterCycle(Box<[Box<str>]>),
    /// Volumes of the pod are in the way.
    Volume(VolumeFault),
    /// NUMA zones of the node are in the way.
    Numa(NumaFault),
    /// GPUs of the node are in the way.
    Gpu(GpuFault),
    /// The network is in the way.
    Fabric(FabricFault),
    /// The tier of the pod's tenant keeps it off the node, or the node's accelerators do.
    Tier(TierFault),
    /// The node is not in the domain of the pods of the gang that are on nodes.
    OtherDomain,
    /// All nodes together have less free than the gang asks for.
    ClusterShort {
        /// The name of what is short.
        resource: Box<str>,
        /// How much is asked for.
        asked: i64,
        /// How much is free.
        free: i64,
        /// How much all nodes have.
        offered: i64,
    },
}

impl Reason {
    /// The same reason in a catalog that gives resources other numbers; nothing if it has none for
    /// the resource.
    #[must_use]
    pub fn renumbered(
        self,
        number: &mut impl FnMut(ResourceId) -> Option<ResourceId>,
    ) -> Option<Self> {
        Some(match self {
            Self::Insufficient { resource, is_beyond_node } => {
                Self::Insufficient { resource: number(resource)?, is_beyond_node }
            }
            Self::NoNodes
            | Self::Gated(_)
            | Self::OtherNode
            | Self::Closed
            | Self::UntoleratedTaint
            | Self::NodeAffinity
            | Self::AddedAffinity
            | Self::AffinityConflict
            | Self::NotNamed(_)
            | Self::NoneNamed(_)
            | Self::HostPort
            | Self::TooManyPods
            | Self::MissingFeature
            | Self::SpreadLabel
            | Self::SpreadSkew
            | Self::NotNear
            | Self::NotFar
            | Self::Unwelcome
            | Self::BrokenSpread
            | Self::BrokenTerm
            | Self::NotSupported(_)
            | Self::BrokenPreference
            | Self::GangFault(_)
            | Self::NoPodGroup(_)
            | Self::GangIncomplete { .. }
            | Self::MemberGated(_)
            | Self::After(_)
            | Self::AfterCycle(_)
            | Self::Volume(_)
            | Self::Numa(_)
            | Self::Gpu(_)
            | Self::Fabric(_)
            | Self::Tier(_)
            | Self::OtherDomain
            | Self::ClusterShort { .. } => self,
        })
    }

    /// The word that machines know it by: in JSON, in journals and as a label of metrics. It stays
    /// when texts or names of variants change; docs/reasons.md lists all of them.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoNodes => "NoNodes",
            Self::Gated(_) => "SchedulingGated",
            Self::OtherNode => "NodeNameMismatch",
            Self::Closed => "NodeUnschedulable",
            Self::UntoleratedTaint => "UntoleratedTaint",
            Self::NodeAffinity => "NodeAffinityMismatch",
            Self::AddedAffinity => "AddedAffinityMismatch",
            Self::AffinityConflict => "NodeAffinityConflict",
            Self::NotNamed(_) => "PluginNodesMismatch",
            Self::NoneNamed(_) => "PluginNodesConflict",
            Self::HostPort => "HostPortConflict",
            Self::TooManyPods => "TooManyPods",
            Self::Insufficient { .. } => "InsufficientResource",
            Self::MissingFeature => "NodeFeatureMissing",
            Self::SpreadLabel => "TopologyLabelMissing",
            Self::SpreadSkew => "TopologySpreadSkew",
            Self::NotNear => "PodAffinityMismatch",
            Self::NotFar => "PodAntiAffinityConflict",
            Self::Unwelcome => "ExistingPodAntiAffinityConflict",
            Self::BrokenSpread => "TopologySpreadInvalid",
            Self::BrokenTerm => "PodAffinityInvalid",
            Self::NotSupported(_) => "NotSupported",
            Self::BrokenPreference => "NodePreferenceInvalid",
            Self::GangFault(_) => "GangInvalid",
            Self::NoPodGroup(_) => "PodGroupMissing",
            Self::GangIncomplete { .. } => "GangIncomplete",
            Self::MemberGated(_) => "GangMemberGated",
            Self::After(_) => "DependencyPending",
            Self::AfterCycle(_) => "DependencyCycle",
            Self::Volume(fault) => fault.word(),
            Self::Numa(fault) => fault.word(),
            Self::Gpu(fault) => fault.word(),
            Self::Fabric(fault) => fault.word(),
            Self::Tier(fault) => fault.word(),
            Self::OtherDomain => "GangDomainMismatch",
            Self::ClusterShort { .. } => "MinResourcesShort",
        }
    }

    /// Whether evicting pods could help.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::HostPort
            | Self::TooManyPods
            | Self::SpreadSkew
            | Self::NotFar
            | Self::Unwelcome => Code::Unschedulable,
            Self::Insufficient { is_beyond_node, .. } => {
                if *is_beyond_node {
                    Code::Unresolvable
                } else {
                    Code::Unschedulable
                }
            }
            Self::NoNodes
            | Self::Gated(_)
            | Self::OtherNode
            | Self::Closed
            | Self::UntoleratedTaint
            | Self::NodeAffinity
            | Self::AddedAffinity
            | Self::AffinityConflict
            | Self::NotNamed(_)
            | Self::NoneNamed(_)
            | Self::MissingFeature
            | Self::SpreadLabel
            | Self::NotNear
            | Self::BrokenTerm
            | Self::NotSupported(_)
            | Self::GangFault(_)
            | Self::NoPodGroup(_)
            | Self::GangIncomplete { .. }
            | Self::MemberGated(_)
            | Self::After(_)
            | Self::AfterCycle(_)
            | Self::OtherDomain
            | Self::Tier(_)
            | Self::ClusterShort { .. } => Code::Unresolvable,
            Self::Volume(fault) => fault.code(),
            Self::Numa(fault) if fault.is_about_load() => Code::Unschedulable,
            Self::Numa(_) => Code::Unresolvable,
            Self::Gpu(fault) if fault.is_about_load() => Code::Unschedulable,
            Self::Gpu(_) | Self::Fabric(_) => Code::Unresolvable,
            Self::BrokenPreference | Self::BrokenSpread => Code::Error,
        }
    }
}
