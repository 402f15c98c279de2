//! Arguments of the plugins that take some.

use serde_json::{Value, json};

use super::super::theme::World;
use super::super::{amount, grouping, place};
use crate::draw::Draw;

/// The `pluginConfig` of a profile.
pub(super) fn draw(draw: &mut Draw, world: &World) -> Vec<Value> {
    let mut all = Vec::new();
    if draw.chance(60) {
        all.push(args("NodeResourcesFit", fit(draw)));
    }
    if draw.chance(30) {
        all.push(args("NodeResourcesBalancedAllocation", balanced(draw)));
    }
    if draw.chance(35) {
        let affinity = place::added(draw, world);
        all.push(args("NodeAffinity", json!({"addedAffinity": affinity})));
    }
    if world.theme.pod_affinity && draw.chance(60) {
        let mut given = json!({});
        if draw.chance(70) {
            given["hardPodAffinityWeight"] = json!(draw.pick(&[0, 1, 10, 100]));
        }
        if draw.chance(50) {
            given["ignorePreferredTermsOfExistingPods"] = json!(draw.chance(70));
        }
        all.push(args("InterPodAffinity", given));
    }
    if world.theme.groupings && draw.chance(80) {
        all.push(args("PodTopologySpread", grouping::args(draw)));
    }
    all
}

fn args(plugin: &str, mut args: Value) -> Value {
    args["apiVersion"] = json!("kubescheduler.config.k8s.io/v1");
    args["kind"] = json!(format!("{plugin}Args"));
    json!({"name": plugin, "args": args})
}

fn fit(draw: &mut Draw) -> Value {
    let mut args = json!({});
    if draw.chance(25) {
        args["ignoredResources"] = json!(draw.subset(&amount::SCALARS, 40));
    }
    if draw.chance(20) {
        args["ignoredResourceGroups"] = json!(draw.subset(&["nvidia.com", "example.com"], 60));
    }
    if draw.chance(85) {
        args["scoringStrategy"] = strategy(draw);
    }
    args
}

fn strategy(draw: &mut Draw) -> Value {
    let kinds = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
    let kind = *draw.pick(&kinds);
    let mut strategy = json!({"type": kind});
    if draw.chance(80) {
        strategy["resources"] = weighted_resources(draw);
    }
    if kind == "RequestedToCapacityRatio" {
        strategy["requestedToCapacityRatio"] = json!({"shape": shape(draw)});
    }
    strategy
}

fn resource_names() -> Vec<&'static str> {
    let mut names = vec!["cpu", "memory", "ephemeral-storage"];
    names.extend(amount::SCALARS);
    names
}

fn weighted_resources(draw: &mut Draw) -> Value {
    let names = resource_names();
    let count = draw.between(1, 4);
    (0..count)
        .map(|_| {
            // The usual ones matter most, and a name may come twice.
            let name = if draw.chance(60) { draw.pick(&names[..3]) } else { draw.pick(&names) };
            let weight = if draw.chance(30) { 1 } else { draw.between(0, 100) };
            json!({"name": name, "weight": weight})
        })
        .collect()
}

fn shape(draw: &mut Draw) -> Value {
    let count = draw.between(1, 4);
    let mut at: Vec<u64> = (0..count).map(|_| draw.between(0, 100)).collect();
    if draw.chance(40) {
        at.extend([0, 100]);
    }
    at.sort_unstable();
    at.dedup();
    at.truncate(4);
    at.iter().map(|at| json!({"utilization": at, "score": draw.between(0, 10)})).collect()
}

fn balanced(draw: &mut Draw) -> Value {
    let names = resource_names();
    let chosen = draw.subset(&names, 35);
    let resources: Vec<Value> = chosen
        .iter()
        .map(|name| json!({"name": name, "weight": u64::from(!draw.chance(10))}))
        .collect();
    json!({"resources": resources})
}
