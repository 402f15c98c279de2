//! Gangs: how fast they are bound beside plain pods, and how long one takes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use tokio::time::{sleep, timeout};

use crate::contender::{Contender, Running};
use crate::figures::{median, quantile};
use crate::objects::Workload;
use crate::parts::{Bench, SCHEDULERS};
use crate::run::{Arrival, Plan, run};
use crate::stage::Stage;
use crate::watch::Bound;

/// Pods of a gang where many gangs wait.
const SIZE: usize = 3;
/// kube-scheduler is given so many times fewer gangs: it would not place all of them in time.
const FEWER: usize = 10;
/// Pods of gangs that are created one at a time.
const SIZES: [usize; 2] = [8, 50];
/// Gangs of the first of these sizes that are created at once.
const AT_ONCE: usize = 100;
const NODES: usize = 1_000;
/// Who binds gangs that arrive. One of them does not know that they are gangs, and shows what the
/// API server makes of them.
const ARRIVING: [Contender; 3] =
    [Contender::WatchingNullBinder, Contender::KubeScheduler, Contender::KubeNexus];
/// Gangs that are not counted: connections are made, code is read from disk.
const WARM_UP: usize = 5;
/// Before the last pod of a gang, so that what came before is no work any more.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one gang may take.
const BOUND_WITHIN: Duration = Duration::from_secs(60);

/// Lets schedulers bind gangs that wait already, and plain pods.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, gangs) = bench.sizes.gangs;
    let stage = Stage::start_with_gangs(&bench.programs, nodes).await?;
    println!("\nGangs: {gangs} native gangs of {SIZE} that wait, {nodes} nodes, and as many plain");
    println!("pods; for kube-scheduler a tenth of both. Medians of {}.\n", bench.sizes.repeats);
    println!("{:<26} {:>12} {:>12} {:>9}", "", "gangs pods/s", "plain pods/s", "us/pod");
    let mut rows = Vec::new();
    for contender in bench.present(&SCHEDULERS) {
        let pods = SIZE
            * match contender {
                Contender::KubeScheduler => gangs.div_ceil(FEWER),
                Contender::NullBinder | Contender::WatchingNullBinder | Contender::KubeNexus => {
                    gangs
                }
            };
        let (mut gang_rates, mut plain_rates, mut cpu) = (vec![], vec![], vec![]);
        for _ in 0..bench.sizes.repeats {
            let arrival = Arrival::Before;
            let plan = Plan { workload: Workload::Gangs(SIZE), pods, arrival };
            let measured = run(&stage, contender, plan).await?;
            gang_rates.push(measured.rate);
            cpu.push(measured.cpu_us);
            let plan = Plan { workload: Workload::Plain, pods, arrival };
            plain_rates.push(run(&stage, contender, plan).await?.rate);
        }
        let row = (median(gang_rates), median(plain_rates), median(cpu));
        println!("{:<26} {:>12.0} {:>12.0} {:>9.0}", contender.title(), row.0, row.1, row.2);
        let name = contender.name();
        bench.figures.put(format!("live_gangs_pods_per_second_{name}"), row.0);
        bench.figures.put(format!("live_gangs_rate_over_plain_{name}"), row.0 / row.1);
        bench.figures.put(format!("live_gangs_cpu_us_per_pod_{name}"), row.2);
        rows.push((contender, row));
    }
    let of = |whom| rows.iter().find(|(contender, _)| *contender == whom).map(|(_, row)| *row);
    if let (Some(ours), Some(theirs)) = (of(Contender::KubeNexus), of(Contender::KubeScheduler)) {
        bench.figures.put("live_gangs_rate_over_kube_scheduler", ours.0 / theirs.0);
        bench.figures.put("live_gangs_cpu_ratio", theirs.2 / ours.2);
    }
    Ok(())
}

/// Creates gangs one at a time, and many at once.
pub(crate) async fn measure_latency(bench: &mut Bench) -> Result<()> {
    let stage = Stage::start_with_gangs(&bench.programs, NODES).await?;
    println!(
        "\nOne gang: from the request that creates its last pod to its last binding as seen by"
    );
    println!(
        "a watch, in ms, {NODES} nodes. Then pods per second of {AT_ONCE} gangs of {} that are",
        SIZES[0]
    );
    println!("created while the scheduler runs, and of as many plain pods, medians of");
    println!("{}.\n", bench.sizes.repeats);
    println!("{:<26} {:>5} {:>8} {:>8} {:>8}", "", "size", "p50", "p99", "longest");
    for contender in bench.present(&SCHEDULERS) {
        for (size, count) in SIZES.into_iter().zip(bench.sizes.single_gangs) {
            let millis = one_by_one(&stage, contender, size, count).await?;
            let at = |share| quantile(millis.iter().copied(), share);
            let (p50, p99, longest) = (at(0.5), at(0.99), at(1.0));
            let title = contender.title();
            println!("{title:<26} {size:>5} {p50:>8.1} {p99:>8.1} {longest:>8.1}");
            let of = contender.suffix();
            bench.figures.put(format!("live_gang_of_{size}_p50_ms{of}"), p50);
            bench.figures.put(format!("live_gang_of_{size}_p99_ms{of}"), p99);
        }
    }
    for contender in bench.present(&ARRIVING) {
        at_once(bench, &stage, contender).await?;
    }
    Ok(())
}

/// Creates many gangs at once, and as many plain pods.
async fn at_once(bench: &mut Bench, stage: &Stage, contender: Contender) -> Result<()> {
    let pods = AT_ONCE * SIZES[0];
    let mut rates = [vec![], vec![]];
    for _ in 0..bench.sizes.repeats {
        let workloads = [Workload::Gangs(SIZES[0]), Workload::Plain];
        for (workload, rates) in workloads.into_iter().zip(&mut rates) {
            let plan = Plan { workload, pods, arrival: Arrival::Meanwhile };
            rates.push(run(stage, contender, plan).await?.rate);
        }
    }
    let [gangs, plain] = rates.map(median);
    let (title, of) = (contender.title(), contender.suffix());
    println!("{title:<26} {gangs:>8.0} pods/s in gangs, {plain:.0} plain");
    bench.figures.put(format!("live_gangs_at_once_pods_per_second{of}"), gangs);
    bench.figures.put(format!("live_gangs_at_once_over_plain{of}"), gangs / plain);
    Ok(())
}

async fn one_by_one(
    stage: &Stage,
    contender: Contender,
    size: usize,
    count: usize,
) -> Result<Vec<f64>> {
    let namespace = stage.namespace().await?;
    let mut bound = Bound::open(&stage.client, &namespace).await?;
    let mut running = Running::start(stage, contender, &namespace).await?;
    running.ready().await?;
    sleep(Duration::from_secs(1)).await;
    let mut millis = Vec::new();
    for at in 0..WARM_UP + count {
        let took = timeout(BOUND_WITHIN, one(stage, &namespace, &mut bound, size, at));
        let took = took.await.with_context(|| {
            let title = contender.title();
            format!("{title}: a gang of {size} is not bound after {BOUND_WITHIN:?}")
        })??;
        if at >= WARM_UP {
            millis.push(took.as_secs_f64() * 1e3);
        }
    }
    running.kill()?;
    stage.delete_pods(&namespace).await?;
    Ok(millis)
}

/// Creates a gang; tells how long it took from the last pod on.
async fn one(
    stage: &Stage,
    namespace: &str,
    bound: &mut Bound,
    size: usize,
    at: usize,
) -> Result<Duration> {
    let workload = Workload::Gangs(size);
    stage.create_group(namespace, workload, at).await?;
    let last = (at + 1) * size - 1;
    for pod in at * size..last {
        stage.create_pod(namespace, workload, pod).await?;
    }
    sleep(PAUSE).await;
    let began = Instant::now();
    let (create, all) = (stage.create_pod(namespace, workload, last), bound_all(bound, size));
    let ((), ended) = tokio::try_join!(create, all)?;
    Ok(ended - began)
}

async fn bound_all(bound: &mut Bound, count: usize) -> Result<Instant> {
    let mut last = bound.next().await?.at;
    for _ in 1..count {
        last = bound.next().await?.at;
    }
    Ok(last)
}
