//! The network between nodes: what pods want of it, and what a node's part of it is called.

use serde::{Deserialize, Serialize};

/// How fast nodes reach each other, the slowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FabricTier {
    /// Plain Ethernet.
    Ethernet,
    /// RDMA over Ethernet.
    Roce,
    /// InfiniBand.
    Infiniband,
    /// NVLink between the GPUs of one node, which says nothing of other nodes.
    Nvlink,
    /// NVLink between GPUs of several nodes.
    Nvswitch,
}

impl FabricTier {
    /// The words for them.
    pub const WORDS: [(&str, Self); 5] = [
        ("ethernet", Self::Ethernet),
        ("roce", Self::Roce),
        ("infiniband", Self::Infiniband),
        ("nvlink", Self::Nvlink),
        ("nvswitch", Self::Nvswitch),
    ];

    /// What a word means, in letters of any case.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word));
        found.map(|(_, tier)| *tier)
    }

    /// Whether a node of this tier is good enough for a pod that asks for `least`. NVLink inside
    /// a node is of no use to pods that talk to others on other nodes.
    #[must_use]
    pub fn satisfies(self, least: Self, is_alone: bool) -> bool {
        if self == Self::Nvlink {
            return is_alone;
        }
        let least = if least == Self::Nvlink { Self::Nvswitch } else { least };
        self >= least
    }
}

/// Whether the pods of a gang must be close to each other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum CoLocation {
    /// It does not matter.
    None,
    /// They had better be.
    #[default]
    Preferred,
    /// They must be in one domain of a level.
    Strict,
}

impl CoLocation {
    /// The words for them.
    pub const WORDS: [(&str, Self); 3] =
        [("none", Self::None), ("preferred", Self::Preferred), ("strict", Self::Strict)];
}

/// What a pod says of the network it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FabricWish {
    /// The slowest network that will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_tier: Option<FabricTier>,
    /// How close to each other the pods of its gang must be.
    pub co_location: CoLocation,
    /// The level of the network that is meant, by its name or by a label of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Box<str>>,
    /// Whether it talks a lot to others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_network_intensive: Option<bool>,
    /// Why it cannot be placed: what it says means nothing; in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Box<str>>,
}

/// Why a pod cannot have a node, for the network's sake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum FabricFault {
    /// What it says of the network means nothing; in words.
    Invalid(Box<str>),
    /// The network of the node is slower than it asks for, or unknown.
    TooSlow,
}

impl FabricFault {
    /// The word that machines know it by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "InvalidFabricRequest",
            Self::TooSlow => "FabricTooSlow",
        }
    }
}

/// A level of the network. Nodes that have the same value of a label are in one domain of it; of
/// several labels the first counts that a node has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FabricLevel {
    /// What it is called.
    pub name: Box<str>,
    /// The labels.
    pub labels: Box<[Box<str>]>,
}

impl FabricLevel {
    /// Whether a user means this level.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        *self.name == *name || self.labels.iter().any(|label| **label == *name)
    }
}

#[cfg(test)]
mod tests {
    use super::FabricTier::{self, Ethernet, Infiniband, Nvlink, Nvswitch, Roce};

    #[test]
    fn tiers_satisfy_each_other_by_table() {
        // What a node has, what is asked for, for pods that are alone, for pods of gangs.
        let table = [
            (Ethernet, Ethernet, true, true),
            (Ethernet, Roce, false, false),
            (Roce, Ethernet, true, true),
            (Roce, Infiniband, false, false),
            (Infiniband, Roce, true, true),
            (Infiniband, Nvswitch, false, false),
            (Infiniband, Nvlink, false, false),
            (Nvlink, Ethernet, true, false),
            (Nvlink, Nvlink, true, false),
            (Nvlink, Nvswitch, true, false),
            (Nvswitch, Nvlink, true, true),
            (Nvswitch, Nvswitch, true, true),
            (Nvswitch, Ethernet, true, true),
        ];
        for (has, asked, alone, gang) in table {
            let found = (has.satisfies(asked, true), has.satisfies(asked, false));
            assert_eq!(found, (alone, gang), "{has:?} for {asked:?}");
        }
    }

    #[test]
    fn words_of_any_case_are_read() {
        assert_eq!(FabricTier::read("InfiniBand"), Some(Infiniband));
        assert_eq!(FabricTier::read("token-ring"), None);
    }
}
