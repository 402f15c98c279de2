//! `kubenexus demo`: an embedded cluster, a compressed hour, and tables of what came of it.
//!
//! The run itself is in `sim`, which knows no clock; watching it at a human pace, and writing it
//! down for people or machines, is here.

mod watch;

use std::io::IsTerminal;

use anyhow::Context;
use clap::value_parser;
use sim::{Demo, Run};

use super::{out, report};

/// What to run, and how to show it.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Decides everything that chance decides: the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 42)]
    seed: u64,
    /// Nodes of the cluster, 1 to 5000
    #[arg(long, value_name = "N", default_value_t = 200)]
    #[arg(value_parser = value_parser!(u32).range(1..=5000))]
    nodes: u32,
    /// Minutes of virtual time, 1 to 1440
    #[arg(long, value_name = "N", default_value_t = 60)]
    #[arg(value_parser = value_parser!(u32).range(1..=1440))]
    minutes: u32,
    /// Print the result as one JSON object, without progress bar and tables
    #[arg(long)]
    json: bool,
    /// Run as fast as possible instead of at a pace that can be watched
    #[arg(long)]
    no_pace: bool,
}

/// Runs the demo and prints its result to standard output.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let demo = Demo { seed: args.seed, nodes: args.nodes, minutes: args.minutes };
    let run = Run::new(demo.plan());
    let is_watched = !args.json && std::io::stderr().is_terminal();
    let run = if is_watched { watch::run(run, !args.no_pace) } else { Ok(run) };
    let report = run.and_then(Run::finish).context("the scheduler broke a rule")?;
    let text = if args.json {
        serde_json::to_string_pretty(&report)? + "\n"
    } else {
        report::text(&report, &[])
    };
    out::print(format_args!("{text}"))
}
