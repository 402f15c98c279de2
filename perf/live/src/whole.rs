//! Nodes and pods that every part of our own profile speaks about: services, pods with GPUs, gangs
//! that had better share a rack, and bare pods, on nodes in zones and racks most of which have GPUs
//! with the labels that NVIDIA's feature discovery writes.

use serde_json::{Value, json};

use crate::objects::{pod, racks};

/// Pods of a gang.
const GANG: usize = 4;
/// After so many pods everything comes again: a gang, then twice what [`KINDS`] lists.
const ROUND: usize = GANG + 2 * KINDS.len();
/// Ten services, five with GPUs, three bare.
const KINDS: [Kind; 18] = {
    use Kind::{Bare, Gpus, Service};
    [
        Service, Gpus, Service, Service, Bare, Service, Gpus, Service, Service, Gpus, Bare,
        Service, Gpus, Service, Service, Bare, Gpus, Service,
    ]
};
/// How many GPUs pods ask for, in turns.
const GPUS: [usize; 10] = [1, 1, 2, 1, 1, 4, 1, 1, 1, 8];
/// Services, each of one ReplicaSet.
const SERVICES: usize = 10;
/// What pools have: the product, its family, its memory in MiB. One has no GPUs.
const PRODUCTS: [Option<(&str, &str, u32)>; 5] = [
    Some(("NVIDIA-H100-80GB-HBM3", "hopper", 81_559)),
    Some(("NVIDIA-A100-SXM4-80GB", "ampere", 81_920)),
    None,
    Some(("NVIDIA-A100-SXM4-80GB", "ampere", 81_920)),
    Some(("NVIDIA-L40S", "ada-lovelace", 46_068)),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Service,
    Gpus,
    Bare,
}

/// The nodes of a pool, which may have GPUs, in racks.
pub(crate) fn nodes(pool: usize, count: usize, node: &Value) -> Vec<(usize, Value)> {
    let mut node = node.clone();
    if let Some((product, family, memory)) = PRODUCTS[pool % PRODUCTS.len()] {
        let labels = &mut node["metadata"]["labels"];
        for (key, value) in [
            ("product", product),
            ("family", family),
            ("memory", &memory.to_string()),
            ("count", "8"),
            ("present", "true"),
            ("replicas", "1"),
            ("sharing-strategy", "none"),
            ("machine", "bench"),
        ] {
            labels[format!("nvidia.com/gpu.{key}")] = json!(value);
        }
        labels["nvidia.com/mig.capable"] = json!("false");
        for room in ["capacity", "allocatable"] {
            node["status"][room]["nvidia.com/gpu"] = json!("8");
        }
    }
    racks(count, &node).collect()
}

/// How many pods, from a position on, are created together: those of a gang.
pub(crate) fn unit(at: usize) -> usize {
    if at % ROUND < GANG { GANG - at % ROUND } else { 1 }
}

/// The pod at a position.
pub(crate) fn at(at: usize) -> Value {
    let (round, place) = (at / ROUND, at % ROUND);
    let Some(place) = place.checked_sub(GANG) else { return member(at, round) };
    let nth = 2 * round + place / KINDS.len();
    match KINDS[place % KINDS.len()] {
        Kind::Service => service(at, at % SERVICES),
        Kind::Gpus => {
            let before = KINDS[..place % KINDS.len()].iter();
            let number = 5 * nth + before.filter(|kind| **kind == Kind::Gpus).count();
            with_gpus(at, GPUS[number % GPUS.len()])
        }
        Kind::Bare => pod(at, json!({"app": "bench"}), [100, 128], json!({})),
    }
}

fn member(at: usize, gang: usize) -> Value {
    let labels = json!({
        "pod-group.scheduling.kubenexus.io/name": format!("gang-{gang}"),
        "pod-group.scheduling.kubenexus.io/min-available": GANG.to_string(),
    });
    let mut pod = pod(at, labels, [500, 512], json!({}));
    pod["metadata"]["annotations"] = json!({
        "scheduling.kubenexus.io/co-locate": "preferred",
        "scheduling.kubenexus.io/topology-level": "rack",
    });
    pod
}

fn service(at: usize, service: usize) -> Value {
    let name = format!("service-{service}");
    let mut pod = pod(at, json!({"app": name}), [100, 128], json!({}));
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name,
        "controller": true,
    }]);
    pod
}

fn with_gpus(at: usize, gpus: usize) -> Value {
    let mut pod = pod(at, json!({"app": "bench"}), [1_000 * gpus, 2_048 * gpus], json!({}));
    let resources = &mut pod["spec"]["containers"][0]["resources"];
    resources["requests"]["nvidia.com/gpu"] = json!(gpus.to_string());
    resources["limits"] = json!({"nvidia.com/gpu": gpus.to_string()});
    pod
}

/// The objects of services, each with where it belongs in a namespace.
pub(crate) fn services(namespace: &str) -> impl Iterator<Item = (String, Value)> {
    (0..SERVICES).flat_map(move |service| {
        let name = format!("service-{service}");
        let labels = json!({"app": name});
        let of_pods = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
            "spec": {"selector": labels, "ports": [{"port": 80}]},
        });
        // Nobody is there to make its pods.
        let replicas = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "main", "image": "pause"}]},
                },
            },
        });
        [
            (format!("/api/v1/namespaces/{namespace}/services"), of_pods),
            (format!("/apis/apps/v1/namespaces/{namespace}/replicasets"), replicas),
        ]
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::objects::{ZONE, pools};

    /// How many of so many pods are of which kind, and how many GPUs they ask for.
    fn counted(pods: usize) -> (BTreeMap<&'static str, usize>, u64) {
        let (mut kinds, mut gpus) = (BTreeMap::new(), 0);
        for pod in (0..pods).map(at) {
            let asked = &pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"];
            let asked: Option<u64> = asked.as_str().map(|text| text.parse().unwrap());
            gpus += asked.unwrap_or(0);
            let kind = match (asked.is_some(), pod["metadata"]["ownerReferences"].is_array()) {
                (true, _) => "gpus",
                (false, true) => "service",
                _ if pod["metadata"]["annotations"].is_object() => "gang",
                _ => "bare",
            };
            *kinds.entry(kind).or_default() += 1;
        }
        (kinds, gpus)
    }

    #[test]
    fn half_are_of_services_a_quarter_have_gpus_a_tenth_is_in_gangs() {
        let (kinds, gpus) = counted(10_000);
        let expected = [("bare", 1_500), ("gang", 1_000), ("gpus", 2_500), ("service", 5_000)];
        assert_eq!(kinds, expected.into());
        let has_gpus = |product: &&Option<_>| product.is_some();
        let offered = PRODUCTS.iter().filter(has_gpus).count() as u64 * 200 * 8;
        assert!(gpus * 10 < offered * 9, "{gpus} of {offered}");
    }

    #[test]
    fn the_pods_of_a_gang_come_one_after_the_other() {
        assert_eq!((0..6).map(unit).collect::<Vec<_>>(), [4, 3, 2, 1, 1, 1]);
        let name = |pod: usize| {
            at(pod)["metadata"]["labels"]["pod-group.scheduling.kubenexus.io/name"].clone()
        };
        assert_eq!([name(40), name(43)], [json!("gang-1"), json!("gang-1")]);
        assert_eq!(name(44), Value::Null);
    }

    #[test]
    fn nodes_have_zones_racks_and_mostly_gpus() {
        for (at, (count, node)) in pools(1_000).enumerate() {
            let racks = nodes(at, count, &node);
            assert_eq!(racks.iter().map(|(count, _)| count).sum::<usize>(), 200);
            let offer = &racks[0].1["status"]["allocatable"]["nvidia.com/gpu"];
            assert_eq!(offer.is_string(), PRODUCTS[at].is_some());
            assert!(racks[0].1["metadata"]["labels"][ZONE].is_string());
        }
    }
}
