//! Claims: of which class, for how much, and how far their binding has come.

use serde_json::{Value, json};

use super::{Store, Subject, class, persistent};
use crate::draw::Draw;

const SIZES: [&str; 8] = ["1Gi", "1Gi", "2Gi", "2Gi", "5Gi", "10Gi", "500Mi", "1G"];
const ODD_SIZES: [&str; 8] = ["1.5Gi", "1e9", "1073741824", "0", "1", "100m", "1Ti", "2147483648"];

/// How far a claim is bound.
#[derive(Debug, Clone, Copy)]
enum Binding {
    /// To a volume, and the controller is done with it.
    Done,
    /// A volume is named, and that is all.
    Half,
    /// Done, it says, but names no volume.
    Nameless,
    /// Not at all.
    None,
}

/// Adds a claim, and the volume it is bound to, unless there is one of that name.
pub(super) fn add(draw: &mut Draw, store: &mut Store, namespace: &str, name: &str) {
    if store.has_claim(namespace, name) {
        return;
    }
    let claim = one(draw, store, namespace, name);
    store.claims.push(claim);
}

/// Adds the claim of a generic ephemeral volume; it may belong to somebody else.
pub(super) fn add_ephemeral(draw: &mut Draw, store: &mut Store, pod: &Value, volume: &str) {
    let metadata = &pod["metadata"];
    let (Some(namespace), Some(owner)) =
        (metadata["namespace"].as_str(), metadata["name"].as_str())
    else {
        return;
    };
    let mut claim = one(draw, store, namespace, &format!("{owner}-{volume}"));
    let mut reference = json!({
        "apiVersion": "v1", "kind": "Pod", "name": owner, "uid": metadata["uid"],
        "controller": true,
    });
    match draw.between(0, 14) {
        0 if store.is_careless => reference["uid"] = json!("somebody-else"),
        1 if store.is_careless => reference["controller"] = json!(false),
        _ => {}
    }
    if !store.carelessly(draw, 5) {
        claim["metadata"]["ownerReferences"] = json!([reference]);
    }
    store.claims.push(claim);
}

fn one(draw: &mut Draw, store: &mut Store, namespace: &str, name: &str) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name, "namespace": namespace, "uid": format!("claim-{namespace}-{name}"),
            "annotations": {},
        },
        "spec": {"accessModes": access_modes(draw, store, false)},
        "status": {"phase": "Pending"},
    });
    classify(draw, store, &mut claim);
    demand(draw, store, &mut claim["spec"]);
    bind(draw, store, &mut claim, &format!("pv-{namespace}-{name}"));
    let is_lost = store.carelessly(draw, 4);
    if is_lost {
        claim["status"]["phase"] = json!("Lost");
    }
    if store.carelessly(draw, if is_lost { 30 } else { 3 }) {
        claim["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
    }
    claim
}

fn classify(draw: &mut Draw, store: &Store, claim: &mut Value) {
    let class = class::name(draw, store);
    match draw.between(0, 39) {
        0..=2 if store.is_careless => {}
        3..=5 if store.is_careless => claim["spec"]["storageClassName"] = json!(""),
        6 | 7 => {
            let key = "volume.beta.kubernetes.io/storage-class";
            claim["metadata"]["annotations"][key] = json!(class);
            if draw.chance(60) {
                // The annotation counts.
                claim["spec"]["storageClassName"] = json!(draw.pick(&["second", "absent", ""]));
            }
        }
        _ => claim["spec"]["storageClassName"] = json!(class),
    }
}

/// What a claim asks of its volume.
fn demand(draw: &mut Draw, store: &Store, spec: &mut Value) {
    if draw.chance(96) {
        let size = if draw.chance(8) { draw.pick(&ODD_SIZES) } else { draw.pick(&SIZES) };
        spec["resources"] = json!({"requests": {"storage": size}});
    }
    match draw.between(0, 19) {
        0..=5 => spec["volumeMode"] = json!("Filesystem"),
        6 => spec["volumeMode"] = json!("Block"),
        _ => {}
    }
    if let Some(attributes) = attributes(draw) {
        spec["volumeAttributesClassName"] = attributes;
    }
    if draw.chance(if store.subject == Subject::Matching { 18 } else { 6 }) {
        spec["selector"] = selector(draw, store);
    }
}

fn selector(draw: &mut Draw, store: &Store) -> Value {
    if store.oddly(draw, 60) {
        let choices = [
            json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": []}]}),
            json!({"matchExpressions": [{"key": "tier", "operator": "Exists", "values": ["a"]}]}),
            json!({"matchLabels": {"not a key!": "gold"}}),
            json!({"matchExpressions": [{"key": "tier", "operator": "Near", "values": ["a"]}]}),
        ];
        return draw.pick(&choices).clone();
    }
    let choices = [
        json!({"matchLabels": {"tier": "gold"}}),
        json!({"matchLabels": {"tier": "silver"}}),
        json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold"]}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}),
        json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
        json!({}),
    ];
    draw.pick(&choices).clone()
}

fn bind(draw: &mut Draw, store: &mut Store, claim: &mut Value, volume: &str) {
    let is_bound = match store.subject {
        Subject::Bound | Subject::Once => 94,
        Subject::Limits => 75,
        Subject::Matching => 12,
        Subject::Provisioning => 6,
        Subject::Disks => 80,
        Subject::Everything => 50,
    };
    let binding = match (draw.chance(is_bound), draw.between(0, 39)) {
        (_, 0..=1) if store.is_careless => Binding::Half,
        (_, 2) if store.is_odd => Binding::Nameless,
        (true, _) => Binding::Done,
        (false, _) => Binding::None,
    };
    if matches!(binding, Binding::Done | Binding::Half) {
        claim["spec"]["volumeName"] = json!(volume);
        if !store.carelessly(draw, 15) {
            persistent::bound(draw, store, volume, claim);
        }
    }
    if matches!(binding, Binding::Done | Binding::Nameless) {
        // The value does not matter.
        let value = draw.pick(&["yes", "yes", ""]);
        claim["metadata"]["annotations"]["pv.kubernetes.io/bind-completed"] = json!(value);
        claim["status"]["phase"] = json!("Bound");
    }
    let selected = match (binding, store.subject) {
        (Binding::None, Subject::Provisioning) => 10,
        (Binding::None, _) => 6,
        (Binding::Done | Binding::Half | Binding::Nameless, _) => 4,
    };
    if draw.chance(selected) {
        let node = if draw.chance(8) { "n-absent" } else { draw.pick(&store.nodes).as_str() };
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] = json!(node);
    }
}

/// Access modes of a claim or of a volume.
pub(super) fn access_modes(draw: &mut Draw, store: &Store, is_volume: bool) -> Value {
    if store.subject == Subject::Once && draw.chance(80) {
        return json!(["ReadWriteOncePod"]);
    }
    match (is_volume, draw.between(0, 19)) {
        (_, 0) => json!(["ReadOnlyMany"]),
        (_, 1) => json!(["ReadWriteMany"]),
        (_, 2) => json!(["ReadWriteOncePod"]),
        (true, 3..=9) => json!(["ReadWriteOnce", "ReadOnlyMany"]),
        (false, 3) => json!(["ReadOnlyMany", "ReadWriteOnce"]),
        (false, 4) => json!(["ReadWriteOnce", "ReadWriteOncePod"]),
        (_, 10) => json!([]),
        _ => json!(["ReadWriteOnce"]),
    }
}

/// The attributes class of a claim or of a volume, where it says one.
pub(super) fn attributes(draw: &mut Draw) -> Option<Value> {
    match draw.between(0, 19) {
        0 => Some(json!("slow")),
        1 => Some(json!("")),
        2 if draw.chance(30) => Some(json!("fast")),
        _ => None,
    }
}
