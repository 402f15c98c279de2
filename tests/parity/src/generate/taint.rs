//! Taints and the tolerations that meet them, or just miss them.

use serde_json::{Value, json};

use crate::draw::Draw;

/// The taint that stands for `spec.unschedulable`.
pub(super) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

const KEYS: [&str; 3] = ["dedicated", "dedicated", "level"];
const VALUES: [&str; 4] = ["", "a", "a", "5"];
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The taints of a node.
pub(super) fn taints(draw: &mut Draw) -> Vec<Value> {
    let count = *draw.pick(&[0, 0, 0, 1, 1, 2, 3]);
    (0..count).map(|_| taint(draw)).collect()
}

fn taint(draw: &mut Draw) -> Value {
    let key = if draw.chance(4) { &UNSCHEDULABLE } else { draw.pick(&KEYS) };
    // Scores count the taints that only prefer to be avoided, so these come more often.
    let effect = if draw.chance(30) { &"PreferNoSchedule" } else { draw.pick(&EFFECTS) };
    let mut taint = json!({"key": key, "effect": effect});
    let value = draw.pick(&VALUES);
    if !value.is_empty() || draw.chance(10) {
        taint["value"] = json!(value);
    }
    taint
}

/// The tolerations of a pod.
pub(super) fn tolerations(draw: &mut Draw) -> Vec<Value> {
    let count = draw.between(1, 5);
    (0..count).map(|_| toleration(draw)).collect()
}

/// A toleration of nodes that are switched off, exact or by a rule that covers it.
pub(super) fn of_unschedulable(draw: &mut Draw) -> Value {
    match draw.between(0, 3) {
        0 => json!({"key": UNSCHEDULABLE, "operator": "Exists", "effect": "NoSchedule"}),
        1 => json!({"key": UNSCHEDULABLE, "operator": "Exists"}),
        2 => json!({"key": UNSCHEDULABLE, "operator": "Equal", "effect": "NoExecute"}),
        _ => json!({"key": UNSCHEDULABLE, "operator": "Equal", "value": "", "effect": ""}),
    }
}

fn toleration(draw: &mut Draw) -> Value {
    if draw.chance(4) {
        return json!({"operator": "Exists"});
    }
    let mut toleration = json!({});
    if draw.chance(92) {
        toleration["key"] = json!(draw.pick(&KEYS));
    } else if draw.chance(50) {
        toleration["key"] = json!("");
    }
    match draw.between(0, 9) {
        0..=3 => toleration["operator"] = json!("Exists"),
        4..=5 => toleration["operator"] = json!("Equal"),
        6 => toleration["operator"] = json!(""),
        7 => {}
        8 => toleration["operator"] = json!("Lt"),
        _ => toleration["operator"] = json!("Gt"),
    }
    if toleration["operator"] != "Exists" || draw.chance(5) {
        toleration["value"] = json!(draw.pick(&VALUES));
    }
    match draw.between(0, 3) {
        0 => {}
        1 => toleration["effect"] = json!(""),
        _ => toleration["effect"] = json!(draw.pick(&EFFECTS)),
    }
    if draw.chance(5) {
        toleration["tolerationSeconds"] = json!(30);
    }
    toleration
}
