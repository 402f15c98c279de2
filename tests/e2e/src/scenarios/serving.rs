//! What a scheduler serves, and to whom.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use control_plane::User;
use serde_json::json;

use crate::check::{self, Expected};
use crate::objects::{Election, SCHEDULER, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, name_of, phase_of};

/// Health is for everybody, metrics are for those who may read them, and a standby is ready.
pub(crate) fn serving(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
        let leader = world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.create_pods(many(&pod("pod", "100m", "64Mi"), 3)).await?;
        world.wait_bound(3, 30).await?;
        // Waits for /readyz, without being the leader.
        let standby = world.run_scheduler(Start::plain(Election::Quick)).await?;
        for index in [leader, standby] {
            for path in ["/livez", "/readyz", "/healthz"] {
                let answer = world.replicas[index].scheduler.get(path, None).await?;
                ensure!(answer.code == 200, "{path} is answered with {answer:?}");
                ensure!(answer.body.trim() == "ok", "{path} says {:?}", answer.body);
            }
        }
        allow_metrics(world).await?;
        refuses(world, leader).await?;
        metrics(world, leader).await?;
        check::settled(world, &Expected::bound(3)).await
    })
}

/// A pod that the kubelet does not take fails: it is counted, and its room is free for another one.
pub(crate) fn kubelet_rejects(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &node("node", "1", "16Gi", 110)).await?;
        let index = world.run_scheduler(Start::plain(Election::Quick)).await?;
        let mut rejected = pod("rejected", "1", "64Mi");
        rejected["metadata"]["annotations"] = json!({"rejected": "OutOfcpu"});
        world.create_pods([rejected].into_iter()).await?;
        world.create_pods([pod("next", "1", "64Mi")].into_iter()).await?;
        world.wait_bound(2, 30).await?;
        let pods = world.wait_running(1, 30).await?;
        let failed = pods.iter().find(|pod| name_of(pod) == "rejected").map(phase_of);
        ensure!(failed == Some("Failed"), "the pod that is not taken is {failed:?}");
        until("the pod to be counted", Duration::from_secs(10), || async {
            let scheduler = &world.replicas[index].scheduler;
            let text = scheduler.get("/metrics", Some(&User::Admin.token())).await?.body;
            let is_meant = |line: &&str| line.starts_with("kubenexus_rejected_by_kubelet_total");
            let line = text.lines().find(is_meant).unwrap_or("nothing").to_owned();
            Ok(line.ends_with(" 1").then_some(()).ok_or(line))
        })
        .await?;
        check::settled(world, &Expected::bound(2)).await
    })
}

/// Lets one user read metrics, as docs/install.md says.
async fn allow_metrics(world: &World) -> Result<()> {
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({
        "metadata": {"name": "metrics-reader"},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
    });
    world.plane.create(&format!("{rbac}/clusterroles"), [role].into_iter()).await?;
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": {"name": "metrics-reader"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "metrics-reader"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": User::Reader.name()}],
    });
    world.plane.create(&format!("{rbac}/clusterrolebindings"), [binding].into_iter()).await
}

async fn refuses(world: &World, index: usize) -> Result<()> {
    let scheduler = &world.replicas[index].scheduler;
    // kube-scheduler knows a nobody and refuses that one.
    let stranger = if world.is_reference { 403 } else { 401 };
    let (nobody, reader) = (User::Nobody.token(), User::Reader.token());
    let cases = [
        ("/metrics", None, stranger),
        ("/metrics", Some("not a token"), 401),
        ("/metrics", Some(nobody.as_str()), 403),
        ("/metrics", Some(reader.as_str()), 200),
        ("/configz", None, stranger),
        ("/configz", Some(reader.as_str()), 403),
        ("/configz", Some(&User::Admin.token()), 200),
    ];
    for (path, token, code) in cases {
        let answer = scheduler.get(path, token).await?;
        let found = answer.code;
        ensure!(found == code, "{path} with token {token:?} is answered with {found}, not {code}");
    }
    Ok(())
}

async fn metrics(world: &World, index: usize) -> Result<()> {
    let scheduler = &world.replicas[index].scheduler;
    let text = scheduler.get("/metrics", Some(&User::Reader.token())).await?.body;
    for name in [
        "scheduler_schedule_attempts_total",
        "scheduler_scheduling_attempt_duration_seconds_bucket",
        "scheduler_pending_pods",
        "scheduler_pod_scheduling_sli_duration_seconds_bucket",
        "scheduler_cache_size",
        "leader_election_master_status",
        "process_resident_memory_bytes",
    ] {
        let is_there = text.lines().any(|line| line.starts_with(name));
        ensure!(is_there, "/metrics has no {name}");
    }
    let is_count = |line: &&str| {
        line.starts_with("scheduler_schedule_attempts_total{")
            && line.contains("result=\"scheduled\"")
            && line.contains(&format!("profile=\"{SCHEDULER}\""))
    };
    let line = text.lines().find(is_count).context("no scheduled attempts are counted")?;
    let count: f64 = line.rsplit(' ').next().unwrap_or_default().parse()?;
    ensure!(count >= 3.0, "three pods are bound, but: {line}");
    Ok(())
}
