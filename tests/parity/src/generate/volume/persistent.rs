//! Persistent volumes: those that claims are bound to, and those that wait for one.

use serde_json::{Value, json};

use super::{
    BETA_REGION, BETA_ZONE, HOSTNAME, REGION, Store, Subject, ZONE, ZONES, claim, class, place,
    region, source,
};
use crate::draw::Draw;

/// Ways to write where a volume is; some name several zones, some none that makes sense.
const ZONE_SETS: [&str; 5] =
    ["us-east1-a", "us-east1-b", "us-west1-a", "us-east1-a__us-east1-b", "us-east1-a__us-west1-a"];
const ODD_ZONE_SETS: [&str; 5] =
    ["", "us-east1-a__", " us-east1-a", "us-east1-a __us-east1-b", "x__y"];

const SIZES: [&str; 9] = ["1Gi", "2Gi", "2Gi", "5Gi", "5Gi", "10Gi", "10Gi", "50Gi", "10G"];

/// Adds volumes that no claim of a pod is bound to.
pub(super) fn free(draw: &mut Draw, store: &mut Store) {
    let count = match store.subject {
        Subject::Matching => draw.between(2, 8),
        Subject::Provisioning | Subject::Everything => draw.between(0, 4),
        Subject::Bound | Subject::Limits | Subject::Disks | Subject::Once => draw.between(0, 2),
    };
    // Every node may have a disk of its own.
    let has_local = store.subject == Subject::Matching && draw.chance(50);
    let locals = if has_local { store.nodes.len() as u64 } else { 0 };
    for index in 0..count + locals {
        let name = format!("pv{index}");
        let class = class::name(draw, store);
        let mut volume = volume(draw, store, &name, class);
        if let Some(node) = index.checked_sub(count).map(|index| &store.nodes[index as usize]) {
            volume["spec"]["nodeAffinity"] = of_node(node);
        }
        let phases = ["Available", "Bound", "Released", "Failed", "Pending"];
        let mut available = 92;
        if let Some(reference) = reference(draw, store) {
            volume["spec"]["claimRef"] = reference;
            available = 50;
        }
        let phase = if draw.chance(available) { phases[0] } else { *draw.pick(&phases) };
        volume["status"] = json!({"phase": phase});
        if draw.chance(5) {
            volume["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        }
        store.volumes.push(volume);
    }
}

/// Adds the volume that a claim is bound to.
pub(super) fn bound(draw: &mut Draw, store: &mut Store, name: &str, claim: &Value) {
    let class = class::name(draw, store);
    let mut volume = volume(draw, store, name, class);
    if draw.chance(95) {
        volume["spec"]["claimRef"] = to(claim, true);
    }
    volume["status"] = json!({"phase": "Bound"});
    store.volumes.push(volume);
}

/// Who a free volume is kept for: mostly nobody, sometimes one of the claims.
fn reference(draw: &mut Draw, store: &Store) -> Option<Value> {
    match draw.between(0, 15) {
        0 if !store.claims.is_empty() => Some(to(draw.pick(&store.claims), draw.chance(50))),
        1 if !store.claims.is_empty() => {
            let mut reference = to(draw.pick(&store.claims), true);
            if draw.chance(50) {
                reference["uid"] = json!("somebody-else");
            }
            Some(reference)
        }
        2 => Some(json!({"kind": "PersistentVolumeClaim", "namespace": "other", "name": "other"})),
        _ => None,
    }
}

fn to(claim: &Value, with_uid: bool) -> Value {
    let metadata = &claim["metadata"];
    let mut reference = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"], "name": metadata["name"],
    });
    if with_uid {
        reference["uid"] = metadata["uid"].clone();
    }
    reference
}

fn volume(draw: &mut Draw, store: &Store, name: &str, class: &str) -> Value {
    // Several volumes may be one disk.
    let handle = if draw.chance(8) { "shared" } else { name };
    let (field, source) = source::of_volume(draw, store, handle);
    let mut spec = json!({field: source, "accessModes": claim::access_modes(draw, store, true)});
    if draw.chance(97) {
        spec["capacity"] = json!({"storage": draw.pick(&SIZES)});
    }
    let mut metadata = json!({"name": name, "uid": format!("volume-{name}"), "labels": {}});
    if draw.chance(8) {
        let key = "volume.beta.kubernetes.io/storage-class";
        metadata["annotations"] = json!({key: class});
        if draw.chance(50) {
            spec["storageClassName"] = json!(draw.pick(&["first", "second", "absent"]));
        }
    } else if draw.chance(97) {
        spec["storageClassName"] = json!(class);
    }
    match draw.between(0, 19) {
        0..=5 => spec["volumeMode"] = json!("Filesystem"),
        6 => spec["volumeMode"] = json!("Block"),
        _ => {}
    }
    if let Some(attributes) = claim::attributes(draw) {
        spec["volumeAttributesClassName"] = attributes;
    }
    if draw.chance(60) {
        metadata["labels"]["tier"] = json!(draw.pick(&["gold", "gold", "silver"]));
    }
    locate(draw, store, field, &mut metadata["labels"]);
    let share = if matches!(store.subject, Subject::Bound | Subject::Matching) { 70 } else { 35 };
    let is_cloud = is_cloud(field);
    if draw.chance(share) {
        let by_zone = is_cloud && draw.chance(50);
        spec["nodeAffinity"] = if by_zone { of_zone(draw) } else { affinity(draw, store) };
    }
    json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec})
}

/// Whether a volume has a source of a cloud provider that was in Kubernetes itself.
fn is_cloud(field: &str) -> bool {
    !matches!(field, "csi" | "local" | "hostPath")
}

/// The affinity that provisioners of cloud providers gave to their volumes.
fn of_zone(draw: &mut Draw) -> Value {
    let (zone_key, region_key) =
        if draw.chance(50) { (ZONE, REGION) } else { (BETA_ZONE, BETA_REGION) };
    let zone = *draw.pick(&ZONES);
    let mut here = vec![json!({"key": zone_key, "operator": "In", "values": [zone]})];
    if draw.chance(60) {
        here.push(json!({"key": region_key, "operator": "In", "values": [region(zone)]}));
    }
    json!({"required": {"nodeSelectorTerms": [{"matchExpressions": here}]}})
}

/// Labels that say in which zone and region a volume is.
fn locate(draw: &mut Draw, store: &Store, field: &str, labels: &mut Value) {
    let is_cloud = is_cloud(field);
    let share = match (store.subject, is_cloud) {
        (_, true) => 70,
        (Subject::Bound, false) => 50,
        (_, false) => 15,
    };
    if !draw.chance(share) {
        return;
    }
    for (key, percent) in [(ZONE, 65), (BETA_ZONE, 35)] {
        if draw.chance(percent) {
            let sets = if store.oddly(draw, 30) { &ODD_ZONE_SETS } else { &ZONE_SETS };
            labels[key] = json!(draw.pick(sets));
        }
    }
    for (key, percent) in [(REGION, 30), (BETA_REGION, 15)] {
        if draw.chance(percent) {
            labels[key] = json!(draw.pick(&["us-east1", "us-east1", "us-west1"]));
        }
    }
}

/// The affinity of a disk that is on one node.
fn of_node(node: &str) -> Value {
    let here = json!({"key": HOSTNAME, "operator": "In", "values": [node]});
    json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}})
}

fn affinity(draw: &mut Draw, store: &Store) -> Value {
    if store.oddly(draw, 15) {
        let choices = [
            json!({}),
            json!({"required": {"nodeSelectorTerms": []}}),
            json!({"required": {"nodeSelectorTerms": [{}]}}),
        ];
        return draw.pick(&choices).clone();
    }
    if store.subject == Subject::Matching && draw.chance(50) {
        return of_node(draw.pick::<String>(&store.nodes));
    }
    let count = *draw.pick(&[1, 1, 1, 2, 2, 3]);
    let terms: Vec<Value> = (0..count).map(|_| term(draw, store)).collect();
    json!({"required": {"nodeSelectorTerms": terms}})
}

fn term(draw: &mut Draw, store: &Store) -> Value {
    let count = *draw.pick(&[1, 1, 1, 1, 2]);
    let mut term = json!({
        "matchExpressions": (0..count).map(|_| expression(draw, store)).collect::<Vec<_>>(),
    });
    if draw.chance(4) {
        let name = draw.pick(&store.nodes);
        let operator = draw.pick(&["In", "NotIn"]);
        term["matchFields"] =
            json!([{"key": "metadata.name", "operator": operator, "values": [name]}]);
    }
    term
}

fn expression(draw: &mut Draw, store: &Store) -> Value {
    if store.oddly(draw, 20) {
        let choices = [
            json!({"key": ZONE, "operator": "In", "values": []}),
            json!({"key": ZONE, "operator": "Near", "values": ["a"]}),
            json!({"key": ZONE, "operator": "Exists", "values": ["a"]}),
            json!({"key": "rank", "operator": "Gt", "values": ["many"]}),
            json!({"key": "not a key!", "operator": "Exists"}),
        ];
        return draw.pick(&choices).clone();
    }
    let (key, value) = place(draw, store);
    match draw.between(0, 15) {
        0 | 1 => json!({"key": key, "operator": "NotIn", "values": [value]}),
        2 => json!({"key": key, "operator": "Exists"}),
        3 => json!({"key": key, "operator": "DoesNotExist"}),
        4 => {
            let operator = draw.pick(&["Gt", "Lt"]);
            json!({"key": "rank", "operator": operator, "values": [draw.pick(&["2", "3"])]})
        }
        5..=8 => {
            let other = draw.pick(&store.nodes);
            json!({"key": key, "operator": "In", "values": [value, other, "us-east1-a"]})
        }
        _ => json!({"key": key, "operator": "In", "values": [value]}),
    }
}
