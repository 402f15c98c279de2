//! Draws cases: a small cluster, a pod to judge and sometimes a configuration.
//!
//! Few nodes and few distinct values of everything make conflicts and ties frequent. Each case
//! switches whole subjects on or off (see [`theme`]), because a pod that uses every field at once
//! fits nowhere and shows nothing. Claims of volumes are a theme of their own (see [`volume`]).
//! Never drawn: resource claims.

mod amount;
mod bad;
mod company;
mod config;
mod container;
mod grouping;
mod node;
mod place;
mod pod;
mod preemption;
mod resize;
mod taint;
mod theme;
mod volume;

use serde_json::{Value, json};

use crate::draw::Draw;
use theme::World;

/// Case `number` of `seed` about volumes. The same arguments always give the same case.
pub fn volume_case(seed: u64, number: u64) -> Value {
    volume::case(seed, number)
}

/// The same case with its objects in the opposite order, which must not change the answer.
pub fn turned_volume_case(seed: u64, number: u64) -> Value {
    let mut case = volume::case(seed, number);
    case["id"] = json!(format!("turned-volumes-{seed}-{number}"));
    if let Some(objects) = case["objects"].as_array_mut() {
        objects.reverse();
    }
    case
}

/// Case `number` of `seed`. The same arguments always give the same case.
pub fn case(seed: u64, number: u64) -> Value {
    let mut draw = Draw::new(seed, number);
    let world = World::draw(&mut draw);
    let (config, profiles) = config::draw(&mut draw, &world);
    let mut objects = node::all(&mut draw, &world);
    objects.extend(pod::existing(&mut draw, &world));
    preemption::part_ports(&mut objects);
    objects.extend(company::namespaces(&mut draw, &world));
    objects.extend(preemption::budgets(&mut draw, &world));
    objects.extend(grouping::all(&mut draw, &world));
    objects.extend(bystanders(&mut draw, &world));
    if draw.chance(50) {
        draw.shuffle(&mut objects);
    }
    let scheduler = draw.pick(&profiles).clone();
    let pod = pod::judged(&mut draw, &world, &scheduler);
    let mut case = json!({"id": format!("{seed}-{number}"), "objects": objects, "pod": pod});
    if let Some(config) = config {
        case["config"] = config;
    }
    // These cases have an error for an answer, so they are kept rare.
    if draw.chance(1) {
        bad::spoil(&mut draw, &mut case);
    }
    case
}

/// Objects that are in every cluster and that none of these plugins may be moved by.
fn bystanders(draw: &mut Draw, world: &World) -> Vec<Value> {
    let mut objects = Vec::new();
    if !world.theme.pod_affinity && draw.chance(20) {
        objects.push(json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "default", "uid": "namespace-default"},
        }));
    }
    if draw.chance(20) {
        objects.push(json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "high", "uid": "priorityclass-high"}, "value": 1000,
        }));
    }
    objects
}

#[cfg(test)]
mod tests;
