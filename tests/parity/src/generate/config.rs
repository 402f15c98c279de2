//! Configurations: which plugins run, in which order, with which weights and arguments.
//!
//! A plugin's preparation (preFilter, preScore) is never switched off where its filter or score
//! stays on, and no plugin is added that the default profile lacks.

mod args;

use serde_json::{Map, Value, json};

use super::theme::World;
use crate::draw::Draw;

/// Plugins that may be left out of a profile.
pub(super) const OPTIONAL: [&str; 12] = [
    "SchedulingGates",
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "NodeDeclaredFeatures",
    "PodTopologySpread",
    "InterPodAffinity",
];

const FILTERS: [&str; 9] = [
    "NodeName",
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "NodeDeclaredFeatures",
    "PodTopologySpread",
    "InterPodAffinity",
];

const SCORES: [&str; 7] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "PodTopologySpread",
    "InterPodAffinity",
];

/// A configuration, or none in half of the cases, and the scheduler names that pods may carry.
pub(super) fn draw(draw: &mut Draw, world: &World) -> (Option<Value>, Vec<String>) {
    let default = "default-scheduler".to_owned();
    if draw.chance(50) {
        return (None, vec![default]);
    }
    let mut profiles = vec![profile(draw, world)];
    let mut names = vec![default];
    if draw.chance(30) {
        let name = "second-scheduler".to_owned();
        let mut second = profile(draw, world);
        second["schedulerName"] = json!(name);
        profiles.push(second);
        names.push(name);
    }
    // The name of the only profile may be left out.
    if profiles.len() > 1 || draw.chance(70) {
        profiles[0]["schedulerName"] = json!(names[0]);
    }
    if draw.chance(50) {
        profiles.reverse();
    }
    let mut config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": profiles,
    });
    if draw.chance(10) {
        config["percentageOfNodesToScore"] = json!(draw.between(0, 100));
    }
    (Some(config), names)
}

fn profile(draw: &mut Draw, world: &World) -> Value {
    let mut profile = json!({});
    let (multi_point, present) = multi_point(draw);
    let mut plugins = Map::new();
    if let Some(multi_point) = multi_point {
        plugins.insert("multiPoint".to_owned(), multi_point);
    }
    if draw.chance(25) {
        let filters = kept(&FILTERS, &present);
        plugins.insert("filter".to_owned(), point(draw, &filters, Weights::Meaningless));
    }
    if draw.chance(50) {
        let scores = kept(&SCORES, &present);
        plugins.insert("score".to_owned(), point(draw, &scores, Weights::Count));
    }
    if !plugins.is_empty() {
        profile["plugins"] = Value::Object(plugins);
    }
    let arguments = args::draw(draw, world);
    if !arguments.is_empty() {
        profile["pluginConfig"] = json!(arguments);
    }
    profile
}

fn kept(of: &[&'static str], present: &[&'static str]) -> Vec<&'static str> {
    of.iter().copied().filter(|name| present.contains(name)).collect()
}

/// The multiPoint section, and the plugins that are there as a result.
fn multi_point(draw: &mut Draw) -> (Option<Value>, Vec<&'static str>) {
    match draw.between(0, 9) {
        // Everything off, then some on again in an order of their own.
        0..=5 => {
            let mut present: Vec<&str> = draw.subset(&OPTIONAL, 75).into_iter().copied().collect();
            present.extend(["PrioritySort", "DefaultBinder"]);
            draw.shuffle(&mut present);
            let enabled: Vec<Value> = present.iter().map(|name| weighted(draw, name)).collect();
            (Some(json!({"disabled": [{"name": "*"}], "enabled": enabled})), present)
        }
        // The default plugins without some of them, others with another weight.
        6..=8 => {
            let absent: Vec<&str> = draw.subset(&OPTIONAL, 15).into_iter().copied().collect();
            let present: Vec<&str> =
                OPTIONAL.iter().copied().filter(|name| !absent.contains(name)).collect();
            let again = draw.subset(&present, 25);
            let enabled: Vec<Value> = again.iter().map(|name| weighted(draw, name)).collect();
            let disabled: Vec<Value> = absent.iter().map(|name| json!({"name": name})).collect();
            (Some(json!({"disabled": disabled, "enabled": enabled})), present)
        }
        _ => (None, OPTIONAL.to_vec()),
    }
}

/// Whether weights mean something at an extension point.
#[derive(Debug, Clone, Copy)]
enum Weights {
    Count,
    Meaningless,
}

/// A section for one extension point, made from plugins that are there already: some taken away,
/// some moved to the front or given another weight.
fn point(draw: &mut Draw, plugins: &[&'static str], weights: Weights) -> Value {
    let everything = draw.chance(20);
    let disabled: Vec<Value> = match everything {
        true => vec![json!({"name": "*"})],
        false => draw.subset(plugins, 20).iter().map(|name| json!({"name": name})).collect(),
    };
    let mut again = draw.subset(plugins, if everything { 60 } else { 25 });
    draw.shuffle(&mut again);
    let enabled: Vec<Value> = again
        .iter()
        .map(|name| match weights {
            Weights::Count => weighted(draw, name),
            Weights::Meaningless => json!({"name": name}),
        })
        .collect();
    let mut point = json!({});
    if !disabled.is_empty() {
        point["disabled"] = json!(disabled);
    }
    if !enabled.is_empty() {
        point["enabled"] = json!(enabled);
    }
    point
}

fn weighted(draw: &mut Draw, name: &str) -> Value {
    let mut plugin = json!({"name": name});
    if draw.chance(60) {
        // Zero stands for the default of one.
        plugin["weight"] = json!(draw.pick(&[0, 1, 2, 3, 5, 10, 100]));
    }
    plugin
}
