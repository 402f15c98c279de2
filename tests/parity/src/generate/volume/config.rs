//! Configurations that leave volume plugins out, ask them in another order, or give them arguments.

use serde_json::{Map, Value, json};

use super::Subject;
use crate::draw::Draw;

const PLUGINS: [&str; 4] =
    ["VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"];
const OTHERS: [&str; 6] = [
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "ImageLocality",
];

/// A configuration, or none in a good part of the cases, and whether it has one volume plugin only.
pub(super) fn draw(draw: &mut Draw, subject: Subject) -> (Option<Value>, bool) {
    if draw.chance(40) {
        return (None, false);
    }
    let is_binding =
        matches!(subject, Subject::Matching | Subject::Provisioning) && draw.chance(75);
    let mut plugins = Map::new();
    let mut present = PLUGINS.to_vec();
    match draw.between(0, 11) {
        0..=5 => {
            present = match draw.between(0, 11) {
                _ if is_binding => vec!["VolumeBinding"],
                0..=3 => draw.subset(&PLUGINS, 80).into_iter().copied().collect(),
                4..=7 => vec!["VolumeZone"],
                8 | 9 => vec!["NodeVolumeLimits"],
                10 => vec!["VolumeBinding"],
                _ => vec!["VolumeRestrictions"],
            };
            let mut enabled = present.clone();
            enabled.extend(draw.subset(&OTHERS, 60).into_iter().copied());
            enabled.extend(["PrioritySort", "DefaultBinder"]);
            if draw.chance(75) {
                enabled.push("DefaultPreemption");
            }
            draw.shuffle(&mut enabled);
            let enabled: Vec<Value> = enabled.iter().map(|name| json!({"name": name})).collect();
            plugins.insert(
                "multiPoint".to_owned(),
                json!({"disabled": [{"name": "*"}], "enabled": enabled}),
            );
        }
        6..=9 => {
            let mut absent: Vec<&str> = draw.subset(&PLUGINS, 35).into_iter().copied().collect();
            if is_binding {
                absent.retain(|name| *name != "VolumeBinding");
            }
            present.retain(|name| !absent.contains(name));
            let absent: Vec<Value> = absent.iter().map(|name| json!({"name": name})).collect();
            plugins.insert("multiPoint".to_owned(), json!({"disabled": absent}));
        }
        _ => {}
    }
    points(draw, &present, &mut plugins);
    let mut profile = json!({"schedulerName": "default-scheduler"});
    if !plugins.is_empty() {
        profile["plugins"] = Value::Object(plugins);
    }
    if draw.chance(50) {
        profile["pluginConfig"] = json!([{"name": "VolumeBinding", "args": args(draw)}]);
    }
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    });
    (Some(config), present.len() == 1)
}

/// Sections for single points: a filter less, another one first, a score that weighs more.
fn points(draw: &mut Draw, present: &[&str], plugins: &mut Map<String, Value>) {
    if draw.chance(20) && !present.is_empty() {
        let name = draw.pick(present);
        let mut filter = json!({"disabled": [{"name": name}]});
        if draw.chance(50) {
            // The first to be asked.
            filter["enabled"] = json!([{"name": draw.pick(present)}]);
        }
        plugins.insert("filter".to_owned(), filter);
    }
    if draw.chance(25) && present.contains(&"VolumeBinding") {
        let mut score = json!({"disabled": [{"name": "VolumeBinding"}]});
        if draw.chance(75) {
            let weight = draw.pick(&[1, 2, 7, 50]);
            score["enabled"] = json!([{"name": "VolumeBinding", "weight": weight}]);
        }
        plugins.insert("score".to_owned(), score);
    }
}

fn args(draw: &mut Draw) -> Value {
    let mut args = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "VolumeBindingArgs",
    });
    if draw.chance(50) {
        // A time below zero is an error.
        args["bindTimeoutSeconds"] = json!(draw.pick(&[0, 1, 30, 600, 600, 600, 600, -1]));
    }
    if draw.chance(75) {
        let shapes = [
            json!([{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]),
            json!([
                {"utilization": 0, "score": 2},
                {"utilization": 40, "score": 9},
                {"utilization": 90, "score": 1},
            ]),
            json!([{"utilization": 50, "score": 7}]),
            json!([{"utilization": 10, "score": 10}, {"utilization": 11, "score": 0}]),
            json!([]),
        ];
        args["shape"] = draw.pick(&shapes).clone();
    }
    args
}
