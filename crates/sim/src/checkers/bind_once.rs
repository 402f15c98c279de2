//! A pod is given a node once, while it waits, and only a node that is there.

use super::Violation;
use crate::world::{NodeAt, Phase, PodAt, World};

pub(super) fn check(world: &World, pod: PodAt, node: NodeAt) -> Result<(), Violation> {
    let (pod, node) = (world.pod(pod), world.node(node));
    if !node.is_there {
        return Err(Violation::Unknown { name: format!("node {}", node.facts.name) });
    }
    let state = match pod.phase {
        Phase::Waiting if pod.is_gated => "kept back by a gate",
        Phase::Waiting => return Ok(()),
        Phase::Ordered(_) => "on its way to a node",
        Phase::Running(_) => "running",
        Phase::Finished => "finished",
        Phase::Evicted => "evicted",
    };
    let (pod, node) = (pod.key.name.to_string(), node.facts.name.clone());
    Err(Violation::NotWaiting { pod, node, state })
}
