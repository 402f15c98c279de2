//! Gangs: whole or not at all, by whatever words they are asked for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use control_plane::Fault;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::binds::bound_through;
use super::faults::held;
use super::groups::{asks_of_all, install};
use crate::check::{self, Expected};
use crate::objects::{Election, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, condition_of, name_of, node_of, phase_of};

/// The PodGroup of scheduler-plugins, as far as it is read.
const CRD: &str = include_str!("gangs/podgroup-crd.yaml");

/// Longer than anything that could bind a part of a gang would wait.
const LONG: Duration = Duration::from_secs(15);

/// Pods of a gang by our labels.
pub(super) fn gang(name: &str, size: usize, cpu: &str) -> std::vec::IntoIter<Value> {
    let mut template = pod(name, cpu, "64Mi");
    template["metadata"]["labels"] = json!({
        "pod-group.scheduling.kubenexus.io/name": name,
        "pod-group.scheduling.kubenexus.io/min-available": size.to_string(),
    });
    many(&template, size).collect::<Vec<_>>().into_iter()
}

/// How many pods of a gang are bound.
async fn bound(world: &World, gang: &str) -> Result<usize> {
    let pods = world.pods().await?;
    let own = pods.iter().filter(|pod| name_of(pod).starts_with(&format!("{gang}-")));
    Ok(own.filter(|pod| node_of(pod).is_some()).count())
}

/// Eight pods and room for seven: none is bound, however long; with room for eight all are.
pub(crate) fn waits_whole(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(7, &node("node", "1", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.create_pods(gang("train", 8, "1")).await?;
        let why = "gang train: room for 7 of at least 8";
        world.wait_waiting("train-0", "Unschedulable", why).await?;
        world.wait_waiting("train-7", "Unschedulable", "can never fit this cluster").await?;
        let began = Instant::now();
        while began.elapsed() < LONG {
            let bound = bound(world, "train").await?;
            ensure!(bound == 0, "{bound} of 8 are bound though all have no room");
            sleep(Duration::from_millis(200)).await;
        }
        world.create_nodes(1, &node("more", "1", "16Gi", 110)).await?;
        world.wait_bound(8, 30).await?;
        check::settled(world, &Expected::bound(8)).await
    })
}

/// Two gangs of eight and room for twelve: one is complete, the other is not begun. When the first
/// is gone, the second starts.
pub(crate) fn one_of_two(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(12, &node("node", "1", "16Gi", 110)).await?;
        let pods = gang("one", 8, "1").zip(gang("two", 8, "1"));
        world.create_pods(pods.flat_map(|(one, two)| [one, two])).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.wait_bound(8, 30).await?;
        let began = Instant::now();
        while began.elapsed() < LONG {
            let mut bound = [bound(world, "one").await?, bound(world, "two").await?];
            bound.sort_unstable();
            ensure!(bound == [0, 8], "of two gangs {bound:?} pods are bound");
            sleep(Duration::from_millis(200)).await;
        }
        let first = if bound(world, "one").await? == 8 { "one" } else { "two" };
        let label = format!("pod-group.scheduling.kubenexus.io/name={first}");
        let delete = ["-n", &world.namespace, "delete", "pods", "--wait=false", "-l", &label];
        world.plane.kubectl(&delete).await?;
        let second = if first == "one" { "two" } else { "one" };
        until("the other gang to be bound", Duration::from_secs(30), || async {
            let bound = bound(world, second).await?;
            Ok((bound == 8).then_some(()).ok_or(format!("{bound} are")))
        })
        .await
    })
}

/// The scheduler is killed when three of eight are bound: the next one completes the gang.
pub(crate) fn killed_between(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(8, &node("node", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        let first = world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        proxy.inject(Fault::Hold.after(3));
        world.create_pods(gang("train", 8, "1")).await?;
        held(&proxy).await?;
        world.wait_bound(3, 30).await?;
        world.kill(first)?;
        let early = bound_through(&proxy);
        ensure!(early.len() == 3, "{} pods were bound before, not 3", early.len());
        // What was on its way never arrives.
        proxy.refuse(true);
        world.run_scheduler(Start::plain(Election::Off)).await?;
        world.wait_bound(8, 30).await?;
        check::settled(world, &Expected { without_event: early, ..Expected::bound(8) }).await
    })
}

/// The same, and meanwhile somebody else took the room: the pods of the ReplicaSet that were bound
/// are taken back, and come again as a gang that waits whole.
pub(crate) fn taken_back(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(4, &node("node", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        let first = world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        proxy.inject(Fault::Hold.after(2));
        let path = format!("/apis/apps/v1/namespaces/{}/replicasets", world.namespace);
        world.plane.create(&path, [replica_set("train", 4)].into_iter()).await?;
        held(&proxy).await?;
        let early = world.wait_bound(2, 30).await?;
        world.kill(first)?;
        proxy.refuse(true);
        let free = world.nodes().await?;
        let taken: Vec<_> = early.iter().filter_map(node_of).collect();
        let free = free.iter().filter_map(|node| node.metadata.name.clone());
        for (at, node) in free.filter(|node| !taken.contains(&node.as_str())).enumerate() {
            let mut other = pod(&format!("other-{at}"), "1", "64Mi");
            other["spec"]["nodeName"] = node.into();
            world.create_pods([other].into_iter()).await?;
        }
        let names: Vec<String> =
            early.iter().filter(|p| node_of(p).is_some()).map(|p| name_of(p).into()).collect();
        world.run_scheduler(Start::plain(Election::Off)).await?;
        until("the bound pods to be taken back", Duration::from_secs(40), || async {
            let pods = world.pods().await?;
            let left = pods.iter().filter(|pod| names.iter().any(|name| name == name_of(pod)));
            let left = left.count();
            Ok((left == 0).then_some(()).ok_or(format!("{left} are still there")))
        })
        .await?;
        until("the gang to wait whole", Duration::from_secs(30), || async {
            let (pods, bound) = (world.pods().await?, bound(world, "train").await?);
            let own = pods.iter().filter(|pod| name_of(pod).starts_with("train-")).count();
            Ok((own == 4 && bound == 0).then_some(()).ok_or(format!("{bound} of {own} are bound")))
        })
        .await
    })
}

/// A ReplicaSet that is a gang. Pods of a Job would run to their end at once here.
fn replica_set(name: &str, size: usize) -> Value {
    let template = gang(name, size, "1").next().unwrap_or_default();
    let labels = &template["metadata"]["labels"];
    json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": size,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    })
}

/// A pod that waits for a gang which a Job makes is bound when the Job is complete, and not when
/// the first pods of it ran to a good end.
pub(crate) fn after(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(4, &node("node", "1", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let mut train = pod("train", "1", "64Mi");
        let annotations = json!({"scheduling.kubenexus.io/depends-on": "prepare"});
        train["metadata"]["annotations"] = annotations;
        world.create_pods([train].into_iter()).await?;
        let why = "waiting for gang \"prepare\" to succeed";
        world.wait_waiting("train", "SchedulingGated", why).await?;
        // Pods of a Job run to their end at once here.
        let mut template = gang("prepare", 2, "1").next().unwrap_or_default();
        template["spec"]["restartPolicy"] = "Never".into();
        let metadata = json!({"labels": template["metadata"]["labels"]});
        let job = json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "prepare"},
            "spec": {
                "parallelism": 2,
                "completions": 4,
                "template": {"metadata": metadata, "spec": template["spec"]},
            },
        });
        let path = format!("/apis/batch/v1/namespaces/{}/jobs", world.namespace);
        world.plane.create(&path, [job].into_iter()).await?;
        until("the pod to follow the gang", Duration::from_secs(30), || async {
            let pods = world.pods().await?;
            let train = pods.iter().find(|pod| name_of(pod) == "train");
            let is_bound = train.is_some_and(|pod| node_of(pod).is_some());
            Ok(is_bound.then_some(()).ok_or("it is on no node".into()))
        })
        .await?;
        let namespace = world.namespace.clone();
        let job = ["-n", &namespace, "get", "job", "prepare", "-o", "json"];
        let job: Value = serde_json::from_str(&world.plane.kubectl(&job).await?)?;
        let mut conditions = job["status"]["conditions"].as_array().into_iter().flatten();
        let complete = conditions.find(|it| it["type"] == "Complete").cloned().unwrap_or_default();
        ensure!(complete["status"] == "True", "the Job is not complete: {}", job["status"]);
        let pods = world.pods().await?;
        let train = pods.iter().find(|pod| name_of(pod) == "train");
        let bound = train.map(|pod| condition_of(pod, "PodScheduled")).unwrap_or_default();
        let [complete, bound] = [complete, bound].map(|it| it["lastTransitionTime"].to_string());
        // Both are UTC, to the second.
        ensure!(bound >= complete, "the pod was bound at {bound}, the Job complete at {complete}");
        Ok(())
    })
}

/// A user's annotation does not raise the tier: the pod of the namespace that an administrator
/// calls gold is placed first, though it is younger.
pub(crate) fn tier(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &node("node", "1", "16Gi", 110)).await?;
        let mut boaster = pod("boaster", "1", "64Mi");
        let gold = json!({"tenant.kubenexus.io/tier": "gold"});
        boaster["metadata"]["annotations"] = gold.clone();
        boaster["metadata"]["labels"] = gold.clone();
        world.create_pods([boaster].into_iter()).await?;
        let other = format!("{}-gold", world.namespace);
        let namespace = json!({"metadata": {"name": other, "labels": gold}});
        world.plane.create("/api/v1/namespaces", [namespace].into_iter()).await?;
        world.plane.wait_for_service_account(&other).await?;
        // Ages are in seconds.
        sleep(Duration::from_millis(1_100)).await;
        let path = format!("/api/v1/namespaces/{other}/pods");
        world.plane.create(&path, [pod("vip", "1", "64Mi")].into_iter()).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.wait_waiting("boaster", "Unschedulable", "Insufficient cpu").await?;
        let vip = world.plane.kubectl(&["-n", &other, "get", "pod", "vip", "-o", "json"]).await?;
        let vip: Value = serde_json::from_str(&vip)?;
        ensure!(vip["spec"]["nodeName"] == "node-0", "the pod of the gold namespace is not bound");
        world.delete_all(&format!("{path}?gracePeriodSeconds=0")).await?;
        world.wait_bound(1, 30).await?;
        Ok(())
    })
}

/// The same gang by the native API, by the CRD of scheduler-plugins and by our labels; with
/// `minResources` of the CRD it waits for more room than it takes.
pub(crate) fn asked_alike(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        install(world, "podgroups.scheduling.x-k8s.io", CRD).await?;
        world.create_nodes(4, &node("node", "2", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let namespace = world.namespace.clone();
        let native = format!("/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups");
        let group = json!({
            "metadata": {"name": "native"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 6}}},
        });
        world.plane.create(&native, [group].into_iter()).await?;
        let path = format!("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{namespace}/podgroups");
        let group = json!({
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": "crd"},
            "spec": {"minMember": 6},
        });
        world.plane.create(&path, [group].into_iter()).await?;
        let (mut shapes, mut crd) = (Vec::new(), Value::Null);
        for name in ["native", "crd", "labels"] {
            let mut template = pod(name, "1", "64Mi");
            match name {
                "native" => template["spec"]["schedulingGroup"] = json!({"podGroupName": name}),
                "crd" => {
                    template["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] = name.into();
                }
                _ => template = gang(name, 6, "1").next().unwrap_or_default(),
            }
            template["metadata"]["name"] = name.into();
            // Five of six are not enough.
            let mut pods = many(&template, 6);
            world.create_pods(pods.by_ref().take(5)).await?;
            let why = "waiting for the gang: 5 of at least 6 are there";
            world.wait_waiting(&format!("{name}-0"), "SchedulingGated", why).await?;
            world.create_pods(pods).await?;
            if name == "crd" {
                crd = template;
            }
            let pods = world.wait_bound(6, 30).await?;
            let mut on_node: BTreeMap<&str, usize> = BTreeMap::new();
            for node in pods.iter().filter_map(node_of) {
                *on_node.entry(node).or_default() += 1;
            }
            let mut counts: Vec<usize> = on_node.into_values().collect();
            counts.sort_unstable();
            shapes.push(counts);
            world.delete_pods().await?;
            until("the pods to be gone", Duration::from_secs(30), || async {
                let left = world.pods().await?.len();
                Ok((left == 0).then_some(()).ok_or(format!("{left} are there")))
            })
            .await?;
        }
        ensure!(shapes.windows(2).all(|two| two[0] == two[1]), "placed otherwise: {shapes:?}");
        let group = world.plane.kubectl(&["get", "--raw", &format!("{native}/native")]).await?;
        let group: Value = serde_json::from_str(&group)?;
        let conditions = group["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_scheduled =
            |it: &Value| it["type"] == "PodGroupInitiallyScheduled" && it["status"] == "True";
        ensure!(conditions.iter().any(is_scheduled), "the PodGroup's status: {}", group["status"]);
        asks_of_all(world, &format!("{path}/crd"), &crd).await
    })
}

/// Two Spark drivers that make three executors each, and room for one and a half of that: the
/// first has room kept for its executors, the second does not begin before that is free.
pub(crate) fn drivers(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(6, &node("node", "1", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let driver = |name: &str| {
            let mut driver = gang(name, 4, "1").next().unwrap_or_default();
            driver["metadata"]["name"] = format!("{name}-driver").into();
            driver["metadata"]["labels"]["spark-role"] = "driver".into();
            let members = r#"[{"count": 3, "resources": {"cpu": "1", "memory": "64Mi"}}]"#;
            let annotations = json!({"scheduling.kubenexus.io/members": members});
            driver["metadata"]["annotations"] = annotations;
            driver
        };
        world.create_pods([driver("one"), driver("two")].into_iter()).await?;
        let pods = world.wait_running(1, 30).await?;
        let running = pods.iter().find(|pod| phase_of(pod) == "Running").map(name_of);
        let first = running.unwrap_or_default().trim_end_matches("-driver").to_owned();
        let second = if first == "one" { "two" } else { "one" };
        let why = "room for 2 of at least 4";
        world.wait_waiting(&format!("{second}-driver"), "Unschedulable", why).await?;
        // A pod of others must not take the room that is kept; there are two nodes beside it.
        world.create_pods(many(&pod("other", "1", "64Mi"), 3)).await?;
        world.wait_bound(3, 30).await?;
        let executors = |name: &str| {
            let mut executor = gang(name, 4, "1").next().unwrap_or_default();
            executor["metadata"]["name"] = format!("{name}-exec").into();
            executor["metadata"]["labels"]["spark-role"] = "executor".into();
            many(&executor, 3).collect::<Vec<_>>().into_iter()
        };
        world.create_pods(executors(&first)).await?;
        world.wait_bound(6, 30).await?;
        ensure!(bound(world, &first).await? == 4, "the first driver has not all its executors");
        // Its job is done.
        let label = format!("pod-group.scheduling.kubenexus.io/name={first}");
        let delete = ["-n", &world.namespace, "delete", "pods", "--wait=false", "-l", &label];
        world.plane.kubectl(&delete).await?;
        let other = ["-n", &world.namespace, "delete", "pods", "--wait=false", "-l", "app=test"];
        world.plane.kubectl(&other).await?;
        until("the second driver to be bound", Duration::from_secs(30), || async {
            let bound = bound(world, second).await?;
            Ok((bound == 1).then_some(()).ok_or(format!("{bound} of its pods are")))
        })
        .await?;
        world.create_pods(executors(second)).await?;
        world.wait_bound(4, 30).await?;
        Ok(())
    })
}

/// The example of the README: a Job of eight that starts whole.
pub(crate) fn example(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let mut template = node("gpu", "16", "256Gi", 110);
        for room in ["capacity", "allocatable"] {
            template["status"][room]["nvidia.com/gpu"] = "4".into();
        }
        world.create_nodes(1, &template).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.apply_example("gang-job.yaml").await?;
        until("all eight to say why they wait", Duration::from_secs(30), || async {
            let pods = world.pods().await?;
            let is_told = |pod: &&k8s_openapi::api::core::v1::Pod| {
                let condition = condition_of(pod, "PodScheduled");
                condition["message"].as_str().is_some_and(|text| text.contains("room for 4 of"))
            };
            let told = pods.iter().filter(is_told).count();
            Ok((told == 8).then_some(()).ok_or(format!("{told} of {} do", pods.len())))
        })
        .await?;
        template["metadata"]["name"] = "more".into();
        world.create_nodes(1, &template).await?;
        let pods = world.wait_bound(8, 30).await?;
        ensure!(pods.len() == 8, "{} pods are there", pods.len());
        check::settled(world, &Expected::bound(8)).await
    })
}
