//! How fast pods are bound, and at what cost.

use anyhow::Result;

use crate::contender::Contender;
use crate::figures::{Figures, median};
use crate::objects::Workload;
use crate::parts::Bench;
use crate::run::{Arrival, Measured, Plan, run};
use crate::stage::Stage;

/// Runs all contenders on pods that wait already.
pub(crate) async fn measure(bench: &mut Bench, workloads: &[Workload]) -> Result<()> {
    for nodes in bench.sizes.nodes.clone() {
        let stage = Stage::start(&bench.programs, nodes).await?;
        for workload in workloads {
            waiting(bench, &stage, &Contender::ALL, *workload, nodes).await?;
        }
    }
    Ok(())
}

/// Runs all but the second null binder on pods with a rule about each other. Null binders do not
/// know the rule.
pub(crate) async fn measure_rule(bench: &mut Bench, workload: Workload) -> Result<()> {
    let nodes = bench.sizes.nodes[0];
    let stage = Stage::start(&bench.programs, nodes).await?;
    let contenders = [Contender::NullBinder, Contender::KubeScheduler, Contender::KubeNexus];
    waiting(bench, &stage, &contenders, workload, nodes).await
}

pub(super) async fn waiting(
    bench: &mut Bench,
    stage: &Stage,
    contenders: &[Contender],
    workload: Workload,
    nodes: usize,
) -> Result<()> {
    let plan = Plan { workload, pods: bench.sizes.pods, arrival: Arrival::Before };
    let rows = repeat(stage, &bench.present(contenders), plan, bench.sizes.repeats).await?;
    table(&format!("{} pods that wait, {nodes} nodes", workload.name()), plan.pods, &rows);
    figures(&mut bench.figures, &format!("{}_{nodes}", workload.name()), &rows);
    Ok(())
}

/// Runs those that watch on pods that are created meanwhile.
pub(crate) async fn measure_arrival(bench: &mut Bench) -> Result<()> {
    let nodes = bench.sizes.nodes[0];
    let stage = Stage::start(&bench.programs, nodes).await?;
    let pods = bench.sizes.pods;
    let plan = Plan { workload: Workload::Plain, pods, arrival: Arrival::Meanwhile };
    let contenders = bench.present(&Contender::ALL[1..]);
    let rows = repeat(&stage, &contenders, plan, 1).await?;
    table(&format!("plain pods that arrive meanwhile, {nodes} nodes"), pods, &rows);
    figures(&mut bench.figures, &format!("arriving_{nodes}"), &rows);
    Ok(())
}

/// What was measured of a contender, once per repeat.
type Row = (Contender, Vec<Measured>);

/// Runs contenders forwards and backwards in turns, so that what changes with time hits all.
async fn repeat(
    stage: &Stage,
    contenders: &[Contender],
    plan: Plan,
    repeats: usize,
) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = contenders.iter().map(|contender| (*contender, vec![])).collect();
    for repeat in 0..repeats {
        let workload = plan.workload.name();
        eprintln!("  {workload} pods, repeat {} of {repeats}", repeat + 1);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        if repeat % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let (contender, measured) = &mut rows[at];
            measured.push(run(stage, *contender, plan).await?);
        }
    }
    Ok(rows)
}

fn middle(rows: &[Row], of: Contender, what: impl Fn(&Measured) -> f64) -> Option<f64> {
    let (_, measured) = rows.iter().find(|(contender, _)| *contender == of)?;
    Some(median(measured.iter().map(what)))
}

fn table(what: &str, pods: usize, rows: &[Row]) {
    let repeats = rows.first().map_or(0, |(_, measured)| measured.len());
    println!("\nThroughput: {pods} {what}; median of {repeats}.");
    println!("CPU is that of the contender, from before its first write to after its last, and");
    println!(
        "from its start. Then: seconds from the last binding to the last event, and cores that"
    );
    println!("were busy with something else.\n");
    println!(
        "{:<26} {:>6} {:>11} {:>7} {:>6} {:>6} {:>7} {:>6} {:>6} {:>5} {:>6}",
        "",
        "pods/s",
        "lowest-top",
        "of null",
        "of 2nd",
        "us/pod",
        "us/life",
        "MiB",
        "events",
        "s",
        "others"
    );
    for (contender, measured) in rows {
        let middle_of = |what: fn(&Measured) -> f64| median(measured.iter().map(what));
        let rate = middle_of(|m| m.rate);
        let share = |of| {
            let whole = middle(rows, of, |m| m.rate);
            whole.map_or_else(String::new, |whole| format!("{:.2}", rate / whole))
        };
        let lowest = measured.iter().map(|m| m.rate).fold(f64::INFINITY, f64::min);
        let highest = measured.iter().map(|m| m.rate).fold(0.0, f64::max);
        println!(
            "{:<26} {rate:>6.0} {:>11} {:>7} {:>6} {:>6.0} {:>7.0} {:>6.1} {:>6.0} {:>5.1} {:>6.2}",
            contender.title(),
            format!("{lowest:.0}-{highest:.0}"),
            share(Contender::NullBinder),
            share(Contender::WatchingNullBinder),
            middle_of(|m| m.cpu_us),
            middle_of(|m| m.cpu_life_us),
            middle_of(|m| m.peak_mib),
            middle_of(|m| m.events as f64),
            middle_of(|m| m.events_seconds),
            middle_of(|m| m.others_cores),
        );
    }
}

fn figures(figures: &mut Figures, of: &str, rows: &[Row]) {
    for (contender, measured) in rows {
        let middle_of = |what: fn(&Measured) -> f64| median(measured.iter().map(what));
        let mut put = |what: &str, value| {
            figures.put(format!("live_{what}_{}_{of}", contender.name()), value);
        };
        put("pods_per_second", middle_of(|m| m.rate));
        put("cpu_us_per_pod", middle_of(|m| m.cpu_us));
        put("cpu_life_us_per_pod", middle_of(|m| m.cpu_life_us));
        put("peak_mib", middle_of(|m| m.peak_mib));
        if contender.has_events() {
            put("events", middle_of(|m| m.events as f64));
            put("last_event_s", middle_of(|m| m.events_seconds));
        }
    }
    let ours = |what: fn(&Measured) -> f64| middle(rows, Contender::KubeNexus, what);
    for (of_whom, name) in [
        (Contender::NullBinder, "share_of_null_binder"),
        (Contender::WatchingNullBinder, "share_of_watching_null_binder"),
        (Contender::KubeScheduler, "rate_over_kube_scheduler"),
    ] {
        if let (Some(ours), Some(whole)) = (ours(|m| m.rate), middle(rows, of_whom, |m| m.rate)) {
            figures.put(format!("live_{name}_{of}"), ours / whole);
        }
    }
    let mut ratio = |name: &str, what: fn(&Measured) -> f64| {
        let theirs = middle(rows, Contender::KubeScheduler, what);
        if let (Some(ours), Some(theirs)) = (ours(what), theirs) {
            figures.put(format!("live_{name}_{of}"), theirs / ours);
        }
    };
    ratio("cpu_ratio", |m| m.cpu_us);
    ratio("cpu_life_ratio", |m| m.cpu_life_us);
}
