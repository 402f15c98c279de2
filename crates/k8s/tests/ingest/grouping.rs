//! Services and controllers, and the owner of a pod.

use kubenexus_k8s::ingest;
use model::{Event, Fact, GroupingFacts, GroupingKind, LabelOperator, Owner};
use serde_json::{Value, json};

use crate::pod_facts;

/// The facts of an object, which are the same whether it is read as a value or as text.
fn facts(kind: GroupingKind, selector: Value) -> GroupingFacts {
    let object = json!({
        "metadata": {"name": "web", "namespace": "shop", "resourceVersion": "7"},
        "spec": {"selector": selector},
    });
    let Ok(Event::Seen(Fact::Grouping(facts))) = ingest::grouping(kind, &object) else {
        panic!("not read: {object}");
    };
    let read = ingest::read_grouping(kind, object.to_string().as_bytes()).expect("text");
    assert_eq!(read, ("7".into(), Event::Seen(Fact::Grouping(facts.clone()))));
    *facts
}

#[test]
fn selectors_by_table() {
    use GroupingKind::{ReplicaSet, ReplicationController, Service, StatefulSet};
    let web = json!({"app": "web"});
    // (kind, selector, how many requirements)
    let table = [
        (Service, web.clone(), 1),
        (Service, json!({"app": "web", "tier": "back"}), 2),
        (Service, json!({}), 0),
        (Service, Value::Null, 0),
        // Nobody asks of a map whether its labels are sound.
        (ReplicationController, json!({"app": "a/b"}), 1),
        (ReplicaSet, json!({"matchLabels": web}), 1),
        (ReplicaSet, json!({"matchLabels": {"app": "a/b"}}), 0),
        (ReplicaSet, Value::Null, 0),
        (StatefulSet, json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}), 1),
        (StatefulSet, json!({"matchExpressions": [{"key": "app", "operator": "In"}]}), 0),
    ];
    for (kind, selector, count) in table {
        let facts = facts(kind, selector.clone());
        assert_eq!(facts.selector.requirements.len(), count, "{kind:?} {selector}");
        assert_eq!((facts.key.kind, &*facts.key.listed_by()), (kind, "shop/web"));
    }
    let requirement = &facts(Service, json!({"app": "web"})).selector.requirements[0];
    assert_eq!((&*requirement.key, requirement.operator), ("app", LabelOperator::In));
    assert_eq!(requirement.values, ["web"]);
    let wrong = json!({"spec": {"selector": {"matchLabels": {}}}});
    let fault = ingest::grouping(Service, &wrong).expect_err("a map of texts").to_string();
    assert_eq!(fault, "Service: spec.selector.matchLabels: expected a string, found an object");
}

fn owner(version: &str, kind: &str, is_controller: bool) -> Value {
    json!({"apiVersion": version, "kind": kind, "name": "web", "controller": is_controller})
}

#[test]
fn the_owner_of_a_pod_is_its_controller_by_kind_and_version() {
    use GroupingKind::{ReplicaSet, ReplicationController, StatefulSet};
    // (owners, kind of the one that counts)
    let table = [
        (json!([owner("apps/v1", "ReplicaSet", true)]), Some(ReplicaSet)),
        (json!([owner("apps/v1", "StatefulSet", true)]), Some(StatefulSet)),
        (json!([owner("v1", "ReplicationController", true)]), Some(ReplicationController)),
        (json!([owner("apps/v1", "ReplicaSet", false)]), None),
        (json!([owner("apps/v1beta2", "ReplicaSet", true)]), None),
        (json!([owner("v1", "ReplicaSet", true)]), None),
        (json!([owner("batch/v1", "Job", true)]), None),
        (json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}]), None),
        (
            json!([owner("v1", "Node", false), owner("apps/v1", "StatefulSet", true)]),
            Some(StatefulSet),
        ),
        // The first controller is the controller.
        (json!([owner("batch/v1", "Job", true), owner("apps/v1", "ReplicaSet", true)]), None),
        (json!([]), None),
    ];
    for (owners, kind) in table {
        let facts = pod_facts(&json!({"metadata": {"ownerReferences": owners}}));
        let expected = kind.map(|kind| Owner { kind, name: "web".into() });
        assert_eq!(facts.owner, expected, "{owners}");
    }
}
