//! Snapshots of an API server made of a function.

use serde_json::json;

use super::*;
use crate::testing::{Reply, server};
use crate::watch::OPTIONAL;

/// A list with these objects.
fn items(items: &[Value]) -> Reply {
    Some((200, json!({"metadata": {"resourceVersion": "1"}, "items": items}).to_string()))
}

fn named(name: &str, more: Value) -> Value {
    let mut object = json!({"metadata": {"name": name, "namespace": "a", "uid": name}});
    object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    object
}

/// What a cluster answers that has one object of most kinds.
fn answer(target: &str, is_waiting: bool) -> Reply {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let ended = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    let versions = |all: &[&str]| {
        let all: Vec<_> = all.iter().map(|version| json!({"groupVersion": version})).collect();
        Some((200, json!({"groups": [{"versions": all}]}).to_string()))
    };
    match path {
        "/apis" => versions(&[
            "scheduling.volcano.sh/v1beta1",
            "kueue.x-k8s.io/v1beta1",
            "resource.k8s.io/v1",
        ]),
        "/apis/scheduling.volcano.sh/v1beta1" => {
            Some((200, json!({"resources": [{"name": "podgroups"}]}).to_string()))
        }
        "/apis/kueue.x-k8s.io/v1beta1" => {
            let all = json!([{"name": "localqueues"}, {"name": "clusterqueues"}]);
            Some((200, json!({"resources": all}).to_string()))
        }
        "/apis/resource.k8s.io/v1" => {
            let all = json!([{"name": "resourceslices"}, {"name": "resourceclaims"}]);
            Some((200, json!({"resources": all}).to_string()))
        }
        "/api/v1/pods" if query.contains("Succeeded") => {
            let owner = json!([{"kind": "ReplicaSet", "name": "web", "controller": true}]);
            let mut pod = named("p", json!({"spec": {}}));
            pod["metadata"]["ownerReferences"] = owner;
            if is_waiting {
                let after = json!({"scheduling.kubenexus.io/depends-on": "first"});
                pod["metadata"]["annotations"] = after;
            }
            items(&[pod])
        }
        "/api/v1/pods" => {
            let status = json!({"phase": "Succeeded"});
            let mut member = named("done", json!({"spec": {}, "status": status}));
            member["metadata"]["labels"] = json!({"scheduling.kubenexus.io/gang-group": "first"});
            items(&[member, named("alone", json!({"spec": {}, "status": status}))])
        }
        "/apis/apps/v1/replicasets" => items(&[named("web", json!({})), named("old", json!({}))]),
        "/apis/batch/v1/jobs" => {
            items(&[named("runs", json!({})), named("ended", json!({"status": ended}))])
        }
        "/apis/policy/v1/poddisruptionbudgets" => {
            Some((403, json!({"message": "budgets are secret"}).to_string()))
        }
        "/apis/storage.k8s.io/v1/csistoragecapacities" => Some((404, "{}".into())),
        _ => items(&[named("x", json!({"data": "noise"}))]),
    }
}

/// Kinds and names of what was taken, and what was said.
async fn taken(answer: impl Fn(&str) -> Reply + Send + Sync + 'static) -> (Vec<String>, String) {
    let answer = std::sync::Arc::new(answer);
    let (client, _) = server(move |arrived| {
        let answer = answer.clone();
        async move { answer(&arrived.target) }
    });
    let mut found = Vec::new();
    let take = |object: Value, _: &SnapshotProgress| {
        assert!(!object.to_string().contains("noise"), "{object}");
        let text = |path: &str| object.pointer(path).unwrap().as_str().unwrap().to_owned();
        found.push([text("/apiVersion"), text("/kind"), text("/metadata/name")].join(" "));
        Ok(())
    };
    let (server, progress) = ("https://cluster".to_owned(), SnapshotProgress::default());
    let mut taker = Taker { client, server, take, progress };
    let result = taker.take_all().await;
    let SnapshotProgress { left_out, .. } = taker.progress.clone();
    let said = result.map_or_else(|error| format!("{error:#}"), |()| taker.progress.to_string());
    found.extend(left_out.into_iter().map(|why| format!("not {why}")));
    (found, said)
}

#[tokio::test(start_paused = true)]
async fn everything_that_scheduling_reads_is_taken_once() {
    let (found, said) = taken(|target| answer(target, false)).await;
    let expected = [
        "v1 Node x",
        "v1 Pod p",
        "scheduling.k8s.io/v1 PriorityClass x",
        "v1 Namespace x",
        "v1 Service x",
        "apps/v1 ReplicaSet web",
        "v1 PersistentVolume x",
        "v1 PersistentVolumeClaim x",
        "storage.k8s.io/v1 StorageClass x",
        "storage.k8s.io/v1 CSINode x",
        "storage.k8s.io/v1 CSIDriver x",
        "storage.k8s.io/v1 VolumeAttachment x",
        "scheduling.volcano.sh/v1beta1 PodGroup x",
        "kueue.x-k8s.io/v1beta1 LocalQueue x",
        "kueue.x-k8s.io/v1beta1 ClusterQueue x",
        "resource.k8s.io/v1 ResourceSlice x",
        "resource.k8s.io/v1 ResourceClaim x",
        "not poddisruptionbudgets: 403 Forbidden: budgets are secret",
    ];
    assert_eq!(found[..expected.len()], expected, "no controllers that no pod names");
    assert!(found.last().unwrap().starts_with("not csistoragecapacities: 404"), "{found:?}");
    let counts = "1 nodes, 1 pods, 1 priorityclasses, 1 namespaces, 1 services, 1 replicasets";
    assert!(said.starts_with(counts), "{said}");
    let counts = "1 localqueues, 1 clusterqueues, 1 resourceslices, 1 resourceclaims";
    assert!(said.ends_with(counts), "{said}");
}

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_taken_where_a_pod_waits_for_that() {
    let (found, _) = taken(|target| answer(target, true)).await;
    assert!(found.contains(&"v1 Pod done".to_owned()), "{found:?}");
    assert!(found.contains(&"batch/v1 Job ended".to_owned()), "{found:?}");
    let is_other = |it: &&String| it.ends_with(" alone") || it.ends_with(" runs");
    assert_eq!(found.iter().find(is_other), None);
}

#[tokio::test(start_paused = true)]
async fn nodes_and_pods_must_be_readable_and_nothing_else() {
    let refused = |path: &'static str| {
        move |target: &str| match target.starts_with(path) {
            true => Some((403, json!({"message": "no"}).to_string())),
            false => answer(target, false),
        }
    };
    let (_, said) = taken(refused("/api/v1/pods")).await;
    assert_eq!(said, "listing pods of https://cluster: 403 Forbidden: no");
    let (_, said) = taken(refused("/api/v1/nodes")).await;
    assert_eq!(said, "listing nodes of https://cluster: 403 Forbidden: no");
    let (found, said) = taken(refused("/apis")).await;
    assert!(said.contains("1 persistentvolumes"), "{said}");
    let unknown = found.iter().find(|it| it.contains("which of them are served is not known"));
    assert!(unknown.is_some_and(|it| it.contains("/apis: 403")), "{found:?}");
}

/// A row whose objects nobody knows how to slim would be written without its content.
#[test]
fn every_kind_that_is_watched_is_known() {
    let fixed = [&NODES, &PODS, &NAMESPACES, &BUDGETS, &SUCCEEDED, &JOBS];
    let all = fixed.into_iter().chain(&GROUPINGS).chain(&STORAGE).chain(&OPTIONAL);
    for rows in all.map(Rows::from).chain([priority_classes()]) {
        let slim = ingest::slim(&rows.api_version, rows.object, named("x", json!({})));
        assert_eq!(slim["metadata"]["name"], "x", "{}", rows.word);
        assert_eq!(slim["kind"], rows.object);
    }
}
