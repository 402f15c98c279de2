//! What is inside nodes, which one world in six knows: zones, GPUs, kubelets of all policies, and
//! pods that ask for whole CPUs and devices.
//!
//! It is drawn from a stream of its own and stands behind everything else, so a seed keeps the
//! nodes and jobs it had without it.

mod more;

use model::hardware::{CpuRanges, Gpu, HardwareFacts, KubeletFacts, NumaZone};
use model::topology::{
    ContainerAsk, ContainerRole, CpuManagerFacts, PodAsk, TopologyPolicy, TopologyScope,
};
use model::{Amounts, PodSpec};

use crate::dice::{Dice, Stream};
use crate::plan::Plan;

/// How many of a hundred worlds have them.
const PERCENT: u64 = 16;
const GPU: &str = "nvidia.com/gpu";
const POLICIES: [TopologyPolicy; 4] = [
    TopologyPolicy::None,
    TopologyPolicy::BestEffort,
    TopologyPolicy::Restricted,
    TopologyPolicy::SingleNumaNode,
];

/// Adds to a plan what its seed has of it.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Insides);
    if !dice.percent(PERCENT) {
        return;
    }
    for node in &mut plan.nodes {
        if dice.percent(70) {
            let gpus = node.facts.allocatable.scalar(&GPU.to_owned()).unwrap_or(0);
            node.facts.hardware = Some(Box::new(hardware(&mut dice, gpus)));
        }
    }
    for job in &mut plan.jobs {
        if dice.percent(50) {
            job.spec.ask = Some(Box::new(ask(&mut dice, &job.spec)));
        }
    }
    more::add(plan);
}

fn hardware(dice: &mut Dice, gpus: i64) -> HardwareFacts {
    let (zones, cpus) = (dice.pick(&[1, 2, 2, 4, 8]), dice.pick(&[1, 2, 8]));
    let zone = |id: u32| NumaZone {
        id,
        cpus: CpuRanges::new(vec![(id * cpus, id * cpus + cpus - 1)]),
        memory: Some(64 << 30),
        ..NumaZone::default()
    };
    // Now and then it is told of more or fewer GPUs than the node offers.
    let told = if dice.percent(80) { gpus } else { gpus + 1 };
    let told = u32::try_from(told).expect("few GPUs");
    let gpu = |index: u32| Gpu {
        index,
        zone: Some(index % zones).filter(|_| dice.percent(90)),
        ..Gpu::default()
    };
    let gpus = (0..told).map(gpu).collect();
    let kubelet = KubeletFacts {
        policy: dice.pick(&POLICIES),
        scope: dice.pick(&[TopologyScope::Container, TopologyScope::Pod]),
        cpu_manager: dice.percent(90).then(CpuManagerFacts::default),
        is_memory_static: dice.percent(20),
        ..KubeletFacts::default()
    };
    HardwareFacts {
        zones: (0..zones).map(zone).collect(),
        gpus,
        kubelet: Some(kubelet),
        ..HardwareFacts::default()
    }
}

/// What containers ask for. It need not be what the pod is charged with: no kubelet would say so,
/// but nothing may break by it.
fn ask(dice: &mut Dice, spec: &PodSpec) -> PodAsk<String> {
    let Amounts { memory, scalars, .. } = &spec.requests.fit;
    let mut container = |role: ContainerRole| ContainerAsk {
        role,
        cpu_milli: dice.pick(&[0, 500, 1_000, 2_000, 3_000]),
        memory: [("memory".to_owned(), u64::try_from(*memory).unwrap_or(0))].into(),
        devices: scalars
            .iter()
            .filter(|(name, _)| name == GPU)
            .map(|(name, amount)| (name.clone(), u32::try_from(*amount).unwrap_or(0)))
            .collect(),
    };
    let first = container(ContainerRole::App);
    let mut containers = vec![first];
    if dice.percent(20) {
        let role = dice.pick(&[ContainerRole::Init, ContainerRole::Sidecar]);
        let cpu_milli = dice.pick(&[500, 1_000]);
        let more = ContainerAsk { role, cpu_milli, memory: [].into(), devices: [].into() };
        containers.insert(0, more);
    }
    PodAsk { is_exclusive: dice.percent(80), containers: containers.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_worlds_know_what_is_inside_their_nodes() {
        let plans: Vec<Plan> = (1..=500).map(super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        // Worlds with other GPUs tell of them as well, and others of tiers.
        let is_other = |node: &crate::plan::NodePlan| &*node.pool == "gpus";
        let is_known = |node: &crate::plan::NodePlan| {
            let hardware = node.facts.hardware.as_ref();
            hardware.is_some_and(|hardware| !hardware.zones.is_empty()) && !is_other(node)
        };
        let known = |plan: &Plan| plan.nodes.iter().any(is_known);
        let asking = |plan: &Plan| plan.jobs.iter().any(|job| job.spec.ask.is_some());
        let gangs =
            |plan: &Plan| plan.jobs.iter().any(|job| job.spec.ask.is_some() && job.gang.is_some());
        assert!((55..=110).contains(&count(&known)), "nodes");
        assert!(count(&asking) > 50, "pods");
        assert!(count(&gangs) > 20, "gangs");
    }
}
