//! Who fits where, worked out from the objects alone: slow, simple and independent of the
//! scheduler. It knows what the scenarios use: requests of containers, the number of pods, taints,
//! cordons and node selectors. Pods with an affinity are taken at their word; `zones` looks after
//! those that insist on NUMA zones, and `cards` after those that say something of GPUs.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{Node, Pod, Taint, Toleration};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::cards;
use crate::world::{name_of, node_of, phase_of};
use crate::zones;

/// Thousandths of everything, by the resource's name.
pub(crate) type Amounts = BTreeMap<String, i128>;

/// What a pod requests, and the one place it takes.
pub(crate) fn request_of(pod: &Pod) -> Result<Amounts> {
    let mut sum = Amounts::from([("pods".into(), 1000)]);
    for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
        let requests = container.resources.as_ref().and_then(|all| all.requests.as_ref());
        for (name, quantity) in requests.into_iter().flatten() {
            *sum.entry(name.clone()).or_default() += milli(quantity)?;
        }
    }
    Ok(sum)
}

/// What is left of each node.
pub(crate) fn room(nodes: &[Node], pods: &[Pod]) -> Result<BTreeMap<String, Amounts>> {
    let mut room = BTreeMap::new();
    for node in nodes {
        let name = node.metadata.name.clone().unwrap_or_default();
        let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
        let mut amounts = Amounts::new();
        for (resource, quantity) in allocatable.into_iter().flatten() {
            amounts.insert(resource.clone(), milli(quantity)?);
        }
        room.insert(name, amounts);
    }
    for pod in pods.iter().filter(|pod| !matches!(phase_of(pod), "Succeeded" | "Failed")) {
        let Some(left) = node_of(pod).and_then(|node| room.get_mut(node)) else { continue };
        for (resource, amount) in request_of(pod)? {
            *left.entry(resource).or_default() -= amount;
        }
    }
    Ok(room)
}

/// Fails if a node holds more than it can.
pub(crate) fn check_capacity(nodes: &[Node], pods: &[Pod]) -> Result<()> {
    for (node, left) in room(nodes, pods)? {
        for (resource, amount) in left {
            ensure!(amount >= 0, "node {node} holds {} milli too much {resource}", -amount);
        }
    }
    Ok(())
}

/// Fails if a pod that waits would fit somewhere.
pub(crate) fn check_waiting(waiting: &Pod, nodes: &[Node], pods: &[Pod]) -> Result<()> {
    if zones::is_picky(waiting) {
        return zones::check_waiting(waiting, nodes, pods);
    }
    let room = room(nodes, pods)?;
    let request = request_of(waiting)?;
    for node in nodes.iter().filter(|node| is_open(waiting, node)) {
        let name = node.metadata.name.clone().unwrap_or_default();
        let left = &room[&name];
        let has_room = request.iter().all(|(of, amount)| left.get(of).unwrap_or(&0) >= amount)
            && cards::is_open(waiting, node, pods)?;
        ensure!(!has_room, "pod {} waits though {name} has room: {left:?}", name_of(waiting));
    }
    Ok(())
}

/// Whether a node would take such a pod if it had room.
fn is_open(pod: &Pod, node: &Node) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let node_spec = node.spec.clone().unwrap_or_default();
    let labels = node.metadata.labels.clone().unwrap_or_default();
    let mut selector = spec.node_selector.iter().flatten();
    let tolerations = spec.tolerations.as_deref().unwrap_or_default();
    let keeps_away = |taint: &&Taint| taint.effect != "PreferNoSchedule";
    let mut taints = node_spec.taints.iter().flatten().filter(keeps_away);
    spec.affinity.is_none()
        && !node_spec.unschedulable.unwrap_or(false)
        && selector.all(|(key, value)| labels.get(key) == Some(value))
        && taints.all(|taint| tolerations.iter().any(|toleration| covers(toleration, taint)))
}

fn covers(toleration: &Toleration, taint: &Taint) -> bool {
    let is_same = |mine: &Option<String>, theirs: &str| {
        mine.as_deref().is_none_or(|mine| mine.is_empty() || mine == theirs)
    };
    let value = taint.value.as_deref().unwrap_or_default();
    is_same(&toleration.effect, &taint.effect)
        && is_same(&toleration.key, &taint.key)
        && (toleration.operator.as_deref() == Some("Exists")
            || toleration.value.as_deref().unwrap_or_default() == value)
}

/// Thousandths. Exponents other than the common suffixes are not used in tests.
pub(crate) fn milli(quantity: &Quantity) -> Result<i128> {
    const SUFFIXES: [(&str, i128); 9] = [
        ("Ki", 1000 << 10),
        ("Mi", 1000 << 20),
        ("Gi", 1000 << 30),
        ("Ti", 1000 << 40),
        ("m", 1),
        ("k", 1_000_000),
        ("M", 1_000_000_000),
        ("G", 1_000_000_000_000),
        ("", 1000),
    ];
    let text = quantity.0.as_str();
    let (number, factor) = SUFFIXES
        .iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))
        .context("the empty suffix is always there")?;
    let number: i128 = number.parse().with_context(|| format!("reading quantity {text}"))?;
    Ok(number * factor)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects;

    fn node(name: &str) -> Node {
        serde_json::from_value(objects::node(name, "1", "1Gi", 2)).unwrap()
    }

    fn pod(cpu: &str, node: Option<&str>) -> Pod {
        let mut pod = objects::pod("p", cpu, "64Mi");
        pod["spec"]["nodeName"] = json!(node);
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_node_that_holds_too_much_is_found() {
        let nodes = [node("a"), node("b")];
        let fits = [pod("500m", Some("a")), pod("500m", Some("a")), pod("1", Some("b"))];
        assert!(check_capacity(&nodes, &fits).is_ok());
        let too_much = [pod("500m", Some("a")), pod("501m", Some("a"))];
        let error = check_capacity(&nodes, &too_much).unwrap_err().to_string();
        assert_eq!(error, "node a holds 1 milli too much cpu");
        let too_many = [pod("1m", Some("a")), pod("1m", Some("a")), pod("1m", Some("a"))];
        assert!(check_capacity(&nodes, &too_many).is_err());
    }

    #[test]
    fn a_pod_that_waits_for_nothing_is_found() {
        let full = [pod("600m", Some("a"))];
        assert!(check_waiting(&pod("500m", None), &[node("a")], &full).is_ok());
        assert!(check_waiting(&pod("400m", None), &[node("a")], &full).is_err());
        let mut tainted = node("b");
        tainted.spec.get_or_insert_default().taints =
            Some(vec![Taint { key: "k".into(), effect: "NoSchedule".into(), ..Taint::default() }]);
        assert!(check_waiting(&pod("400m", None), &[tainted.clone()], &full).is_ok());
        let mut tolerant = pod("400m", None);
        let toleration = Toleration { operator: Some("Exists".into()), ..Toleration::default() };
        tolerant.spec.get_or_insert_default().tolerations = Some(vec![toleration]);
        assert!(check_waiting(&tolerant, &[tainted], &full).is_err());
    }
}
