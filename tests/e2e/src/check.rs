//! What must hold after every scenario, whatever happened in it. Only the API's objects and the
//! API server's audit log are asked, never the scheduler.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use control_plane::Call;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;

use crate::cards;
use crate::fit;
use crate::objects::{PACKING, SCHEDULER};
use crate::wait::until;
use crate::world::{World, condition_of, name_of, node_of};
use crate::zones;

/// How long after the last bind every `Scheduled` event is there.
const EVENTS_WITHIN: Duration = Duration::from_secs(60);

/// What a scenario expects of its pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// How many are bound.
    pub(crate) bound: usize,
    /// How many wait.
    pub(crate) waiting: usize,
    /// Pods somebody else has bound.
    pub(crate) by_others: BTreeSet<String>,
    /// Pods bound by a scheduler that was killed before it could tell.
    pub(crate) without_event: BTreeSet<String>,
    /// Pods that were bound and are deleted.
    pub(crate) deleted: BTreeSet<String>,
    /// The API server was killed, and with it the knowledge of what it did at that moment.
    pub(crate) is_audit_lost: bool,
    /// Nodes that went away while pods were on their way to them.
    pub(crate) gone: BTreeSet<String>,
}

impl Expected {
    /// So many are bound and none waits.
    pub(crate) fn bound(count: usize) -> Self {
        Self { bound: count, ..Self::default() }
    }
}

/// Every pod of ours is bound exactly once or waits for a true reason, no node holds more than it
/// can, nothing is lost, and every bind has its event.
pub(crate) async fn settled(world: &World, expected: &Expected) -> Result<()> {
    let pods = world.pods().await?;
    let is_ours = |pod: &&Pod| [SCHEDULER, PACKING].contains(&scheduler_of(pod));
    let (bound, waiting): (Vec<_>, Vec<_>) =
        pods.iter().filter(is_ours).partition(|pod| node_of(pod).is_some());
    let is_complete = bound.len() == expected.bound && waiting.len() == expected.waiting;
    ensure!(
        is_complete,
        "{} pods are bound and {} wait, expected were {} and {}",
        bound.len(),
        waiting.len(),
        expected.bound,
        expected.waiting
    );
    let nodes = world.nodes().await?;
    fit::check_capacity(&nodes, &pods)?;
    zones::check_capacity(&nodes, &pods)?;
    cards::check_capacity(&nodes, &pods)?;
    for pod in &waiting {
        check_reason(pod)?;
        fit::check_waiting(pod, &nodes, &pods)?;
    }
    for pod in &bound {
        let node = node_of(pod).unwrap_or_default();
        let is_there = nodes.iter().any(|other| other.metadata.name.as_deref() == Some(node));
        let is_known = is_there || expected.gone.contains(node);
        ensure!(is_known, "{} is bound to {node}, which does not exist", name_of(pod));
        let condition = condition_of(pod, "PodScheduled");
        let is_right = condition["status"] != "False";
        ensure!(is_right, "{} is bound, and its status says {condition}", name_of(pod));
    }
    bound_once(world, &bound, expected)?;
    events(world, &bound, expected).await
}

fn check_reason(pod: &Pod) -> Result<()> {
    let condition = condition_of(pod, "PodScheduled");
    let is_right = condition["status"] == "False"
        && (condition["reason"] == "Unschedulable" || condition["reason"] == "SchedulingGated")
        && !condition["message"].as_str().unwrap_or_default().is_empty();
    ensure!(is_right, "{} waits without a reason: {condition}", name_of(pod));
    Ok(())
}

/// The API server says that it bound each pod once, and no other.
fn bound_once(world: &World, bound: &[&Pod], expected: &Expected) -> Result<()> {
    let mut calls = world.plane.audit()?;
    calls.retain(|it| it.resource == "pods/binding" && it.namespace == world.namespace);
    let mut binds = tally(calls);
    for pod in bound {
        let name = name_of(pod);
        let by_us = usize::from(!expected.by_others.contains(name));
        let Binds { certain, doubtful } = binds.remove(name).unwrap_or_default();
        let is_lost = expected.is_audit_lost || doubtful > 0;
        let is_right = certain == by_us || certain == 0 && is_lost;
        ensure!(is_right, "{name} was bound {certain} times, not {by_us}");
    }
    binds.retain(|pod, binds| match binds.certain {
        0 => false,
        1 => !expected.deleted.contains(pod),
        _ => true,
    });
    if let Some((pod, _)) = binds.pop_first() {
        bail!("{pod} was bound twice, or is not there, or not ours");
    }
    Ok(())
}

/// What the API server says of the binds of one pod.
#[derive(Clone, Copy, Debug, Default)]
struct Binds {
    /// It did what was asked.
    certain: usize,
    /// It may have done so before something went wrong, as when the line was cut.
    doubtful: usize,
}

fn tally(calls: Vec<Call>) -> BTreeMap<String, Binds> {
    let mut binds: BTreeMap<String, Binds> = BTreeMap::new();
    for call in calls {
        let binds = binds.entry(call.name).or_default();
        binds.certain += usize::from(call.code == 201);
        binds.doubtful += usize::from(call.code >= 500);
    }
    binds
}

async fn events(world: &World, bound: &[&Pod], expected: &Expected) -> Result<()> {
    until("every bind's Scheduled event", EVENTS_WITHIN, || async {
        let told: BTreeSet<_> = events_of(world, "Scheduled").await?;
        let missing: Vec<_> = bound
            .iter()
            .filter(|pod| !expected.without_event.contains(name_of(pod)))
            .filter(|pod| !expected.by_others.contains(name_of(pod)))
            .map(|pod| (name_of(pod), assigned(pod)))
            .filter(|(name, note)| !told.contains(&((*name).to_owned(), note.clone())))
            .collect();
        let Some((name, note)) = missing.first() else { return Ok(Ok(())) };
        Ok(Err(format!("{} are missing, for {name}: {note}", missing.len())))
    })
    .await
}

/// Every event of ours about a pod names the version of the pod that it is about.
pub(crate) async fn versions(world: &World) -> Result<()> {
    for event in all_events(world).await? {
        let by = event.reporting_controller.as_deref().unwrap_or_default();
        let about = event.regarding.unwrap_or_default();
        let is_ours = [SCHEDULER, PACKING].contains(&by) && about.kind.as_deref() == Some("Pod");
        let is_right = !is_ours || about.resource_version.is_some();
        ensure!(is_right, "{:?} about {:?} names no version", event.reason, about.name);
    }
    Ok(())
}

/// What a pod's `Scheduled` event says.
pub(crate) fn assigned(pod: &Pod) -> String {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let node = node_of(pod).unwrap_or_default();
    format!("Successfully assigned {namespace}/{} to {node}", name_of(pod))
}

/// Name of the pod and note of all events with this reason.
async fn events_of(world: &World, reason: &str) -> Result<BTreeSet<(String, String)>> {
    let events = all_events(world).await?.into_iter();
    let events = events.filter(|event| event.reason.as_deref() == Some(reason));
    let about = |event: &Event| event.regarding.as_ref()?.name.clone();
    Ok(events
        .map(|event| (about(&event).unwrap_or_default(), event.note.unwrap_or_default()))
        .collect())
}

/// All events of the scenario's namespace.
pub(crate) async fn all_events(world: &World) -> Result<Vec<Event>> {
    let events: Api<Event> = Api::namespaced(world.client.clone(), &world.namespace);
    Ok(events.list(&ListParams::default()).await?.items)
}

fn scheduler_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.scheduler_name.as_deref()).unwrap_or_default()
}
