//! `kubenexus simulate FILE...`: manifests and a scenario, run to their end, and what came of it.

mod compare;
mod progress;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use k8s::config::{Settings, parse_span};
use model::{Millis, Time};
use sim::page::Part;
use sim::scenario::{Mistakes, Scenario, Source};
use sim::{Report, Run};

use crate::cmd::{check_config, out, report, table};

/// Longer than any cluster's manifests.
const READ_MAX: u64 = 4 << 30;

/// Which files, and what to make of them.
#[derive(clap::Args)]
pub(crate) struct ScenarioArgs {
    /// Manifests of nodes, pods, what makes pods and what decides where they go (volumes, budgets,
    /// PodGroups), and at most one Scenario; - for standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Configure the scheduler with this KubeSchedulerConfiguration
    #[arg(long, value_name = "FILE", conflicts_with = "compare")]
    config: Option<PathBuf>,
    /// Run the files once with each of two configurations, and say what differs
    #[arg(long, num_args = 2, value_names = ["A", "B"])]
    compare: Option<Vec<PathBuf>>,
    /// Write a page with plots and maps that opens in any browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Times at which the page shows who is where [default: the fullest moment, and the end]
    #[arg(long, value_name = "TIME,...", value_delimiter = ',', value_parser = span)]
    #[arg(requires = "html")]
    map_at: Vec<Millis>,
}

impl ScenarioArgs {
    /// The first of the arguments that is given. Neither a swarm nor a trace looks at them.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            ("FILE", !self.files.is_empty()),
            ("--config", self.config.is_some()),
            ("--compare", self.compare.is_some()),
            ("--html", self.html.is_some()),
        ];
        all.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
    }
}

fn span(text: &str) -> Result<Millis, String> {
    parse_span(text).map_err(|error| error.to_string())
}

/// Runs the files. That pods wait is an answer, not a failure.
pub(crate) fn run(args: &ScenarioArgs, is_json: bool) -> anyhow::Result<ExitCode> {
    if args.files.is_empty() {
        bail!("nothing to simulate: give files (kubenexus simulate FILE...), --swarm or --trace");
    }
    let sources: Vec<Source> =
        args.files.iter().map(|file| source(file)).collect::<Result<_, _>>()?;
    let scenario = sim::scenario::read(&sources)?;
    drop(sources);
    warn(scenario.warnings());
    let configs: Vec<(String, Option<Settings>)> = match (&args.compare, &args.config) {
        (Some(files), _) => files.iter().map(|file| read(file)).collect::<Result<_, _>>()?,
        (None, Some(file)) => vec![read(file)?],
        (None, None) => vec![named_config(&scenario)?],
    };
    let mut parts = Vec::new();
    for (name, settings) in configs {
        let (plan, notes) = scenario.plan(settings)?;
        let player = Player { plan, is_open_ended: scenario.is_open_ended() };
        parts.push(player.play(name, notes, args)?);
    }
    if let Some(file) = &args.html {
        let page = sim::page::page(&parts);
        std::fs::write(file, page).with_context(|| format!("writing {}", file.display()))?;
    }
    print(&parts, is_json)?;
    Ok(ExitCode::SUCCESS)
}

/// The most warnings that are worth reading at once.
const WARNINGS_MAX: usize = 20;

fn warn(warnings: &Mistakes) {
    for warning in warnings.all().iter().take(WARNINGS_MAX) {
        out::remark(format_args!("warning: {warning}"));
    }
    match warnings.all().len().saturating_sub(WARNINGS_MAX) {
        0 => {}
        more => out::remark(format_args!("warning: and {more} more")),
    }
}

fn source(file: &Path) -> anyhow::Result<Source> {
    let name = file.display().to_string();
    let reading = || format!("reading {name}");
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().take(READ_MAX).read_to_end(&mut bytes).with_context(reading)?;
    } else {
        let opened = File::open(file).with_context(reading)?;
        opened.take(READ_MAX).read_to_end(&mut bytes).with_context(reading)?;
    }
    let text = String::from_utf8(bytes).map_err(|_| anyhow!("not UTF-8 text"));
    let text = text.with_context(reading)?;
    Ok(Source { name, text })
}

fn read(file: &Path) -> anyhow::Result<(String, Option<Settings>)> {
    Ok((file.display().to_string(), Some(check_config::read(file)?)))
}

/// The configuration file that the scenario names, if it names one.
fn named_config(scenario: &Scenario) -> anyhow::Result<(String, Option<Settings>)> {
    match scenario.config_file() {
        Some((path, beside)) => {
            let folder = Path::new(beside).parent().unwrap_or(Path::new(""));
            read(&folder.join(path)).with_context(|| format!("{beside}: config"))
        }
        None => Ok((String::new(), None)),
    }
}

/// Runs a plan as often as its maps need it.
struct Player {
    plan: sim::Plan,
    is_open_ended: bool,
}

impl Player {
    fn start(&self) -> Run {
        let run = Run::new(self.plan.clone());
        if self.is_open_ended { run.until_settled() } else { run }
    }

    fn play(
        &self,
        name: String,
        mut notes: Vec<String>,
        args: &ScenarioArgs,
    ) -> anyhow::Result<Part> {
        let broken = "the scheduler broke a rule";
        let mut times = args.map_at.clone();
        times.sort_unstable();
        times.dedup();
        let mut maps = Vec::new();
        let mut run = self.start();
        for time in times {
            progress::run_until(&mut run, Time(time.0)).context(broken)?;
            maps.push(run.map());
        }
        progress::run_until(&mut run, Time(u64::MAX)).context(broken)?;
        let end = run.progress().now;
        for late in args.map_at.iter().filter(|time| time.0 > end.0) {
            let (late, end) = (table::span(late.0), table::span(end.0));
            notes.push(format!("--map-at {late}: all is over after {end}; the map shows the end"));
        }
        if args.html.is_some() && args.map_at.is_empty() {
            let end = run.map();
            let report = run.finish().context(broken)?;
            let mut again = self.start();
            progress::run_until(&mut again, peak(&report)).context(broken)?;
            maps.extend([again.map(), end]);
            maps.dedup_by_key(|map| map.at_ms);
            return Ok(Part { name, notes, report, maps });
        }
        Ok(Part { name, notes, report: run.finish().context(broken)?, maps })
    }
}

/// The first moment at which most is used: of GPUs, if there are any.
fn peak(report: &Report) -> Time {
    let used = |sample: &sim::Sample| match sample.all.gpu {
        Some(gpu) => gpu.used_permille,
        None => sample.all.cpu.used_permille,
    };
    let highest = report.history.iter().map(used).max();
    let first = report.history.iter().find(|sample| Some(used(sample)) == highest);
    Time(first.map_or(0, |sample| sample.at_ms))
}

fn print(parts: &[Part], is_json: bool) -> anyhow::Result<()> {
    let text = match parts {
        [one] if is_json => {
            one.notes.iter().for_each(|note| out::remark(format_args!("note: {note}")));
            serde_json::to_string_pretty(&one.report)? + "\n"
        }
        [one] => report::text(&one.report, &one.notes),
        [a, b] if is_json => compare::json(a, b)?,
        [a, b] => compare::text(a, b),
        _ => bail!("{} configurations are too many to compare", parts.len()),
    };
    out::print(format_args!("{text}"))
}
