//! Pods that want NUMA zones, as their owners see them: where they go, which zones are written on
//! them, and what they are told while they wait.

mod asked;
mod gangs;
mod known;
mod sources;

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

pub(crate) use asked::{isolated, restricted, single};
pub(crate) use gangs::gang;
pub(crate) use known::{kubelet, restart, unknown};
pub(crate) use sources::{slices, topology};

use crate::check::all_events;
use crate::objects::{node, pod};
use crate::wait::until;
use crate::world::{World, condition_of, node_of};
use crate::zones::{KUBELET, PLACEMENT, POLICY};

pub(super) const GPU: &str = "nvidia.com/gpu";

/// A node that tells of its zones by labels: as many as there are numbers of GPUs in `gpus`, with
/// so many CPUs and GiB each.
fn machine(name: &str, cpus: usize, gib: u64, gpus: &[usize]) -> Value {
    let zones = gpus.len();
    let memory = format!("{}Gi", gib * zones as u64);
    let mut node = node(name, &(cpus * zones).to_string(), &memory, 110);
    let labels = &mut node["metadata"]["labels"];
    labels["numa.kubenexus.io/node-count"] = zones.to_string().into();
    let mut gpu = 0;
    for (zone, count) in gpus.iter().enumerate() {
        let own = |fact: &str| format!("numa.kubenexus.io/node-{zone}-{fact}");
        labels[own("cpus")] = format!("{}-{}", zone * cpus, (zone + 1) * cpus - 1).into();
        labels[own("memory")] = (gib << 30).to_string().into();
        for _ in 0..*count {
            labels[format!("gpu.kubenexus.io/gpu{gpu}-numa")] = zone.to_string().into();
            gpu += 1;
        }
    }
    for amounts in ["capacity", "allocatable"] {
        node["status"][amounts][GPU] = gpu.to_string().into();
    }
    node
}

/// The same with a kubelet that gives CPUs of zones to pods, by this policy.
fn with_kubelet(mut node: Value, policy: &str) -> Value {
    node["metadata"]["annotations"][KUBELET] = kubelet_of(policy).into();
    node
}

/// What the agent writes of a kubelet.
fn kubelet_of(policy: &str) -> String {
    let fields = json!({
        "topologyManagerPolicy": policy, "topologyManagerScope": "container",
        "cpuManagerPolicy": "static",
    });
    fields.to_string()
}

/// A pod with CPUs, and GPUs, of its own: requests equal limits.
pub(super) fn exclusive(name: &str, cpus: u32, gib: u32, gpus: u32) -> Value {
    let mut pod = pod(name, &cpus.to_string(), &format!("{gib}Gi"));
    let resources = &mut pod["spec"]["containers"][0]["resources"];
    if gpus > 0 {
        resources["requests"][GPU] = gpus.to_string().into();
    }
    resources["limits"] = resources["requests"].clone();
    pod
}

/// A pod with one more annotation.
pub(super) fn annotated(mut pod: Value, key: &str, value: &str) -> Value {
    pod["metadata"]["annotations"][key] = value.into();
    pod
}

/// A pod that somebody else put on a node, with the zones that it was bound with.
fn placed(pod: Value, node: &str, zones: &str) -> Value {
    let mut pod = annotated(pod, PLACEMENT, zones);
    pod["spec"]["nodeName"] = node.into();
    pod
}

/// Creates a pod.
pub(super) async fn create(world: &World, pod: Value) -> Result<()> {
    world.create_pods([pod].into_iter()).await
}

/// Deletes a pod at once.
pub(super) async fn delete(world: &World, name: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/pods/{name}", world.namespace);
    world.delete_all(&format!("{path}?gracePeriodSeconds=0")).await
}

/// Waits until a pod is on this node, in these zones; none means that none may be written on it.
pub(super) async fn goes_to(
    world: &World,
    name: &str,
    node: &str,
    zones: Option<&str>,
) -> Result<()> {
    let what = format!("{name} to be bound");
    let pod = until(&what, Duration::from_secs(30), || async {
        let pod = world.pod(name).await?;
        let so_far = condition_of(&pod, "PodScheduled").to_string();
        Ok(if node_of(&pod).is_some() { Ok(pod) } else { Err(so_far) })
    })
    .await?;
    let found = (node_of(&pod), zones_of(&pod));
    ensure!(found == (Some(node), zones), "{name} is at {found:?}, not {node} {zones:?}");
    Ok(())
}

/// The zones that are written on a pod.
fn zones_of(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(PLACEMENT).map(String::as_str)
}

/// Waits until a pod is told in its condition just this, `why` being what nodes are counted by.
/// No pod here could be evicted for another.
pub(super) async fn waits(world: &World, name: &str, nodes: usize, why: &str) -> Result<()> {
    let start = format!("0/{nodes} nodes are available: ");
    let expected = format!("{start}{why}. preemption: {start}");
    let pod = world.wait_waiting(name, "Unschedulable", &expected).await?;
    let message = condition_of(&pod, "PodScheduled")["message"].clone();
    let message = message.as_str().unwrap_or_default();
    ensure!(message.starts_with(&expected), "{name} is told {message:?}, not {expected:?}");
    Ok(())
}

/// Waits until an event about an object of the namespace has this reason. All notes of it.
pub(super) async fn notes(world: &World, reason: &str, about: &str) -> Result<Vec<String>> {
    let what = format!("an event {reason} about {about}");
    until(&what, Duration::from_secs(30), || async {
        let events = all_events(world).await?.into_iter();
        let own = events.filter(|event| {
            let is_about = event.regarding.as_ref().and_then(|it| it.name.as_deref());
            event.reason.as_deref() == Some(reason) && is_about == Some(about)
        });
        let notes: Vec<_> = own.filter_map(|event| event.note).collect();
        Ok(if notes.is_empty() { Err("there is none".into()) } else { Ok(notes) })
    })
    .await
}

/// Fails if the scheduler asked for anything about these pods but one binding each.
fn bound_and_no_more(world: &World, names: &[&str]) -> Result<()> {
    for name in names {
        let mut calls = world.plane.audit()?;
        calls.retain(|it| it.namespace == world.namespace && it.name == *name);
        let asked: Vec<_> = calls.iter().map(|it| format!("{} {}", it.verb, it.resource)).collect();
        ensure!(asked == ["create pods/binding"], "{name} needed {asked:?}");
    }
    Ok(())
}

/// An object of `examples`, as kubectl reads it.
async fn example(world: &World, name: &str) -> Result<Value> {
    let file = world.file("examples").join(name).display().to_string();
    let read = ["-n", &world.namespace, "create", "--dry-run=client", "-o", "json", "-f", &file];
    serde_json::from_str(&world.plane.kubectl(&read).await?).context("reading the example")
}
