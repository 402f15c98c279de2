//! `kubenexus demo`: an embedded cluster, a compressed hour in kube-scheduler's profile and the
//! same hour in ours, and tables of what came of it.
//!
//! The run itself is in `sim`, which knows no clock; watching it at a human pace, and writing it
//! down for people or machines, is here.

mod watch;

use std::io::IsTerminal;

use anyhow::Context;
use clap::value_parser;
use serde::Serialize;
use sim::{Demo, IslandReport, Plan, Report, Run, Violation};

use super::table::Align::{Left, Right};
use super::table::{Table, span};
use super::{out, report};
use watch::Watch;

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

/// What came of the hour in our profile, and what of islands of GPUs in both.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    report: Report,
    islands: Islands,
}

/// What came of islands of GPUs, by profile.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Islands {
    default_scheduler: IslandReport,
    kubenexus_scheduler: IslandReport,
}

/// Runs the demo and prints its result to standard output.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let demo = Demo { seed: args.seed, nodes: args.nodes, minutes: args.minutes };
    let hour = |title: &'static str, plan: Plan| {
        let is_watched = !args.json && std::io::stderr().is_terminal();
        let watch = is_watched.then(|| Watch::new(title, plan.span, !args.no_pace));
        hour(demo, plan, watch).context("the scheduler broke a rule")
    };
    let (_, default_scheduler) = hour("kube-scheduler's profile", demo.plan_beside())?;
    let (report, kubenexus_scheduler) = hour("our profile", demo.plan())?;
    let islands = Islands { default_scheduler, kubenexus_scheduler };
    let text = if args.json {
        serde_json::to_string_pretty(&Outcome { report, islands })? + "\n"
    } else {
        [report::text(&report, &[]), beside(&islands)].join("\n")
    };
    out::print(format_args!("{text}"))
}

/// Runs to the end, in front of the user if somebody watches.
fn hour(
    demo: Demo,
    plan: Plan,
    mut watch: Option<Watch>,
) -> Result<(Report, IslandReport), Violation> {
    let mut run = Run::new(plan);
    let mut advance = |run: &mut Run, until| match &mut watch {
        Some(watch) => watch.run_until(run, until),
        None => run.run_until(until),
    };
    advance(&mut run, demo.eve())?;
    let eve = run.map();
    let end = run.end();
    advance(&mut run, end)?;
    let islands = IslandReport::of(&eve, &run);
    Ok((run.finish()?, islands))
}

/// Both profiles beside each other.
fn beside(islands: &Islands) -> String {
    let mut table = Table::new(&[
        ("profile", Left),
        ("left whole", Right),
        ("jobs started", Right),
        ("p50", Right),
        ("longest", Right),
        ("jobs waiting", Right),
        ("longest", Right),
    ]);
    let profiles = [
        ("default-scheduler", &islands.default_scheduler),
        ("kubenexus-scheduler", &islands.kubenexus_scheduler),
    ];
    for (profile, found) in profiles {
        let times = found.placement.map(|times| [times.p50_ms, times.max_ms].map(span));
        let [p50, longest] = times.unwrap_or_else(|| ["-"; 2].map(str::to_owned));
        table.row([
            profile.to_owned(),
            format!("{} of {}", found.whole, found.islands),
            format!("{} of {}", found.started, found.jobs),
            p50,
            longest,
            (found.jobs - found.started).to_string(),
            found.longest_waiting_ms.map_or_else(|| "-".to_owned(), span),
        ]);
    }
    let title = "The same arrivals in kube-scheduler's profile and in ours: islands of 8 GPUs that \
                 small pods\nleft whole, and jobs of 8 GPUs that came after them, with their waits";
    report::section(title, &table)
}
