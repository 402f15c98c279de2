//! What the containers of a pod ask the managers of a kubelet for: whole CPUs, memory and devices.

use model::topology::{ContainerAsk, ContainerRole, PodAsk};
use model::{NumaPolicy, NumaWish, is_extended_resource};

use super::quantity::{Amount, List, Resource};
use super::requests::has_pod_level;
use super::view::{Container, PodSpecView, PodView};

/// Pods with more containers are placed as if no kubelet aligned anything for them.
const CONTAINERS_MAX: usize = 64;

/// What a pod asks for; nothing if no kubelet would align anything for it, and it does not ask for
/// zones itself.
pub(super) fn ask(pod: &PodView, wish: Option<&NumaWish>) -> Option<Box<PodAsk<String>>> {
    let spec = &pod.spec;
    if spec.containers.len() + spec.init_containers.len() > CONTAINERS_MAX {
        return None;
    }
    let is_exclusive = is_guaranteed(pod) && !has_pod_level(spec);
    let is_wanted = wish.and_then(NumaWish::asked).is_some_and(|policy| policy != NumaPolicy::None);
    let has_devices = || all(spec).any(|container| devices(container).next().is_some());
    if !is_exclusive && !is_wanted && !has_devices() {
        return None;
    }
    let init = spec.init_containers.iter().map(|container| {
        let role = match container.is_restartable() {
            true => ContainerRole::Sidecar,
            false => ContainerRole::Init,
        };
        container_ask(container, role)
    });
    let app = spec.containers.iter().map(|container| container_ask(container, ContainerRole::App));
    Some(Box::new(PodAsk { is_exclusive, containers: init.chain(app).collect() }))
}

/// All containers that the kubelet admits with the pod.
fn all(spec: &PodSpecView) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().chain(&spec.containers)
}

fn container_ask(container: &Container, role: ContainerRole) -> ContainerAsk<String> {
    let asked = |resource: &Resource| wanted(container, resource).unwrap_or_default().0;
    let memory = asked(&Resource::Memory).units();
    let pages = container.resources.requests.iter().flat_map(List::iter);
    let pages = pages.filter_map(|(resource, amount)| match resource {
        Resource::Other(name) if name.starts_with("hugepages-") => {
            Some((name.to_string(), positive(amount.0.units())?))
        }
        Resource::Cpu
        | Resource::Memory
        | Resource::Ephemeral
        | Resource::Pods
        | Resource::Other(_) => None,
    });
    let memory = positive(memory).map(|bytes| ("memory".to_owned(), bytes));
    ContainerAsk {
        role,
        cpu_milli: positive(asked(&Resource::Cpu).milli()).unwrap_or(0),
        memory: memory.into_iter().chain(pages).collect(),
        devices: devices(container).collect(),
    }
}

/// Devices that a container asks for.
fn devices(container: &Container) -> impl Iterator<Item = (String, u32)> {
    let requests = container.resources.requests.iter().flat_map(List::iter);
    requests.filter_map(|(resource, amount)| match resource {
        Resource::Other(name) if is_extended_resource(name) => {
            let count = u32::try_from(amount.0.units()).unwrap_or(u32::MAX);
            (count > 0).then(|| (name.to_string(), count))
        }
        Resource::Cpu
        | Resource::Memory
        | Resource::Ephemeral
        | Resource::Pods
        | Resource::Other(_) => None,
    })
}

fn positive(amount: i64) -> Option<u64> {
    u64::try_from(amount).ok().filter(|amount| *amount > 0)
}

/// What a container asks for of a resource: its limit, if it only names that.
fn wanted(container: &Container, resource: &Resource) -> Option<Amount> {
    let of = |list: &Option<List>| list.as_ref().and_then(|list| list.get(resource));
    of(&container.resources.requests).or_else(|| of(&container.resources.limits))
}

/// Whether the QoS class of a pod is Guaranteed. The API server writes it down; for others it is
/// worked out as the API server does.
fn is_guaranteed(pod: &PodView) -> bool {
    let class = &*pod.status.qos_class;
    if !class.is_empty() {
        return class == "Guaranteed";
    }
    [Resource::Cpu, Resource::Memory].iter().all(|resource| {
        let mut asked = Amount::default();
        let mut limit = Amount::default();
        for container in all(&pod.spec) {
            let limits = container.resources.limits.as_ref();
            let of = limits.and_then(|list| list.get(resource)).unwrap_or_default();
            if of == Amount::default() {
                return false;
            }
            limit = Amount(limit.0.plus(of.0));
            asked = Amount(asked.0.plus(wanted(container, resource).unwrap_or_default().0));
        }
        asked == limit && limit != Amount::default()
    })
}
