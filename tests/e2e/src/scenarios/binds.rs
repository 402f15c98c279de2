//! Binds that do not go as they should.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use control_plane::{Fault, Proxy};

use super::faults::held;
use super::others::bind;
use crate::check::{self, Expected};
use crate::objects::{Election, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, name_of, node_of};

/// Pods of each of these scenarios. They fill the nodes to the last place: room that a failed bind
/// still holds, or gives back twice, cannot hide.
const PODS: usize = 40;

/// Binds refused with 409, though nobody else has bound the pod.
pub(crate) fn answered_409(world: &mut World) -> Run<'_> {
    Box::pin(refused(world, 409))
}

/// Binds refused with 404, though pod and node are there.
pub(crate) fn answered_404(world: &mut World) -> Run<'_> {
    Box::pin(refused(world, 404))
}

/// Binds put off with 429 and Retry-After.
pub(crate) fn answered_429(world: &mut World) -> Run<'_> {
    Box::pin(refused(world, 429))
}

/// Binds that fail with 500.
pub(crate) fn answered_500(world: &mut World) -> Run<'_> {
    Box::pin(refused(world, 500))
}

async fn refused(world: &mut World, code: u16) -> Result<()> {
    faulty(world, Fault::Answer(code), 10, 60).await
}

/// Binds that nobody ever answers, and that the server never saw.
pub(crate) fn silence_before(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Swallow, 10, 90))
}

/// Binds that nobody ever answers, though the server acted.
pub(crate) fn silence_after(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Unanswered, 10, 90))
}

/// Connections that break after the server acted, before it answered.
pub(crate) fn cut_after(world: &mut World) -> Run<'_> {
    Box::pin(faulty(world, Fault::Cut, 10, 60))
}

/// Every third bind meets the fault, so that the others go on around it.
async fn faulty(world: &mut World, fault: Fault, count: usize, secs: u64) -> Result<()> {
    world.create_nodes(4, &node("node", "1", "16Gi", 110)).await?;
    let proxy = world.proxy()?;
    world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
    proxy.inject(fault.every(3, count));
    world.create_pods(many(&pod("pod", "100m", "64Mi"), PODS)).await?;
    world.wait_bound(PODS, secs).await?;
    let happened = proxy.record().iter().filter(|it| it.fault == Some(fault)).count();
    ensure!(happened == count, "the fault happened {happened} times, not {count}");
    check::settled(world, &Expected::bound(PODS)).await?;
    // Nothing is held for pods that are gone: the freed room can be used again, all of it.
    world.delete_pods().await?;
    world.create_pods(many(&pod("again", "100m", "64Mi"), PODS)).await?;
    world.wait_bound(PODS, 30).await?;
    let deleted = (0..PODS).map(|number| format!("pod-{number}")).collect();
    check::settled(world, &Expected { deleted, ..Expected::bound(PODS) }).await
}

/// Somebody else binds the pods while our binds are on their way: theirs count, and their room is
/// taken where they put them.
pub(crate) fn bound_by_others(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(2, &node("node", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off).spreading()).await?;
        proxy.inject(Fault::Hold.after(0));
        world.create_pods(many(&pod("first", "500m", "64Mi"), 2)).await?;
        holds(&proxy, 2).await?;
        // Our scheduler spreads them; now both are on the same node.
        for name in ["first-0", "first-1"] {
            bind(world, name, "node-0").await?;
        }
        proxy.release();
        world.create_pods(many(&pod("then", "500m", "64Mi"), 3)).await?;
        let pods = world.wait_bound(4, 30).await?;
        let refused = proxy.record().iter().filter(|it| it.code == Some(409)).count();
        ensure!(refused > 0, "no bind was refused with 409");
        for pod in pods.iter().filter(|pod| node_of(pod).is_none()) {
            world.wait_waiting(name_of(pod), "Unschedulable", "2 Insufficient cpu").await?;
        }
        let by_others: BTreeSet<_> = ["first-0".to_owned(), "first-1".to_owned()].into();
        let expected = Expected { bound: 4, waiting: 1, by_others, ..Expected::default() };
        check::settled(world, &expected).await
    })
}

/// A node is deleted between the decision and the bind. The API server binds all the same; what
/// counts is that the scheduler goes on, and knows the pods if the node comes back.
pub(crate) fn node_deleted(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let template = node("node", "1", "16Gi", 110);
        world.create_nodes(2, &template).await?;
        let proxy = world.proxy()?;
        world.run_scheduler(Start::through(&proxy, Election::Off).spreading()).await?;
        proxy.inject(Fault::Hold.after(0));
        world.create_pods(many(&pod("first", "250m", "64Mi"), 4)).await?;
        holds(&proxy, 4).await?;
        world.plane.kubectl(&["delete", "node", "node-0"]).await?;
        proxy.release();
        world.wait_bound(4, 30).await?;
        let aimed = proxy.record().iter().filter(|it| it.node.as_deref() == Some("node-0")).count();
        ensure!(aimed > 0, "no bind was on its way to node-0");
        world.create_pods(many(&pod("second", "250m", "64Mi"), 3)).await?;
        let pods = world.wait_bound(6, 30).await?;
        for pod in pods.iter().filter(|pod| node_of(pod).is_none()) {
            world.wait_waiting(name_of(pod), "Unschedulable", "Insufficient cpu").await?;
        }
        let gone: BTreeSet<_> = ["node-0".to_owned()].into();
        let expected = Expected { bound: 6, waiting: 1, gone, ..Expected::default() };
        check::settled(world, &expected).await?;
        // Two pods name it already: two of these three fit, besides the one that waits.
        world.create_pods(many(&pod("third", "250m", "64Mi"), 2)).await?;
        world.create_nodes(1, &template).await?;
        let pods = world.wait_bound(8, 30).await?;
        let left = pods.iter().find(|pod| node_of(pod).is_none()).context("one has no room")?;
        world.wait_waiting(name_of(left), "Unschedulable", "2 Insufficient cpu").await?;
        check::settled(world, &Expected { bound: 8, waiting: 1, ..Expected::default() }).await
    })
}

/// The scheduler is killed halfway through 500 pods, with binds on their way, and started again.
pub(crate) fn killed_halfway(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(50, &node("node", "1", "16Gi", 110)).await?;
        let proxy = world.proxy()?;
        let first = world.run_scheduler(Start::through(&proxy, Election::Off)).await?;
        proxy.inject(Fault::Hold.after(250));
        world.create_pods(many(&pod("pod", "100m", "64Mi"), 500)).await?;
        held(&proxy).await?;
        world.kill(first)?;
        let killed: BTreeSet<_> = bound_through(&proxy);
        ensure!(killed.len() >= 200, "only {} pods were bound before", killed.len());
        // What was on its way arrives when nobody waits for it.
        proxy.release();
        arrived(&proxy).await?;
        let without_event = bound_through(&proxy);
        let second = world.proxy()?;
        world.run_scheduler(Start::through(&second, Election::Off)).await?;
        world.wait_bound(500, 60).await?;
        let repeated = bound_through(&second).intersection(&without_event).count();
        ensure!(repeated == 0, "{repeated} pods were bound twice");
        check::settled(world, &Expected { without_event, ..Expected::bound(500) }).await
    })
}

/// The pods bound through a proxy.
pub(crate) fn bound_through(proxy: &Proxy) -> BTreeSet<String> {
    let name = |pod: String| pod.split_once('/').map(|(_, name)| name.to_owned());
    let record = proxy.record();
    record.iter().filter(|it| it.is_bound()).filter_map(|it| it.pod().and_then(name)).collect()
}

/// Waits until all held binds have been answered.
pub(crate) async fn arrived(proxy: &Proxy) -> Result<()> {
    until("the binds that were held to be answered", Duration::from_secs(30), || async {
        let record = proxy.record();
        let held = record.iter().filter(|it| it.fault == Some(Fault::Hold));
        let waiting = held.filter(|it| it.code.is_none()).count();
        Ok((waiting == 0).then_some(()).ok_or(format!("{waiting} are not")))
    })
    .await
}

/// Waits until so many binds are held.
pub(crate) async fn holds(proxy: &Proxy, count: usize) -> Result<()> {
    until(&format!("{count} binds to be held"), Duration::from_secs(30), || async {
        let held = proxy.held();
        Ok((held >= count).then_some(()).ok_or(format!("{held} are")))
    })
    .await
}
