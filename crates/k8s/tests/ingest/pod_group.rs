//! Objects about gangs, as the projects that have them write them.

use kubenexus_k8s::ingest::{pod_group, pod_group_kind, read_pod_group, read_succeeded};
use model::{Amounts, Event, Fact, PodGroupFacts, PodGroupKind, SucceededFacts};
use serde_json::{Value, json};

/// The facts of an object, which are the same whether it is read as a value or as text.
fn facts(object: &Value) -> PodGroupFacts {
    let word = |key: &str| object[key].as_str().expect("a word");
    let (group, _) = word("apiVersion").split_once('/').expect("a group and a version");
    let kind = pod_group_kind(group, word("kind")).expect("a kind we know");
    let Ok(Event::Seen(Fact::PodGroup(facts))) = pod_group(kind, object) else {
        panic!("not read: {object}");
    };
    let seen = read_pod_group(kind, object.to_string().as_bytes()).expect("the same as text");
    assert_eq!((&*seen.version, seen.event), ("7", Event::Seen(Fact::PodGroup(facts.clone()))));
    assert_eq!((&*seen.standing.uid, seen.standing.generation), ("u", 2));
    let has_condition = object["status"]["conditions"][0]["reason"] == "Scheduled";
    let condition = seen.standing.condition.map(|(_, reason, _)| reason);
    assert_eq!(condition, has_condition.then(|| "Scheduled".into()));
    assert_eq!((facts.key.kind, &*facts.key.namespace, &*facts.key.name), (kind, "team", "train"));
    *facts
}

fn object(version: &str, kind: &str, spec: Value, status: Value) -> Value {
    json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": "train", "namespace": "team", "uid": "u", "resourceVersion": "7",
            "generation": 2, "creationTimestamp": "2026-11-16T06:30:00Z"},
        "spec": spec, "status": status,
    })
}

fn started(word: &str, status: &str) -> Value {
    json!({"conditions": [{"type": word, "status": status, "reason": "Scheduled", "message": "",
        "lastTransitionTime": "2026-11-16T06:31:00Z"}]})
}

fn only(min: u32) -> Box<[(Box<str>, u32)]> {
    Box::new([("".into(), min)])
}

#[test]
fn native_pod_groups_are_read_in_every_version() {
    for version in ["scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"] {
        let spec = json!({
            "workloadRef": {"workloadName": "w", "templateName": "workers"},
            "parentCompositePodGroupName": "all",
            "schedulingPolicy": {"gang": {"minCount": 8}},
            "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/rack"}]},
            "disruptionMode": {"all": {}}, "priorityClassName": "high", "priority": 1000,
        });
        let status = started("PodGroupInitiallyScheduled", "True");
        let facts = facts(&object(version, "PodGroup", spec, status));
        assert_eq!(facts.mins, only(8));
        assert_eq!(&*facts.topology, [Box::from("topology.kubernetes.io/rack")]);
        assert_eq!((facts.priority, facts.parent.as_deref()), (Some(1000), Some("all")));
        assert_eq!((facts.is_evicted_whole, facts.is_started, facts.timeout), (true, true, None));
    }
    let spec = json!({
        "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
        "schedulingPolicy": {"gang": {"minCount": 3}}, "disruptionMode": "PodGroup",
    });
    let status = started("PodGroupScheduled", "True");
    let found = facts(&object("scheduling.k8s.io/v1alpha2", "PodGroup", spec, status));
    assert_eq!((found.mins, found.is_evicted_whole, found.is_started), (only(3), true, true));
    let spec = json!({"schedulingPolicy": {"basic": {}}, "disruptionMode": {"single": {}}});
    let status = started("PodGroupInitiallyScheduled", "False");
    let found = facts(&object("scheduling.k8s.io/v1beta1", "PodGroup", spec, status));
    assert_eq!((found.mins, found.is_evicted_whole, found.is_started), (only(1), false, false));
    assert_eq!((found.priority, found.parent, found.topology.len()), (None, None, 0));
}

#[test]
fn composites_and_workloads_are_read() {
    let version = "scheduling.k8s.io/v1alpha3";
    let gang = |policy: Value| {
        let spec = json!({"workloadRef": {"workloadName": "w", "templateName": "all"},
            "schedulingPolicy": policy, "priority": 7});
        let status = started("CompositePodGroupInitiallyScheduled", "True");
        facts(&object(version, "CompositePodGroup", spec, status))
    };
    let all = gang(json!({"gang": {"minGroupCount": 2}}));
    assert_eq!((all.mins, all.priority, all.is_started), (only(2), Some(7), true));
    assert_eq!(gang(json!({"basic": {}})).mins, only(0));
    let spec = json!({
        "controllerRef": {"apiGroup": "batch", "kind": "Job", "name": "job"},
        "podGroups": [{"name": "drivers", "policy": {"basic": {}}},
            {"name": "workers", "policy": {"gang": {"minCount": 4}}}],
    });
    let found = facts(&object("scheduling.k8s.io/v1alpha1", "Workload", spec, json!({})));
    let expected: Box<[(Box<str>, u32)]> = Box::new([("drivers".into(), 1), ("workers".into(), 4)]);
    assert_eq!(found.mins, expected);
}

#[test]
fn pod_groups_of_other_projects_are_read() {
    let spec = json!({"minMember": 5, "scheduleTimeoutSeconds": 120,
        "minResources": {"cpu": "5", "memory": "10Gi"}});
    let status = json!({"phase": "Scheduling", "occupiedBy": "team/job", "running": 1});
    let found = facts(&object("scheduling.x-k8s.io/v1alpha1", "PodGroup", spec, status));
    assert_eq!((found.key.kind, found.timeout), (PodGroupKind::Coscheduling, Some(120)));
    assert_eq!(found.mins, only(5));
    let asked = Amounts { cpu: 5_000, memory: 10 << 30, ..Amounts::default() };
    assert_eq!(found.min_resources, asked);
    let spec = json!({"minMember": 3, "minTaskMember": {"worker": 2}, "queue": "default",
        "priorityClassName": "high",
        // Its controllers write down what quotas count, too.
        "minResources": {"cpu": "2500m", "nvidia.com/gpu": 3, "pods": "3", "count/pods": "3",
            "requests.cpu": "2500m", "limits.cpu": "3", "requests.nvidia.com/gpu": "3"}});
    let status = json!({"phase": "Inqueue", "conditions": [{"type": "Scheduled",
        "status": "True", "transitionID": "t", "lastTransitionTime": "2026-11-16T06:31:00Z"}]});
    let found = facts(&object("scheduling.volcano.sh/v1beta1", "PodGroup", spec, status));
    assert_eq!((found.key.kind, found.mins), (PodGroupKind::Volcano, only(3)));
    assert!(!found.is_started);
    let scalars = Box::new([("nvidia.com/gpu".into(), 3)]);
    let asked = Amounts { cpu: 2_500, scalars, ..Amounts::default() };
    assert_eq!(found.min_resources, asked);
    let spec = json!({"minMember": 2, "queue": "q", "priorityClassName": "train",
        "subGroups": [{"name": "a", "minMember": 1}], "topologyConstraint": {}});
    let found = facts(&object("scheduling.run.ai/v2alpha2", "PodGroup", spec, json!({})));
    assert_eq!((found.key.kind, found.mins), (PodGroupKind::Kai, only(2)));
    // A minimum of sub-groups is not one of pods.
    let spec = json!({"minSubGroup": 1, "minMember": null, "subGroups": [{"name": "a"}]});
    let found = facts(&object("scheduling.run.ai/v2alpha2", "PodGroup", spec, json!({})));
    assert_eq!(found.mins, only(1));
    for (group, kind) in [("apps", "PodGroup"), ("scheduling.volcano.sh", "Queue"), ("", "Pod")] {
        assert_eq!(pod_group_kind(group, kind), None);
    }
}

#[test]
fn a_mistake_in_a_pod_group_names_its_place() {
    let read = |spec: Value| {
        let object = object("scheduling.k8s.io/v1beta1", "PodGroup", spec, json!({}));
        pod_group(PodGroupKind::Native, &object).unwrap_err().to_string()
    };
    let text = read(json!({"schedulingPolicy": {"gang": {"minCount": "8"}}}));
    let expected = "PodGroup: spec.schedulingPolicy.gang.minCount: \
         expected an integer of 32 bits, found string \"8\"";
    assert_eq!(text, expected);
    let text = read(json!({"schedulingConstraints": []}));
    assert_eq!(text, "PodGroup: spec.schedulingConstraints: expected an object, found a list");
    let text = read(json!({"minResources": {"cpu": "many"}}));
    let expected = "PodGroup: spec.minResources.cpu: \"many\" is not a quantity \
         (expected a number such as 500m, 2, 1.5Gi or 1e3)";
    assert_eq!(text, expected);
    let text = read(json!({"minResources": {"memory": "-1Gi"}}));
    let expected = "PodGroup: spec.minResources.memory: \"-1Gi\" is negative (expected 0 or more)";
    assert_eq!(text, expected);
}

#[test]
fn of_pods_that_ran_to_their_end_only_those_of_gangs_are_told() {
    let owned = |annotations: Value, phase: &str, owner: Value| {
        let owners = json!([{"kind": "Other", "name": "x"}, owner]);
        let object = json!({"metadata": {"name": "a-0", "namespace": "team", "uid": "u",
            "resourceVersion": "9", "annotations": annotations, "ownerReferences": owners,
            "creationTimestamp": "1970-01-01T00:01:00Z"}, "status": {"phase": phase}});
        read_succeeded(object.to_string().as_bytes()).unwrap()
    };
    // Volcano's says nothing of its end that is read.
    let volcano = json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j",
        "uid": "v", "controller": true});
    let ended = |annotations, phase: &str| owned(annotations, phase, volcano.clone());
    let pod = |annotations: Value| ended(annotations, "Succeeded");
    let facts = SucceededFacts {
        uid: "u".into(),
        namespace: "team".into(),
        gang: "prepare".into(),
        created: 60,
        owner: "Job/j".into(),
        is_of_job: true,
        ..SucceededFacts::default()
    };
    let sized = json!({"pod-group.scheduling.kubenexus.io/name": "prepare",
        "pod-group.scheduling.kubenexus.io/min-available": "3"});
    let failed = SucceededFacts { is_failed: true, min: Some(3), ..facts.clone() };
    let failed = Some(Event::seen(failed));
    assert_eq!(ended(sized, "Failed"), ("9".into(), failed));
    let expected = Some(Event::seen(facts.clone()));
    let gang = json!({"scheduling.kubenexus.io/gang-group": "prepare"});
    assert_eq!(pod(gang.clone()), ("9".into(), expected));
    let own = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "k",
        "controller": true});
    let (owner, is_of_job) = ("".into(), false);
    let of_job = SucceededFacts { owner, is_of_job, job: "k".into(), ..facts.clone() };
    assert_eq!(owned(gang.clone(), "Succeeded", own).1, Some(Event::seen(of_job)));
    let set = json!({"apiVersion": "apps/v1", "kind": "Set", "name": "s", "uid": "k",
        "controller": true});
    let of_set = SucceededFacts { owner: "Set/s".into(), is_of_job: false, ..facts };
    assert_eq!(owned(gang, "Succeeded", set).1, Some(Event::seen(of_set)));
    assert_eq!(pod(json!({})), ("9".into(), None));
    assert_eq!(pod(json!({"scheduling.kubenexus.io/depends-on": "a"})).1, None);
}
