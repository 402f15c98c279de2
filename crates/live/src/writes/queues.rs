//! What waits to be written. For the status of an object that is one write, the newest: whatever
//! it was to say before is part of it. No two writes about one status are under way at a time, so
//! that they arrive in the order in which they were decided.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::Write;

/// Beyond this many late writes the oldest events are dropped, and beyond this many reasons the
/// oldest reasons: whoever waits is told at the next attempt.
pub(super) const QUEUE_MAX: usize = 60_000;
/// How long no binding may have been out: gangs come in bursts, and what is written in between
/// would be in the way of the next.
pub(super) const LULL: Duration = Duration::from_millis(50);

/// Set when a write that is under way is not wanted any more.
pub(super) type IsOver = Arc<AtomicBool>;

#[derive(Default)]
pub(super) struct Queues {
    /// Why pods and gangs wait, in order.
    reasons: BTreeMap<u64, Write>,
    /// Events, and that gangs have started, in order, each since when.
    late: BTreeMap<u64, (Instant, Write)>,
    /// Where the write about a status stands in one of the two, by the uid of the object.
    statuses: BTreeMap<Box<str>, u64>,
    /// The number of the last write.
    serial: u64,
    /// Writes about statuses that are under way, by the uid of the object.
    flights: BTreeMap<Box<str>, IsOver>,
    events_in_flight: usize,
    /// When a binding was last settled.
    settled_at: Option<Instant>,
    /// Uids of objects whose status does not say what was decided, and of which the engine does
    /// not know that yet.
    untold: Vec<Box<str>>,
}

impl Queues {
    /// How long bindings still come first though none is out.
    pub(super) fn lull(&self) -> Duration {
        self.settled_at.map_or(Duration::ZERO, |at| LULL.saturating_sub(at.elapsed()))
    }

    /// A binding is not out any more.
    pub(super) fn settled(&mut self) {
        self.settled_at = Some(Instant::now());
    }

    pub(super) fn waiting(&self) -> usize {
        self.reasons.len() + self.late.len()
    }

    pub(super) fn late(&self) -> usize {
        self.late.len()
    }

    pub(super) fn in_flight(&self) -> usize {
        self.flights.len() + self.events_in_flight
    }

    pub(super) fn take_untold(&mut self) -> Vec<Box<str>> {
        std::mem::take(&mut self.untold)
    }

    /// Queues a write; tells whether an event was dropped for it.
    pub(super) fn push(&mut self, write: Write) -> bool {
        let Some(uid) = write.uid().map(Box::<str>::from) else {
            self.add(write);
            return self.shorten();
        };
        let serial = self.statuses.get(&uid).copied();
        if let Some(earlier) = serial.and_then(|serial| self.at(serial)) {
            earlier.replace(write);
            return false;
        }
        let serial = self.add(write);
        self.statuses.insert(uid, serial);
        self.shorten()
    }

    fn add(&mut self, write: Write) -> u64 {
        self.serial += 1;
        if write.is_late() {
            self.late.insert(self.serial, (Instant::now(), write));
        } else {
            self.reasons.insert(self.serial, write);
        }
        self.serial
    }

    fn at(&mut self, serial: u64) -> Option<&mut Write> {
        let late = self.late.get_mut(&serial).map(|(_, write)| write);
        self.reasons.get_mut(&serial).or(late)
    }

    /// Drops what is too much; tells whether that was an event.
    fn shorten(&mut self) -> bool {
        if self.late.len() > QUEUE_MAX
            && let Some((_, (_, oldest))) = self.late.pop_first()
        {
            let Some(uid) = oldest.uid().map(Into::into) else { return true };
            self.serial += 1;
            self.reasons.insert(self.serial, oldest);
            self.statuses.insert(uid, self.serial);
        }
        if self.reasons.len() > QUEUE_MAX
            && let Some((_, oldest)) = self.reasons.pop_first()
            && let Some(uid) = oldest.uid()
        {
            self.statuses.remove(uid);
            self.untold.push(uid.into());
        }
        false
    }

    /// The next write that may begin: a reason, or a late one that has waited long enough.
    pub(super) fn pop(&mut self, is_due: impl Fn(&Instant) -> bool) -> Option<(Write, IsOver)> {
        let flights = &self.flights;
        let is_free = |write: &Write| write.uid().is_none_or(|uid| !flights.contains_key(uid));
        let reason = self.reasons.iter().find(|(_, write)| is_free(write));
        let write = if let Some((serial, _)) = reason {
            let serial = *serial;
            self.reasons.remove(&serial)?
        } else {
            let mut late = self.late.iter().take_while(|(_, (since, _))| is_due(since));
            let serial = *late.find(|(_, (_, write))| is_free(write))?.0;
            self.late.remove(&serial)?.1
        };
        let is_over = IsOver::default();
        match write.uid() {
            Some(uid) => {
                self.statuses.remove(uid);
                self.flights.insert(uid.into(), is_over.clone());
            }
            None => self.events_in_flight += 1,
        }
        Some((write, is_over))
    }

    /// A write is not under way any more. If it was about a status: at which version the object is
    /// by it, if that is known, for whatever else is to be written there.
    pub(super) fn ended(&mut self, uid: Option<&str>, version: Option<Box<str>>) {
        let Some(uid) = uid else {
            self.events_in_flight -= 1;
            return;
        };
        self.flights.remove(uid);
        let next = self.statuses.get(uid).copied();
        if let Some(version) = version
            && let Some(Write::Pod(next)) = next.and_then(|serial| self.at(serial))
        {
            next.pod.version = version;
        }
    }

    /// The pod is bound: why it waits is not to be written any more.
    pub(super) fn bound(&mut self, uid: &str) {
        if let Some(is_over) = self.flights.get(uid) {
            is_over.store(true, Ordering::Relaxed);
        }
        if let Some(serial) = self.statuses.remove(uid) {
            self.reasons.remove(&serial);
            self.untold.push(uid.into());
        }
    }
}
