//! What the engine's thread waits for, and how long.

use std::time::Duration;

use super::{BINDS_MAX, Core};
use crate::feed::Until;

/// How many bindings are waited for when all are out, and for how long at most: decisions in
/// batches, so that a thread is not woken for each.
pub(super) const ROOM: usize = 8;
pub(super) const ROOM_PATIENCE: Duration = Duration::from_millis(10);
/// The longest sleep.
const SLEEP_MAX: Duration = Duration::from_secs(10);

impl Core {
    /// What there is to wait for, and how long there is nothing to do if it does not happen.
    pub(super) fn patience(&self) -> (Until, Duration) {
        let longest = self.eligible_patience().unwrap_or(SLEEP_MAX);
        let state = &self.state;
        if state.in_flight >= BINDS_MAX {
            let room = state.in_flight - BINDS_MAX + ROOM;
            return (Until::Room(room), ROOM_PATIENCE.min(longest));
        }
        let patience = match self.scheduler.next_wakeup() {
            // Nobody is woken for a binding that went well, and the last one ends this.
            Some(_) | None if state.drain.is_some() => ROOM_PATIENCE.min(longest),
            Some(wakeup) if self.may_decide() => {
                let millis = wakeup.0.saturating_sub(self.now().0);
                Duration::from_millis(millis).min(longest)
            }
            Some(_) | None => longest,
        };
        (Until::News, patience)
    }
}
