//! What is read beside the facts, to write back to the object.

use kubenexus_k8s::ingest::{self, SeenPod, Standing};
use model::{Event, Fact};
use serde_json::{Value, json};

fn seen(object: &Value) -> SeenPod {
    ingest::read_pod(object.to_string().as_bytes()).expect("a pod")
}

#[test]
fn a_pod_on_no_node_brings_what_stands_in_its_object() {
    let mut pod = json!({
        "metadata": {"name": "web", "uid": "1-2", "resourceVersion": "77", "generation": 3},
        "status": {"phase": "Pending", "nominatedNodeName": "a", "conditions": [
            {"type": "Ready", "status": "False", "reason": "X", "message": "y"},
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
             "message": "0/5 nodes are available", "observedGeneration": 3}]}});
    let condition = Some(("Unschedulable".to_owned(), "0/5 nodes are available".to_owned()));
    let expected = Standing { generation: 3, condition };
    assert_eq!(seen(&pod).standing.as_ref(), Some(&expected));
    assert_eq!(seen(&pod).version, "77");
    pod["status"]["phase"] = json!("Failed");
    assert_eq!(seen(&pod).standing, None);
    pod["status"]["phase"] = json!("Pending");
    pod["spec"] = json!({"nodeName": "a"});
    assert_eq!(seen(&pod).standing, None);
    assert_eq!(seen(&json!({})).standing, Some(Standing::default()));
}

#[test]
fn a_condition_that_is_not_false_says_nothing() {
    let pod = json!({"status": {"conditions": [
        {"type": "PodScheduled", "status": "Unknown", "reason": "X", "message": "y"}]}});
    assert_eq!(seen(&pod).standing, Some(Standing::default()));
}

#[test]
fn the_version_of_a_node_is_read() {
    let text = br#"{"metadata": {"name": "a", "resourceVersion": "5"}}"#;
    assert_eq!(ingest::read_node(text).expect("a node").version, "5");
}

#[test]
fn a_field_that_stands_twice_counts_as_it_stands_last() {
    let text = br#"{"metadata": {"uid": "1"}, "metadata": {"uid": "2"},
        "spec": {"overhead": {"cpu": "1", "cpu": "2"}}}"#;
    let Event::Seen(Fact::Pod(facts)) = ingest::read_pod(text).expect("a pod").event else {
        panic!("not a pod");
    };
    assert_eq!(&*facts.key.uid, "2");
    assert_eq!(facts.spec.requests.fit.cpu, 2000);
}
