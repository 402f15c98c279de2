//! `bench-live`: measures KubeNexus, kube-scheduler and null binders on a real control plane, one
//! at a time. Prints tables, then every figure on a line of its own: `figure NAME=VALUE`.
//!
//! What is compared shares everything but the contender: etcd and the API server with the same
//! flags, bare Node objects, pods that are created directly, rights of an administrator, and no
//! limit on requests that could be reached. Rates come from a watch of the benchmark, CPU time and
//! memory from the kernel.

mod client;
mod contender;
mod figures;
mod histogram;
mod null_binder;
mod objects;
mod parts;
mod provisioner;
mod run;
mod stage;
mod usage;
mod watch;
mod whole;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use parts::Part;

/// Measures schedulers on a real control plane.
#[derive(Clone, Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Args {
    /// The folder `make control-plane` prints
    #[arg(long, value_name = "FOLDER", required = true)]
    control_plane: Option<PathBuf>,
    /// The `kubenexus` program; without it, only the others are measured
    #[arg(long, value_name = "FILE")]
    kubenexus: Option<PathBuf>,
    /// How often each run is repeated; the median counts
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeats: usize,
    /// A short look: few pods, 1,000 nodes, no repeats
    #[arg(long)]
    quick: bool,
    /// Nodes, where pods are counted per second and where they have volumes
    #[arg(long, value_name = "N")]
    nodes: Option<usize>,
    /// Pods of a run there
    #[arg(long, value_name = "N")]
    pods: Option<usize>,
    /// Only this part; may be given several times
    #[arg(long, value_enum, value_name = "PART")]
    only: Vec<Part>,
    /// Bindings that the null binders have out at a time; `--only in-flight` tells what is best
    #[arg(long, value_name = "N", default_value_t = 64)]
    in_flight: usize,
    /// Leave the folders with logs and data there
    #[arg(long)]
    keep: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Clone, Debug, Subcommand)]
enum Role {
    /// Binds pods without thinking (started by the benchmark itself)
    NullBinder(null_binder::Args),
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("bench-live: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether every part was measured.
fn run(args: Args) -> Result<bool> {
    // Two providers of cryptography could be compiled in; the first one wins.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Some(Role::NullBinder(args)) = &args.role {
        runtime.block_on(null_binder::run(args))?;
        return Ok(true);
    }
    // Whoever interrupts gets what a finished run leaves: nothing. Dropping a part ends every
    // process it has started.
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            all_measured = parts::run(&args) => all_measured,
            _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
            _ = terminate.recv() => Err(anyhow::anyhow!("terminated")),
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended.context("measuring")
}
