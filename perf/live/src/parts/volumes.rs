//! Pods with claims that wait for them: how long it takes until all are bound, and at what cost.
//!
//! ```text
//!  scheduler            selects a node for the claim
//!  controller           asks the provisioner
//!  provisioner          makes a volume
//!  controller           binds volume and claim
//!  scheduler            binds the pod
//! ```
//!
//! The controller takes claims one after the other and is the same for everyone. How long it takes
//! for claims whose nodes are selected from the start is measured first: nobody can be faster.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::time::{sleep, timeout};

use crate::contender::{Contender, Running};
use crate::figures::{Figures, median};
use crate::objects::{self, Workload};
use crate::parts::{Bench, SCHEDULERS};
use crate::provisioner::Provisioner;
use crate::run::follow;
use crate::stage::{Stage, claims_path};
use crate::usage::Neighbours;
use crate::watch::{self, Bound, Watch};

/// After the start, before pods are created.
const SETTLE: Duration = Duration::from_secs(3);
/// How long claims without pods may take to get their volumes.
const VOLUMES_WITHIN: Duration = Duration::from_secs(300);
/// Events that were not written for this long were dropped.
const EVENTS_PAUSE_MAX: Duration = Duration::from_secs(4);

/// Lets schedulers bind pods with claims, forwards and backwards in turns.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, pods) = bench.sizes.volumes;
    let stage = Stage::start_with_volumes(&bench.programs, nodes).await?;
    let floor = without_scheduler(&stage, pods).await?;
    let mut rows: Vec<Row> =
        bench.present(&SCHEDULERS).iter().map(|contender| (*contender, vec![])).collect();
    for repeat in 0..bench.sizes.repeats {
        eprintln!("  pods with claims, repeat {} of {}", repeat + 1, bench.sizes.repeats);
        for (contender, measured) in &mut rows {
            measured.push(run(&stage, *contender, pods).await?);
        }
        rows.reverse();
    }
    rows.sort_by_key(|(contender, _)| *contender);
    println!(
        "\nVolumes: {pods} pods that arrive at {nodes} nodes, each with a claim that waits for"
    );
    println!("it. From the first request to the last binding; CPU of the scheduler from there to");
    println!(
        "its last event. Between: when the last claim had its node, and its volume. Medians of"
    );
    println!("{}. Claims whose nodes are selected from the start", bench.sizes.repeats);
    println!("have their volumes after {floor:.1} s, without a scheduler.\n");
    table(&rows);
    bench.figures.put("live_volumes_seconds_without_scheduler", floor);
    figures(&mut bench.figures, &rows);
    Ok(())
}

/// What was measured of a contender, once per repeat.
type Row = (Contender, Vec<Measured>);

#[derive(Clone, Copy, Debug)]
struct Measured {
    /// From the request that creates the first pod to the last binding.
    seconds: f64,
    /// The same to when the last claim had its node.
    selected: f64,
    /// The same to when the last claim had its volume.
    volumes: f64,
    /// CPU time per pod in microseconds, to the last event.
    cpu_us: f64,
    /// Peak of resident memory.
    peak_mib: f64,
    /// Events about pods that were bound.
    events: f64,
    /// Cores that were busy with something else.
    others_cores: f64,
}

type Column = fn(&Measured) -> f64;

/// What is printed, with the names of figures.
const COLUMNS: [(&str, Column); 5] = [
    ("seconds", |m| m.seconds),
    ("seconds_to_nodes", |m| m.selected),
    ("seconds_to_volumes", |m| m.volumes),
    ("cpu_us_per_pod", |m| m.cpu_us),
    ("peak_mib", |m| m.peak_mib),
];

/// Lets claims get their volumes for which nobody has to select a node. What is not seen for the
/// first time any more counts for no contender afterwards.
async fn without_scheduler(stage: &Stage, claims: usize) -> Result<f64> {
    let namespace = stage.namespace().await?;
    let provisioner = Provisioner::open(&stage.client, &namespace).await?;
    let node = stage.node().await?;
    let began = Instant::now();
    let objects = (0..claims).map(|at| objects::claim(at, Some(&node)));
    let path = claims_path(&namespace);
    let both =
        async { tokio::try_join!(stage.plane.create(&path, objects), provisioner.serve(claims)) };
    timeout(VOLUMES_WITHIN, both)
        .await
        .with_context(|| format!("claims have no volumes after {VOLUMES_WITHIN:?}"))??;
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("  {claims} claims without a scheduler: {seconds:.1} s");
    stage.delete_pods(&namespace).await?;
    Ok(seconds)
}

async fn run(stage: &Stage, contender: Contender, pods: usize) -> Result<Measured> {
    let namespace = stage.namespace().await?;
    let neighbours = Neighbours::watch(&stage.pids())?;
    let measured = bind(stage, contender, &namespace, pods).await;
    stage.delete_pods(&namespace).await?;
    let others_cores = neighbours.cores(&stage.pids())?;
    let measured = Measured { others_cores, ..measured? };
    let Measured { seconds, selected, volumes, cpu_us, peak_mib, events, .. } = measured;
    eprintln!(
        "  {:>26} {seconds:>6.1} s (nodes {selected:.1}, volumes {volumes:.1}) \
         {cpu_us:>6.0} us CPU/pod {peak_mib:>6.1} MiB, {events} events, \
         neighbours {others_cores:.2} cores",
        contender.title(),
    );
    Ok(measured)
}

async fn bind(
    stage: &Stage,
    contender: Contender,
    namespace: &str,
    pods: usize,
) -> Result<Measured> {
    let provisioner = Provisioner::open(&stage.client, namespace).await?;
    let claims = (0..pods).map(|at| objects::claim(at, None));
    stage.plane.create(&claims_path(namespace), claims).await?;
    stage.wait_for_controllers().await?;
    let bound = Bound::open(&stage.client, namespace).await?;
    let events = events_path(namespace);
    let version = watch::version(&stage.client, &events).await?;
    let mut running = Running::start(stage, contender, namespace).await?;
    running.ready().await?;
    sleep(SETTLE).await;

    let (cpu_before, began) = (running.cpu()?, Instant::now());
    let create = stage.create_pods(namespace, Workload::Volumes, pods);
    let follow = follow(bound, &mut running, pods);
    let ((), served, pace) = tokio::try_join!(create, provisioner.serve(pods), follow)?;
    // What was written meanwhile is read only now, so that reading it disturbs nobody.
    let events = count(Watch::open(&stage.client, events, version).await?, pods).await?;
    let cpu = running.cpu()?.saturating_sub(cpu_before);
    let peak_mib = running.peak_mib()?;
    running.kill()?;
    Ok(Measured {
        seconds: (pace.last - began).as_secs_f64(),
        selected: (served.selected - began).as_secs_f64(),
        volumes: (served.bound - began).as_secs_f64(),
        cpu_us: cpu.as_secs_f64() * 1e6 / pods as f64,
        peak_mib,
        events: events as f64,
        others_cores: 0.0,
    })
}

/// Events about pods that were bound: the controller writes others about claims.
fn events_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/events?fieldSelector=reason%3DScheduled&")
}

/// Waits for so many objects. Gives their number, which is less if no more come.
async fn count(mut watch: Watch, wanted: usize) -> Result<usize> {
    let mut count = 0;
    while count < wanted
        && let Ok(added) = timeout(EVENTS_PAUSE_MAX, watch.added()).await
    {
        added?;
        count += 1;
    }
    Ok(count)
}

fn middle(measured: &[Measured], what: Column) -> f64 {
    median(measured.iter().map(what))
}

fn table(rows: &[Row]) {
    println!(
        "{:<26} {:>6} {:>12} {:>6} {:>7} {:>7} {:>6} {:>6} {:>6}",
        "", "s", "shortest-top", "nodes", "volumes", "us/pod", "MiB", "events", "others"
    );
    for (contender, measured) in rows {
        let [seconds, selected, volumes, cpu, peak_mib] =
            COLUMNS.map(|(_, column)| middle(measured, column));
        let shortest = measured.iter().map(|m| m.seconds).fold(f64::INFINITY, f64::min);
        let longest = measured.iter().map(|m| m.seconds).fold(0.0, f64::max);
        println!(
            "{:<26} {seconds:>6.1} {:>12} {selected:>6.1} {volumes:>7.1} {cpu:>7.0} \
             {peak_mib:>6.1} {:>6.0} {:>6.2}",
            contender.title(),
            format!("{shortest:.1}-{longest:.1}"),
            middle(measured, |m| m.events),
            middle(measured, |m| m.others_cores),
        );
    }
}

fn figures(figures: &mut Figures, rows: &[Row]) {
    let of = |contender: Contender| {
        let found = rows.iter().find(|(other, _)| *other == contender);
        found.map(|(_, measured)| &measured[..])
    };
    for (name, what) in COLUMNS {
        for (contender, measured) in rows {
            let name = format!("live_volumes_{name}_{}", contender.name());
            figures.put(name, middle(measured, what));
        }
        if let (Some(ours), Some(theirs)) = (of(Contender::KubeNexus), of(Contender::KubeScheduler))
        {
            let share = middle(ours, what) / middle(theirs, what);
            figures.put(format!("live_volumes_{name}_of_kube_scheduler"), share);
            println!("{name}: {share:.2} of kube-scheduler's");
        }
    }
}
