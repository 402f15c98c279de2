//! Pods that want GPUs, as their owners see them: where they go, which GPUs are written on them,
//! and what they are told while they wait.

mod islands;
mod memory;
mod parts;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

pub(crate) use islands::islands;
pub(crate) use memory::{invalid, memory};
pub(crate) use parts::fractions;

use super::numa::{GPU, annotated, create, delete, exclusive, goes_to, notes, waits};
use crate::cards::PLACEMENT;
use crate::objects::node;
use crate::world::World;

/// A node with so many GPUs, and with CPUs and memory in proportion, as GPU feature discovery
/// labels it: their product, and the memory of each in MiB.
pub(super) fn machine(name: &str, gpus: u32, (product, mib): (&str, u32)) -> Value {
    let mut node = offering(name, gpus);
    let labels = &mut node["metadata"]["labels"];
    labels["nvidia.com/gpu.product"] = product.into();
    labels["nvidia.com/gpu.memory"] = mib.to_string().into();
    labels["nvidia.com/gpu.count"] = gpus.to_string().into();
    node
}

/// A node that offers so many GPUs, and says nothing more of them.
fn offering(name: &str, gpus: u32) -> Value {
    let mut node = node(name, &(gpus * 16).to_string(), &format!("{}Gi", gpus * 64), 110);
    for amounts in ["capacity", "allocatable"] {
        node["status"][amounts][GPU] = gpus.to_string().into();
    }
    node
}

/// A pod with so many GPUs, and with a part of what CPUs and memory there are for them.
pub(super) fn asking(name: &str, gpus: u32) -> Value {
    exclusive(name, gpus * 4, gpus * 16, gpus)
}

/// The GPUs that are written on a pod.
async fn gpus_of(world: &World, name: &str) -> Result<String> {
    let pod = world.pod(name).await?;
    let annotations = pod.metadata.annotations.unwrap_or_default();
    let gpus = annotations.get(PLACEMENT).cloned();
    gpus.with_context(|| format!("no GPUs are written on {name}"))
}

/// Judges a pod on the nodes as they are, by `kubenexus verdict`, and gives the codes of its
/// reasons.
pub(super) async fn codes(world: &World, pod: &Value) -> Result<Vec<Value>> {
    let nodes = world.plane.kubectl(&["get", "nodes", "-o", "json"]).await?;
    let nodes: Value = serde_json::from_str(&nodes)?;
    let case = serde_json::json!({
        "config": crate::objects::config(crate::objects::Election::Off),
        "objects": nodes["items"],
        "pod": pod,
    });
    let file = world.plane.folder().join(format!("{}-case.jsonl", world.namespace));
    std::fs::write(&file, format!("{case}\n"))?;
    let output = world.command(&["verdict", &file.display().to_string()]).await?;
    let verdict: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(verdict["error"].is_null(), "{verdict}");
    let answers = verdict["nodes"].as_object().into_iter().flat_map(|nodes| nodes.values());
    let answers = answers.chain([&verdict["prefilter"]]);
    let of = |answer: &Value| answer["reasonCodes"].as_array().cloned().unwrap_or_default();
    Ok(answers.flat_map(of).collect())
}

/// Fails unless a scheduler counted that a pod was told to wait for this reason.
pub(super) async fn counted(world: &World, scheduler: usize, code: &str) -> Result<()> {
    let scheduler = &world.replicas[scheduler].scheduler;
    let token = control_plane::User::Admin.token();
    let text = scheduler.get("/metrics", Some(&token)).await?.body;
    let start = format!("kubenexus_waits_total{{code=\"{code}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start));
    ensure!(line.is_some_and(|count| count != "0"), "{code} was counted {line:?} times");
    Ok(())
}
