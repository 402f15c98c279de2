//! Bugs about GPUs: given twice, given where they are not what was asked for, or not seen at all.

use model::hardware::{AllGpus, CpuRanges, Gpu, HardwareFacts, KubeletFacts, NumaZone, SharedGpus};
use model::topology::{ContainerAsk, ContainerRole, PodAsk};
use model::{Event, Fact, GpuShare, GpuWish, Millis, NodeFacts, PodFacts};

use super::{Alters, FailureKind, Saboteur, caught, check, run};
use crate::plan::{AgentPlan, NodePlan, Plan};
use crate::quantities::{GPU, amounts, requests};

const GIB: u64 = 1 << 30;

/// A node with so many GPUs of 16 GiB, each of them offered so many times.
fn node(gpus: u32, replicas: u32) -> NodePlan {
    let gpu = |index: u32| Gpu {
        index,
        zone: Some(0),
        model: Some("small".into()),
        memory: Some(16 * GIB),
        ..Gpu::default()
    };
    let shared = SharedGpus { resource: GPU.into(), replicas, is_mps: false };
    let shared = [shared].into_iter().filter(|_| replicas > 1).collect();
    let zone = NumaZone {
        cpus: CpuRanges::new(vec![(0, 7)]),
        memory: Some(16 * GIB),
        ..NumaZone::default()
    };
    let hardware = HardwareFacts {
        zones: [zone].into(),
        gpus: (0..gpus).map(gpu).collect(),
        all_gpus: AllGpus { shared, ..AllGpus::default() },
        kubelet: Some(KubeletFacts::default()),
        ..HardwareFacts::default()
    };
    let facts = NodeFacts {
        name: "g".to_owned(),
        allocatable: amounts(8_000, 16_384, i64::from(gpus * replicas)),
        pods_max: 10,
        hardware: Some(Box::new(hardware)),
        ..NodeFacts::default()
    };
    let agent = Some(AgentPlan { lag: (Millis(500), Millis(500)), ..AgentPlan::default() });
    NodePlan { agent, ..NodePlan::new("pool", facts) }
}

/// Such a node, and pods of our own profile that want this of one GPU each.
fn plan(pods: u64, node: NodePlan, wish: GpuWish) -> Plan {
    let mut plan = super::plan();
    plan.nodes = vec![node];
    let job = &mut plan.jobs[0];
    job.pods = pods;
    job.spec.scheduler = "kubenexus-scheduler".to_owned();
    job.spec.requests = requests(100, 64, 1);
    job.spec.gpu = (wish != GpuWish::default()).then(|| Box::new(wish));
    let container = ContainerAsk {
        role: ContainerRole::App,
        cpu_milli: 100,
        memory: [].into(),
        devices: [(GPU.to_owned(), 1)].into(),
    };
    job.spec.ask = Some(Box::new(PodAsk { is_exclusive: false, containers: [container].into() }));
    plan
}

fn part(milli: u16) -> GpuWish {
    GpuWish { share: Some(GpuShare::Milli(milli)), ..GpuWish::default() }
}

fn memory(gib: u64) -> GpuWish {
    GpuWish { memory: Some(gib * GIB), ..GpuWish::default() }
}

/// Changes what the engine sees of pods.
fn on_pods(mut change: impl FnMut(&mut PodFacts)) -> impl Saboteur {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            change(facts);
        }
        true
    })
}

/// Changes what the engine sees of nodes.
fn on_nodes(mut change: impl FnMut(&mut NodeFacts)) -> impl Saboteur {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            change(facts);
        }
        true
    })
}

fn found(plan: Plan, saboteur: impl Saboteur + 'static, words: &str) {
    check(&caught(plan, saboteur), FailureKind::Wrong, words);
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    let honest = || Alters(|_: &mut Event| true);
    for (pods, node, wish) in [
        (3, node(2, 1), GpuWish::default()),
        (5, node(2, 4), part(600)),
        (5, node(2, 4), GpuWish::default()),
        (2, node(2, 1), part(600)),
        (2, node(2, 1), memory(16)),
        (2, node(2, 1), memory(40)),
    ] {
        assert_eq!(run(plan(pods, node, wish.clone()), honest()), Ok(()), "{wish:?}");
    }
}

#[test]
fn a_gpu_that_is_given_twice_is_caught() {
    let twice = on_nodes(|facts| {
        let pods = facts.held.iter_mut().flat_map(|held| &mut held.pods);
        for device in pods.flat_map(|pod| &mut pod.devices).flat_map(|of| &mut of.indices) {
            *device = Some(0);
        }
    });
    found(plan(2, node(2, 1), GpuWish::default()), twice, "GPU 0 is given twice");
    // More of them than there are.
    let more = on_nodes(|facts| {
        facts.allocatable.scalars = [(GPU.to_owned(), 4)].into();
        facts.hardware = None;
    });
    found(plan(4, node(2, 1), GpuWish::default()), more, "GPUs are counted, and");
}

#[test]
fn parts_that_add_up_to_more_than_a_gpu_are_caught() {
    let smaller = on_pods(|facts| facts.spec.gpu = Some(Box::new(part(200))));
    found(plan(3, node(1, 4), part(600)), smaller, "counts for 200, and takes 600");
    let whole = on_pods(|facts| facts.spec.gpu = None);
    found(plan(3, node(1, 4), part(1_000)), whole, "counts for 250, and takes 1000");
}

#[test]
fn a_wish_that_is_ignored_is_caught() {
    let ignored = || on_pods(|facts| facts.spec.gpu = None);
    found(plan(1, node(1, 1), memory(40)), ignored(), "its GPUs have too little memory");
    found(plan(1, node(1, 1), part(500)), ignored(), "nothing there lets pods share a GPU");
    let unknown =
        NodePlan { facts: NodeFacts { hardware: None, ..node(1, 1).facts }, ..node(1, 1) };
    found(plan(1, unknown, memory(16)), ignored(), "nobody tells how much memory");
    let mut nonsense = plan(1, node(1, 1), GpuWish::default());
    let fault = Some(model::GpuFault::InvalidShare("x".into()));
    nonsense.jobs[0].spec.gpu = Some(Box::new(GpuWish { fault, ..GpuWish::default() }));
    found(nonsense, ignored(), "what it asks of GPUs makes no sense");
}

#[test]
fn gpus_that_become_others_unseen_are_caught() {
    let mut bigger = plan(1, node(1, 1), memory(40));
    let mut other = node(1, 1).facts.hardware;
    other.iter_mut().flat_map(|it| &mut it.gpus).for_each(|gpu| gpu.memory = Some(80 * GIB));
    let fate = crate::plan::Fate::Hardware(other);
    bigger.nodes[0].fates = vec![(model::Time(5_000), fate)];
    let mut first: Option<NodeFacts> = None;
    let blind = on_nodes(move |facts| {
        let hardware = first.get_or_insert_with(|| facts.clone()).hardware.clone();
        facts.hardware = hardware;
    });
    found(bigger, blind, "GPUs are counted, and");
}
