//! What pods say of themselves, by which they are classified.

use kubenexus_k8s::anonymise::Anonymiser;
use kubenexus_k8s::ingest::slim_pod;
use model::{Hints, Said, Tier, Workload};
use serde_json::{Value, json};

use crate::pod_facts;

/// The hints of a pod with this metadata.
fn hints(metadata: Value) -> Hints {
    let mut pod = json!({"metadata": metadata, "spec": {"containers": []}});
    pod["metadata"]["name"] = "p".into();
    pod_facts(&pod).spec.hints.map(|hints| *hints).unwrap_or_default()
}

fn owned_by(kind: &str, is_controller: bool) -> Hints {
    let owner = json!({"kind": kind, "name": "o", "controller": is_controller});
    hints(json!({"ownerReferences": [owner]}))
}

#[test]
fn a_pod_of_a_gang_says_so() {
    let gang = json!({"labels": {"pod-group.scheduling.kubenexus.io/name": "g"}});
    let native = json!({"metadata": {"name": "p", "uid": "u"}, "spec": {
        "containers": [], "schedulingGroup": {"podGroupName": "g"}}});
    let after = json!({"annotations": {"scheduling.kubenexus.io/depends-on": "g"}});
    assert!(hints(gang).is_in_gang);
    assert!(pod_facts(&native).spec.hints.is_some_and(|hints| hints.is_in_gang));
    assert_eq!(hints(after), Hints::default(), "who waits for a gang is not one of it");
}

#[test]
fn a_pod_says_whether_it_is_to_be_spread_in_an_annotation() {
    const KEY: &str = "topology.kubenexus.io/spread-zones";
    let said = |word: &str| hints(json!({"annotations": {KEY: word}})).spread;
    assert_eq!(said("true"), Some(Said::Known(true)));
    assert_eq!(said("false"), Some(Said::Known(false)));
    for word in ["True", "yes", "", " true"] {
        assert_eq!(said(word), Some(Said::Unknown(word.into())), "{word:?}");
    }
    let long = said(&"x".repeat(5_000));
    let Some(Said::Unknown(text)) = long else { panic!("too long to mean anything: {long:?}") };
    assert!(text.len() < 300 && text.contains("4096"), "{text}");
    assert_eq!(hints(json!({"labels": {KEY: "true"}})).spread, None, "labels are not read");
}

#[test]
fn a_pod_that_says_nothing_has_no_hints() {
    let pod = json!({"metadata": {"name": "p", "labels": {"app": "web"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}});
    assert_eq!(pod_facts(&pod).spec.hints, None);
}

#[test]
fn controllers_are_known_by_their_kind() {
    let table = [
        ("PyTorchJob", Workload::Batch),
        ("TFJob", Workload::Batch),
        ("MPIJob", Workload::Batch),
        ("XGBoostJob", Workload::Batch),
        ("TrainJob", Workload::Batch),
        ("JobSet", Workload::Batch),
        ("RayJob", Workload::Batch),
        ("RayCluster", Workload::Batch),
        ("SparkApplication", Workload::Batch),
        ("Job", Workload::Batch),
        ("CronJob", Workload::Batch),
        ("LeaderWorkerSet", Workload::Inference),
        ("InferenceService", Workload::Inference),
        ("Notebook", Workload::Interactive),
        ("Deployment", Workload::Service),
        ("ReplicaSet", Workload::Service),
        ("StatefulSet", Workload::Service),
        ("DaemonSet", Workload::Service),
    ];
    for (kind, workload) in table {
        let made_by = Some((workload, kind.into()));
        assert_eq!(owned_by(kind, true), Hints { made_by, ..Hints::default() });
        assert_eq!(owned_by(kind, false), Hints::default(), "{kind} does not control it");
    }
    for kind in ["Pod", "job", "MyJob", "Jobs"] {
        assert_eq!(owned_by(kind, true), Hints::default(), "{kind}");
    }
}

#[test]
fn controllers_behind_others_are_known_by_the_label_they_give() {
    let made_by = |kind: &str, label: &str| {
        let owner = json!({"kind": kind, "name": "o", "uid": "u", "controller": true});
        let found = hints(json!({"ownerReferences": [owner], "labels": {label: "x"}}));
        found.made_by.map(|(workload, kind)| (workload, kind.to_string()))
    };
    let table = [
        ("StatefulSet", "leaderworkerset.sigs.k8s.io/name", "LeaderWorkerSet"),
        ("ReplicaSet", "serving.kserve.io/inferenceservice", "InferenceService"),
        ("StatefulSet", "notebook-name", "Notebook"),
        // What such a controller does not make itself is not its own.
        ("DaemonSet", "notebook-name", "DaemonSet"),
        ("StatefulSet", "my-notebook-name", "StatefulSet"),
    ];
    for (kind, label, behind) in table {
        let (_, found) = made_by(kind, label).expect("a controller");
        assert_eq!(found, behind, "{kind} {label}");
    }
    let notebook = made_by("StatefulSet", "notebook-name").expect("a controller");
    assert_eq!(notebook.0, Workload::Interactive);
    let alone = hints(json!({"labels": {"notebook-name": "x", "spark-role": "driver"}}));
    assert_eq!(alone.made_by, None, "nobody made it");
}

#[test]
fn labels_are_known_whole() {
    let table = [
        ("spark-role", "executor", Workload::Batch),
        ("tf-replica-type", "worker", Workload::Batch),
        ("pytorch-job-name", "x", Workload::Batch),
        ("pytorch-replica-type", "master", Workload::Batch),
        ("training.kubeflow.org/job-name", "x", Workload::Batch),
        ("jobset.sigs.k8s.io/jobset-name", "x", Workload::Batch),
        ("app.kubernetes.io/component", "inference", Workload::Inference),
        ("app.kubernetes.io/component", "training", Workload::Training),
    ];
    for (key, value, workload) in table {
        let labelled = Some((workload, key.into()));
        let found = hints(json!({"labels": {key: value}}));
        assert_eq!(found, Hints { labelled, ..Hints::default() }, "{key}={value}");
    }
    let others = [
        ("my-spark-role", "driver"),
        ("example.com/spark-role", "driver"),
        ("xtraining.kubeflow.org/job-name", "x"),
        ("training.kubeflow.org", "x"),
        ("app.kubernetes.io/component", "training-data"),
        ("app", "training"),
    ];
    for (key, value) in others {
        assert_eq!(hints(json!({"labels": {key: value}})), Hints::default(), "{key}={value}");
    }
}

#[test]
fn words_are_read_from_labels_before_annotations() {
    const TYPE: &str = "workload.kubenexus.io/type";
    let found = hints(json!({"labels": {TYPE: "batch"}, "annotations": {TYPE: "service"}}));
    assert_eq!(found.declared, Some(Said::Known(Workload::Batch)));
    let found = hints(json!({"annotations": {TYPE: "interactive"}}));
    assert_eq!(found.declared, Some(Said::Known(Workload::Interactive)));
    let long = "x".repeat(1000);
    let found = hints(json!({"annotations": {TYPE: long}}));
    assert_eq!(found.declared, Some(Said::Unknown("x".repeat(64).into())), "cut");
}

#[test]
fn of_two_tiers_the_lower_one_is_asked_for() {
    const TIER: &str = "tenant.kubenexus.io/tier";
    let unknown = || Some(Said::Unknown("Gold".into()));
    let table = [
        (json!({"labels": {TIER: "gold"}}), Some(Said::Known(Tier::Gold))),
        (json!({"annotations": {TIER: "silver"}}), Some(Said::Known(Tier::Silver))),
        (
            json!({"labels": {TIER: "gold"}, "annotations": {TIER: "bronze"}}),
            Some(Said::Known(Tier::Bronze)),
        ),
        (json!({"labels": {TIER: "Gold"}, "annotations": {TIER: "gold"}}), unknown()),
        (json!({"labels": {TIER: "bronze"}, "annotations": {TIER: "Gold"}}), unknown()),
    ];
    for (metadata, tier) in table {
        assert_eq!(hints(metadata.clone()).tier, tier, "{metadata}");
    }
}

#[test]
fn the_rest_is_the_priority_class_and_one_label() {
    const KEY: &str = "scheduling.kubenexus.io/preemptible";
    let said = |word: &str| hints(json!({"labels": {KEY: word}})).preemptible;
    assert_eq!(said("true"), Some(Said::Known(true)));
    assert_eq!(said("false"), Some(Said::Known(false)));
    assert_eq!(said("True"), Some(Said::Unknown("True".into())));
    assert_eq!(hints(json!({"annotations": {KEY: "true"}})), Hints::default(), "a label only");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"priorityClassName": "spot"}});
    let found = pod_facts(&pod).spec.hints.expect("hints").priority_class;
    assert_eq!(found.as_deref(), Some("spot"));
}

#[test]
fn what_a_pod_is_can_still_be_told_without_names() {
    let pod = json!({
        "metadata": {
            "name": "p",
            "labels": {"app.kubernetes.io/component": "inference", "team": "search",
                "scheduling.kubenexus.io/preemptible": "true"},
            "annotations": {"workload.kubenexus.io/type": "batch", "note": "secret",
                "tenant.kubenexus.io/tier": "bronze"},
            "ownerReferences": [{"kind": "PyTorchJob", "name": "secret", "controller": true}],
        },
        "spec": {"priorityClassName": "secret-class"},
    });
    let hidden = Anonymiser::new(|text: &str| text.len() as u64).object(slim_pod(pod.clone()));
    assert!(!hidden.to_string().contains("secret"), "{hidden}");
    let hints = |pod: &Value| *pod_facts(pod).spec.hints.expect("hints");
    let (shown, hidden) = (hints(&pod), hints(&hidden));
    assert_ne!(hidden.priority_class, shown.priority_class);
    assert_eq!(hidden, Hints { priority_class: hidden.priority_class.clone(), ..shown });
}

/// They mean nothing, and whoever wrote them is told the key, the beginning and the limit.
#[test]
fn annotations_that_are_too_long_are_not_read() {
    let of = |key: &str, bytes: usize| hints(json!({"annotations": {key: "a".repeat(bytes)}}));
    let word =
        |bytes: usize| format!("{}... ({bytes} bytes, at most 4096 are read)", "a".repeat(80));
    let kind = "workload.kubenexus.io/type";
    assert_eq!(of(kind, 4096).declared, Some(Said::Unknown("a".repeat(64).into())));
    assert_eq!(of(kind, 4097).declared, Some(Said::Unknown(word(4097).into())));
    let tier = of("tenant.kubenexus.io/tier", 200_000).tier;
    assert_eq!(tier, Some(Said::Unknown(word(200_000).into())), "so it is the lowest");
    let both = json!({"labels": {kind: "batch"}, "annotations": {kind: "a".repeat(5000)}});
    assert_eq!(hints(both).declared, Some(Said::Known(Workload::Batch)), "the label counts");
}
