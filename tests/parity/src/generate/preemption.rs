//! Who may be evicted for whom: priorities, disruption budgets, nodes that are proposed for pods,
//! and pods that are leaving already.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::theme::World;
use crate::draw::Draw;

/// Makes a pod that is there more or less important, leaving or awaited.
pub(super) fn existing(draw: &mut Draw, world: &World, is_waiting: bool, pod: &mut Value) {
    pod["spec"]["priority"] = json!(draw.pick(&[-10, 0, 0, 0, 5, 10, 100, 1000]));
    if is_waiting {
        // A pod that is deleted before it is on a node is gone; see docs/parity.md.
        let remove = |object: &mut Value, key: &str| {
            object.as_object_mut().and_then(|fields| fields.remove(key));
        };
        remove(&mut pod["metadata"], "deletionTimestamp");
        // Whether it counts that such a pod wants others to be far depends on those who are there.
        if let Some(affinity) = pod["spec"].get_mut("affinity") {
            remove(affinity, "podAntiAffinity");
        }
    }
    if is_waiting && draw.chance(80) {
        pod["status"]["nominatedNodeName"] = json!(proposed(draw, world));
    }
    if pod["metadata"].get("deletionTimestamp").is_some() && draw.chance(60) {
        pod["status"]["conditions"] = json!([{
            "type": "DisruptionTarget",
            "status": draw.pick(&["True", "True", "True", "False"]),
            "reason": draw.pick(&["PreemptionByScheduler", "PreemptionByScheduler", "Other"]),
        }]);
    }
}

/// Makes the pod to judge one that others may be evicted for.
pub(super) fn judged(draw: &mut Draw, world: &World, pod: &mut Value) {
    pod["spec"]["priority"] = json!(draw.pick(&[0, 10, 10, 100, 1000, 1000]));
    if draw.chance(10) {
        pod["spec"]["preemptionPolicy"] = json!(draw.pick(&["Never", "PreemptLowerPriority"]));
    }
    if draw.chance(20) {
        pod["status"]["nominatedNodeName"] = json!(proposed(draw, world));
    }
    // Most fit nowhere as things are.
    if draw.chance(70) {
        let container = &mut pod["spec"]["containers"][0];
        container["resources"]["requests"]["cpu"] = json!(draw.pick(&["1500m", "2", "2500m", "3"]));
    }
}

/// Takes host ports from pods whose node has another pod with the same one: kube-scheduler forgets
/// the port of both when one of them goes; see docs/parity.md.
pub(super) fn part_ports(objects: &mut [Value]) {
    let mut taken = BTreeSet::new();
    for pod in objects.iter_mut().filter(|object| object["kind"] == "Pod") {
        let Some(node) = pod["spec"]["nodeName"].as_str().map(str::to_owned) else { continue };
        for list in ["containers", "initContainers"] {
            let containers = pod["spec"][list].as_array_mut().into_iter().flatten();
            let ports = containers.filter_map(|container| container["ports"].as_array_mut());
            for port in ports.flatten() {
                if !taken.insert((node.clone(), port["hostPort"].as_i64().unwrap_or(0))) {
                    port["hostPort"] = json!(0);
                }
            }
        }
    }
}

fn proposed<'a>(draw: &mut Draw, world: &'a World) -> &'a str {
    if draw.chance(10) { "n-absent" } else { draw.pick(&world.nodes).as_str() }
}

/// Disruption budgets. No two are about one pod: kube-scheduler takes them in no order, and stops
/// at the first that is broken.
pub(super) fn budgets(draw: &mut Draw, world: &World) -> Vec<Value> {
    if !world.theme.preemption {
        return Vec::new();
    }
    let mut budgets = Vec::new();
    for (namespace, app) in [("default", "web"), ("default", "db"), ("team", "web"), ("none", "")] {
        if draw.chance(50) {
            continue;
        }
        let name = format!("{namespace}-{app}-budget");
        let mut budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace, "uid": format!("budget-{name}")},
            "spec": {},
            "status": {"disruptionsAllowed": draw.pick(&[0, 0, 1, 1, 2, 5])},
        });
        let selector = match draw.between(0, 11) {
            0 => None,
            1 => Some(json!({})),
            2 => Some(json!({"matchExpressions": [{"key": "app", "operator": "In"}]})),
            3 | 4 => Some(json!({
                "matchExpressions": [{"key": "app", "operator": "In", "values": [app]}],
            })),
            _ => Some(json!({"matchLabels": {"app": app}})),
        };
        if let Some(selector) = selector {
            budget["spec"]["selector"] = selector;
        }
        if draw.chance(25) {
            let pods: Map<String, Value> = (0..draw.between(1, 4))
                .map(|_| (format!("p{}", draw.between(0, 20)), json!("2026-01-02T00:00:00Z")))
                .collect();
            budget["status"]["disruptedPods"] = Value::Object(pods);
        }
        budgets.push(budget);
    }
    budgets
}
