//! Nodes. Most are copies of one or two shapes, because ties are where rounding and order show.

use serde_json::{Value, json};

use super::theme::World;
use super::{amount, container, grouping, place, taint};
use crate::draw::Draw;

/// What a node may declare; the first three are what pods can need.
const FEATURES: [&str; 5] = [
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
    "InPlacePodLevelResourcesVerticalScaling",
    "NeverHeardOf",
];

/// Every node of the cluster.
pub(super) fn all(draw: &mut Draw, world: &World) -> Vec<Value> {
    let count = draw.between(1, 3);
    let shapes: Vec<Value> = (0..count).map(|_| shape(draw, world)).collect();
    world
        .nodes
        .iter()
        .map(|name| {
            let mut node = draw.pick(&shapes).clone();
            if draw.chance(50) {
                vary(draw, world, &mut node);
            }
            node["metadata"]["name"] = json!(name);
            node["metadata"]["uid"] = json!(format!("node-{name}"));
            if draw.chance(80) {
                node["metadata"]["labels"]["kubernetes.io/hostname"] = json!(name);
            }
            if world.theme.groupings && draw.chance(80) {
                let zone = draw.pick(&["a", "a", "a", "b", "b", "c", ""]);
                node["metadata"]["labels"][grouping::ZONE] = json!(zone);
            }
            node
        })
        .collect()
}

fn shape(draw: &mut Draw, world: &World) -> Value {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"labels": place::labels(draw)}, "spec": {}, "status": {},
    });
    offer(draw, world, &mut node);
    taint_node(draw, world, &mut node);
    if world.theme.images {
        node["status"]["images"] = images(draw, world);
    }
    if world.theme.features {
        let declared = draw.subset(&FEATURES, 75);
        node["status"]["declaredFeatures"] = json!(declared);
    }
    node
}

/// Draws one part of a node anew.
fn vary(draw: &mut Draw, world: &World, node: &mut Value) {
    match draw.between(0, 3) {
        0 => node["metadata"]["labels"] = json!(place::labels(draw)),
        1 => offer(draw, world, node),
        2 => taint_node(draw, world, node),
        _ if world.theme.images => node["status"]["images"] = images(draw, world),
        _ => offer(draw, world, node),
    }
}

fn offer(draw: &mut Draw, world: &World, node: &mut Value) {
    let allocatable = amount::allocatable(draw, &world.theme);
    // Capacity is never looked at; a node that offers less than it has must show that.
    node["status"]["capacity"] = json!({"cpu": "64", "memory": "256Gi", "pods": "250"});
    node["status"]["allocatable"] = allocatable;
}

fn taint_node(draw: &mut Draw, world: &World, node: &mut Value) {
    let mut taints = if world.theme.taints { taint::taints(draw) } else { Vec::new() };
    let mut spec = json!({});
    if world.theme.unschedulable && draw.chance(35) {
        spec["unschedulable"] = json!(true);
        // The node controller adds this taint a little later than the field is set.
        if draw.chance(60) {
            taints.push(json!({"key": taint::UNSCHEDULABLE, "effect": "NoSchedule"}));
        }
    }
    if !taints.is_empty() {
        spec["taints"] = json!(taints);
    }
    node["spec"] = spec;
}

fn images(draw: &mut Draw, world: &World) -> Value {
    let mut images = Vec::new();
    for (names, bytes) in container::IMAGES.iter().zip(&world.image_bytes) {
        if draw.chance(50) {
            images.push(json!({"names": names, "sizeBytes": bytes}));
        }
    }
    json!(images)
}
