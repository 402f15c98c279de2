//! Storage classes, and what their drivers say of themselves and of the room they have.

use serde_json::{Value, json};

use super::{DRIVERS, Store, Subject, ZONE, ZONES, place, source};
use crate::draw::Draw;

const NAMES: [&str; 3] = ["first", "second", "third"];
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
const WAIT: &str = "WaitForFirstConsumer";

/// A class as claims and volumes see it.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: &'static str,
    pub(super) provisioner: &'static str,
    mode: Option<&'static str>,
}

/// The classes of a case. Most claims are of the first one.
pub(super) fn all(draw: &mut Draw, subject: Subject, is_one_asked: bool) -> Vec<Class> {
    let count = draw.between(1, NAMES.len() as u64) as usize;
    let one = |(index, name): (usize, &'static str)| Class {
        name,
        provisioner: provisioner(draw, subject),
        mode: if is_one_asked && draw.chance(12) { None } else { mode(draw, subject, index == 0) },
    };
    NAMES.into_iter().take(count).enumerate().map(one).collect()
}

fn provisioner(draw: &mut Draw, subject: Subject) -> &'static str {
    let is_dynamic = match subject {
        Subject::Matching => draw.chance(35),
        Subject::Provisioning => draw.chance(92),
        Subject::Bound | Subject::Limits | Subject::Disks | Subject::Once | Subject::Everything => {
            draw.chance(80)
        }
    };
    match (is_dynamic, draw.between(0, 9)) {
        (true, 0..=5) => DRIVERS[0],
        (true, 6 | 7) if subject == Subject::Provisioning => DRIVERS[0],
        (true, 6) => DRIVERS[1],
        (true, 7) => source::PLUGINS[0],
        (true, _) => draw.pick::<&str>(&source::PLUGINS),
        (false, 0) => "",
        (false, _) => NO_PROVISIONER,
    }
}

fn mode(draw: &mut Draw, subject: Subject, is_first: bool) -> Option<&'static str> {
    let has_unbound =
        matches!(subject, Subject::Matching | Subject::Provisioning | Subject::Limits);
    match (has_unbound, draw.between(0, 29)) {
        (_, 0) => None,
        (_, 1) => Some("Immediate"),
        (_, 2 | 3) if !is_first => Some("Immediate"),
        (false, 4) => Some(""),
        (false, 5..=8) => Some("Immediate"),
        _ => Some(WAIT),
    }
}

/// The name of a class for a claim or a volume; sometimes of one that is not there.
pub(super) fn name(draw: &mut Draw, store: &Store) -> &'static str {
    if store.carelessly(draw, if store.is_one_asked { 14 } else { 8 }) {
        return "absent";
    }
    if draw.chance(20) { draw.pick(&store.classes).name } else { store.classes[0].name }
}

/// Classes, drivers and capacities of a case.
pub(super) fn objects(draw: &mut Draw, store: &Store) -> Vec<Value> {
    let mut objects: Vec<Value> = store.classes.iter().map(|it| class(draw, store, it)).collect();
    objects.extend(drivers(draw, store));
    objects.extend(capacities(draw, store));
    objects
}

fn class(draw: &mut Draw, store: &Store, class: &Class) -> Value {
    let mut object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": class.name, "uid": format!("class-{}", class.name)},
        "provisioner": class.provisioner,
    });
    if let Some(mode) = class.mode {
        object["volumeBindingMode"] = json!(mode);
    }
    if draw.chance(15) {
        let value = draw.pick(&["true", "false"]);
        object["metadata"]["annotations"] =
            json!({"storageclass.kubernetes.io/is-default-class": value});
    }
    if draw.chance(if store.subject == Subject::Provisioning { 30 } else { 10 }) {
        let count = draw.between(1, 3);
        object["allowedTopologies"] = (0..count).map(|_| topology(draw, store)).collect();
    }
    object
}

fn topology(draw: &mut Draw, store: &Store) -> Value {
    if store.oddly(draw, 30) {
        let choices = [
            json!({}),
            json!({"matchLabelExpressions": []}),
            json!({"matchLabelExpressions": [{"key": ZONE, "values": []}]}),
            json!({"matchLabelExpressions": [{"key": "not a key!", "values": ["a"]}]}),
            json!({"matchLabelExpressions": [{"key": ZONE, "values": ["not a value!"]}]}),
        ];
        return draw.pick(&choices).clone();
    }
    let count = *draw.pick(&[1, 1, 1, 2]);
    let expressions: Vec<Value> = (0..count)
        .map(|_| {
            let (key, value) = place(draw, store);
            let mut values = vec![value];
            if draw.chance(40) {
                values.push((*draw.pick(&ZONES)).to_owned());
            }
            json!({"key": key, "values": values})
        })
        .collect();
    json!({"matchLabelExpressions": expressions})
}

/// Every driver that a class or a node can name, the migrated ones among them.
pub(super) fn driver_names() -> Vec<&'static str> {
    DRIVERS.into_iter().chain(source::DRIVERS_OF_PLUGINS).collect()
}

fn drivers(draw: &mut Draw, store: &Store) -> Vec<Value> {
    let mut objects = Vec::new();
    for name in driver_names() {
        let is_main = DRIVERS.contains(&name);
        let is_subject = is_main && store.subject == Subject::Provisioning;
        if !draw.chance(if is_subject {
            95
        } else if is_main {
            70
        } else {
            25
        }) {
            continue;
        }
        let mut spec = json!({});
        let has_capacity = if store.subject == Subject::Provisioning { 85 } else { 25 };
        if draw.chance(90) {
            spec["storageCapacity"] = json!(draw.chance(has_capacity));
        }
        if draw.chance(60) {
            spec["preventPodSchedulingIfMissing"] = json!(draw.chance(30));
        }
        objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
            "metadata": {"name": name, "uid": format!("driver-{name}")}, "spec": spec,
        }));
    }
    objects
}

fn capacities(draw: &mut Draw, store: &Store) -> Vec<Value> {
    let count = match store.subject {
        Subject::Provisioning => draw.between(1, 8),
        Subject::Everything | Subject::Limits => draw.between(0, 3),
        Subject::Bound | Subject::Matching | Subject::Disks | Subject::Once => 0,
    };
    (0..count).map(|index| capacity(draw, store, index)).collect()
}

fn capacity(draw: &mut Draw, store: &Store, index: u64) -> Value {
    // The driver of a capacity may live in any namespace.
    let namespace = draw.pick(&["default", "kube-system"]);
    let mut object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {
            "name": format!("room{index}"), "namespace": namespace, "uid": format!("room-{index}"),
        },
        "storageClassName": name(draw, store),
    });
    if let Some(topology) = node_topology(draw, store) {
        object["nodeTopology"] = topology;
    }
    let sizes = ["0", "1Gi", "2Gi", "5Gi", "10Gi", "20Gi", "20Gi", "100Gi", "3.7Gi", "7G"];
    // kube-scheduler crashes where a volume fits the largest size and no capacity is given.
    let (has_capacity, has_maximum) = match draw.between(0, 39) {
        0 => (false, true),
        1 | 2 => (false, false),
        3..=11 => (true, true),
        _ => (true, false),
    };
    if has_capacity {
        object["capacity"] = json!(draw.pick(&sizes));
    }
    if has_maximum {
        object["maximumVolumeSize"] = json!(draw.pick(&sizes));
    }
    object
}

fn node_topology(draw: &mut Draw, store: &Store) -> Option<Value> {
    if store.oddly(draw, 20) {
        let choices = [
            json!({"key": ZONE, "operator": "In"}),
            json!({"key": ZONE, "operator": "Near", "values": ["a"]}),
            json!({"key": ZONE, "operator": "Exists", "values": ["a"]}),
        ];
        return Some(json!({"matchExpressions": [draw.pick(&choices)]}));
    }
    let (key, value) = place(draw, store);
    match draw.between(0, 11) {
        0 => None,
        1..=3 => Some(json!({})),
        4..=7 => Some(json!({"matchLabels": {key: value}})),
        8 | 9 => Some(json!({
            "matchExpressions": [{"key": key, "operator": "In", "values": [value]}],
        })),
        10 => Some(json!({
            "matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}],
        })),
        _ => {
            let operator = draw.pick(&["Exists", "DoesNotExist"]);
            Some(json!({"matchExpressions": [{"key": key, "operator": operator}]}))
        }
    }
}
