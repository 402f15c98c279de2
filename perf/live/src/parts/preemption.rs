//! Pods that take the place of others: how long that takes, at what cost, and how many others go.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tokio::time::sleep;

use crate::contender::{Contender, Running};
use crate::figures::{Figures, median};
use crate::objects::Workload;
use crate::parts::{Bench, SCHEDULERS};
use crate::run::follow;
use crate::stage::Stage;
use crate::watch::Bound;

/// Pods that fill a node.
const PER_NODE: usize = 4;
/// After the start, before pods are created; and after the last binding, before CPU is read.
const SETTLE: Duration = Duration::from_secs(3);

/// Fills all nodes, and lets each scheduler make room. One that does not is not asked again, and
/// the others are told of.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, pods) = bench.sizes.preemption;
    let stage = Stage::start(&bench.programs, nodes).await?;
    stage.create_high_priority().await?;
    let mut contenders = bench.present(&SCHEDULERS);
    let mut rows: Vec<Row> = contenders.iter().map(|contender| (*contender, vec![])).collect();
    for _ in 0..bench.sizes.repeats {
        for (contender, measured) in &mut rows {
            if !contenders.contains(contender) {
                continue;
            }
            match run(&stage, *contender, nodes, pods).await {
                Ok(one) => measured.push(one),
                Err(error) => {
                    eprintln!("bench-live: {}: {error:#}", contender.title());
                    contenders.retain(|other| other != contender);
                }
            }
        }
    }
    table(nodes, pods, &rows);
    figures(&mut bench.figures, &rows);
    if let Some((failed, _)) = rows.iter().find(|(contender, _)| !contenders.contains(contender)) {
        bail!("{} did not place all pods", failed.title());
    }
    Ok(())
}

/// What was measured of a contender, once per repeat.
type Row = (Contender, Vec<Measured>);

#[derive(Clone, Copy, Debug)]
struct Measured {
    /// From the request that creates the first pod to the last binding.
    seconds: f64,
    /// CPU time per pod that was placed, in microseconds.
    cpu_us: f64,
    /// Pods that had to go.
    victims: f64,
}

type Column = fn(&Measured) -> f64;

/// What is printed, with the names of figures.
const COLUMNS: [(&str, Column); 3] =
    [("seconds", |m| m.seconds), ("cpu_us_per_pod", |m| m.cpu_us), ("victims", |m| m.victims)];

async fn run(stage: &Stage, contender: Contender, nodes: usize, pods: usize) -> Result<Measured> {
    let [low, high] = [stage.namespace().await?, stage.namespace().await?];
    let measured = replace(stage, contender, [&low, &high], nodes, pods).await;
    for namespace in [&high, &low] {
        stage.delete_pods(namespace).await?;
    }
    let Measured { seconds, cpu_us, victims } = measured?;
    let name = contender.title();
    eprintln!("  {name:>26} {seconds:>6.1} s {cpu_us:>6.0} us CPU/pod, {victims} victims");
    Ok(Measured { seconds, cpu_us, victims })
}

async fn replace(
    stage: &Stage,
    contender: Contender,
    [low, high]: [&str; 2],
    nodes: usize,
    pods: usize,
) -> Result<Measured> {
    let lows = PER_NODE * nodes;
    stage.create_pods(low, Workload::Low, lows).await?;
    let bound = Bound::open(&stage.client, low).await?;
    let mut binder = Running::start(stage, Contender::NullBinder, low).await?;
    follow(bound, &mut binder, lows).await?;
    binder.kill()?;

    let bound = Bound::open(&stage.client, high).await?;
    let mut running = Running::start(stage, contender, high).await?;
    running.ready().await?;
    sleep(SETTLE).await;
    let (cpu_before, began) = (running.cpu()?, Instant::now());
    let create = stage.create_pods(high, Workload::High, pods);
    let ((), pace) = tokio::try_join!(create, follow(bound, &mut running, pods))?;
    sleep(SETTLE).await;
    let cpu = running.cpu()?.saturating_sub(cpu_before);
    running.kill()?;
    Ok(Measured {
        seconds: (pace.last - began).as_secs_f64(),
        cpu_us: cpu.as_secs_f64() * 1e6 / pods as f64,
        victims: (lows - stage.pods(low).await?) as f64,
    })
}

fn middle(measured: &[Measured], what: Column) -> f64 {
    median(measured.iter().map(what))
}

fn table(nodes: usize, pods: usize, rows: &[Row]) {
    println!(
        "\nPreemption: {nodes} nodes with {PER_NODE} pods each, and {pods} pods of which each"
    );
    println!("needs the room of three. From the first request to the last binding; median.\n");
    println!("{:<26} {:>7} {:>8} {:>8}", "", "s", "us/pod", "victims");
    for (contender, measured) in rows.iter().filter(|(_, measured)| !measured.is_empty()) {
        let [seconds, cpu, victims] = COLUMNS.map(|(_, column)| middle(measured, column));
        println!("{:<26} {seconds:>7.1} {cpu:>8.0} {victims:>8.0}", contender.title());
    }
}

fn figures(figures: &mut Figures, rows: &[Row]) {
    let of = |contender: Contender| {
        let found = rows.iter().find(|(other, _)| *other == contender);
        found.map(|(_, measured)| &measured[..]).filter(|measured| !measured.is_empty())
    };
    for (name, what) in COLUMNS {
        for contender in SCHEDULERS {
            if let Some(measured) = of(contender) {
                let name = format!("live_preemption_{name}_{}", contender.name());
                figures.put(name, middle(measured, what));
            }
        }
        if let (Some(ours), Some(theirs)) = (of(Contender::KubeNexus), of(Contender::KubeScheduler))
        {
            let share = middle(ours, what) / middle(theirs, what);
            figures.put(format!("live_preemption_{name}_of_kube_scheduler"), share);
        }
    }
}
