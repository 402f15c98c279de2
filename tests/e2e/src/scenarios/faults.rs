//! Servers and networks on bad days.

use std::time::Duration;

use anyhow::{Result, ensure};
use control_plane::{Fault, Proxy};
use serde_json::json;

use super::binds::arrived;
use crate::check::{self, Expected};
use crate::objects::{Election, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World};

/// The API server is killed and started again while 300 pods are being bound.
pub(crate) fn apiserver_restart(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(30, &node("node", "4", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Deployed)).await?;
        proxy.inject(Fault::Hold.after(100));
        world.create_pods(many(&pod("pod", "300m", "64Mi"), 300)).await?;
        held(&proxy).await?;
        world.plane.kill_apiserver()?;
        // The binds under way meet a server that is not there.
        proxy.release();
        world.plane.start_apiserver().await?;
        world.wait_bound(300, 90).await?;
        let lost = proxy.record().iter().filter(|it| it.is_bind() && it.code.is_none()).count();
        ensure!(lost > 0, "no bind met the server that was not there");
        let expected = Expected { is_audit_lost: true, ..Expected::bound(300) };
        check::settled(world, &expected).await
    })
}

/// Watches are cut again and again, while pods and nodes come and go.
pub(crate) fn watches_cut(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        // Room for 120 pods, half of it on nodes that come between the cuts.
        world.create_nodes(6, &node("first", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        let mut cut = 0;
        for round in 0..4 {
            let template = pod(&format!("pod-{round}"), "100m", "64Mi");
            world.create_pods(many(&template, 15)).await?;
            cut += proxy.cut_watches();
            world.create_pods(many(&pod(&format!("more-{round}"), "100m", "64Mi"), 15)).await?;
            if round == 2 {
                // Only re-read, or told by a watch that goes on where it was: never by the watch
                // that was cut.
                world.create_nodes(6, &node("second", "1", "16Gi", 110)).await?;
            }
            watches_again(&proxy).await?;
        }
        ensure!(cut >= 8, "only {cut} watches were cut");
        world.wait_bound(120, 60).await?;
        check::settled(world, &Expected::bound(120)).await
    })
}

/// Waits until pods and nodes are watched again.
async fn watches_again(proxy: &Proxy) -> Result<()> {
    until("pods and nodes to be watched again", Duration::from_secs(30), || async {
        let record = proxy.record();
        let open = |path: &str| {
            let mut watches = record.iter().filter(|it| it.path == path && it.is_watch());
            watches.next_back().is_some_and(|it| it.code == Some(200) && it.is_open)
        };
        let is_watched = open("/api/v1/pods") && open("/api/v1/nodes");
        Ok(is_watched.then_some(()).ok_or("one of them is not".into()))
    })
    .await
}

/// Watches are cut and come back late: etcd was compacted and the API server restarted meanwhile,
/// so that they are answered with 410, and what was missed is in none of them.
pub(crate) fn compaction(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        // Node 0 goes away, its pods too; node 1 becomes free; node 2 comes.
        world.create_nodes(2, &node("node", "2", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        world.create_pods(many(&pod("old", "1", "64Mi"), 4)).await?;
        world.wait_bound(4, 30).await?;
        check::settled(world, &Expected::bound(4)).await?;
        proxy.hold_watches(true);
        ensure!(proxy.cut_watches() >= 2, "pods and nodes were not watched");
        world.plane.kubectl(&["delete", "node", "node-0"]).await?;
        world.delete_pods().await?;
        let mut late = node("late", "2", "16Gi", 110);
        late["metadata"]["labels"] = json!({"example.com/late": "yes"});
        world.create_nodes(1, &late).await?;
        let mut missed = pod("missed", "1", "64Mi");
        missed["spec"]["nodeSelector"] = json!({"example.com/late": "yes"});
        world.create_pods([missed].into_iter()).await?;
        world.plane.compact_etcd().await?;
        world.plane.restart_apiserver().await?;
        proxy.hold_watches(false);
        // Who has bound it has read pods and nodes again.
        world.wait_bound(1, 60).await?;
        // One more has room on late-0, two on node-1, and one nowhere.
        world.create_pods(many(&pod("new", "1", "64Mi"), 4)).await?;
        world.wait_bound(4, 30).await?;
        let record = proxy.record();
        for path in ["/api/v1/pods", "/api/v1/nodes"] {
            let is_expired = record.iter().any(|it| it.path == path && it.is_expired);
            // kube-scheduler lists nodes again when a watch without news is cut.
            let is_right = is_expired || world.is_reference && path == "/api/v1/nodes";
            ensure!(is_right, "the watch of {path} was not told that it is too old");
        }
        waits(world).await?;
        let deleted = (0..4).map(|number| format!("old-{number}")).collect();
        let expected = Expected { bound: 4, waiting: 1, deleted, ..Expected::default() };
        check::settled(world, &expected).await
    })
}

/// The scheduler is cut off for a while, with binds under way that arrive and answers that do not.
pub(crate) fn cut_off(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        // Room for exactly 60.
        world.create_nodes(6, &node("node", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        proxy.inject(Fault::Hold.after(10));
        world.create_pods(many(&pod("pod", "100m", "64Mi"), 40)).await?;
        held(&proxy).await?;
        proxy.refuse(true);
        proxy.release();
        arrived(&proxy).await?;
        world.create_pods(many(&pod("more", "100m", "64Mi"), 20)).await?;
        proxy.refuse(false);
        world.wait_bound(60, 90).await?;
        check::settled(world, &Expected::bound(60)).await
    })
}

/// Waits until a pod without a node has a reason.
async fn waits(world: &World) -> Result<()> {
    for pod in world.pods().await? {
        if crate::world::node_of(&pod).is_none() {
            let name = crate::world::name_of(&pod);
            world.wait_waiting(name, "Unschedulable", "nodes are available").await?;
        }
    }
    Ok(())
}

/// Waits until a bind is held.
pub(crate) async fn held(proxy: &Proxy) -> Result<()> {
    until("a bind to be held", Duration::from_secs(30), || async {
        Ok((proxy.held() > 0).then_some(()).ok_or("none is".into()))
    })
    .await
}
