//! Pods that cannot run yet: what they are told, and what cures them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use control_plane::Fault;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::binds::{arrived, bound_through, holds};
use crate::check::{self, Expected, all_events};
use crate::objects::{Election, SCHEDULER, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, condition_of, name_of, node_of};

/// A pod that fits nowhere is told so in the words of kube-scheduler, which gets the same pods on
/// the same nodes.
pub(crate) fn fits_nowhere(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        make_hard_nodes(world).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.run_kube_scheduler().await?;
        world.apply_example("fits-nowhere.yaml").await?;
        let ours = world.pods().await?;
        ensure!(!ours.is_empty(), "examples/fits-nowhere.yaml has no pod");
        let mut names: Vec<_> = ours.iter().map(|pod| name_of(pod).to_owned()).collect();
        world.create_pods(impossible().into_iter()).await?;
        names.extend(impossible().iter().map(|pod| text(&pod["metadata"]["name"])));
        for name in &names {
            let twin = twin_of(&world.pod(name).await?);
            world.create_pods([twin].into_iter()).await?;
        }
        for name in &names {
            compare(world, name).await?;
        }
        let expected = Expected { waiting: names.len(), ..Expected::default() };
        check::settled(world, &expected).await
    })
}

/// Pods that evict two others each, which leave one after the other, while changes of statuses
/// arrive late: in the end every status says that its pod is bound.
pub(crate) fn told_late(world: &mut World) -> Run<'_> {
    const NODES: usize = 8;
    Box::pin(async move {
        world.create_nodes(NODES, &node("node", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        world.create_pods(many(&pod("low", "500m", "64Mi"), 2 * NODES)).await?;
        world.wait_bound(2 * NODES, 30).await?;
        proxy.delay_statuses(Duration::from_millis(300));
        let mut high = pod("high", "1", "64Mi");
        high["spec"]["priorityClassName"] = "system-cluster-critical".into();
        world.create_pods(many(&high, NODES)).await?;
        let is_high = |pod: &&Pod| name_of(pod).starts_with("high");
        until("pods that evict others to be bound", Duration::from_secs(60), || async {
            let pods = world.pods().await?;
            let bound = pods.iter().filter(is_high).filter(|pod| node_of(pod).is_some()).count();
            Ok((bound == NODES).then_some(()).ok_or(format!("{bound} are")))
        })
        .await?;
        // Whatever was on its way has arrived by then.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let deleted = (0..2 * NODES).map(|number| format!("low-{number}")).collect();
        check::settled(world, &Expected { deleted, ..Expected::bound(NODES) }).await
    })
}

/// Nodes that say no for different reasons.
async fn make_hard_nodes(world: &World) -> Result<()> {
    world.create_nodes(3, &node("node", "4", "16Gi", 110)).await?;
    let mut cordoned = node("cordoned", "4", "16Gi", 110);
    cordoned["spec"]["unschedulable"] = true.into();
    world.plane.create_nodes(1, &cordoned).await?;
    let mut tainted = node("tainted", "4", "16Gi", 110);
    tainted["spec"]["taints"] =
        json!([{"key": "example.com/pool", "value": "batch", "effect": "NoSchedule"}]);
    world.create_nodes(2, &tainted).await?;
    until("the cordon to be a taint", Duration::from_secs(30), || async {
        let nodes = world.nodes().await?;
        let taints = nodes.iter().filter_map(|node| node.spec.as_ref()?.taints.as_ref());
        let keys: Vec<_> = taints.flatten().map(|taint| taint.key.clone()).collect();
        let is_there = keys.iter().any(|key| key == "node.kubernetes.io/unschedulable");
        Ok(is_there.then_some(()).ok_or(format!("{keys:?}")))
    })
    .await
}

/// Pods that fit nowhere for one reason each.
fn impossible() -> [Value; 4] {
    let mut unmatched = pod("selects-nothing", "100m", "64Mi");
    unmatched["spec"]["nodeSelector"] = json!({"example.com/disk": "floppy"});
    let mut far = pod("wants-a-node-that-is-not-there", "100m", "64Mi");
    far["spec"]["affinity"] = json!({"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["nowhere"]}]}
        ]}
    }});
    let mut device = pod("wants-a-device", "100m", "64Mi");
    let devices = json!({"cpu": "100m", "memory": "64Mi", "example.com/device": "1"});
    device["spec"]["containers"][0]["resources"] = json!({"requests": devices, "limits": devices});
    [unmatched, far, device, pod("is-too-large", "5", "20Gi")]
}

/// The same pod under kube-scheduler's name.
fn twin_of(pod: &Pod) -> Value {
    let mut spec = json!(pod.spec);
    spec["schedulerName"] = "default-scheduler".into();
    json!({
        "metadata": {"name": format!("{}-twin", name_of(pod)), "labels": pod.metadata.labels},
        "spec": spec,
    })
}

async fn compare(world: &World, name: &str) -> Result<()> {
    let theirs = told(world, &format!("{name}-twin"), "default-scheduler").await?;
    let ours = told(world, name, SCHEDULER).await?;
    ensure!(ours == theirs, "{name} is told\n  {ours}\n  and by kube-scheduler\n  {theirs}");
    Ok(())
}

/// Whether the status of a pod names a scheduler as the one who wrote to it.
fn wrote_status(pod: &Pod, by: &str) -> bool {
    let by = if by == SCHEDULER { SCHEDULER } else { "kube-scheduler" };
    let managers = pod.metadata.managed_fields.iter().flatten();
    let mut of_status = managers.filter(|it| it.subresource.as_deref() == Some("status"));
    of_status.any(|it| it.manager.as_deref() == Some(by))
}

/// What a pod is told by its scheduler in its condition and its event, without names and times.
async fn told(world: &World, name: &str, by: &str) -> Result<Value> {
    let pod = world.wait_waiting(name, "Unschedulable", "").await?;
    let what = format!("the FailedScheduling event of {name}");
    let event = until(&what, Duration::from_secs(60), || async {
        let events = all_events(world).await?;
        let is_meant = |name: &Option<String>| name.as_deref() == Some(name_of(&pod));
        let found = events.into_iter().find(|event| {
            event.regarding.as_ref().is_some_and(|it| is_meant(&it.name))
                && event.reason.as_deref() == Some("FailedScheduling")
        });
        Ok(found.ok_or("it is not there".into()))
    })
    .await?;
    let mut condition = condition_of(&pod, "PodScheduled");
    for time in ["lastTransitionTime", "lastProbeTime"] {
        condition.as_object_mut().context("a condition is an object")?.remove(time);
    }
    let instance = event.reporting_instance.unwrap_or_default();
    let regarding = event.regarding.unwrap_or_default();
    Ok(json!({
        "condition": condition,
        "phase": pod.status.as_ref().and_then(|status| status.phase.as_ref()),
        "type": event.type_, "action": event.action, "note": event.note,
        "is by itself": event.reporting_controller.as_deref() == Some(by),
        "instance": instance.strip_prefix(by),
        "kind": regarding.kind, "version": regarding.api_version,
        "names a version of the pod": regarding.resource_version.is_some(),
        "manager is by name": wrote_status(&pod, by),
    }))
}

/// Gated pods are left alone until their gate is removed.
pub(crate) fn gated(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.apply_example("gated.yaml").await?;
        let gated = world.pods().await?;
        ensure!(!gated.is_empty(), "examples/gated.yaml has no pod");
        // The scheduler has seen the gated pods when it has bound one that came later.
        world.create_pods([pod("later", "100m", "64Mi")].into_iter()).await?;
        world.wait_bound(1, 30).await?;
        for before in &gated {
            let after = world.pod(name_of(before)).await?;
            let condition = condition_of(&after, "PodScheduled");
            ensure!(
                condition["reason"] == "SchedulingGated",
                "{} has {condition}",
                name_of(before)
            );
            let is_untouched = after.metadata.resource_version == before.metadata.resource_version;
            ensure!(is_untouched, "gated pod {} was changed: {}", name_of(before), json!(after));
        }
        // An event is written after its binding; that of the later pod is the only one.
        until("the event of the bound pod", Duration::from_secs(30), || async {
            let notes: Vec<_> = all_events(world).await?.into_iter().map(|one| one.note).collect();
            Ok((notes.len() == 1).then_some(()).ok_or(format!("{notes:?}")))
        })
        .await?;
        for pod in &gated {
            let patch = json!({"spec": {"schedulingGates": null}});
            let arguments = ["-n", &world.namespace, "patch", "pod", name_of(pod), "-p"];
            world.plane.kubectl(&[arguments.as_slice(), &[&patch.to_string()]].concat()).await?;
        }
        world.wait_running(gated.len() + 1, 30).await?;
        check::settled(world, &Expected::bound(gated.len() + 1)).await
    })
}

/// As many bindings as may be out at a time.
const BINDS_MAX: usize = 64;

/// A pod whose gate is removed while all bindings are out says since when it waits for its turn,
/// and a scheduler that is started anew goes by that.
pub(crate) fn gates_gone(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        let first = world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        proxy.inject(Fault::Hold.after(0));
        let mut late = pod("late", "100", "64Mi");
        late["spec"]["schedulingGates"] = json!([{"name": "example.com/quota"}]);
        world.create_pods([late].into_iter()).await?;
        world.create_pods(many(&pod("pod", "10m", "1Mi"), BINDS_MAX)).await?;
        holds(&proxy, BINDS_MAX).await?;
        let removed = Timestamp::now().as_second();
        let path = format!("/api/v1/namespaces/{}/pods/late", world.namespace);
        world.patch(&path, &json!({"spec": {"schedulingGates": null}})).await?;
        let queued = world.wait_waiting("late", "Queued", "waiting for its turn").await?;
        let since = condition_of(&queued, "PodScheduled")["lastTransitionTime"].clone();
        let at: Timestamp = text(&since).parse().context("the time of the condition")?;
        let seconds = at.as_second() - removed;
        ensure!((0..=2).contains(&seconds), "it waits since {since}, {seconds} s after its gate");
        world.kill(first)?;
        proxy.release();
        arrived(&proxy).await?;
        let without_event = bound_through(&proxy);
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let after = world.wait_waiting("late", "Unschedulable", "Insufficient cpu").await?;
        let found = condition_of(&after, "PodScheduled")["lastTransitionTime"].clone();
        ensure!(found == since, "it waited since {since}, and since {found} after the restart");
        let expected = Expected { bound: BINDS_MAX, waiting: 1, ..Expected::default() };
        check::settled(world, &Expected { without_event, ..expected }).await
    })
}

/// A node that comes later cures a pod that waits for it.
pub(crate) fn waits_for_node(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.apply_example("waits-for-node.yaml").await?;
        let pods = world.pods().await?;
        for pod in &pods {
            world.wait_waiting(name_of(pod), "Unschedulable", "0/2 nodes are available").await?;
        }
        let expected = Expected { waiting: pods.len(), ..Expected::default() };
        check::settled(world, &expected).await?;
        let selector = pods.first().and_then(|pod| pod.spec.as_ref()?.node_selector.clone());
        let selector = selector.context("examples/waits-for-node.yaml has no nodeSelector")?;
        let mut cure = node("cure", "4", "16Gi", 110);
        cure["metadata"]["labels"] = json!(selector);
        world.create_nodes(1, &cure).await?;
        let pods = world.wait_running(pods.len(), 30).await?;
        let is_right = pods.iter().all(|pod| node_of(pod) == Some("cure-0"));
        ensure!(is_right, "the pods are not on the node they waited for");
        check::settled(world, &Expected::bound(pods.len())).await
    })
}

/// A taint keeps the pod away that does not tolerate it, until it is removed.
pub(crate) fn taints(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let taint = "example.com/dedicated=batch:NoSchedule";
        world.plane.kubectl(&["taint", "nodes", "--all", taint]).await?;
        world.plane.kubectl(&["label", "nodes", "--all", "example.com/stage=tainted"]).await?;
        // Who has seen the label has seen the taint, which came before.
        let mut witness = pod("witness", "100m", "64Mi");
        witness["spec"]["nodeSelector"] = json!({"example.com/stage": "tainted"});
        witness["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        world.create_pods([witness].into_iter()).await?;
        world.wait_bound(1, 30).await?;
        world.apply_example("tolerations.yaml").await?;
        world.wait_waiting("intolerant", "Unschedulable", "0/2 nodes are available: 2 ").await?;
        let pod = world.wait_waiting("intolerant", "Unschedulable", "untolerated taint").await?;
        ensure!(node_of(&pod).is_none(), "intolerant is on {:?}", node_of(&pod));
        world.wait_running(2, 30).await?;
        let expected = Expected { bound: 2, waiting: 1, ..Expected::default() };
        check::settled(world, &expected).await?;
        let away = "example.com/dedicated:NoSchedule-";
        world.plane.kubectl(&["taint", "nodes", "node-1", away]).await?;
        world.wait_running(3, 30).await?;
        let pod = world.pod("intolerant").await?;
        ensure!(node_of(&pod) == Some("node-1"), "intolerant is on {:?}", node_of(&pod));
        check::settled(world, &Expected::bound(3)).await
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
