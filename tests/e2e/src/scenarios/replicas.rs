//! Two replicas, of which one leads.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use control_plane::{Fault, Proxy, Signal};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;

use super::binds::{arrived, bound_through};
use super::faults::held;
use crate::check::{self, Expected};
use crate::objects::{Election, SCHEDULER, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World};

/// The leader is killed; the other replica takes over once the lease has run out.
pub(crate) fn leader_killed(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(10, &node("node", "2", "16Gi", 110)).await?;
        let (one, two) = (world.proxy()?, world.proxy()?);
        let leader = world.run_scheduler(Start::through(&one, Election::Quick)).await?;
        holder(world, None).await?;
        world.run_scheduler(Start::through(&two, Election::Quick)).await?;
        one.inject(Fault::Hold.after(60));
        world.create_pods(many(&pod("pod", "100m", "64Mi"), 150)).await?;
        held(&one).await?;
        world.kill(leader)?;
        one.release();
        arrived(&one).await?;
        let without_event = bound_through(&one);
        ensure!(bound_through(&two).is_empty(), "the standby binds while another leads");
        world.wait_bound(150, 60).await?;
        ensure!(!bound_through(&two).is_empty(), "the standby has bound nothing");
        check::settled(world, &Expected { without_event, ..Expected::bound(150) }).await
    })
}

/// The leader is frozen past its lease, and thawed when another leads: it binds nothing more, and
/// ends with 1.
pub(crate) fn leader_frozen(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(20, &node("node", "2", "16Gi", 110)).await?;
        let (one, two) = (world.proxy()?, world.proxy()?);
        // Slow enough to be frozen with most of the work ahead of it.
        let mut slow = Start::through(&one, Election::Quick);
        slow.config["clientConnection"]["qps"] = 40.into();
        slow.config["clientConnection"]["burst"] = 10.into();
        let leader = world.run_scheduler(slow).await?;
        let first = holder(world, None).await?;
        world.run_scheduler(Start::through(&two, Election::Quick)).await?;
        world.create_pods(many(&pod("pod", "100m", "64Mi"), 200)).await?;
        world.wait_bound(20, 30).await?;
        world.replicas[leader].scheduler.signal(Signal::Stop)?;
        ensure!(world.pods().await?.len() == 200, "not all pods were there");
        let frozen = binds(&one);
        holder(world, Some(&first)).await?;
        world.wait_bound(200, 60).await?;
        ensure!(binds(&one) <= frozen + 1, "the frozen leader was not frozen");
        ensure!(!bound_through(&two).is_empty(), "the standby has bound nothing");
        let without_event = bound_through(&one);
        let thawed = binds(&one);
        // Work for whoever believes it leads.
        world.create_pods(many(&pod("more", "100m", "64Mi"), 50)).await?;
        world.replicas[leader].scheduler.signal(Signal::Continue)?;
        world.must_exit(leader, 1, 15).await?;
        let more = binds(&one) - thawed;
        // kube-scheduler does not look before it sends.
        let is_right = more == 0 || world.is_reference;
        ensure!(is_right, "the former leader sent {more} binds after it was thawed");
        world.wait_bound(250, 60).await?;
        check::settled(world, &Expected { without_event, ..Expected::bound(250) }).await
    })
}

/// A leader that is asked to end finishes the binds under way and gives the lease back, so that
/// the next one need not wait for it to run out.
pub(crate) fn leader_ends(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(10, &node("node", "2", "16Gi", 110)).await?;
        let one = world.proxy()?;
        // The lease lasts longer than anybody here waits for it.
        let leader = world.run_scheduler(Start::through(&one, Election::Deployed)).await?;
        holder(world, None).await?;
        end_while_binding(world, &one, leader, "alone").await?;
        let left = lease(world).await?;
        ensure!(left.is_none(), "the lease is still held by {left:?}");
        let two = world.proxy()?;
        let leader = world.run_scheduler(Start::through(&two, Election::Deployed)).await?;
        let second = holder(world, None).await?;
        world.run_scheduler(Start::plain(Election::Deployed)).await?;
        world.wait_bound(60, 30).await?;
        end_while_binding(world, &two, leader, "two").await?;
        let ended = Instant::now();
        holder(world, Some(&second)).await?;
        let took = ended.elapsed();
        let is_quick = took < Duration::from_secs(8);
        ensure!(is_quick, "the standby led after {took:?}: the lease was not given back");
        world.wait_bound(120, 60).await?;
        check::settled(world, &Expected::bound(120)).await
    })
}

/// Asks a scheduler to end while some of 60 binds are held, and lets them go on once it has heard.
/// That it waited for their answers shows later: only who has them writes the events.
async fn end_while_binding(
    world: &mut World,
    proxy: &Proxy,
    leader: usize,
    name: &str,
) -> Result<()> {
    proxy.inject(Fault::Hold.after(20));
    world.create_pods(many(&pod(name, "100m", "64Mi"), 60)).await?;
    held(proxy).await?;
    let scheduler = &mut world.replicas[leader].scheduler;
    scheduler.signal(Signal::Terminate)?;
    until("the scheduler to be unready", Duration::from_secs(10), || async {
        let answer = scheduler.get("/readyz", None).await?;
        Ok((answer.code != 200).then_some(()).ok_or(answer.body))
    })
    .await
    .context("it did not wait for the binds under way")?;
    proxy.release();
    world.must_exit(leader, 0, 20).await
}

/// Waits until somebody holds the lease, but not `except`.
async fn holder(world: &World, except: Option<&str>) -> Result<String> {
    until("a leader", Duration::from_secs(30), || async {
        let holder = lease(world).await?;
        Ok(holder.filter(|it| Some(it.as_str()) != except).ok_or(format!("not {except:?}")))
    })
    .await
}

/// Who holds the lease.
async fn lease(world: &World) -> Result<Option<String>> {
    let leases: Api<Lease> = Api::namespaced(world.client.clone(), "kube-system");
    let lease = leases.get_opt(SCHEDULER).await.context("reading the lease")?;
    let holder = lease.and_then(|lease| lease.spec?.holder_identity);
    Ok(holder.filter(|holder| !holder.is_empty()))
}

/// How many binds were sent through a proxy.
fn binds(proxy: &Proxy) -> usize {
    proxy.record().iter().filter(|it| it.is_bind()).count()
}
