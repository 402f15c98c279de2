//! Benchmarks. Prints tables, then every figure on a line of its own: `figure NAME=VALUE`.

mod cluster;
mod memory;
mod peer;
mod run;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use cluster::{half_waiting_pod, mixed_pod, plain_pod};

/// Measures the engine, and kube-scheduler's own algorithm beside it.
#[derive(Parser)]
struct Cli {
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
    /// Runs one size by itself, for a profiler
    Rate {
        /// How many nodes
        nodes: usize,
        /// How many pods
        pods: usize,
        /// How many interleaved shapes
        shapes: usize,
    },
    /// Fills a scheduler and prints the memory it holds (started by the benchmark itself)
    Memory {
        /// How many nodes
        nodes: usize,
        /// How many pods
        pods: usize,
    },
}

/// Shapes that arrive interleaved.
const SHAPES: usize = 20;
/// Nodes and pods of every size that is measured.
const SIZES: [(usize, usize); 3] = [(1_000, 20_000), (5_000, 50_000), (20_000, 100_000)];

fn main() -> Result<()> {
    let cli = Cli::parse();
    match cli.part {
        None => {}
        Some(Part::Memory { nodes, pods }) => return memory::fill(nodes, pods),
        Some(Part::Rate { nodes, pods, shapes }) => {
            println!("{:.0} pods/s", run::rate(nodes, pods, shapes, plain_pod)?);
            return Ok(());
        }
    }
    let mut figures = Vec::new();
    println!("Engine: apply, step, bindings written out; one core; every node scored;");
    println!("default profile, {SHAPES} interleaved pod shapes; median of 5 runs.\n");
    println!("{:>8} {:>9} {:>12} {:>10}", "nodes", "pods", "pods/s", "us/pod");
    let mut ours = Vec::new();
    for (nodes, pods) in SIZES {
        let rate = run::rate(nodes, pods, SHAPES, mixed_pod)?;
        println!("{nodes:>8} {pods:>9} {rate:>12.0} {:>10.2}", 1e6 / rate);
        figures.push((format!("engine_pods_per_second_{nodes}_nodes"), rate));
        figures.push((format!("engine_us_per_pod_{nodes}_nodes"), 1e6 / rate));
        ours.push(rate);
    }
    let (nodes, pods) = SIZES[1];
    let rate = run::rate(nodes, pods, SHAPES, half_waiting_pod)?;
    println!(
        "{nodes:>8} {pods:>9} {rate:>12.0} {:>10.2}  every second pod fits nowhere",
        1e6 / rate
    );
    figures.push((format!("engine_decisions_per_second_half_waiting_{nodes}_nodes"), rate));
    shapes(&mut figures)?;
    memory::measure(&mut figures)?;
    match &cli.oracle {
        Some(oracle) => peer::compare(oracle, cli.peer_seconds, &ours, &mut figures)?,
        None => println!("\nNo oracle given (--oracle PATH): nothing is compared with a peer."),
    }
    println!();
    for (name, value) in figures {
        println!("figure {name}={value:.3}");
    }
    Ok(())
}

/// One shape and fifty, taken in turns so that a noisy moment hits both.
fn shapes(figures: &mut Vec<(String, f64)>) -> Result<()> {
    let (nodes, pods) = SIZES[1];
    let mut ratios = Vec::new();
    println!("\nShapes at {nodes} nodes:\n");
    println!("{:>14} {:>14} {:>8}", "1 shape", "50 shapes", "ratio");
    for _ in 0..3 {
        let one = run::rate(nodes, pods, 1, plain_pod)?;
        let fifty = run::rate(nodes, pods, 50, plain_pod)?;
        println!("{one:>14.0} {fifty:>14.0} {:>8.2}", fifty / one);
        ratios.push(fifty / one);
    }
    ratios.sort_by(f64::total_cmp);
    figures.push(("engine_rate_50_shapes_over_1".into(), ratios[1]));
    Ok(())
}
