//! What a pod asks the kubelet for.

use serde::{Deserialize, Serialize};

use crate::ids::ResourceId;

/// When a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ContainerRole {
    /// An init container: it ends before the next container starts, which may have what it had.
    Init,
    /// An init container that is restarted always, and so runs beside the others.
    Sidecar,
    /// A container of the pod proper.
    App,
}

/// What one container asks for. `R` names resources: a string in facts, an id in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerAsk<R = ResourceId> {
    /// When it runs.
    pub role: ContainerRole,
    /// Its CPU request in thousandths. Only whole CPUs are given exclusively.
    pub cpu_milli: u64,
    /// Its requests of memory and huge pages in bytes, each resource once.
    pub memory: Box<[(R, u64)]>,
    /// Its limits of extended resources, each resource once. Those of which the machine lists no
    /// devices are nothing to the kubelet's device manager.
    pub devices: Box<[(R, u32)]>,
}

/// What a pod asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodAsk<R = ResourceId> {
    /// Whether its QoS class is Guaranteed and it has no resources at the level of the pod: only
    /// then do the CPU manager and the memory manager do anything for it.
    pub is_exclusive: bool,
    /// Init containers in their order, sidecars among them, then the containers.
    pub containers: Box<[ContainerAsk<R>]>,
}

impl<R> ContainerAsk<R> {
    /// CPUs that a container of an exclusive pod gets for itself.
    pub(super) fn whole_cpus(&self) -> u32 {
        if self.cpu_milli.is_multiple_of(1_000) {
            u32::try_from(self.cpu_milli / 1_000).unwrap_or(u32::MAX)
        } else {
            0
        }
    }
}

impl<R> PodAsk<R> {
    /// The same under other names.
    pub fn renamed<S>(&self, mut name: impl FnMut(&R) -> S) -> PodAsk<S> {
        let container = |ask: &ContainerAsk<R>| ContainerAsk {
            role: ask.role,
            cpu_milli: ask.cpu_milli,
            memory: ask.memory.iter().map(|(resource, bytes)| (name(resource), *bytes)).collect(),
            devices: ask.devices.iter().map(|(resource, count)| (name(resource), *count)).collect(),
        };
        PodAsk {
            is_exclusive: self.is_exclusive,
            containers: self.containers.iter().map(container).collect(),
        }
    }
    /// Whether no manager of any kubelet has anything to do for it.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.is_exclusive && self.containers.iter().all(|container| container.devices.is_empty())
    }
}

impl PodAsk {
    /// Every resource that it names, as often as it does.
    pub fn resources(&self) -> impl Iterator<Item = ResourceId> {
        self.containers.iter().flat_map(|ask| {
            let memory = ask.memory.iter().map(|(resource, _)| *resource);
            memory.chain(ask.devices.iter().map(|(resource, _)| *resource))
        })
    }

    /// Thousandths of a CPU that the containers need at once.
    pub(super) fn cpu_milli(&self) -> u64 {
        needed_at_once(self.containers.iter().map(|of| (of.role, of.cpu_milli)))
    }

    /// What containers need of a kind of memory at once.
    pub(super) fn memory_at_once(&self, kind: ResourceId) -> u64 {
        let asked = |of: &ContainerAsk| {
            of.memory.iter().find(|(of, _)| *of == kind).map_or(0, |(_, bytes)| *bytes)
        };
        needed_at_once(self.containers.iter().map(|of| (of.role, asked(of))))
    }

    /// CPUs that the containers of an exclusive pod need at once.
    pub(super) fn whole_cpus(&self) -> u32 {
        let need = self.containers.iter().map(|of| (of.role, u64::from(of.whole_cpus())));
        u32::try_from(needed_at_once(need)).unwrap_or(u32::MAX)
    }

    /// What containers need of a kind of memory at once; `None` if no container of the pod proper
    /// asks for it, whatever init containers do.
    pub(super) fn memory(&self, kind: ResourceId) -> Option<u64> {
        let asked =
            |of: &ContainerAsk| of.memory.iter().find(|(of, _)| *of == kind).map(|(_, n)| *n);
        let is_asked = |of: &&ContainerAsk| of.role == ContainerRole::App && asked(of).is_some();
        self.containers.iter().find(is_asked)?;
        Some(self.memory_at_once(kind))
    }

    /// Devices of a resource that the containers need at once; `None` if none asks for it.
    pub(super) fn devices(&self, resource: ResourceId) -> Option<u32> {
        let asked = |of: &ContainerAsk| {
            of.devices.iter().find(|(of, _)| *of == resource).map(|(_, count)| *count)
        };
        self.containers.iter().find_map(asked)?;
        let need = self.containers.iter().map(|of| (of.role, asked(of).unwrap_or(0).into()));
        Some(u32::try_from(needed_at_once(need)).unwrap_or(u32::MAX))
    }
}

/// The most that runs at a time: sidecars and containers together, or an init container with the
/// sidecars that were started before it.
fn needed_at_once(containers: impl Iterator<Item = (ContainerRole, u64)>) -> u64 {
    let (mut sidecars, mut starting, mut running) = (0_u64, 0_u64, 0_u64);
    for (role, need) in containers {
        match role {
            ContainerRole::Init => starting = starting.max(sidecars.saturating_add(need)),
            ContainerRole::Sidecar => sidecars = sidecars.saturating_add(need),
            ContainerRole::App => running = running.saturating_add(need),
        }
    }
    starting.max(running.saturating_add(sidecars))
}
