//! Rarer insides: machines that tell the truth of themselves and pods that are made for them, gangs
//! of these, agents that report late, leave something out or vanish, and machines that become
//! others while pods run.
//!
//! They have dice of their own and stand behind everything else, so that a seed keeps the nodes and
//! jobs it had without them.

use model::hardware::{CpuRanges, Gpu, HardwareFacts, KubeletFacts, NumaZone};
use model::topology::{
    ContainerAsk, ContainerRole, CpuManagerFacts, PodAsk, TopologyPolicy, TopologyScope,
};
use model::{Millis, NodeFacts, Time};

use super::super::shapes::{job, range};
use super::super::{MIB, OURS};
use super::{GPU, POLICIES, hardware};
use crate::dice::{Dice, Stream};
use crate::plan::{AgentPlan, Fate, Job, Membership, NodePlan, Plan};
use crate::quantities::{amounts, requests};

/// How many of a hundred worlds with insides have more of them.
const PERCENT: u64 = 60;
/// Memory of a zone.
const ZONE_MIB: i64 = 16 << 10;

/// Adds to a plan with insides what its seed has of it.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::InsidesMore);
    if !dice.percent(PERCENT) {
        return;
    }
    let zones = dice.pick(&[1, 2, 2, 4, 8]);
    for number in 0..dice.between(1, 4) {
        let node = machine(&mut dice, number, zones);
        plan.nodes.push(node);
    }
    let span = plan.span;
    for node in plan.nodes.iter_mut().filter(|node| node.facts.hardware.is_some()) {
        node.agent = agent(&mut dice);
        befall(&mut dice, node, span);
    }
    for number in 0..dice.between(1, 4) {
        let job = aligned(&mut dice, number, span);
        plan.jobs.push(job);
    }
}

/// A node that offers just what it tells of its inside.
fn machine(dice: &mut Dice, number: u64, zones: u32) -> NodePlan {
    let (cpus, gpus) = (dice.pick(&[2, 4, 8]), dice.pick(&[0, 2, 4, 8]));
    let is_threaded = cpus > 2 && dice.percent(30);
    let zone = |id: u32| NumaZone {
        id,
        cpus: CpuRanges::new(vec![(id * cpus, id * cpus + cpus - 1)]),
        memory: Some(ZONE_MIB.unsigned_abs() << 20),
        socket: Some(id / 2),
        distances: (0..zones).map(|to| (to, if to == id { 10 } else { 21 })).collect(),
        ..NumaZone::default()
    };
    let core = |first: u32| CpuRanges::new(vec![(2 * first, 2 * first + 1)]).unwrap_or_default();
    let gpu = |index: u32| Gpu { index, zone: Some(index * zones / 8), ..Gpu::default() };
    let facts = HardwareFacts {
        zone_count: Some(zones),
        zones: (0..zones).map(zone).collect(),
        cores: (0..zones * cores(cpus, is_threaded)).map(core).collect(),
        gpus: (0..gpus).map(gpu).collect(),
        kubelet: Some(kubelet(dice, is_threaded)),
        ..HardwareFacts::default()
    };
    let offered = (i64::from(zones * cpus), i64::from(zones) * ZONE_MIB);
    let facts = NodeFacts {
        name: format!("m{number}"),
        allocatable: amounts(offered.0 * 1_000, offered.1, gpus.into()),
        pods_max: 110,
        hardware: Some(Box::new(facts)),
        ..NodeFacts::default()
    };
    NodePlan::new("machines", facts)
}

/// How many cores of two CPUs a zone has.
fn cores(cpus: u32, is_threaded: bool) -> u32 {
    if is_threaded { cpus / 2 } else { 0 }
}

fn kubelet(dice: &mut Dice, is_threaded: bool) -> KubeletFacts {
    let policies = [TopologyPolicy::SingleNumaNode, TopologyPolicy::Restricted];
    let options = CpuManagerFacts {
        is_full_cores_only: is_threaded && dice.percent(50),
        is_distributed_across_zones: dice.percent(10),
        ..CpuManagerFacts::default()
    };
    KubeletFacts {
        // The two that refuse pods are more frequent.
        policy: if dice.percent(50) { dice.pick(&policies) } else { dice.pick(&POLICIES) },
        scope: dice.pick(&[TopologyScope::Container, TopologyScope::Pod]),
        prefers_closest: dice.percent(20),
        cpu_manager: dice.percent(90).then_some(options),
        is_memory_static: dice.percent(20),
        reserved_cpu_count: dice.pick(&[0, 1, 2]),
        ..KubeletFacts::default()
    }
}

/// Who tells what pods hold: at once, late, in part, or nobody.
fn agent(dice: &mut Dice) -> Option<AgentPlan> {
    let slowest = dice.pick(&[100, 5_000, 30_000]);
    let lag = (Millis(0), Millis(dice.between(1, slowest)));
    let leaves_out: &[&str] = dice.pick(&[&[], &[], &[], &["cpus"], &[GPU], &["memory"]]);
    let leaves_out = leaves_out.iter().map(|name| (*name).into()).collect();
    dice.percent(85).then_some(AgentPlan { lag, leaves_out })
}

/// What becomes of a machine while pods run on it.
fn befall(dice: &mut Dice, node: &mut NodePlan, span: Millis) {
    let from = node.joins.0.min(span.0);
    if dice.percent(20) {
        let gpus = node.facts.allocatable.scalar(&GPU.to_owned()).unwrap_or(0);
        let another = dice.percent(80).then(|| Box::new(hardware(dice, gpus)));
        node.fates.push((Time(dice.between(from, span.0)), Fate::Hardware(another)));
    }
    if dice.percent(15) {
        let is_cleaned = dice.percent(50);
        let at = Time(dice.between(from, span.0));
        node.fates.push((at, Fate::AgentVanishes { is_cleaned }));
    }
}

/// Guaranteed pods with whole CPUs, or GPUs, or both; some are a gang.
fn aligned(dice: &mut Dice, number: u64, span: Millis) -> Job {
    let mut job = job(dice, format!("aligned{number}"), span);
    let (cpus, gpus) = (dice.pick(&[1, 2, 2, 4, 6]), dice.pick(&[0, 0, 1, 2, 4]));
    let memory_mib = dice.pick(&[64, 1_024, 8_192, 20_480]);
    job.spec.scheduler = dice.pick(&OURS).to_owned();
    job.spec.requests = requests(cpus * 1_000, memory_mib, gpus);
    let role = ContainerRole::App;
    let memory = [("memory".to_owned(), (memory_mib * MIB).unsigned_abs())].into();
    let devices = (gpus > 0).then(|| (GPU.to_owned(), u32::try_from(gpus).unwrap_or(0)));
    let devices = devices.into_iter().collect();
    let cpu_milli = cpus.unsigned_abs() * 1_000;
    let container = ContainerAsk { role, cpu_milli, memory, devices };
    let is_exclusive = dice.percent(85);
    job.spec.ask = Some(Box::new(PodAsk { is_exclusive, containers: [container].into() }));
    job.pods = dice.between(1, 6);
    job.at = Time(dice.between(0, span.0));
    job.runs = dice.percent(60).then(|| range(dice, 60_000));
    if dice.percent(40) {
        let min = dice.between(1, job.pods);
        job.gang = Some(Membership {
            gang: format!("aligned{number}").into(),
            min: u32::try_from(min).ok(),
            ..Membership::default()
        });
    }
    job
}

#[cfg(test)]
mod tests {
    use model::Catalog;

    use super::*;

    #[test]
    fn machines_are_what_kubelets_start_on() {
        for seed in 1..300 {
            let mut dice = Dice::new(seed, Stream::InsidesMore);
            let zones = dice.pick(&[1, 2, 4, 8]);
            let node = machine(&mut dice, 0, zones);
            let mut catalog = Catalog::default();
            let (id, _) = catalog.apply_node(&node.facts);
            let machine = catalog.machine(id).unwrap_or_else(|| panic!("{:?}", node.facts));
            assert_eq!(machine.zone_ids().len(), zones as usize);
        }
    }

    #[test]
    fn agents_vanish_machines_change_and_gangs_are_aligned() {
        let plans: Vec<Plan> = (1..=500).map(super::super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        let has_fate = |plan: &Plan, is_it: fn(&Fate) -> bool| {
            plan.nodes.iter().any(|node| node.fates.iter().any(|(_, fate)| is_it(fate)))
        };
        let changes = |plan: &Plan| has_fate(plan, |fate| matches!(fate, Fate::Hardware(_)));
        let vanishes =
            |plan: &Plan| has_fate(plan, |fate| matches!(fate, Fate::AgentVanishes { .. }));
        let gangs = |plan: &Plan| {
            plan.jobs.iter().any(|job| job.name.starts_with("aligned") && job.gang.is_some())
        };
        let has_agents = |plan: &Plan, is_it: fn(&Option<AgentPlan>) -> bool| {
            plan.nodes.iter().any(|node| is_it(&node.agent))
        };
        assert!(count(&changes) > 15 && count(&vanishes) > 10 && count(&gangs) > 15);
        assert!(count(&|plan| has_agents(plan, Option::is_none)) > 15, "nodes without agents");
        let leaves_out = |agent: &Option<AgentPlan>| {
            agent.as_ref().is_some_and(|agent| !agent.leaves_out.is_empty())
        };
        assert!(count(&|plan| has_agents(plan, leaves_out)) > 15, "agents that leave out");
    }
}
