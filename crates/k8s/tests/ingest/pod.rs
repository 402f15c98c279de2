//! Pods as clusters serve them.

use model::{
    Effect, Eligible, Features, FieldOperator, HostPort, LabelOperator, LabelSelector, Need,
    Operator, Protocol, RequirementSpec, SpreadSpec, Toleration,
};
use serde_json::{Value, json};

use crate::pod_facts;

/// A pod of a Deployment, as the API server serves it once it runs.
fn deployed() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": "web-6d4b75cb6d-", "name": "web-6d4b75cb6d-x2x7q", "namespace": "shop",
            "uid": "0b9e63c2", "resourceVersion": "4711",
            "labels": {"app": "web", "pod-template-hash": "6d4b75cb6d"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": "web-6d4b75cb6d", "uid": "1f", "controller": true}],
            "managedFields": [{"manager": "kube-controller-manager", "operation": "Update",
                "fieldsV1": {"f:spec": {"f:containers": {"k:{\"name\":\"web\"}": {".": {}}}}}}]
        },
        "spec": {
            "containers": [{
                "name": "web", "image": "registry.example:5000/shop/web",
                "imagePullPolicy": "Always",
                "ports": [{"containerPort": 8080, "protocol": "TCP"},
                          {"containerPort": 9090, "hostPort": 9090, "protocol": "TCP"}],
                "resources": {"limits": {"memory": "512Mi"},
                              "requests": {"cpu": "250m", "memory": "256Mi"}},
                "livenessProbe": {"httpGet": {"path": "/", "port": 8080}},
                "volumeMounts": [{"mountPath": "/var/run/secrets", "name": "kube-api-access"}]
            }],
            "initContainers": [{"name": "mesh", "image": "mesh:v2", "restartPolicy": "Always",
                "ports": [{"hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"}]}],
            "nodeName": "node-7", "priority": 1000, "priorityClassName": "web",
            "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "serviceAccountName": "web", "nodeSelector": {"pool": "web"},
            "tolerations": [
                {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready",
                 "operator": "Exists", "tolerationSeconds": 300},
                {"key": "pool", "value": "web"},
                {"key": "level", "operator": "Gt", "value": "3"}
            ],
            "volumes": [{"name": "kube-api-access", "projected": {"sources": []}},
                        {"name": "tmp", "emptyDir": {}}, {"name": "cfg", "configMap": {}}]
        },
        "status": {"phase": "Running", "qosClass": "Burstable", "hostIP": "10.0.0.9",
            "conditions": [{"type": "Ready", "status": "True"}]}
    })
}

#[test]
fn a_pod_of_a_deployment_becomes_facts() {
    let facts = pod_facts(&deployed());
    let key = (&*facts.key.uid, &*facts.key.namespace, &*facts.key.name);
    assert_eq!(key, ("0b9e63c2", "shop", "web-6d4b75cb6d-x2x7q"));
    assert_eq!((facts.rest.priority, facts.node.as_deref()), (1000, Some("node-7")));
    assert!(!facts.is_finished && !facts.rest.is_terminating && facts.rest.gates.is_empty());
    let spec = facts.spec;
    assert_eq!((&*spec.scheduler, &*spec.namespace), ("default-scheduler", "shop"));
    assert_eq!(spec.target, None, "a pod on a node names no target");
    assert_eq!(spec.node_selector, [("pool".into(), "web".into())]);
    assert_eq!(spec.images, ["mesh:v2", "registry.example:5000/shop/web:latest"]);
    assert_eq!((spec.required, spec.needs, spec.spread), (None, vec![], vec![]));
    assert!(spec.features.is_empty());
    let fit = &spec.requests.fit;
    assert_eq!((fit.cpu, fit.memory), (250, 256 << 20));
}

#[test]
fn host_ports_of_sidecars_and_containers_are_taken() {
    let port = |address: Option<&str>, protocol, port| HostPort {
        address: address.map(String::from),
        protocol,
        port,
    };
    let expected = [port(Some("10.0.0.1"), Protocol::Udp, 53), port(None, Protocol::Tcp, 9090)];
    assert_eq!(pod_facts(&deployed()).spec.ports, expected);
}

#[test]
fn host_ports_by_table() {
    let ports = |port: Value| pod_facts(&json!({"spec": {"containers": [{"ports": [port]}]}}));
    // (port, address, protocol, whether one is taken)
    let table = [
        (json!({"containerPort": 80}), None, Protocol::Tcp, false),
        (json!({"hostPort": 0}), None, Protocol::Tcp, false),
        (json!({"hostPort": -1}), None, Protocol::Tcp, false),
        (json!({"hostPort": 80}), None, Protocol::Tcp, true),
        (json!({"hostPort": 80, "hostIP": "0.0.0.0"}), None, Protocol::Tcp, true),
        (json!({"hostPort": 80, "hostIP": "::"}), Some("::"), Protocol::Tcp, true),
        (json!({"hostPort": 80, "protocol": "SCTP"}), None, Protocol::Sctp, true),
        (json!({"hostPort": 80, "protocol": "QUIC"}), None, Protocol::Other("QUIC".into()), true),
    ];
    for (view, address, protocol, is_taken) in table {
        let address = address.map(String::from);
        let expected = is_taken.then_some(HostPort { address, protocol, port: 80 });
        assert_eq!(ports(view.clone()).spec.ports, Vec::from_iter(expected), "{view}");
    }
}

#[test]
fn tolerations_that_compare_numbers_tolerate_nothing() {
    let toleration = |key: &str, value: &str, operator, effect| Toleration {
        key: Some(key.to_owned()),
        value: value.to_owned(),
        operator,
        effect,
    };
    let not_ready = "node.kubernetes.io/not-ready";
    let expected = [
        toleration(not_ready, "", Operator::Exists, Some(Effect::NoExecute)),
        toleration("pool", "web", Operator::Equal, None),
        toleration("level", "3", Operator::Never, None),
    ];
    assert_eq!(pod_facts(&deployed()).spec.tolerations, expected);
    let all = json!({"spec": {"tolerations": [{"operator": "Exists"}]}});
    assert_eq!(pod_facts(&all).spec.tolerations[0].key, None);
}

/// A static pod: its kubelet made it, the API server only mirrors it.
#[test]
fn a_static_pod_takes_its_place() {
    let facts = pod_facts(&json!({
        "metadata": {"name": "etcd-master-0", "namespace": "kube-system", "uid": "e1",
            "annotations": {"kubernetes.io/config.mirror": "f00"}},
        "spec": {"nodeName": "master-0", "hostNetwork": true, "priority": 2_000_001_000,
            "schedulerName": "default-scheduler", "tolerations": [{"effect": "NoExecute",
            "operator": "Exists"}], "containers": [{"name": "etcd", "image": "etcd:3.6",
            "resources": {"requests": {"cpu": "100m", "memory": "100Mi"}}}]},
        "status": {"phase": "Running"}
    }));
    assert_eq!(facts.node.as_deref(), Some("master-0"));
    assert_eq!(facts.rest.priority, 2_000_001_000);
    assert_eq!(facts.spec.requests.charge.amounts.cpu, 100);
    assert!(facts.spec.features.is_empty());
}

#[test]
fn a_pod_to_judge_names_its_target() {
    let judged = kubenexus_k8s::ingest::pod_to_judge(&deployed()).expect("a pod");
    assert_eq!((judged.spec.target.as_deref(), judged.node), (Some("node-7"), None));
    let rest = model::PodSpec { target: None, ..judged.spec };
    assert_eq!(rest, pod_facts(&deployed()).spec);
}

#[test]
fn a_pod_to_judge_keeps_the_node_that_is_proposed_for_it() {
    let status = json!({"nominatedNodeName": "node-8"});
    let object = json!({"spec": {"nodeName": "node-7"}, "status": status});
    assert_eq!(pod_facts(&object).nominated, None);
    let judged = kubenexus_k8s::ingest::pod_to_judge(&object).expect("a pod");
    assert_eq!(judged.nominated.as_deref(), Some("node-8"));
}

#[test]
fn the_way_of_a_pod_by_table() {
    // (status and metadata, finished, terminating)
    let table = [
        (json!({"status": {"phase": "Pending"}}), false, false),
        (json!({"status": {"phase": "Succeeded"}}), true, false),
        (json!({"status": {"phase": "Failed"}}), true, false),
        (json!({"status": {"phase": "Unknown"}}), false, false),
        (json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}), false, true),
    ];
    for (object, is_finished, is_terminating) in table {
        let facts = pod_facts(&object);
        let found = (facts.is_finished, facts.rest.is_terminating);
        assert_eq!(found, (is_finished, is_terminating), "{object}");
    }
    let gated = pod_facts(&json!({"spec": {"schedulingGates": [{"name": "a"}, {"name": "b"}]}}));
    assert_eq!(gated.rest.gates.iter().map(|gate| &**gate).collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn a_pod_without_uid_is_known_by_its_name() {
    let facts = pod_facts(&json!({"metadata": {"name": "a", "namespace": "b"}}));
    assert_eq!(&*facts.key.uid, "b/a");
}

#[test]
fn images_get_the_tag_that_nodes_report() {
    // (image, as nodes know it)
    let table = [
        ("app", "app:latest"),
        ("app:v1", "app:v1"),
        ("registry.example/app", "registry.example/app:latest"),
        ("registry.example:5000/app", "registry.example:5000/app:latest"),
        ("registry.example:5000/app:v1", "registry.example:5000/app:v1"),
        ("app@sha256:0123", "app@sha256:0123"),
    ];
    for (image, expected) in table {
        let pod = json!({"spec": {"containers": [{"image": image}]}});
        assert_eq!(pod_facts(&pod).spec.images, [expected]);
        let pod = json!({"spec": {"volumes": [{"image": {"reference": image}}]}});
        assert_eq!(pod_facts(&pod).spec.images, [expected]);
    }
}

#[test]
fn node_affinity_keeps_terms_and_weights() {
    let expression = |operator: &str| json!({"key": "k", "operator": operator, "values": ["1"]});
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"].map(expression);
    let spec = pod_facts(&json!({"spec": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": operators}, {"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": ["n"]},
                {"key": "metadata.name", "operator": "NotIn", "values": ["n"]},
                {"key": "metadata.name", "operator": "Exists"}]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 80, "preference": {"matchExpressions": [expression("In")]}}]
    }}}}))
    .spec;
    let required = spec.required.expect("required terms");
    let labels: Vec<_> = required[0].expressions.iter().map(|e| e.operator).collect();
    use LabelOperator::{DoesNotExist, Exists, Gt, In, Lt, NotIn, Unknown};
    assert_eq!(labels, [In, NotIn, Exists, DoesNotExist, Gt, Lt, Unknown]);
    let fields: Vec<_> = required[1].fields.iter().map(|f| f.operator).collect();
    assert_eq!(fields, [FieldOperator::In, FieldOperator::NotIn, FieldOperator::Unknown]);
    assert_eq!((spec.preferred[0].weight, &*spec.preferred[0].term.expressions[0].key), (80, "k"));
    let none = json!({"spec": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}}});
    assert_eq!(pod_facts(&none).spec.required, Some(vec![]), "no terms match no node");
}

#[test]
fn what_needs_more_than_room_is_noticed() {
    let mut table = vec![
        (json!({"volumes": [{"emptyDir": {}}, {"hostPath": {"path": "/"}}]}), None),
        (json!({"volumes": [{"nfs": {}}, {"csi": {"driver": "d"}}]}), None),
        (json!({"volumes": [{"azureFile": {}}, {"vsphereVolume": {}}]}), None),
        (json!({"resourceClaims": [{"name": "gpu"}]}), Some(Need::ResourceClaims)),
    ];
    for kind in [
        "persistentVolumeClaim",
        "ephemeral",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "azureDisk",
        "cinder",
        "iscsi",
        "portworxVolume",
        "rbd",
    ] {
        table.push((json!({"volumes": [{kind: {}}]}), Some(Need::Volumes)));
    }
    for (spec, need) in table {
        let facts = pod_facts(&json!({"spec": spec}));
        assert_eq!(facts.spec.needs, Vec::from_iter(need), "{spec}");
    }
}

/// A requirement that a label has one of these values.
fn is_one_of(key: &str, values: &[&str]) -> RequirementSpec<LabelOperator> {
    let values = values.iter().map(|value| (*value).into()).collect();
    RequirementSpec { key: key.into(), operator: LabelOperator::In, values }
}

#[test]
fn spread_constraints_have_kubernetes_defaults() {
    let pod = json!({
        "metadata": {"namespace": "ns", "labels": {"app": "web", "hash": "7"}},
        "spec": {"topologySpreadConstraints": [
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": [
                 {"key": "tier", "operator": "Exists"}]},
             "matchLabelKeys": ["hash", "absent"], "minDomains": 3,
             "nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"},
            {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "ScheduleAnyway"},
            {"maxSkew": 1, "topologyKey": "host", "whenUnsatisfiable": "Sometimes"},
        ]},
    });
    let facts = pod_facts(&pod);
    assert_eq!(*facts.labels, [("app".into(), "web".into()), ("hash".into(), "7".into())]);
    let exists =
        RequirementSpec { key: "tier".into(), operator: LabelOperator::Exists, values: Vec::new() };
    let requirements = vec![is_one_of("app", &["web"]), exists, is_one_of("hash", &["7"])];
    let hard = SpreadSpec {
        key: "zone".into(),
        selector: Some(LabelSelector { requirements }),
        max_skew: 2,
        min_domains: 3,
        is_required: true,
        honours_affinity: false,
        honours_taints: true,
    };
    let soft = SpreadSpec {
        key: "host".into(),
        selector: None,
        max_skew: 1,
        min_domains: 1,
        is_required: false,
        honours_affinity: true,
        honours_taints: false,
    };
    assert_eq!(facts.spec.spread, [hard, soft]);
}

#[test]
fn pod_terms_are_about_their_own_namespace_unless_they_name_others() {
    let web = json!({"matchLabels": {"app": "web"}});
    // (term, namespaces, selects namespaces)
    let table = [
        (json!({"topologyKey": "zone", "labelSelector": web}), vec!["ns"], false),
        (json!({"namespaces": ["b", "a", "b"]}), vec!["a", "b"], false),
        (json!({"namespaceSelector": {}}), vec![], true),
        (json!({"namespaces": ["a"], "namespaceSelector": web}), vec!["a"], true),
    ];
    for (term, namespaces, selects) in table {
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
        let preferred = json!({"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 7, "podAffinityTerm": term}]});
        let pod = |affinity: Value| {
            pod_facts(&json!({"metadata": {"namespace": "ns"}, "spec": {"affinity": affinity}}))
                .spec
        };
        let spec = pod(json!({"podAffinity": required, "podAntiAffinity": preferred}));
        let target = &spec.near[0].target;
        assert_eq!(target.namespaces, namespaces, "{term}");
        assert_eq!(target.namespace_selector.is_some(), selects, "{term}");
        assert_eq!(target.selector.is_some(), term.get("labelSelector").is_some());
        assert_eq!(spec.prefers, [(-7, spec.near[0].clone())]);
        let spec = pod(json!({"podAffinity": preferred, "podAntiAffinity": required}));
        assert_eq!((spec.prefers[0].0, &spec.prefers[0].1), (7, &spec.far[0]));
    }
}

#[test]
fn features_a_pod_needs_by_table() {
    let rules = json!([{"restartPolicyRules": [{"action": "RestartAllContainers"}]}]);
    let mounts = json!([{"volumeMounts": [{"bindMountOptions": ["noexec"]}]}]);
    // (spec, feature)
    let table = [
        (json!({"containers": rules}), Features::RESTART_ALL),
        (json!({"initContainers": rules}), Features::RESTART_ALL),
        (json!({"containers": mounts}), Features::BIND_MOUNT_OPTIONS),
        (json!({"ephemeralContainers": mounts}), Features::BIND_MOUNT_OPTIONS),
        (json!({"hostNetwork": true, "hostUsers": false}), Features::USER_NAMESPACE_HOST_NETWORK),
        (json!({"hostNetwork": true}), Features::default()),
        (json!({"hostUsers": false}), Features::default()),
    ];
    for (spec, feature) in table {
        assert_eq!(pod_facts(&json!({"spec": spec})).spec.features, feature, "{spec}");
    }
}

#[test]
fn the_policy_and_the_proposed_node_are_read() {
    let facts = pod_facts(&json!({}));
    assert_eq!((facts.rest.is_preempting, facts.nominated), (true, None));
    let mut pod = json!({"spec": {"preemptionPolicy": "Never"},
        "status": {"nominatedNodeName": "a"}});
    let facts = pod_facts(&pod);
    assert_eq!((facts.rest.is_preempting, facts.nominated.as_deref()), (false, Some("a")));
    pod["spec"] = json!({"preemptionPolicy": "PreemptLowerPriority", "nodeName": "b"});
    let facts = pod_facts(&pod);
    // Of a pod on a node nothing is proposed any more.
    assert_eq!((facts.rest.is_preempting, facts.nominated), (true, None));
}

#[test]
fn since_when_a_pod_can_be_placed_is_read_from_its_condition() {
    let pod = |generation: i64, gates: Value, reason: &str, since: Value| {
        let condition = json!({"type": "PodScheduled", "status": "False", "reason": reason,
            "lastTransitionTime": since});
        let conditions = if reason.is_empty() { json!([]) } else { json!([condition]) };
        pod_facts(&json!({
            "metadata": {"name": "p", "uid": "u", "generation": generation},
            "spec": {"schedulingGates": gates}, "status": {"conditions": conditions},
        }))
        .rest
        .eligible
    };
    let (none, since) = (json!([]), json!("2026-11-16T10:30:00Z"));
    let then = Eligible::Since(1_794_825_000);
    assert_eq!(pod(1, none.clone(), "", Value::Null), Eligible::Created);
    assert_eq!(pod(1, none.clone(), "Unschedulable", since.clone()), Eligible::Created);
    let gates = json!([{"name": "quota"}]);
    assert_eq!(pod(1, gates, "SchedulingGated", Value::Null), Eligible::Ungated);
    assert_eq!(pod(2, none.clone(), "SchedulingGated", Value::Null), Eligible::Ungated);
    assert_eq!(pod(2, none.clone(), "SchedulingGated", since.clone()), Eligible::Ungated);
    assert_eq!(pod(2, none.clone(), "Unschedulable", since.clone()), then);
    assert_eq!(pod(0, none.clone(), "Unschedulable", since), then, "a server without generations");
    assert_eq!(pod(2, none, "Unschedulable", Value::Null), Eligible::Created);
}
