//! Time as integers. Nothing here reads a clock: the shells pass the time in.

use std::ops::Add;

use serde::{Deserialize, Serialize};

/// A span of time in milliseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Millis(pub u64);

/// A point in time, in milliseconds since a start that the shell chose.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Millis {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }
}

impl Add<Millis> for Time {
    type Output = Time;

    fn add(self, span: Millis) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

/// A point in time, and what the clock on the wall says then. The engine's own time never jumps;
/// what the API server wrote down is by the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The engine's time.
    pub at: Time,
    /// Milliseconds since 1970.
    pub wall_ms: u64,
}

impl From<Time> for Moment {
    /// In a world that began in 1970, as simulated ones do.
    fn from(at: Time) -> Self {
        Self { at, wall_ms: at.0 }
    }
}
