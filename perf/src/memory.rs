//! Memory held by the engine: what a fresh process grows by when nodes and pods are put in.

use std::process::Command;

use anyhow::{Context, Result, bail};
use k8s::ingest;
use model::{Event, Time};

use crate::cluster::mixed_pod;
use crate::{SHAPES, run};

/// Starts this program once more, so that nothing else it did counts.
pub(crate) fn measure(figures: &mut Vec<(String, f64)>) -> Result<()> {
    let (nodes, pods) = (5_000, 140_000);
    let output = Command::new(std::env::current_exe()?)
        .args(["memory", &nodes.to_string(), &pods.to_string()])
        .output()
        .context("cannot start the memory run")?;
    let text = String::from_utf8(output.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (Some(Ok(for_nodes)), Some(Ok(for_pods))) = (numbers.next(), numbers.next()) else {
        bail!("the memory run printed {text:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (per_node, per_pod) = (for_nodes / nodes as f64, for_pods / pods as f64);
    println!("\nMemory at {nodes} nodes and {pods} bound pods (growth of resident memory):\n");
    println!("{per_node:>10.0} bytes per node\n{per_pod:>10.0} bytes per pod");
    figures.push(("engine_bytes_per_node".into(), per_node));
    figures.push(("engine_bytes_per_pod".into(), per_pod));
    Ok(())
}

/// Fills a scheduler, lets it place and confirms every pod; prints what nodes and pods took.
pub(crate) fn fill(nodes: usize, pods: usize) -> Result<()> {
    let empty = resident()?;
    let mut scheduler = run::scheduler(nodes)?;
    let with_nodes = resident()?;
    let mut decisions = Vec::new();
    for at in 0..pods {
        let mut pod = mixed_pod(at, at % SHAPES);
        scheduler.apply(&ingest::pod(&pod)?, Time::default());
        scheduler.step(Time::default(), 1, &mut decisions);
        let Some(model::Decision::Bind { node, .. }) = decisions.pop() else {
            bail!("pod {at} found no node")
        };
        pod["spec"]["nodeName"] = scheduler.catalog().node_name(node).into();
        let confirmed: Event = ingest::pod(&pod)?;
        scheduler.apply(&confirmed, Time::default());
    }
    let with_pods = resident()?;
    println!("{} {}", with_nodes.saturating_sub(empty), with_pods.saturating_sub(with_nodes));
    Ok(())
}

/// Resident memory of this process in bytes.
fn resident() -> Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").context("needs Linux")?;
    let pages = statm.split_whitespace().nth(1).context("statm has a second number")?;
    Ok(pages.parse::<u64>()? * 4096)
}
