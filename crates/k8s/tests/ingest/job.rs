//! Jobs of Kubernetes.

use kubenexus_k8s::ingest::{job, read_job};
use model::{Event, Fact};
use serde_json::{Value, json};

/// For how many pods of a gang a Job stands, if it is complete, or what is wrong with it; the same
/// whether it is read as a value or as text.
fn pods(spec: Value, status: Value) -> Result<Option<u32>, String> {
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "prepare", "namespace": "team", "uid": "u", "resourceVersion": "7"},
        "spec": spec,
        "status": status,
    });
    let read = read_job(object.to_string().as_bytes()).map_err(|error| error.to_string());
    let event = job(&object).map_err(|error| error.to_string());
    assert_eq!(read, event.clone().map(|event| ("7".into(), event)));
    Ok(event?.map(|event| {
        let Event::Seen(Fact::Job(facts)) = event else { panic!("not a Job: {object}") };
        assert_eq!(&*facts.uid, "u");
        facts.pods
    }))
}

fn conditions(all: &[(&str, &str)]) -> Value {
    let all = all.iter().map(|(kind, status)| json!({"type": kind, "status": status}));
    json!({"conditions": all.collect::<Vec<_>>()})
}

#[test]
fn only_a_job_that_is_complete_is_told() {
    let told = |all: &[(&str, &str)]| pods(json!({}), conditions(all)).unwrap().is_some();
    assert!(told(&[("Complete", "True")]));
    assert!(told(&[("Suspended", "False"), ("SuccessCriteriaMet", "True"), ("Complete", "True")]));
    for all in [
        &[][..],
        &[("Complete", "False")],
        &[("Complete", "Unknown")],
        &[("SuccessCriteriaMet", "True")],
        &[("Failed", "True")],
        &[("FailureTarget", "True"), ("Failed", "True")],
        &[("Complete", "True"), ("Failed", "True")],
        &[("complete", "True")],
    ] {
        assert!(!told(all), "{all:?}");
    }
    assert_eq!(pods(json!(null), json!(null)), Ok(None));
}

#[test]
fn a_job_stands_for_as_many_pods_as_it_had() {
    let told = |spec: Value, succeeded: Value| {
        let mut status = conditions(&[("Complete", "True")]);
        status["succeeded"] = succeeded;
        pods(spec, status).unwrap().unwrap()
    };
    let table = [
        (json!({}), json!(null), 1),
        (json!({"parallelism": 4}), json!(1), 4),
        (json!({"parallelism": 2, "completions": 9}), json!(9), 9),
        (json!({"parallelism": 0, "completions": null}), json!(6), 6),
        (json!({"parallelism": -3}), json!(-1), 1),
        (json!({"parallelism": i32::MAX}), json!(1), i32::MAX.unsigned_abs()),
    ];
    for (spec, succeeded, expected) in table {
        assert_eq!(told(spec.clone(), succeeded), expected, "{spec}");
    }
}

#[test]
fn a_mistake_in_a_job_names_its_place() {
    let text = pods(json!({"parallelism": "2"}), json!({})).unwrap_err();
    let expected = "Job: spec.parallelism: expected an integer of 32 bits, found string \"2\"";
    assert_eq!(text, expected);
    let text = pods(json!({}), json!({"conditions": {}})).unwrap_err();
    assert_eq!(text, "Job: status.conditions: expected a list, found an object");
}
