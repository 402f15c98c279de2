//! A run that can be watched: a progress bar, and a pace that people can follow.

use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use model::Time;
use sim::{Progress, Run, Violation};

use crate::cmd::table::grouped;

/// How long a paced run takes; a cluster that needs longer takes longer.
const PACED: Duration = Duration::from_secs(6);
/// How often the bar moves in the course of a run.
const FRAMES: u32 = 240;

/// Runs to the end in front of the user.
pub(super) fn run(mut run: Run, is_paced: bool) -> Result<Run, Violation> {
    let end = run.end();
    let bar = ProgressBar::new(end.0).with_style(style());
    let start = Instant::now();
    let mut busy = Duration::ZERO;
    for frame in 1..=FRAMES {
        let until = Time(end.0 * u64::from(frame) / u64::from(FRAMES));
        let before = Instant::now();
        let ran = run.run_until(until);
        busy += before.elapsed();
        if ran.is_err() {
            bar.abandon();
        }
        ran?;
        show(&bar, run.progress(), busy);
        let due = PACED * frame / FRAMES;
        if is_paced {
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
    }
    bar.finish();
    Ok(run)
}

fn style() -> ProgressStyle {
    let template = "{prefix}  {bar:30}  {msg}";
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    style.progress_chars("█▌░")
}

fn show(bar: &ProgressBar, progress: Progress, busy: Duration) {
    let seconds = progress.now.0 / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    bar.set_position(progress.now.0);
    bar.set_prefix(format!("{hours:02}:{minutes:02}:{:02}", seconds % 60));
    // The rate of the scheduler and its world while they work, not of the pace.
    let rate = u128::from(progress.decisions) * 1000 / busy.as_millis().max(1);
    bar.set_message(format!(
        "{} placed  {} waiting  {} decisions/s",
        grouped(progress.placed),
        grouped(progress.waiting),
        grouped(u64::try_from(rate).unwrap_or(u64::MAX)),
    ));
}
