//! Bugs about what is inside nodes: pods that kubelets refuse, reports that are not heard, and
//! things that are counted twice or not at all.

use model::hardware::{CpuRanges, Gpu, HardwareFacts, KubeletFacts, NumaZone};
use model::topology::{ContainerAsk, ContainerRole, CpuManagerFacts, PodAsk, TopologyPolicy};
use model::{Event, Fact, Millis, NodeFacts, PodFacts, Time};

use super::{Alters, Failure, FailureKind, Saboteur, check, finish};
use crate::plan::{AgentPlan, Fate, Keeper, NodePlan, Plan};
use crate::quantities::{amounts, requests};
use crate::run::Run;
use crate::swarm::Passed;

const GPU: &str = "nvidia.com/gpu";

/// A machine of two zones with four CPUs and two GPUs each, whose kubelet insists on one zone.
fn machine() -> NodePlan {
    let zone = |id: u32| NumaZone {
        id,
        cpus: CpuRanges::new(vec![(4 * id, 4 * id + 3)]),
        memory: Some(8 << 30),
        ..NumaZone::default()
    };
    let gpu = |index: u32| Gpu { index, zone: Some(index / 2), ..Gpu::default() };
    let kubelet = KubeletFacts {
        policy: TopologyPolicy::SingleNumaNode,
        cpu_manager: Some(CpuManagerFacts::default()),
        ..KubeletFacts::default()
    };
    let hardware = HardwareFacts {
        zones: [0, 1].map(zone).into(),
        gpus: [0, 1, 2, 3].map(gpu).into(),
        kubelet: Some(kubelet),
        ..HardwareFacts::default()
    };
    let facts = NodeFacts {
        name: "m".to_owned(),
        allocatable: amounts(8_000, 16_384, 4),
        pods_max: 10,
        hardware: Some(Box::new(hardware)),
        ..NodeFacts::default()
    };
    let agent = Some(AgentPlan { lag: (Millis(500), Millis(500)), ..AgentPlan::default() });
    NodePlan { agent, ..NodePlan::new("pool", facts) }
}

/// Such a machine, and pods that take so many whole CPUs and GPUs each.
fn plan(pods: u64, cpus: u32, gpus: u32) -> Plan {
    let mut plan = super::plan();
    plan.nodes = vec![machine()];
    let job = &mut plan.jobs[0];
    job.pods = pods;
    job.spec.requests = requests(i64::from(cpus) * 1_000, 64, gpus.into());
    let container = ContainerAsk {
        role: ContainerRole::App,
        cpu_milli: u64::from(cpus) * 1_000,
        memory: [("memory".to_owned(), 64 << 20)].into(),
        devices: [(GPU.to_owned(), gpus)].into_iter().filter(|_| gpus > 0).collect(),
    };
    job.spec.ask = Some(Box::new(PodAsk { is_exclusive: true, containers: [container].into() }));
    plan
}

/// Nothing is planted.
struct Honest;

impl Saboteur for Honest {}

fn run(plan: Plan, is_judged: bool, saboteur: impl Saboteur + 'static) -> Result<Passed, Failure> {
    let mut run = Run::inspected(plan);
    if is_judged {
        run.expect_alignment();
    }
    run.sabotage(Box::new(saboteur));
    finish(run)
}

fn caught(plan: Plan, saboteur: impl Saboteur + 'static, words: &str) {
    let failure = run(plan, true, saboteur).expect_err("a planted bug is caught");
    check(&(failure.kind, failure.text), FailureKind::Wrong, words);
}

#[test]
fn nobody_is_accused_where_nothing_is_planted() {
    for (pods, cpus, gpus) in [(4, 1, 1), (2, 4, 2), (8, 1, 0), (2, 2, 2)] {
        let passed = run(plan(pods, cpus, gpus), true, Honest).expect("nothing is wrong");
        let happened = passed.happened;
        assert_eq!((happened.aligned, happened.unaligned), (pods, 0), "{cpus} CPUs, {gpus} GPUs");
        assert!(happened.reports > 0);
    }
}

#[test]
fn plain_fit_places_pods_that_kubelets_refuse_and_owners_give_up_some_day() {
    let passed = run(plan(1, 3, 3), false, Honest).expect("that is nobody's fault");
    assert_eq!((passed.happened.aligned, passed.happened.unaligned), (7, 7));
    // On a node of which nothing is told nobody is aligned.
    let mut unknown = plan(1, 3, 3);
    unknown.nodes[0].facts.hardware = None;
    let passed = run(unknown, true, Honest).expect("that is nobody's fault");
    assert_eq!((passed.happened.aligned, passed.happened.bound), (0, 1));
}

/// Small and large pods that come and go, which fit the machine by numbers more often than by
/// zones.
fn mixed(seed: u64, scheduler: &str) -> Plan {
    let mut mixed = plan(6, 3, 1);
    for (name, cpus, gpus) in [("pair", 2, 2), ("whole", 1, 0), ("three", 1, 3)] {
        let mut job = plan(6, cpus, gpus).jobs.remove(0);
        job.name = name.to_owned();
        mixed.jobs.push(job);
    }
    for job in &mut mixed.jobs {
        job.runs = Some((Millis(2_000), Millis(9_000)));
        job.spec.scheduler = scheduler.to_owned();
    }
    mixed.seed = seed;
    mixed
}

#[test]
fn what_we_place_is_refused_only_where_two_placements_raced_with_a_report() {
    let share = |scheduler: &str| {
        let (mut aligned, mut refused) = (0, 0);
        for seed in 0..12 {
            let passed = run(mixed(seed, scheduler), false, Honest);
            let happened = passed.expect("no rule is broken").happened;
            (aligned, refused) = (aligned + happened.aligned, refused + happened.unaligned);
        }
        refused * 1_000 / aligned
    };
    let (plain, ours) = (share("default-scheduler"), share("kubenexus-scheduler"));
    assert!(plain > 100 && ours * 4 < plain, "{plain} and {ours} of a thousand");
}

#[test]
fn a_pod_that_its_kubelet_was_bound_to_refuse_is_caught() {
    caught(plan(1, 3, 3), Honest, "whose kubelet refuses it");
    caught(plan(1, 6, 0), Honest, "whose kubelet refuses it");
    // Two of three CPUs each leave one in either zone, and that was reported.
    let mut halves = plan(2, 3, 0);
    let mut late = plan(1, 2, 0).jobs.remove(0);
    (late.name, late.at) = ("late".to_owned(), Time(9_000));
    halves.jobs.push(late);
    caught(halves, Honest, "whose kubelet refuses it");
}

#[test]
fn a_machine_that_the_engine_does_not_see_is_caught() {
    let bug = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            facts.hardware = None;
        }
        true
    });
    caught(plan(1, 3, 3), bug, "whose kubelet refuses it");
}

#[test]
fn a_refusal_that_could_not_be_known_is_nobodys_fault() {
    // The machine was another one when the scheduler decided.
    let mut changes = plan(1, 3, 2);
    let mut other = machine().facts.hardware;
    if let Some(hardware) = &mut other {
        hardware.zones[0].cpus = CpuRanges::new(vec![(0, 1)]);
        hardware.zones[1].cpus = CpuRanges::new(vec![(2, 3)]);
    }
    changes.nodes[0].fates = vec![(Time(1_001), Fate::Hardware(other))];
    changes.jobs[0].life.keeper = Keeper::Nobody;
    changes.faults.request = (Millis(50), Millis(50));
    let passed = run(changes, true, Honest).expect("nobody could know");
    assert_eq!(passed.happened.unaligned, 1);
}

/// Changes what the engine sees of the insides of nodes.
fn on_held(mut change: impl FnMut(&mut NodeFacts)) -> impl Saboteur {
    Alters(move |event: &mut Event| {
        if let Event::Seen(Fact::Node(facts)) = event {
            change(facts);
        }
        true
    })
}

#[test]
fn reports_that_are_not_heard_are_caught() {
    // The first report says that nothing is held.
    let deaf = on_held(|facts| {
        if facts.held.as_ref().is_some_and(|held| !held.pods.is_empty()) {
            facts.held = Some(Box::default());
        }
    });
    caught(plan(2, 1, 1), deaf, "and it is still foreseen");
}

#[test]
fn something_else_than_was_reported_is_caught() {
    let other_device = on_held(|facts| {
        let pods = facts.held.iter_mut().flat_map(|held| &mut held.pods);
        for device in pods.flat_map(|pod| &mut pod.devices).flat_map(|of| &mut of.indices) {
            *device = device.map(|device| device ^ 1);
        }
    });
    caught(plan(1, 1, 1), other_device, "something else than was reported");
    let other_cpus = on_held(|facts| {
        for pod in facts.held.iter_mut().flat_map(|held| &mut held.pods) {
            pod.cpus = CpuRanges::new(vec![(2, 2)]).unwrap_or_default();
        }
    });
    caught(plan(1, 2, 0), other_cpus, "something else than was reported");
}

#[test]
fn a_device_that_two_pods_hold_is_caught() {
    let twice = on_held(|facts| {
        let pods = facts.held.iter_mut().flat_map(|held| &mut held.pods);
        for device in pods.flat_map(|pod| &mut pod.devices).flat_map(|of| &mut of.indices) {
            *device = Some(0);
        }
    });
    caught(plan(3, 1, 1), twice, "is given twice");
}

#[test]
fn a_cpu_that_two_pods_hold_is_caught() {
    let twice = on_held(|facts| {
        for pod in facts.held.iter_mut().flat_map(|held| &mut held.pods) {
            pod.cpus = CpuRanges::new(vec![(0, 0)]).unwrap_or_default();
        }
    });
    caught(plan(3, 1, 0), twice, "a CPU of");
}

#[test]
fn a_guest_that_is_not_counted_is_caught() {
    let forgets = Alters(|event: &mut Event| {
        if let Event::Seen(Fact::Pod(facts)) = event {
            forget_ask(facts);
        }
        true
    });
    // The engine places it blindly, and the kubelet refuses it.
    caught(plan(1, 3, 3), forgets, "whose kubelet refuses it");
}

fn forget_ask(facts: &mut PodFacts) {
    facts.spec.ask = None;
}
