//! "Could this change cure that reason?" One rule for every reason.

use model::{Change, Reason};

/// Whether a unit that waits for `reason` is worth another try after `change`.
#[must_use]
pub fn cures(reason: &Reason, change: Change) -> bool {
    let aspects = match change {
        Change::Added => return is_about_nodes(reason),
        Change::Freed => return is_about_load(reason),
        // The pods that decided where the others of their gang have to be may have been there.
        Change::Removed => return is_about_others(reason) || *reason == Reason::OtherDomain,
        Change::Changed(aspects) => aspects,
    };
    match reason {
        Reason::Closed => aspects.opened,
        Reason::UntoleratedTaint => aspects.taints,
        Reason::NodeAffinity | Reason::AddedAffinity => aspects.labels,
        Reason::TooManyPods | Reason::Insufficient { .. } | Reason::ClusterShort { .. } => {
            aspects.allocatable
        }
        Reason::MissingFeature => aspects.features,
        Reason::SpreadLabel
        | Reason::NotNear
        | Reason::NotFar
        | Reason::Unwelcome
        | Reason::OtherDomain => aspects.labels,
        Reason::SpreadSkew => aspects.labels || aspects.taints,
        Reason::NoNodes
        | Reason::Gated(_)
        | Reason::OtherNode
        | Reason::AffinityConflict
        | Reason::NotNamed(_)
        | Reason::NoneNamed(_)
        | Reason::HostPort
        | Reason::NotSupported(_)
        | Reason::BrokenPreference
        | Reason::BrokenSpread
        | Reason::BrokenTerm
        | Reason::GangFault(_)
        | Reason::NoPodGroup(_)
        | Reason::GangIncomplete { .. }
        | Reason::MemberGated(_)
        | Reason::After(_)
        | Reason::AfterCycle(_) => false,
    }
}

/// Reasons that a node which was not there before could end.
fn is_about_nodes(reason: &Reason) -> bool {
    match reason {
        Reason::NoNodes
        | Reason::OtherNode
        | Reason::Closed
        | Reason::UntoleratedTaint
        | Reason::NodeAffinity
        | Reason::AddedAffinity
        | Reason::NotNamed(_)
        | Reason::HostPort
        | Reason::TooManyPods
        | Reason::Insufficient { .. }
        | Reason::MissingFeature
        | Reason::SpreadLabel
        | Reason::SpreadSkew
        | Reason::NotNear
        | Reason::NotFar
        | Reason::Unwelcome
        | Reason::OtherDomain
        | Reason::ClusterShort { .. } => true,
        Reason::Gated(_)
        | Reason::AffinityConflict
        | Reason::NoneNamed(_)
        | Reason::NotSupported(_)
        | Reason::BrokenPreference
        | Reason::BrokenSpread
        | Reason::BrokenTerm
        | Reason::GangFault(_)
        | Reason::NoPodGroup(_)
        | Reason::GangIncomplete { .. }
        | Reason::MemberGated(_)
        | Reason::After(_)
        | Reason::AfterCycle(_) => false,
    }
}

/// Reasons that a pod which leaves a node could end.
fn is_about_load(reason: &Reason) -> bool {
    match reason {
        Reason::HostPort
        | Reason::TooManyPods
        | Reason::Insufficient { is_beyond_node: false, .. }
        | Reason::ClusterShort { .. } => true,
        Reason::Insufficient { is_beyond_node: true, .. }
        | Reason::NoNodes
        | Reason::Gated(_)
        | Reason::OtherNode
        | Reason::Closed
        | Reason::UntoleratedTaint
        | Reason::NodeAffinity
        | Reason::AddedAffinity
        | Reason::AffinityConflict
        | Reason::NotNamed(_)
        | Reason::NoneNamed(_)
        | Reason::MissingFeature
        | Reason::SpreadLabel
        | Reason::SpreadSkew
        | Reason::NotNear
        | Reason::NotFar
        | Reason::Unwelcome
        | Reason::NotSupported(_)
        | Reason::BrokenPreference
        | Reason::BrokenSpread
        | Reason::BrokenTerm
        | Reason::GangFault(_)
        | Reason::NoPodGroup(_)
        | Reason::GangIncomplete { .. }
        | Reason::MemberGated(_)
        | Reason::After(_)
        | Reason::AfterCycle(_)
        | Reason::OtherDomain => false,
    }
}

/// Reasons that a pod elsewhere, which comes or goes, could end.
#[must_use]
pub fn is_about_others(reason: &Reason) -> bool {
    match reason {
        Reason::SpreadSkew | Reason::NotNear | Reason::NotFar | Reason::Unwelcome => true,
        Reason::NoNodes
        | Reason::Gated(_)
        | Reason::OtherNode
        | Reason::Closed
        | Reason::UntoleratedTaint
        | Reason::NodeAffinity
        | Reason::AddedAffinity
        | Reason::AffinityConflict
        | Reason::NotNamed(_)
        | Reason::NoneNamed(_)
        | Reason::HostPort
        | Reason::TooManyPods
        | Reason::Insufficient { .. }
        | Reason::MissingFeature
        | Reason::SpreadLabel
        | Reason::NotSupported(_)
        | Reason::BrokenPreference
        | Reason::BrokenSpread
        | Reason::BrokenTerm
        | Reason::GangFault(_)
        | Reason::NoPodGroup(_)
        | Reason::GangIncomplete { .. }
        | Reason::MemberGated(_)
        | Reason::After(_)
        | Reason::AfterCycle(_)
        | Reason::OtherDomain
        | Reason::ClusterShort { .. } => false,
    }
}
