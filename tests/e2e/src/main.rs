//! `e2e`: runs KubeNexus against a real control plane, on good days and on bad ones.

mod beside;
mod cards;
mod check;
mod fit;
mod objects;
mod provisioner;
mod scenarios;
mod suite;
mod wait;
mod world;
mod zones;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs cases beside kube-scheduler, then scenarios, one after the other, with one line for each.
///
/// Exits with 1 if one fails and with 2 if the suite itself does not work.
#[derive(Clone, Debug, Parser)]
struct Args {
    /// The folder `make control-plane` prints.
    #[arg(long, value_name = "FOLDER", required_unless_present = "list")]
    control_plane: Option<PathBuf>,
    /// The `kubenexus` program.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["list", "reference"])]
    kubenexus: Option<PathBuf>,
    /// Run kube-scheduler in place of KubeNexus: what fails then is wrong with the suite.
    #[arg(long, conflicts_with = "kubenexus")]
    reference: bool,
    /// Only the scenarios and cases whose name contains this; may be given several times.
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Run each so many times, to find what fails now and then.
    #[arg(long, default_value_t = 1)]
    repeat: usize,
    /// How long `evictions-end` counts evictions, at most 150; 4, or 150 with `--reference`.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=150))]
    count_evictions: Option<u64>,
    /// Print the names of cases and scenarios.
    #[arg(long)]
    list: bool,
    /// Print what is seen after each step of a case.
    #[arg(long)]
    show: bool,
    /// Leave the folder with logs and data there.
    #[arg(long)]
    keep: bool,
    /// Where `examples`, `deploy` and `tests` are.
    #[arg(long, value_name = "FOLDER", default_value = REPOSITORY)]
    repository: PathBuf,
}

impl Args {
    /// Whether a scenario or a case of this name is to be run.
    fn is_meant(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|text| name.contains(text))
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("e2e: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool> {
    if args.list {
        suite::list(args)?;
        return Ok(true);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Whoever interrupts gets what a finished run leaves: nothing. Dropping the suite ends every
    // process it has started.
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            all_passed = suite::run(args) => all_passed,
            _ = interrupt.recv() => Err(anyhow::anyhow!("interrupted")),
            _ = terminate.recv() => Err(anyhow::anyhow!("terminated")),
        }
    });
    // A kubectl that was running is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended.context("running the scenarios")
}
