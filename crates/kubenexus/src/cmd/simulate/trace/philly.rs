//! The Philly trace: how long jobs wait, when they are done, and how busy the GPUs are.

use std::io::IsTerminal;

use anyhow::Context;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use sim::trace::philly::{self, Profile, Replay, Report, Spread, VirtualCluster};

use super::{TraceArgs, text_of};
use crate::cmd::out;
use crate::cmd::table::{Align, Table, grouped, span};

/// The profile that places the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ProfileName {
    /// Our own
    KubenexusScheduler,
    /// That of kube-scheduler
    DefaultScheduler,
}

impl ProfileName {
    fn profile(self) -> Profile {
        match self {
            Self::KubenexusScheduler => Profile::Kubenexus,
            Self::DefaultScheduler => Profile::Kube,
        }
    }
}

/// Runs the jobs and prints what came of them.
pub(super) fn run(args: &TraceArgs, json: bool) -> anyhow::Result<()> {
    let (jobs_name, jobs) = text_of(args.jobs.as_deref())?;
    let (nodes_name, nodes) = text_of(args.nodes_file.as_deref())?;
    let mut jobs = philly::read_jobs(&jobs_name, &jobs)?;
    jobs.truncate(args.limit.unwrap_or(usize::MAX));
    let nodes = philly::read_nodes(&nodes_name, &nodes)?;
    let profile = args.profile.map_or(Profile::default(), ProfileName::profile);
    let replay = Replay::new(jobs, nodes, profile);
    let mut replay = replay.with_context(|| format!("{nodes_name}: no node has a GPU"))?;
    watch(&mut replay).context("the scheduler broke a rule")?;
    let report = replay.report();
    let text = if json { serde_json::to_string_pretty(&report)? + "\n" } else { text(&report) };
    out::print(format_args!("{text}"))
}

/// Runs to the end, with a bar if someone looks.
fn watch(replay: &mut Replay) -> anyhow::Result<()> {
    let is_watched = std::io::stderr().is_terminal();
    let bar =
        if is_watched { ProgressBar::new(replay.last_arrival().0) } else { ProgressBar::hidden() };
    let style = ProgressStyle::with_template("{prefix}  {bar:30}  {msg}");
    bar.set_style(style.expect("the template is well-formed").progress_chars("█▌░"));
    while replay.advance()? {
        let progress = replay.progress();
        bar.set_position(progress.now.0.min(replay.last_arrival().0));
        bar.set_prefix(format!("day {:>3}", progress.now.0 / 86_400_000));
        let (placed, waiting) = (grouped(progress.placed), grouped(progress.waiting));
        bar.set_message(format!("{placed} pods placed  {waiting} waiting"));
    }
    bar.finish_and_clear();
    Ok(())
}

fn text(report: &Report) -> String {
    let head = format!(
        "philly, profile {}: {} jobs on {} nodes with {} GPUs; arrivals over {}, all done after \
         {}\n",
        report.profile,
        grouped(report.overall.jobs),
        grouped(report.nodes),
        grouped(report.gpus),
        span(report.arrivals_ms),
        span(report.makespan_ms),
    );
    let rows = || report.virtual_clusters.iter().chain([&report.overall]);
    let clusters = usage(rows());
    let wait = spreads(rows().map(|cluster| (cluster, cluster.wait)));
    let completion = spreads(rows().map(|cluster| (cluster, cluster.completion)));
    [
        head,
        format!(
            "Jobs, and the share of all GPUs they took while jobs arrived\n{}",
            clusters.text()
        ),
        format!("Queue wait: from the arrival of a job to its start\n{}", wait.text()),
        format!("Completion: from the arrival of a job to its end\n{}", completion.text()),
        islands(report),
        format!("{}\n", report.limitation),
    ]
    .join("\n")
}

fn islands(report: &Report) -> String {
    let islands = report.islands;
    format!(
        "Pods that take a whole node of {} GPUs: {} of {} started, {} of them within a minute\n",
        islands.gpus,
        grouped(islands.started),
        grouped(islands.pods),
        grouped(islands.started_within_minute),
    )
}

fn usage<'a>(clusters: impl Iterator<Item = &'a VirtualCluster>) -> Table {
    let mut table = Table::new(&[
        ("virtual cluster", Align::Left),
        ("jobs", Align::Right),
        ("started", Align::Right),
        ("GPU hours", Align::Right),
        ("share", Align::Right),
    ]);
    for cluster in clusters {
        table.row([
            cluster.name.clone(),
            grouped(cluster.jobs),
            grouped(cluster.started),
            grouped(cluster.gpu_seconds / 3600),
            format!("{}.{} %", cluster.gpu_permille / 10, cluster.gpu_permille % 10),
        ]);
    }
    table.last_is_total();
    table
}

fn spreads<'a>(clusters: impl Iterator<Item = (&'a VirtualCluster, Option<Spread>)>) -> Table {
    let columns = ["mean", "p50", "p90", "p99", "max"].map(|head| (head, Align::Right));
    let mut table = Table::new(&[&[("virtual cluster", Align::Left)], &columns[..]].concat());
    for (cluster, spread) in clusters {
        let times = spread.map(|spread| {
            [spread.mean_ms, spread.p50_ms, spread.p90_ms, spread.p99_ms, spread.max_ms].map(span)
        });
        let times = times.unwrap_or_else(|| [(); 5].map(|()| "-".to_owned()));
        let mut cells = vec![cluster.name.clone()];
        cells.extend(times);
        table.row(cells);
    }
    table.last_is_total();
    table
}
