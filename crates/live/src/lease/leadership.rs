//! The right to bind, as everybody sees it. It ends by itself at a moment that is known when it is
//! granted: a process that was frozen and thawed finds it ended before any of its tasks ran.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// A handle on the right to bind; clones are the same right.
#[derive(Clone, Debug)]
pub(crate) struct Leadership(Arc<Shared>);

/// Times are microseconds after `base`, rounded down.
#[derive(Debug)]
struct Shared {
    base: Instant,
    /// When the right ends. Zero: there is none.
    ends_us: AtomicU64,
    /// When the last renewal that succeeded was begun.
    renewed_us: AtomicU64,
    leads: watch::Sender<bool>,
}

const NEVER: u64 = u64::MAX;

impl Leadership {
    /// For a single replica without election: it leads, and may always bind.
    pub(crate) fn always() -> Self {
        Self::with(NEVER, true)
    }

    /// No right yet.
    pub(crate) fn none() -> Self {
        Self::with(0, false)
    }

    fn with(ends_us: u64, leads: bool) -> Self {
        Self(Arc::new(Shared {
            base: Instant::now(),
            ends_us: AtomicU64::new(ends_us),
            renewed_us: AtomicU64::new(NEVER),
            leads: watch::Sender::new(leads),
        }))
    }

    /// Whether a bind may be sent at this moment.
    ///
    /// Hot: asked before every bind.
    pub(crate) fn may_bind(&self, now: Instant) -> bool {
        self.0.since_base_us(now) < self.0.ends_us.load(Ordering::Acquire)
    }

    /// Whether this replica holds the lease as far as it knows. It learns of the end later than
    /// [`Leadership::may_bind`], which is what guards a bind.
    pub(crate) fn is_leader(&self) -> bool {
        *self.0.leads.borrow()
    }

    /// Tells when leadership begins and ends; the value is [`Leadership::is_leader`].
    pub(crate) fn watch(&self) -> watch::Receiver<bool> {
        self.0.leads.subscribe()
    }

    /// When the last renewal that succeeded was begun, for the watchdog. None without election and
    /// before the first.
    pub(crate) fn last_renewal(&self) -> Option<Instant> {
        match self.0.renewed_us.load(Ordering::Acquire) {
            NEVER => None,
            us => Some(self.0.base + Duration::from_micros(us)),
        }
    }

    /// The lease was renewed by a request begun at `started`. Says whether leadership began.
    pub(super) fn extend(&self, started: Instant, ends: Instant) -> bool {
        self.0.renewed_us.store(self.0.since_base_us(started), Ordering::Release);
        self.0.ends_us.store(self.0.since_base_us(ends), Ordering::Release);
        !self.0.leads.send_replace(true)
    }

    /// No bind from here on.
    pub(super) fn end(&self) {
        self.0.ends_us.store(0, Ordering::Release);
        self.0.leads.send_replace(false);
    }
}

impl Shared {
    fn since_base_us(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.base).as_micros() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_frozen_leader_may_not_bind_although_nothing_ran() {
        let leadership = Leadership::none();
        let start = Instant::now();
        assert!(!leadership.may_bind(start));
        assert!(leadership.extend(start, start + 10 * SECOND));
        let seen_elsewhere = leadership.clone();
        assert!(seen_elsewhere.may_bind(start));
        assert!(seen_elsewhere.may_bind(start + 9 * SECOND));
        assert!(!seen_elsewhere.may_bind(start + 10 * SECOND));
        assert!(!seen_elsewhere.may_bind(start + 3600 * SECOND));
        assert!(seen_elsewhere.is_leader(), "nobody has noticed yet");
    }

    #[test]
    fn an_ended_right_is_gone_at_once_and_told() {
        let leadership = Leadership::none();
        let mut changes = leadership.watch();
        let start = Instant::now();
        assert!(leadership.extend(start, start + 10 * SECOND));
        assert!(!leadership.extend(start + SECOND, start + 11 * SECOND), "it began before");
        assert!(changes.has_changed().unwrap() && *changes.borrow_and_update());
        leadership.end();
        assert!(!leadership.may_bind(start) && !leadership.is_leader());
        assert!(changes.has_changed().unwrap() && !*changes.borrow_and_update());
    }

    #[test]
    fn renewals_are_dated_by_their_beginning() {
        let leadership = Leadership::none();
        assert_eq!(leadership.last_renewal(), None);
        let start = Instant::now();
        leadership.extend(start, start + 10 * SECOND);
        let renewal = leadership.last_renewal().unwrap();
        assert!(start.duration_since(renewal) < Duration::from_micros(2));
    }

    #[test]
    fn without_election_a_bind_is_always_allowed() {
        let leadership = Leadership::always();
        assert!(leadership.is_leader());
        assert!(leadership.may_bind(Instant::now() + 1_000_000 * SECOND));
        assert_eq!(leadership.last_renewal(), None);
    }
}
