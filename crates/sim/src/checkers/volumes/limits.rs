//! What a node has against more volumes: drivers that it lacks, limits of drivers, and disks that
//! are mounted there already.

use std::collections::BTreeSet;

use model::{Disk, DiskId, NodeFacts, PodFacts, PodVolume, VolumeSource, claim_key};

use super::super::ledger::Storage;
use super::Mounted;

/// A volume as a driver counts it: the driver, and what it knows the volume by.
type Counted = (Box<str>, Box<str>);

/// What keeps the volumes of a pod from a node whose drivers count them, in the word for it.
pub(super) fn excess(
    mounted: &Mounted<'_>,
    pod: &PodFacts,
    node: &NodeFacts,
) -> Option<&'static str> {
    let storage = mounted.ledger.storage();
    let csi_node = storage.csi_node(&node.name);
    let asked = counted(storage, pod, csi_node.is_some());
    let lacks = |driver: &str| {
        let is_required = storage.csi_driver(driver).is_some_and(|driver| driver.is_required);
        let mut drivers = csi_node.into_iter().flat_map(|it| &it.drivers);
        is_required && !drivers.any(|(name, _)| **name == *driver)
    };
    if asked.iter().any(|(driver, _)| lacks(driver)) {
        return Some("CSIDriverMissing");
    }
    let csi_node = csi_node?;
    let used: BTreeSet<Counted> =
        mounted.here.iter().flat_map(|pod| counted(storage, pod, true)).collect();
    let more: Vec<&Counted> = asked.iter().filter(|one| !used.contains(*one)).collect();
    // What is still attached counts, also if it is what the pod is about to use.
    let attached = storage.attachments().filter(|it| *it.node == *node.name);
    let attached = attached.filter_map(|it| {
        let source = &storage.volume(it.volume.as_ref()?)?.source;
        let VolumeSource::Csi(csi) = source else { return None };
        (!it.attacher.is_empty()).then(|| (it.attacher.clone(), csi.handle.clone()))
    });
    let there: BTreeSet<Counted> = used.iter().cloned().chain(attached).collect();
    let is_beyond = |(driver, limit): &(Box<str>, Option<i32>)| {
        let more = more.iter().filter(|one| one.0 == *driver).count();
        let there = there.iter().filter(|one| one.0 == *driver).count();
        let limit = limit.map(|limit| usize::try_from(limit).unwrap_or(0));
        more > 0 && limit.is_some_and(|limit| there + more > limit)
    };
    csi_node.drivers.iter().any(is_beyond).then_some("VolumeLimitExceeded")
}

/// The volumes of a pod that drivers count. Disks that pods name themselves count where drivers
/// say something of the node.
fn counted(storage: &Storage, pod: &PodFacts, has_csi_node: bool) -> BTreeSet<Counted> {
    let of_volume = |volume: &PodVolume| match volume {
        PodVolume::Claim(name) | PodVolume::Ephemeral { claim: name, .. } => {
            of_claim(storage, &claim_key(&pod.key.namespace, name))
        }
        PodVolume::Inline { csi, .. } => {
            let csi = csi.as_ref().filter(|_| has_csi_node)?;
            Some((csi.driver.clone(), csi.handle.clone()))
        }
    };
    pod.volumes.iter().filter_map(of_volume).collect()
}

/// What the volume of a claim counts as.
fn of_claim(storage: &Storage, key: &str) -> Option<Counted> {
    let claim = storage.claim(key)?;
    if let Some(volume) = storage.volume(&claim.volume) {
        return match &volume.source {
            VolumeSource::Csi(csi) => Some((csi.driver.clone(), csi.handle.clone())),
            VolumeSource::Other | VolumeSource::InTree(_) => None,
        };
    }
    let class = storage.class(&claim.class)?;
    Some((class.provisioner.clone(), format!("for {key}").into()))
}

/// Whether a disk of a pod is mounted on its node already, and not only to be read by all.
pub(super) fn has_conflict(here: &[&PodFacts], pod: &PodFacts) -> bool {
    let mounted = || here.iter().flat_map(|other| disks(other));
    disks(pod).any(|disk| mounted().any(|other| is_conflict(disk, other)))
}

fn disks(pod: &PodFacts) -> impl Iterator<Item = &Disk> {
    pod.volumes.iter().filter_map(|volume| match volume {
        PodVolume::Inline { disk, .. } => disk.as_ref(),
        PodVolume::Claim(_) | PodVolume::Ephemeral { .. } => None,
    })
}

fn is_conflict(one: &Disk, other: &Disk) -> bool {
    let is_read = one.is_read_only && other.is_read_only;
    match (&one.id, &other.id) {
        // An EBS volume is not shared, whoever reads.
        (DiskId::Ebs(one), DiskId::Ebs(other)) => one == other,
        (DiskId::Gce(one), DiskId::Gce(other)) | (DiskId::Iscsi(one), DiskId::Iscsi(other)) => {
            one == other && !is_read
        }
        (
            DiskId::Rbd { monitors, pool, image },
            DiskId::Rbd { monitors: others, pool: other_pool, image: other_image },
        ) => {
            let is_cluster = monitors.iter().any(|one| others.contains(one));
            is_cluster && pool == other_pool && image == other_image && !is_read
        }
        (DiskId::Gce(_) | DiskId::Ebs(_) | DiskId::Iscsi(_) | DiskId::Rbd { .. }, _) => false,
    }
}
