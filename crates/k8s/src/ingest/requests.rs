//! What a pod asks for, summed over its containers.
//!
//! Ordinary init containers run one after the other before the others start, so the largest counts;
//! restartable ones keep running, so they add up. Requests for the pod as a whole replace the sum.
//! While a resize is under way the pod counts with the most that is wanted, granted or in use.

use model::{Charge, Quantity, Requests};

use super::quantity::{Amount, List, add, amounts, raise};
use super::view::{Container, ContainerStatus, PodSpecView, PodStatus, PodView};

/// All amounts of a pod.
pub(super) fn requests(pod: &PodView) -> Requests<String> {
    let defaults = List::from([
        ("cpu".into(), Amount(Quantity::from_milli(100))),
        ("memory".into(), Amount(Quantity::from_units(200 * 1024 * 1024))),
    ]);
    let charged = with_status(pod, &List::new());
    // Defaults stand in for what neither a container nor the pod as a whole asks for.
    let mut missing = defaults.clone();
    if has_pod_level(&pod.spec) {
        missing.retain(|name, _| !charged.contains_key(name));
    }
    let scored = if missing.is_empty() { charged.clone() } else { with_status(pod, &missing) };
    let scored = amounts(&scored);
    let mut fullness = containers(pod, Stage::Wanted, &defaults);
    add(&mut fullness, &pod.spec.overhead);
    Requests {
        fit: amounts(&from_spec(pod)),
        fullness: amounts(&fullness),
        charge: Charge {
            amounts: amounts(&charged),
            scored_cpu: scored.cpu,
            scored_memory: scored.memory,
        },
    }
}

/// What the spec alone asks for.
fn from_spec(pod: &PodView) -> List {
    let mut list = containers(pod, Stage::Wanted, &List::new());
    if has_pod_level(&pod.spec) {
        apply_pod_level(&mut list, pod_level(&pod.spec));
    }
    add(&mut list, &pod.spec.overhead);
    list
}

/// What the pod counts with, a resize under way included.
fn with_status(pod: &PodView, defaults: &List) -> List {
    let status = &pod.status;
    let is_infeasible = is_resize_infeasible(status);
    let used_by_pod = status.resources.as_ref().and_then(|resources| resources.requests.as_ref());
    let (granted, used) = match (&status.allocated_resources, used_by_pod) {
        (Some(granted), Some(used)) => (granted.clone(), used.clone()),
        _ => (containers(pod, Stage::Granted, defaults), containers(pod, Stage::Used, defaults)),
    };
    let mut list = used;
    raise(&mut list, &granted);
    if !is_infeasible {
        raise(&mut list, &containers(pod, Stage::Wanted, defaults));
    }
    if has_pod_level(&pod.spec) {
        let mut level = pod_level(&pod.spec).clone();
        if let Some(resources) = &status.resources {
            if is_infeasible {
                level.clear();
            }
            raise(&mut level, resources.requests.as_ref().unwrap_or(&List::new()));
            raise(&mut level, status.allocated_resources.as_ref().unwrap_or(&List::new()));
        }
        apply_pod_level(&mut list, &level);
    }
    add(&mut list, &pod.spec.overhead);
    list
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
        for (name, amount) in defaults {
            list.entry(name.clone()).or_insert(*amount);
        }
        list
    };
    let mut sum = List::new();
    pod.spec.containers.iter().for_each(|container| add(&mut sum, &request(container)));
    let (mut running, mut peak) = (List::new(), List::new());
    for container in &pod.spec.init_containers {
        let mut list = request(container);
        if container.is_restartable() {
            add(&mut sum, &list);
            add(&mut running, &list);
            raise(&mut peak, &running);
        } else {
            add(&mut list, &running);
            raise(&mut peak, &list);
        }
    }
    raise(&mut sum, &peak);
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

fn has_pod_level(spec: &PodSpecView) -> bool {
    pod_level(spec).keys().any(|name| is_pod_level(name))
}

/// Resources that can be asked for the pod as a whole.
fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn apply_pod_level(list: &mut List, level: &List) {
    let level = level.iter().filter(|(name, _)| is_pod_level(name));
    list.extend(level.map(|(name, amount)| (name.clone(), *amount)));
}
