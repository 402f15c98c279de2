//! Where the bytes of a volume are: CSI drivers, and the sources that were in Kubernetes itself.

use serde_json::{Value, json};

use super::{DRIVERS, Store, Subject};
use crate::draw::Draw;

/// Names of the former plugins that have a CSI driver as their successor.
pub(super) const PLUGINS: [&str; 7] = [
    "kubernetes.io/gce-pd",
    "kubernetes.io/aws-ebs",
    "kubernetes.io/azure-disk",
    "kubernetes.io/cinder",
    "kubernetes.io/portworx-volume",
    "kubernetes.io/azure-file",
    "kubernetes.io/vsphere-volume",
];

/// Their successors, in the same order.
pub(super) const DRIVERS_OF_PLUGINS: [&str; 7] = [
    "pd.csi.storage.gke.io",
    "ebs.csi.aws.com",
    "disk.csi.azure.com",
    "cinder.csi.openstack.org",
    "pxd.portworx.com",
    "file.csi.azure.com",
    "csi.vsphere.vmware.com",
];

/// Disks that two pods must not mount on one node.
pub(super) const EXCLUSIVE: [&str; 4] =
    ["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"];

/// The source of a persistent volume, as the field of its spec and what is in it. Few disks have
/// the same name.
pub(super) fn of_volume(draw: &mut Draw, store: &Store, handle: &str) -> (&'static str, Value) {
    let is_csi = match store.subject {
        Subject::Bound => 30,
        Subject::Limits => 85,
        Subject::Matching
        | Subject::Provisioning
        | Subject::Disks
        | Subject::Once
        | Subject::Everything => 60,
    };
    if draw.chance(is_csi) {
        let driver = match draw.between(0, 9) {
            0..=6 => DRIVERS[0],
            7 | 8 => DRIVERS[1],
            _ => *draw.pick(&DRIVERS_OF_PLUGINS),
        };
        let handle = if store.oddly(draw, 10) { "" } else { handle };
        return ("csi", json!({"driver": driver, "volumeHandle": handle}));
    }
    match draw.between(0, 3) {
        0 => ("local", json!({"path": "/mnt/disk"})),
        1 if draw.chance(50) => ("hostPath", json!({"path": "/data"})),
        _ => in_tree(draw, store, handle, false),
    }
}

/// A source that has a CSI driver as its successor. What an inline volume and a persistent one are
/// made of differs in places that no plugin looks at.
fn in_tree(draw: &mut Draw, store: &Store, handle: &str, is_inline: bool) -> (&'static str, Value) {
    match draw.between(0, 11) {
        0..=2 => ("gcePersistentDisk", json!({"pdName": handle})),
        3..=5 => ("awsElasticBlockStore", json!({"volumeID": aws(draw, store, handle)})),
        6 | 7 => {
            let mut disk = json!({"diskName": handle, "diskURI": format!("/disks/{handle}")});
            if draw.chance(50) {
                // Only managed disks can be migrated.
                disk["kind"] = json!(draw.pick(&["Managed", "managed", "Managed", "Dedicated"]));
            }
            ("azureDisk", disk)
        }
        8 => ("cinder", json!({"volumeID": handle})),
        9 => ("portworxVolume", json!({"volumeID": handle})),
        10 if is_inline => ("azureFile", json!({"secretName": "secret", "shareName": handle})),
        10 => {
            let file = json!({
                "secretName": "secret", "secretNamespace": "default", "shareName": handle,
            });
            ("azureFile", file)
        }
        _ => ("vsphereVolume", json!({"volumePath": format!("[store] {handle}")})),
    }
}

/// The id of a disk of AWS, which may be written like an address.
fn aws(draw: &mut Draw, store: &Store, handle: &str) -> String {
    if store.oddly(draw, 40) {
        let choices = [
            format!("aws://us-east1-a/{handle}"),
            format!("aws://us-east1-a/vol-{handle}/more"),
            "aws://%zz/vol-1".to_owned(),
            String::new(),
        ];
        return draw.pick(&choices).clone();
    }
    match draw.between(0, 3) {
        0 => format!("aws://us-east1-a/vol-{handle}"),
        1 => format!("aws:///vol-{handle}"),
        _ => format!("vol-{handle}"),
    }
}

/// A disk in the pod itself. There are few of them, so that pods meet at the same one.
pub(super) fn inline(draw: &mut Draw, store: &Store) -> (&'static str, Value) {
    let handle = *draw.pick(&["d1", "d1", "d1", "d1", "d2"]);
    let (field, mut disk) = match draw.between(0, 9) {
        _ if store.subject == Subject::Disks && draw.chance(80) => {
            (store.disk, exclusive(draw, store.disk, handle))
        }
        0..=2 => {
            let field = *draw.pick(&EXCLUSIVE);
            (field, exclusive(draw, field, handle))
        }
        3 => ("csi", json!({"driver": draw.pick(&DRIVERS)})),
        _ => in_tree(draw, store, handle, true),
    };
    if draw.chance(60) {
        disk["readOnly"] = json!(draw.chance(65));
    }
    (field, disk)
}

/// A disk that pods on one node do not share, unless they only read it.
fn exclusive(draw: &mut Draw, field: &str, handle: &str) -> Value {
    match field {
        "gcePersistentDisk" => json!({"pdName": handle}),
        "awsElasticBlockStore" => json!({"volumeID": handle}),
        "iscsi" => json!({"targetPortal": "10.0.0.5", "iqn": handle, "lun": 0}),
        _ => rbd(draw, handle),
    }
}

fn rbd(draw: &mut Draw, handle: &str) -> Value {
    let monitors =
        [json!(["m1", "m2"]), json!(["m1"]), json!(["m2", "m3"]), json!(["m3"]), json!([])];
    let mut disk = json!({"monitors": draw.pick(&monitors), "image": handle});
    if draw.chance(60) {
        disk["pool"] = json!(draw.pick(&["rbd", "rbd", "other"]));
    }
    disk
}
