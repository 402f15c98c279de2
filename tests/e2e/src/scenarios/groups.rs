//! Objects about gangs: of Volcano and KAI, of Kubernetes with groups of groups, and what they ask
//! of the cluster as a whole.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::objects::{Election, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, condition_of, name_of, node_of};

/// The PodGroups of other schedulers: what a pod calls its group by, the API, its CRD.
const FOREIGN: [(&str, &str, &str, &str); 2] = [
    (
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh",
        "v1beta1",
        include_str!("gangs/volcano-crd.yaml"),
    ),
    ("pod-group-name", "scheduling.run.ai", "v2alpha2", include_str!("gangs/kai-crd.yaml")),
];

/// Longer than anything that could bind a part of a gang would wait.
const LONG: Duration = Duration::from_secs(5);

/// Installs a kind of objects.
pub(super) async fn install(world: &World, name: &str, crd: &str) -> Result<()> {
    let file = world.plane.folder().join("crd.yaml");
    std::fs::write(&file, crd)?;
    world.plane.kubectl(&["apply", "-f", &file.display().to_string()]).await?;
    let wait = ["wait", "--for=condition=Established", &format!("crd/{name}")];
    world.plane.kubectl(&wait).await?;
    Ok(())
}

/// Fails if a pod is bound within some time.
async fn none_bound(world: &World) -> Result<()> {
    let began = tokio::time::Instant::now();
    while began.elapsed() < LONG {
        let bound = world.pods().await?.iter().filter(|pod| node_of(pod).is_some()).count();
        ensure!(bound == 0, "{bound} are bound though all have no room");
        sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

async fn delete_pods(world: &World) -> Result<()> {
    world.delete_pods().await?;
    until("the pods to be gone", Duration::from_secs(30), || async {
        let left = world.pods().await?.len();
        Ok((left == 0).then_some(()).ok_or(format!("{left} are there")))
    })
    .await
}

/// Pods that call their group by an annotation.
fn annotated(key: &str, name: &str, size: usize) -> impl Iterator<Item = Value> + use<> {
    let mut template = pod(name, "1", "64Mi");
    template["metadata"]["annotations"] = json!({key: name});
    many(&template, size).collect::<Vec<_>>().into_iter()
}

/// Gangs by the objects of Volcano and KAI wait whole and start whole. When the kind is gone they
/// wait for their object; a scheduler that never saw the kind places their pods one by one.
pub(crate) fn foreign(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (_, group, _, crd) in FOREIGN {
            install(world, &format!("podgroups.{group}"), crd).await?;
        }
        world.create_nodes(3, &node("node", "1", "16Gi", 110)).await?;
        let first = world.run_scheduler(Start::plain(Election::Off)).await?;
        let namespace = world.namespace.clone();
        for (at, (key, group, version, _)) in FOREIGN.into_iter().enumerate() {
            let path = format!("/apis/{group}/{version}/namespaces/{namespace}/podgroups");
            let object = json!({
                "apiVersion": format!("{group}/{version}"),
                "kind": "PodGroup",
                "metadata": {"name": "train"},
                "spec": {"minMember": 4, "queue": "default"},
            });
            world.plane.create(&path, [object].into_iter()).await?;
            world.create_pods(annotated(key, "train", 4)).await?;
            let why = "gang train: room for 3 of at least 4";
            world.wait_waiting("train-3", "Unschedulable", why).await?;
            none_bound(world).await?;
            let more = format!("more-{at}");
            world.create_nodes(1, &node(&more, "1", "16Gi", 110)).await?;
            world.wait_bound(4, 30).await?;
            delete_pods(world).await?;
            world.plane.kubectl(&["delete", "node", &format!("{more}-0")]).await?;
        }
        for (_, group, _, _) in FOREIGN {
            let crd = format!("podgroups.{group}");
            world.plane.kubectl(&["delete", "crd", &crd]).await?;
        }
        for (number, (key, _, _, _)) in FOREIGN.into_iter().enumerate() {
            world.create_pods(annotated(key, &format!("late{number}"), 1)).await?;
        }
        for number in 0..FOREIGN.len() {
            let why = format!("waiting for PodGroup \"late{number}\", which is not there");
            world.wait_waiting(&format!("late{number}-0"), "SchedulingGated", &why).await?;
        }
        world.kill(first)?;
        world.run_scheduler(Start::plain(Election::Off)).await?;
        world.wait_bound(2, 30).await?;
        Ok(())
    })
}

/// A gang by the PodGroup of scheduler-plugins that asks for more than is free waits, though its
/// pods would fit, and starts when there is so much.
pub(super) async fn asks_of_all(world: &World, group: &str, pods: &Value) -> Result<()> {
    world.patch(group, &json!({"spec": {"minResources": {"cpu": "10"}}})).await?;
    world.create_pods(many(pods, 6)).await?;
    let why = "waiting for minResources of the gang: 10 cpu are asked for, 8 are free on all \
               nodes, which have 8. It can never fit this cluster.";
    world.wait_waiting("crd-5", "Unschedulable", why).await?;
    none_bound(world).await?;
    world.create_nodes(1, &node("more", "2", "16Gi", 110)).await?;
    world.wait_bound(6, 30).await?;
    Ok(())
}

/// Two groups of two that start together, and room for three: nothing is bound, and all three
/// objects say why; with room for four both start, and all three say so.
pub(crate) fn composite(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(3, &node("node", "1", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let of = |version: &str, resource: &str| {
            format!("/apis/scheduling.k8s.io/{version}/namespaces/{}/{resource}", world.namespace)
        };
        let all = of("v1alpha3", "compositepodgroups");
        let composite = json!({
            "metadata": {"name": "all"},
            "spec": {
                "workloadRef": {"workloadName": "job", "templateName": "all"},
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            },
        });
        world.plane.create(&all, [composite].into_iter()).await?;
        let parts = of("v1beta1", "podgroups");
        for name in ["one", "two"] {
            let part = json!({
                "metadata": {"name": name},
                "spec": {
                    "parentCompositePodGroupName": "all",
                    "workloadRef": {"workloadName": "job", "templateName": name},
                    "schedulingPolicy": {"gang": {"minCount": 2}},
                },
            });
            world.plane.create(&parts, [part].into_iter()).await?;
            let mut template = pod(name, "1", "64Mi");
            template["spec"]["schedulingGroup"] = json!({"podGroupName": name});
            world.create_pods(many(&template, 2)).await?;
        }
        let objects = [
            (format!("{all}/all"), "CompositePodGroupInitiallyScheduled"),
            (format!("{parts}/one"), "PodGroupInitiallyScheduled"),
            (format!("{parts}/two"), "PodGroupInitiallyScheduled"),
        ];
        world.wait_waiting("two-1", "Unschedulable", "room for 1 of at least 2").await?;
        for (object, word) in &objects {
            says(world, object, word, ("False", "Unschedulable")).await?;
        }
        none_bound(world).await?;
        world.create_nodes(1, &node("more", "1", "16Gi", 110)).await?;
        world.wait_bound(4, 30).await?;
        for (object, word) in &objects {
            says(world, object, word, ("True", "Scheduled")).await?;
        }
        Ok(())
    })
}

/// Pods of a PodGroup with policy `basic`, and a pod that comes to a gang which runs, evict a less
/// important pod; and a PodGroup of the first kind says in its status that it has started.
/// kube-scheduler does the same.
pub(crate) fn one_by_one(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let mut start = Start::plain(Election::Quick);
        if world.is_reference {
            start.flags.push("--feature-gates=GenericWorkload=true".into());
        }
        world.run_scheduler(start).await?;
        let class = json!({"metadata": {"name": HIGH}, "value": 1000});
        let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
        world.plane.create(classes, [class].into_iter()).await?;
        let groups =
            format!("/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups", world.namespace);
        let member = |group: &str, number: usize, cpu: &str| {
            let mut pod = pod(&format!("{group}-{number}"), cpu, "64Mi");
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": group});
            pod["spec"]["priorityClassName"] = HIGH.into();
            pod
        };
        let table = [("basic", json!({"basic": {}})), ("gang", json!({"gang": {"minCount": 2}}))];
        for (name, policy) in table {
            world.create_nodes(1, &node(name, "3", "16Gi", 110)).await?;
            world.wait_ready().await?;
            let group = json!({
                "metadata": {"name": name},
                "spec": {"schedulingPolicy": policy, "priorityClassName": HIGH},
            });
            world.plane.create(&groups, [group].into_iter()).await?;
            let low = format!("{name}-low");
            world.create_pods([pod(&low, "1", "64Mi")].into_iter()).await?;
            is_on_node(world, &low).await?;
            let runs = if name == "gang" { 2 } else { 0 };
            world.create_pods((0..runs).map(|number| member(name, number, "1"))).await?;
            for number in 0..runs {
                is_on_node(world, &format!("{name}-{number}")).await?;
            }
            // The whole node, or what is left of it and the place of the other pod.
            let cpu = if name == "gang" { "1" } else { "3" };
            world.create_pods([member(name, runs, cpu)].into_iter()).await?;
            is_on_node(world, &format!("{name}-{runs}")).await?;
            let left = world.pods().await?;
            ensure!(left.iter().all(|pod| name_of(pod) != low), "{low} is still there");
            let object = format!("{groups}/{name}");
            says(world, &object, "PodGroupInitiallyScheduled", ("True", "Scheduled")).await?;
        }
        world.plane.kubectl(&["delete", "priorityclass", HIGH]).await?;
        Ok(())
    })
}

/// Pods whose priority is not that of their PodGroup wait, and say why, whether they start together
/// or one by one. kube-scheduler refuses them too.
pub(crate) fn priorities(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let mut start = Start::plain(Election::Quick);
        if world.is_reference {
            start.flags.push("--feature-gates=GenericWorkload=true".into());
        }
        world.create_nodes(1, &node("node", "8", "16Gi", 110)).await?;
        world.run_scheduler(start).await?;
        let groups =
            format!("/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups", world.namespace);
        let reason = if world.is_reference { "SchedulerError" } else { "SchedulingGated" };
        let why = "all pods in a single pod group should have the same priority as the pod \
                   group's priority, got 2000000000 and 0";
        let table = [("basic", json!({"basic": {}})), ("gang", json!({"gang": {"minCount": 2}}))];
        let member = |name: &str, group: &str| {
            let mut pod = pod(&format!("{group}-{name}"), "1", "64Mi");
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": group});
            pod
        };
        for (name, policy) in table {
            let group = json!({"metadata": {"name": name}, "spec": {"schedulingPolicy": policy}});
            world.plane.create(&groups, [group].into_iter()).await?;
            let mut high = member("high", name);
            high["spec"]["priorityClassName"] = "system-cluster-critical".into();
            world.create_pods([high].into_iter()).await?;
        }
        // The others are as their PodGroups say, and would be placed if they came before it.
        world.wait_waiting("basic-high", reason, why).await?;
        world.create_pods(["basic", "gang"].into_iter().map(|it| member("low", it))).await?;
        for name in ["basic-low", "gang-low", "gang-high"] {
            world.wait_waiting(name, reason, why).await?;
        }
        none_bound(world).await?;
        world.plane.kubectl(&["-n", &world.namespace, "delete", "pod", "basic-high"]).await?;
        is_on_node(world, "basic-low").await
    })
}

/// More important than pods without a class.
const HIGH: &str = "one-by-one";

/// Waits until a pod is on a node.
async fn is_on_node(world: &World, name: &str) -> Result<()> {
    until(&format!("{name} to be on a node"), Duration::from_secs(30), || async {
        let pod = world.pod(name).await?;
        Ok(node_of(&pod).map(|_| ()).ok_or(condition_of(&pod, "PodScheduled").to_string()))
    })
    .await
}

/// Waits until a condition in the status of an object has this status and this reason.
pub(super) async fn says(
    world: &World,
    object: &str,
    word: &str,
    (status, why): (&str, &str),
) -> Result<()> {
    let what = format!("{object} to say {word} is {status}");
    until(&what, Duration::from_secs(30), || async {
        let found = world.plane.kubectl(&["get", "--raw", object]).await?;
        let found: Value = serde_json::from_str(&found)?;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_it =
            |it: &Value| it["type"] == word && it["status"] == status && it["reason"] == why;
        Ok(conditions.iter().any(is_it).then_some(()).ok_or(found["status"].to_string()))
    })
    .await
}
