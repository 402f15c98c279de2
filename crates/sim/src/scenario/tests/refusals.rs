//! What is said about bad files: file, line, key, what was found, what was expected.

use super::{HEAD, NODE, read, source};

fn refusal(text: &str) -> String {
    match read(&[source("a.yaml", text)]).and_then(|scenario| scenario.plan(None)) {
        Ok(_) => "nothing is wrong".to_owned(),
        Err(mistakes) => mistakes.to_string(),
    }
}

/// Manifests after a node of three lines and a separator.
fn check_manifests(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(refusal(&format!("{NODE}---\n{text}")), *expected, "{text}");
    }
}

#[test]
fn mistakes_in_namespaces_by_table() {
    check_manifests(&[
        ("kind: Namespace\n", "a.yaml:5: metadata.name: required, but missing"),
        (
            "kind: Namespace\nmetadata: {name: a}\n---\nkind: Namespace\nmetadata: {name: a}\n",
            "a.yaml:9: metadata.name: namespace \"a\" is there twice",
        ),
        (
            "kind: Namespace\nmetadata:\n  name: a\n  labels: [gold]\n",
            "a.yaml:8: metadata.labels: expected an object, found a list",
        ),
    ]);
}

#[test]
fn mistakes_in_manifests_by_table() {
    let table = [
        (
            "kind: Sevrice\n",
            "a.yaml:5: kind: \"Sevrice\" is not simulated; did you mean \"Service\"?",
        ),
        (
            "kind: Deploymnt\n",
            "a.yaml:5: kind: \"Deploymnt\" is not simulated; did you mean \"Deployment\"?",
        ),
        ("spec: {}\n", "a.yaml:5: kind: required, but missing"),
        (
            "kind: DaemonSet\n",
            "a.yaml:5: kind: DaemonSets are not simulated; give the pods that it has",
        ),
        ("kind: Pod\n", "a.yaml:5: metadata.name: required, but missing"),
        ("kind: Pod\nmetadata: {name: 5}\n", "a.yaml:6: metadata.name: expected text, found 5"),
        (
            "kind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - resources:\n      \
             requests:\n        cpu: lots\n",
            "a.yaml:11: spec.containers[0].resources.requests.cpu: \"lots\" is not a quantity \
             (expected a number such as 500m, 2, 1.5Gi or 1e3)",
        ),
        (
            "kind: Job\nmetadata: {name: j}\nspec:\n  parallelism: -1\n  template: {}\n",
            "a.yaml:8: spec.parallelism: expected an integer from 0 to 2147483647, found -1",
        ),
        (
            "kind: Job\nmetadata: {name: j}\nspec:\n  parallelism: 99999999\n  template: {}\n",
            "a.yaml:7: spec: more than 10000000 pods are too many",
        ),
        ("kind: Job\nmetadata: {name: j}\n", "a.yaml:5: spec.template: required, but missing"),
        (
            "kind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n      priority: high\n",
            "a.yaml:10: spec.template.spec.priority: expected an integer of 32 bits, \
             found string \"high\"",
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec: {priorityClassName: hihg}\n---\n\
             kind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n",
            "a.yaml:7: spec.priorityClassName: there is no PriorityClass \"hihg\"; \
             did you mean \"high\"?",
        ),
        (
            "kind: PriorityClass\nmetadata: {name: high}\nvalue: lots\n",
            "a.yaml:7: value: expected an integer of 32 bits, found \"lots\"",
        ),
        (
            "kind: Pod\nmetadata:\n  name: p\n  annotations:\n    \
             simulate.kubenexus.io/duration: soon\n",
            "a.yaml:9: metadata.annotations.simulate.kubenexus.io/duration: expected a duration \
             such as 15s, 1m30s or 500ms, found \"soon\"",
        ),
        (
            "kind: Node\nmetadata:\n  name: n1\n",
            "a.yaml:7: metadata.name: node \"n1\" is there twice",
        ),
        (
            "kind: Node\nmetadata: {name: n2}\nstatus:\n  allocatable: {memory: 1Ei}\n",
            "a.yaml:8: status.allocatable: expected at most 70368744177664 (64 Ti) of each \
             resource",
        ),
    ];
    check_manifests(&table);
    assert_eq!(
        refusal("kind: Pod\nmetadata: {name: p}\nspec: {}\n"),
        "no nodes: give Node manifests, or pools"
    );
    assert!(refusal("a: [\n").starts_with("a.yaml:2: not valid YAML: "));
}

#[test]
fn what_is_missing_doubled_or_meant_for_others_by_table() {
    check_manifests(&[
        ("kind: Ingresss\n", "a.yaml:5: kind: \"Ingresss\" is not simulated"),
        ("kind: Pod\nmetadata: {name: p}\n", "a.yaml:5: spec: required, but missing"),
        (
            "kind: Job\nmetadata: {name: j}\nspec:\n  template: {sepc: {}}\n",
            "a.yaml:8: spec.template.spec: required, but missing",
        ),
        (
            "kind: Pod\nmetadata: {name: p}\nspec: {}\n---\n\
             kind: Pod\nmetadata: {name: p}\nspec: {}\n",
            "a.yaml:9: metadata.name: Pod \"default/p\" is given twice, first at a.yaml:5",
        ),
        (
            "kind: Node\nmetadata:\n  name: n2\n  annotations:\n    \
             simulate.kubenexus.io/count: \"3\"\n",
            "a.yaml:9: metadata.annotations.simulate.kubenexus.io/count: only --trace philly reads \
             it; put the Node under pools of a Scenario, with count",
        ),
        (
            "kind: PodDisruptionBudget\nmetadata: {name: b}\nspec:\n  minAvailable: most\n",
            "a.yaml:8: spec.minAvailable: expected a number of pods, or a percentage such as 50%, \
             found \"most\"",
        ),
        (
            "kind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {minAvailable: 1, \
             maxUnavailable: 1}\n",
            "a.yaml:7: spec: expected only one of minAvailable and maxUnavailable",
        ),
        ("kind: Service\n", "a.yaml:5: metadata.name: required, but missing"),
    ]);
}

/// Scenarios after a node of three lines, a separator and a head of two.
pub(super) fn check_scenarios(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(refusal(&format!("{NODE}---\n{HEAD}{text}")), *expected, "{text}");
    }
}

#[test]
fn mistakes_in_a_scenario_by_table() {
    check_scenarios(&[
        ("spam: 1h\n", "a.yaml:7: spam: unknown field \"spam\"; did you mean \"span\"?"),
        (
            "span: 8\n",
            "a.yaml:7: span: expected a duration such as 15s or 500ms, found \"8\", which lacks a \
             unit",
        ),
        ("seed: -1\n", "a.yaml:7: seed: expected an integer of at least 0, found -1"),
        (
            "schedulerName: x\n",
            "a.yaml:7: schedulerName: expected one of default-scheduler, kubenexus-scheduler, \
             found \"x\"",
        ),
        (
            "config: {kind: X}\n",
            "a.yaml:7: apiVersion: required, but missing\na.yaml:7: kind: expected \
             \"KubeSchedulerConfiguration\", found \"X\"",
        ),
        (
            "faults: {refusedPercent: 1}\n",
            "a.yaml:7: faults: faults need a span: without one a run ends when nothing moves any \
             more",
        ),
        (
            "span: 2h\nfaults: {watchCutEvery: 1ms}\n",
            "a.yaml:8: faults: watchCutEvery and leaderLostEvery make 7200000 faults within span; \
             at most 100000 are run",
        ),
        (
            "span: 1000s\nfaults: {watchCutEvery: 20ms, leaderLostEvery: 500s}\n",
            "a.yaml:8: faults: watchCutEvery and leaderLostEvery make 100002 faults within span; \
             at most 100000 are run",
        ),
        ("span: 1000s\nfaults: {watchCutEvery: 10ms}\n", "nothing is wrong"),
        (
            "span: 1h\nfaults: {refusedPercent: 101}\n",
            "a.yaml:8: faults.refusedPercent: expected an integer from 0 to 100, found 101",
        ),
        ("---\nkind: Scenario\n", "a.yaml:8: expected one Scenario, found a second one"),
    ]);
}

#[test]
fn mistakes_about_nodes_by_table() {
    check_scenarios(&[
        (
            "pools:\n- {name: a, count: 1}\n",
            "a.yaml:8: pools[0]: expected one of template, like and machine",
        ),
        (
            "pools:\n- {name: a, count: 1, like: x}\n",
            "a.yaml:8: pools[0].like: there is no Node \"x\"",
        ),
        (
            "pools:\n- name: a\n  count: 1\n  template:\n    status: {allocatable: {cpu: x}}\n",
            "a.yaml:11: pools[0].template.status.allocatable.cpu: \"x\" is not a quantity \
             (expected a number such as 500m, 2, 1.5Gi or 1e3)",
        ),
        (
            "nodes:\n- {at: 1h, do: dran, node: n1}\n",
            "a.yaml:8: nodes[0].do: expected one of join, close, open, drain, \
             leave, die, return, found \
             \"dran\"; did you mean \"drain\"?",
        ),
        (
            "nodes:\n- {at: 1h, do: drain, node: n2}\n",
            "a.yaml:8: nodes[0].node: there is no node \"n2\"; did you mean \"n1\"?",
        ),
        (
            "nodes:\n- {at: 1h, do: leave, node: n1}\n- {at: 2h, do: open, node: n1}\n",
            "a.yaml:9: nodes[1]: node n1 has left by then",
        ),
        (
            "pools:\n- {name: a, count: 2, like: n1}\nnodes:\n\
             - {at: 1h, do: close, pool: a, count: 3}\n",
            "a.yaml:10: nodes[0].count: expected at most 2, the nodes of pool \"a\", found 3",
        ),
    ]);
}

#[test]
fn mistakes_about_arrivals_by_table() {
    const POD: &str = "template: {kind: Pod, metadata: {name: p}, spec: {}}";
    check_scenarios(&[
        ("jobs:\n- {at: 1h}\n", "a.yaml:8: jobs[0]: expected either template or from"),
        (
            "jobs:\n- {from: Job/x}\n",
            "a.yaml:8: jobs[0].from: there is no such manifest in the files",
        ),
        (
            "jobs:\n- {template: {kind: Node}}\n",
            "a.yaml:8: jobs[0].template.kind: expected one of Pod, Job, Deployment, ReplicaSet, \
             ReplicationController, StatefulSet, found \"Node\"",
        ),
        (
            &format!("jobs:\n- {{every: 1m, {POD}}}\n"),
            "a.yaml:8: jobs[0]: arrives for ever: expected times, until, or a span of the scenario",
        ),
        (
            &format!("jobs:\n- {{every: 1m, perHour: 2, {POD}}}\n"),
            "a.yaml:8: jobs[0].perHour: expected only one of every, perHour and between",
        ),
        (
            &format!("jobs:\n- {{at: 1m, until: 2m, {POD}}}\n"),
            "a.yaml:8: jobs[0].until: expected every or perHour beside it",
        ),
        (
            &format!("jobs:\n- {{between: 1m..5m, until: 2m, {POD}}}\n"),
            "a.yaml:8: jobs[0].until: expected only one of until and between",
        ),
        (
            &format!("jobs:\n- {{count: 99999999999, {POD}}}\n"),
            "a.yaml:8: jobs[0]: more than 10000000 pods are too many",
        ),
    ]);
}
