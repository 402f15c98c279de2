//! What a scenario lives in: a control plane, a namespace of its own, and its schedulers.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use control_plane::{Call, ControlPlane, Kind, Options, Proxy, Scheduler, Setup, Signal, User};
use http::Request;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::Args;
use crate::objects::{self, Election, SCHEDULER};
use crate::wait::until;

/// The service account of `deploy/kubenexus-scheduler.yaml`.
pub(crate) const ACCOUNT: &str = "system:serviceaccount:kube-system:kubenexus-scheduler";

const READY_WITHIN: Duration = Duration::from_secs(30);

/// A scheduler of a scenario.
pub(crate) struct Replica {
    pub(crate) scheduler: Scheduler,
    kind: Kind,
    /// It has ended, as the scenario wanted.
    is_gone: bool,
}

/// How a scheduler is started.
pub(crate) struct Start<'a> {
    /// What its requests go through.
    pub(crate) proxy: Option<&'a Proxy>,
    /// Its configuration.
    pub(crate) config: Value,
    /// More flags.
    pub(crate) flags: Vec<String>,
}

impl<'a> Start<'a> {
    /// Straight at the API server.
    pub(crate) fn plain(election: Election) -> Self {
        Self { proxy: None, config: objects::config(election), flags: Vec::new() }
    }

    /// With emptier nodes being better.
    pub(crate) fn spreading(mut self) -> Self {
        self.config["profiles"] = json!([objects::spreading()]);
        self
    }

    /// Through a proxy.
    pub(crate) fn through(proxy: &'a Proxy, election: Election) -> Self {
        Self { proxy: Some(proxy), config: objects::config(election), flags: Vec::new() }
    }
}

/// A control plane with everything a scenario needs beside it.
pub(crate) struct World {
    // Schedulers end before the servers they talk to.
    pub(crate) replicas: Vec<Replica>,
    pub(crate) plane: ControlPlane,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Whether kube-scheduler stands in for KubeNexus.
    pub(crate) is_reference: bool,
    /// Whether every scenario runs, so that what was not used is not needed.
    pub(crate) is_complete: bool,
    /// How long evictions are counted that should end, or with kube-scheduler should not.
    pub(crate) evictions_counted_for: Duration,
    /// What the scheduler asked other control planes.
    pub(crate) earlier: Vec<Call>,
    program: PathBuf,
    binaries: PathBuf,
    repository: PathBuf,
    token: String,
}

impl World {
    /// Starts a control plane and installs the scheduler's rights.
    pub(crate) async fn start(args: &Args, apiserver_flags: &[&str]) -> Result<Self> {
        let binaries = args.control_plane.clone().context("--control-plane is missing")?;
        let (program, audited) = match &args.kubenexus {
            Some(program) => (program.clone(), ACCOUNT),
            None => (binaries.join("kube-scheduler"), User::Reference.name()),
        };
        let options = Options {
            apiserver_flags: apiserver_flags.iter().map(|flag| (*flag).into()).collect(),
            audited: vec![audited.into()],
            keeps_folder: args.keep,
            ..Options::default()
        };
        let plane = ControlPlane::start(&binaries, options).await?;
        let mut world = Self {
            replicas: Vec::new(),
            client: plane.client(),
            plane,
            namespace: String::new(),
            is_reference: args.reference,
            is_complete: args.only.is_empty(),
            evictions_counted_for: Duration::from_secs(
                args.count_evictions.unwrap_or(if args.reference { 150 } else { 4 }),
            ),
            earlier: Vec::new(),
            program,
            binaries,
            repository: args.repository.clone(),
            token: User::Reference.token(),
        };
        if !args.reference {
            let manifest = world.repository.join("deploy/kubenexus-scheduler.yaml");
            world.token = world.plane.install_scheduler(&manifest).await?;
        }
        Ok(world)
    }

    /// Everything the scheduler asked, here and earlier.
    pub(crate) fn calls(&self) -> Result<Vec<Call>> {
        Ok([self.earlier.clone(), self.plane.audit()?].concat())
    }

    /// Makes a namespace for a scenario.
    pub(crate) async fn enter(&mut self, name: &str) -> Result<()> {
        self.namespace = name.into();
        let namespace = json!({"metadata": {"name": name}});
        self.plane.create("/api/v1/namespaces", [namespace].into_iter()).await?;
        self.plane.wait_for_service_account(name).await
    }

    /// Ends the schedulers and empties the cluster.
    pub(crate) async fn leave(&mut self) -> Result<()> {
        let stopped = self.stop_schedulers().await;
        let within = &["-n", &self.namespace];
        let kinds = "deployments,jobs,replicasets";
        let delete = ["delete", kinds, "--all", "--wait=false"];
        self.plane.kubectl(&[within.as_slice(), &delete].concat()).await?;
        self.delete_pods().await?;
        // The namespace stays, and its tier would have a say in the next scenario.
        let untiered = json!({"metadata": {"labels": {"tenant.kubenexus.io/tier": null}}});
        self.patch(&format!("/api/v1/namespaces/{}", self.namespace), &untiered).await?;
        self.delete_all("/api/v1/nodes").await?;
        // The next scenario need not wait for the lease of a scheduler that was killed.
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-system");
        if leases.get_opt(SCHEDULER).await?.is_some() {
            leases.delete(SCHEDULER, &DeleteParams::default()).await?;
        }
        self.wait_empty().await?;
        stopped
    }

    /// Waits until there are neither pods nor nodes.
    pub(crate) async fn wait_empty(&self) -> Result<()> {
        let (pods, nodes) = (self.pods_anywhere(), Api::<Node>::all(self.client.clone()));
        until("the cluster to be empty", Duration::from_secs(60), || async {
            let pods = pods.list(&ListParams::default()).await?.items.len();
            let nodes = nodes.list(&ListParams::default()).await?.items.len();
            let is_empty = pods == 0 && nodes == 0;
            Ok(is_empty.then_some(()).ok_or(format!("{pods} pods, {nodes} nodes")))
        })
        .await
    }

    /// Waits until the scenario has no pods.
    pub(crate) async fn wait_no_pods(&self) -> Result<()> {
        until("the pods to be gone", Duration::from_secs(30), || async {
            let pods = self.pods().await?.len();
            Ok((pods == 0).then_some(()).ok_or(format!("{pods} are there")))
        })
        .await
    }

    /// Deletes all of the scenario's pods at once.
    pub(crate) async fn delete_pods(&self) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/pods", self.namespace);
        self.delete_all(&format!("{path}?gracePeriodSeconds=0")).await
    }

    /// Deletes everything that a path lists.
    pub(crate) async fn delete_all(&self, path: &str) -> Result<()> {
        self.client.request_text(Request::delete(path).body(Vec::new())?).await?;
        Ok(())
    }

    /// Ends all schedulers that still run: one that is asked to end does so with 0, and none ends
    /// without being asked.
    async fn stop_schedulers(&mut self) -> Result<()> {
        let mut replicas = std::mem::take(&mut self.replicas);
        replicas.retain(|replica| !replica.is_gone);
        for replica in &mut replicas {
            replica.scheduler.must_run()?;
            replica.scheduler.signal(Signal::Terminate)?;
        }
        for replica in &mut replicas {
            let code = replica.scheduler.exit_code(Duration::from_secs(30)).await?;
            let is_right = code == 0 || replica.kind == Kind::KubeScheduler;
            ensure!(is_right, "the scheduler ended with {code} after SIGTERM, 0 was expected");
        }
        Ok(())
    }

    /// Starts the scheduler under test and waits until it is ready. It is told apart by the index
    /// that is returned.
    pub(crate) async fn run_scheduler(&mut self, start: Start<'_>) -> Result<usize> {
        let index = self.start_scheduler(start)?;
        self.replicas[index].scheduler.ready(READY_WITHIN).await?;
        Ok(index)
    }

    fn start_scheduler(&mut self, start: Start<'_>) -> Result<usize> {
        let name = format!("{}-scheduler-{}", self.namespace, self.replicas.len());
        let url = start.proxy.map(Proxy::url);
        let kubeconfig = self.plane.kubeconfig_for(&name, &self.token, url.as_deref())?;
        let kind = if self.is_reference { Kind::KubeScheduler } else { Kind::KubeNexus };
        let scheduler = Scheduler::start(Setup {
            kind,
            program: &self.program,
            name: &name,
            folder: self.plane.folder(),
            kubeconfig: &kubeconfig,
            config: start.config,
            flags: start.flags,
        })?;
        self.replicas.push(Replica { scheduler, kind, is_gone: false });
        Ok(self.replicas.len() - 1)
    }

    /// Starts kube-scheduler as it comes, under its own name, and waits until it is ready.
    pub(crate) async fn run_kube_scheduler(&mut self) -> Result<usize> {
        let name = format!("{}-kube-scheduler-{}", self.namespace, self.replicas.len());
        let mut config = objects::config(Election::Off);
        config["profiles"] = json!([{"schedulerName": "default-scheduler"}]);
        let mut scheduler = Scheduler::start(Setup {
            kind: Kind::KubeScheduler,
            program: &self.binaries.join("kube-scheduler"),
            name: &name,
            folder: self.plane.folder(),
            kubeconfig: &self.plane.kubeconfig(User::Reference),
            config,
            flags: Vec::new(),
        })?;
        scheduler.ready(READY_WITHIN).await?;
        self.replicas.push(Replica { scheduler, kind: Kind::KubeScheduler, is_gone: false });
        Ok(self.replicas.len() - 1)
    }

    /// Runs a command of the program under test to its end, with the scheduler's rights where it
    /// needs any.
    pub(crate) async fn command(&self, arguments: &[&str]) -> Result<Output> {
        let kubeconfig = self.plane.kubeconfig_for("command", &self.token, None)?;
        let mut command = Command::new(&self.program);
        command.args(arguments).env("KUBECONFIG", kubeconfig);
        let output = tokio::task::spawn_blocking(move || command.output()).await?;
        output.with_context(|| format!("running kubenexus {}", arguments.join(" ")))
    }

    /// The node agent, which is built beside the program under test.
    pub(crate) fn agent(&self) -> PathBuf {
        self.program.with_file_name("kubenexus-agent")
    }

    /// A file of the repository.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.repository.join(path)
    }

    /// Kills a scheduler without warning.
    pub(crate) fn kill(&mut self, index: usize) -> Result<()> {
        self.replicas[index].is_gone = true;
        self.replicas[index].scheduler.kill()
    }

    /// Waits until a scheduler ends with this code.
    pub(crate) async fn must_exit(&mut self, index: usize, code: i32, secs: u64) -> Result<()> {
        let replica = &mut self.replicas[index];
        let found = replica.scheduler.exit_code(Duration::from_secs(secs)).await?;
        replica.is_gone = true;
        let is_right = found == code || replica.kind == Kind::KubeScheduler;
        ensure!(is_right, "the scheduler ended with {found}, {code} was expected");
        Ok(())
    }

    /// A proxy in front of this API server.
    pub(crate) fn proxy(&self) -> Result<Proxy> {
        Proxy::start(self.plane.apiserver_port(), &self.token)
    }

    /// `kubectl apply -f` of a file in `examples/`, into the scenario's namespace.
    pub(crate) async fn apply_example(&self, name: &str) -> Result<()> {
        let file = self.repository.join("examples").join(name).display().to_string();
        self.plane.kubectl(&["-n", &self.namespace, "apply", "-f", &file]).await?;
        Ok(())
    }

    /// Creates nodes `NAME-0`, `NAME-1`, ... and waits until they are ready.
    pub(crate) async fn create_nodes(&self, count: usize, template: &Value) -> Result<()> {
        self.plane.create_nodes(count, template).await?;
        self.wait_ready().await
    }

    /// Waits until all nodes are ready.
    pub(crate) async fn wait_ready(&self) -> Result<()> {
        until("the nodes to be ready", Duration::from_secs(30), || async {
            let nodes = self.nodes().await?;
            let waiting = nodes.iter().filter(|node| !is_ready(node)).count();
            Ok((waiting == 0).then_some(()).ok_or(format!("{waiting} are not")))
        })
        .await
    }

    /// Creates pods in the scenario's namespace.
    pub(crate) async fn create_pods(&self, pods: impl Iterator<Item = Value>) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/pods", self.namespace);
        self.plane.create(&path, pods).await
    }

    /// The scenario's pods, all of them.
    pub(crate) async fn pods(&self) -> Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        Ok(pods.list(&ListParams::default()).await?.items)
    }

    /// One of the scenario's pods.
    pub(crate) async fn pod(&self, name: &str) -> Result<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        pods.get(name).await.with_context(|| format!("reading pod {name}"))
    }

    /// All nodes.
    pub(crate) async fn nodes(&self) -> Result<Vec<Node>> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        Ok(nodes.list(&ListParams::default()).await?.items)
    }

    fn pods_anywhere(&self) -> Api<Pod> {
        Api::all(self.client.clone())
    }

    /// Merges a patch into an object, or into its status.
    pub(crate) async fn patch(&self, path: &str, patch: &Value) -> Result<()> {
        let request = Request::patch(path).header("content-type", "application/merge-patch+json");
        let request = request.body(patch.to_string().into_bytes())?;
        self.client.request_text(request).await.with_context(|| format!("patching {path}"))?;
        Ok(())
    }

    /// Waits until so many of the scenario's pods are bound.
    pub(crate) async fn wait_bound(&self, count: usize, secs: u64) -> Result<Vec<Pod>> {
        let what = format!("{count} pods to be bound");
        until(&what, Duration::from_secs(secs), || async {
            let pods = self.pods().await?;
            let bound = pods.iter().filter(|pod| node_of(pod).is_some()).count();
            Ok(if bound >= count { Ok(pods) } else { Err(format!("{bound} are")) })
        })
        .await
    }

    /// Waits until so many of the scenario's pods run.
    pub(crate) async fn wait_running(&self, count: usize, secs: u64) -> Result<Vec<Pod>> {
        let what = format!("{count} pods to run");
        until(&what, Duration::from_secs(secs), || async {
            let pods = self.pods().await?;
            let running = pods.iter().filter(|pod| phase_of(pod) == "Running").count();
            Ok(if running >= count { Ok(pods) } else { Err(format!("{running} do")) })
        })
        .await
    }

    /// Waits until a pod has a `PodScheduled` condition with this reason and this in its message.
    pub(crate) async fn wait_waiting(&self, name: &str, reason: &str, text: &str) -> Result<Pod> {
        let what = format!("{name} to wait, {reason} with \"{text}\"");
        until(&what, Duration::from_secs(30), || async {
            let pod = self.pod(name).await?;
            let found = condition_of(&pod, "PodScheduled");
            let is_right = found["reason"] == reason
                && found["message"].as_str().unwrap_or_default().contains(text);
            Ok(if is_right { Ok(pod) } else { Err(found.to_string()) })
        })
        .await
    }
}

/// The node a pod is bound to.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// A pod's name.
pub(crate) fn name_of(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

/// A pod's phase.
pub(crate) fn phase_of(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default()
}

/// A pod's condition as JSON, or null.
pub(crate) fn condition_of(pod: &Pod, kind: &str) -> Value {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let found = conditions.into_iter().flatten().find(|condition| condition.type_ == kind);
    found.map_or(Value::Null, |condition| json!(condition))
}

/// Ready, and without the taint nodes are created with.
fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    let mut taints = taints.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
        && !taints.any(|taint| taint.key == "node.kubernetes.io/not-ready")
}
