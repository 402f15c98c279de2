//! Files that are refused, and how.

use super::*;

const GOOD: &str = "\
name: good
description: Pods.
sizes:
  - {nodes: 10, pods: 20}
  - {nodes: 20, pods: 40}
quick: {nodes: 5, pods: 10}
baseline: {pods: 5}
steps:
  - createNodes: {count: nodes}
  - createPods:
      count: pods
      shapes: 2
      templates:
        - from: mixed
          requests: {cpu: 1}
      measure: true
figures:
  - {metric: usPerPod, name: \"us_{nodes}\"}
thresholds:
  - metric: rateOverBaseline
    atLeast: 0.9
    because: it is good.
";

/// What is said when a line of the good file, counted from 1, is another one.
fn refusal(line: usize, text: &str) -> String {
    let mut lines: Vec<&str> = GOOD.lines().collect();
    lines[line - 1] = text;
    let read = Workload::read("folder/good.yaml", &(lines.join("\n") + "\n"));
    read.err().map_or_else(String::new, |error| error.to_string())
}

#[test]
fn a_good_file_is_read() {
    let workload = Workload::read("folder/good.yaml", GOOD).expect("good");
    assert_eq!((workload.runs, workload.sizes.len(), workload.steps.len()), (5, 2, 2));
    let Step::CreatePods(pods) = &workload.steps[1].value else {
        panic!("the second creates pods")
    };
    assert_eq!(pods.count.at(&workload.sizes[1].value), 40);
    assert_eq!(pods.templates[0].requests["cpu"], 1);
    let baseline = workload.baseline_of(&workload.sizes[1].value).expect("there is one");
    assert_eq!((baseline["nodes"], baseline["pods"]), (20, 5));
}

#[test]
fn bad_files_are_refused_with_file_line_and_key() {
    // (line, what it says instead, what is wrong)
    let table = [
        (1, "name: bad", "1: name: \"bad\" is not the file's"),
        (2, "about: Pods.", "2: about: unknown field `about`, expected one of"),
        (4, "  - {pods: 20}", "4: sizes[0].nodes: required, but missing"),
        (
            4,
            "  - {nodes: x, pods: 20}",
            "4: sizes[0].nodes: invalid u64 in `- {nodes: x, pods: 20}`",
        ),
        (5, "  - {nodes: 10, pods: 40}", "5: sizes[1].nodes: two sizes have 10 nodes"),
        (5, "  - {nodes: 20}", "5: sizes[1].pods: required, but missing"),
        (7, "baseline: {pots: 5}", "7: baseline.pots: the sizes have no such number"),
        (
            9,
            "  - createNodes: {count: node}",
            "9: steps[0].createNodes.count: the sizes have no number node",
        ),
        (
            9,
            "  - createNodes: {count: nodes, machine: two}",
            "9: steps[0].createNodes.machine: unknown variant `two`",
        ),
        (9, "  - restart: {}", "9: steps[0]: the first step"),
        (9, "  - makeNodes: {count: nodes}", "9: steps[0]: unknown variant"),
        (11, "      count: -1", "11: steps[1].createPods.count: invalid value: integer `-1`"),
        (11, "      counts: 5", "11: steps[1].createPods.counts: unknown field `counts`"),
        (12, "      shapes: 0", "10: steps[1]: shapes: at least one is needed"),
        (14, "        - from: mixd", "14: steps[1].createPods.templates[0].from: unknown variant"),
        (
            15,
            "          request: {cpu: 1}",
            "15: steps[1].createPods.templates[0].request: unknown field",
        ),
        (16, "      bound: true", "1: steps: 0 are measured, and one should be"),
        (18, "  - {metric: usPerPod, name: us}", "18: figures[0]: name: there are several sizes"),
        (18, "  - {metric: seconds, name: s}", "18: figures[0]: metric: seconds is not measured"),
        (20, "  - metric: rateOverBasline", "20: thresholds[0].metric: unknown variant"),
        (21, "    nodes: 10", "20: thresholds[0]: one of atLeast and atMost is needed"),
        (
            21,
            "    atLeast: much",
            "21: thresholds[0].atLeast: invalid floating point in `atLeast: much`",
        ),
        (22, "    because: \"\"", "20: thresholds[0]: because: a threshold needs a reason"),
        (22, "    nodes: 10", "22: thresholds[0]: missing field `because`"),
        (21, "    atLeast: [", "21: thresholds[0].atLeast: expected string scalar in `atLeast: [`"),
    ];
    for (line, text, expected) in table {
        let found = refusal(line, text);
        assert!(found.starts_with(&format!("folder/good.yaml:{expected}")), "{text}: {found}");
    }
}

#[test]
fn a_restart_comes_last_after_bound_pods() {
    let restart = GOOD.replace("      measure: true\n", "  - restart: {}\n");
    let error = Workload::read("good.yaml", &restart).expect_err("pods are not bound");
    let expected = "good.yaml:16: steps[2]: a restart is the last step, after nodes and bound pods";
    assert_eq!(error.to_string(), expected);
    let bound = restart.replace("  - restart", "      bound: true\n  - restart");
    assert!(Workload::read("good.yaml", &bound).expect("bound").is_restart());
}

#[test]
fn kube_scheduler_is_no_peer_of_our_own_profile() {
    let profile =
        |name: &str| GOOD.replace("steps:", &format!("peer: true\nprofile: {name}\nsteps:"));
    assert!(Workload::read("good.yaml", &profile("default-scheduler")).is_ok());
    let error = Workload::read("good.yaml", &profile("kubenexus-scheduler")).expect_err("ours");
    let expected = "good.yaml:1: profile: kube-scheduler has none but its own, and does the same \
                    only for gangs within something";
    assert_eq!(error.to_string(), expected);
    let gangs = "      job: 5\n      gang: 1\n      within: rack\n      measure: true\n";
    let gangs = profile("kubenexus-scheduler").replace("      measure: true\n", gangs);
    assert!(Workload::read("good.yaml", &gangs).is_ok());
    let error = Workload::read("good.yaml", &gangs.replace("      job: 5\n", ""));
    let expected = "good.yaml:12: steps[1]: within: only gangs are somewhere together; job and \
                    gang are needed";
    assert_eq!(error.expect_err("no gangs").to_string(), expected);
}

#[test]
fn two_workloads_do_not_print_the_same_figure() {
    let read = |text: &str| Workload::read("good.yaml", text).expect("good");
    let error = check::check_figures(&[read(GOOD), read(GOOD)]).expect_err("the same name");
    let expected = "good.yaml:18: figures[0].name: there is another figure us_{nodes}";
    assert_eq!(error.to_string(), expected);
}
