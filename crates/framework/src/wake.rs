//! "Could this change cure that reason?" One rule for every reason.

use model::{Change, FabricFault, NumaFault, Reason, VolumeFault};

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
        Reason::Volume(fault) => aspects.labels && is_about_place(fault),
        Reason::Numa(NumaFault::Invalid(_)) => false,
        Reason::Numa(_) => aspects.hardware || aspects.allocatable,
        // Labels that tell of GPUs are hardware too.
        Reason::Gpu(fault) => !fault.is_invalid() && (aspects.hardware || aspects.allocatable),
        Reason::Fabric(fault) => *fault == FabricFault::TooSlow && aspects.labels,
        // Labels that tell of tiers are hardware too, and so is whether there are accelerators.
        Reason::Tier(_) => aspects.hardware,
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
        | Reason::Tier(_)
        | Reason::ClusterShort { .. } => true,
        Reason::Volume(fault) => is_about_place(fault) || is_about_mounts(fault),
        Reason::Numa(fault) => !matches!(fault, NumaFault::Invalid(_)),
        Reason::Gpu(fault) => !fault.is_invalid(),
        Reason::Fabric(fault) => *fault == FabricFault::TooSlow,
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
        Reason::Numa(fault) => fault.is_about_load(),
        Reason::Gpu(fault) => fault.is_about_load(),
        // Who is helped by the volumes of a pod that left is found by these.
        Reason::Volume(_)
        | Reason::Fabric(_)
        | Reason::Insufficient { is_beyond_node: true, .. }
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
        | Reason::Tier(_)
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
        | Reason::Volume(_)
        | Reason::Numa(_)
        | Reason::Gpu(_)
        | Reason::Fabric(_)
        | Reason::Tier(_)
        | Reason::OtherDomain
        | Reason::ClusterShort { .. } => false,
    }
}

/// Whether a volume, or the storage for one, cannot be used from where a node is.
fn is_about_place(fault: &VolumeFault) -> bool {
    matches!(
        fault,
        VolumeFault::NodeConflict
            | VolumeFault::NoMatch
            | VolumeFault::NoSpace
            | VolumeFault::OtherZone
    )
}

/// Whether volumes of the pods on a node are in the way there, or of its drivers.
fn is_about_mounts(fault: &VolumeFault) -> bool {
    matches!(fault, VolumeFault::DiskInUse | VolumeFault::TooMany | VolumeFault::NoDriver(_))
}

/// Reasons that name an object which has to be there, or has to change: there can be as many of
/// them as units, no node ends one, and whoever waits for one is found by the object.
#[must_use]
pub fn names_object(reason: &Reason) -> bool {
    let Reason::Volume(fault) = reason else {
        return matches!(reason, Reason::After(_) | Reason::AfterCycle(_));
    };
    matches!(
        fault,
        VolumeFault::NoClaim(_)
            | VolumeFault::NotMade(_)
            | VolumeFault::Lost { .. }
            | VolumeFault::Deleted(_)
            | VolumeFault::NotOwned { .. }
            | VolumeFault::NoClass(_)
            | VolumeFault::NoMode(_)
            | VolumeFault::BrokenClass(_)
            | VolumeFault::NoVolume(_)
            | VolumeFault::Uncounted(_)
            | VolumeFault::Uncountable(_)
            | VolumeFault::BrokenSelector(_)
            | VolumeFault::Untranslatable(_)
    )
}

#[cfg(test)]
mod tests {
    use model::{GpuFault, NodeAspects};

    use super::*;

    #[test]
    fn what_ends_a_fault_of_gpus_by_table() {
        let none = NodeAspects::default();
        let inside = Change::Changed(NodeAspects { hardware: true, ..none });
        let more = Change::Changed(NodeAspects { allocatable: true, ..none });
        let others = Change::Changed(NodeAspects {
            labels: true,
            taints: true,
            opened: true,
            features: true,
            ..none
        });
        // (fault, whether a node ends it that joins or tells something else of itself, or a pod
        // that leaves)
        let table = [
            (GpuFault::InvalidMemory("x".into()), false, false),
            (GpuFault::InvalidShare("x".into()), false, false),
            (GpuFault::NoSharing, true, false),
            (GpuFault::MemoryUnknown, true, false),
            (GpuFault::MemoryTooSmall, true, false),
            (GpuFault::NoneFree, true, true),
            (GpuFault::ShareFull, true, true),
        ];
        for (fault, by_nodes, by_pods) in table {
            let reason = Reason::Gpu(fault);
            for change in [Change::Added, inside, more] {
                assert_eq!(cures(&reason, change), by_nodes, "{reason:?} {change:?}");
            }
            assert_eq!(cures(&reason, Change::Freed), by_pods, "{reason:?}");
            for change in [Change::Removed, others] {
                assert!(!cures(&reason, change), "{reason:?} {change:?}");
            }
            assert!(!is_about_others(&reason) && !names_object(&reason), "{reason:?}");
        }
    }
}
