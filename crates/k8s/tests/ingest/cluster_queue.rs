//! ClusterQueues of Kueue.

use kubenexus_k8s::ingest::{cluster_queue, read_cluster_queue};
use model::{ClusterQueueFacts, Event, Fact};
use serde_json::{Value, json};

/// Whether a ClusterQueue with this spec is for a namespace with the label `team: a` and for one
/// without labels, or what is wrong with it; the same whether it is read as a value or as text.
fn is_for(spec: Value) -> Result<(bool, bool), String> {
    let object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "gpu", "resourceVersion": "7"},
        "spec": spec,
        "status": {"pendingWorkloads": 3},
    });
    let read = read_cluster_queue(object.to_string().as_bytes()).map_err(|error| error.to_string());
    let event = cluster_queue(&object).map_err(|error| error.to_string());
    assert_eq!(read, event.clone().map(|event| ("7".into(), event)));
    let Event::Seen(Fact::ClusterQueue(facts)) = event? else { panic!("not a queue: {object}") };
    let ClusterQueueFacts { name, namespaces } = *facts;
    assert_eq!(&*name, "gpu");
    let labels = [("team".into(), "a".into())];
    let is_for = |labels| namespaces.as_ref().is_some_and(|it| it.matches(labels));
    Ok((is_for(&labels), is_for(&[])))
}

#[test]
fn a_queue_is_for_the_namespaces_that_its_selector_means_and_without_one_for_none() {
    let unsound = json!({"key": "team", "operator": "In", "values": []});
    let table = [
        (json!(null), (false, false)),
        (json!({}), (false, false)),
        (json!({"namespaceSelector": null, "cohort": "all"}), (false, false)),
        (json!({"namespaceSelector": {}}), (true, true)),
        (json!({"namespaceSelector": {"matchLabels": {"team": "a"}}}), (true, false)),
        (json!({"namespaceSelector": {"matchLabels": {"team": "b"}}}), (false, false)),
        (
            json!({"namespaceSelector": {"matchExpressions": [
                {"key": "team", "operator": "DoesNotExist"}]}}),
            (false, true),
        ),
        (json!({"namespaceSelector": {"matchExpressions": [unsound]}}), (false, false)),
    ];
    for (spec, expected) in table {
        assert_eq!(is_for(spec.clone()), Ok(expected), "{spec}");
    }
}

#[test]
fn what_is_no_queue_is_named_with_path_value_and_expectation() {
    let table = [
        (
            json!({"namespaceSelector": 5}),
            "ClusterQueue: spec.namespaceSelector: expected an object, found integer `5`",
        ),
        (json!([]), "ClusterQueue: spec: expected an object, found a list"),
    ];
    for (spec, expected) in table {
        assert_eq!(is_for(spec), Err(expected.into()));
    }
    assert!(read_cluster_queue(b"{").is_err());
}
