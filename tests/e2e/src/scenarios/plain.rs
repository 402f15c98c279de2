//! What users do every day: apply a file and expect pods to run.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;

use crate::check::{self, Expected, all_events, assigned};
use crate::objects::{Election, SCHEDULER, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, name_of, node_of};

/// The Deployment of ten of the README: all run, spread over zones and hosts, and each has its
/// event, word for word.
pub(crate) fn deployment(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (zone, count) in [("a", 1), ("b", 4)] {
            let mut template = node(zone, "4", "16Gi", 110);
            template["metadata"]["labels"]["topology.kubernetes.io/zone"] = zone.into();
            world.create_nodes(count, &template).await?;
        }
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.apply_example("deployment.yaml").await?;
        world.wait_running(10, 30).await?;
        let pods = world.pods().await?;
        let on =
            |part: &str| pods.iter().filter_map(node_of).filter(|at| at.starts_with(part)).count();
        ensure!(on("a") == 5 && on("b") == 5, "{} and {} pods are in the zones", on("a"), on("b"));
        let hosts: Vec<usize> = ["b-0", "b-1", "b-2", "b-3"].map(on).into();
        ensure!(hosts.iter().all(|count| [1, 2].contains(count)), "hosts have {hosts:?} pods");
        check::settled(world, &Expected::bound(10)).await?;
        check_events(world).await
    })
}

async fn check_events(world: &World) -> Result<()> {
    let host = hostname()?;
    let events = all_events(world).await?;
    for pod in world.pods().await? {
        let is_about = |name: &Option<String>| name.as_deref() == Some(name_of(&pod));
        let mine = events.iter().filter(|event| {
            let is_mine = event.regarding.as_ref().is_some_and(|it| is_about(&it.name));
            is_mine && event.reason.as_deref() == Some("Scheduled")
        });
        let mine: Vec<_> = mine.collect();
        ensure!(mine.len() == 1, "{} has {} Scheduled events", name_of(&pod), mine.len());
        let event = mine[0];
        let regarding = event.regarding.clone().unwrap_or_default();
        let found = json!({
            "type": event.type_, "action": event.action, "note": event.note,
            "controller": event.reporting_controller, "instance": event.reporting_instance,
            "has time": event.event_time.is_some(), "namespace": regarding.namespace,
            "kind": regarding.kind, "version": regarding.api_version, "uid": regarding.uid,
        });
        let expected = json!({
            "type": "Normal", "action": "Binding", "note": assigned(&pod),
            "controller": SCHEDULER, "instance": format!("{SCHEDULER}-{host}"),
            "has time": true, "namespace": world.namespace,
            "kind": "Pod", "version": "v1", "uid": pod.metadata.uid,
        });
        ensure!(found == expected, "an event differs:\n  found {found}\n  not   {expected}");
    }
    Ok(())
}

fn hostname() -> Result<String> {
    Ok(std::fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_owned())
}

/// A Job of eight completes.
pub(crate) fn job(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(3, &node("node", "4", "16Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.apply_example("job.yaml").await?;
        let jobs: Api<Job> = Api::namespaced(world.client.clone(), &world.namespace);
        until("the Job to complete", Duration::from_secs(60), || async {
            let jobs = jobs.list(&ListParams::default()).await?.items;
            let status = jobs.first().and_then(|job| job.status.clone()).unwrap_or_default();
            let conditions = status.conditions.clone().unwrap_or_default();
            let is_complete = conditions.iter().any(|it| it.type_ == "Complete");
            Ok((is_complete && status.succeeded == Some(8)).then_some(()).ok_or(json!(status)))
                .map(|state| state.map_err(|status| status.to_string()))
        })
        .await?;
        check::settled(world, &Expected::bound(8)).await
    })
}

/// A server without streaming lists is read page by page, and nothing is missing at the end.
pub(crate) fn paged_lists(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        // The pods fill all nodes but one. Who misses a page puts further pods onto full nodes.
        world.create_nodes(12, &node("node", "10", "64Gi", 110)).await?;
        for number in 0..11 {
            let mut template = pod(&format!("old-{number}"), "100m", "64Mi");
            template["spec"]["nodeName"] = format!("node-{number}").into();
            world.create_pods(many(&template, 100)).await?;
        }
        let old: BTreeSet<_> = world.pods().await?.iter().map(|it| name_of(it).into()).collect();
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        world.create_pods(many(&pod("new", "1", "64Mi"), 10)).await?;
        let pods = world.wait_bound(1110, 30).await?;
        let elsewhere = pods.iter().filter(|it| !old.contains(name_of(it)));
        let elsewhere = elsewhere.filter(|it| node_of(it) != Some("node-11")).count();
        ensure!(elsewhere == 0, "{elsewhere} pods were put onto full nodes");
        let record = proxy.record();
        let refused = record.iter().any(|it| it.is_streaming_list() && it.code == Some(200));
        ensure!(!refused, "the server has streaming lists after all");
        if !world.is_reference {
            let pages = record.iter().filter(|it| it.is_further_page()).count();
            ensure!(pages > 0, "no list was read page by page");
        }
        check::settled(world, &Expected { by_others: old, ..Expected::bound(1110) }).await
    })
}

/// With streaming lists, nothing is listed the old way.
pub(crate) fn streaming_lists(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(3, &node("node", "4", "16Gi", 110)).await?;
        world.create_pods(many(&pod("old", "100m", "64Mi"), 20)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        world.wait_bound(20, 30).await?;
        let record = proxy.record();
        for path in ["/api/v1/pods", "/api/v1/nodes"] {
            let mut all = record.iter().filter(|it| it.path == path && it.method == "GET");
            let is_streamed = all.clone().any(|it| it.is_streaming_list() && it.code == Some(200));
            ensure!(is_streamed, "{path} was not read as a streaming list");
            ensure!(all.all(|it| it.is_watch()), "{path} was listed the old way");
        }
        check::settled(world, &Expected::bound(20)).await
    })
}
