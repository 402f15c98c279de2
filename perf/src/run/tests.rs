//! Every committed workload is read and run, at its quick size.

use std::path::Path;

use super::*;
use crate::measure::{self, Options};
use crate::metric::Metric;
use crate::threshold::{Verdict, judge};

fn committed() -> Vec<Workload> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("workloads");
    Workload::read_folder(&folder).expect("every committed workload is good")
}

/// A workload of a few pods, with the given lines in its measured step and at its end.
fn small(in_step: &str, at_end: &str) -> (Workload, String) {
    let text = format!(
        "name: small\ndescription: A few.\nruns: 1\nsizes: [{{nodes: 8}}]\n\
         quick: {{nodes: 9}}\nsteps:\n- createNodes: {{count: nodes}}\n- createPods:\n    \
         count: 300\n    shapes: 3\n    measure: true\n{in_step}{at_end}"
    );
    (Workload::read("small.yaml", &text).expect("a good file"), text)
}

#[test]
fn every_workload_runs_with_its_baseline() {
    for workload in committed() {
        let options = Options { is_quick: true, ..Options::default() };
        let outcomes = measure::measure(&workload, &options, |_| ()).expect("it runs");
        let measured = &outcomes[0].measured;
        // There may be pods that fit nowhere and no others.
        let rates = [Metric::PodsPerSecond, Metric::DecisionsPerSecond];
        let is_above = |metric: &Metric| measured.get(metric).is_some_and(|rate| *rate > 0.0);
        assert!(rates.iter().any(is_above), "{}", workload.file);
        let has_ratio = measured.contains_key(&Metric::RateOverBaseline);
        assert_eq!(has_ratio, workload.baseline.is_some(), "{}", workload.file);
    }
}

#[test]
fn pods_made_beforehand_and_as_they_arrive_lead_to_the_same() {
    for workload in committed() {
        let size = &workload.quick.value;
        let stock = Stock::new(&workload, size).expect("events");
        let ready = run(&workload, size, Some(&stock)).expect("it runs");
        let made = run(&workload, size, None).expect("it runs");
        let counts = |s: &Sample| (s.pods, s.decisions, s.retries, s.nodes_known, s.pods_known);
        assert_eq!(counts(&ready), counts(&made), "{}", workload.file);
    }
}

#[test]
fn machines_of_nodes_are_known_where_they_are_told() {
    let kubelet = |machine: &str| {
        let text = small("    templates: [{from: plain}]\n", "").1;
        let text = text.replace("count: nodes", &format!("count: nodes, machine: {machine}"));
        let workload = Workload::read("small.yaml", &text).expect("a good file");
        let mut scheduler = scheduler(Profile::KubenexusScheduler).expect("a profile");
        let node = World::new(&workload, &workload.quick.value).join();
        scheduler.apply(&ingest::node(&node).expect("a node"), Time::default());
        let catalog = scheduler.catalog();
        let node = *catalog.nodes().first().expect("it joined");
        catalog.machine(node).map(|it| (it.zone_ids().len(), it.is_kubelet_unknown()))
    };
    assert_eq!(kubelet("untold"), None);
    assert_eq!(kubelet("two-sockets"), Some((2, false)));
    assert_eq!(kubelet("two-sockets-kubelet-untold"), Some((2, true)));
}

#[test]
fn a_missed_threshold_is_reported_with_its_place_and_reason() {
    let templates = "    templates: [{from: plain}]\n";
    let threshold =
        "thresholds:\n- metric: retriesPerPod\n  atLeast: 1\n  because: nobody retries.\n";
    let (workload, _) = small(templates, threshold);
    let outcome = |nodes| {
        let measured = [(Metric::RetriesPerPod, 0.0)].into_iter().collect();
        measure::Outcome { nodes, measured }
    };
    let judgements = judge(&workload, &[outcome(8)]);
    assert_eq!(judgements.len(), 1);
    assert_eq!(judgements[0].verdict, Verdict::Missed);
    let expected = "MISSED: small at 8 nodes: retriesPerPod is 0.00, at least 1 is asked \
                    (small.yaml:14): nobody retries.";
    assert_eq!(judgements[0].text, expected);
    assert!(!crate::report(&judgements));
}

#[test]
fn a_workload_that_says_wrongly_who_fits_is_refused() {
    let error = |step: &str| {
        let (workload, _) = small(step, "");
        run(&workload, &workload.sizes[0].value, None).err().map(|error| error.to_string())
    };
    let device = "    templates: [{requests: {example.com/device: 1}}]\n";
    assert_eq!(error(device).expect("refused"), "0 pods found a node, not 300 as was said");
    let misfit = "    templates: [{fitsNowhere: true}]\n";
    assert_eq!(error(misfit).expect("refused"), "a pod that fits nowhere found a node");
}

#[test]
fn gangs_must_be_within_a_rack() {
    let gangs = "    templates: [{from: plain}]\n    job: 3\n    gang: 1\n    within: rack\n";
    let text = small(gangs, "").1.replace("count: nodes", "count: nodes, rack: 4");
    let workload = Workload::read("small.yaml", &text).expect("a good file");
    let size = &workload.sizes[0].value;
    let mut world = World::new(&workload, size);
    assert_eq!(world.pod_groups().count(), 100);
    assert_eq!(world.join()["metadata"]["labels"]["topology.kubernetes.io/rack"], "rack-0");
    assert!([(3, 0), (4, 3), (6, 4)].iter().all(|at| world.must_be_within(at.0, at.1).is_ok()));
    let error = world.must_be_within(5, 4).expect_err("the next rack").to_string();
    assert_eq!(error, "pod 5 is in rack 1, others of its gang in 0");
}

#[test]
fn what_happens_meanwhile_is_as_often_as_said() {
    let step = "    templates: [{from: plain}]\n    confirm: true\n    meanwhile: \
                {podsFinish: 500, nodesJoin: 20, nodesLeave: 10}\n";
    let running = "- createPods: {count: 80, shapes: 1, bound: true, templates: [{from: plain}]}\n\
                   - createPods:\n    count: 300";
    let text = small(step, "").1.replace("- createPods:\n    count: 300", running);
    let workload = Workload::read("small.yaml", &text).expect("a good file");
    let sample = run(&workload, &workload.sizes[0].value, None).expect("it runs");
    assert_eq!(sample.pods, 300);
    // Of 300 arrivals 150 make another one finish, 6 a node join and 3 the oldest leave.
    assert_eq!(sample.nodes_known, 8 + 6 - 3);
    assert!(sample.pods_known < 80 + 300 - 150, "pods of nodes that left are gone too");
}
