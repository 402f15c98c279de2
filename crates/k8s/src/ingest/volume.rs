//! Volumes of pods to facts, and objects of storage.

mod around;
mod objects;
mod persistent;
mod translate;

use std::collections::BTreeMap;

use model::{CsiVolume, Disk, DiskId, PodKey, PodVolume, PodVolumes};

use super::view::Volume;
pub use objects::{read_storage, storage, storage_facts, storage_kind};
use translate::{CINDER, PORTWORX};

/// The volumes of a pod that limit where it can run. Others are local or the kubelet's business.
pub(super) fn volumes(views: &[Volume], pod: &PodKey) -> PodVolumes {
    views.iter().filter_map(|view| volume(view, pod)).collect()
}

fn volume(view: &Volume, pod: &PodKey) -> Option<PodVolume> {
    if let Some(source) = &view.persistent_volume_claim {
        return Some(PodVolume::Claim(source.claim_name.as_str().into()));
    }
    if view.ephemeral.is_some() {
        return Some(PodVolume::Ephemeral {
            claim: format!("{}-{}", pod.name, view.name).into(),
            pod: pod.uid.clone(),
            pod_name: pod.name.clone(),
        });
    }
    let (disk, csi) = (disk(view), csi(view));
    let is_broken = matches!(csi, Some(None));
    let is_any = disk.is_some() || csi.is_some();
    is_any.then(|| PodVolume::Inline { disk, csi: csi.flatten(), is_broken })
}

/// What must not be mounted twice.
fn disk(view: &Volume) -> Option<Disk> {
    let disk = |id, is_read_only| Some(Disk { id, is_read_only });
    if let Some(source) = &view.gce_persistent_disk {
        return disk(DiskId::Gce(source.pd_name.as_str().into()), source.read_only);
    }
    if let Some(source) = &view.aws_elastic_block_store {
        return disk(DiskId::Ebs(source.volume_id.as_str().into()), false);
    }
    if let Some(source) = &view.iscsi {
        return disk(DiskId::Iscsi(source.iqn.as_str().into()), source.read_only);
    }
    let source = view.rbd.as_ref()?;
    let id = DiskId::Rbd {
        monitors: source.monitors.iter().map(|it| it.as_str().into()).collect(),
        pool: source.pool.as_str().into(),
        image: source.image.as_str().into(),
    };
    disk(id, source.read_only)
}

/// What the CSI driver that an in-tree plugin is migrated to makes of a disk.
fn csi(view: &Volume) -> Option<Option<CsiVolume>> {
    if let Some(source) = &view.gce_persistent_disk {
        return Some(translate::gce(source, &BTreeMap::new()));
    }
    if let Some(source) = &view.aws_elastic_block_store {
        return Some(translate::ebs(source));
    }
    if let Some(source) = &view.azure_disk {
        return Some(translate::azure(source));
    }
    if let Some(source) = &view.cinder {
        return Some(Some(CINDER.volume(source.volume_id.as_str())));
    }
    view.portworx_volume.as_ref().map(|source| Some(PORTWORX.volume(source.volume_id.as_str())))
}
