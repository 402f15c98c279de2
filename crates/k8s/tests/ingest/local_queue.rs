//! LocalQueues of Kueue.

use kubenexus_k8s::ingest::{local_queue, read_local_queue};
use model::{Event, Fact, LocalQueueFacts};
use serde_json::{Value, json};

/// The ClusterQueue that a LocalQueue with this spec leads to, or what is wrong with it; the same
/// whether it is read as a value or as text.
fn leads_to(spec: Value) -> Result<String, String> {
    let object = json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "main", "namespace": "team", "resourceVersion": "7"},
        "spec": spec,
        "status": {"pendingWorkloads": 3, "conditions": [{"type": "Active", "status": "True"}]},
    });
    let read = read_local_queue(object.to_string().as_bytes()).map_err(|error| error.to_string());
    let event = local_queue(&object).map_err(|error| error.to_string());
    assert_eq!(read, event.clone().map(|event| ("7".into(), event)));
    let Event::Seen(Fact::LocalQueue(facts)) = event? else { panic!("not a queue: {object}") };
    let LocalQueueFacts { namespace, name, cluster_queue } = *facts;
    assert_eq!((&*namespace, &*name), ("team", "main"));
    Ok(cluster_queue.into())
}

#[test]
fn a_queue_leads_to_what_its_spec_names_or_nowhere() {
    assert_eq!(leads_to(json!({"clusterQueue": "gpu", "stopPolicy": "None"})), Ok("gpu".into()));
    for spec in [json!({}), json!({"clusterQueue": null}), json!({"clusterQueue": ""}), json!(null)]
    {
        assert_eq!(leads_to(spec.clone()), Ok(String::new()), "{spec}");
    }
}

#[test]
fn what_is_no_queue_is_named_with_path_value_and_expectation() {
    let table = [
        (
            json!({"clusterQueue": 5}),
            "LocalQueue: spec.clusterQueue: expected a string, found integer `5`",
        ),
        (
            json!({"clusterQueue": ["gpu"]}),
            "LocalQueue: spec.clusterQueue: expected a string, found a list",
        ),
        (json!([]), "LocalQueue: spec: expected an object, found a list"),
    ];
    for (spec, expected) in table {
        assert_eq!(leads_to(spec), Err(expected.into()));
    }
    assert!(read_local_queue(b"{").is_err());
}
