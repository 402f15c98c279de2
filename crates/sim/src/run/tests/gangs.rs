//! Gangs, from outside: together or not at all, whatever happens.

use model::{Millis, NodeFacts, Time};

use super::super::Run;
use crate::demo::Demo;
use crate::plan::{Fate, Faults, Gates, Job, Life, Membership, NodePlan, Plan};
use crate::quantities::{amounts, requests};
use crate::swarm::finish;
use crate::world::Phase;

/// Much goes wrong.
const BAD_DAY: Faults = Faults {
    request: (Millis(2), Millis(300)),
    watch: (Millis(0), Millis(500)),
    refused_percent: 20,
    lost_percent: 10,
    unanswered_percent: 10,
    ..Faults::NONE
};

pub(super) fn node(name: &str, cpu: i64) -> NodePlan {
    let facts = NodeFacts {
        name: name.to_owned(),
        allocatable: amounts(cpu * 1000, 1024 * 1024, 0),
        pods_max: 110,
        ..NodeFacts::default()
    };
    NodePlan::new("pool", facts)
}

/// Pods of a gang that ask for so many CPUs each, a second after the start.
pub(super) fn job(name: &str, gang: &str, min: u32, pods: u64, cpu: i64) -> Job {
    let mut job = Demo { seed: 7, nodes: 0, minutes: 5 }.plan().jobs.remove(0);
    (job.name, job.at, job.pods, job.followers) = (name.to_owned(), Time(1_000), pods, 0);
    (job.priority, job.runs, job.gates, job.life) = (0, None, None, Life::default());
    job.spec.namespace = "team".to_owned();
    job.spec.requests = requests(cpu * 1000, 64, 0);
    job.spec.node_selector.clear();
    job.spec.required = None;
    job.gang = Some(Membership { gang: gang.into(), min: Some(min), ..Membership::default() });
    job
}

pub(super) fn plan(nodes: Vec<NodePlan>, jobs: Vec<Job>) -> Plan {
    let base = Demo { seed: 7, nodes: 0, minutes: 5 }.plan();
    Plan { span: Millis::seconds(120), nodes, jobs, faults: Faults::NONE, ..base }
}

/// How many pods of a gang are on nodes, and are to stay there.
fn running(run: &Run, gang: &str) -> usize {
    let is_in = |job| run.world.job(job).gang.as_ref().is_some_and(|own| &*own.gang == gang);
    let is_running = |phase| matches!(phase, Phase::Running(_));
    let pods = run.world.pods().filter(|(_, pod)| is_in(pod.job) && !pod.is_terminating);
    pods.filter(|(_, pod)| is_running(pod.phase)).count()
}

fn ended(plan: Plan) -> Run {
    let mut run = Run::inspected(plan);
    run.run_until(run.end()).unwrap();
    run
}

#[test]
fn a_gang_of_eight_waits_for_the_eighth_place() {
    let nodes = |joins| {
        let late = NodePlan { joins: Time(joins), ..node("c", 1) };
        vec![node("a", 4), node("b", 3), late]
    };
    let mut run = Run::inspected(plan(nodes(30_000), vec![job("j", "g", 8, 8, 1)]));
    run.run_until(Time(29_999)).unwrap();
    assert_eq!((running(&run, "g"), run.progress().placed), (0, 0), "nothing was ever bound");
    run.run_until(run.end()).unwrap();
    assert_eq!(running(&run, "g"), 8);
    for seed in 0..20 {
        let plan = plan(nodes(30_000), vec![job("j", "g", 8, 8, 1)]);
        finish(Run::inspected(Plan { seed, faults: BAD_DAY, ..plan })).unwrap();
    }
}

#[test]
fn of_two_gangs_one_is_complete_and_the_other_untouched() {
    let jobs = || vec![job("j", "g", 8, 8, 1), job("k", "h", 8, 8, 1)];
    let run = ended(plan(vec![node("a", 6), node("b", 6)], jobs()));
    let mut running = [running(&run, "g"), running(&run, "h")];
    running.sort_unstable();
    assert_eq!((running, run.progress().placed), ([0, 8], 8));
    for seed in 0..20 {
        let plan = plan(vec![node("a", 6), node("b", 6)], jobs());
        finish(Run::inspected(Plan { seed, faults: BAD_DAY, ..plan })).unwrap();
    }
}

#[test]
fn a_member_that_is_deleted_before_its_bind_takes_the_others_along() {
    let jobs = || {
        let mut gone = job("k", "g", 8, 1, 1);
        gone.life.deleted_after = Some((Millis(1), Millis(1)));
        vec![job("j", "g", 8, 7, 1), gone]
    };
    let mut plan = plan(vec![node("a", 6), node("b", 6)], jobs());
    plan.faults.request = (Millis(50), Millis(100));
    let run = ended(plan.clone());
    assert_eq!((running(&run, "g"), run.tally.disbands), (0, 1));
    // Another one in its place comes in time.
    plan.jobs.push(Job { at: Time(6_000), ..job("l", "g", 8, 1, 1) });
    let run = ended(plan);
    assert_eq!((running(&run, "g"), run.tally.disbands), (8, 0));
}

#[test]
fn what_a_scheduler_that_is_killed_began_is_finished_or_taken_back() {
    let mut ends = [0, 0];
    for seed in 0..24 {
        let is_closed = seed % 2 == 0;
        let mut nodes = vec![node("a", 6), node("b", 6)];
        if is_closed {
            nodes.iter_mut().for_each(|node| node.fates = vec![(Time(1_700), Fate::Closes)]);
        }
        let mut plan = plan(nodes, vec![job("j", "g", 8, 8, 1)]);
        plan.faults = Faults {
            request: (Millis(2), Millis(2_000)),
            lost_percent: 40,
            leader_lost_every: Some(Millis::seconds(100_000)),
            ..Faults::NONE
        };
        let mut run = Run::inspected(Plan { seed, ..plan });
        let mut now = 1_000;
        while running(&run, "g") < 3 {
            now += 1;
            run.run_until(Time(now)).unwrap();
            assert!(now < 60_000, "three are bound at some time");
        }
        run.leader_lost();
        run.run_until(run.end()).unwrap();
        let left = running(&run, "g");
        assert!(left == 0 && is_closed || left == 8, "seed {seed}: {left} are left");
        ends[usize::from(left == 8)] += 1;
        assert!(run.world.happened().leaders_lost == 1);
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn a_hundred_gangs_at_once_all_have_their_turn() {
    let nodes = (0..50).map(|number| node(&format!("n{number}"), 4)).collect();
    let gang = |number: u64| {
        let size = 2 + number * 48 / 99;
        let name = format!("g{number}");
        let mut job = job(&name, &name, u32::try_from(size).unwrap(), size, 1);
        job.runs = Some((Millis::seconds(5), Millis::seconds(15)));
        job
    };
    let mut plan = plan(nodes, (0..100).map(gang).collect());
    plan.span = Millis::seconds(1_800);
    let mut run = Run::new(plan).until_settled();
    run.run_until(run.end()).unwrap();
    let is_over = |phase| matches!(phase, Phase::Finished);
    assert!(run.world.pods().all(|(_, pod)| is_over(pod.phase)), "everybody ran to the end");
    assert_eq!((run.world.happened().gangs, run.tally.disbands), (100, 0));
}

#[test]
fn unlike_members_that_fit_in_one_way_are_placed_in_that_way() {
    let jobs = vec![job("j", "g", 5, 2, 3), job("k", "g", 5, 3, 2)];
    let run = ended(plan(vec![node("a", 6), node("b", 6)], jobs));
    assert_eq!(running(&run, "g"), 5);
}

#[test]
fn drivers_near_capacity_do_not_hold_each_other_up() {
    for seed in 0..8 {
        let mut jobs = Vec::new();
        for name in ["d", "e"] {
            let mut driver = job(name, name, 4, 1, 1);
            driver.runs = Some((Millis::seconds(40), Millis::seconds(40)));
            let made_by = Some((name.to_owned(), (Millis(100), Millis::seconds(20))));
            let mut worker = job(&format!("{name}-worker"), name, 4, 3, 1);
            worker.gang.as_mut().unwrap().made_by = made_by;
            worker.runs = Some((Millis::seconds(5), Millis::seconds(15)));
            jobs.extend([driver, worker]);
        }
        let mut plan = plan(vec![node("a", 6)], jobs);
        (plan.seed, plan.span) = (seed, Millis::seconds(240));
        let run = ended(plan);
        let finished = run.world.pods().filter(|(_, pod)| pod.phase == Phase::Finished);
        assert_eq!(finished.count(), 8, "seed {seed}");
    }
}

#[test]
fn a_gated_member_keeps_its_gang_back() {
    let mut gated = job("k", "g", 8, 1, 1);
    let lifted_after = Some(Millis::seconds(20));
    gated.gates = Some(Gates { names: ["quota".into()].into(), lifted_after });
    let jobs = vec![job("j", "g", 8, 7, 1), gated];
    let mut run = Run::inspected(plan(vec![node("a", 8)], jobs));
    run.run_until(Time(20_999)).unwrap();
    assert_eq!(running(&run, "g"), 0);
    run.run_until(run.end()).unwrap();
    assert_eq!(running(&run, "g"), 8);
}
