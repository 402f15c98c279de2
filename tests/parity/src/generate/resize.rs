//! The status of pods whose resources change while they run: what was asked for, what the kubelet
//! granted and what is in force all differ.

use serde_json::{Value, json};

use super::amount::{self, Size};
use super::theme::World;
use crate::draw::Draw;

/// Adds a resize, at any stage of its life, to the status of a pod.
pub(super) fn fill(draw: &mut Draw, world: &World, pod: &mut Value) {
    for (containers, statuses) in
        [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")]
    {
        let mut found = Vec::new();
        for container in pod["spec"][containers].as_array().into_iter().flatten() {
            if draw.chance(75) {
                found.push(container_status(draw, world, container));
            }
        }
        if !found.is_empty() {
            pod["status"][statuses] = json!(found);
        }
    }
    if let Some(conditions) = conditions(draw) {
        pod["status"]["conditions"] = conditions;
    }
    if draw.chance(35) {
        pod["status"]["allocatedResources"] = amount::requests(draw, &world.theme, Size::Running);
    }
    if draw.chance(35) {
        pod["status"]["resources"] = resources(draw, world);
    }
}

fn container_status(draw: &mut Draw, world: &World, container: &Value) -> Value {
    let mut status = json!({
        "name": container["name"], "image": container["image"], "imageID": "",
        "ready": true, "restartCount": 0,
    });
    if draw.chance(70) {
        status["allocatedResources"] = amount::requests(draw, &world.theme, Size::Running);
    }
    if draw.chance(60) {
        status["resources"] = resources(draw, world);
    }
    status
}

fn resources(draw: &mut Draw, world: &World) -> Value {
    let mut resources = json!({});
    if draw.chance(80) {
        resources["requests"] = amount::requests(draw, &world.theme, Size::Running);
    }
    if draw.chance(20) {
        resources["limits"] = amount::requests(draw, &world.theme, Size::Running);
    }
    resources
}

fn conditions(draw: &mut Draw) -> Option<Value> {
    let reason = match draw.between(0, 5) {
        0..=1 => "Infeasible",
        2 => "Deferred",
        3 => return Some(json!([{"type": "PodResizeInProgress", "status": "True"}])),
        _ => return None,
    };
    let pending = json!({"type": "PodResizePending", "status": "True", "reason": reason});
    Some(json!([{"type": "PodScheduled", "status": "True"}, pending]))
}
