//! Carries out what a scheduler decides, by the rules of the live shell (`live::dispatch`).
//!
//! ```text
//!              ┌──── busy, or on no node and a request may arrive ─────┐
//!              ▼                                                       │
//! decided ─▶ sent ─▶ arrives ─▶ answered ─▶ bound, gone: settled       │
//!              │        │          └─▶ conflict, broken ─┐             │
//!              └────────┴─▶ silence ─────────────────────┴─▶ read ─▶ settled
//! ```
//!
//! A request without an answer is never given up by time: the pod is read, and if it is on no node
//! the same binding is sent again, because the first may yet arrive.

use std::sync::Arc;

use model::{Attempt, Event, Millis, Outcome};

use super::replica::ReplicaId;
use super::{Doing, Run};
use crate::world::{Answer, NodeAt, PodAt, Whereabouts};

/// Bindings that may be out at a time.
pub(super) const BINDS_MAX: usize = 64;
/// How long an answer may take before the pod is read instead.
pub(super) const PATIENCE: Millis = Millis::seconds(15);
/// How long after it was given up a late request arrives, at most.
pub(super) const LATE_MAX: Millis = Millis::seconds(10);
pub(super) const BACKOFF_MIN: Millis = Millis(100);
pub(super) const BACKOFF_MAX: Millis = Millis::seconds(5);

/// A binding that is out.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    replica: ReplicaId,
    pod: PodAt,
    node: NodeAt,
    attempt: Attempt,
    backoff: Millis,
    /// Whether a copy of it that was not answered may yet arrive.
    is_open: bool,
}

/// A request, by number.
pub(crate) type RequestId = u64;

/// What led to reading a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// No answer: the request may yet arrive.
    Silence,
    /// A fault of the server: this request came to nothing, which says nothing of earlier ones.
    Fault,
    /// A conflict: earlier requests would meet it as well.
    Conflict,
}

impl Run {
    /// Sends a binding that the leader decided on.
    pub(super) fn carry_out(
        &mut self,
        replica: ReplicaId,
        pod: PodAt,
        node: NodeAt,
        attempt: Attempt,
    ) {
        self.requests_made += 1;
        let id = self.requests_made;
        let request = Request { replica, pod, node, attempt, backoff: BACKOFF_MIN, is_open: false };
        self.requests.insert(id, request);
        self.world.order(pod, node);
        #[cfg(test)]
        if self.saboteur.as_mut().is_some_and(|saboteur| !saboteur.is_sent()) {
            return;
        }
        self.send(id);
    }

    fn send(&mut self, id: RequestId) {
        if !self.chance(self.faults.lost_percent) {
            let at = self.world.now() + self.on_its_way();
            self.agenda.add(at, Doing::Arrives(id));
            return;
        }
        self.world.happened_mut().lost += 1;
        let given_up = self.world.now() + PATIENCE;
        self.agenda.add(given_up, Doing::Read(id, After::Silence));
        if self.chance(50) {
            let at = given_up + Millis(self.dice.between(0, LATE_MAX.0));
            let Request { replica, pod, node, .. } = self.requests[&id];
            self.agenda.add(at, Doing::ArrivesLate { replica, pod, node });
        }
    }

    /// A request reaches the API server.
    pub(super) fn arrives(&mut self, id: RequestId) {
        let Request { replica, pod, node, .. } = self.requests[&id];
        if self.fences.contains_key(&replica) {
            self.requests.remove(&id);
            return self.arrives_late(replica, pod, node);
        }
        let answer = self.answer(pod, node);
        if self.chance(self.faults.unanswered_percent) {
            self.world.happened_mut().unanswered += 1;
            self.agenda.add(self.world.now() + PATIENCE, Doing::Read(id, After::Silence));
        } else {
            let at = self.world.now() + self.on_its_way();
            self.agenda.add(at, Doing::Answered(id, answer));
        }
    }

    /// A request reaches the API server when nobody waits for its answer any more. The lease
    /// guarantees that none of a replica that is gone does so after another has taken over.
    pub(super) fn arrives_late(&mut self, replica: ReplicaId, pod: PodAt, node: NodeAt) {
        let fence = self.fences.get(&replica);
        if fence.is_none_or(|fence| self.world.now() <= *fence) {
            self.world.post_binding(pod, node);
        }
    }

    fn answer(&mut self, pod: PodAt, node: NodeAt) -> Answer {
        if !self.chance(self.faults.refused_percent) {
            return self.world.post_binding(pod, node);
        }
        match self.dice.between(0, 3) {
            0 => Answer::Busy,
            1 => {
                self.world.post_binding(pod, node);
                Answer::Broken
            }
            _ => Answer::Broken,
        }
    }

    pub(super) fn answered(&mut self, id: RequestId, answer: Answer) {
        if !self.is_awaited(id) {
            return;
        }
        match answer {
            Answer::Bound => self.settle(id, true),
            Answer::NotFound | Answer::Gated => self.settle(id, false),
            Answer::Conflict => self.read(id, After::Conflict),
            Answer::Broken => self.read(id, After::Fault),
            Answer::Busy => self.send_later(id),
        }
    }

    /// Reads the pod, as often as it takes to get an answer.
    pub(super) fn read(&mut self, id: RequestId, after: After) {
        if !self.is_awaited(id) {
            return;
        }
        if self.chance(self.faults.lost_percent) {
            self.world.happened_mut().lost += 1;
            self.agenda.add(self.world.now() + PATIENCE, Doing::Read(id, after));
            return;
        }
        let at = self.world.now() + self.on_its_way();
        self.agenda.add(at, Doing::ReadArrives(id, after));
    }

    /// A read reaches the API server.
    pub(super) fn read_arrives(&mut self, id: RequestId, after: After) {
        let Request { pod, node, .. } = self.requests[&id];
        let found = self.world.read(pod, node);
        let at = self.world.now() + self.on_its_way();
        self.agenda.add(at, Doing::Found(id, after, found));
    }

    pub(super) fn found(&mut self, id: RequestId, after: After, found: Whereabouts) {
        if !self.is_awaited(id) {
            return;
        }
        let request = self.requests.get_mut(&id).expect("a request that is out is listed");
        request.is_open |= after == After::Silence;
        let may_arrive = request.is_open && after != After::Conflict;
        match found {
            Whereabouts::There => self.settle(id, true),
            Whereabouts::Nowhere if may_arrive => self.send_later(id),
            Whereabouts::Nowhere | Whereabouts::Elsewhere => self.settle(id, false),
        }
    }

    fn send_later(&mut self, id: RequestId) {
        let request = self.requests.get_mut(&id).expect("a request that is out is listed");
        let at = self.world.now() + request.backoff;
        request.backoff = Millis(request.backoff.0 * 2).min(BACKOFF_MAX);
        self.agenda.add(at, Doing::SendAgain(id));
    }

    pub(super) fn send_again(&mut self, id: RequestId) {
        if self.is_awaited(id) {
            self.send(id);
        }
    }

    /// It is certain what became of a binding.
    fn settle(&mut self, id: RequestId, is_bound: bool) {
        let request = self.requests.remove(&id).expect("a request that is out is listed");
        let Request { replica, pod, attempt, .. } = request;
        let at = self.replicas.iter().position(|one| one.id == replica);
        let at = at.expect("a replica that waits for an answer lives");
        self.replicas[at].in_flight -= 1;
        if is_bound {
            return;
        }
        self.world.refuse(pod);
        let uid = self.world.pod(pod).key.uid.clone();
        let event = Arc::new(Event::Outcome(Outcome::BindRefused { uid, attempt }));
        self.deliver(at, &event);
    }

    /// Whether somebody still waits for what becomes of a request. Nobody does if its replica is
    /// gone: whoever leads next reads what happened.
    fn is_awaited(&mut self, id: RequestId) -> bool {
        let is_awaited = !self.fences.contains_key(&self.requests[&id].replica);
        if !is_awaited {
            self.requests.remove(&id);
        }
        is_awaited
    }

    /// How long a request, or its answer, takes.
    pub(super) fn on_its_way(&mut self) -> Millis {
        let (low, high) = self.faults.request;
        Millis(self.dice.between(low.0, high.0))
    }
}
