//! Who may have GPUs of which node, worked out from labels of nodes and annotations of pods alone,
//! as `fit` does it for everything that is counted.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::fit::milli;
use crate::world::{name_of, node_of, phase_of};

pub(crate) const MEMORY: &str = "scheduling.kubenexus.io/vram-request";
pub(crate) const FRACTION: &str = "kubenexus.io/gpu-fraction";
pub(crate) const PLACEMENT: &str = "gpu.kubenexus.io/placement";

/// Fails if a pod is where GPUs have less memory than it asks for, or if parts of a GPU are more
/// than the GPU.
pub(crate) fn check_capacity(nodes: &[Node], pods: &[Pod]) -> Result<()> {
    for node in nodes {
        let name = node.metadata.name.as_deref().unwrap_or_default();
        for pod in pods.iter().filter(|pod| node_of(pod) == Some(name)) {
            ensure!(
                has_memory(pod, node)?,
                "the GPUs of {name} are too small for {}",
                name_of(pod)
            );
        }
        for (gpu, hundredths) in parts(name, pods)? {
            ensure!(hundredths <= 100, "{hundredths} hundredths of GPU {gpu} of {name} are given");
        }
    }
    Ok(())
}

/// Whether a node would take a pod, by what the pod says of GPUs, if enough of them were left.
pub(crate) fn is_open(pod: &Pod, node: &Node, pods: &[Pod]) -> Result<bool> {
    // What means nothing keeps a pod off all nodes.
    let Ok(has_memory) = has_memory(pod, node) else { return Ok(false) };
    let Some(asked) = told(pod, FRACTION).map(hundredths).transpose()? else {
        return Ok(has_memory);
    };
    let replicas = number(node, "nvidia.com/gpu.replicas")?.unwrap_or(1);
    let count = number(node, "nvidia.com/gpu.count")?.unwrap_or(0);
    let given = parts(node.metadata.name.as_deref().unwrap_or_default(), pods)?;
    let is_left = |gpu: u64| given.get(&gpu).unwrap_or(&0) + asked <= 100;
    Ok(has_memory && replicas > 1 && (0..count).any(is_left))
}

/// Whether every GPU of a node has as much memory as a pod asks for.
fn has_memory(pod: &Pod, node: &Node) -> Result<bool> {
    let Some(asked) = told(pod, MEMORY) else { return Ok(true) };
    let asked = milli(&Quantity(asked.to_owned()))?;
    let mib = number(node, "nvidia.com/gpu.memory")?.unwrap_or(0);
    Ok(asked <= i128::from(mib) * (1000 << 20))
}

/// What is given of the GPUs of a node, in hundredths of each.
fn parts(node: &str, pods: &[Pod]) -> Result<BTreeMap<u64, u32>> {
    let mut parts = BTreeMap::new();
    let is_there =
        |pod: &&Pod| node_of(pod) == Some(node) && !matches!(phase_of(pod), "Succeeded" | "Failed");
    for pod in pods.iter().filter(is_there) {
        let Some(part) = told(pod, FRACTION) else { continue };
        let gpus = told(pod, PLACEMENT);
        let gpus = gpus.with_context(|| format!("{} is not told its GPU", name_of(pod)))?;
        for gpu in gpus.split(',') {
            let gpu = gpu.parse().with_context(|| format!("GPUs {gpus:?}"))?;
            *parts.entry(gpu).or_default() += hundredths(part)?;
        }
    }
    Ok(parts)
}

/// A part of a GPU, which scenarios write as `0.5` or `0.25`.
fn hundredths(part: &str) -> Result<u32> {
    let digits = part.strip_prefix("0.").with_context(|| format!("fraction {part:?}"))?;
    format!("{digits:0<2}").parse().with_context(|| format!("fraction {part:?}"))
}

fn told<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

fn number(node: &Node, key: &str) -> Result<Option<u64>> {
    let label = node.metadata.labels.as_ref().and_then(|labels| labels.get(key));
    label.map(|label| label.parse().with_context(|| format!("{key} {label:?}"))).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects;

    fn node(labels: serde_json::Value) -> Node {
        let mut node = objects::node("a", "1", "1Gi", 9);
        node["metadata"]["labels"] = labels;
        serde_json::from_value(node).unwrap()
    }

    fn pod(annotations: serde_json::Value, node: Option<&str>) -> Pod {
        let mut pod = objects::pod("p", "1m", "1Mi");
        pod["metadata"]["annotations"] = annotations;
        pod["spec"]["nodeName"] = json!(node);
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_gpu_that_is_too_small_is_found() {
        let nodes = [node(json!({"nvidia.com/gpu.memory": "15360"}))];
        // (asked, whether it fits)
        for (asked, fits) in [("15Gi", true), ("16Gi", false), ("lots", false)] {
            let asked = json!({MEMORY: asked});
            assert_eq!(check_capacity(&nodes, &[pod(asked.clone(), Some("a"))]).is_ok(), fits);
            assert_eq!(is_open(&pod(asked, None), &nodes[0], &[]).unwrap(), fits);
        }
    }

    #[test]
    fn more_parts_than_a_gpu_has_are_found() {
        let part = |part: &str, gpu: &str| pod(json!({FRACTION: part, PLACEMENT: gpu}), Some("a"));
        let nodes = [node(json!({"nvidia.com/gpu.count": "2", "nvidia.com/gpu.replicas": "4"}))];
        let fits = [part("0.6", "0"), part("0.4", "0"), part("0.25", "1")];
        assert!(check_capacity(&nodes, &fits).is_ok());
        assert!(check_capacity(&nodes, &[part("0.6", "0"), part("0.41", "0")]).is_err());
        assert!(check_capacity(&nodes, &[pod(json!({FRACTION: "0.5"}), Some("a"))]).is_err());
        let waiting = |part: &str| pod(json!({FRACTION: part}), None);
        assert!(is_open(&waiting("0.75"), &nodes[0], &fits).unwrap());
        assert!(!is_open(&waiting("0.76"), &nodes[0], &fits).unwrap());
        assert!(
            !is_open(&waiting("0.1"), &node(json!({"nvidia.com/gpu.count": "2"})), &[]).unwrap()
        );
    }
}
