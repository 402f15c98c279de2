//! `kubenexus simulate --trace`: small made-up traces in the formats of the public ones.

use serde_json::Value;

use crate::runner::{Ran, arg, in_repository, run};

fn openb(more: &[&str]) -> Ran {
    let nodes = in_repository("tests/traces/openb-nodes.csv");
    let pods = in_repository("tests/traces/openb-pods.csv");
    let fixed = ["simulate", "--trace", "openb", "--nodes", arg(&nodes), "--pods", arg(&pods)];
    run(&[&fixed[..], more].concat())
}

fn philly(more: &[&str]) -> Ran {
    let jobs = in_repository("tests/traces/philly-jobs.csv");
    let nodes = in_repository("tests/traces/philly-cluster.yaml");
    let fixed =
        ["simulate", "--trace", "philly", "--jobs", arg(&jobs), "--nodes-file", arg(&nodes)];
    run(&[&fixed[..], more].concat())
}

fn json(ran: &Ran) -> Value {
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    serde_json::from_str(&ran.out).expect("the result is JSON")
}

#[test]
fn openb_has_the_promised_shape_for_every_baseline() {
    for policy in ["fgd", "bestfit", "random"] {
        let flags = ["--policy", policy, "--seeds", "42..44", "--arrivals", "130", "--json"];
        let ran = openb(&flags);
        let result = json(&ran);
        let keys: Vec<&String> = result.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["mean", "policy", "seeds"]);
        assert_eq!(result["policy"], policy);
        assert_eq!(result["mean"].as_array().map(Vec::len), Some(131));
        let seeds = result["seeds"].as_object().expect("an object");
        assert_eq!(seeds.keys().collect::<Vec<_>>(), ["42", "43", "44"]);
        for seed in seeds.values() {
            assert_eq!(seed.as_object().map(|seed| seed.len()), Some(1));
            assert_eq!(seed["allocation"].as_array().map(Vec::len), Some(131));
        }
        assert_eq!(openb(&flags).out, ran.out, "the same seeds give the same bytes");
    }
}

#[test]
fn openb_reads_pods_without_the_later_columns() {
    let nodes = in_repository("tests/traces/openb-nodes.csv");
    let pods = in_repository("tests/traces/openb-pods-short.csv");
    let files = ["simulate", "--trace", "openb", "--nodes", arg(&nodes), "--pods", arg(&pods)];
    let ran = run(&[&files[..], &["--policy", "bestfit", "--seeds", "1", "--json"]].concat());
    assert_eq!(json(&ran)["mean"].as_array().map(Vec::len), Some(131));
}

#[test]
fn tables_are_printed_for_people() {
    let ran = openb(&["--policy", "fgd", "--seeds", "42,43"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    for text in ["policy fgd", "arrived %", "at 100 % arrived", "\n  mean  ", "\n    42  "] {
        assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
    }
    let ran = philly(&[]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    for text in
        ["4 jobs on 3 nodes with 9 GPUs", "Queue wait", "Completion", "whole node of 4 GPUs"]
    {
        assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
    }
}

#[test]
fn philly_reports_each_virtual_cluster_and_all() {
    let report = json(&philly(&["--json"]));
    assert_eq!(report["overall"]["jobs"], 4);
    let names: Vec<&Value> = report["virtual_clusters"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|cluster| &cluster["name"])
        .collect();
    assert_eq!(names, ["vc-a", "vc-b"]);
    assert_eq!(json(&philly(&["--limit", "1", "--json"]))["overall"]["jobs"], 1);
    assert_eq!(report["profile"], "kubenexus-scheduler");
    assert_eq!(report["islands"]["pods"], 3);
    let kube = json(&philly(&["--profile", "default-scheduler", "--json"]));
    assert_eq!(
        (&kube["profile"], &kube["overall"]["started"]),
        (&"default-scheduler".into(), &4.into())
    );
}

#[test]
fn the_scheduler_runs_openb_and_gives_no_gpu_twice() {
    // A placement that breaks a rule of the run's own account would fail it.
    for more in [&[][..], &["--demand", "known"], &["--departures"]] {
        let flags = [&["--policy", "kubenexus", "--seeds", "42", "--json"], more].concat();
        let result = json(&openb(&flags));
        assert_eq!(result["policy"], "kubenexus", "{more:?}");
    }
}

#[test]
fn openb_with_departures_tells_what_waits_cost() {
    for (policy, seeds) in [("fgd", &["42"][..]), ("bestfit", &["42"]), ("random", &["42", "43"])] {
        let flags = ["--policy", policy, "--seeds", "42,43", "--departures", "--load", "1.5"];
        let result = json(&openb(&[&flags[..], &["--json"]].concat()));
        let keys: Vec<&String> = result.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["horizon_ms", "load", "mean", "pods", "policy", "seeds"]);
        assert_eq!((&result["policy"], &result["load"]), (&policy.into(), &1.5.into()));
        let runs = result["seeds"].as_object().expect("an object");
        assert_eq!(runs.keys().collect::<Vec<_>>(), seeds, "{policy}");
        let outcomes = runs.values().chain([&result["mean"]]);
        for outcome in outcomes {
            let keys: Vec<&String> = outcome.as_object().expect("an object").keys().collect();
            assert_eq!(keys, ["allocated", "started", "wait_mean_ms", "wait_p99_ms"]);
            let allocated = outcome["allocated"].as_f64().expect("a number");
            assert!((0.0..=100.0).contains(&allocated), "{outcome}");
        }
        let ran = openb(&flags);
        assert_eq!((ran.code, &*ran.err), (Some(0), ""));
        for text in ["load 1.5", "allocated %", "mean wait", "p99 wait", "\n  mean  "] {
            assert!(ran.out.contains(text), "{text:?} is not in\n{}", ran.out);
        }
    }
}

#[test]
fn wrong_flags_and_files_are_refused() {
    let nodes = in_repository("tests/traces/openb-nodes.csv");
    let nodes = arg(&nodes);
    // (arguments, exit code, text)
    let table: [(&[&str], i32, &str); 6] = [
        (&["--trace", "alibaba"], 2, "[possible values: openb, philly]"),
        (&["--trace", "openb", "--nodes", "a.csv"], 2, "--pods <FILE>"),
        (&["--trace", "philly", "--jobs", "a.csv"], 2, "--nodes-file <FILE>"),
        (
            &["--trace", "openb", "--policy", "fgd", "--nodes", "none.csv", "--pods", "none.csv"],
            1,
            "cannot read none.csv",
        ),
        (
            &["--trace", "openb", "--policy", "fgd", "--nodes", nodes, "--pods", nodes],
            1,
            "openb-nodes.csv:1: expected a column \"num_gpu\", found sn, cpu_milli",
        ),
        (
            &[
                "--trace", "openb", "--policy", "fgd", "--nodes", nodes, "--pods", nodes,
                "--seeds", "5..1",
            ],
            1,
            "--seeds: expected a range that rises, found \"5..1\"",
        ),
    ];
    for (args, code, text) in table {
        let ran = run(&[&["simulate"], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{text:?} is not in\n{}", ran.err);
    }
}

#[test]
fn flags_that_mean_nothing_together_are_refused() {
    let nodes = in_repository("tests/traces/openb-nodes.csv");
    let pods = in_repository("tests/traces/openb-pods-short.csv");
    let files = ["simulate", "--trace", "openb", "--nodes", arg(&nodes), "--pods", arg(&pods)];
    // (arguments, exit code, text)
    let table: [(&[&str], i32, &str); 6] = [
        (
            &["--policy", "fgd", "--departures"],
            1,
            "openb-pods-short.csv:1: expected a column \"creation_time\", found name",
        ),
        (&["--departures", "--arrivals", "130"], 2, "cannot be used with"),
        (&["--load", "1"], 2, "--departures"),
        (&["--departures", "--load", "0"], 2, "expected a number from 0.01 to 100"),
        (&["--policy", "fgd", "--demand", "learnt"], 1, "--demand: only --policy kubenexus has it"),
        (&["--profile", "default-scheduler"], 1, "--profile: only --trace philly has it"),
    ];
    for (args, code, text) in table {
        let ran = run(&[&files[..], args].concat());
        assert_eq!(ran.code, Some(code), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(text), "{text:?} is not in\n{}", ran.err);
    }
}

#[test]
fn help_tells_how_a_trace_is_run() {
    let ran = run(&["simulate", "--help"]);
    assert_eq!(ran.code, Some(0));
    let words = ["--trace", "--nodes-file", "--arrivals", "[default: 130]", "42..51", "--policy"];
    let more = ["--departures", "--load", "[default: 1.2]", "--profile"];
    for word in words.into_iter().chain(more) {
        assert!(ran.out.contains(word), "{word} is not in\n{}", ran.out);
    }
}
