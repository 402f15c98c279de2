//! Why volumes keep a pod from a node, or from all of them.

use serde::{Deserialize, Serialize};

use crate::reason::Code;

/// Why volumes keep a pod from a node, or from all of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum VolumeFault {
    /// A claim is not there; its name.
    NoClaim(Box<str>),
    /// A volume names a claim without a name.
    Nameless,
    /// The claim of an ephemeral volume is not there yet; its name.
    NotMade(Box<str>),
    /// A claim has lost its volume.
    Lost {
        /// The claim.
        claim: Box<str>,
        /// The volume it had.
        volume: Box<str>,
    },
    /// A claim is being deleted; its name.
    Deleted(Box<str>),
    /// The claim of an ephemeral volume belongs to somebody else; namespace and name of both.
    NotOwned {
        /// The claim.
        claim: Box<str>,
        /// The pod.
        pod: Box<str>,
    },
    /// A claim waits for a volume that somebody else has to give it.
    Unbound,
    /// A claim without a volume has no class.
    NoClassNamed,
    /// A class is not there; its name.
    NoClass(Box<str>),
    /// A class does not say when claims get their volumes; its name.
    NoMode(Box<str>),
    /// The same, where claims are given volumes by it: nothing can be said.
    BrokenClass(Box<str>),
    /// A claim without a volume is none that waits for its first pod.
    NoVolumeNamed,
    /// The volume of a claim is not there; its name.
    NoVolume(Box<str>),
    /// A claim is looked up to be counted, and is not there; namespace and name.
    Uncounted(Box<str>),
    /// Volumes cannot be counted, of the pod or of those on the node; in words.
    Uncountable(Box<str>),
    /// What a claim selects volumes by makes no sense; namespace and name.
    BrokenSelector(Box<str>),
    /// A volume of an in-tree plugin makes no sense to its CSI driver; its name.
    Untranslatable(Box<str>),
    /// The node cannot use a volume that a claim has.
    NodeConflict,
    /// No volume can be had for a claim on the node.
    NoMatch,
    /// Too little storage is left for the node.
    NoSpace,
    /// The volume of a claim that has one is gone.
    VolumeGone,
    /// A disk of the pod is in use on the node.
    DiskInUse,
    /// A claim for one pod alone is in use.
    ClaimInUse,
    /// The node would have more volumes of a driver than it can.
    TooMany,
    /// The node lacks a CSI driver; its name.
    NoDriver(Box<str>),
    /// The node is not in the zone or region of a volume.
    OtherZone,
}

impl VolumeFault {
    /// The word that machines know it by.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoClaim(_) | Self::Nameless | Self::NotMade(_) | Self::Uncounted(_) => {
                "VolumeClaimMissing"
            }
            Self::Lost { .. } => "VolumeClaimLost",
            Self::Deleted(_) => "VolumeClaimTerminating",
            Self::NotOwned { .. } => "VolumeClaimNotOwned",
            Self::Unbound | Self::NoVolumeNamed | Self::NoClassNamed => "VolumeClaimUnbound",
            Self::NoClass(_) | Self::NoMode(_) | Self::BrokenClass(_) => "StorageClassMissing",
            Self::NoVolume(_) | Self::VolumeGone => "VolumeMissing",
            Self::Uncountable(_) | Self::BrokenSelector(_) | Self::Untranslatable(_) => {
                "VolumeInvalid"
            }
            Self::NodeConflict => "VolumeNodeAffinityConflict",
            Self::NoMatch => "VolumeBindingConflict",
            Self::NoSpace => "StorageCapacityShort",
            Self::DiskInUse => "VolumeDiskConflict",
            Self::ClaimInUse => "VolumeClaimInUse",
            Self::TooMany => "VolumeLimitExceeded",
            Self::NoDriver(_) => "CSIDriverMissing",
            Self::OtherZone => "VolumeZoneConflict",
        }
    }

    /// Whether evicting pods could help.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::DiskInUse | Self::ClaimInUse | Self::TooMany | Self::NoDriver(_) => {
                Code::Unschedulable
            }
            Self::BrokenClass(_)
            | Self::Uncountable(_)
            | Self::BrokenSelector(_)
            | Self::Untranslatable(_) => Code::Error,
            Self::NoClaim(_)
            | Self::Nameless
            | Self::NotMade(_)
            | Self::Lost { .. }
            | Self::Deleted(_)
            | Self::NotOwned { .. }
            | Self::Unbound
            | Self::NoClassNamed
            | Self::NoClass(_)
            | Self::NoMode(_)
            | Self::NoVolumeNamed
            | Self::NoVolume(_)
            | Self::Uncounted(_)
            | Self::NodeConflict
            | Self::NoMatch
            | Self::NoSpace
            | Self::VolumeGone
            | Self::OtherZone => Code::Unresolvable,
        }
    }
}
