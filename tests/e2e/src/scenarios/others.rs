//! Pods of others, several profiles, and nominations.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::check::{self, Expected, all_events};
use crate::objects::{self, Election, PACKING, SCHEDULER, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, name_of, node_of};

/// Pods of other schedulers take room on their nodes, and are never touched.
pub(crate) fn other_schedulers(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
        let (mut placed, mut pending) = (pod("placed", "3", "64Mi"), pod("pending", "1", "64Mi"));
        for theirs in [&mut placed, &mut pending] {
            theirs["spec"]["schedulerName"] = "somebody-else".into();
        }
        world.create_pods([placed, pending].into_iter()).await?;
        bind(world, "placed", "node-0").await?;
        world.wait_running(1, 30).await?;
        let before = [world.pod("placed").await?, world.pod("pending").await?];
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        // Two fit on node-1; the third would fit on node-0 if it were free.
        world.create_pods(many(&pod("ours", "2", "64Mi"), 3)).await?;
        let waiting = "0/2 nodes are available: 2 Insufficient cpu";
        let pods = world.wait_bound(3, 30).await?;
        let left = pods.iter().find(|pod| node_of(pod).is_none() && name_of(pod) != "pending");
        let left = left.context("all three pods of ours are bound")?;
        world.wait_waiting(name_of(left), "Unschedulable", waiting).await?;
        let expected = Expected { bound: 2, waiting: 1, ..Expected::default() };
        check::settled(world, &expected).await?;
        for pod in before {
            let after = world.pod(name_of(&pod)).await?;
            let is_same = after.metadata.resource_version == pod.metadata.resource_version;
            ensure!(is_same, "{} of another scheduler was changed", name_of(&pod));
        }
        // A pod of others that goes makes room like any.
        world.plane.kubectl(&["-n", &world.namespace, "delete", "pod", "placed"]).await?;
        world.wait_bound(3, 30).await?;
        check::settled(world, &Expected::bound(3)).await
    })
}

/// Binds a pod as another scheduler would.
pub(crate) async fn bind(world: &World, pod: &str, node: &str) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}/pods/{pod}/binding", world.namespace);
    let binding = json!({
        "metadata": {"name": pod},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    world.plane.create(&path, [binding].into_iter()).await
}

/// Two profiles in one process: each pod is placed and reported under the name it asks for.
pub(crate) fn profiles(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(4, &node("node", "4", "16Gi", 110)).await?;
        let mut start = Start::plain(Election::Quick);
        start.config["profiles"] = json!([
            objects::spreading(),
            {"schedulerName": PACKING, "pluginConfig": [{
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": {"type": "MostAllocated", "resources": [
                    {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}
                ]}},
            }], "plugins": {"multiPoint": {"disabled": [
                {"name": "NodeResourcesBalancedAllocation"}, {"name": "PodTopologySpread"}
            ]}}},
        ]);
        world.run_scheduler(start).await?;
        let mut packed = pod("packed", "500m", "64Mi");
        packed["spec"]["schedulerName"] = PACKING.into();
        // One after the other, so that each sees the one before.
        for pod in many(&packed, 4).chain(many(&pod("spread", "500m", "64Mi"), 3)) {
            let count = world.pods().await?.len() + 1;
            world.create_pods([pod].into_iter()).await?;
            world.wait_bound(count, 30).await?;
        }
        check::settled(world, &Expected::bound(7)).await?;
        let pods = world.pods().await?;
        let nodes = |prefix: &str| {
            let mine = pods.iter().filter(|pod| name_of(pod).starts_with(prefix));
            let nodes: std::collections::BTreeSet<_> = mine.filter_map(node_of).collect();
            nodes.len()
        };
        ensure!(nodes("packed") == 1, "packed pods are on {} nodes", nodes("packed"));
        ensure!(nodes("spread") == 3, "spread pods are on {} nodes", nodes("spread"));
        check_reporters(world).await
    })
}

/// Whoever serves default-scheduler while kube-scheduler does is warned, and names its profiles.
pub(crate) fn beside_default(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        let lease = json!({"metadata": {"name": "kube-scheduler"}, "spec": {
            "holderIdentity": "theirs", "leaseDurationSeconds": 15,
            // Whoever reads it in this century takes it for renewed.
            "renewTime": "2099-01-01T00:00:00.000000Z"}});
        world.plane.create(path, [lease].into_iter()).await?;
        let mut start = Start::plain(Election::Off);
        start.config["profiles"] =
            json!([{"schedulerName": SCHEDULER}, {"schedulerName": "default-scheduler"}]);
        let index = world.run_scheduler(start).await?;
        let log = world.replicas[index].scheduler.log();
        let found = until("the warning in the log", Duration::from_secs(30), || async {
            let text = std::fs::read_to_string(&log)?;
            let has = |word: &str| text.contains(word);
            let is_said = has("default-scheduler is served here") && has("theirs");
            Ok(is_said.then_some(text).ok_or("it is not there".into()))
        });
        let text = found.await?;
        world.delete_all(&format!("{path}/kube-scheduler")).await?;
        let is_named = text.lines().any(|line| {
            line.contains("started") && line.contains("kubenexus-scheduler default-scheduler")
        });
        ensure!(is_named, "the profiles are not named");
        Ok(())
    })
}

async fn check_reporters(world: &World) -> Result<()> {
    for event in all_events(world).await? {
        let pod = event.regarding.as_ref().and_then(|it| it.name.clone()).unwrap_or_default();
        let expected = if pod.starts_with("packed") { PACKING } else { SCHEDULER };
        let controller = event.reporting_controller.unwrap_or_default();
        let instance = event.reporting_instance.unwrap_or_default();
        let is_right = controller == expected && instance.starts_with(&format!("{expected}-"));
        ensure!(is_right, "{pod} is reported by {controller}, {instance}");
    }
    Ok(())
}

/// A pod goes to the node its status names if it fits there, and elsewhere if not. The name is
/// taken back when the pod is bound, and when it fits nowhere.
pub(crate) fn nominated(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(3, &node("node", "4", "16Gi", 110)).await?;
        // The named node is the worst choice: it is the fullest.
        let mut filler = pod("filler", "2", "64Mi");
        filler["spec"]["nodeName"] = "node-1".into();
        world.create_pods([filler].into_iter()).await?;
        world.run_scheduler(Start::plain(Election::Quick).spreading()).await?;
        // One after the other: a nominated pod keeps its room from others.
        let node = nominate(world, "fits", "1").await?;
        ensure!(node.as_deref() == Some("node-1"), "the nominated pod is on {node:?}, not node-1");
        let node = nominate(world, "fits-elsewhere", "3").await?;
        ensure!(node.is_some(), "the pod that is too large for the named node is not bound");
        let node = nominate(world, "fits-nowhere", "5").await?;
        ensure!(node.is_none(), "a pod is on {node:?}, which is too small for it");
        let by_others = ["filler".to_owned()].into();
        let expected = Expected { bound: 3, waiting: 1, by_others, ..Expected::default() };
        check::settled(world, &expected).await
    })
}

/// Makes a pod with `node-1` in its status, and waits until the name is taken back. Where the pod
/// is then.
async fn nominate(world: &World, name: &str, cpu: &str) -> Result<Option<String>> {
    world.create_pods(gated(name, cpu).into_iter()).await?;
    let path = format!("/api/v1/namespaces/{}/pods/{name}", world.namespace);
    let status = json!({"status": {"nominatedNodeName": "node-1"}});
    world.patch(&format!("{path}/status"), &status).await?;
    world.patch(&path, &json!({"spec": {"schedulingGates": null}})).await?;
    let what = format!("{name} to be decided and its nomination to be taken back");
    until(&what, Duration::from_secs(30), || async {
        let pod = world.pod(name).await?;
        let nominated = pod.status.as_ref().and_then(|it| it.nominated_node_name.clone());
        let node = node_of(&pod).map(str::to_owned);
        Ok(if nominated.is_none() { Ok(node) } else { Err(format!("{node:?}, {nominated:?}")) })
    })
    .await
}

fn gated(name: &str, cpu: &str) -> [Value; 1] {
    let mut pod = objects::pod(name, cpu, "64Mi");
    pod["spec"]["schedulingGates"] = json!([{"name": "example.com/gate"}]);
    [pod]
}
