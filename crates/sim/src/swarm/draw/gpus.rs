//! GPUs that differ, which one world in six has: whole and shared ones, of several models, with
//! memory and NVLink or with nothing that is told of them, and pods that want something of them:
//! memory, parts, or what makes no sense. Some nodes become others while pods run.
//!
//! They have dice of their own and stand behind everything else, so that a seed keeps the nodes and
//! jobs it had without them.

use model::hardware::{
    AllGpus, CpuRanges, Gpu, GpuLink, HardwareFacts, KubeletFacts, NumaZone, SharedGpus,
};
use model::topology::{ContainerAsk, ContainerRole, PodAsk, TopologyPolicy};
use model::{Amounts, GpuFault, GpuShare, GpuWish, Millis, NodeFacts, Time};

use super::shapes::{job, range};
use super::{MIB, OTHER, OURS};
use crate::dice::{Dice, Stream};
use crate::plan::{AgentPlan, Fate, Job, Membership, NodePlan, Plan};
use crate::quantities::{GPU, requests_of};

/// How many of a hundred worlds have them.
const PERCENT: u64 = 16;
const GIB: u64 = 1 << 30;
/// Where the device plugin renames what it shares.
const SHARED: &str = "nvidia.com/gpu.shared";
const SHARED_SUFFIX_PERCENT: u64 = 15;
/// Models that no table has, and the memory that each has.
const MODELS: [(&str, u64); 3] = [("small", 16 * GIB), ("middle", 40 * GIB), ("large", 80 * GIB)];

/// Adds to a plan what its seed has of them.
pub(super) fn add(plan: &mut Plan) {
    let mut dice = Dice::new(plan.seed, Stream::Gpus);
    if !dice.percent(PERCENT) {
        return;
    }
    // Where nobody else gives nodes more than they have, they keep what they have.
    let has_others = plan.faults.second_scheduler.is_some();
    let first = plan.nodes.len();
    for number in 0..dice.between(1, 6) {
        let node = node(&mut dice, number, plan.span, has_others);
        plan.nodes.push(node);
    }
    let names: Vec<String> = plan.nodes[first..].iter().map(|it| it.facts.name.clone()).collect();
    for number in 0..dice.between(1, 8) {
        let mut job = wanting(&mut dice, number, plan.span);
        if has_others && dice.percent(15) {
            job.spec.scheduler = OTHER.to_owned();
        } else if has_others && dice.percent(10) {
            job.node = Some(names[dice.between(0, names.len() as u64 - 1) as usize].clone());
        }
        plan.jobs.push(job);
    }
}

fn node(dice: &mut Dice, number: u64, span: Millis, has_others: bool) -> NodePlan {
    let (count, replicas) = (dice.pick(&[1, 2, 4, 4, 8]), dice.pick(&[1, 1, 2, 4, 10]));
    let resource = if replicas > 1 && dice.percent(SHARED_SUFFIX_PERCENT) { SHARED } else { GPU };
    let hardware = |dice: &mut Dice, count| {
        let told = hardware(dice, count, replicas);
        dice.percent(90).then(|| Box::new(told))
    };
    let facts = NodeFacts {
        name: format!("g{number}"),
        allocatable: allocatable(resource, i64::from(count * replicas)),
        pods_max: 110,
        hardware: hardware(dice, count),
        ..NodeFacts::default()
    };
    let slowest = dice.pick(&[100, 5_000, 30_000]);
    let lag = (Millis(0), Millis(dice.between(1, slowest)));
    let agent = dice.percent(80).then(|| AgentPlan { lag, ..AgentPlan::default() });
    let mut node = NodePlan { agent, ..NodePlan::new("gpus", facts) };
    for _ in 0..dice.pick(&[0, 0, 1, 2, 3]) {
        let at = Time(dice.between(0, span.0));
        let fate = match dice.between(0, 4) {
            0 | 1 => Fate::Hardware(hardware(dice, count)),
            2 if has_others => {
                let amount = dice.pick(&[0, 1, 3, 4, 8, 16]);
                Fate::Resizes { allocatable: allocatable(resource, amount), pods_max: 110 }
            }
            3 => Fate::Dies,
            _ => Fate::Returns,
        };
        node.fates.push((at, fate));
    }
    node
}

fn allocatable(resource: &str, amount: i64) -> Amounts<String> {
    let scalars = [(resource.to_owned(), amount)].into_iter().filter(|_| amount > 0).collect();
    Amounts { cpu: 64_000, memory: 262_144 * MIB, ephemeral: 0, scalars }
}

/// What is told of GPUs: of each by itself, or of all together.
fn hardware(dice: &mut Dice, count: u32, replicas: u32) -> HardwareFacts {
    let shared = SharedGpus { resource: GPU.into(), replicas, is_mps: dice.percent(50) };
    let links = [None, Some(GpuLink::Pcie), Some(GpuLink::NvLink), Some(GpuLink::NvSwitch)];
    let link = dice.pick(&links);
    let (model, memory) = dice.pick(&MODELS);
    let shared: Box<[SharedGpus]> = [shared].into_iter().filter(|_| replicas > 1).collect();
    let is_listed = dice.percent(60);
    let all_gpus = match is_listed {
        true => AllGpus { link, shared, ..AllGpus::default() },
        false => AllGpus {
            model: Some(model.into()),
            memory: dice.percent(85).then_some(memory),
            link,
            shared,
            ..AllGpus::default()
        },
    };
    let (is_mixed, island) = (dice.percent(25), dice.pick(&[1, 2, 4]));
    let is_told = dice.percent(85);
    let mut gpu = |index: u32| {
        let (model, memory) = if is_mixed { dice.pick(&MODELS) } else { (model, memory) };
        Gpu {
            index,
            zone: Some(index % 2),
            root: Some(format!("root{}", index / 2).into()),
            model: Some(model.into()),
            memory: is_told.then_some(memory),
            nvlink_domain: (island > 1).then_some(index / island),
            ..Gpu::default()
        }
    };
    let gpus = (0..if is_listed { count } else { 0 }).map(&mut gpu).collect();
    let has_kubelet = dice.percent(50);
    let zone = |id: u32| NumaZone {
        id,
        cpus: CpuRanges::new(vec![(id * 32, id * 32 + 31)]),
        memory: Some(128 * GIB),
        ..NumaZone::default()
    };
    let policies = [TopologyPolicy::None, TopologyPolicy::BestEffort, TopologyPolicy::Restricted];
    let kubelet = KubeletFacts { policy: dice.pick(&policies), ..KubeletFacts::default() };
    HardwareFacts {
        zones: (0..if has_kubelet { 2 } else { 0 }).map(zone).collect(),
        gpus,
        all_gpus,
        kubelet: has_kubelet.then_some(kubelet),
        ..HardwareFacts::default()
    }
}

/// Pods that want something of GPUs; some are a gang, some are many of one size.
fn wanting(dice: &mut Dice, number: u64, span: Millis) -> Job {
    let mut job = job(dice, format!("gpu{number}"), span);
    let is_renamed = dice.percent(SHARED_SUFFIX_PERCENT);
    let wish = wish(dice);
    let count = match wish.share {
        Some(_) => dice.pick(&[1, 1, 1, 2]),
        None => dice.pick(&[1, 1, 2, 2, 4, 8]),
    };
    let resource = if is_renamed { SHARED } else { GPU };
    let amounts = Amounts {
        cpu: dice.pick(&[0, 500, 4_000]),
        scalars: [(resource.to_owned(), i64::from(count))].into(),
        ..Amounts::default()
    };
    job.spec.scheduler = dice.pick(&[OURS[0], OURS[1], OURS[1], OURS[1]]).to_owned();
    if dice.percent(40) {
        let devices = [(resource.to_owned(), count)].into();
        let container = ContainerAsk {
            role: ContainerRole::App,
            cpu_milli: amounts.cpu.unsigned_abs(),
            memory: [].into(),
            devices,
        };
        job.spec.ask =
            Some(Box::new(PodAsk { is_exclusive: false, containers: [container].into() }));
    }
    job.spec.requests = requests_of(amounts);
    job.spec.gpu = (wish != GpuWish::default()).then(|| Box::new(wish));
    job.pods = dice.pick(&[1, 2, 3, 6, 20]);
    job.priority = dice.pick(&[0, 0, 0, 5, 10]);
    job.runs = dice.percent(60).then(|| range(dice, 60_000));
    if dice.percent(25) {
        let min = u32::try_from(dice.between(1, job.pods)).ok();
        let gang = format!("gpu{number}").into();
        job.gang = Some(Membership { gang, min, ..Membership::default() });
    }
    job
}

/// What a pod says of GPUs beside how many it wants.
fn wish(dice: &mut Dice) -> GpuWish {
    let mut wish = GpuWish::default();
    match dice.between(0, 9) {
        0..=2 => {}
        3 => wish.memory = Some(dice.pick(&[10 * GIB, 16 * GIB, 40 * GIB, 80 * GIB, 200 * GIB])),
        4 => wish.memory_total = Some(dice.pick(&[32 * GIB, 160 * GIB, 640 * GIB])),
        5..=7 => wish.share = Some(GpuShare::Milli(dice.pick(&[100, 250, 300, 500, 600, 1_000]))),
        8 => wish.share = Some(GpuShare::Memory(dice.pick(&[4 * GIB, 10 * GIB, 60 * GIB]))),
        _ => {
            let faults =
                [GpuFault::InvalidMemory("4 apples".into()), GpuFault::InvalidShare("-1".into())];
            let at = usize::from(dice.percent(50));
            wish.fault = Some(faults[at].clone());
        }
    }
    if wish.share.is_some() && dice.percent(20) {
        wish.memory = Some(dice.pick(&[10 * GIB, 40 * GIB]));
    }
    wish
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_wanted_of_gpus_is_drawn() {
        let plans: Vec<Plan> = (1..=500).map(super::super::plan).collect();
        let count = |is_there: &dyn Fn(&Plan) -> bool| plans.iter().filter(|p| is_there(p)).count();
        let jobs = |plan: &Plan, is_it: &dyn Fn(&Job) -> bool| plan.jobs.iter().any(is_it);
        let wants = |is_it: fn(&GpuWish) -> bool| {
            count(&|plan| jobs(plan, &|job| job.spec.gpu.as_ref().is_some_and(|it| is_it(it))))
        };
        let worlds = count(&|plan| plan.nodes.iter().any(|node| &*node.pool == "gpus"));
        assert!((50..=110).contains(&worlds), "{worlds}");
        assert!(wants(|wish| wish.memory.is_some() || wish.memory_total.is_some()) > 30, "memory");
        assert!(wants(|wish| matches!(wish.share, Some(GpuShare::Milli(_)))) > 30, "parts");
        assert!(wants(|wish| matches!(wish.share, Some(GpuShare::Memory(_)))) > 10, "amounts");
        assert!(wants(|wish| wish.fault.is_some()) > 10, "nonsense");
        let is_gang = |job: &Job| job.name.starts_with("gpu") && job.gang.is_some();
        assert!(count(&|plan| jobs(plan, &is_gang)) > 20, "gangs");
        let changes = |node: &NodePlan| {
            let is_it = |(_, fate): &(Time, Fate)| matches!(fate, Fate::Hardware(_));
            &*node.pool == "gpus" && node.fates.iter().any(is_it)
        };
        assert!(count(&|plan| plan.nodes.iter().any(changes)) > 20, "nodes that become others");
    }
}
