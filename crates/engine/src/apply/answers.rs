//! What the API server answers where it does not do what was decided.

use model::{Attempt, PodId, PodState, Time, UnitId};

use crate::Scheduler;
use crate::queue::{Place, Start};

impl Scheduler {
    /// A binding of ours was refused: the pod is on no node and is tried again.
    pub(super) fn refused(&mut self, uid: &str, attempt: Attempt, now: Time) {
        let Some(pod) = self.catalog.find_pod(uid) else { return };
        let PodState::Assumed(node, current) = self.catalog.pod(pod).state else { return };
        if attempt != current {
            return;
        }
        self.unplace(pod, node, now);
        // An API server never gives a pod to another scheduler; whoever stands in for one may.
        if !self.is_to_stay(pod) {
            return self.forget(pod, now);
        }
        if self.catalog.pod(pod).gang.is_some() {
            return self.refused_in_gang(pod, node, now);
        }
        self.retry_alone(pod, now);
    }

    /// Tries a pod by itself again, as what it is by now: it may have changed since it was sent.
    pub(crate) fn retry_alone(&mut self, pod: PodId, now: Time) {
        let (standing, is_gated) = self.standing(pod);
        let unit = self.queue.unit_alone(pod).unwrap_or_else(|| {
            // It was sent with its gang, and has left that since.
            self.queue.take_out(pod);
            self.queue.add(vec![pod], None, standing, now, &Start::of(is_gated))
        });
        if is_gated {
            return self.queue.renew(unit, standing, now, &Start::Gated);
        }
        self.queue.set_standing(unit, standing);
        self.queue.retry(unit, now);
    }

    /// A pod that was to be evicted stays: whoever counted on its room thinks again.
    pub(super) fn eviction_failed(&mut self, uid: &str, now: Time) {
        self.evictions.end(uid);
        let Some(pod) = self.catalog.find_pod(uid) else { return };
        self.catalog.set_evicted(pod, false);
        let Some(node) = self.catalog.pod(pod).state.node() else { return };
        for waiting in self.catalog.nominated_to(node).to_vec() {
            let unit = self.queue.unit_of(waiting);
            let is_parked = |unit: &UnitId| matches!(self.queue.place(*unit), Place::Parked(_));
            if let Some(unit) = unit.filter(is_parked) {
                self.queue.retry(unit, now);
            }
        }
    }
}
