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
use sim::{Demo, IslandReport, Plan, PoolReport, Report, Run, Share, SpreadReport, Violation};

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

/// What came of the hour in our profile, and what of islands of GPUs and of services in both.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    report: Report,
    islands: Both<IslandReport>,
    spread: Both<SpreadReport>,
    used: Both<PoolReport>,
}

/// The same by profile.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Both<T> {
    default_scheduler: T,
    kubenexus_scheduler: T,
}

impl<T> Both<T> {
    /// Each with the name of its profile.
    fn named(&self) -> [(&'static str, &T); 2] {
        [
            ("default-scheduler", &self.default_scheduler),
            ("kubenexus-scheduler", &self.kubenexus_scheduler),
        ]
    }
}

/// Runs the demo and prints its result to standard output.
pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let demo = Demo { seed: args.seed, nodes: args.nodes, minutes: args.minutes };
    let hour = |title: &'static str, plan: Plan| {
        let is_watched = !args.json && std::io::stderr().is_terminal();
        let watch = is_watched.then(|| Watch::new(title, plan.span, !args.no_pace));
        hour(demo, plan, watch).context("the scheduler broke a rule")
    };
    let (other, other_islands, other_spread) =
        hour("kube-scheduler's profile", demo.plan_beside())?;
    let (report, islands, spread) = hour("our profile", demo.plan())?;
    let outcome = Outcome {
        islands: Both { default_scheduler: other_islands, kubenexus_scheduler: islands },
        spread: Both { default_scheduler: other_spread, kubenexus_scheduler: spread },
        used: Both {
            default_scheduler: other.cluster,
            kubenexus_scheduler: report.cluster.clone(),
        },
        report,
    };
    let text = if args.json {
        serde_json::to_string_pretty(&outcome)? + "\n"
    } else {
        [report::text(&outcome.report, &[]), islands_of(&outcome), services_of(&outcome)].join("\n")
    };
    out::print(format_args!("{text}"))
}

/// Runs to the end, in front of the user if somebody watches.
fn hour(
    demo: Demo,
    plan: Plan,
    mut watch: Option<Watch>,
) -> Result<(Report, IslandReport, SpreadReport), Violation> {
    let mut run = Run::new(plan.clone());
    let mut advance = |run: &mut Run, until| match &mut watch {
        Some(watch) => watch.run_until(run, until),
        None => run.run_until(until),
    };
    advance(&mut run, demo.eve())?;
    let eve = run.map();
    let end = run.end();
    advance(&mut run, end)?;
    let (islands, spread) = (IslandReport::of(&eve, &run), SpreadReport::of(&plan, &run));
    Ok((run.finish()?, islands, spread))
}

/// How services were spread, and what was used, in both profiles.
fn services_of(Outcome { spread, used, .. }: &Outcome) -> String {
    let mut table = Table::new(&[
        ("profile", Left),
        ("services even", Right),
        ("largest skew", Right),
        ("cpu used", Right),
        ("memory used", Right),
        ("GPUs used", Right),
    ]);
    for ((profile, spread), (_, used)) in spread.named().into_iter().zip(used.named()) {
        let mean = |share: Option<Share>| {
            let permille = share.map(|share| share.mean_permille);
            permille.map_or_else(|| "-".to_owned(), |it| format!("{}.{} %", it / 10, it % 10))
        };
        table.row([
            profile.to_owned(),
            format!("{} of {}", spread.even, spread.services),
            spread.largest_skew.to_string(),
            mean(Some(used.cpu)),
            mean(Some(used.memory)),
            mean(used.gpu),
        ]);
    }
    let title = "Services without wishes of their own whose pods are even over three zones in the \
                 end (no zone\nhas two more than another), by how many pods zones differ at most, \
                 and means of what was used";
    report::section(title, &table)
}

/// What became of islands in both profiles.
fn islands_of(Outcome { islands, .. }: &Outcome) -> String {
    let mut table = Table::new(&[
        ("profile", Left),
        ("left whole", Right),
        ("jobs started", Right),
        ("p50", Right),
        ("longest", Right),
        ("jobs waiting", Right),
        ("longest", Right),
    ]);
    for (profile, found) in islands.named() {
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
