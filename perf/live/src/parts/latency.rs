//! How long one pod takes on a cluster where nothing else happens.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use tokio::time::{sleep, timeout};

use crate::contender::{Contender, Running};
use crate::figures::quantile;
use crate::histogram::Histogram;
use crate::objects::Workload;
use crate::parts::Bench;
use crate::stage::Stage;
use crate::watch::Bound;

const NODES: usize = 1_000;
/// Pods that are not counted: connections are made, code is read from disk.
const WARM_UP: usize = 30;
/// Between a pod and the next.
const PAUSE: Duration = Duration::from_millis(20);
/// How long one pod may take.
const BOUND_WITHIN: Duration = Duration::from_secs(20);
/// From the watch event to the bind request.
const DECISION: &str = "kubenexus_decision_latency_seconds";

/// Creates pods one at a time for each contender that watches.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let stage = Stage::start(&bench.programs, NODES).await?;
    let pods = bench.sizes.single_pods;
    let mut rows = Vec::new();
    for contender in bench.present(&Contender::ALL[1..]) {
        eprintln!("  {}", contender.title());
        let latency = one(&stage, contender, Workload::Plain, pods).await?;
        rows.push((contender, latency));
    }
    println!(
        "\nLatency: {pods} pods one at a time, {NODES} nodes. From the request that creates a"
    );
    println!("pod to its binding as seen by a watch, in ms.\n");
    println!("{:<26} {:>8} {:>8} {:>8}", "", "p50", "p99", "longest");
    for (contender, Latency { millis, .. }) in &rows {
        let at = |share| quantile(millis.iter().copied(), share);
        println!("{:<26} {:>8.2} {:>8.2} {:>8.2}", contender.title(), at(0.5), at(0.99), at(1.0));
        let of = contender.suffix();
        bench.figures.put(format!("live_create_to_bound_p50_ms{of}"), at(0.5));
        bench.figures.put(format!("live_create_to_bound_p99_ms{of}"), at(0.99));
    }
    println!();
    for decision in rows.iter().filter_map(|(_, latency)| latency.decision.as_ref()) {
        for (share, name) in [(0.5, "p50"), (0.99, "p99")] {
            let (above, to) = decision.quantile(share).context("no decision was counted")?;
            let (above, to) = (above * 1e3, to * 1e3);
            println!("From the watch event to the bind request, {name}: {above:.1} to {to:.1} ms.");
            bench.figures.put(format!("live_decision_{name}_ms"), to);
        }
    }
    Ok(())
}

/// What it took to bind pods one at a time.
pub(super) struct Latency {
    /// From creation to binding, for each pod.
    pub(super) millis: Vec<f64>,
    /// CPU time per pod in microseconds.
    pub(super) cpu_us: f64,
    /// Peak of resident memory.
    pub(super) peak_mib: f64,
    /// Pods that say with which NUMA nodes they were bound.
    pub(super) aligned: usize,
    /// What ours says about itself.
    decision: Option<Histogram>,
}

/// Lets a contender bind pods that are created one at a time.
pub(super) async fn one(
    stage: &Stage,
    contender: Contender,
    workload: Workload,
    pods: usize,
) -> Result<Latency> {
    let namespace = stage.namespace().await?;
    let mut bound = Bound::open(&stage.client, &namespace).await?;
    let mut running = Running::start(stage, contender, &namespace).await?;
    running.ready().await?;
    stage.create_services(&namespace, workload).await?;
    sleep(Duration::from_secs(1)).await;
    let mut at = 0;
    while at < WARM_UP {
        at += create_and_wait(stage, &namespace, &mut bound, (workload, at)).await?.len();
    }
    let cpu_before = running.cpu()?;
    let before = decisions(&running, contender).await?;
    let mut millis = Vec::new();
    while millis.len() < pods {
        let place = (workload, at + millis.len());
        let took = create_and_wait(stage, &namespace, &mut bound, place).await?;
        millis.extend(took.iter().map(|took| took.as_secs_f64() * 1e3));
    }
    let pods = millis.len();
    let after = decisions(&running, contender).await?;
    let decision = after.zip(before).map(|(after, before)| after.since(&before));
    let cpu = running.cpu()? - cpu_before;
    let latency = Latency {
        millis,
        cpu_us: cpu.as_secs_f64() * 1e6 / pods as f64,
        peak_mib: running.peak_mib()?,
        aligned: stage.aligned_pods(&namespace).await?,
        decision,
    };
    running.kill()?;
    stage.delete_pods(&namespace).await?;
    Ok(latency)
}

async fn decisions(running: &Running, contender: Contender) -> Result<Option<Histogram>> {
    match contender {
        Contender::KubeNexus => Histogram::find(&running.metrics().await?, DECISION).map(Some),
        Contender::NullBinder | Contender::WatchingNullBinder | Contender::KubeScheduler => {
            Ok(None)
        }
    }
}

/// Creates a pod, or those of a gang at once, and waits; how long each took from the first request.
async fn create_and_wait(
    stage: &Stage,
    namespace: &str,
    bound: &mut Bound,
    (workload, at): (Workload, usize),
) -> Result<Vec<Duration>> {
    sleep(PAUSE).await;
    let unit = at..at + workload.unit(at);
    let began = Instant::now();
    let created = unit.clone().map(|at| stage.create_pod(namespace, workload, at));
    let bound = async {
        let mut took = Vec::new();
        for _ in unit.clone() {
            let pod = bound.next().await?;
            let is_it = |at: usize| pod.name == format!("pod-{at}");
            anyhow::ensure!(unit.clone().any(is_it), "expected pod-{at}, found {}", pod.name);
            took.push(pod.at - began);
        }
        Ok(took)
    };
    let both = async { tokio::try_join!(try_join_all(created), bound) };
    let (_, took) = timeout(BOUND_WITHIN, both)
        .await
        .with_context(|| format!("pod-{at} is not bound after {BOUND_WITHIN:?}"))??;
    Ok(took)
}
