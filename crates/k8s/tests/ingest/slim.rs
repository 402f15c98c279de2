//! A slim object says what the object says, and so does one without names.

use std::collections::{BTreeMap, BTreeSet};

use kubenexus_k8s::anonymise::Anonymiser;
use kubenexus_k8s::ingest::{slim_node, slim_pod};
use serde_json::{Value, json};

use crate::{node_facts, pod_facts};

fn node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "rack7-gpu3", "uid": "77", "resourceVersion": "12",
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            "labels": {"kubernetes.io/hostname": "rack7-gpu3", "acme.example/tier": "gold",
                "node-role.kubernetes.io/acme-gpu": "", "cores": "64",
                "topology.kubernetes.io/zone": "zone-secret"},
            "managedFields": [{"manager": "kubelet"}],
        },
        "spec": {"podCIDR": "10.1.0.0/24", "providerID": "cloud://acme/1", "unschedulable": true,
            "taints": [{"key": "acme.example/team", "value": "crimson", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": "8"},
            "capacity": {"cpu": "64"}, "nodeInfo": {"machineID": "x"},
            "conditions": [{"type": "Ready", "status": "True", "message": "rack7 is well"}],
            "declaredFeatures": ["VolumeBindMountOptions"],
            "images": [{"names": ["acme/web:latest", "acme/web@sha256:12"], "sizeBytes": 900}],
        },
    })
}

fn term(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"key": key, "operator": operator, "values": values})
}

/// A pod with something in every field that is read.
fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "payroll-7", "namespace": "payroll", "uid": "u-1", "generation": 3,
            "labels": {"app": "payroll"}, "annotations": {"owner": "jane"},
            "deletionTimestamp": "2026-11-16T00:00:00Z", "resourceVersion": "9"},
        "spec": {
            "schedulerName": "kubenexus-scheduler", "serviceAccountName": "payroll",
            "priority": 7, "preemptionPolicy": "Never", "hostNetwork": true, "hostUsers": false,
            "nodeSelector": {"acme.example/tier": "gold", "bad key": "x y"},
            "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "3"}},
            "schedulingGates": [{"name": "acme.example/quota"}],
            "containers": [{"name": "main", "image": "acme/web", "command": ["run", "--secret=1"],
                "env": [{"name": "PASSWORD", "value": "hunter2"}],
                "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"},
                    "limits": {"nvidia.com/gpu": "1"}},
                "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {}}],
                "volumeMounts": [{"mountPath": "/etc/acme", "bindMountOptions": ["noexec"]}],
                "ports": [{"hostPort": 80, "hostIP": "10.9.9.9", "protocol": "UDP"},
                    {"hostPort": 81, "hostIP": "0.0.0.0"}]}],
            "initContainers": [{"name": "mesh", "image": "mesh:v2", "restartPolicy": "Always"}],
            "ephemeralContainers": [{"name": "debug", "image": "debug:1"}],
            "tolerations": [{"key": "acme.example/team", "operator": "Equal", "value": "crimson"},
                {"operator": "Exists", "effect": "NoExecute"}],
            "topologySpreadConstraints": [{"topologyKey": "acme.example/row", "maxSkew": 1}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "acme-gpu"}],
            "volumes": [{"name": "pay", "persistentVolumeClaim": {"claimName": "payroll-db"}},
                {"name": "model", "image": {"reference": "acme/model:7"}},
                {"name": "s", "secret": {"secretName": "payroll-key"}}],
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                        {"matchExpressions": [term("cores", "Gt", &["32"]),
                            term("topology.kubernetes.io/zone", "In", &["zone-secret", "b"])],
                        "matchFields": [term("metadata.name", "In", &["rack7-gpu3"])]}]},
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 5, "preference": {"matchExpressions": [
                            term("acme.example/tier", "NotIn", &["gold", "not a value"])]}}]},
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "acme.example/row", "namespaces": ["payroll"],
                        "labelSelector": {"matchLabels": {"app": "payroll"}},
                        "namespaceSelector": {"matchLabels": {"team": "crimson"}}}]},
            },
        },
        "status": {"phase": "Running", "startTime": "2025-03-04T05:06:07Z",
            "nominatedNodeName": "rack7-gpu3", "hostIP": "10.0.0.9",
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible",
                "message": "rack7 says no"}],
            "containerStatuses": [{"name": "main", "image": "acme/web:latest",
                "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "2"}}}],
            "resources": {"requests": {"cpu": "4"}}, "allocatedResources": {"cpu": "5"}},
    })
}

#[test]
fn a_slim_object_says_the_same_in_fewer_words() {
    let (slim, whole) = (slim_pod(pod()), pod());
    assert_eq!(pod_facts(&slim), pod_facts(&whole));
    assert_eq!(node_facts(&slim_node(node())), node_facts(&node()));
    for gone in ["hunter2", "jane", "payroll-key", "run", "serviceAccountName"] {
        assert!(!slim.to_string().contains(gone), "{gone} in {slim}");
    }
    for gone in ["10.0.0.1", "providerID", "capacity", "managedFields", "attach-detach"] {
        assert!(!slim_node(node()).to_string().contains(gone), "{gone}");
    }
    assert_eq!(slim["metadata"]["labels"], whole["metadata"]["labels"]);
    assert_eq!(slim["spec"]["affinity"], whole["spec"]["affinity"]);
    let kinds = [&slim["apiVersion"], &slim["kind"], &slim["metadata"]["resourceVersion"]];
    assert_eq!(kinds, [&json!("v1"), &json!("Pod"), &Value::Null]);
}

/// A hash that tests can follow.
fn anonymise(object: Value) -> Value {
    Anonymiser::new(|text: &str| model::hash_of(&("key", text))).object(object)
}

#[test]
fn no_name_is_left() {
    let text = [anonymise(slim_pod(pod())), anonymise(slim_node(node()))].map(|it| it.to_string());
    let text = text.join(" ");
    let names = [
        "payroll", "rack7", "acme", "gold", "crimson", "secret", "10.9", "mesh", "debug", "u-1",
        "\"77\"", "main", "row", "says no", "is well", "2026", "bad key", "x y",
    ];
    for name in names {
        assert!(!text.contains(name), "{name} in {text}");
    }
    let kept = [
        "kubenexus-scheduler",
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
        "metadata.name",
        "node.kubernetes.io/unschedulable",
        "nvidia.com/gpu",
        "\"64\"",
        "\"32\"",
        "NoSchedule",
        "0.0.0.0",
        "PodResizePending",
        "Infeasible",
        "VolumeBindMountOptions",
        "node-role.kubernetes.io/h",
        "2025-03-04T05:06:07Z",
    ];
    for name in kept {
        assert!(text.contains(name), "{name} not in {text}");
    }
}

/// What must be equal to what, whatever it is called.
#[test]
fn what_was_equal_is_equal() {
    let (node, pod) = (anonymise(slim_node(node())), anonymise(slim_pod(pod())));
    let (node_facts, facts) = (node_facts(&node), pod_facts(&pod));
    let labels: BTreeMap<_, _> = node_facts.labels.iter().cloned().collect();
    let required = &facts.spec.required.as_ref().unwrap()[0];
    assert_eq!(required.fields[0].values, [node_facts.name.as_str()]);
    assert_eq!(labels["kubernetes.io/hostname"], node_facts.name);
    assert_eq!(facts.nominated.as_deref(), Some(&*node_facts.name));
    assert_eq!(required.expressions[1].values[0], labels["topology.kubernetes.io/zone"]);
    let (key, value) =
        &facts.spec.node_selector.iter().find(|(key, _)| !key.contains('!')).unwrap();
    assert_eq!(labels.get(key), Some(value));
    assert!(facts.spec.tolerations[0].tolerates(&node_facts.taints[0]));
    let images: BTreeSet<_> = node_facts.images.iter().map(|(name, _)| name).collect();
    assert!(facts.spec.images.iter().any(|image| images.contains(image)), "{images:?}");
}
