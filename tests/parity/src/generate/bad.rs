//! Cases that cannot be judged at all. Both sides must say so rather than guess.

use serde_json::{Value, json};

use crate::draw::Draw;

/// Puts one mistake into a case that was sound.
pub(super) fn spoil(draw: &mut Draw, case: &mut Value) {
    let mistakes = [unknown_kind, not_a_quantity, wrong_type, no_such_profile, bad_configuration];
    draw.pick(&mistakes)(case);
}

fn unknown_kind(case: &mut Value) {
    if let Some(objects) = case["objects"].as_array_mut() {
        objects.push(json!({
            "apiVersion": "example.com/v1", "kind": "Teapot",
            "metadata": {"name": "teapot", "uid": "teapot"},
        }));
    }
}

fn not_a_quantity(case: &mut Value) {
    case["pod"]["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "a lot"});
}

fn wrong_type(case: &mut Value) {
    case["pod"]["spec"]["nodeSelector"] = json!(["zone"]);
}

fn no_such_profile(case: &mut Value) {
    case["config"] = configuration(json!([{"schedulerName": "somebody-else"}]));
}

fn bad_configuration(case: &mut Value) {
    // Utilization must increase from point to point.
    let shape = [json!({"utilization": 50, "score": 1}), json!({"utilization": 50, "score": 2})];
    let strategy =
        json!({"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}});
    let args = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourcesFitArgs",
        "scoringStrategy": strategy,
    });
    let name = case["pod"]["spec"]["schedulerName"].clone();
    case["config"] = configuration(json!([{
        "schedulerName": name, "pluginConfig": [{"name": "NodeResourcesFit", "args": args}],
    }]));
}

fn configuration(profiles: Value) -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    })
}
