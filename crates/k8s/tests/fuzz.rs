//! Objects and configurations that are nearly right: whatever comes out, it is an answer, and what
//! is accepted harms nobody behind it.

use std::fmt::Debug;

use kubenexus_k8s::ingest::{self, IngestError};
use kubenexus_k8s::{config, manifest};
use model::{Event, Fact, GroupingKind, Kind, PodGroupKind, StorageKind};
use serde_json::Value;
use testkit::{Script, fuzz, own_profile};

/// Between them, these have every field that is read.
const CASES: [&str; 2] = [
    include_str!("../../kubenexus/tests/command/fuzz/rich.json"),
    include_str!("../../kubenexus/tests/command/fuzz/needy.json"),
];

/// What operators and other schedulers' tools make.
const OPERATORS: [&str; 6] = [
    include_str!("operators/kai.yaml"),
    include_str!("operators/native.yaml"),
    include_str!("operators/ray.yaml"),
    include_str!("operators/scheduler-plugins.yaml"),
    include_str!("operators/spark.yaml"),
    include_str!("operators/volcano.yaml"),
];

/// A node that says how its GPUs are shared, and a pod that wants a part of one.
const SHARED: &str = r#"
apiVersion: v1
kind: Node
metadata:
  name: shared
  labels:
    nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB-SHARED
    nvidia.com/gpu.memory: "40960"
    nvidia.com/gpu.count: "1"
    nvidia.com/gpu.replicas: "4"
    nvidia.com/gpu.sharing-strategy: mps
    nvidia.com/gpu.topology: nvswitch
    nvidia.com/gpu.clique: b2b6dbd8.1
    nvidia.com/mig.strategy: mixed
    nvidia.com/mig-1g.5gb.memory: "4864"
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "110", nvidia.com/gpu: "4"}}
---
apiVersion: v1
kind: Pod
metadata:
  name: part
  uid: part
  annotations:
    kubenexus.io/gpu-memory: 10Gi
    scheduling.kubenexus.io/vram-request: 40Gi
spec:
  schedulerName: default-scheduler
  containers: [{name: main, resources: {limits: {nvidia.com/gpu: "1"}}}]
"#;

const CONFIGS: [&str; 4] = [
    include_str!("../../../config/config.yaml"),
    include_str!("../../../examples/config/binpack.yaml"),
    include_str!("../../../examples/config/gangs.yaml"),
    include_str!("../../../examples/config/two-profiles.yaml"),
];

/// No message about a value repeats more of it than this.
const MESSAGE_MAX: usize = 1_000;

/// Objects of every kind that is read.
fn objects() -> Vec<Value> {
    let mut objects = Vec::new();
    for text in CASES {
        let mut case: Value = serde_json::from_str(text).expect("a committed case is JSON");
        objects.push(case["pod"].take());
        objects.extend(case["objects"].as_array().expect("a list").iter().cloned());
    }
    for text in OPERATORS.into_iter().chain([SHARED]) {
        let found = manifest::split(text).expect("a committed file is YAML");
        objects.extend(found.iter().map(|object| object.json().into_owned()));
    }
    for object in &mut objects {
        if let Some(name) = object.pointer_mut("/spec/schedulerName") {
            *name = "default-scheduler".into();
        }
    }
    objects
}

type Read = Result<Event, IngestError>;

/// Reads a text as every kind there is, as a value and as it comes from a watch.
fn readings(text: &[u8]) -> Vec<(&'static str, Option<Read>, Read)> {
    let value: Option<Value> = serde_json::from_slice(text).ok();
    let of = |read: &dyn Fn(&Value) -> Read| value.as_ref().map(read);
    let mut all = vec![
        ("Pod", of(&ingest::pod), ingest::read_pod(text).map(|seen| seen.event)),
        ("Node", of(&ingest::node), ingest::read_node(text).map(|seen| seen.event)),
        ("Namespace", of(&ingest::namespace), ingest::read_namespace(text).map(|seen| seen.1)),
        ("PodDisruptionBudget", of(&ingest::budget), ingest::read_budget(text).map(|seen| seen.1)),
        ("LocalQueue", of(&ingest::local_queue), ingest::read_local_queue(text).map(|seen| seen.1)),
        (
            "ClusterQueue",
            of(&ingest::cluster_queue),
            ingest::read_cluster_queue(text).map(|seen| seen.1),
        ),
        (
            "NodeResourceTopology",
            of(&ingest::node_resource_topology),
            ingest::read_node_resource_topology(text).map(|seen| seen.1),
        ),
        (
            "ResourceSlice",
            of(&ingest::resource_slice),
            ingest::read_resource_slice(text).map(|seen| seen.1),
        ),
        (
            "ResourceClaim",
            of(&ingest::resource_claim),
            ingest::read_resource_claim(text).map(|seen| seen.1),
        ),
    ];
    for kind in [
        GroupingKind::Service,
        GroupingKind::ReplicationController,
        GroupingKind::ReplicaSet,
        GroupingKind::StatefulSet,
    ] {
        let read = ingest::read_grouping(kind, text).map(|seen| seen.1);
        all.push(("grouping", of(&|value| ingest::grouping(kind, value)), read));
    }
    for kind in StorageKind::ALL {
        let read = ingest::read_storage(kind, text).map(|seen| seen.1);
        all.push(("storage", of(&|value| ingest::storage(kind, value)), read));
    }
    for kind in [
        PodGroupKind::Native,
        PodGroupKind::Composite,
        PodGroupKind::Workload,
        PodGroupKind::Coscheduling,
        PodGroupKind::Volcano,
        PodGroupKind::Kai,
    ] {
        let read = ingest::read_pod_group(kind, text).map(|seen| seen.event);
        all.push(("pod group", of(&|value| ingest::pod_group(kind, value)), read));
    }
    all
}

fn check_message(error: &dyn ToString) {
    let text = error.to_string();
    assert!(!text.trim().is_empty() && text.chars().count() < MESSAGE_MAX, "{text}");
}

/// What is written down is what was read.
fn check_written<T: Debug + PartialEq + serde::Serialize + serde::de::DeserializeOwned>(it: &T) {
    let text = serde_json::to_string(it).expect("it can be written");
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(read, *it);
}

#[test]
fn every_kind_is_read_alike_from_values_and_texts_and_can_be_written_down() {
    fuzz::json(1_500, &objects(), |text| {
        for (kind, value, read) in readings(text) {
            let read = read.map_err(|error| error.to_string());
            if let Some(value) = value {
                let value = value.map_err(|error| error.to_string());
                assert_eq!(value, read, "{kind}");
            }
            match &read {
                Ok(event) => check_written(event),
                Err(error) => check_message(error),
            }
        }
        // A pod that succeeded is read from the same text.
        let is_pod = ingest::read_pod(text).is_ok();
        assert_eq!(ingest::read_succeeded(text).is_ok(), is_pod);
        let read = ingest::read_job(text).map_err(|error| error.to_string());
        if let Ok(value) = serde_json::from_slice(text) {
            let value = ingest::job(&value).map_err(|error| error.to_string());
            assert_eq!(value, read.clone().map(|read| read.1));
        }
        match read {
            Ok((_, event)) => check_written(&event),
            Err(error) => check_message(&error),
        }
    });
}

#[test]
fn a_slim_object_says_what_the_object_says() {
    fuzz::json(1_000, &objects(), |text| {
        let Ok(mut value) = serde_json::from_slice::<Value>(text) else { return };
        // It is left out: what became of the object is not kept.
        if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
            metadata.remove("resourceVersion");
        }
        // Of two faults, the slim object may have the other one first.
        let slim = ingest::pod(&ingest::slim_pod(value.clone()));
        if let Ok(event) = ingest::pod(&value) {
            assert_eq!(slim.expect("it is no worse"), event);
        }
        let slim = ingest::node(&ingest::slim_node(value.clone()));
        if let Ok(event) = ingest::node(&value) {
            assert_eq!(slim.expect("it is no worse"), event);
        }
        let slim = ingest::slim("resource.k8s.io/v1", "ResourceSlice", value.clone());
        if let Ok(event) = ingest::resource_slice(&value) {
            assert_eq!(ingest::resource_slice(&slim).expect("it is no worse"), event);
        }
    });
}

/// A scheduler that has seen all objects as they should be.
fn scheduler(objects: &[Value]) -> Script {
    let mut run = Script::new(&[own_profile()], engine::Options::default());
    for object in objects {
        run.apply(&event(object).expect("a committed object is sound"));
    }
    run
}

/// What a watch of the object's kind makes of it.
fn event(object: &Value) -> Option<Event> {
    let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, _) = word("apiVersion").split_once('/').unwrap_or_default();
    if let Some(kind) = ingest::storage_kind(group, word("kind")) {
        return ingest::storage(kind, object).ok();
    }
    if (group, word("kind")) == ("batch", "Job") {
        return ingest::job(object).ok().flatten();
    }
    let read = match (word("kind"), ingest::pod_group_kind(group, word("kind"))) {
        (_, Some(kind)) => ingest::pod_group(kind, object),
        ("Node", None) => ingest::node(object),
        ("Namespace", None) => ingest::namespace(object),
        ("PodDisruptionBudget", None) => ingest::budget(object),
        ("LocalQueue", None) => ingest::local_queue(object),
        ("ClusterQueue", None) => ingest::cluster_queue(object),
        ("NodeResourceTopology", None) => ingest::node_resource_topology(object),
        ("ResourceSlice", None) => ingest::resource_slice(object),
        ("ResourceClaim", None) => ingest::resource_claim(object),
        ("Service", None) => ingest::grouping(GroupingKind::Service, object),
        ("ReplicationController", None) => {
            ingest::grouping(GroupingKind::ReplicationController, object)
        }
        ("ReplicaSet", None) => ingest::grouping(GroupingKind::ReplicaSet, object),
        ("StatefulSet", None) => ingest::grouping(GroupingKind::StatefulSet, object),
        (_, None) => ingest::pod(object),
    };
    read.ok()
}

/// Lets a scheduler try what it has: at once, after a backoff, and after every timeout.
fn steps(run: &mut Script) {
    for after in ["after 0ms", "after 11s", "after 1000s"] {
        run.command(after);
        run.command("step 1000");
    }
}

#[test]
fn what_is_accepted_never_stops_the_scheduler() {
    let objects: Vec<Value> =
        objects().into_iter().filter(|object| event(object).is_some()).collect();
    fuzz::json(400, &objects, |text| {
        let Some(event) = serde_json::from_slice(text).ok().and_then(|object| event(&object))
        else {
            return;
        };
        let mut run = scheduler(&objects);
        steps(&mut run);
        run.apply(&event);
        steps(&mut run);
        // Nodes and pods come and go while it is there.
        for object in &objects {
            if let Some(Event::Seen(Fact::Pod(facts))) = self::event(object) {
                run.apply(&Event::gone(Kind::Pod, facts.key.uid.to_string()));
            }
        }
        steps(&mut run);
        let checkpoint = run.scheduler.checkpoint();
        let profiles = [own_profile()];
        let mut again =
            run.resumed(checkpoint, &profiles, engine::Options::default()).expect("ours");
        steps(&mut again);
    });
}

#[test]
fn a_configuration_is_refused_with_reasons_or_comes_back() {
    let known = plugins::known();
    fuzz::text(1_500, &CONFIGS, |text| {
        let Ok(text) = std::str::from_utf8(text) else { return };
        match config::load(text, known) {
            Ok(settings) => {
                let written = config::write(&settings, known);
                let read = config::from_json(&written, known);
                assert_eq!(read.as_ref(), Ok(&settings), "{written:#}");
            }
            Err(error) => {
                assert!(!error.problems().is_empty());
                let lines = text.lines().count();
                for problem in error.problems() {
                    check_message(&problem.message);
                    assert!(problem.line.is_none_or(|line| line <= lines + 1), "{problem}");
                }
            }
        }
    });
}

#[test]
fn a_configuration_that_is_accepted_makes_profiles() {
    let document: Value = config::write(&config::defaults(plugins::known()), plugins::known());
    fuzz::json(1_000, &[document], |text| {
        let Ok(value) = serde_json::from_slice::<Value>(text) else { return };
        let Ok(settings) = config::from_json(&value, plugins::known()) else { return };
        assert!(!settings.profiles.is_empty());
        let mut run = Script::new(&settings.profiles, engine::Options::default());
        run.command("node a cpu=4 memory=8Gi");
        run.command("pod web cpu=1");
        run.command("step");
    });
}
