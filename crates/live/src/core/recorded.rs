//! What goes into the engine and comes out of it, handed to the journal.

use std::time::Instant;

use journal::{Decided, Journal};
use model::{Event, Moment, Time};
use tracing::debug;

use super::Core;

impl Core {
    pub(super) fn record_applied(&mut self, now: Moment, event: Event) {
        if let Some(journal) = &mut self.journal {
            journal.applied(now, event);
            self.begin_segment();
        }
    }

    pub(super) fn record_stepped(&mut self, now: Time, decided: Vec<Decided>) {
        if let Some(journal) = &mut self.journal {
            journal.stepped(now, decided);
            self.begin_segment();
        }
    }

    /// Gives the journal a checkpoint if it is due.
    pub(super) fn begin_segment(&mut self) {
        if !self.journal.as_ref().is_some_and(Journal::wants_checkpoint) {
            return;
        }
        let (now, began) = (self.now(), Instant::now());
        if let Some(journal) = &mut self.journal {
            journal.begin(now, self.scheduler.checkpoint());
        }
        debug!(micros = began.elapsed().as_micros(), "a checkpoint for the journal");
    }
}
