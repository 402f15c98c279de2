//! The `kubenexus` command.

mod cmd;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A Kubernetes scheduler for clusters that run everything at once.
#[derive(Parser)]
#[command(name = "kubenexus", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watch pods being placed on an embedded cluster; nothing to install
    Demo(cmd::demo::DemoArgs),
    /// Say what the scheduler thinks of a pod on every node
    ///
    /// Reads cases as JSON lines and prints one verdict as a JSON line for each, in the same order.
    /// A case has "objects" (the cluster), "pod" (the pod to judge), and optionally "id" and
    /// "config" (a KubeSchedulerConfiguration). No cluster is needed.
    Verdict {
        /// The file to read; standard input if it is left out
        file: Option<PathBuf>,
    },
    /// Check a configuration file and say what would run
    CheckConfig {
        /// A KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1)
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Demo(args) => cmd::demo::run(&args),
        Command::Verdict { file } => cmd::verdict::run(file.as_deref()),
        Command::CheckConfig { file } => cmd::check_config::run(&file),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubenexus: {error:#}");
            ExitCode::FAILURE
        }
    }
}
