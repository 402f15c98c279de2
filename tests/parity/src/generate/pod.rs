//! Pods: those that take room already, those that count for nothing, and the one to judge.

use serde_json::{Value, json};

use super::amount::{self, Size};
use super::theme::World;
use super::{company, container, grouping, place, preemption, resize, taint};
use crate::draw::Draw;

/// Every pod of the cluster but the one to judge.
pub(super) fn existing(draw: &mut Draw, world: &World) -> Vec<Value> {
    let has_company = has_company(world);
    let count = if has_company { draw.between(4, 30) } else { draw.between(0, 12) };
    (0..count).map(|index| one_existing(draw, world, index)).collect()
}

fn one_existing(draw: &mut Draw, world: &World, index: u64) -> Value {
    let mut pod = pod(draw, world, &format!("p{index}"));
    let mut spec = json!({
        "schedulerName": draw.pick(&["default-scheduler", "default-scheduler", "other-scheduler"]),
        "priority": draw.pick(&[0, 0, 10, 1000]),
    });
    container::fill(draw, world, Size::Running, &mut spec);
    extras(draw, world, Size::Running, &mut spec);
    if world.theme.pod_affinity && draw.chance(40) {
        spec["affinity"] = json!({});
        company::affinity(draw, 25, world.theme.invalid_selectors, &mut spec["affinity"]);
    }
    match draw.between(0, 19) {
        0 => spec["nodeName"] = json!("n-absent"),
        1 => {}
        2 if world.theme.preemption => {}
        _ => spec["nodeName"] = json!(draw.pick(&world.nodes)),
    }
    let is_waiting = spec.get("nodeName").is_none();
    pod["spec"] = spec;
    // No two start at the same time: victims of equal age have no defined order.
    pod["status"] = json!({"startTime": format!("2026-01-01T00:{index:02}:00Z")});
    pod["status"]["phase"] = match draw.between(0, 14) {
        0 => json!("Succeeded"),
        1 => json!("Failed"),
        2 => json!("Pending"),
        _ => json!("Running"),
    };
    if draw.chance(10) {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z");
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
    }
    if world.theme.preemption {
        preemption::existing(draw, world, is_waiting, &mut pod);
    }
    let is_leaving = pod["metadata"].get("deletionTimestamp").is_some();
    if is_leaving && (world.theme.spread || world.theme.groupings) {
        // Nobody evicts it: it is not counted by those who are spread, but kube-scheduler counts
        // one less without it; see docs/parity.md.
        pod["spec"]["priority"] = json!(100_000);
    }
    if world.theme.resize && draw.chance(60) {
        resize::fill(draw, world, &mut pod);
    }
    pod
}

/// The pod to judge, for the profile of this name.
pub(super) fn judged(draw: &mut Draw, world: &World, scheduler: &str) -> Value {
    let theme = &world.theme;
    let mut pod = pod(draw, world, "judged");
    let mut spec = json!({"schedulerName": scheduler, "priority": draw.pick(&[0, 10, 1000])});
    container::fill(draw, world, Size::Judged, &mut spec);
    extras(draw, world, Size::Judged, &mut spec);
    if theme.volumes {
        spec["volumes"] = json!(container::volumes(draw));
    }
    if theme.taints {
        spec["tolerations"] = json!(taint::tolerations(draw));
    }
    if theme.unschedulable && draw.chance(35) {
        spec["tolerations"] = json!([taint::of_unschedulable(draw)]);
    }
    if theme.selector {
        spec["nodeSelector"] = place::selector(draw, world);
    }
    affinity(draw, world, &mut spec);
    if theme.node_name {
        let absent = "n-absent".to_owned();
        spec["nodeName"] = json!(if draw.chance(15) { &absent } else { draw.pick(&world.nodes) });
    }
    if draw.chance(3) {
        spec["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    }
    pod["spec"] = spec;
    pod["status"] = json!({"phase": "Pending"});
    if theme.preemption {
        preemption::judged(draw, world, &mut pod);
    }
    pod
}

fn affinity(draw: &mut Draw, world: &World, spec: &mut Value) {
    let theme = &world.theme;
    let mut affinity = json!({});
    if theme.required || theme.match_fields {
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = place::required(draw, world);
    }
    if theme.preferred {
        // One bad preferred term fails the pod, so most cases have none.
        let invalid = theme.invalid_selectors && draw.chance(25);
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] =
            json!(place::preferred(draw, world, invalid));
    }
    let mut all = json!({});
    if affinity != json!({}) || draw.chance(3) {
        all["nodeAffinity"] = affinity;
    }
    if theme.pod_affinity && draw.chance(75) {
        company::affinity(draw, 40, false, &mut all);
    }
    if all != json!({}) {
        spec["affinity"] = all;
    }
    if theme.spread {
        let constraints = company::spread(draw, world);
        if constraints.iter().any(company::means_all) {
            // Nobody is less important.
            spec["priority"] = json!(-1000);
        }
        spec["topologySpreadConstraints"] = json!(constraints);
    }
}

fn pod(draw: &mut Draw, world: &World, name: &str) -> Value {
    let namespace = draw.pick(&company::NAMESPACES);
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "uid": format!("pod-{name}")},
    });
    if has_company(world) {
        pod["metadata"]["labels"] = company::labels(draw);
    }
    if world.theme.groupings && draw.chance(70) {
        pod["metadata"]["ownerReferences"] = grouping::owners(draw);
    }
    pod
}

/// Whether it matters where other pods are.
fn has_company(world: &World) -> bool {
    let theme = &world.theme;
    theme.spread || theme.pod_affinity || theme.groupings || theme.preemption
}

/// What a pod asks for beside its containers.
fn extras(draw: &mut Draw, world: &World, size: Size, spec: &mut Value) {
    let theme = &world.theme;
    if theme.overhead && draw.chance(60) {
        spec["overhead"] = amount::requests(draw, theme, Size::Running);
    }
    if theme.pod_level && draw.chance(60) {
        let mut resources = json!({});
        if draw.chance(85) {
            resources["requests"] = amount::requests(draw, theme, size);
            // With an overhead, kube-scheduler adds to a quantity it shares with the pod whenever
            // that quantity is a fraction of a binary unit; see docs/parity.md.
            let memory = resources["requests"]["memory"].as_str().unwrap_or_default();
            if spec.get("overhead").is_some() && memory.contains('.') && memory.ends_with('i') {
                resources["requests"]["memory"] = json!("100Mi");
            }
        }
        if draw.chance(40) {
            resources["limits"] = amount::requests(draw, theme, size);
        }
        spec["resources"] = resources;
    }
    if theme.features && draw.chance(40) {
        spec["hostNetwork"] = json!(draw.chance(70));
        spec["hostUsers"] = json!(draw.chance(30));
    }
}
