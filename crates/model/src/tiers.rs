//! Tiers of hardware, and for which tenants a node is reserved.

use serde::{Deserialize, Serialize};

use crate::profile::Tier;

/// The label of a namespace that says how its pods are served.
pub const TENANT_TIER_LABEL: &str = "tenant.kubenexus.io/tier";

/// How costly the accelerators of a node are, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HardwareTier {
    /// What there is most of.
    Economy,
    /// What most pods need.
    Standard,
    /// What is scarce.
    Premium,
}

impl HardwareTier {
    /// The words for tiers of hardware.
    pub const WORDS: [(&'static str, Self); 3] =
        [("premium", Self::Premium), ("standard", Self::Standard), ("economy", Self::Economy)];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Premium => "premium",
            Self::Standard => "standard",
            Self::Economy => "economy",
        }
    }
}

/// Who may use a node that is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReservedFor {
    /// Tenants of a tier.
    Tenants(Tier),
    /// Nobody but the system.
    System,
}

/// What labels of a node say of its tier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TierLabels {
    /// The tier of its hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<HardwareTier>,
    /// What it costs, in thousandths of whatever costs are counted in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_milli: Option<u64>,
    /// Who may use it, if not everybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ReservedFor>,
}

impl TierLabels {
    /// Whether they say nothing.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        *self == Self::default()
    }
}

/// Why the tier of a pod's tenant keeps it off a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum TierFault {
    /// The tenant may not use hardware of this tier.
    NotAllowed,
    /// The node is reserved for others.
    Reserved,
    /// The node has accelerators, which the pod does not ask for.
    Accelerators,
}

impl TierFault {
    /// The word that machines know it by.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotAllowed => "HardwareTierNotAllowed",
            Self::Reserved => "NodeReservedForTier",
            Self::Accelerators => "AcceleratorNodeReserved",
        }
    }
}
