//! Objects of every kind that is watched: slim, they say what they said; without names, what was
//! equal is equal.

use kubenexus_k8s::anonymise::Anonymiser;
use kubenexus_k8s::ingest::{self, slim};
use model::{
    Event, Fact, GroupingKind, PersistentVolumeFacts, StorageFacts, StorageKind, VolumeClaimFacts,
};
use serde_json::{Value, json};

use crate::slim_devices::devices;

/// What is read of an object, whatever it is.
pub(crate) fn event(object: &Value) -> Event {
    let (version, kind) = (
        object["apiVersion"].as_str().expect("as written"),
        object["kind"].as_str().expect("as written"),
    );
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    if let Some(kind) = ingest::pod_group_kind(group, kind) {
        return ingest::pod_group(kind, object).expect("as written");
    }
    if let Some(kind) = ingest::storage_kind(group, kind) {
        return ingest::storage(kind, object).expect("as written");
    }
    match kind {
        "Node" => ingest::node(object),
        "Pod" => ingest::pod(object),
        "Namespace" => ingest::namespace(object),
        "PodDisruptionBudget" => ingest::budget(object),
        "Service" => ingest::grouping(GroupingKind::Service, object),
        "ReplicationController" => ingest::grouping(GroupingKind::ReplicationController, object),
        "ReplicaSet" => ingest::grouping(GroupingKind::ReplicaSet, object),
        "StatefulSet" => ingest::grouping(GroupingKind::StatefulSet, object),
        "LocalQueue" => ingest::local_queue(object),
        "ClusterQueue" => ingest::cluster_queue(object),
        "NodeResourceTopology" => ingest::node_resource_topology(object),
        "ResourceSlice" => ingest::resource_slice(object),
        "ResourceClaim" => ingest::resource_claim(object),
        "Job" => ingest::job(object).map(|event| event.expect("it is complete")),
        other => panic!("{other} is not known"),
    }
    .expect("as written")
}

pub(crate) fn metadata(name: &str, more: Value) -> Value {
    let mut metadata = json!({
        "name": name, "uid": format!("uid-of-{name}"), "resourceVersion": "12",
        "managedFields": [{"manager": "noise"}], "selfLink": "/noise",
        "finalizers": ["noise/protection"], "annotations": {"noise": "noise"},
    });
    for (key, value) in more.as_object().expect("as written") {
        match (key.as_str(), value) {
            ("annotations", Value::Object(own)) => {
                metadata["annotations"].as_object_mut().expect("as written").extend(own.clone());
            }
            _ => metadata[key] = value.clone(),
        }
    }
    metadata
}

pub(crate) fn object(version: &str, kind: &str, metadata: Value, rest: Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
    object
        .as_object_mut()
        .expect("as written")
        .extend(rest.as_object().expect("as written").clone());
    object
}

fn selector(key: &str, value: &str) -> Value {
    json!({"matchLabels": {key: value},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "9"]}]})
}

const STORAGE: &str = "storage.k8s.io/v1";
const KUEUE: &str = "kueue.x-k8s.io/v1beta2";
const NATIVE: &str = "scheduling.k8s.io/v1beta1";

/// Volumes and claims.
fn volumes() -> Vec<Value> {
    let affinity = json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": "acme.example/rack", "operator": "In", "values": ["rack7"]}]}]}});
    let claim = metadata(
        "ledger",
        json!({"namespace": "payroll", "annotations": {
            "volume.beta.kubernetes.io/storage-class": "acme-fast",
            "pv.kubernetes.io/bind-completed": "yes",
            "volume.kubernetes.io/selected-node": "rack7-gpu3"},
            "ownerReferences": [{"kind": "Pod", "name": "p", "uid": "u-9", "controller": true}]}),
    );
    vec![
        object(
            "v1",
            "PersistentVolume",
            metadata("acme-pv", json!({"labels": {"acme.example/rack": "rack7"}})),
            json!({"spec": {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"],
                "volumeMode": "Block", "storageClassName": "acme-fast",
                "volumeAttributesClassName": "acme-gold", "mountOptions": ["noise"],
                "persistentVolumeReclaimPolicy": "Delete",
                "claimRef": {"namespace": "payroll", "name": "ledger", "uid": "uid-of-ledger"},
                "nodeAffinity": affinity,
                "csi": {"driver": "acme.example", "volumeHandle": "acme-disk-1",
                    "volumeAttributes": {"noise": "noise"},
                    "nodeStageSecretRef": {"name": "noise"}}},
                "status": {"phase": "Bound", "message": "noise"}}),
        ),
        object(
            "v1",
            "PersistentVolume",
            metadata(
                "old-pv",
                json!({"labels": {"topology.kubernetes.io/zone": "east-1__east-2"}}),
            ),
            json!({"spec": {"capacity": {"storage": "1Gi"},
                "awsElasticBlockStore": {"volumeID": "aws://east-1/vol-77", "fsType": "noise"}}}),
        ),
        object(
            "v1",
            "PersistentVolumeClaim",
            claim,
            json!({"spec": {"accessModes": ["ReadWriteOncePod"], "volumeMode": "Block",
                "storageClassName": "other", "volumeName": "acme-pv",
                "selector": selector("acme.example/rack", "rack7"),
                "resources": {"requests": {"storage": "5Gi"}, "limits": {"storage": "noise"}},
                "dataSource": {"name": "noise"}}, "status": {"phase": "Lost"}}),
        ),
    ]
}

/// Volumes, and what decides where they can be used.
fn storage() -> Vec<Value> {
    let in_namespace = |name: &str| metadata(name, json!({"namespace": "payroll"}));
    let around = vec![
        object(
            STORAGE,
            "StorageClass",
            metadata(
                "acme-fast",
                json!({"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}),
            ),
            json!({"provisioner": "acme.example", "volumeBindingMode": "WaitForFirstConsumer",
                "reclaimPolicy": "Retain", "parameters": {"noise": "noise"},
                "allowedTopologies": [{"matchLabelExpressions": [
                    {"key": "acme.example/rack", "values": ["rack7"]}]}]}),
        ),
        object(
            STORAGE,
            "CSINode",
            metadata(
                "rack7-gpu3",
                json!({"annotations": {"storage.alpha.kubernetes.io/migrated-plugins":
                    "kubernetes.io/aws-ebs"}}),
            ),
            json!({"spec": {"drivers": [{"name": "acme.example", "nodeID": "noise",
                "allocatable": {"count": 7}, "topologyKeys": ["acme.example/rack"]}]}}),
        ),
        object(
            STORAGE,
            "CSIDriver",
            metadata("acme.example", json!({})),
            json!({"spec": {"storageCapacity": true, "preventPodSchedulingIfMissing": true,
                "tokenRequests": [{"audience": "noise"}]}}),
        ),
        object(
            STORAGE,
            "CSIStorageCapacity",
            in_namespace("left"),
            json!({"storageClassName": "acme-fast", "capacity": "3Gi", "maximumVolumeSize": "2Gi",
                "nodeTopology": selector("acme.example/rack", "rack7")}),
        ),
        object(
            STORAGE,
            "VolumeAttachment",
            metadata("csi-1", json!({})),
            json!({"spec": {"attacher": "acme.example", "nodeName": "rack7-gpu3",
                "source": {"persistentVolumeName": "acme-pv"}},
                "status": {"attached": true, "attachmentMetadata": {"noise": "noise"}}}),
        ),
    ];
    volumes().into_iter().chain(around).collect()
}

/// What says how many pods start together.
fn groups() -> Vec<Value> {
    let named = || metadata("acme-gang", json!({"namespace": "payroll", "generation": 3}));
    let condition = json!([{"type": "PodGroupInitiallyScheduled", "status": "True",
        "reason": "Scheduled", "message": "acme says so"}]);
    let policy = json!({"gang": {"minCount": 4, "minGroupCount": 2}});
    let native = json!({"spec": {"schedulingPolicy": policy, "priority": 7, "noise": {},
        "schedulingConstraints": {"topology": [{"key": "acme.example/rack"}]},
        "disruptionMode": {"all": {}}, "parentCompositePodGroupName": "acme-tree"},
        "status": {"conditions": condition}});
    let others = json!({"spec": {"minMember": 3, "scheduleTimeoutSeconds": 30,
        "minResources": {"cpu": "4", "nvidia.com/gpu": "2"}, "queue": "noise"}});
    vec![
        object(NATIVE, "PodGroup", named(), native.clone()),
        object("scheduling.k8s.io/v1alpha3", "CompositePodGroup", named(), native),
        object(
            "scheduling.k8s.io/v1alpha1",
            "Workload",
            named(),
            json!({"spec": {"podGroups": [{"name": "workers", "policy": policy}],
                "controllerRef": {"name": "noise"}}}),
        ),
        object("scheduling.x-k8s.io/v1alpha1", "PodGroup", named(), others.clone()),
        object("scheduling.volcano.sh/v1beta1", "PodGroup", named(), others.clone()),
        object("scheduling.run.ai/v2alpha2", "PodGroup", named(), others),
    ]
}

/// Everything else but nodes and pods.
fn others() -> Vec<Value> {
    let named = |name: &str| metadata(name, json!({"namespace": "payroll"}));
    let controller = || {
        json!({"spec": {"selector": selector("app", "ledger"),
        "template": {"spec": {"containers": [{"name": "noise"}]}}}})
    };
    let map = || json!({"spec": {"selector": {"app": "ledger"}, "clusterIP": "noise"}});
    vec![
        object(
            "v1",
            "Namespace",
            metadata("payroll", json!({"labels": {"team": "crimson"}})),
            json!({"spec": {"finalizers": ["noise"]}}),
        ),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            named("acme-budget"),
            json!({"spec": {"selector": selector("app", "ledger"), "maxUnavailable": "50%"},
                "status": {"disruptionsAllowed": 2, "expectedPods": 9,
                    "disruptedPods": {"ledger-0": "2026-01-01T00:00:00Z"}}}),
        ),
        object("v1", "Service", named("acme-service"), map()),
        object("v1", "ReplicationController", named("acme-rc"), map()),
        object("apps/v1", "ReplicaSet", named("acme-rs"), controller()),
        object("apps/v1", "StatefulSet", named("acme-sts"), controller()),
        object(
            KUEUE,
            "LocalQueue",
            named("acme-queue"),
            json!({"spec": {"clusterQueue": "acme-all"}}),
        ),
        object(
            KUEUE,
            "ClusterQueue",
            metadata("acme-all", json!({})),
            json!({"spec": {"namespaceSelector": selector("team", "crimson"),
                "resourceGroups": [{"noise": []}]}}),
        ),
        object(
            "topology.node.k8s.io/v1alpha2",
            "NodeResourceTopology",
            metadata("rack7-gpu3", json!({})),
            json!({"topologyPolicies": ["RestrictedPodLevel"], "noise": {},
                "attributes": [{"name": "topologyManagerPolicy", "value": "restricted"},
                    {"name": "acme-attribute", "value": "left"}],
                "zones": [{"name": "node-0", "type": "Node", "noise": 1,
                    "costs": [{"name": "node-0", "value": 10}],
                    "attributes": [{"name": "numa.kubenexus.io/cpus", "value": "0-7"}],
                    "resources": [{"name": "cpu", "capacity": "8", "allocatable": "7",
                        "available": "5"}]}]}),
        ),
        object(
            "batch/v1",
            "Job",
            named("acme-job"),
            json!({"spec": {"parallelism": 3, "completions": 5, "template": {"noise": {}}},
                "status": {"succeeded": 5,
                    "conditions": [{"type": "Complete", "status": "True"}]}}),
        ),
    ]
}

fn all() -> Vec<Value> {
    let all = storage().into_iter().chain(groups()).chain(others());
    all.chain(devices()).collect()
}

fn slimmed(object: &Value) -> Value {
    let text = |key: &str| object[key].as_str().expect("as written").to_owned();
    slim(&text("apiVersion"), &text("kind"), object.clone())
}

#[test]
fn slim_objects_of_every_kind_say_what_they_said() {
    for mut object in all() {
        let slim = slimmed(&object);
        object["metadata"].as_object_mut().expect("as written").remove("resourceVersion");
        assert_eq!(event(&slim), event(&object), "{object}");
        assert!(!slim.to_string().contains("noise"), "{slim}");
        assert_eq!([&slim["kind"], &slim["apiVersion"]], [&object["kind"], &object["apiVersion"]]);
        assert_eq!(slim["metadata"]["name"], object["metadata"]["name"]);
        assert_eq!(slim["metadata"]["resourceVersion"], Value::Null);
    }
}

#[test]
fn what_a_simulated_cluster_needs_is_kept_as_well() {
    let kept = [
        ("PodDisruptionBudget", "/spec/maxUnavailable", json!("50%")),
        ("PersistentVolume", "/spec/persistentVolumeReclaimPolicy", json!("Delete")),
        ("StorageClass", "/reclaimPolicy", json!("Retain")),
        ("CSINode", "/spec/drivers/0/topologyKeys", json!(["acme.example/rack"])),
        (
            "StorageClass",
            "/metadata/annotations",
            json!({"storageclass.kubernetes.io/is-default-class": "true"}),
        ),
    ];
    for (kind, path, value) in kept {
        let found = all().into_iter().find(|object| object["kind"] == kind).expect("as written");
        assert_eq!(slimmed(&found).pointer(path), Some(&value), "{kind}");
    }
    let class = json!({"metadata": metadata("acme-high", json!({})), "value": 9, "description": "x",
        "globalDefault": true, "preemptionPolicy": "Never"});
    let expected = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "acme-high"}, "value": 9, "globalDefault": true,
        "preemptionPolicy": "Never"});
    assert_eq!(slim("scheduling.k8s.io/v1", "PriorityClass", class), expected);
    let secret = json!({"metadata": metadata("s", json!({})), "data": {"key": "noise"}});
    let nothing = json!({"apiVersion": "v1", "kind": "Secret"});
    assert_eq!(slim("v1", "Secret", secret), nothing, "nothing of what is not read");
}

// === Without names ===

/// Slim objects without names, in the order in which a snapshot has them.
pub(crate) fn nameless(objects: &[Value]) -> Vec<Value> {
    let anonymiser = Anonymiser::new(|text: &str| model::hash_of(&("key", text)));
    objects.iter().map(|object| anonymiser.object(slimmed(object))).collect()
}

#[test]
fn no_name_of_any_kind_is_left() {
    let found = nameless(&all());
    let text = Value::Array(found.clone()).to_string();
    let names = [
        "acme", "rack7", "payroll", "ledger", "crimson", "u-9", "uid-of", "east", "vol-77",
        "csi-1", "workers", "left", "gold", "old-pv", "2026",
    ];
    for name in names {
        assert!(!text.contains(name), "{name} in {text}");
    }
    let kept = [
        "ReadWriteOncePod",
        "WaitForFirstConsumer",
        "topology.kubernetes.io/zone",
        "aws://",
        "kubernetes.io/aws-ebs",
        "\"9\"",
        "50%",
        "\"10Gi\"",
        "\"3Gi\"",
        "Block",
        "Retain",
        "cpu",
        "pv.kubernetes.io/bind-completed",
    ];
    for word in kept {
        assert!(text.contains(word), "{word} not in {text}");
    }
    // Whatever is read of an object besides names is read of it still.
    for (object, hidden) in all().iter().zip(&found) {
        let count = |object: &Value| format!("{:?}", event(object)).len();
        assert!(count(hidden) * 3 > count(&slimmed(object)), "{hidden}");
    }
}

fn volume_and_claim(objects: &[Value]) -> (PersistentVolumeFacts, VolumeClaimFacts) {
    let facts = |kind, object: &Value| match ingest::storage(kind, object) {
        Ok(Event::Seen(Fact::Storage(facts))) => *facts,
        other => panic!("{other:?}"),
    };
    let volume = facts(StorageKind::Volume, &objects[0]);
    let claim = facts(StorageKind::Claim, &objects[2]);
    let (StorageFacts::Volume(volume), StorageFacts::Claim(claim)) = (volume, claim) else {
        panic!("a volume and a claim");
    };
    (volume, claim)
}

#[test]
fn references_between_kinds_hold_without_names() {
    let mut objects = storage();
    objects.extend(others());
    objects.extend(groups());
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "rack7-gpu3",
        "labels": {"acme.example/rack": "rack7"}}, "spec": {}, "status": {}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "payroll", "uid": "u-9",
            "labels": {"app": "ledger", "scheduling.x-k8s.io/pod-group": "acme-gang"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "uid": "s",
                "name": "acme-sts", "controller": true}]},
        "spec": {"schedulingGroup": {"podGroupName": "acme-gang"},
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "ledger"}}]}});
    objects.extend([node, pod]);
    let found = nameless(&objects);
    let of = |kind: &str| found.iter().find(|object| object["kind"] == kind).expect("as written");
    let (volume, claim) = volume_and_claim(&found);
    let (pod, node) = (crate::pod_facts(of("Pod")), crate::node_facts(of("Node")));
    assert_eq!(pod.volumes[0].claim(), Some(&*claim.name));
    assert_eq!(pod.key.namespace, claim.namespace);
    assert_eq!(claim.volume, volume.name);
    assert_eq!(volume.claim.as_ref().expect("as written").uid, claim.uid);
    assert_eq!(volume.claim.as_ref().expect("as written").key(), claim.key());
    assert_eq!(claim.owner.as_ref(), Some(&pod.key.uid));
    assert_eq!(claim.selected_node.as_deref(), Some(&*node.name));
    assert_eq!(*claim.class, *of("StorageClass")["metadata"]["name"].as_str().expect("as written"));
    assert_eq!(volume.class, volume.scored_class);
    let term = &volume.affinity.as_ref().expect("as written")[0].expressions[0];
    let own = (term.key.clone(), term.values[0].clone());
    assert!(node.labels.contains(&own), "{own:?} {:?}", node.labels);
    let text = |kind: &str, path: &str| {
        of(kind).pointer(path).expect("as written").as_str().expect("as written")
    };
    let driver = text("CSIDriver", "/metadata/name");
    assert_eq!(text("StorageClass", "/provisioner"), driver);
    assert_eq!(text("CSINode", "/spec/drivers/0/name"), driver);
    assert_eq!(text("CSINode", "/metadata/name"), node.name);
    assert_eq!(text("NodeResourceTopology", "/metadata/name"), node.name);
    let zones = event(of("NodeResourceTopology"));
    let own = others().into_iter().find(|object| object["kind"] == "NodeResourceTopology");
    let own = event(&slimmed(&own.expect("as written")));
    let (Event::Seen(Fact::NodeResourceTopology(mut own)), Event::Seen(zones)) = (own, zones)
    else {
        panic!("zones")
    };
    own.node = node.name.as_str().into();
    assert_eq!(Fact::from(*own), zones, "all but the name is kept");
    assert_eq!(text("CSINode", "/spec/drivers/0/topologyKeys/0"), term.key);
    assert_eq!(text("VolumeAttachment", "/spec/attacher"), driver);
    assert_eq!(text("VolumeAttachment", "/spec/source/persistentVolumeName"), &*volume.name);
    assert_eq!(pod.owner.as_ref().map(|it| &*it.name), Some(text("StatefulSet", "/metadata/name")));
    let gang = pod.gang.as_ref().expect("as written");
    assert_eq!(&*gang.name, text("PodGroup", "/metadata/name"));
    let Event::Seen(Fact::Budget(budget)) = event(of("PodDisruptionBudget")) else { panic!() };
    let mut labels = pod.labels.to_vec();
    labels.push(("tier".into(), "9".into()));
    let hidden = &budget.selector.expect("as written").requirements[0];
    assert!(labels.iter().any(|(key, value)| **key == *hidden.key && **value == *hidden.values[0]));
    let Event::Seen(Fact::Grouping(service)) = event(of("Service")) else { panic!() };
    assert!(service.selector.matches(&pod.labels));
}

#[test]
fn a_claim_that_is_made_for_a_pod_is_named_after_it_without_names_too() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "acme-7", "namespace": "a", "uid": "u"},
        "spec": {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {
            "metadata": {"annotations": {"noise": "noise"}},
            "spec": {"storageClassName": "acme-fast", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}, "dataSource": "noise"}}}}]}});
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": "acme-7-scratch", "namespace": "a"}, "spec": {}});
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "x"},
        "spec": {"claimRef": {"name": "acme-7-scratch", "namespace": "a"}}});
    let slim = slimmed(&pod);
    assert!(!slim.to_string().contains("noise"), "{slim}");
    let found = nameless(&[pod, claim, volume]);
    let facts = crate::pod_facts(&found[0]);
    let name = found[1]["metadata"]["name"].as_str();
    assert_eq!(facts.volumes[0].claim(), name);
    assert_eq!(found[2]["spec"]["claimRef"]["name"].as_str(), name);
    let template =
        found[0].pointer("/spec/volumes/0/ephemeral/volumeClaimTemplate/spec").expect("as written");
    assert_eq!(template["resources"]["requests"]["storage"], "1Gi");
    assert!(
        template["storageClassName"].as_str().expect("as written").starts_with('h'),
        "{template}"
    );
}
