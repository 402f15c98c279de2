//! Nodes, pods and configurations the scenarios are made of.

use serde_json::{Value, json};

/// The name pods ask for.
pub(crate) const SCHEDULER: &str = "kubenexus-scheduler";

/// The name of a second profile.
pub(crate) const PACKING: &str = "kubenexus-packing";

/// A node, or the template of many.
pub(crate) fn node(name: &str, cpu: &str, memory: &str, pods: u32) -> Value {
    let room = json!({"cpu": cpu, "memory": memory, "pods": pods.to_string()});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {}},
        "status": {"capacity": room, "allocatable": room},
    })
}

/// A pod of ours.
pub(crate) fn pod(name: &str, cpu: &str, memory: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "test"}},
        "spec": {
            "schedulerName": SCHEDULER,
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "main",
                "image": "registry.example/main:1",
                "resources": {"requests": {"cpu": cpu, "memory": memory}},
            }],
        },
    })
}

/// Pods `NAME-0`, `NAME-1`, ... from a template named NAME.
pub(crate) fn many(template: &Value, count: usize) -> impl Iterator<Item = Value> {
    let name = template["metadata"]["name"].as_str().unwrap_or("pod").to_owned();
    (0..count).map(move |number| {
        let mut pod = template.clone();
        pod["metadata"]["name"] = format!("{name}-{number}").into();
        pod
    })
}

/// How replicas agree on a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Election {
    /// They do not: there is one.
    Off,
    /// In a few seconds, but not so few that a busy machine makes a leader miss its deadline.
    Quick,
    /// As deployed.
    Deployed,
}

/// Our profile, in which emptier nodes are better whatever else counts.
pub(crate) fn spreading() -> Value {
    let fit = json!({"name": "NodeResourcesFit", "weight": 100});
    json!({"schedulerName": SCHEDULER, "plugins": {"score": {"enabled": [fit]}}})
}

/// A KubeSchedulerConfiguration.
pub(crate) fn config(election: Election) -> Value {
    let (duration, deadline, period) = match election {
        Election::Off | Election::Deployed => ("15s", "10s", "2s"),
        Election::Quick => ("8s", "6s", "1s"),
    };
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 1000, "burst": 1000},
        "leaderElection": {
            "leaderElect": election != Election::Off,
            "leaseDuration": duration,
            "renewDeadline": deadline,
            "retryPeriod": period,
            "resourceName": SCHEDULER,
            "resourceNamespace": "kube-system",
            "resourceLock": "leases",
        },
        "profiles": [{"schedulerName": SCHEDULER}],
    })
}
