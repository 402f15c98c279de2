//! What a pod asks for, summed over its containers.
//!
//! Ordinary init containers run one after the other before the others start, so the largest counts;
//! restartable ones keep running, so they add up. Requests for the pod as a whole replace the sum.
//! While a resize is under way the pod counts with the most that is wanted, granted or in use.

use model::{Charge, Quantity, Requests};

use super::quantity::{Amount, List, Resource};
use super::view::{Container, ContainerStatus, PodSpecView, PodStatus, PodView, Resources};

/// All amounts of a pod.
pub(super) fn requests(pod: &PodView) -> Requests<String> {
    let defaults = [
        (Resource::Cpu, Amount(Quantity::from_milli(100))),
        (Resource::Memory, Amount(Quantity::from_units(200 * 1024 * 1024))),
    ];
    let fit = from_spec(pod, &List::new());
    let charged = with_status(pod, &List::new());
    // Defaults stand in for what neither a container nor the pod as a whole asks for.
    let is_missing =
        |(resource, _): &(Resource, Amount)| !has_pod_level(&pod.spec) || !charged.has(resource);
    let missing: List = defaults.iter().filter(|amount| is_missing(amount)).cloned().collect();
    let scored = with_status(pod, &missing);
    let mut fullness = containers(pod, Stage::Wanted, &defaults.into_iter().collect());
    fullness.add(&pod.spec.overhead);
    Requests {
        fit: fit.amounts(),
        fullness: fullness.amounts(),
        charge: Charge {
            amounts: charged.amounts(),
            scored_cpu: scored.amounts().cpu,
            scored_memory: scored.amounts().memory,
        },
    }
}

/// All amounts of a pod with one container that asks for these.
pub(super) fn requests_of(list: &List) -> Requests<String> {
    let mut pod = PodView::default();
    let resources = Resources { requests: Some(list.clone()), limits: None };
    pod.spec.containers.push(Container { resources, ..Container::default() });
    requests(&pod)
}

/// What the spec alone asks for.
fn from_spec(pod: &PodView, defaults: &List) -> List {
    let mut list = containers(pod, Stage::Wanted, defaults);
    if has_pod_level(&pod.spec) {
        apply_pod_level(&mut list, pod_level(&pod.spec));
    }
    list.add(&pod.spec.overhead);
    list
}

/// What the pod counts with, a resize under way included.
fn with_status(pod: &PodView, defaults: &List) -> List {
    let status = &pod.status;
    if is_silent(status) {
        return from_spec(pod, defaults);
    }
    let is_infeasible = is_resize_infeasible(status);
    let used_by_pod = status.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let (granted, used) = match (&status.allocated_resources, used_by_pod) {
        (Some(granted), Some(used)) => (granted.clone(), used.clone()),
        _ => (containers(pod, Stage::Granted, defaults), containers(pod, Stage::Used, defaults)),
    };
    let mut list = used;
    list.raise(&granted);
    if !is_infeasible {
        list.raise(&containers(pod, Stage::Wanted, defaults));
    }
    if has_pod_level(&pod.spec) {
        let mut level = pod_level(&pod.spec).clone();
        if let Some(resources) = &status.resources {
            if is_infeasible {
                level = List::new();
            }
            let said = [&resources.requests, &status.allocated_resources];
            said.into_iter().flatten().for_each(|amounts| level.raise(amounts));
        }
        apply_pod_level(&mut list, &level);
    }
    list.add(&pod.spec.overhead);
    list
}

/// Whether the status says nothing about resources, as that of most pods: all stages are the same.
fn is_silent(status: &PodStatus) -> bool {
    let mut all = status.container_statuses.iter().chain(&status.init_container_statuses);
    status.resources.is_none()
        && status.allocated_resources.is_none()
        && !is_resize_infeasible(status)
        && all.all(|status| status.resources.is_none() && status.allocated_resources.is_none())
}

/// How far a request has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The spec asks for it.
    Wanted,
    /// The kubelet has set it aside.
    Granted,
    /// The container runs with it.
    Used,
}

/// The sum over the containers at a stage; `defaults` for what a container does not mention.
fn containers(pod: &PodView, stage: Stage, defaults: &List) -> List {
    let request = |container: &Container| {
        let mut list = request_at(pod, container, stage).cloned().unwrap_or_default();
        list.fill(defaults);
        list
    };
    let mut sum = List::new();
    pod.spec.containers.iter().for_each(|container| sum.add(&request(container)));
    let (mut running, mut peak) = (List::new(), List::new());
    for container in &pod.spec.init_containers {
        let mut list = request(container);
        if container.is_restartable() {
            sum.add(&list);
            running.add(&list);
            peak.raise(&running);
        } else {
            list.add(&running);
            peak.raise(&list);
        }
    }
    sum.raise(&peak);
    sum
}

fn request_at<'a>(pod: &'a PodView, container: &'a Container, stage: Stage) -> Option<&'a List> {
    let wanted = container.resources.requests.as_ref();
    if stage == Stage::Wanted {
        return wanted;
    }
    let status = status_of(&pod.status, &container.name);
    let granted = status.and_then(|status| status.allocated_resources.as_ref());
    let used = status.and_then(|status| status.resources.as_ref()?.requests.as_ref());
    let known = if stage == Stage::Used { used.or(granted) } else { granted };
    known.or_else(|| wanted.filter(|_| !is_resize_infeasible(&pod.status)))
}

fn status_of<'a>(status: &'a PodStatus, name: &str) -> Option<&'a ContainerStatus> {
    let mut all = status.container_statuses.iter().chain(&status.init_container_statuses);
    all.find(|status| status.name == name)
}

/// Whether the kubelet said that the resize asked for can never be had.
fn is_resize_infeasible(status: &PodStatus) -> bool {
    let pending = status.conditions.iter().find(|condition| condition.r#type == "PodResizePending");
    pending.is_some_and(|condition| condition.reason == "Infeasible")
}

fn pod_level(spec: &PodSpecView) -> &List {
    static NONE: List = List::new();
    spec.resources.as_ref().and_then(|resources| resources.requests.as_ref()).unwrap_or(&NONE)
}

pub(super) fn has_pod_level(spec: &PodSpecView) -> bool {
    pod_level(spec).iter().any(|(resource, _)| resource.is_pod_level())
}

fn apply_pod_level(list: &mut List, level: &List) {
    let level = level.iter().filter(|(resource, _)| resource.is_pod_level());
    level.for_each(|(resource, amount)| list.set(resource, *amount));
}
