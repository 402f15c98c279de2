//! Nodes and pods that are created.

use clap::ValueEnum;
use serde_json::{Value, json};

/// Whom the pods ask for. Every contender answers to this name, so that all get the same pods.
pub(crate) const SCHEDULER: &str = "kubenexus-scheduler";

/// Pools of nodes that diverse pods choose from.
const POOLS: usize = 5;
/// Shapes of diverse pods.
const SHAPES: usize = 50;

/// What the pods of a run are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// All of one shape.
    Plain,
    /// Fifty shapes in turns: requests, node selectors, tolerations.
    Diverse,
}

impl Workload {
    /// As figures spell it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Diverse => "diverse",
        }
    }

    /// The pod at a position.
    pub(crate) fn pod(self, at: usize) -> Value {
        let shape = match self {
            Self::Plain => 0,
            Self::Diverse => at % SHAPES,
        };
        let requests = json!({
            "cpu": format!("{}m", 100 + 10 * (shape % 10)),
            "memory": format!("{}Mi", 128 + 16 * (shape / 10)),
        });
        let mut spec = json!({
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}],
        });
        if shape % 3 == 1 {
            spec["nodeSelector"] = json!({"pool": pool(shape)});
        }
        if shape % 4 == 2 {
            let key = format!("dedicated-{}", shape % 7);
            spec["tolerations"] =
                json!([{"key": key, "operator": "Exists", "effect": "NoSchedule"}]);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": format!("pod-{at}"), "labels": {"app": "bench"}},
            "spec": spec,
        })
    }
}

/// Nodes of a pool: ready, without taints, with room for every run. They are named `POOL-0`,
/// `POOL-1`, ...
pub(crate) fn pools(nodes: usize) -> impl Iterator<Item = (usize, Value)> {
    (0..POOLS).map(move |at| {
        let room = json!({"cpu": "32", "memory": "256Gi", "pods": "110"});
        let labels = json!({
            "pool": pool(at),
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "topology.kubernetes.io/region": "region",
            "topology.kubernetes.io/zone": format!("zone-{}", at % 3),
        });
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        });
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": pool(at), "labels": labels},
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
        });
        (nodes / POOLS + usize::from(at < nodes % POOLS), node)
    })
}

fn pool(at: usize) -> String {
    format!("pool-{}", at % POOLS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn shapes(workload: Workload) -> usize {
        let specs = (0..500).map(|at| workload.pod(at)["spec"].to_string());
        specs.collect::<BTreeSet<_>>().len()
    }

    #[test]
    fn plain_pods_have_one_shape_and_diverse_pods_fifty() {
        assert_eq!(shapes(Workload::Plain), 1);
        assert_eq!(shapes(Workload::Diverse), SHAPES);
    }

    #[test]
    fn pools_add_up() {
        for nodes in [1, 7, 1_000] {
            assert_eq!(pools(nodes).map(|(count, _)| count).sum::<usize>(), nodes);
        }
    }
}
