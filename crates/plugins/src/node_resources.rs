//! Resources of nodes: whether a pod fits, and how full or how evenly used a node would be.

mod balanced;
mod fit;
mod fullness;
pub(crate) mod vector;
pub(crate) mod whole;

pub(crate) use balanced::NodeResourcesBalancedAllocation;
pub(crate) use fit::NodeResourcesFit;
pub(crate) use fullness::along;

use framework::View;
use model::{Amounts, Catalog, NodeId, ResourceId, is_scalar_resource};

/// A resource that scores look at, with what the pod asks of it.
#[derive(Clone, Copy)]
struct Scored {
    resource: ResourceId,
    weight: i64,
    request: i64,
}

/// What a node offers of a resource and what is taken of it.
struct Level {
    offered: i64,
    taken: i64,
}

/// How the resources taken by pods that asked for none are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counting {
    /// Cpu and memory with defaults.
    Defaulted,
    /// As asked.
    Plain,
}

/// The resources worth looking at for a pod: a counted resource it does not ask for is not.
fn scored_resources(
    configured: &[(ResourceId, i64)],
    request: &Amounts<ResourceId>,
    catalog: &Catalog,
) -> Vec<Scored> {
    let scored = |&(resource, weight): &(ResourceId, i64)| {
        let request = match resource {
            ResourceId::CPU => request.cpu,
            ResourceId::MEMORY => request.memory,
            ResourceId::EPHEMERAL => request.ephemeral,
            _ => request.scalar(&resource).unwrap_or(0),
        };
        let is_idle = request == 0 && is_scalar_resource(catalog.resource_name(resource));
        (!is_idle).then_some(Scored { resource, weight, request })
    };
    configured.iter().filter_map(scored).collect()
}

/// What is asked of cpu and memory, where these two are what counts.
#[derive(Clone, Copy)]
struct Pair {
    cpu: Scored,
    memory: Scored,
}

impl Pair {
    fn of(resources: &[Scored]) -> Option<Self> {
        let (cpu, memory) = match *resources {
            [cpu, memory] if cpu.resource == ResourceId::CPU => (cpu, memory),
            [memory, cpu] => (cpu, memory),
            _ => return None,
        };
        let are_they = cpu.resource == ResourceId::CPU && memory.resource == ResourceId::MEMORY;
        are_they.then_some(Self { cpu, memory })
    }
}

// Hot: once per touched node and resource.
fn level(view: View<'_>, node: NodeId, resource: ResourceId, counting: Counting) -> Level {
    let (offer, load) = (&view.catalog.offer(node).amounts, view.usage.load(node));
    let is_plain = counting == Counting::Plain;
    match resource {
        ResourceId::CPU => {
            let taken = if is_plain { load.cpu } else { load.scored_cpu };
            Level { offered: offer.cpu, taken }
        }
        ResourceId::MEMORY => {
            let taken = if is_plain { load.memory } else { load.scored_memory };
            Level { offered: offer.memory, taken }
        }
        ResourceId::EPHEMERAL => Level { offered: offer.ephemeral, taken: load.ephemeral },
        _ => Level { offered: offer.scalar(&resource).unwrap_or(0), taken: load.scalar(resource) },
    }
}
