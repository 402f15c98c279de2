//! Keeps pods apart that cannot share a disk or a claim.

use framework::{Feasible, Narrow, Parts, Plugin, Reach, Verdict, View};
use model::{AccessModes, Catalog, Class, Disk, NodeId, Occupant, PodVolume, Reason, VolumeFault};

use super::{claim, named_claims, reasons};

pub(crate) struct VolumeRestrictions;

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        "VolumeRestrictions"
    }
}

impl Feasible for VolumeRestrictions {
    fn reads(&self) -> Parts {
        Parts::NEEDS
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        class.has_volumes().then(|| Box::new(Prepared) as _)
    }
}

struct Prepared;

impl Narrow for Prepared {
    fn reach(&self) -> Reach {
        Reach::Around
    }

    fn applies(&self, view: View<'_>) -> bool {
        disks(view.catalog.tags(view.tags).volumes.as_ref()).next().is_some() || is_in_use(view)
    }

    fn is_moved_by(&self, _: &Catalog, _: Occupant) -> bool {
        // Who waits is found by the claims it names, and by the disks on a node.
        false
    }

    fn before(&self, view: View<'_>) -> Verdict {
        let tags = view.catalog.tags(view.tags);
        let mut missing = named_claims(tags).filter_map(|it| claim(view, it).err());
        missing.next().map_or(Verdict::Open, |fault| Verdict::Refused(Reason::Volume(fault)))
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        if has_conflict(view, node) {
            return reasons([VolumeFault::DiskInUse]);
        }
        reasons(is_in_use(view).then_some(VolumeFault::ClaimInUse))
    }
}

/// Whether a claim for one pod alone has a user.
fn is_in_use(view: View<'_>) -> bool {
    named_claims(view.catalog.tags(view.tags)).any(|(_, key)| {
        let claim = view.catalog.volume_claim(key);
        claim.is_some_and(|claim| AccessModes::ONCE_POD.are_within(claim.modes))
            && view.usage.has_claim_user(view.catalog, key)
    })
}

/// Whether a disk of the pod is on a node already.
fn has_conflict(view: View<'_>, node: NodeId) -> bool {
    let own = &view.catalog.tags(view.tags).volumes;
    let mut mounted = view.usage.mounted(node).flat_map(|tags| &*view.catalog.tags(tags).volumes);
    disks(own).next().is_some()
        && mounted.any(|volume| {
            disks(std::slice::from_ref(volume)).any(|disk| disks(own).any(|it| it.conflicts(disk)))
        })
}

fn disks(volumes: &[PodVolume]) -> impl Iterator<Item = &Disk> {
    volumes.iter().filter_map(|volume| match volume {
        PodVolume::Inline { disk, .. } => disk.as_ref(),
        PodVolume::Claim(_) | PodVolume::Ephemeral { .. } => None,
    })
}
