//! Every kind of difference is seen, and only differences are.

use serde_json::{Value, json};

use super::differences;

/// One feasible and one infeasible node.
fn verdict() -> Value {
    json!({
        "id": "a", "error": null, "prefilter": null,
        "nodes": {
            "n1": {"feasible": true, "scores": {"NodeResourcesFit": 62}, "total": 62},
            "n2": {"feasible": true, "scores": {"NodeResourcesFit": 50}, "total": 50},
            "n3": {"feasible": false, "plugin": "NodeResourcesFit", "code": "Unschedulable",
                   "reasons": ["Insufficient cpu", "Insufficient b/b", "Insufficient a/a"]},
        },
        "preemption": null, "allocation": null,
    })
}

fn kinds(ours: &Value, theirs: &Value) -> Vec<String> {
    differences(ours, theirs).into_iter().map(|difference| difference.kind).collect()
}

/// Puts `value` at `pointer` of the verdict and tells which kinds of difference that makes.
fn check(pointer: &str, value: Value, expected: &[&str]) {
    let theirs = verdict();
    let mut ours = verdict();
    *ours.pointer_mut(pointer).expect("the pointer names a field of the fixture") = value;
    assert_eq!(kinds(&ours, &theirs), expected, "{pointer}");
}

#[test]
fn equal_verdicts_agree() {
    assert!(differences(&verdict(), &verdict()).is_empty());
}

#[test]
fn every_kind_of_difference_is_found() {
    check("/id", json!("b"), &["id"]);
    check("/error", json!("broken"), &["error"]);
    let rejected = json!({"plugin": "NodeAffinity", "code": "Unschedulable", "reasons": []});
    check("/prefilter", rejected, &["prefilter"]);
    check("/nodes", Value::Null, &["nodes", "nodes", "nodes", "winners"]);
    check("/nodes/n3/plugin", json!("NodePorts"), &["plugin NodeResourcesFit"]);
    check("/nodes/n3/code", json!("Error"), &["code NodeResourcesFit"]);
    check("/nodes/n3/reasons/0", json!("Insufficient memory"), &["reasons NodeResourcesFit"]);
    check("/nodes/n3/reasons", json!([]), &["reasons NodeResourcesFit"]);
    check("/nodes/n1/scores/NodeResourcesFit", json!(61), &["scores NodeResourcesFit"]);
    check("/nodes/n1/scores", json!({}), &["scores NodeResourcesFit"]);
    check("/nodes/n1/scores", json!({"NodeResourcesFit": 62, "X": 1}), &["scores X"]);
    check("/nodes/n2/total", json!(51), &["total"]);
    check("/nodes/n2/total", json!(62), &["total", "winners"]);
    let infeasible = json!({"feasible": false, "plugin": "NodeName", "code": "Unschedulable"});
    check("/nodes/n2", infeasible, &["feasible NodeName"]);
}

#[test]
fn absent_score_reads_as_zero() {
    check("/nodes/n1/scores", json!({"NodeResourcesFit": 62, "ImageLocality": 0}), &[]);
}

#[test]
fn scalar_resources_come_in_any_order_and_others_do_not() {
    check(
        "/nodes/n3/reasons",
        json!(["Insufficient cpu", "Insufficient a/a", "Insufficient b/b"]),
        &[],
    );
    check(
        "/nodes/n3/reasons",
        json!(["Insufficient a/a", "Insufficient cpu", "Insufficient b/b"]),
        &["reasons NodeResourcesFit"],
    );
}

#[test]
fn candidates_of_preemption_are_compared_one_by_one() {
    let verdict = |node: &str, victims: &[&str], violations: i32| {
        let candidate = json!({"victims": victims, "pdbViolations": violations});
        let preemption = json!({"node": node, "candidates": {"n1": candidate}});
        json!({"id": "a", "error": null, "nodes": {}, "preemption": preemption})
    };
    let theirs = verdict("n1", &["ns/a"], 0);
    assert_eq!(kinds(&theirs, &theirs), [""; 0]);
    assert_eq!(kinds(&verdict("n2", &["ns/a"], 0), &theirs), ["preemption node"]);
    assert_eq!(kinds(&verdict("n1", &["ns/b"], 0), &theirs), ["victims"]);
    assert_eq!(kinds(&verdict("n1", &["ns/a"], 1), &theirs), ["victims"]);
    let none = json!({"id": "a", "error": null, "nodes": {}, "preemption": null});
    assert_eq!(kinds(&none, &theirs), ["candidates", "preemption node"]);
}

#[test]
fn allocation_is_not_compared() {
    check("/allocation", json!({"claim": []}), &[]);
}

#[test]
fn error_texts_are_free() {
    let error = |text: &str| json!({"id": "a", "error": text});
    assert!(differences(&error("one"), &error("other")).is_empty());
    let node = |text: &str| {
        json!({"id": "a", "nodes": {"n": {"feasible": false, "plugin": "P", "code": "Error",
            "reasons": [text]}}})
    };
    assert!(differences(&node("one"), &node("other")).is_empty());
}

#[test]
fn prefilter_rejections_are_compared_field_by_field() {
    let rejected = |plugin: &str, code: &str, reason: &str| {
        let prefilter = json!({"plugin": plugin, "code": code, "reasons": [reason]});
        json!({"id": "a", "error": null, "prefilter": prefilter, "nodes": {}})
    };
    let theirs = rejected("A", "Unschedulable", "x");
    assert_eq!(kinds(&rejected("B", "Unschedulable", "x"), &theirs), ["plugin A"]);
    assert_eq!(kinds(&rejected("A", "Error", "x"), &theirs), ["code A"]);
    assert_eq!(kinds(&rejected("A", "Unschedulable", "y"), &theirs), ["reasons A"]);
}

#[test]
fn a_crash_of_kube_scheduler_is_not_compared() {
    let nil = "runtime error: invalid memory address or nil pointer dereference";
    let ours = json!({"id": 1, "error": null, "nodes": {}});
    let crash = json!({"id": 1, "error": format!("panic in a plugin: {nil}")});
    assert_eq!(differences(&ours, &crash), []);
    let other = json!({"id": 1, "error": "panic in a plugin: index out of range"});
    assert_eq!(differences(&ours, &other).len(), 1);
}
