//! Since when pods that had gates can be placed: written into their `PodScheduled` condition, so
//! that whoever leads next counts how long they wait from there and not from its own start.
//!
//! A pod that is bound, or finds no room, within a second costs no write for that: its binding or
//! its reason says enough. The others wait behind those that are tried before them.

use std::time::{Duration, Instant};

use k8s::render::QUEUED;
use model::{PodId, Time};

use super::Core;
use crate::order::{Order, Tell};

/// How long a pod waits for its turn before its status says so, and how often that is looked at.
const PERIOD: Duration = Duration::from_secs(1);

impl Core {
    /// How long it may be until pods have to be told; nothing if there are none.
    pub(super) fn eligible_patience(&self) -> Option<Duration> {
        let is_due = self.may_tell() && !self.state.notes.unsaid().is_empty();
        is_due.then_some(PERIOD)
    }

    /// Tells the pods that had gates and have waited for their turn for some time.
    pub(super) fn tell_eligible(&mut self) {
        let is_early = self.state.eligible_seen.is_some_and(|at| at.elapsed() < PERIOD);
        if is_early || !self.may_tell() || self.state.notes.unsaid().is_empty() {
            return;
        }
        self.state.eligible_seen = Some(Instant::now());
        let (catalog, now) = (self.scheduler.catalog(), self.now());
        let waited = |since: Time| u128::from(now.0.saturating_sub(since.0));
        let due = self.state.notes.unsaid().iter().filter_map(|uid| {
            let pod = catalog.find_pod(uid)?;
            let since = self.scheduler.awaits_turn(pod)?;
            (waited(since) >= PERIOD.as_millis()).then_some((pod, since))
        });
        for (pod, since) in due.collect::<Vec<_>>() {
            self.tell_queued(pod, since);
        }
    }

    fn tell_queued(&mut self, pod: PodId, since: Time) {
        let uid = &self.scheduler.catalog().pod(pod).key.uid;
        let Some((status, since)) = self.state.notes.tell_queued(uid, since) else { return };
        let (reason, message) = QUEUED;
        self.send(Order::Tell(Tell {
            pod: self.reference(pod),
            scheduler: self.scheduler_of(pod),
            reason,
            message: message.into(),
            since_unix_ms: Some(self.unix_ms_at(since)),
            status: Some(status),
            has_event: false,
        }));
    }

    /// What the clock on the wall says at a time of the engine, by what it says now.
    pub(super) fn unix_ms_at(&self, at: Time) -> u64 {
        let moment = self.moment();
        moment.wall_ms.saturating_sub(moment.at.0.saturating_sub(at.0))
    }

    fn may_tell(&self) -> bool {
        let state = &self.state;
        state.is_leading && !state.is_draining && state.is_synced()
    }
}
