//! How long a pod takes that NUMA nodes and GPUs matter to, beside one that nobody thinks about.

use anyhow::{Result, ensure};

use crate::contender::Contender;
use crate::figures::{median, quantile};
use crate::objects::Workload;
use crate::parts::Bench;
use crate::parts::latency::{Latency, one};
use crate::stage::Stage;

pub(super) const NODES: usize = 1_000;
/// Who is compared, the first being what the other is divided by.
const CONTENDERS: [Contender; 2] = [Contender::WatchingNullBinder, Contender::KubeNexus];
/// Shares of pods, their names, what ours may take of the null binder's time, and milliseconds
/// that it should stay below by itself.
const GOALS: [(f64, &str, f64, f64); 2] = [(0.5, "p50", 1.2, 8.0), (0.99, "p99", 1.5, 25.0)];

/// What was measured of a contender, once per repeat.
pub(super) type Row = (Contender, Vec<Latency>);

/// Creates pods one at a time, for a null binder and for us, in turns.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let stage = Stage::start_with_zones(&bench.programs, NODES).await?;
    let rows = in_turns(bench, &stage, Workload::Numa).await?;
    let pods = bench.sizes.single_pods;
    let ours = rows.iter().filter(|(contender, _)| *contender == Contender::KubeNexus);
    for aligned in ours.flat_map(|(_, latencies)| latencies).map(|latency| latency.aligned) {
        ensure!(aligned >= pods, "{aligned} of {pods} pods know their NUMA nodes");
    }
    println!(
        "\nNUMA: {pods} pods one at a time, {NODES} nodes with two NUMA nodes and eight GPUs."
    );
    show(bench, &rows, Workload::Numa);
    Ok(())
}

/// Lets contenders bind pods that are created one at a time, in turns.
pub(super) async fn in_turns(bench: &Bench, stage: &Stage, workload: Workload) -> Result<Vec<Row>> {
    let (pods, repeats) = (bench.sizes.single_pods, bench.sizes.repeats);
    let rows = bench.present(&CONTENDERS).into_iter().map(|contender| (contender, vec![]));
    let mut rows: Vec<Row> = rows.collect();
    for repeat in 0..repeats {
        // Forwards and backwards, so that what changes with time hits both.
        let mut order: Vec<_> = rows.iter_mut().collect();
        if repeat % 2 == 1 {
            order.reverse();
        }
        for (contender, latencies) in order {
            eprintln!("  {}, repeat {} of {repeats}", contender.title(), repeat + 1);
            latencies.push(one(stage, *contender, workload, pods).await?);
        }
    }
    Ok(rows)
}

/// Prints what was measured, and how ours compares with the null binder's.
pub(super) fn show(bench: &mut Bench, rows: &[Row], workload: Workload) {
    let kind = workload.name();
    println!("From the request that creates a pod to its binding as seen by a watch, in ms; the");
    println!("longest of all repeats, the others medians of them.\n");
    println!(
        "{:<26} {:>8} {:>8} {:>8} {:>11} {:>7}",
        "", "p50", "p99", "longest", "us CPU/pod", "MiB"
    );
    for (contender, latencies) in rows {
        let cpu = median(latencies.iter().map(|latency| latency.cpu_us));
        let mib = median(latencies.iter().map(|latency| latency.peak_mib));
        let longest = latencies.iter().flat_map(|latency| latency.millis.iter().copied());
        let (longest, title) = (quantile(longest, 1.0), contender.title());
        let [p50, p99] = GOALS.map(|(share, ..)| at(latencies, share));
        println!("{title:<26} {p50:>8.2} {p99:>8.2} {longest:>8.2} {cpu:>11.0} {mib:>7.1}");
        let of = contender.suffix();
        for ((_, name, ..), millis) in GOALS.iter().zip([p50, p99]) {
            bench.figures.put(format!("live_{kind}_create_to_bound_{name}_ms{of}"), millis);
        }
        bench.figures.put(format!("live_{kind}_cpu_us_per_pod{of}"), cpu);
        bench.figures.put(format!("live_{kind}_peak_mib{of}"), mib);
    }
    println!();
    let [(_, null), (_, ours)] = rows else { return };
    for (share, name, times, millis) in GOALS {
        let found = at(ours, share);
        let ratio = found / at(null, share);
        println!(
            "{name}: {ratio:.2} times that of the null binder, {times} is wanted; {found:.1} ms, \
             {millis} by itself."
        );
        bench.figures.put(format!("live_{kind}_{name}_over_null_binder"), ratio);
    }
}

/// The milliseconds that a share of the pods do not exceed.
fn at(latencies: &[Latency], share: f64) -> f64 {
    median(latencies.iter().map(|latency| quantile(latency.millis.iter().copied(), share)))
}
