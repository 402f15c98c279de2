//! What a pod says of the NUMA zones it wants, and why a node does not give it what it asks for.

use serde::{Deserialize, Serialize};

use crate::hardware::Unread;
use crate::topology::{Needs, PodAsk, RejectionCause, TopologyPolicy};

/// How a pod wants to be aligned with zones, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NumaPolicy {
    /// Not at all.
    None,
    /// Better on nodes where it is.
    BestEffort,
    /// In as few zones as every resource could have on the empty node.
    Restricted,
    /// In one zone.
    SingleNuma,
    /// In one zone, and beside nobody who has CPUs or devices of it alone.
    Isolated,
}

impl NumaPolicy {
    /// The words for policies. The last is what the kubelet calls it.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("none", Self::None),
        ("best-effort", Self::BestEffort),
        ("restricted", Self::Restricted),
        ("single-numa", Self::SingleNuma),
        ("isolated", Self::Isolated),
        ("single-numa-node", Self::SingleNuma),
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, other)| *other == self);
        found.map_or("", |(word, _)| *word)
    }

    /// Whether a node that does not give it is ruled out.
    #[must_use]
    pub fn is_strict(self) -> bool {
        self >= Self::Restricted
    }

    /// Whether a kubelet with this policy could align the pod otherwise than it asks.
    #[must_use]
    pub fn is_beyond(self, kubelet: TopologyPolicy) -> bool {
        let needed = match self {
            Self::None | Self::BestEffort => return false,
            Self::Restricted => TopologyPolicy::Restricted,
            Self::SingleNuma | Self::Isolated => TopologyPolicy::SingleNumaNode,
        };
        strength(kubelet) < strength(needed)
    }
}

fn strength(policy: TopologyPolicy) -> u8 {
    match policy {
        TopologyPolicy::None => 0,
        TopologyPolicy::BestEffort => 1,
        TopologyPolicy::Restricted => 2,
        TopologyPolicy::SingleNumaNode => 3,
    }
}

/// How the pods of a gang are spread over the zones of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GangSpread {
    /// Together.
    Packed,
    /// Evenly.
    Balanced,
    /// No two in a zone.
    Isolated,
}

impl GangSpread {
    /// The words for them.
    pub const WORDS: [(&'static str, Self); 3] =
        [("packed", Self::Packed), ("balanced", Self::Balanced), ("isolated", Self::Isolated)];
}

/// What a pod says of the zones it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NumaWish {
    /// How it wants to be aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<NumaPolicy>,
    /// The resources that are aligned; nothing said means CPU, memory and devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Box<[String]>>,
    /// Zones it had better be in, a bit for each id.
    pub preferred: u64,
    /// Zones it must not be in, a bit for each id.
    pub avoided: u64,
    /// How its gang is spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<GangSpread>,
    /// Whether it says that it moves much memory, or that it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_memory_intensive: Option<bool>,
    /// Whether it names a gang, in journals of before its hints said so.
    pub is_in_gang: bool,
    /// What is wrong with what it asks for, so that it cannot be placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Box<str>>,
    /// What it says in vain.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub unread: Box<[Unread]>,
}

impl NumaWish {
    /// The policy that it asks for: whoever names zones, or how a gang is spread, wants the best
    /// that can be had.
    #[must_use]
    pub fn asked(&self) -> Option<NumaPolicy> {
        let is_picky = self.preferred | self.avoided != 0 || self.spread.is_some();
        self.policy.or(is_picky.then_some(NumaPolicy::BestEffort))
    }
}

/// All that decides which zones of a node pods of a class get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// What their containers ask a kubelet for.
    pub ask: PodAsk,
    /// What they need of zones together, of the resources that are to be aligned.
    pub needs: Needs,
    /// What they say themselves.
    pub wish: NumaWish,
}

/// Why a node does not take a pod because of its zones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NumaFault {
    /// What the pod asks for makes no sense; in words.
    Invalid(Box<str>),
    /// It is not known what zones the node has.
    Unknown(NumaPolicy),
    /// The node's kubelet insists on less than the pod asks for.
    Weaker {
        /// What the pod asks for.
        asked: NumaPolicy,
    },
    /// The node's kubelet would not admit the pod.
    Refused {
        /// What it would say.
        cause: KubeletCause,
        /// Whether what is taken of the node is not certain.
        is_estimated: bool,
    },
    /// The zones that are free together, as the policy wants them, have too little.
    NoZones {
        /// What the pod asks for.
        asked: NumaPolicy,
        /// Whether what is taken of the node is not certain.
        is_estimated: bool,
    },
    /// The pod excludes all zones that could take it.
    Avoided,
    /// A zone that the pod would get is kept for one that must be alone there.
    Kept,
}

/// What a kubelet says to a pod that it does not admit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KubeletCause {
    /// `TopologyAffinityError`
    Topology,
    /// `SMTAlignmentError`
    Cores,
    /// `UnexpectedAdmissionError`
    Admission,
}

impl KubeletCause {
    /// The word of the kubelet.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Topology => "TopologyAffinityError",
            Self::Cores => "SMTAlignmentError",
            Self::Admission => "UnexpectedAdmissionError",
        }
    }
}

impl From<RejectionCause> for KubeletCause {
    fn from(cause: RejectionCause) -> Self {
        match cause {
            RejectionCause::TopologyAffinity => Self::Topology,
            RejectionCause::SmtAlignment => Self::Cores,
            RejectionCause::CpusTaken
            | RejectionCause::DevicesTaken(_)
            | RejectionCause::NoHealthyDevice(_)
            | RejectionCause::MemoryTaken
            | RejectionCause::MemoryNotPreferred
            | RejectionCause::MemoryGrouped
            | RejectionCause::MemoryKindUnknown(_) => Self::Admission,
        }
    }
}

impl NumaFault {
    /// The word that machines know it by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "InvalidNUMARequest",
            Self::Unknown(_) => "NUMATopologyUnknown",
            Self::Weaker { .. } => "NUMAKubeletPolicyWeaker",
            Self::Refused { .. } => "NUMAKubeletRefusal",
            Self::NoZones { .. } => "NUMANoFit",
            Self::Avoided => "NUMAZonesAvoided",
            Self::Kept => "NUMAZoneKept",
        }
    }

    /// Whether pods that leave the node could end it.
    #[must_use]
    pub fn is_about_load(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::NoZones { .. } | Self::Avoided | Self::Kept => true,
            Self::Invalid(_) | Self::Unknown(_) | Self::Weaker { .. } => false,
        }
    }
}
