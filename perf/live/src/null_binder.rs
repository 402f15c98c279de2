//! The null binder: what a scheduler could reach if it decided for free. It puts pods on nodes in
//! turns. Nothing is repeated: whatever goes wrong ends it.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use kube::Client;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

use crate::objects::SCHEDULER;
use crate::stage::pods_path;
use crate::watch::{Meta, Page, Pod, Watch};
use crate::{client, objects};

/// What it prints once it waits for pods.
pub(crate) const READY: &str = "the null binder is ready";

/// Events on their way at a time. They do not wait for bindings.
const EVENTS_AT_ONCE: usize = 16;
/// Objects on a page of a list.
const PAGE: usize = 500;

/// How it is started.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How to reach the API server
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Bind the pods of this namespace
    #[arg(long)]
    namespace: String,
    /// Bindings on their way at a time
    #[arg(long)]
    in_flight: usize,
    /// Learn of pods by a watch, and write an event for each
    #[arg(long)]
    watch: bool,
}

/// Binds pods, and then sleeps until it is ended.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let client = client::of_kubeconfig(&args.kubeconfig).await?;
    let (nodes, _) = list(&client, "/api/v1/nodes").await?;
    let nodes = nodes.into_iter().map(|node| node.metadata.name.into()).collect();
    let (events, bound) = mpsc::unbounded_channel();
    let events = args.watch.then_some(events);
    let mut binder = Binder { client, nodes, taken: 0, events, permits: permits(args.in_flight) };
    if args.watch {
        tokio::spawn(write_events(binder.client.clone(), bound));
        return binder.follow().await;
    }
    let (pods, _) = list(&binder.client, &pods_path(&args.namespace)).await?;
    println!("{READY}");
    for pod in pods {
        binder.bind(pod.metadata).await?;
    }
    std::future::pending().await
}

struct Binder {
    client: Client,
    nodes: Vec<Arc<str>>,
    /// Pods that were given a node.
    taken: usize,
    /// Where pods go that are bound, if somebody writes about them.
    events: Option<mpsc::UnboundedSender<(Meta, Arc<str>)>>,
    permits: Arc<Semaphore>,
}

impl Binder {
    /// Binds what a watch of all pods shows, as a scheduler has it.
    async fn follow(&mut self) -> Result<()> {
        let (pods, version) = list(&self.client, "/api/v1/pods").await?;
        let mut watch = Watch::open(&self.client, "/api/v1/pods?".into(), version).await?;
        println!("{READY}");
        for pod in pods {
            self.bind_waiting(pod).await?;
        }
        loop {
            let pod = watch.added().await?;
            self.bind_waiting(pod).await?;
        }
    }

    /// Binds a pod that waits for the scheduler in whose place this is.
    async fn bind_waiting(&mut self, pod: Pod) -> Result<()> {
        if pod.spec.node_name.is_empty() && pod.spec.scheduler_name == SCHEDULER {
            self.bind(pod.metadata).await?;
        }
        Ok(())
    }

    /// Sends a binding as soon as one more may be on its way.
    async fn bind(&mut self, pod: Meta) -> Result<()> {
        let node = self.nodes[self.taken % self.nodes.len()].clone();
        self.taken += 1;
        let permit = self.permits.clone().acquire_owned().await?;
        let (client, events) = (self.client.clone(), self.events.clone());
        tokio::spawn(async move {
            let path = format!("{}/{}/binding", pods_path(&pod.namespace), pod.name);
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": &*node},
            });
            must(client::post(&client, &path, binding.to_string().into()).await);
            drop(permit);
            if let Some(events) = events {
                // Whoever writes them lives as long as this process.
                let _ = events.send((pod, node));
            }
        });
        Ok(())
    }
}

async fn write_events(client: Client, mut bound: mpsc::UnboundedReceiver<(Meta, Arc<str>)>) {
    let permits = permits(EVENTS_AT_ONCE);
    while let Some((pod, node)) = bound.recv().await {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let client = client.clone();
        tokio::spawn(async move {
            let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", pod.namespace);
            must(client::post(&client, &path, event(&pod, &node).into()).await);
            drop(permit);
        });
    }
}

/// The event a scheduler writes about a pod it has bound.
fn event(pod: &Meta, node: &str) -> String {
    let Meta { name, namespace, uid, .. } = pod;
    let at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": format!("{name}.0"), "namespace": namespace},
        "eventTime": at,
        "reportingController": objects::SCHEDULER,
        "reportingInstance": "null-binder",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "apiVersion": "v1", "kind": "Pod", "name": name, "namespace": namespace, "uid": uid,
        },
        "note": format!("Successfully assigned {namespace}/{name} to {node}"),
        "type": "Normal",
    })
    .to_string()
}

/// Everything at a path, and the version of that.
async fn list(client: &Client, path: &str) -> Result<(Vec<Pod>, String)> {
    let (mut all, mut next) = (Vec::new(), String::new());
    loop {
        let body = client::get(client, &format!("{path}?limit={PAGE}&continue={next}")).await?;
        let page: Page = serde_json::from_slice(&body).with_context(|| format!("list {path}"))?;
        all.extend(page.items);
        if page.metadata.r#continue.is_empty() {
            return Ok((all, page.metadata.resource_version));
        }
        next = page.metadata.r#continue;
    }
}

fn permits(count: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(count))
}

fn must(result: Result<()>) {
    if let Err(error) = result {
        eprintln!("null binder: {error:#}");
        std::process::exit(1);
    }
}
