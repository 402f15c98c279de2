//! What is known of nodes and of pods: kubelets, zones that nobody tells of, words that mean
//! nothing, and the zones of pods that an earlier scheduler bound.

use anyhow::{Result, ensure};
use serde_json::json;

use super::{
    POLICY, annotated, bound_and_no_more, create, delete, exclusive, goes_to, machine, notes,
    placed, waits, with_kubelet,
};
use crate::check::{self, Expected, all_events};
use crate::objects::{Election, SCHEDULER, node};
use crate::suite::Run;
use crate::world::{Start, World, condition_of};

/// A pod that says nothing of zones is kept off a node whose kubelet would reject it, and told so.
/// In the profile of kube-scheduler it is bound there, and no zone is written on it.
pub(crate) fn kubelet(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let strict = with_kubelet(machine("strict", 4, 16, &[0, 0]), "single-numa-node");
        world.create_nodes(1, &strict).await?;
        for zone in ["0", "1"] {
            let filler = exclusive(&format!("filler-{zone}"), 1, 1, 0);
            create(world, placed(filler, "strict-0", zone)).await?;
        }
        let mut start = Start::plain(Election::Quick);
        start.config["profiles"] =
            json!([{"schedulerName": SCHEDULER}, {"schedulerName": "default-scheduler"}]);
        world.run_scheduler(start).await?;
        create(world, exclusive("ours", 4, 1, 0)).await?;
        let why = "1 node(s) had a kubelet that would reject the pod with TopologyAffinityError";
        waits(world, "ours", 1, why).await?;
        let mut plain = exclusive("plain", 4, 1, 0);
        plain["spec"]["schedulerName"] = "default-scheduler".into();
        create(world, plain).await?;
        goes_to(world, "plain", "strict-0", None).await?;
        delete(world, "plain").await?;

        // Nobody tells of its zones, and the pod does not insist on any.
        world.create_nodes(1, &node("bare", "4", "16Gi", 110)).await?;
        goes_to(world, "ours", "bare-0", None).await?;
        // What fits a zone is bound there, and both words agree.
        create(world, exclusive("fits", 3, 1, 0)).await?;
        goes_to(world, "fits", "strict-0", Some("0")).await?;
        bound_and_no_more(world, &["plain", "fits"])?;
        let by_others = ["filler-0".to_owned(), "filler-1".to_owned()].into();
        let deleted = ["plain".to_owned()].into();
        check::settled(world, &Expected { by_others, deleted, ..Expected::bound(4) }).await
    })
}

/// Nodes of which no zones are known are refused to pods that insist on zones, and to no others;
/// with `unknownTopology: allow` to nobody. A constraint that means nothing is named in the
/// condition until it is corrected, a hint that means nothing in one event.
pub(crate) fn unknown(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &node("bare", "16", "64Gi", 110)).await?;
        let first = world.run_scheduler(Start::plain(Election::Off)).await?;
        create(world, annotated(exclusive("strict", 2, 1, 0), POLICY, "single-numa")).await?;
        let why = "1 node(s) had unknown NUMA topology, and the pod asks for single-numa";
        waits(world, "strict", 1, why).await?;
        create(world, exclusive("silent", 2, 1, 0)).await?;
        create(world, annotated(exclusive("lenient", 2, 1, 0), POLICY, "best-effort")).await?;
        goes_to(world, "silent", "bare-0", None).await?;
        goes_to(world, "lenient", "bare-0", None).await?;
        words(world).await?;

        world.kill(first)?;
        let mut allowing = Start::plain(Election::Off);
        allowing.config["profiles"][0]["pluginConfig"] =
            json!([{"name": "NUMATopology", "args": {"unknownTopology": "allow"}}]);
        world.run_scheduler(allowing).await?;
        goes_to(world, "strict", "bare-0", None).await?;
        check::settled(world, &Expected::bound(6)).await
    })
}

/// Pods with words that mean nothing.
async fn words(world: &World) -> Result<()> {
    create(world, annotated(exclusive("wrong", 1, 1, 0), POLICY, "single")).await?;
    let expected = "none, best-effort, restricted, single-numa or isolated";
    let fault = format!("annotation {POLICY} is \"single\": expected {expected}");
    let pod = world.wait_waiting("wrong", "Unschedulable", &fault).await?;
    let message = condition_of(&pod, "PodScheduled")["message"].clone();
    let start = format!("0/1 nodes are available: NUMA request: {fault}.");
    ensure!(message.as_str().unwrap_or_default().starts_with(&start), "{message}");
    let path = format!("/api/v1/namespaces/{}/pods/wrong", world.namespace);
    let right = json!({"metadata": {"annotations": {POLICY: "none"}}});
    world.patch(&path, &right).await?;
    goes_to(world, "wrong", "bare-0", None).await?;

    let spread = "scheduling.kubenexus.io/gang-numa-spread";
    for name in ["hint-0", "hint-1"] {
        create(world, annotated(exclusive(name, 1, 1, 0), spread, "stacked")).await?;
        goes_to(world, name, "bare-0", None).await?;
    }
    let told = notes(world, "HintIgnored", "hint-0").await?;
    let expected = "expected packed, balanced or isolated; it is ignored";
    ensure!(told == [format!("{spread} is \"stacked\"; {expected}")], "{told:?}");
    // Whoever is killed does not write what is to be told later.
    check::settled(world, &Expected { bound: 5, waiting: 1, ..Expected::default() }).await?;
    let events = all_events(world).await?;
    let all = events.iter().filter(|event| event.reason.as_deref() == Some("HintIgnored")).count();
    ensure!(all == 1, "the same hint is told {all} times");
    Ok(())
}

/// A scheduler that starts anew charges pods to the zones that are written on them: the next pod
/// goes to the zone that is free, which is not the one that pods of an empty node get.
pub(crate) fn restart(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &machine("host", 8, 32, &[2, 2])).await?;
        create(world, placed(exclusive("filler", 6, 1, 2), "host-0", "0")).await?;
        let first = world.run_scheduler(Start::plain(Election::Off)).await?;
        let asked = |pod| annotated(pod, POLICY, "single-numa");
        create(world, asked(exclusive("before", 4, 1, 2))).await?;
        goes_to(world, "before", "host-0", Some("1")).await?;
        // Whoever is killed does not write what is to be told later.
        let by_others = ["filler".to_owned()].into();
        check::settled(world, &Expected { by_others, ..Expected::bound(2) }).await?;
        world.kill(first)?;
        delete(world, "filler").await?;

        world.run_scheduler(Start::plain(Election::Off)).await?;
        create(world, asked(exclusive("wide", 6, 1, 2))).await?;
        goes_to(world, "wide", "host-0", Some("0")).await?;
        create(world, asked(exclusive("rest", 4, 1, 0))).await?;
        goes_to(world, "rest", "host-0", Some("1")).await?;
        check::settled(world, &Expected::bound(3)).await
    })
}
