//! Tiers: what an administrator says counts, and what means nothing is told.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::check::{self, Expected, all_events};
use crate::objects::{Election, config, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, node_of};

/// LocalQueue and ClusterQueue of Kueue, as far as they are read.
const CRDS: &str = include_str!("tiers/queue-crds.yaml");

/// A word that is no tier: the pods are placed as bronze, and one event says so.
pub(crate) fn unknown(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &node("node", "4", "16Gi", 110)).await?;
        let labels = json!({"metadata": {"labels": {"tenant.kubenexus.io/tier": "platinum"}}});
        world.patch(&format!("/api/v1/namespaces/{}", world.namespace), &labels).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.create_pods(many(&pod("web", "1", "64Mi"), 2)).await?;
        world.wait_bound(2, 30).await?;
        check::settled(world, &Expected::bound(2)).await?;
        let why = "label tenant.kubenexus.io/tier of the namespace is \"platinum\", expected gold, \
                   silver or bronze, so the lowest";
        until("an event about the tier", Duration::from_secs(30), || async {
            let events = all_events(world).await?.into_iter();
            let own = events.filter(|event| event.reason.as_deref() == Some("TierUnknown"));
            let notes: Vec<_> =
                own.map(|event| (event.type_.unwrap_or_default(), event.note)).collect();
            let expected = ("Warning".into(), Some(format!("tier bronze: {why}")));
            Ok((notes == [expected]).then_some(()).ok_or(format!("{notes:?}")))
        })
        .await?;
        let own = format!("/api/v1/namespaces/{}", world.namespace);
        let pod = format!("{own}/pods/web-0");
        let profile = profile_of(world, &config(Election::Off), &pod, &[&own]).await?;
        let expected = json!({"value": "bronze", "source": why});
        ensure!(profile["tier"] == expected, "by the verdict: {profile}");
        Ok(())
    })
}

/// A namespace whose LocalQueue leads to the queue of a gold tenant goes before an older pod that
/// names that queue as well, and whose namespace has such a LocalQueue too that the ClusterQueue is
/// not for; when the first LocalQueue is gone, the older pod goes first.
pub(crate) fn queue(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let file = world.plane.folder().join("queue-crds.yaml");
        fs::write(&file, CRDS)?;
        world.plane.kubectl(&["apply", "-f", &file.display().to_string()]).await?;
        for crd in ["crd/localqueues.kueue.x-k8s.io", "crd/clusterqueues.kueue.x-k8s.io"] {
            world.plane.kubectl(&["wait", "--for=condition=Established", crd]).await?;
        }
        world.create_nodes(1, &node("node", "1", "16Gi", 110)).await?;
        let mut older = pod("older", "1", "64Mi");
        older["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "main"});
        world.create_pods([older].into_iter()).await?;
        let other = format!("{}-lab", world.namespace);
        let namespace = json!({"metadata": {"name": other}});
        world.plane.create("/api/v1/namespaces", [namespace].into_iter()).await?;
        world.plane.wait_for_service_account(&other).await?;
        let queues = format!("/apis/kueue.x-k8s.io/v1beta2/namespaces/{other}/localqueues");
        let queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": "main"},
            "spec": {"clusterQueue": "gpu"},
        });
        world.plane.create(&queues, [queue.clone()].into_iter()).await?;
        let own =
            format!("/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/localqueues", world.namespace);
        world.plane.create(&own, [queue].into_iter()).await?;
        let all = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";
        let named = json!({"matchLabels": {"kubernetes.io/metadata.name": other}});
        let cluster_queue = json!({
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": "gpu"},
            "spec": {"namespaceSelector": named},
        });
        world.plane.create(all, [cluster_queue].into_iter()).await?;
        // Ages are in seconds.
        sleep(Duration::from_millis(1_100)).await;
        let pods = format!("/api/v1/namespaces/{other}/pods");
        world.plane.create(&pods, [pod("first", "1", "64Mi")].into_iter()).await?;
        let mut start = Start::plain(Election::Quick);
        let tenants = json!([{"name": "research", "clusterQueues": ["gpu"], "tier": "gold"}]);
        let args = json!({"name": "ProfileClassifier", "args": {"tenants": tenants}});
        start.config["profiles"][0]["pluginConfig"] = json!([args]);
        let config = start.config.clone();
        world.run_scheduler(start).await?;
        world.wait_waiting("older", "Unschedulable", "Insufficient cpu").await?;
        let (first, own) = (format!("{pods}/first"), format!("/api/v1/namespaces/{other}"));
        let placed = get(world, &first).await?;
        ensure!(placed["spec"]["nodeName"] == "node-0", "the pod of the gold tenant is not bound");
        let objects = [&*own, &format!("{queues}/main"), &format!("{all}/gpu")];
        let profile = profile_of(world, &config, &first, &objects).await?;
        let source = profile["tenant"]["source"].as_str().unwrap_or_default();
        let is_known = source.starts_with("tenant \"research\"") && source.contains("\"gpu\"");
        ensure!(is_known && profile["tier"]["value"] == "gold", "by the verdict: {profile}");
        world.delete_all(&format!("{queues}/main")).await?;
        world.plane.create(&pods, [pod("second", "1", "64Mi")].into_iter()).await?;
        // Longer than the watch takes to tell, and than pods wait before they are tried again.
        sleep(Duration::from_secs(4)).await;
        world.delete_all(&first).await?;
        world.wait_bound(1, 30).await?;
        let older = world.pod("older").await?;
        ensure!(node_of(&older).is_some(), "the older pod is not bound");
        world.delete_all(&format!("{pods}?gracePeriodSeconds=0")).await
    })
}

async fn get(world: &World, path: &str) -> Result<Value> {
    Ok(serde_json::from_str(&world.plane.kubectl(&["get", "--raw", path]).await?)?)
}

/// What a pod is, by `kubenexus verdict --profile` on objects that the API has.
async fn profile_of(world: &World, config: &Value, pod: &str, objects: &[&str]) -> Result<Value> {
    let mut found = Vec::new();
    for path in objects {
        found.push(get(world, path).await?);
    }
    let mut pod = get(world, pod).await?;
    pod["spec"].as_object_mut().context("a pod has a spec")?.remove("nodeName");
    let case = json!({"config": config, "objects": found, "pod": pod});
    let file = world.plane.folder().join("tier.jsonl");
    fs::write(&file, case.to_string())?;
    let output = world.command(&["verdict", "--profile", &file.display().to_string()]).await?;
    let verdict: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(verdict["error"].is_null(), "{verdict}");
    Ok(verdict["profile"].clone())
}
