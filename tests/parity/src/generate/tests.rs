//! The generator repeats itself by seed and uses every field it should.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use serde_json::Value;

use super::case;

const CASES: u64 = 4_000;

/// Every path that occurs in the cases, list positions left out, each with and without its value:
/// `pod.spec.tolerations.operator` and `pod.spec.tolerations.operator=Exists`. Objects of the
/// cluster are told apart by kind, plugins' arguments by the plugin.
static FACTS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let mut facts = BTreeSet::new();
    for number in 0..CASES {
        let case = case(11, number);
        collect("pod", &case["pod"], &mut facts);
        if let Some(config) = case.get("config") {
            collect("config", config, &mut facts);
        }
        for object in case["objects"].as_array().into_iter().flatten() {
            collect(object["kind"].as_str().unwrap_or_default(), object, &mut facts);
        }
    }
    facts
});

pub(super) fn collect(path: &str, value: &Value, facts: &mut BTreeSet<String>) {
    facts.insert(path.to_owned());
    match value {
        Value::Object(fields) => {
            let plugin = fields.get("args").and_then(|_| fields["name"].as_str());
            for (key, field) in fields {
                let key = if key == "args" { plugin.unwrap_or(key) } else { key };
                collect(&format!("{path}.{key}"), field, facts);
            }
        }
        Value::Array(items) if items.is_empty() => {
            facts.insert(format!("{path}=[]"));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(path, item, facts)),
        Value::String(text) => {
            facts.insert(format!("{path}={text}"));
        }
        Value::Number(_) | Value::Bool(_) | Value::Null => {
            facts.insert(format!("{path}={value}"));
        }
    }
}

/// Asserts that `path` occurs, with each of `values`; with any value if there are none.
fn check(path: &str, values: &[&str]) {
    assert!(FACTS.contains(path), "{path} never occurs");
    for value in values {
        let fact = format!("{path}={value}");
        assert!(FACTS.contains(&fact), "{fact} never occurs");
    }
}

#[test]
fn same_seed_gives_the_same_case() {
    assert_eq!(case(5, 17), case(5, 17));
    assert_ne!(case(5, 17)["objects"], case(5, 18)["objects"]);
    assert_ne!(case(5, 17)["objects"], case(6, 17)["objects"]);
}

#[test]
fn objects_are_as_an_api_server_serves_them() {
    for number in 0..200 {
        let case = case(3, number);
        let objects = case["objects"].as_array().into_iter().flatten();
        let mut uids = BTreeSet::new();
        for object in objects.chain([&case["pod"]]) {
            assert!(object["apiVersion"].is_string() && object["kind"].is_string(), "{object}");
            assert!(object["metadata"]["name"].is_string(), "{object}");
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            assert!(!uid.is_empty() && uids.insert(uid), "{object}");
        }
        let pods = case["objects"].as_array().into_iter().flatten();
        for pod in pods.filter(|object| object["kind"] == "Pod").chain([&case["pod"]]) {
            assert!(pod["metadata"]["namespace"].is_string(), "{pod}");
            assert!(pod["spec"]["containers"][0]["name"].is_string(), "{pod}");
        }
    }
}

#[test]
fn nothing_is_drawn_that_is_out_of_scope() {
    for path in [
        "ResourceClaim",
        "PersistentVolumeClaim",
        "pod.spec.volumes.persistentVolumeClaim",
        "pod.spec.volumes.ephemeral",
        "pod.spec.resourceClaims",
        "config.profiles.plugins.preFilter",
        "config.profiles.plugins.preScore",
    ] {
        assert!(!FACTS.contains(path), "{path} occurs");
    }
}

#[test]
fn every_field_about_other_pods_is_drawn() {
    let spread = |field: &str| format!("pod.spec.topologySpreadConstraints.{field}");
    check(&spread("whenUnsatisfiable"), &["DoNotSchedule", "ScheduleAnyway"]);
    check(&spread("minDomains"), &["1", "2", "3", "4"]);
    check(&spread("maxSkew"), &["1", "2", "3", "5"]);
    check(&spread("matchLabelKeys"), &["hash", "tier", "absent"]);
    check(&spread("topologyKey"), &["zone", "kubernetes.io/hostname", "nowhere"]);
    for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        check(&spread(policy), &["Honor", "Ignore"]);
    }
    let operators = ["In", "NotIn", "Exists", "DoesNotExist"];
    check(&spread("labelSelector.matchExpressions.operator"), &operators);
    for owner in ["pod", "Pod"] {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let required = "requiredDuringSchedulingIgnoredDuringExecution";
            let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
            let term = format!("{owner}.spec.affinity.{kind}.{required}");
            check(&format!("{term}.topologyKey"), &["zone", "kubernetes.io/hostname"]);
            check(&format!("{term}.namespaces"), &["default", "team", "absent"]);
            check(&format!("{term}.namespaceSelector.matchLabels.app"), &["web"]);
            check(&format!("{term}.labelSelector.matchExpressions.operator"), &operators);
            let weighted = format!("{owner}.spec.affinity.{kind}.{preferred}");
            check(&format!("{weighted}.weight"), &["1", "5", "50", "100"]);
            check(&format!("{weighted}.podAffinityTerm.namespaceSelector"), &[]);
        }
    }
    check("Namespace.metadata.labels.app", &["web", "db"]);
    let args = "config.profiles.pluginConfig.InterPodAffinity";
    check(&format!("{args}.hardPodAffinityWeight"), &["0", "1", "10", "100"]);
    check(&format!("{args}.ignorePreferredTermsOfExistingPods"), &["true", "false"]);
}

#[test]
fn every_field_of_preemption_is_drawn() {
    check("Pod.spec.priority", &["-10", "0", "5", "10", "100", "1000"]);
    check("pod.spec.preemptionPolicy", &["Never", "PreemptLowerPriority"]);
    check("pod.status.nominatedNodeName", &["n0", "n-absent"]);
    check("Pod.status.nominatedNodeName", &["n0", "n-absent"]);
    check("Pod.status.conditions.reason", &["PreemptionByScheduler", "Other"]);
    check("Pod.status.conditions.status", &["True", "False"]);
    check("PodDisruptionBudget.status.disruptionsAllowed", &["0", "1", "2"]);
    check("PodDisruptionBudget.status.disruptedPods", &[]);
    check("PodDisruptionBudget.spec.selector.matchLabels.app", &["web", "db"]);
}

#[test]
fn every_field_about_who_is_alike_is_drawn() {
    check("Service.spec.selector.app", &["web", "db"]);
    check("Service.spec.selector.tier", &["front", "back"]);
    check("ReplicationController.spec.selector.app", &["web", "db"]);
    for kind in ["ReplicaSet", "StatefulSet"] {
        check(&format!("{kind}.spec.selector.matchLabels.app"), &["web", "db"]);
        let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt"];
        check(&format!("{kind}.spec.selector.matchExpressions.operator"), &operators);
    }
    let owner = |field: &str| format!("pod.metadata.ownerReferences.{field}");
    let kinds = ["ReplicaSet", "StatefulSet", "ReplicationController", "Job"];
    check(&owner("kind"), &kinds);
    check(&owner("apiVersion"), &["v1", "/v1", "apps/v1", "apps/v1beta1", "batch/v1"]);
    check(&owner("name"), &["one", "two", "absent"]);
    check(&owner("controller"), &["true", "false"]);
    check("Node.metadata.labels.topology.kubernetes.io/zone", &["a", "b", "c", ""]);
    let args = "config.profiles.pluginConfig.PodTopologySpread";
    check(&format!("{args}.defaultingType"), &["System", "List"]);
    check(&format!("{args}.defaultConstraints"), &["[]"]);
    let default = |field: &str| format!("{args}.defaultConstraints.{field}");
    check(&default("whenUnsatisfiable"), &["DoNotSchedule", "ScheduleAnyway"]);
    check(&default("topologyKey"), &["zone", "kubernetes.io/hostname"]);
    check(&default("minDomains"), &["1", "2", "3", "4"]);
    check(&default("matchLabelKeys"), &["tier"]);
    for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        check(&default(policy), &["Honor", "Ignore"]);
    }
}

#[test]
fn every_field_of_the_filters_is_drawn() {
    check("pod.spec.nodeName", &["n0", "n-absent"]);
    check("pod.spec.priority", &["0", "10", "1000"]);
    check("pod.spec.schedulingGates.name", &[]);
    check("Node.spec.unschedulable", &["true"]);
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    check("Node.spec.taints.effect", &effects);
    check("Node.spec.taints.key", &["node.kubernetes.io/unschedulable", "dedicated"]);
    check("Node.spec.taints.value", &["", "a"]);
    check("pod.spec.tolerations.effect", &effects);
    check("pod.spec.tolerations.effect", &[""]);
    check("pod.spec.tolerations.key", &["", "node.kubernetes.io/unschedulable"]);
    check("pod.spec.tolerations.operator", &["Equal", "Exists", "", "Lt", "Gt"]);
    check("pod.spec.tolerations.value", &["", "a", "5"]);
    check("pod.spec.nodeSelector.zone", &["not a label value!"]);
    for of in ["pod.spec.containers", "pod.spec.initContainers", "Pod.spec.containers"] {
        check(&format!("{of}.ports.hostPort"), &["0", "80"]);
        check(&format!("{of}.ports.hostIP"), &["", "0.0.0.0", "127.0.0.1", "10.0.0.5"]);
        check(&format!("{of}.ports.protocol"), &["", "TCP", "UDP", "SCTP"]);
    }
    check("pod.spec.initContainers.restartPolicy", &["Always"]);
    check("Node.status.declaredFeatures", &["VolumeBindMountOptions", "NeverHeardOf"]);
    check("pod.spec.hostNetwork", &["true", "false"]);
    check("pod.spec.hostUsers", &["true", "false"]);
    check("pod.spec.containers.restartPolicyRules.action", &["Restart", "RestartAllContainers"]);
    check("pod.spec.containers.volumeMounts.bindMountOptions", &["[]", "noexec"]);
}

#[test]
fn every_field_of_node_affinity_is_drawn() {
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
    let required = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    let preferred = "preferredDuringSchedulingIgnoredDuringExecution";
    let own = "pod.spec.affinity.nodeAffinity";
    let added = "config.profiles.pluginConfig.NodeAffinity.addedAffinity";
    for affinity in [own, added] {
        check(&format!("{affinity}.{required}.matchExpressions.operator"), &operators);
        check(&format!("{affinity}.{required}.matchFields.operator"), &["In", "NotIn"]);
        check(&format!("{affinity}.{preferred}.weight"), &["0", "1", "100"]);
        check(&format!("{affinity}.{preferred}.preference.matchExpressions.operator"), &operators);
    }
    check(&format!("{own}.{required}"), &["[]"]);
    check(&format!("{own}.{required}.matchExpressions"), &["[]"]);
    check(&format!("{own}.{required}.matchExpressions.operator"), &["Near", ""]);
    check(&format!("{own}.{required}.matchExpressions.values"), &["[]", "-a", "many"]);
    check(&format!("{own}.{required}.matchFields.key"), &["metadata.name", "metadata.namespace"]);
    check(&format!("{own}.{required}.matchFields.operator"), &["Exists"]);
    check(&format!("{own}.{required}.matchFields.values"), &["[]", "n-absent"]);
}

#[test]
fn every_field_of_the_resource_plugins_is_drawn() {
    for of in ["pod.spec.containers", "pod.spec.initContainers", "Pod.spec.containers"] {
        let requests = format!("{of}.resources.requests");
        check(&format!("{requests}.cpu"), &["100m", "0.1", "1n", "1", "0.5", "0"]);
        check(&format!("{requests}.memory"), &["1e3", "1E8", "1Ki", "1.5Gi", "1k", "500m", "1n"]);
        check(&format!("{requests}.memory"), &["128974848", "134217728", "0"]);
        for name in super::amount::SCALARS {
            check(&format!("{requests}.{name}"), &[]);
        }
        check(&format!("{requests}.foo"), &[]);
    }
    check("pod.spec.containers.resources.requests.memory", &["2E"]);
    for of in ["pod.spec.resources.requests", "pod.spec.resources.limits", "pod.spec.overhead"] {
        check(&format!("{of}.cpu"), &[]);
        check(&format!("{of}.hugepages-2Mi"), &[]);
        check(&format!("{of}.ephemeral-storage"), &[]);
        check(&format!("{of}.nvidia.com/gpu"), &[]);
    }
    check("Node.status.allocatable.pods", &["0", "2", "110"]);
    check("Node.status.allocatable.nvidia.com/gpu", &["0", "8"]);
    for of in ["Pod.status.containerStatuses", "Pod.status.initContainerStatuses", "Pod.status"] {
        check(&format!("{of}.allocatedResources.cpu"), &[]);
        check(&format!("{of}.resources.requests.memory"), &[]);
    }
    check("Pod.status.conditions.type", &["PodResizePending", "PodResizeInProgress"]);
    check("Pod.status.conditions.reason", &["Infeasible", "Deferred"]);
    check("Pod.status.phase", &["Succeeded", "Failed", "Running", "Pending"]);
    check("Pod.spec.nodeName", &["n0", "n-absent"]);
    check("Pod.spec.schedulerName", &["other-scheduler"]);
    check("Pod.metadata.deletionTimestamp", &[]);
}

#[test]
fn every_field_of_images_and_volumes_is_drawn() {
    check("Node.status.images.names", &["web:latest", "ghcr.io/models/big@sha256:3333"]);
    check("Node.status.images.sizeBytes", &[]);
    for of in ["pod.spec.containers.image", "pod.spec.initContainers.image"] {
        check(of, &["web", "registry.local:5000/team/app", "ghcr.io/models/big@sha256:3333"]);
    }
    check("pod.spec.volumes.image.reference", &["web"]);
    for volume in
        ["emptyDir", "configMap", "secret", "hostPath", "projected", "downwardAPI", "image"]
    {
        check(&format!("pod.spec.volumes.{volume}"), &[]);
    }
}

#[test]
fn every_part_of_the_configuration_is_drawn() {
    check("config.profiles.schedulerName", &["default-scheduler", "second-scheduler"]);
    check("pod.spec.schedulerName", &["default-scheduler", "second-scheduler"]);
    check("config.profiles.plugins.multiPoint.disabled.name", &["*", "NodePorts"]);
    check("config.profiles.plugins.multiPoint.enabled.weight", &["0", "1", "100"]);
    for name in super::config::OPTIONAL {
        check("config.profiles.plugins.multiPoint.enabled.name", &[name]);
    }
    check("config.profiles.plugins.filter.disabled.name", &["*", "NodeResourcesFit"]);
    check("config.profiles.plugins.filter.enabled.name", &["NodePorts"]);
    check("config.profiles.plugins.score.disabled.name", &["*", "ImageLocality"]);
    check("config.profiles.plugins.score.enabled.weight", &["0", "100"]);
    let fit = "config.profiles.pluginConfig.NodeResourcesFit";
    check(&format!("{fit}.ignoredResources"), &["example.com/foo"]);
    check(&format!("{fit}.ignoredResourceGroups"), &["example.com"]);
    let strategies = ["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"];
    check(&format!("{fit}.scoringStrategy.type"), &strategies);
    let names = ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"];
    check(&format!("{fit}.scoringStrategy.resources.name"), &names);
    check(&format!("{fit}.scoringStrategy.resources.weight"), &["0", "1", "100"]);
    let shape = format!("{fit}.scoringStrategy.requestedToCapacityRatio.shape");
    check(&format!("{shape}.utilization"), &["0", "100"]);
    check(&format!("{shape}.score"), &["0", "10"]);
    let balanced = "config.profiles.pluginConfig.NodeResourcesBalancedAllocation";
    check(&format!("{balanced}.resources.name"), &names);
    check(&format!("{balanced}.resources.weight"), &["0", "1"]);
}
