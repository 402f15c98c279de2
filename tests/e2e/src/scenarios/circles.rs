//! Preemption whose victims come back. A pod must be alone in its zone; the one that is evicted for
//! it has a successor, which goes to the other node of the zone and keeps the pod out of it as the
//! first did.
//!
//! kube-scheduler evicts that one as well, and the next, without an end. This must end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::check::all_events;
use crate::objects::{Election, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, name_of, node_of};

const ZONE: &str = "topology.kubernetes.io/zone";

/// In which zone whose rule keeps the pod and the guests apart: it works both ways.
const ZONES: [(&str, Rule); 2] = [("a", Rule::OfPod), ("b", Rule::OfGuests)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    OfPod,
    OfGuests,
}

/// The first guest, and the successor that was on its way before it was known that they come back.
const EVICTIONS_MAX: usize = 2;

/// How often evictions are counted.
const WINDOWS: u32 = 5;

/// In each of two zones a Deployment's only pod must make way for a more important one. With
/// KubeNexus it does, and its successor waits; with kube-scheduler its successors are evicted for
/// as long as it is looked at.
pub(crate) fn evictions_end(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (zone, _) in ZONES {
            let mut template = node(zone, "4", "16Gi", 110);
            template["metadata"]["labels"][ZONE] = zone.into();
            world.create_nodes(2, &template).await?;
        }
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let path = format!("/apis/apps/v1/namespaces/{}/deployments", world.namespace);
        world.plane.create(&path, ZONES.into_iter().map(guests)).await?;
        world.wait_running(ZONES.len(), 30).await?;
        world.create_pods(ZONES.into_iter().map(alone)).await?;
        if world.is_reference {
            return goes_on(world).await;
        }
        let names: Vec<_> = ZONES.into_iter().map(|(zone, _)| alone_name(zone)).collect();
        until("both pods to be alone in their zones", Duration::from_secs(60), || async {
            let pods = world.pods().await?;
            let is_there = |name: &String| {
                pods.iter().any(|pod| name_of(pod) == name && node_of(pod).is_some())
            };
            let bound = names.iter().filter(|name| is_there(name)).count();
            let evictions = evictions(world).await?;
            Ok((bound == names.len()).then_some(()).ok_or(format!("{bound}, {evictions:?}")))
        })
        .await?;
        let counts = count(world).await?;
        for ((zone, rule), counts) in ZONES.into_iter().zip(counts) {
            let (before, after) = (counts[0], counts[counts.len() - 1]);
            let is_right = (1..=EVICTIONS_MAX).contains(&before) && after == before;
            ensure!(is_right, "zone {zone}, {rule:?}: evictions {counts:?}");
        }
        // Who comes after those that were evicted stays away, and says why.
        let waiting: Vec<_> = world.pods().await?;
        let waiting = waiting.iter().filter(|pod| node_of(pod).is_none());
        for pod in waiting.clone() {
            let text = "anti-affinity";
            world.wait_waiting(name_of(pod), "Unschedulable", text).await?;
        }
        ensure!(waiting.count() == ZONES.len(), "not every successor waits");
        Ok(())
    })
}

/// kube-scheduler: neither pod has got its zone, and guests are evicted in every window. Where this
/// fails, what docs/parity.md says about it is not so any more.
async fn goes_on(world: &World) -> Result<()> {
    let counts = count(world).await?;
    for ((zone, rule), counts) in ZONES.into_iter().zip(counts) {
        let pod = world.pod(&alone_name(zone)).await?;
        let goes_on = node_of(&pod).is_none() && counts.windows(2).all(|two| two[0] < two[1]);
        ensure!(goes_on, "zone {zone}, {rule:?}: it has ended: evictions {counts:?}");
    }
    Ok(())
}

/// Counts evictions as long as is wanted, and prints how many there were by when in each zone.
async fn count(world: &World) -> Result<[Vec<usize>; ZONES.len()]> {
    let (start, mut counts) = (Instant::now(), ZONES.map(|_| Vec::new()));
    for window in 0..=WINDOWS {
        let at = world.evictions_counted_for * window / WINDOWS;
        sleep(at.saturating_sub(start.elapsed())).await;
        for (counts, now) in counts.iter_mut().zip(evictions(world).await?) {
            counts.push(now);
        }
    }
    for ((zone, rule), counts) in ZONES.into_iter().zip(&counts) {
        let seconds = start.elapsed().as_secs_f64();
        println!("  zone {zone}, {rule:?}: evictions so far in {seconds:.0} s: {counts:?}");
    }
    Ok(counts)
}

/// How many pods were evicted in each zone, by the events about them.
async fn evictions(world: &World) -> Result<[usize; ZONES.len()]> {
    let events = all_events(world).await?;
    let count = |zone| {
        let start = format!("{}-", guests_name(zone));
        let is_it = |name: &Option<String>| name.as_ref().is_some_and(|it| it.starts_with(&start));
        let events = events.iter().filter(|event| event.reason.as_deref() == Some("Preempted"));
        events.filter(|event| event.regarding.as_ref().is_some_and(|it| is_it(&it.name))).count()
    };
    Ok(ZONES.map(|(zone, _)| count(zone)))
}

fn alone_name(zone: &str) -> String {
    format!("alone-{zone}")
}

fn guests_name(zone: &str) -> String {
    format!("guests-{zone}")
}

/// The pod that is to be alone in its zone.
fn alone((zone, rule): (&str, Rule)) -> Value {
    let mut pod = pod(&alone_name(zone), "1", "64Mi");
    pod["metadata"]["labels"]["app"] = alone_name(zone).into();
    pod["spec"]["priorityClassName"] = "system-cluster-critical".into();
    pod["spec"]["nodeSelector"] = json!({ZONE: zone});
    if rule == Rule::OfPod {
        pod["spec"]["affinity"] = apart_from(&guests_name(zone));
    }
    pod
}

/// The Deployment of the pod that has to go, which takes a second to leave and is replaced before.
fn guests((zone, rule): (&str, Rule)) -> Value {
    let name = guests_name(zone);
    let mut pod = pod(&name, "1", "64Mi");
    let spec = &mut pod["spec"];
    spec["nodeSelector"] = json!({ZONE: zone});
    spec["terminationGracePeriodSeconds"] = 1.into();
    if rule == Rule::OfGuests {
        spec["affinity"] = apart_from(&alone_name(zone));
    }
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {
                    "labels": {"app": name},
                    "annotations": {"leaves": "after-grace"},
                },
                "spec": pod["spec"],
            },
        },
    })
}

/// Not in one zone with these.
fn apart_from(app: &str) -> Value {
    json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{
        "topologyKey": ZONE,
        "labelSelector": {"matchLabels": {"app": app}},
    }]}})
}
