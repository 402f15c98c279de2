//! Where nodes are, which drivers they have, and which volumes are attached to them.

use serde_json::{Value, json};

use super::{
    BETA_REGION, BETA_ZONE, DRIVERS, REGION, Store, Subject, ZONE, ZONES, class, region, source,
};
use crate::draw::Draw;

/// Gives nodes the labels that volumes are placed by.
pub(super) fn label(draw: &mut Draw, nodes: &mut [Value]) {
    for node in nodes {
        if node["status"]["allocatable"].get("pods").is_none() {
            node["status"]["allocatable"]["pods"] = json!("110");
        }
        let zone = *draw.pick(&ZONES);
        let labels = &mut node["metadata"]["labels"];
        let (is_beta, is_stable) = match draw.between(0, 9) {
            0 => (false, false),
            1 | 2 => (true, false),
            3 => (true, true),
            _ => (false, true),
        };
        if is_stable {
            labels[ZONE] = json!(zone);
        }
        if is_stable && draw.chance(85) {
            labels[REGION] = json!(region(zone));
        }
        if is_beta {
            // Rarely something else than the label that took its place.
            let zone = if draw.chance(10) { *draw.pick(&ZONES) } else { zone };
            labels[BETA_ZONE] = json!(zone);
            if draw.chance(85) {
                labels[BETA_REGION] = json!(region(zone));
            }
        }
        for key in [
            "topology.gke.io/zone",
            "topology.ebs.csi.aws.com/zone",
            "topology.cinder.csi.openstack.org/zone",
        ] {
            if draw.chance(65) {
                labels[key] = json!(zone);
            }
        }
    }
}

/// What drivers say of the nodes they run on.
pub(super) fn csi_nodes(draw: &mut Draw, store: &Store) -> Vec<Value> {
    let is_subject = store.subject == Subject::Limits;
    let mut objects = Vec::new();
    for node in &store.nodes {
        if draw.chance(10) {
            continue;
        }
        let mut object = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
            "metadata": {"name": node, "uid": format!("csinode-{node}")},
            "spec": {"drivers": drivers(draw, is_subject)},
        });
        if draw.chance(60) {
            let migrated: Vec<&str> =
                draw.subset(&source::PLUGINS, 65).into_iter().copied().collect();
            object["metadata"]["annotations"] =
                json!({"storage.alpha.kubernetes.io/migrated-plugins": migrated.join(",")});
        }
        objects.push(object);
    }
    objects
}

fn drivers(draw: &mut Draw, is_subject: bool) -> Vec<Value> {
    let mut drivers = Vec::new();
    for name in class::driver_names() {
        let is_main = name == DRIVERS[0];
        if !draw.chance(if is_main { 92 } else { 60 }) {
            continue;
        }
        let mut driver = json!({"name": name, "nodeID": "id", "topologyKeys": []});
        let count = match draw.between(0, 9) {
            0 if draw.chance(20) => Some(0),
            1..=3 if !is_subject => Some(draw.between(1, 12)),
            _ if is_subject => Some(draw.between(1, 4)),
            _ => None,
        };
        if let Some(count) = count {
            driver["allocatable"] = json!({"count": count});
        } else if draw.chance(20) {
            driver["allocatable"] = json!({});
        }
        drivers.push(driver);
    }
    drivers
}

/// Volumes that are attached to nodes, whether a pod there mounts them or not.
pub(super) fn attachments(draw: &mut Draw, store: &Store) -> Vec<Value> {
    let count = match store.subject {
        Subject::Limits => draw.between(0, 5),
        Subject::Everything | Subject::Bound => draw.between(0, 3),
        Subject::Matching | Subject::Provisioning | Subject::Disks | Subject::Once => 0,
    };
    (0..count).map(|index| attachment(draw, store, index)).collect()
}

fn attachment(draw: &mut Draw, store: &Store, index: u64) -> Value {
    let mut source = json!({"persistentVolumeName": "pv-absent"});
    let mut attacher = DRIVERS[0].to_owned();
    if !store.volumes.is_empty() && draw.chance(90) {
        let volume = draw.pick(&store.volumes);
        source = json!({"persistentVolumeName": volume["metadata"]["name"]});
        if let Some(driver) = volume["spec"]["csi"]["driver"].as_str() {
            driver.clone_into(&mut attacher);
        }
    }
    if draw.chance(8) {
        source = json!({"inlineVolumeSpec": {"csi": {"driver": attacher, "volumeHandle": "h"}}});
    }
    if draw.chance(12) {
        attacher =
            (*draw.pick(&[DRIVERS[0], DRIVERS[1], "", source::DRIVERS_OF_PLUGINS[0]])).into();
    }
    let node = if draw.chance(5) { "n-absent" } else { draw.pick(&store.nodes).as_str() };
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
        "metadata": {"name": format!("attachment{index}"), "uid": format!("attachment-{index}")},
        "spec": {"attacher": attacher, "nodeName": node, "source": source},
        "status": {"attached": draw.chance(80)},
    })
}
