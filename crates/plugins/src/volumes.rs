//! Plugins about volumes. What a pod mounts is no part of its class, so they reach around: they are
//! asked anew for every pod, about the nodes that are left.

mod binding;
mod limits;
mod restrictions;
mod zone;

pub(crate) use binding::VolumeBinding;
pub(crate) use limits::NodeVolumeLimits;
pub(crate) use restrictions::VolumeRestrictions;
pub(crate) use zone::VolumeZone;

use framework::View;
use model::{PodVolume, Reason, Tags, VolumeClaimFacts, VolumeFault};

/// The claims that pods name themselves, with their keys, in order.
fn named_claims(tags: &Tags) -> impl Iterator<Item = (&str, &str)> {
    tags.mounts().filter_map(|(volume, key)| match volume {
        PodVolume::Claim(name) => Some((&**name, key?)),
        PodVolume::Ephemeral { .. } | PodVolume::Inline { .. } => None,
    })
}

/// A claim that pods name themselves.
fn claim<'a>(
    view: View<'a>,
    (name, key): (&str, &str),
) -> Result<&'a VolumeClaimFacts, VolumeFault> {
    view.catalog.volume_claim(key).ok_or_else(|| VolumeFault::NoClaim(name.into()))
}

fn reasons(faults: impl IntoIterator<Item = VolumeFault>) -> Vec<Reason> {
    faults.into_iter().map(Reason::Volume).collect()
}
