//! The `kubenexus-agent` command.

// They panic when the reader of a pipe is gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use kubenexus_agent::gpus::Nvml;
use kubenexus_agent::options::Options;
use kubenexus_agent::run;

fn main() -> ExitCode {
    let options = Options::parse();
    tracing_subscriber::fmt()
        .with_max_level(options.log_level)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(false)
        .init();
    match start(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(options: &Options) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("starting the runtime")?;
    let nvml = Nvml { library: options.nvml.clone() };
    if options.dry_run {
        let text = runtime.block_on(run::dry_run(options, &nvml))?;
        // A reader that has seen enough is no failure.
        let _ = std::io::stdout().write_all(text.as_bytes());
        return Ok(());
    }
    runtime.block_on(run::run(options, &nvml))
}
