//! `kubenexus replay`: runs a journal again and says where it differs.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use sim::{Instead, Placements, ReplayError, Replayed};

use crate::cmd::{check_config, out};

/// Ends with this when something differs.
const DIFFERS: u8 = 2;
/// Ends with this when there is no journal in the folder.
const NOTHING: u8 = 3;

/// What to replay.
#[derive(clap::Args)]
pub(crate) struct ReplayArgs {
    /// The folder that was given to `kubenexus scheduler --journal`
    folder: PathBuf,
    /// A KubeSchedulerConfiguration to compare with: what would it have decided?
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How many differences to list
    #[arg(long, value_name = "N", default_value_t = 10, requires = "config")]
    list: usize,
}

/// Replays a journal; says how it went.
pub(crate) fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let other = args.config.as_deref().map(check_config::read).transpose()?;
    let bar = bar();
    let began = Instant::now();
    let replayed = sim::replay(&args.folder, other.as_ref(), |progress| {
        bar.set_length(progress.segments as u64 * 1000);
        bar.set_position((progress.done * 1000.0) as u64);
        bar.set_message(format!("{} records", progress.records));
    });
    bar.finish_and_clear();
    let replayed = match replayed {
        Err(error @ (ReplayError::Empty(_) | ReplayError::Nothing { .. })) => {
            out::remark(format_args!("kubenexus: {error}"));
            return Ok(ExitCode::from(NOTHING));
        }
        replayed => replayed?,
    };
    let is_same = replayed.difference.is_none()
        && replayed.instead.as_ref().is_none_or(|instead| instead.differing.is_empty());
    let code = if is_same { ExitCode::SUCCESS } else { ExitCode::from(DIFFERS) };
    let text = text(&replayed, began.elapsed(), args.list);
    out::finish(out::print(format_args!("{text}")), code)
}

fn bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(1);
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}  {eta}");
    bar.set_style(style.expect("the template is valid"));
    bar
}

fn text(replayed: &Replayed, took: Duration, list: usize) -> String {
    let mut lines = Vec::new();
    let Replayed { segments, records, binds, waits, .. } = replayed;
    let span = replayed.span_unix_ms.map(|(from, to)| format!(", {} to {}", time(from), time(to)));
    let span = span.unwrap_or_default();
    lines.push(format!("{segments} segments, {records} records{span}"));
    lines.push(format!("{binds} bindings, {waits} waits"));
    lines.extend(replayed.notes.iter().map(|note| format!("note: {note}")));
    let seconds = took.as_secs_f64();
    let rate = *records as f64 / seconds.max(0.001);
    lines.push(format!("replayed in {seconds:.1} s, {rate:.0} records per second"));
    match (&replayed.difference, &replayed.instead) {
        (None, None) if binds + waits == 0 => {
            lines.push("it holds no bindings and no waits to compare".into());
        }
        (None, None) => lines.push("all decisions are the same".into()),
        (Some(difference), _) => {
            lines.push(format!(
                "the decisions differ, first in segment {}, record {}, at {}",
                difference.segment,
                difference.record,
                time(difference.unix_ms)
            ));
            lines.push(format!("  pod   {}", difference.pod));
            lines.push(format!("  then  {}", difference.then));
            lines.push(format!("  now   {}", difference.now));
        }
        (None, Some(_)) => {}
    }
    if let Some(instead) = &replayed.instead {
        lines.extend(instead_lines(instead, list));
    }
    lines.join("\n") + "\n"
}

fn instead_lines(instead: &Instead, list: usize) -> Vec<String> {
    let mut lines = vec![
        "with the other configuration:".into(),
        format!("  {:>8} pods are placed at the same time on the same node", instead.same),
        format!("  {:>8} pods are placed on another node", instead.elsewhere),
        format!("  {:>8} pods are placed earlier", instead.earlier),
        format!("  {:>8} pods are placed later", instead.later),
        format!("  {:>8} pods that were placed are not", instead.only_then),
        format!("  {:>8} pods that were not placed are", instead.only_now),
    ];
    if instead.differing.is_empty() || list == 0 {
        return lines;
    }
    let total = instead.differing.len();
    lines.push(match total > list {
        true => format!("the first {list} of {total} pods that differ:"),
        false => format!("the {total} pods that differ:"),
    });
    lines.extend(instead.differing.iter().take(list).map(line));
    lines
}

fn line(pod: &Placements) -> String {
    let Placements { pod, then, now } = pod;
    match (then, now) {
        (Some((at, node)), Some((now, other))) if node == other => {
            format!("  {}  {pod}: {node}, {}", time(*at), shift(*at, *now))
        }
        (Some((at, node)), Some((now, other))) => {
            format!("  {}  {pod}: {other} instead of {node}{}", time(*at), shift_after(*at, *now))
        }
        (Some((at, node)), None) => format!("  {}  {pod}: not placed, was on {node}", time(*at)),
        (None, Some((now, other))) => {
            format!("  {}  {pod}: {other}, was not placed", time(*now))
        }
        (None, None) => format!("  {pod}"),
    }
}

fn shift_after(then: u64, now: u64) -> String {
    if then == now { String::new() } else { format!(", {}", shift(then, now)) }
}

/// How much earlier or later.
fn shift(then: u64, now: u64) -> String {
    let seconds = then.abs_diff(now) as f64 / 1000.0;
    format!("{seconds:.3} s {}", if now < then { "earlier" } else { "later" })
}

fn time(unix_ms: u64) -> String {
    let at = i64::try_from(unix_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(
        || format!("{unix_ms} ms"),
        |at| at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
    )
}
