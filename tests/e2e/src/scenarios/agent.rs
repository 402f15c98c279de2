//! The node agent with the rights of `deploy/kubenexus-agent.yaml`: it writes its own node, its own
//! keys, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::Request;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use crate::objects::node;
use crate::suite::Run;
use crate::wait::until;
use crate::world::World;

const MANIFEST: &str = "deploy/kubenexus-agent.yaml";
const NODE: &str = "/api/v1/nodes/node-0";
const OTHER: &str = "/api/v1/nodes/node-1";
const PODS: &str = "/api/v1/namespaces/kube-system/pods";
pub(super) const TOPOLOGIES: &str = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";

/// An agent describes its node and takes back what is gone; keys of an administrator stay, those of
/// `label-node.sh` are taken over. It may not write another node, nor keys of others, nor a spec.
pub(crate) fn own_node(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let kubeconfig = install(world, "node-0").await?;
        let machine = Machine::make(world, "agent")?;
        machine.add_gpu(0)?;
        let by_hand = json!({"metadata": {"labels": {"gpu.kubenexus.io/gpu0-numa": "7"}}});
        world.patch(NODE, &by_hand).await?;
        let by_script = json!({"metadata": {"labels": {"numa.kubenexus.io/node-count": "9"}}});
        let path = format!("{NODE}?fieldManager=kubenexus-label-node");
        world.patch(&path, &by_script).await?;

        let said = run_agent(world, &kubeconfig, &machine, "node-0", &[]).await?;
        ensure!(said.contains("others hold these keys with other values: gpu"), "{said}");
        let labels = labels(world, NODE).await?;
        ensure!(labels["numa.kubenexus.io/node-0-cpus"] == "0-3", "{labels}");
        ensure!(labels["numa.kubenexus.io/node-count"] == "1", "{labels}");
        ensure!(labels["gpu.kubenexus.io/gpu0-numa"] == "7", "{labels}");
        ensure!(labels["kubernetes.io/hostname"] == "node-0", "{labels}");

        // A node that is given free, and hardware that is gone.
        let free = json!({"metadata": {"labels": {"gpu.kubenexus.io/gpu0-numa": null}}});
        world.patch(NODE, &free).await?;
        run_agent(world, &kubeconfig, &machine, "node-0", &[]).await?;
        ensure!(self::labels(world, NODE).await?["gpu.kubenexus.io/gpu0-numa"] == "0");
        machine.remove_gpu()?;
        run_agent(world, &kubeconfig, &machine, "node-0", &[]).await?;
        let node = get(world, NODE).await?;
        ensure!(!node.to_string().contains("gpu.kubenexus.io"), "{node}");

        refused(world, &kubeconfig, &machine).await?;
        world.delete_all(PODS).await
    })
}

/// Everything that an agent, or whoever has its token, must not do.
async fn refused(world: &World, kubeconfig: &Path, machine: &Machine) -> Result<()> {
    let elsewhere = run_agent(world, kubeconfig, machine, "node-1", &[]).await;
    fails(elsewhere, "an agent on node \"node-0\" may not write node \"node-1\"")?;
    let client = client(kubeconfig).await?;
    let label = |key: &str, value: Value| json!({"metadata": {"labels": {key: value}}});
    let own = label("numa.kubenexus.io/node-0-bandwidth", json!("1"));
    patch(&client, NODE, &own).await.context("an own key")?;
    let labels = "may write labels of its own domains only";
    let nothing_else = "labels and annotations of nodes and nothing else";
    let annotation = json!({"metadata": {"annotations": {"device.kubenexus.io/placement": "x"}}});
    for (path, change, expected) in [
        (OTHER, own, "may not write node"),
        (NODE, label("example.com/zone", json!("a")), labels),
        (NODE, label("tenant.kubenexus.io/reserved-tier", json!("gold")), labels),
        (NODE, label("kubernetes.io/hostname", json!("node-1")), labels),
        (NODE, label("kubernetes.io/hostname", Value::Null), labels),
        (NODE, label("not-numa.kubenexus.io/node-count", json!("a")), labels),
        (NODE, annotation, "may write annotations of its own domains only"),
        (NODE, json!({"spec": {"unschedulable": true}}), nothing_else),
        (NODE, json!({"metadata": {"finalizers": ["example.com/stay"]}}), nothing_else),
        (&format!("{NODE}/status"), json!({"status": {"phase": "x"}}), "nodes/status"),
    ] {
        fails(patch(&client, path, &change).await, expected)
            .with_context(|| format!("{path} {change}"))?;
    }
    // A token that is bound to no pod says of no node that it is its own.
    let unbound = token(world, &[]).await?;
    let file = world.plane.kubeconfig_for("agent-unbound", &unbound, None)?;
    let client = self::client(&file).await?;
    let change = label("numa.kubenexus.io/node-0-bandwidth", json!("2"));
    fails(patch(&client, NODE, &change).await, "an agent on node \"\" may not write node")
}

/// Where NodeResourceTopology exists, NUMA nodes go there and not into labels; where somebody else
/// writes it, or the kubelet does not answer, they are labels.
pub(crate) fn topology(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let kubeconfig = install(world, "node-0").await?;
        let other = bound_token(world, "node-1").await?;
        let machine = Machine::make(world, "topology")?;
        let kubelet = Kubelet::start(world)?;
        let with_kubelet = [format!("--kubelet-socket={}", kubelet.socket.display())];

        let forced = [with_kubelet[0].clone(), "--publish=nrt".into()];
        let unknown = run_agent(world, &kubeconfig, &machine, "node-0", &forced).await;
        fails(unknown, "the API server does not know NodeResourceTopology")?;

        define(world).await?;
        let foreign = json!({
            "apiVersion": "topology.node.k8s.io/v1alpha2",
            "kind": "NodeResourceTopology",
            "metadata": {"name": "node-1"},
            "zones": [],
        });
        world.plane.create(TOPOLOGIES, [foreign].into_iter()).await?;

        // Without the kubelet's word: labels. With it: zones, and the labels go.
        run_agent(world, &kubeconfig, &machine, "node-0", &[]).await?;
        ensure!(labels(world, NODE).await?["numa.kubenexus.io/node-count"] == "1");
        let said = run_agent(world, &kubeconfig, &machine, "node-0", &with_kubelet).await?;
        ensure!(said.contains("NUMA nodes as a NodeResourceTopology"), "{said}");
        let labels = labels(world, NODE).await?;
        ensure!(labels["numa.kubenexus.io/node-count"].is_null(), "{labels}");
        let written = get(world, &format!("{TOPOLOGIES}/node-0")).await?;
        let resources = &written["zones"][0]["resources"];
        ensure!(resources[0]["available"] == "4", "{written}");
        ensure!(written["metadata"]["ownerReferences"][0]["name"] == "node-0", "{written}");
        // Its own object is still its own.
        run_agent(world, &kubeconfig, &machine, "node-0", &forced).await?;

        let said = run_agent(world, &other, &machine, "node-1", &with_kubelet).await?;
        ensure!(said.contains("writes the node's NodeResourceTopology"), "{said}");
        ensure!(self::labels(world, OTHER).await?["numa.kubenexus.io/node-count"] == "1");

        let stolen = run_agent(world, &other, &machine, "node-0", &forced).await;
        fails(stolen, "may not write the NodeResourceTopology of \"node-0\"")?;
        undefine(world).await?;
        world.delete_all(PODS).await
    })
}

/// Applies the manifest, makes two nodes, and waits until the policies hold. Returns a kubeconfig
/// with the token of an agent on a node.
async fn install(world: &World, on: &str) -> Result<PathBuf> {
    let manifest = world.file(MANIFEST).display().to_string();
    world.plane.kubectl(&["apply", "-f", &manifest]).await?;
    let delete = ["-n", "kube-system", "delete", "daemonset", "kubenexus-agent"];
    world.plane.kubectl(&delete).await?;
    world.create_nodes(2, &node("node", "4", "16Gi", 110)).await?;
    let kubeconfig = bound_token(world, on).await?;
    let client = client(&kubeconfig).await?;
    let tries = std::cell::Cell::new(0);
    until("the policy to hold", Duration::from_secs(30), || async {
        // A value that was written before the policy held may be written again.
        tries.set(tries.get() + 1);
        let value = format!("try-{}", tries.get());
        let wrong = json!({"metadata": {"labels": {"example.com/probe": value}}});
        let answer = patch(&client, NODE, &wrong).await;
        Ok(fails(answer, "own domains only").map_err(|error| error.to_string()))
    })
    .await?;
    let clean = json!({"metadata": {"labels": {"example.com/probe": null}}});
    world.patch(NODE, &clean).await?;
    Ok(kubeconfig)
}

/// What must fail, and with these words.
fn fails<T>(result: Result<T>, expected: &str) -> Result<()> {
    let text = result.err().map_or_else(|| "no error".into(), |error| format!("{error:#}"));
    ensure!(text.contains(expected), "{text:?}, expected {expected:?}");
    Ok(())
}

/// A kubeconfig with a token as the pod of an agent on a node has it.
async fn bound_token(world: &World, on: &str) -> Result<PathBuf> {
    let name = format!("{}-agent-{on}", world.namespace);
    let pod = json!({
        "metadata": {"name": name},
        "spec": {
            "nodeName": on,
            "serviceAccountName": "kubenexus-agent",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "agent", "image": "registry.example/agent:1"}],
        },
    });
    world.plane.create(PODS, [pod].into_iter()).await?;
    let bound = ["--bound-object-kind=Pod", &format!("--bound-object-name={name}")];
    let token = token(world, &bound).await?;
    world.plane.kubeconfig_for(&name, &token, None)
}

async fn token(world: &World, more: &[&str]) -> Result<String> {
    let create = ["-n", "kube-system", "create", "token", "kubenexus-agent"];
    let token = world.plane.kubectl(&[&create, more].concat()).await?;
    Ok(token.trim().to_owned())
}

/// Runs the agent once, and returns what it logs.
async fn run_agent(
    world: &World,
    kubeconfig: &Path,
    machine: &Machine,
    node: &str,
    more: &[String],
) -> Result<String> {
    let mut command = Command::new(world.agent());
    command
        .args(["--once", "--node-name", node, "--kubelet-config=none", "--kubelet-socket=none"])
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--sysfs-root")
        .arg(&machine.0)
        .args(more);
    let output = tokio::task::spawn_blocking(move || command.output()).await?;
    let output = output.with_context(|| format!("running {}", world.agent().display()))?;
    let said = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "the agent ended with {}: {said}", output.status);
    Ok(said)
}

/// A folder that describes a machine with four CPUs.
struct Machine(PathBuf);

impl Machine {
    fn make(world: &World, name: &str) -> Result<Self> {
        let root = world.plane.folder().join(format!("{}-{name}", world.namespace));
        let node = root.join("devices/system/node/node0");
        fs::create_dir_all(&node)?;
        fs::write(node.join("cpulist"), "0-3\n")?;
        fs::write(node.join("meminfo"), "Node 0 MemTotal: 1048576 kB\n")?;
        fs::write(node.join("distance"), "10\n")?;
        Ok(Self(root))
    }

    fn gpu(&self) -> PathBuf {
        self.0.join("bus/pci/devices/0000:01:00.0")
    }

    fn add_gpu(&self, numa: u32) -> Result<()> {
        fs::create_dir_all(self.gpu())?;
        fs::write(self.gpu().join("class"), "0x030200\n")?;
        Ok(fs::write(self.gpu().join("numa_node"), format!("{numa}\n"))?)
    }

    fn remove_gpu(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.gpu())?)
    }
}

/// A PodResources service that has nothing and has given nothing: every answer is an empty message.
struct Kubelet {
    socket: PathBuf,
    task: tokio::task::JoinHandle<()>,
}

impl Kubelet {
    fn start(world: &World) -> Result<Self> {
        let socket = world.plane.folder().join(format!("{}.sock", world.namespace));
        let listener = tokio::net::UnixListener::bind(&socket)?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut connection) = h2::server::handshake(stream).await else { continue };
                while let Some(Ok((_, mut answer))) = connection.accept().await {
                    let head = http::Response::new(());
                    let Ok(mut body) = answer.send_response(head, false) else { continue };
                    let mut trailers = http::HeaderMap::new();
                    trailers.insert("grpc-status", 0.into());
                    let sent = body.send_data([0; 5].as_slice().into(), false);
                    let _ = sent.and_then(|()| body.send_trailers(trailers));
                }
            }
        });
        Ok(Self { socket, task })
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Makes the API server know NodeResourceTopology.
pub(super) async fn define(world: &World) -> Result<()> {
    let text = |required: &[&str]| {
        let properties: serde_json::Map<_, _> =
            required.iter().map(|name| ((*name).into(), json!({"type": "string"}))).collect();
        json!({"type": "object", "required": required, "properties": properties})
    };
    let list = |items: Value| json!({"type": "array", "items": items});
    let quantity = json!({"x-kubernetes-int-or-string": true});
    let resource = json!({
        "type": "object",
        "required": ["name", "capacity", "allocatable", "available"],
        "properties": {
            "name": {"type": "string"},
            "capacity": quantity, "allocatable": quantity, "available": quantity,
        },
    });
    let cost = json!({
        "type": "object",
        "required": ["name", "value"],
        "properties": {"name": {"type": "string"}, "value": {"type": "integer"}},
    });
    let zone = json!({
        "type": "object",
        "required": ["name", "type"],
        "properties": {
            "name": {"type": "string"}, "type": {"type": "string"}, "parent": {"type": "string"},
            "resources": list(resource), "costs": list(cost),
            "attributes": list(text(&["name", "value"])),
        },
    });
    let schema = json!({
        "type": "object",
        "required": ["zones"],
        "properties": {"zones": list(zone), "attributes": list(text(&["name", "value"]))},
    });
    let definition = json!({
        "metadata": {
            "name": "noderesourcetopologies.topology.node.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
        },
        "spec": {
            "group": "topology.node.k8s.io",
            "scope": "Cluster",
            "names": {"kind": "NodeResourceTopology", "plural": "noderesourcetopologies"},
            "versions": [{
                "name": "v1alpha2", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    world.plane.create(path, [definition].into_iter()).await?;
    until("the kind to be served", Duration::from_secs(30), || async {
        let found = world.client.request_text(Request::get(TOPOLOGIES).body(Vec::new())?).await;
        Ok(found.map(drop).map_err(|error| error.to_string()))
    })
    .await
}

/// Takes the kind away again, and waits until it is gone.
pub(super) async fn undefine(world: &World) -> Result<()> {
    world.delete_all(TOPOLOGIES).await?;
    let name = "crd/noderesourcetopologies.topology.node.k8s.io";
    world.plane.kubectl(&["delete", name]).await?;
    Ok(())
}

async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

async fn patch(client: &Client, path: &str, change: &Value) -> Result<()> {
    let request = Request::patch(path).header("content-type", "application/merge-patch+json");
    client.request_text(request.body(change.to_string().into_bytes())?).await?;
    Ok(())
}

async fn labels(world: &World, path: &str) -> Result<Value> {
    Ok(get(world, path).await?["metadata"]["labels"].clone())
}

async fn get(world: &World, path: &str) -> Result<Value> {
    let text = world.client.request_text(Request::get(path).body(Vec::new())?).await?;
    Ok(serde_json::from_str(&text)?)
}
