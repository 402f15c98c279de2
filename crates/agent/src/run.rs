//! The agent at work: looks, decides what should be written, writes what differs.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::signal::unix::{SignalKind, signal};

use crate::api::{self, Api, Metadata, Topology};
use crate::desired::{Desired, Facts, Zones, desired};
use crate::gpus::AskGpus;
use crate::nfd;
use crate::observe::Observer;
use crate::options::{Options, Publish};
use crate::said::Said;

/// How often the kubelet is asked; nothing is written more often.
const POLL: Duration = Duration::from_secs(5);
/// How often everything is looked at, and written again if somebody removed it.
const PERIOD: Duration = Duration::from_secs(60);

/// What would be written, as text.
///
/// # Errors
/// When it was asked for a NodeResourceTopology and the kubelet does not say enough.
pub async fn dry_run(options: &Options, nvml: &dyn AskGpus) -> Result<String> {
    let mut observer = Observer::new(options, nvml);
    let facts = observer.look().await;
    let zones = match options.publish {
        Publish::Nrt => Zones::Topology,
        Publish::Auto | Publish::Labels | Publish::Nfd => Zones::Labels,
    };
    let mut desired = desired(facts, zones);
    if options.publish == Publish::Nrt && desired.topology.is_none() {
        bail!("--publish nrt: {NO_AMOUNTS}");
    }
    let name = options.node_name.as_deref().unwrap_or("NODE");
    let mut texts = Vec::new();
    if options.publish == Publish::Nfd {
        let labels = std::mem::take(&mut desired.labels);
        let path = options.nfd_features.display();
        texts.push(format!("# {path}\n{}", comment(&nfd::text(&labels))));
    }
    texts.push(format!("{:#}\n", api::node_object(name, &desired)));
    if let Some(topology) = &desired.topology {
        texts.push(format!("{:#}\n", api::topology_object(name, topology)));
    }
    Ok(texts.join("---\n"))
}

fn comment(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

const NO_AMOUNTS: &str = "the kubelet does not say what it can give and has given, without which \
                          a NodeResourceTopology would have to be guessed: see --kubelet-socket";

/// Writes once, or until a signal.
///
/// # Errors
/// When it cannot start, or when it writes once and that fails.
pub async fn run(options: &Options, nvml: &dyn AskGpus) -> Result<()> {
    let name = options.node_name.as_deref().context("--node-name or NODE_NAME is needed")?;
    let api = Api::connect(options.kubeconfig.as_deref()).await?;
    let mut writer = Writer { options, name, api, node: None, written: None };
    let mut observer = Observer::new(options, nvml);
    if options.once {
        observer.look().await;
        return writer.write(&mut observer).await;
    }
    tracing::info!(node = name, "started");
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        never = watch(&mut writer, &mut observer) => match never {},
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("ended by a signal");
    Ok(())
}

async fn watch(writer: &mut Writer<'_>, observer: &mut Observer<'_>) -> std::convert::Infallible {
    let mut full: Option<Instant> = None;
    let mut pause = POLL;
    loop {
        let is_due = full.is_none_or(|last| last.elapsed() >= PERIOD) || observer.has_changed();
        if is_due {
            full = Some(Instant::now());
            observer.look().await;
        } else {
            observer.look_at_pods().await;
        }
        // A look at everything is written in any case: somebody may have removed something.
        if is_due {
            writer.written = None;
        }
        match writer.write(observer).await {
            Ok(()) => pause = POLL,
            Err(error) => {
                observer.said.warn("write", &format!("{error:#}"));
                // A server that is in trouble is not asked by every node every few seconds.
                pause = (pause * 2).min(PERIOD);
                writer.forget();
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Writes to the API server, and remembers what it wrote.
struct Writer<'a> {
    options: &'a Options,
    name: &'a str,
    api: Api,
    /// The node, as it was read last.
    node: Option<Metadata>,
    written: Option<Facts>,
}

impl Writer<'_> {
    /// Writes what the facts ask for, unless it is written.
    async fn write(&mut self, observer: &mut Observer<'_>) -> Result<()> {
        let (facts, said) = observer.parts();
        if self.written.as_ref() == Some(facts) {
            return Ok(());
        }
        if self.written.is_none() {
            let node = self.api.node(self.name).await?;
            compare_with_others(&node, facts, said);
            self.node = Some(node);
        }
        let uid = self.node.as_ref().map(|node| node.uid.clone()).unwrap_or_default();
        let zones = self.zones(facts, said).await?;
        let mut desired = desired(facts, zones);
        if self.options.publish == Publish::Nfd {
            let text = nfd::text(&std::mem::take(&mut desired.labels));
            nfd::write(&self.options.nfd_features, &text)?;
        }
        if let Some(topology) = &desired.topology {
            self.api.apply_topology(self.name, &uid, topology).await?;
        }
        let left = self.api.apply_node(self.name, &uid, &desired).await?;
        tell(&desired, zones, &left, said);
        self.written = Some(facts.clone());
        Ok(())
    }

    /// After a failure the node is read anew: it may be another one of the same name.
    fn forget(&mut self) {
        (self.node, self.written) = (None, None);
    }

    async fn zones(&self, facts: &Facts, said: &mut Said) -> Result<Zones> {
        let is_needed = match self.options.publish {
            Publish::Labels | Publish::Nfd => return Ok(Zones::Labels),
            Publish::Auto => false,
            Publish::Nrt => true,
        };
        let why = match self.api.topology(self.name).await? {
            Topology::NotServed => "the API server does not know NodeResourceTopology".into(),
            Topology::Owned(by) => format!("{by} writes the node's NodeResourceTopology"),
            Topology::Free if facts.held.is_none() || facts.allocatable.is_none() => {
                NO_AMOUNTS.into()
            }
            Topology::Free => return Ok(Zones::Topology),
        };
        if is_needed {
            bail!("--publish nrt: {why}");
        }
        said.info("zones", &format!("NUMA nodes are written as labels: {why}"));
        Ok(Zones::Labels)
    }
}

fn tell(desired: &Desired, zones: Zones, left: &[String], said: &mut Said) {
    said.settled("write");
    let place = match zones {
        Zones::Labels => "labels",
        Zones::Topology => "a NodeResourceTopology",
    };
    let text = format!(
        "written: {} labels, {} annotations, NUMA nodes as {place}",
        desired.labels.len() - left.iter().filter(|key| desired.labels.contains_key(*key)).count(),
        desired.annotations.len(),
    );
    said.info("written", &text);
    if left.is_empty() {
        said.settled("left");
    } else {
        let text = format!("others hold these keys with other values: {}", left.join(", "));
        said.warn("left", &text);
    }
}

/// What GPU Feature Discovery says is not ours to write; that it disagrees is worth a line.
fn compare_with_others(node: &Metadata, facts: &Facts, said: &mut Said) {
    let key = "nvidia.com/gpu.count";
    let found = facts.machine.gpus.iter().filter(|gpu| gpu.is_nvidia()).count();
    match node.labels.get(key) {
        Some(count) if *count != found.to_string() => {
            let text = format!("label {key} says {count}, the machine has {found} NVIDIA GPUs");
            said.warn("gfd", &text);
        }
        Some(_) | None => said.settled("gfd"),
    }
}
