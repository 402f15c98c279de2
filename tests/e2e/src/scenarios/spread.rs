//! Services over zones, and beside other work, with nothing configured.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::gpus::{asking, machine};
use crate::check::{self, Expected};
use crate::objects::{Election, many, node, pod};
use crate::suite::Run;
use crate::world::{Start, World, name_of, node_of};

const ZONE: &str = "topology.kubernetes.io/zone";

/// Three zones of one, two and six nodes: a Deployment of nine has three pods in each, and inside a
/// zone hosts are even. With two more, no zone has two pods more than another.
pub(crate) fn zones(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (zone, count) in [("a", 1), ("b", 2), ("c", 6)] {
            world.create_nodes(count, &in_zone(node(zone, "16", "64Gi", 110), zone)).await?;
        }
        world.run_scheduler(Start::plain(Election::Off)).await?;
        deploy(world, "web", 9, "500m").await?;
        let pods = world.wait_bound(9, 30).await?;
        let by_zone = counts(&pods, |node| &node[..1]);
        ensure!(by_zone.values().all(|count| *count == 3), "{by_zone:?}");
        let by_node = counts(&pods, |node| node);
        let is_even = by_node.iter().all(|(node, count)| match &node[..1] {
            "a" => *count == 3,
            "b" => *count <= 2,
            _ => *count == 1,
        });
        ensure!(is_even && by_node.len() == 6, "{by_node:?}");

        let path = format!("/apis/apps/v1/namespaces/{}/deployments/web/scale", world.namespace);
        world.patch(&path, &json!({"spec": {"replicas": 11}})).await?;
        let pods = world.wait_bound(11, 30).await?;
        let by_zone = counts(&pods, |node| &node[..1]);
        ensure!(by_zone.values().all(|count| [3, 4].contains(count)), "{by_zone:?}");
        check::settled(world, &Expected::bound(11)).await
    })
}

/// Training, batch and a service arrive at once: training takes GPUs of one machine and leaves the
/// islands of the others whole, batch fills one machine without GPUs, and the service is in all
/// zones, on machines without GPUs.
pub(crate) fn mixed(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for zone in ["a", "b", "c"] {
            let plain = node(&format!("{zone}-plain"), "16", "64Gi", 110);
            world.create_nodes(2, &in_zone(plain, zone)).await?;
            let mut gpus = machine(&format!("{zone}-gpus"), 8, ("NVIDIA-H100-80GB-HBM3", 81559));
            gpus["metadata"]["labels"]["nvidia.com/gpu.topology"] = "nvswitch".into();
            world.create_nodes(1, &in_zone(gpus, zone)).await?;
        }
        world.run_scheduler(Start::plain(Election::Off)).await?;
        deploy(world, "web", 6, "100m").await?;
        let labelled = |mut pod: Value, label: &str| {
            pod["metadata"]["labels"] = json!({label: "run"});
            pod
        };
        let training = labelled(asking("training", 2), "training.kubeflow.org/job-name");
        let batch = labelled(pod("batch", "2", "2Gi"), "pytorch-job-name");
        world.create_pods(many(&training, 4).chain(many(&batch, 6))).await?;
        let pods = world.wait_bound(16, 30).await?;
        let of = |name: &str| {
            let own = pods.iter().filter(|pod| name_of(pod).starts_with(name)).cloned();
            own.collect::<Vec<Pod>>()
        };
        let training = counts(&of("training"), |node| node);
        let is_packed = training.len() == 1 && training.keys().all(|node| node.contains("gpus"));
        ensure!(is_packed, "training is on {training:?}");
        let batch = counts(&of("batch"), |node| node);
        let is_packed = batch.len() == 1 && batch.keys().all(|node| node.contains("plain"));
        ensure!(is_packed, "batch is on {batch:?}");
        let service = of("web");
        let by_zone = counts(&service, |node| &node[..1]);
        ensure!(by_zone.values().all(|count| *count == 2), "the service is in {by_zone:?}");
        let nodes: BTreeSet<String> = counts(&service, |node| node).into_keys().collect();
        let is_plain = nodes.iter().all(|node| node.contains("plain"));
        ensure!(is_plain && nodes.len() == 6, "the service is on {nodes:?}");
        check::settled(world, &Expected::bound(16)).await
    })
}

fn in_zone(mut node: Value, zone: &str) -> Value {
    node["metadata"]["labels"][ZONE] = zone.into();
    node
}

/// How many pods there are by a part of the name of their node.
fn counts(pods: &[Pod], part: fn(&str) -> &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for node in pods.iter().filter_map(node_of) {
        *counts.entry(part(node).to_owned()).or_default() += 1;
    }
    counts
}

/// A Deployment as anybody writes it.
async fn deploy(world: &World, name: &str, replicas: u32, cpu: &str) -> Result<()> {
    let deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": pod(name, cpu, "1Gi")["spec"],
            },
        },
    });
    let path = format!("/apis/apps/v1/namespaces/{}/deployments", world.namespace);
    world.plane.create(&path, [deployment].into_iter()).await
}
