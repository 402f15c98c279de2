//! Benchmarks: runs the workloads of `perf/workloads`. Prints tables, then every figure on a line
//! of its own, `figure NAME=VALUE`, then what came of the thresholds.

mod cluster;
mod measure;
mod memory;
mod metric;
mod peer;
mod run;
mod stopwatch;
mod threshold;
mod workload;
mod world;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use serde_saphyr::Spanned;

use measure::{Options, Outcome};
use peer::Peer;
use threshold::{Judgement, Verdict};
use workload::{Figure, Workload};

/// Measures the engine, and kube-scheduler's own algorithm beside it.
///
/// Ends with 1 if a threshold was missed, and with 2 if something could not be run.
#[derive(Parser)]
struct Cli {
    /// The folder with the workloads
    #[arg(long, default_value = "perf/workloads")]
    workloads: PathBuf,
    /// Runs these workloads only
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs sizes with this many nodes only
    #[arg(long)]
    nodes: Option<usize>,
    /// Lists the workloads with their sizes, and runs nothing
    #[arg(long)]
    list: bool,
    /// Runs each workload once at its quick size; nothing is held against thresholds
    #[arg(long)]
    quick: bool,
    /// The oracle built from tests/parity/oracle; without it nothing is compared
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// Seconds that each run of the peer may take
    #[arg(long, default_value_t = 10)]
    peer_seconds: u32,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    /// Runs a workload once and prints bytes per node and pod, and all memory in MiB (started by
    /// the benchmark itself)
    Memory {
        /// The workload
        file: PathBuf,
        /// Numbers by name, as JSON
        size: String,
    },
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Tells whether no threshold was missed.
fn run(cli: &Cli) -> Result<bool> {
    if let Some(Part::Memory { file, size }) = &cli.part {
        let workload = Workload::read_file(file)?;
        let size = serde_json::from_str(size).context("the size is not a map of numbers")?;
        memory::print(&workload, &size)?;
        return Ok(true);
    }
    let workloads = chosen(Workload::read_folder(&cli.workloads)?, &cli.only)?;
    if cli.list {
        workloads.iter().for_each(list);
        return Ok(true);
    }
    let oracle = cli.oracle.clone();
    let options = Options {
        is_quick: cli.quick,
        nodes: cli.nodes,
        peer: oracle.map(|oracle| Peer { oracle, seconds: cli.peer_seconds }),
    };
    println!("The engine on one core, with the default profile where a workload names no other;");
    println!("every node is scored, and every decision written out. Medians of several runs; time");
    println!("on a core, not by the clock.");
    if options.peer.is_none() {
        println!("No oracle was given (--oracle PATH): nothing is compared with kube-scheduler.");
    }
    let mut figures = Vec::new();
    let mut judgements = Vec::new();
    for workload in &workloads {
        let outcomes = measure_and_show(workload, &options)?;
        figures.extend(outcomes.iter().flat_map(|outcome| named(workload, outcome)));
        if !cli.quick {
            judgements.extend(threshold::judge(workload, &outcomes));
        }
    }
    println!();
    for (name, value) in figures {
        println!("figure {name}={value:.3}");
    }
    Ok(report(&judgements))
}

/// The workloads with the given names, or all.
fn chosen(mut workloads: Vec<Workload>, only: &[String]) -> Result<Vec<Workload>> {
    let known: BTreeSet<String> = workloads.iter().map(|w| w.name.value.clone()).collect();
    if let Some(name) = only.iter().find(|name| !known.contains(*name)) {
        let known: Vec<_> = known.into_iter().collect();
        bail!("--only {name}: there is no such workload; there are {}", known.join(", "));
    }
    workloads.retain(|workload| only.is_empty() || only.contains(&workload.name.value));
    Ok(workloads)
}

fn list(workload: &Workload) {
    let nodes: Vec<_> = workload.sizes.iter().map(|s| s.value["nodes"].to_string()).collect();
    println!("{:14} {:>18} nodes  {}", workload.name.value, nodes.join(", "), workload.description);
}

/// Measures a workload, and prints a table with a row per size.
fn measure_and_show(workload: &Workload, options: &Options) -> Result<Vec<Outcome>> {
    println!("\n{}: {}\n", workload.name.value, workload.description.trim());
    let mut is_first = true;
    measure::measure(workload, options, |outcome| {
        let metrics = outcome.measured.iter();
        let cells = metrics.map(|(metric, value)| (metric.word(), metric.show(*value)));
        let cells: Vec<_> = cells.collect();
        if std::mem::take(&mut is_first) {
            let words: Vec<_> = cells.iter().map(|(word, _)| format!("{word:>10}")).collect();
            println!("{:>7} {}", "nodes", words.join(" "));
        }
        let values = cells
            .iter()
            .map(|(word, value)| format!("{value:>width$}", width = word.len().max(10)));
        println!("{:>7} {}", outcome.nodes, values.collect::<Vec<_>>().join(" "));
    })
}

/// Figures with their names.
fn named(workload: &Workload, outcome: &Outcome) -> Vec<(String, f64)> {
    let figure = |figure: &Spanned<Figure>| {
        let Figure { metric, name, nodes } = &figure.value;
        let value =
            outcome.measured.get(metric).filter(|_| nodes.is_none_or(|n| n == outcome.nodes));
        Some((name.replace("{nodes}", &outcome.nodes.to_string()), *value?))
    };
    workload.figures.iter().filter_map(figure).collect()
}

/// Prints what came of the thresholds; tells whether none was missed.
fn report(judgements: &[Judgement]) -> bool {
    println!();
    judgements.iter().for_each(|judgement| println!("threshold {}", judgement.text));
    let missed = judgements.iter().filter(|judgement| judgement.verdict == Verdict::Missed);
    let missed = missed.count();
    if missed > 0 {
        println!("\n{missed} of {} thresholds were MISSED", judgements.len());
    }
    missed == 0
}
