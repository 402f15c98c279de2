//! The cluster the suite runs on: a control plane, nodes without kubelets, and one scheduler.

use std::time::Duration;

use anyhow::Result;
use control_plane::{ControlPlane, Kind, Options, Scheduler, Setup, User};
use serde_json::{Value, json};

use crate::Args;

/// PodGroups and Workloads: served, and honoured by kube-scheduler.
const GATES: &str = "--feature-gates=GenericWorkload=true";
const SERVED: &str = "--runtime-config=scheduling.k8s.io/v1beta1=true";

const ZONES: [&str; 2] = ["zone-a", "zone-b"];
const NODES_PER_ZONE: usize = 2;

/// How many nodes there are.
pub(crate) const NODES: usize = ZONES.len() * NODES_PER_ZONE;

/// On loopback, and not 127.0.0.1: a spec wants a port at both.
const NODE_ADDRESS: &str = "127.0.0.2";

/// Specs wait a minute for pods on every node with each of these names, and then go on without.
const AGENTS: &str = "kube-proxy-fluentd-elasticsearch-node-problem-detector";

const AGENTS_PATH: &str = "/api/v1/namespaces/kube-system/pods";

const READY_WITHIN: Duration = Duration::from_secs(30);

/// A cluster with its scheduler. Everything ends when it is dropped.
pub(crate) struct Cluster {
    // The scheduler ends before the servers it talks to.
    pub(crate) scheduler: Scheduler,
    pub(crate) plane: ControlPlane,
}

impl Cluster {
    /// Starts all of it, and waits until pods can be scheduled.
    pub(crate) async fn start(args: &Args) -> Result<Self> {
        let options = Options {
            // Specs make privileged pods.
            apiserver_flags: vec![GATES.into(), SERVED.into(), "--allow-privileged=true".into()],
            // Who lets go of PodGroups that are deleted.
            controllers_flags: vec![GATES.into()],
            // A policy that names nobody would write down every request.
            audited: vec![User::Nobody.name().into()],
            keeps_folder: args.keep,
            ..Options::default()
        };
        let mut plane = ControlPlane::start(&args.control_plane, options).await?;
        plane.wait_for_service_account("kube-system").await?;
        for zone in ZONES {
            plane.create_nodes(NODES_PER_ZONE, &node(zone)).await?;
        }
        let mut scheduler = start_scheduler(args, &plane).await?;
        scheduler.ready(READY_WITHIN).await?;
        for zone in ZONES {
            let agents = (0..NODES_PER_ZONE).map(|number| agent(&format!("{zone}-{number}")));
            plane.create(AGENTS_PATH, agents).await?;
        }
        // Specs give one name to pods that follow each other.
        let pod = format!("{AGENTS_PATH}/{AGENTS}-{}-0", ZONES[0]);
        plane.wait_kwok_is_restrained(&pod).await?;
        Ok(Self { scheduler, plane })
    }
}

/// The template of a zone's nodes. Without an address, or with a host name as one, the API server
/// would look names up when the suite asks a node for its state.
fn node(zone: &str) -> Value {
    let room = json!({"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": zone,
            "labels": {"topology.kubernetes.io/zone": zone},
            // A spec adds to the capacity alone.
            "annotations": {"allocatable": "capacity"},
        },
        "status": {
            "capacity": room,
            "allocatable": room,
            "addresses": [{"type": "InternalIP", "address": NODE_ADDRESS}],
        },
    })
}

/// What runs on every node of a cluster, all in one.
fn agent(node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("{AGENTS}-{node}")},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": node},
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        },
    })
}

/// Starts the scheduler of all pods that name none: KubeNexus with the rights of `deploy/`, or
/// kube-scheduler.
async fn start_scheduler(args: &Args, plane: &ControlPlane) -> Result<Scheduler> {
    let (kind, program, token, flags) = match &args.kubenexus {
        Some(program) => {
            let manifest = args.repository.join("deploy/kubenexus-scheduler.yaml");
            let token = plane.install_scheduler(&manifest).await?;
            (Kind::KubeNexus, program.clone(), token, Vec::new())
        }
        None => {
            let program = args.control_plane.join("kube-scheduler");
            (Kind::KubeScheduler, program, User::Reference.token(), vec![GATES.to_owned()])
        }
    };
    Scheduler::start(Setup {
        kind,
        program: &program,
        name: "scheduler",
        folder: plane.folder(),
        kubeconfig: &plane.kubeconfig_for("scheduler", &token, None)?,
        config: config(),
        flags,
    })
}

/// As deployed, under the name of the cluster's own scheduler.
fn config() -> Value {
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"qps": 5000, "burst": 5000},
        "leaderElection": {
            "leaderElect": true,
            "resourceName": "kubenexus-scheduler",
            "resourceNamespace": "kube-system",
        },
        "profiles": [{"schedulerName": "default-scheduler"}],
    })
}
