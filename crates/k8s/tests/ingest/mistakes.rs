//! Objects that are not what their kind promises are refused with path, value and expectation.

use kubenexus_k8s::ingest;
use serde_json::{Value, json};

/// Read in whatever way, the mistake is told in the same words.
fn check_pod(object: Value, expected: &str) {
    let text = object.to_string();
    let errors = [
        ingest::pod(&object).expect_err("not a pod"),
        ingest::pod_to_judge(&object).expect_err("not a pod"),
        ingest::read_pod(text.as_bytes()).expect_err("not a pod"),
    ];
    errors.iter().for_each(|error| assert_eq!(error.to_string(), expected));
}

fn check_node(object: Value, expected: &str) {
    let text = object.to_string();
    let errors = [
        ingest::node(&object).expect_err("not a node"),
        ingest::read_node(text.as_bytes()).expect_err("not a node"),
    ];
    errors.iter().for_each(|error| assert_eq!(error.to_string(), expected));
}

#[test]
fn a_mistake_is_named_with_path_value_and_expectation() {
    check_pod(json!(5), "Pod: expected an object, found integer `5`");
    check_pod(json!({"spec": []}), "Pod: spec: expected an object, found a list");
    check_pod(
        json!({"spec": {"containers": [{}, {"ports": [{"hostPort": "http"}]}]}}),
        "Pod: spec.containers[1].ports[0].hostPort: expected an integer of 32 bits, found string \
         \"http\"",
    );
    check_pod(
        json!({"spec": {"priority": 1_i64 << 40}}),
        "Pod: spec.priority: expected an integer of 32 bits, found integer `1099511627776`",
    );
    check_pod(
        json!({"spec": {"tolerations": {}}}),
        "Pod: spec.tolerations: expected a list, found an object",
    );
    check_pod(
        json!({"spec": {"nodeSelector": ["a"]}}),
        "Pod: spec.nodeSelector: expected an object, found a list",
    );
    check_node(
        json!({"metadata": {"labels": {"a": true}}}),
        "Node: metadata.labels.a: expected a string, found boolean `true`",
    );
    check_node(
        json!({"status": {"images": [{"sizeBytes": 1.5}]}}),
        "Node: status.images[0].sizeBytes: expected an integer of 64 bits, found floating point \
         `1.5`",
    );
}

#[test]
fn quantities_are_refused_with_an_example() {
    let node = |cpu: Value| json!({"status": {"allocatable": {"cpu": cpu}}});
    check_node(
        node(json!("a lot")),
        "Node: status.allocatable.cpu: \"a lot\" is not a quantity (expected a number such as \
         500m, 2, 1.5Gi or 1e3)",
    );
    check_node(
        node(json!([])),
        "Node: status.allocatable.cpu: expected a quantity such as 500m or 1Gi, found a list",
    );
    for negative in [json!("-1"), json!(-1)] {
        let expected = "Node: status.allocatable.cpu: \"-1\" is negative (expected 0 or more)";
        check_node(node(negative), expected);
    }
}

#[test]
fn a_negative_weight_is_refused() {
    let affinity = json!({"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": -5}]}});
    check_pod(
        json!({"spec": {"affinity": affinity}}),
        "Pod: spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]\
         .weight: -5 is negative (expected 0 or more)",
    );
}

#[test]
fn long_values_are_cut() {
    let error = ingest::pod(&json!({"spec": "x".repeat(1 << 20)})).expect_err("no spec");
    let text = error.to_string();
    assert!(text.starts_with("Pod: spec: expected an object, found string \"xxx"), "{text}");
    assert!(text.ends_with("xxx...") && text.len() < 300, "{text}");
}

#[test]
fn null_reads_as_left_out() {
    let nulls = json!({"metadata": null, "spec": {"containers": null, "priority": null,
        "affinity": null, "nodeName": null}, "status": null});
    let facts = crate::pod_facts(&nulls);
    assert_eq!(facts.spec, crate::pod_facts(&json!({})).spec);
    assert_eq!((facts.rest.priority, facts.node), (0, None));
}

#[test]
fn text_that_is_no_json_is_refused() {
    let check = |text: &[u8], expected: &str| {
        let error = ingest::read_pod(text).expect_err("no JSON").to_string();
        assert_eq!(error, expected);
    };
    check(b"", "Pod: is not JSON: EOF while parsing a value at line 1 column 0");
    check(b"{\"spec\": {}} 5", "Pod: is not JSON: trailing characters at line 1 column 14");
}
