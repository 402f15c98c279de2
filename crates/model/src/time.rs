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
