//! A run that can be watched: a progress bar, and a pace that people can follow.

use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use model::{Millis, Time};
use sim::{Progress, Run, Violation};

use crate::cmd::table::grouped;

/// How long a paced run takes; a cluster that needs longer takes longer.
const PACED: Duration = Duration::from_secs(4);
/// How often the bar moves in the course of a run.
const FRAMES: u32 = 240;

/// A run that somebody watches.
pub(super) struct Watch {
    bar: ProgressBar,
    title: &'static str,
    start: Instant,
    busy: Duration,
    /// How often the bar has moved.
    frame: u32,
    is_paced: bool,
}

impl Watch {
    /// Of a run that has not begun and takes so much virtual time.
    pub(super) fn new(title: &'static str, span: Millis, is_paced: bool) -> Self {
        let bar = ProgressBar::new(span.0).with_style(style());
        Self { bar, title, start: Instant::now(), busy: Duration::ZERO, frame: 0, is_paced }
    }

    /// Goes on until some virtual time in front of the user.
    pub(super) fn run_until(&mut self, run: &mut Run, until: Time) -> Result<(), Violation> {
        let end = run.end();
        let at = |frame: u32| Time(end.0 * u64::from(frame) / u64::from(FRAMES));
        while self.frame < FRAMES && at(self.frame + 1) <= until {
            self.frame += 1;
            self.advance(run, at(self.frame))?;
            if self.is_paced {
                let due = PACED * self.frame / FRAMES;
                thread::sleep(due.saturating_sub(self.start.elapsed()));
            }
        }
        self.advance(run, until)?;
        if until >= end {
            self.bar.finish();
        }
        Ok(())
    }

    fn advance(&mut self, run: &mut Run, until: Time) -> Result<(), Violation> {
        let before = Instant::now();
        let ran = run.run_until(until);
        self.busy += before.elapsed();
        if ran.is_err() {
            self.bar.abandon();
        }
        ran?;
        show(&self.bar, self.title, run.progress(), self.busy);
        Ok(())
    }
}

fn style() -> ProgressStyle {
    let template = "{prefix}  {bar:30}  {msg}";
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    style.progress_chars("█▌░")
}

fn show(bar: &ProgressBar, title: &str, progress: Progress, busy: Duration) {
    let seconds = progress.now.0 / 1000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    bar.set_position(progress.now.0);
    bar.set_prefix(format!("{title:<24}  {hours:02}:{minutes:02}:{:02}", seconds % 60));
    // The rate of the scheduler and its world while they work, not of the pace.
    let rate = u128::from(progress.decisions) * 1000 / busy.as_millis().max(1);
    bar.set_message(format!(
        "{} placed  {} waiting  {} decisions/s",
        grouped(progress.placed),
        grouped(progress.waiting),
        grouped(u64::try_from(rate).unwrap_or(u64::MAX)),
    ));
}
