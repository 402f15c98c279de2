//! A bar for runs that take long enough to ask whether they still run.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use model::Time;
use sim::{Progress, Run, Violation};

use crate::cmd::table::{grouped, span};

/// How long a run may take without one.
const PATIENCE: Duration = Duration::from_millis(400);
/// How often it moves.
const FRAME: Duration = Duration::from_millis(50);

/// Runs until a time or the end, with a bar on a terminal if it takes long.
pub(super) fn run_until(run: &mut Run, until: Time) -> Result<(), Violation> {
    if !std::io::stderr().is_terminal() {
        return run.run_until(until);
    }
    let start = Instant::now();
    let mut bar: Option<ProgressBar> = None;
    // As much virtual time as passes in one frame, found by trying.
    let mut stretch_ms: u64 = 1_000;
    while run.progress().now < until.min(run.end()) {
        let before = Instant::now();
        let next = Time(run.progress().now.0.saturating_add(stretch_ms));
        let ran = run.run_until(next.min(until));
        if let (Err(_), Some(bar)) = (&ran, &bar) {
            bar.abandon();
        }
        ran?;
        let took = before.elapsed();
        stretch_ms = if took < FRAME / 2 {
            stretch_ms.saturating_mul(2)
        } else if took > FRAME * 2 {
            (stretch_ms / 2).max(1)
        } else {
            stretch_ms
        };
        if start.elapsed() > PATIENCE {
            let bar = bar.get_or_insert_with(|| new_bar(run, until));
            show(bar, run.progress(), start.elapsed());
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    Ok(())
}

/// A bar if the end is known, and a mark that moves if it is not.
fn new_bar(run: &Run, until: Time) -> ProgressBar {
    /// No scenario names a longer span.
    const KNOWN_MAX_MS: u64 = u64::MAX / 8;
    let end = run.end().min(until);
    let (bar, template) = match end.0 {
        0..KNOWN_MAX_MS => (ProgressBar::new(end.0), "{prefix}  {bar:30}  {msg}"),
        KNOWN_MAX_MS.. => (ProgressBar::new_spinner(), "{spinner}  {prefix}  {msg}"),
    };
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    bar.with_style(style.progress_chars("█▌░"))
}

fn show(bar: &ProgressBar, progress: Progress, busy: Duration) {
    bar.set_position(progress.now.0);
    bar.set_prefix(span(progress.now.0));
    let rate = u128::from(progress.placed) * 1000 / busy.as_millis().max(1);
    bar.set_message(format!(
        "{} placed  {} waiting  {} pods/s",
        grouped(progress.placed),
        grouped(progress.waiting),
        grouped(u64::try_from(rate).unwrap_or(u64::MAX)),
    ));
    bar.tick();
}
