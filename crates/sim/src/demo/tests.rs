//! Whole runs: small ones, and ones made for a single question.

use model::{Millis, NodeFacts, Time};

use super::*;
use crate::cluster::{Fate, Group};
use crate::quantities::{amounts, requests};
use crate::world::Phase;

const SMALL: Options = Options { seed: 42, nodes: 20, minutes: 5 };

fn json(options: Options) -> String {
    let report = Demo::new(options).finish().unwrap();
    serde_json::to_string(&report).unwrap()
}

/// Five large nodes, and one job of 400 small pods at the start.
fn roomy(gated_for: Option<Millis>) -> Demo {
    let options = Options { seed: 7, nodes: 5, minutes: 5 };
    let node = |number: u32| NodePlan {
        group: Group::General,
        fate: Fate::Stays,
        facts: NodeFacts {
            name: format!("node-{number}"),
            allocatable: amounts(64_000, 256 * 1024, 0),
            pods_max: 110,
            ..NodeFacts::default()
        },
    };
    let mut job = workload::plan(1, &[], Millis::seconds(60)).remove(0);
    job.at = Time(0);
    job.pods = 400;
    job.spec.requests = requests(100, 64, 0);
    job.spec.node_selector.clear();
    job.gated_for = gated_for;
    Demo::around(options, (1..=5).map(node).collect(), vec![job])
}

#[test]
fn the_same_seed_gives_the_same_report() {
    assert_eq!(json(SMALL), json(SMALL));
}

#[test]
fn another_seed_gives_other_decisions() {
    let hash = |seed| Demo::new(Options { seed, ..SMALL }).finish().unwrap().decision_hash;
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_run_in_parts_ends_like_a_run_in_one() {
    let mut demo = Demo::new(SMALL);
    for second in (0..300).step_by(7) {
        demo.run_until(Time(second * 1000)).unwrap();
        assert_eq!(demo.progress().now, Time(second * 1000));
    }
    assert_eq!(demo.finish().unwrap(), Demo::new(SMALL).finish().unwrap());
}

#[test]
fn every_pod_is_accounted_for() {
    for seed in 0..8 {
        let report = Demo::new(Options { seed, nodes: 20, minutes: 10 }).finish().unwrap();
        let pods = report.pods;
        assert!(pods.created > 0);
        assert_eq!(
            pods.created,
            pods.running + pods.finished + pods.evicted + pods.binding + pods.waiting
        );
        let sum = |count: fn(&crate::PodCounts) -> u64| -> u64 {
            report.kinds.iter().map(|kind| count(&kind.pods)).sum()
        };
        assert_eq!(sum(|pods| pods.created), pods.created);
        assert_eq!(sum(|pods| pods.waiting), pods.waiting);
        let waiting: u64 = report.waiting.iter().map(|group| group.pods).sum();
        assert_eq!(waiting, pods.waiting);
    }
}

#[test]
fn progress_counts_what_the_report_counts() {
    let mut demo = Demo::new(SMALL);
    demo.run_until(demo.end()).unwrap();
    let progress = demo.progress();
    let report = demo.finish().unwrap();
    assert_eq!((progress.placed, progress.waiting), (report.pods.placed, report.pods.waiting));
    assert_eq!(progress.decisions, report.bindings + report.waits);
}

#[test]
fn the_engine_and_the_world_agree_on_who_is_there() {
    let mut demo = Demo::new(Options { seed: 3, nodes: 40, minutes: 30 });
    demo.run_until(demo.end()).unwrap();
    let is_there = |phase: Phase| !matches!(phase, Phase::Finished | Phase::Evicted);
    let pods = demo.world.pods().iter().filter(|pod| is_there(pod.phase)).count();
    let nodes = demo.world.nodes().iter().filter(|node| node.is_there).count();
    assert_eq!(demo.scheduler.catalog().pod_count(), pods);
    assert_eq!(demo.scheduler.catalog().nodes().len(), nodes);
}

#[test]
fn refused_bindings_are_tried_again_and_end_placed() {
    let mut demo = roomy(None);
    demo.run_until(demo.end()).unwrap();
    let refused = demo.world.pods().iter().filter(|pod| pod.refusals > 0);
    assert!(refused.count() > 0, "some bindings of 400 are refused");
    let is_running = |phase| matches!(phase, Phase::Running(_));
    assert!(demo.world.pods().iter().all(|pod| is_running(pod.phase)));
}

#[test]
fn gated_pods_are_placed_once_their_gate_is_lifted() {
    let mut demo = roomy(Some(Millis::seconds(10)));
    demo.run_until(Time(9_999)).unwrap();
    assert_eq!((demo.progress().placed, demo.progress().waiting), (0, 400));
    assert_eq!(demo.progress().decisions, 0, "a gated pod is not looked at");
    demo.run_until(demo.end()).unwrap();
    assert_eq!((demo.progress().placed, demo.progress().waiting), (400, 0));
}

#[test]
fn what_waits_at_the_end_says_why() {
    let report = Demo::new(Options { seed: 42, nodes: 100, minutes: 10 }).finish().unwrap();
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
        let report = Demo::new(Options { seed: 0, nodes, minutes: 1 }).finish().unwrap();
        assert!(report.pods.created > 0);
    }
}
