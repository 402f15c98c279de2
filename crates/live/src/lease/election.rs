//! Who leads, decided from what was read and written and when. No clock, no network: times are
//! arguments, requests are steps that somebody else carries out and reports.
//!
//! Two clocks are kept apart. The monotonic clock of this machine decides; the wall clock is only
//! written down, for people. A lease expires a lease duration after *we* saw its record change, so
//! clocks of other machines do not matter.
//!
//! ```text
//!                 free, expired or absent:
//!                 Create or Replace, written
//!   following  ──────────────────────────────▶  leading ──┐ Replace, written:
//!     │    ▲                                      │  ▲    │ the right lasts until
//!     └────┘ held by another: Rest                │  └────┘ start + renew deadline
//!                                                 ▼
//!                                   lost: the deadline passed, or another holds it
//! ```
//!
//! As in client-go, except in three places where that could let two lead at once: the right is
//! counted from the start of a renewal, not from its answer; the lease duration that counts is the
//! longer of ours and that of the record, since replicas with different settings meet while a
//! change is rolled out; and a lease that somebody deletes counts as held for another duration,
//! because its holder has not noticed yet.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s::config::LeaderElection;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

/// When a lease is renewed, given up and taken over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    pub(super) lease_duration: Duration,
    pub(super) renew_deadline: Duration,
    pub(super) retry_period: Duration,
}

impl Timing {
    pub(super) fn of(settings: &LeaderElection) -> Self {
        Self {
            lease_duration: Duration::from_millis(settings.lease_duration.0),
            renew_deadline: Duration::from_millis(settings.renew_deadline.0),
            retry_period: Duration::from_millis(settings.retry_period.0),
        }
    }

    /// After a renewal the next starts a retry period later. If that one gets no answer, half of
    /// what then remains until the deadline is left for one more.
    pub(super) fn request_timeout(&self) -> Duration {
        self.renew_deadline.saturating_sub(self.retry_period) / 2
    }
}

/// Why a leader leads no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// No renewal succeeded before the deadline.
    Late,
    /// The lease has this holder.
    TakenBy(String),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => f.write_str("it could not be renewed before the deadline"),
            Self::TakenBy(holder) => write!(f, "{holder} holds it"),
        }
    }
}

/// What to do next.
#[derive(Debug)]
pub(super) enum Step {
    /// Read the lease, then report [`Election::found`].
    Read,
    /// Create it, then report [`Election::written`]. Failures are not reported.
    Create(Box<Lease>),
    /// Replace the version it was read as, then report [`Election::written`].
    Replace(Box<Lease>),
    /// Wait for the next try.
    Rest,
    /// It is over.
    Lost(Loss),
}

/// One candidate's view of the lease.
pub(super) struct Election {
    identity: String,
    namespace: String,
    name: String,
    timing: Timing,
    known: Known,
    seen: Option<Seen>,
    right: Option<Instant>,
}

/// What the next step can build on. Every step uses it up, so that a request whose outcome is not
/// known is followed by a look at the lease.
#[derive(Default)]
enum Known {
    #[default]
    Nothing,
    Absent,
    Present(Box<Lease>),
}

/// The last change of the lease that was observed.
struct Seen {
    /// What tells one record from the next; none when the lease was gone.
    mark: Option<Mark>,
    /// How long the holder can believe that it leads.
    lasts: Duration,
    free_from: Instant,
}

#[derive(PartialEq, Eq)]
struct Mark {
    holder: String,
    renewed: Option<MicroTime>,
    version: Option<String>,
}

impl Election {
    pub(super) fn new(identity: String, namespace: &str, name: &str, timing: Timing) -> Self {
        Self {
            identity,
            namespace: namespace.into(),
            name: name.into(),
            timing,
            known: Known::Nothing,
            seen: None,
            right: None,
        }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Who held the lease when it was last seen.
    pub(super) fn holder(&self) -> Option<&str> {
        let mark = self.seen.as_ref()?.mark.as_ref()?;
        Some(mark.holder.as_str()).filter(|holder| !holder.is_empty())
    }

    /// While leading: when the right to bind ends.
    pub(super) fn right_ends(&self) -> Option<Instant> {
        self.right
    }

    /// What to do at this moment. `wall` is written into the lease and decides nothing.
    pub(super) fn step(&mut self, now: Instant, wall: Timestamp) -> Step {
        if self.right.is_some_and(|ends| now >= ends) {
            return self.lose(Loss::Late);
        }
        let is_free = self.right.is_some() || self.is_free(now);
        match std::mem::take(&mut self.known) {
            Known::Nothing => Step::Read,
            Known::Absent if is_free => Step::Create(Box::new(self.fresh(wall))),
            Known::Absent => Step::Rest,
            Known::Present(lease) => {
                let holder = holder_of(&lease);
                let is_other = !holder.is_empty() && holder != self.identity;
                if is_other && self.right.is_some() {
                    let loss = Loss::TakenBy(holder.to_owned());
                    self.lose(loss)
                } else if is_other && !is_free {
                    Step::Rest
                } else {
                    Step::Replace(Box::new(self.claimed(*lease, wall)))
                }
            }
        }
    }

    /// The lease was read at `now`; none if it is not there.
    pub(super) fn found(&mut self, lease: Option<Lease>, now: Instant) {
        self.observe(lease.as_ref(), now);
        self.known = match lease {
            Some(lease) => Known::Present(Box::new(lease)),
            None => Known::Absent,
        };
    }

    /// A create or replace that was begun at `started` succeeded; the answer came at `now`.
    pub(super) fn written(&mut self, lease: Lease, started: Instant, now: Instant) {
        let ends = started + self.timing.renew_deadline;
        // An answer that comes too late makes nobody a leader; the next try renews.
        if self.right.is_some() || now < ends {
            self.right = Some(ends);
        }
        self.found(Some(lease), now);
    }

    /// The record that gives the lease away, if it is ours: what client-go writes.
    pub(super) fn released(&self, mut lease: Lease, wall: Timestamp) -> Option<Lease> {
        if holder_of(&lease) != self.identity {
            return None;
        }
        let transitions = lease.spec.take().and_then(|spec| spec.lease_transitions);
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            acquire_time: Some(MicroTime(wall)),
            renew_time: Some(MicroTime(wall)),
            lease_transitions: Some(transitions.unwrap_or(0)),
            ..LeaseSpec::default()
        });
        Some(lease)
    }

    fn lose(&mut self, loss: Loss) -> Step {
        self.right = None;
        Step::Lost(loss)
    }

    fn is_free(&self, now: Instant) -> bool {
        self.seen.as_ref().is_none_or(|seen| now >= seen.free_from)
    }

    fn observe(&mut self, lease: Option<&Lease>, now: Instant) {
        let mark = lease.map(Mark::of);
        let before = self.seen.take();
        self.seen = match (before, mark) {
            (Some(before), mark) if before.mark == mark => Some(before),
            // It was never there, as far as we know.
            (None, None) => None,
            // Its holder may lead until it misses the lease.
            (Some(before), None) => {
                let was_held = before.mark.as_ref().is_some_and(|mark| !mark.holder.is_empty());
                let free_from = if was_held { now + before.lasts } else { now };
                Some(Seen { mark: None, free_from, ..before })
            }
            (_, Some(mark)) => {
                let lasts = self.timing.lease_duration.max(lease.map_or(Duration::ZERO, duration));
                Some(Seen { mark: Some(mark), lasts, free_from: now + lasts })
            }
        };
    }

    fn fresh(&self, wall: Timestamp) -> Lease {
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.namespace.clone()),
            ..ObjectMeta::default()
        };
        Lease { metadata, spec: Some(self.record(MicroTime(wall), MicroTime(wall), 0)) }
    }

    /// The lease as it was read, with us as its holder.
    fn claimed(&self, mut lease: Lease, wall: Timestamp) -> Lease {
        let is_ours = holder_of(&lease) == self.identity;
        let old = lease.spec.take().unwrap_or_default();
        let transitions = old.lease_transitions.unwrap_or(0);
        let renewed = MicroTime(wall);
        lease.spec = Some(if is_ours {
            self.record(old.acquire_time.unwrap_or_else(|| renewed.clone()), renewed, transitions)
        } else {
            self.record(renewed.clone(), renewed, transitions.saturating_add(1))
        });
        lease
    }

    fn record(&self, acquired: MicroTime, renewed: MicroTime, transitions: i32) -> LeaseSpec {
        // Whole seconds, at least one. Rounded up: others may wait longer, never shorter.
        let seconds = self.timing.lease_duration.as_millis().div_ceil(1000).max(1);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
            acquire_time: Some(acquired),
            renew_time: Some(renewed),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }
}

impl Mark {
    fn of(lease: &Lease) -> Self {
        Self {
            holder: holder_of(lease).to_owned(),
            renewed: lease.spec.as_ref().and_then(|spec| spec.renew_time.clone()),
            version: lease.metadata.resource_version.clone(),
        }
    }
}

/// Empty if nobody holds it.
fn holder_of(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

fn duration(lease: &Lease) -> Duration {
    let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
    Duration::from_secs(seconds.and_then(|s| u64::try_from(s).ok()).unwrap_or(0))
}
