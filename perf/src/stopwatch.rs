//! Time, measured in two ways.

use std::ops::{Add, AddAssign};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How long something took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    /// Time that this thread was on a core. It says what the work costs, whoever else is busy.
    pub(crate) on_core: Duration,
    /// Time by the clock, as is measured of others.
    pub(crate) by_clock: Duration,
}

/// Runs from when it was made.
pub(crate) struct Stopwatch {
    on_core: Duration,
    by_clock: Instant,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { by_clock: Instant::now(), on_core: on_core() }
    }

    pub(crate) fn taken(&self) -> Taken {
        let on_core = on_core().saturating_sub(self.on_core);
        Taken { on_core, by_clock: self.by_clock.elapsed() }
    }
}

impl Add for Taken {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { on_core: self.on_core + other.on_core, by_clock: self.by_clock + other.by_clock }
    }
}

impl AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// How long this thread was on a core.
pub(crate) fn on_core() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread's time on cores is not negative")
}
