//! Who fits which NUMA zone, worked out from labels of nodes and annotations of pods alone, as
//! `fit` does it for nodes. Kubelets that are told of decide themselves who fits, and GPUs count
//! only where labels say in which zone they are.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod};

use crate::fit::{Amounts, request_of};
use crate::world::{name_of, node_of, phase_of};

pub(crate) const POLICY: &str = "numa.scheduling.kubenexus.io/policy";
pub(crate) const PLACEMENT: &str = "numa.kubenexus.io/placement";
pub(crate) const KUBELET: &str = "numa.kubenexus.io/kubelet";
const GPU: &str = "nvidia.com/gpu";

/// Fails if zones hold more than they have: for every set of zones, what the pods ask for that can
/// have nothing outside of it.
pub(crate) fn check_capacity(nodes: &[Node], pods: &[Pod]) -> Result<()> {
    for node in nodes {
        let zones = zones_of(node)?;
        let name = node.metadata.name.as_deref().unwrap_or_default();
        for set in 1..1_u64 << zones.len() {
            for (resource, amount) in left(&zones, set, name, pods)? {
                let what = format!("zones {set:#b} of {name} hold");
                ensure!(amount >= 0, "{what} {} milli too much {resource}", -amount);
            }
        }
    }
    Ok(())
}

/// Whether a pod insists on zones, so that room on a node is not enough for it.
pub(crate) fn is_picky(pod: &Pod) -> bool {
    policy_of(pod).is_some_and(|policy| policy != "none" && policy != "best-effort")
}

/// Fails if a pod that wants one zone waits though one has room, on a node whose kubelet could not
/// have another opinion.
pub(crate) fn check_waiting(waiting: &Pod, nodes: &[Node], pods: &[Pod]) -> Result<()> {
    if policy_of(waiting) != Some("single-numa") {
        return Ok(());
    }
    let request = request_of(waiting)?;
    let has_kubelet = |node: &Node| {
        let annotations = node.metadata.annotations.as_ref();
        annotations.is_some_and(|annotations| annotations.contains_key(KUBELET))
    };
    for node in nodes.iter().filter(|node| !has_kubelet(node)) {
        let zones = zones_of(node)?;
        let name = node.metadata.name.as_deref().unwrap_or_default();
        for zone in 0..zones.len() {
            let left = left(&zones, 1 << zone, name, pods)?;
            let has_room = left.iter().all(|(of, left)| request.get(of).unwrap_or(&0) <= left);
            let is_aligned = left.contains_key(GPU) || !request.contains_key(GPU);
            let waits = name_of(waiting);
            ensure!(!(has_room && is_aligned), "pod {waits} waits though zone {zone} has room");
        }
    }
    Ok(())
}

fn policy_of(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(POLICY).map(String::as_str)
}

/// What is left of a set of zones for pods that can have nothing outside of it.
fn left(zones: &[Amounts], set: u64, node: &str, pods: &[Pod]) -> Result<Amounts> {
    let own = zones.iter().enumerate().filter(|(zone, _)| set >> zone & 1 == 1);
    let mut left = Amounts::new();
    for (resource, amount) in own.flat_map(|(_, amounts)| amounts) {
        *left.entry(resource.clone()).or_default() += amount;
    }
    let is_there =
        |pod: &&Pod| node_of(pod) == Some(node) && !matches!(phase_of(pod), "Succeeded" | "Failed");
    for pod in pods.iter().filter(is_there) {
        let annotations = pod.metadata.annotations.as_ref();
        let Some(told) = annotations.and_then(|annotations| annotations.get(PLACEMENT)) else {
            continue;
        };
        let mut own = 0_u64;
        for zone in told.split(',') {
            own |= 1 << zone.parse::<u32>().with_context(|| format!("zones {told:?}"))?;
        }
        if own & !set != 0 {
            continue;
        }
        for (resource, amount) in request_of(pod)? {
            left.entry(resource).and_modify(|left| *left -= amount);
        }
    }
    Ok(left)
}

/// What the zones of a node have by its labels; nothing if it has none.
fn zones_of(node: &Node) -> Result<Vec<Amounts>> {
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let count = labels.get("numa.kubenexus.io/node-count").map_or("0", String::as_str);
    let mut zones = Vec::new();
    for zone in 0..count.parse().with_context(|| format!("{count} zones"))? {
        zones.push(zone_of(&labels, zone).with_context(|| format!("zone {zone}"))?);
    }
    Ok(zones)
}

fn zone_of(labels: &BTreeMap<String, String>, zone: u32) -> Result<Amounts> {
    let told = |fact: &str| {
        let key = format!("numa.kubenexus.io/node-{zone}-{fact}");
        labels.get(&key).with_context(|| format!("{key} is missing"))
    };
    let (first, last) = told("cpus")?.split_once('-').context("a range of CPUs")?;
    let cpus = last.parse::<i128>()? + 1 - first.parse::<i128>()?;
    let bytes: i128 = told("memory")?.parse()?;
    let mut amounts = Amounts::from([("cpu".into(), cpus * 1_000)]);
    amounts.insert("memory".into(), bytes * 1_000);
    let is_gpu = |key: &&String| key.starts_with("gpu.kubenexus.io/gpu") && key.ends_with("-numa");
    if labels.keys().any(|key| is_gpu(&key)) {
        let own = labels.iter().filter(|(key, at)| is_gpu(key) && **at == zone.to_string());
        amounts.insert(GPU.into(), own.count() as i128 * 1_000);
    }
    Ok(amounts)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::objects;

    /// Two zones of two CPUs and one GiB each, the first with a GPU.
    fn node() -> Node {
        let mut node = objects::node("a", "4", "2Gi", 9);
        node["metadata"]["labels"] = json!({
            "numa.kubenexus.io/node-count": "2",
            "numa.kubenexus.io/node-0-cpus": "0-1", "numa.kubenexus.io/node-1-cpus": "2-3",
            "numa.kubenexus.io/node-0-memory": "1073741824",
            "numa.kubenexus.io/node-1-memory": "1073741824",
            "gpu.kubenexus.io/gpu0-numa": "0",
        });
        serde_json::from_value(node).unwrap()
    }

    fn pod(cpu: &str, gpus: Option<&str>, annotations: &Value, is_bound: bool) -> Pod {
        let mut pod = objects::pod("p", cpu, "64Mi");
        pod["metadata"]["annotations"] = annotations.clone();
        pod["spec"]["nodeName"] = json!(is_bound.then_some("a"));
        if let Some(gpus) = gpus {
            pod["spec"]["containers"][0]["resources"]["requests"][GPU] = gpus.into();
        }
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_zone_that_holds_too_much_is_found() {
        let at = |cpu, zones: &str| pod(cpu, None, &json!({PLACEMENT: zones}), true);
        let check = |pods: &[Pod]| check_capacity(&[node()], pods);
        assert!(check(&[at("2", "0"), at("2", "1")]).is_ok());
        assert!(check(&[at("3", "0,1"), at("1", "0")]).is_ok());
        let error = check(&[at("2", "0"), at("1", "0")]).unwrap_err().to_string();
        assert_eq!(error, "zones 0b1 of a hold 1000 milli too much cpu");
        let error = check(&[at("3", "0,1"), at("2", "0")]).unwrap_err().to_string();
        assert_eq!(error, "zones 0b11 of a hold 1000 milli too much cpu");
        let device = pod("1", Some("1"), &json!({PLACEMENT: "1"}), true);
        assert!(check(&[device]).is_err());
    }

    #[test]
    fn a_pod_that_waits_beside_a_free_zone_is_found() {
        let asks = |cpu, gpus| pod(cpu, gpus, &json!({POLICY: "single-numa"}), false);
        let full = pod("2", None, &json!({PLACEMENT: "0"}), true);
        let check = |waits: &Pod| check_waiting(waits, &[node()], std::slice::from_ref(&full));
        assert!(check(&asks("2", None)).is_err());
        assert!(check(&asks("3", None)).is_ok());
        // The GPU is in the zone that is full.
        assert!(check(&asks("1", Some("1"))).is_ok());
        let mut told = node();
        told.metadata.annotations = Some([(KUBELET.into(), "{}".into())].into());
        assert!(check_waiting(&asks("2", None), &[told], &[]).is_ok());
    }
}
