//! The pods of a node, the new one included, ask for no more than it has. What the new one does not
//! ask for is not its business: pods that were there before anyone looked can take too much.

use super::Violation;
use crate::quantities::columns;
use crate::world::{NodeAt, PodAt, World};

pub(super) fn check(world: &World, pod: PodAt, node: NodeAt) -> Result<(), Violation> {
    let node = world.node(node);
    let pods = || node.pods.iter().copied().chain([pod]);
    let mut requested = [0; 3];
    for pod in pods() {
        let spec = &world.job(world.pod(pod).job).spec;
        for (total, amount) in requested.iter_mut().zip(columns(&spec.requests.fit)) {
            *total += amount;
        }
    }
    let offered = columns(&node.facts.allocatable);
    let wanted = columns(&world.job(world.pod(pod).job).spec.requests.fit);
    let row = |at: usize| if wanted[at] > 0 { (requested[at], offered[at]) } else { (0, 0) };
    let [cpu, memory, gpus] = std::array::from_fn(row);
    let count = i64::try_from(pods().count()).expect("fewer pods than memory has bytes");
    let rows =
        [("cpu", cpu), ("memory", memory), ("GPUs", gpus), ("pods", (count, node.facts.pods_max))];
    for (resource, (requested, allocatable)) in rows {
        if requested > allocatable {
            let node = node.facts.name.clone();
            return Err(Violation::OverCapacity { node, resource, requested, allocatable });
        }
    }
    Ok(())
}
