//! Whole runs: small ones, and ones made for a single question.

mod gangs;
mod tiers;

use model::{Millis, NodeFacts, Time};

use super::*;
use crate::demo::Demo;
use crate::plan::{Gates, NodePlan};
use crate::quantities::{amounts, requests};
use crate::world::Phase;

const SMALL: Demo = Demo { seed: 42, nodes: 20, minutes: 5 };

fn finish(demo: Demo) -> Report {
    Run::new(demo.plan()).finish().unwrap()
}

fn json(demo: Demo) -> String {
    serde_json::to_string(&finish(demo)).unwrap()
}

/// Five large nodes, and one job of 400 small pods at the start.
fn roomy(gated_for: Option<Millis>) -> Run {
    let node = |number: u32| {
        let facts = NodeFacts {
            name: format!("node-{number}"),
            allocatable: amounts(64_000, 256 * 1024, 0),
            pods_max: 110,
            ..NodeFacts::default()
        };
        NodePlan::new("general", facts)
    };
    let mut plan = Demo { seed: 7, nodes: 0, minutes: 5 }.plan();
    let mut job = plan.jobs.remove(0);
    job.at = Time(0);
    job.pods = 400;
    job.spec.requests = requests(100, 64, 0);
    job.spec.node_selector.clear();
    let gates = |span| Gates { names: ["quota".into()].into(), lifted_after: Some(span) };
    job.gates = gated_for.map(gates);
    plan.nodes = (1..=5).map(node).collect();
    plan.jobs = vec![job];
    plan.faults.refused_percent = 5;
    Run::new(plan)
}

#[test]
fn the_same_seed_gives_the_same_report() {
    assert_eq!(json(SMALL), json(SMALL));
}

#[test]
fn another_seed_gives_other_decisions() {
    let hash = |seed| finish(Demo { seed, ..SMALL }).decision_hash;
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_run_in_parts_ends_like_a_run_in_one() {
    let mut run = Run::new(SMALL.plan());
    for second in (0..300).step_by(7) {
        run.run_until(Time(second * 1000)).unwrap();
        assert_eq!(run.progress().now, Time(second * 1000));
    }
    assert_eq!(run.finish().unwrap(), finish(SMALL));
}

#[test]
fn every_pod_is_accounted_for() {
    for seed in 0..8 {
        let report = finish(Demo { seed, nodes: 20, minutes: 10 });
        let pods = report.pods;
        assert!(pods.created > 0);
        assert_eq!(
            pods.created,
            pods.running
                + pods.finished
                + pods.evicted
                + pods.binding
                + pods.waiting
                + pods.deleted
        );
        let sum = |count: fn(&crate::PodCounts) -> u64| -> u64 {
            report.tenants.iter().map(|tenant| count(&tenant.pods)).sum()
        };
        assert_eq!(sum(|pods| pods.created), pods.created);
        assert_eq!(sum(|pods| pods.waiting), pods.waiting);
        let waiting: u64 = report.waiting.iter().map(|group| group.pods).sum();
        assert_eq!(waiting, pods.waiting);
    }
}

#[test]
fn progress_counts_what_the_report_counts() {
    let mut run = Run::new(SMALL.plan());
    run.run_until(run.end()).unwrap();
    let progress = run.progress();
    let report = run.finish().unwrap();
    assert_eq!((progress.placed, progress.waiting), (report.pods.placed, report.pods.waiting));
    assert_eq!(progress.decisions, report.bindings + report.waits);
}

#[test]
fn the_engine_and_the_world_agree_on_who_is_there() {
    let mut run = Run::new(Demo { seed: 3, nodes: 40, minutes: 30 }.plan());
    run.run_until(run.end()).unwrap();
    let pods = run.world.pods().filter(|(_, pod)| !pod.phase.is_over()).count();
    let nodes = run.world.nodes().iter().filter(|node| node.is_there).count();
    let catalog = run.leader().unwrap().scheduler.catalog();
    assert_eq!(catalog.pod_count(), pods);
    assert_eq!(catalog.nodes().len(), nodes);
}

#[test]
fn refused_bindings_are_tried_again_and_end_placed() {
    let mut run = roomy(None);
    run.run_until(run.end()).unwrap();
    let refused = run.world.pods().filter(|(_, pod)| pod.refusals > 0);
    assert!(refused.count() > 0, "some bindings of 400 are refused");
    let is_running = |phase| matches!(phase, Phase::Running(_));
    assert!(run.world.pods().all(|(_, pod)| is_running(pod.phase)));
}

#[test]
fn gated_pods_are_placed_once_their_gate_is_lifted() {
    let mut run = roomy(Some(Millis::seconds(10)));
    run.run_until(Time(9_999)).unwrap();
    assert_eq!((run.progress().placed, run.progress().waiting), (0, 400));
    assert_eq!(run.progress().decisions, 0, "a gated pod is not looked at");
    run.run_until(run.end()).unwrap();
    assert_eq!((run.progress().placed, run.progress().waiting), (400, 0));
}

#[test]
fn what_waits_at_the_end_says_why() {
    let report = finish(Demo { seed: 42, nodes: 100, minutes: 10 });
    let expected = [
        "Insufficient memory",
        "node(s) didn't match Pod's node affinity/selector",
        "node(s) had untolerated taint(s)",
        "waiting for scheduling gates: [demo.kubenexus.io/quota]",
    ];
    let reasons: Vec<&String> = report.waiting.iter().flat_map(|group| &group.reasons).collect();
    for text in expected {
        assert!(reasons.iter().any(|reason| *reason == text), "{text}: {reasons:?}");
    }
    let is_told = |message: &str| message.starts_with("0/") || message.starts_with("waiting for");
    assert!(report.waiting.iter().all(|group| is_told(&group.message)));
}

#[test]
fn one_node_and_one_minute_are_enough() {
    for nodes in 1..=4 {
        let report = finish(Demo { seed: 0, nodes, minutes: 1 });
        assert!(report.pods.created > 0);
    }
}
