//! Who is where at one moment of a run: nodes, how full they are, and who has their GPUs.

use std::collections::BTreeMap;

use engine::Scheduler;
use model::Time;
use serde::Serialize;

use crate::held::{self, HeldSource};
use crate::quantities::{columns, permille};
use crate::world::{NodeRecord, Phase, World};

/// A cluster at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClusterMap {
    /// When, in virtual milliseconds since the start.
    pub at_ms: u64,
    /// The nodes that are there.
    pub nodes: Vec<NodeOnMap>,
}

/// A node at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NodeOnMap {
    /// Its name.
    pub name: String,
    /// Its pool, by its place in the report's list.
    pub pool: usize,
    /// Whether it is closed to new pods.
    pub is_closed: bool,
    /// How many pods run on it.
    pub pods: u64,
    /// CPU requested of allocatable, in thousandths.
    pub cpu_permille: u32,
    /// Memory requested of allocatable, in thousandths.
    pub memory_permille: u32,
    /// GPUs it has.
    pub gpus: u64,
    /// Who has them; what is left over is free.
    pub holders: Vec<GpuHolder>,
}

/// A pod that holds GPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuHolder {
    /// Its namespace.
    pub tenant: String,
    /// Its name.
    pub pod: String,
    /// How many it holds.
    pub gpus: u64,
    /// Their numbers, where the scheduler knows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub indices: Vec<u32>,
    /// How it knows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<HeldSource>,
}

/// GPUs by the uid of the pod that holds them, as far as these are known.
type Known = BTreeMap<Box<str>, (Vec<u32>, HeldSource)>;

pub(crate) fn of(world: &World, scheduler: &Scheduler) -> ClusterMap {
    let known = held::gpus(scheduler);
    let there = world.nodes().iter().filter(|node| node.is_there);
    let nodes = there.map(|node| node_on_map(world, node, &known)).collect();
    let Time(at_ms) = world.now();
    ClusterMap { at_ms, nodes }
}

fn node_on_map(world: &World, node: &NodeRecord, known: &Known) -> NodeOnMap {
    let offered = columns(&node.facts.allocatable);
    let share = |column: usize| permille(node.taken[column].into(), offered[column].into());
    let running = || {
        let pods = node.pods.iter().map(|at| world.pod(*at));
        pods.filter(|pod| matches!(pod.phase, Phase::Running(_)))
    };
    let holders = running().filter_map(|pod| {
        let amounts = columns(&world.job(pod.job).spec.requests.charge.amounts);
        let gpus = u64::try_from(amounts[2]).ok().filter(|gpus| *gpus > 0)?;
        let (tenant, name) = (pod.key.namespace.to_string(), pod.key.name.to_string());
        let known = known.get(&pod.key.uid).filter(|(indices, _)| indices.len() as u64 == gpus);
        let (indices, source) = known.cloned().unzip();
        Some(GpuHolder { tenant, pod: name, gpus, indices: indices.unwrap_or_default(), source })
    });
    NodeOnMap {
        name: node.facts.name.clone(),
        pool: node.pool.0,
        is_closed: node.facts.is_closed,
        pods: running().count() as u64,
        cpu_permille: share(0),
        memory_permille: share(1),
        gpus: u64::try_from(offered[2]).unwrap_or(0),
        holders: holders.collect(),
    }
}
