//! Writes what pods need before they can be bound, by the rules of the live shell
//! (`live::dispatch::prepare`).
//!
//! ```text
//!              ┌──── busy, or not written and a request may arrive ────┐
//!              ▼                                                       │
//! decided ─▶ sent ─▶ arrives ─▶ answered ─▶ written: the next one      │
//!              │        │          ├─▶ not found: refused              │
//!              │        │          └─▶ conflict, broken ─┐             │
//!              └────────┴─▶ silence ─────────────────────┴─▶ read ─▶ written, refused
//! ```
//!
//! The writes of a pod go one after the other, each about one state of its object. The first that
//! is refused ends it; what was written before stays.

use std::sync::Arc;

use model::{
    Attempt, Decision, Event, Millis, Outcome, PodId, PodState, Preparation, Unprepared, Write,
};

use super::replica::ReplicaId;
use super::shell::{BACKOFF_MAX, BACKOFF_MIN, LATE_MAX, PATIENCE, RequestId};
use super::{Doing, Run};
use crate::checkers::{self, Given, Ledger, Spot, Violation};
use crate::world::{PodAt, Said, Written};

/// What is to be written for a pod.
#[derive(Clone, Debug)]
pub(crate) struct Prepare {
    replica: ReplicaId,
    pod: PodAt,
    attempt: Attempt,
    writes: Vec<Write>,
    /// The versions of what was written so far.
    versions: Vec<u64>,
    backoff: Millis,
}

/// What happens to the write that is out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WriteStep {
    Sent,
    Arrives,
    /// It arrives when nobody waits for an answer.
    ArrivesLate,
    Answered(Reply),
    /// The object is read, after a conflict or not.
    Read {
        is_conflict: bool,
    },
    ReadArrives {
        is_conflict: bool,
    },
    Found {
        is_conflict: bool,
        said: Said,
    },
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Written(Written),
    /// 500: something broke, before it was written or after.
    Broken,
    /// 429: not now; nothing was done.
    Busy,
}

/// The uid of a claim that is known.
fn uid_of(ledger: &Ledger, claim: &str) -> Box<str> {
    ledger.storage().claim(claim).map(|claim| claim.uid.clone()).unwrap_or_default()
}

// === What the leader decides ===

impl Run {
    /// Takes in the pods of a unit that are on their way from now on: those for which something is
    /// written, and those for which that is not needed. Then has it written.
    pub(super) fn begin_commit(&mut self, orders: Vec<Preparation>) -> Result<(), Violation> {
        // Whoever is on his way has something that is written, or goes with somebody who has.
        if !self.has_storage || orders.is_empty() {
            return Ok(());
        }
        let leader = self.leader().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let mut members: Vec<Given> = Vec::new();
        let own: Vec<PodId> = orders.iter().map(|order| order.pod).collect();
        let pods = match own.iter().all(|pod| catalog.pod(*pod).gang.is_none()) {
            true => own,
            false => {
                let waiting = leader.ledger.waiting();
                waiting.filter_map(|(uid, _)| catalog.find_pod(uid)).collect()
            }
        };
        let is_waiting = |pod: &PodId| {
            let known = leader.ledger.pod(&catalog.pod(*pod).key.uid);
            known.is_some_and(|known| known.spot == Spot::Waiting)
        };
        for pod in pods.into_iter().filter(is_waiting) {
            let PodState::Assumed(node, attempt) = catalog.pod(pod).state else { continue };
            let assigned = leader.scheduler.usage().assigned().of(pod);
            let given = assigned.map_or(&[][..], |(_, given)| given);
            let order = orders.iter().find(|order| order.pod == pod);
            let given = Given {
                uid: catalog.pod(pod).key.uid.clone(),
                node: catalog.node_name(node).into(),
                attempt,
                given: given.iter().map(|it| (it.claim.clone(), it.volume.clone())).collect(),
                uids: given.iter().map(|it| uid_of(&leader.ledger, &it.claim)).collect(),
                writes: order.map_or(Vec::new(), |order| order.writes.clone()),
                is_written: order.is_none(),
                versions: Box::default(),
            };
            members.push(given);
        }
        members.sort_by_key(|given| given.attempt);
        if members.is_empty() {
            return Ok(());
        }
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.prepare(&mut members);
        }
        let leader = self.leader_mut().expect("only a leader decides");
        for given in &members {
            checkers::check_given(&leader.ledger, given)?;
            checkers::check_binding(&leader.ledger, &given.uid, &given.node)?;
            leader.ledger.assume(&given.uid, &given.node, given.attempt);
            leader.ledger.give(given);
        }
        let uids: Vec<Box<str>> = members.iter().map(|given| given.uid.clone()).collect();
        checkers::check_whole(&leader.ledger, &uids)?;
        leader.ledger.begin_commit(&uids);
        let replica = leader.id;
        for given in members {
            self.note(&given.uid);
            self.tally.fingerprint.text(&given.node);
            self.carry_out_writes(replica, given)?;
        }
        Ok(())
    }

    /// Takes in that pods are not on their way any more.
    pub(super) fn unprepared(&mut self, pod: PodId, why: &Unprepared) {
        let is_late = *why == Unprepared::TimedOut;
        self.world.happened_mut().unprepared += 1;
        self.world.happened_mut().timed_out += u64::from(is_late);
        let leader = self.leader_mut().expect("only a leader decides");
        let uid = leader.scheduler.catalog().pod(pod).key.uid.clone();
        leader.ledger.take_back(&uid);
        if is_late {
            leader.ledger.timed_out(&uid);
        }
        self.note(&uid);
        if let Some(pod) = self.world.find_pod(&uid)
            && !self.chance(self.faults.lost_percent)
        {
            self.world.propose(pod, None);
        }
    }

    /// Takes in that pods are not on their way any more because one of them goes, of which nobody
    /// is told.
    pub(super) fn sync_commits(&mut self) {
        if !self.has_storage {
            return;
        }
        let leader = self.leader_mut().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let is_on_its_way = |uid: &str| {
            let pod = catalog.find_pod(uid).map(|pod| catalog.pod(pod).state);
            matches!(pod, Some(PodState::Assumed(..)))
        };
        leader.ledger.drop_leaving(is_on_its_way);
    }

    /// A unit that was on its way goes whole, or not at all.
    pub(super) fn check_commits(&mut self, decisions: &[Decision]) -> Result<(), Violation> {
        let leader = self.leader().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let uid = |decision: &Decision| match decision {
            Decision::Bind { pod, .. } => Some(catalog.pod(*pod).key.uid.clone()),
            Decision::Prepare(_)
            | Decision::Unprepared { .. }
            | Decision::Preempt(_)
            | Decision::Wait(_)
            | Decision::Disband(_)
            | Decision::Report(_) => None,
        };
        #[cfg_attr(not(test), expect(unused_mut, reason = "only saboteurs change it"))]
        let mut bound: Vec<Box<str>> = decisions.iter().filter_map(uid).collect();
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.bound(&mut bound);
        }
        let leader = self.leader().expect("only a leader decides");
        checkers::check_commits(&leader.ledger, &bound)
    }

    fn carry_out_writes(&mut self, replica: ReplicaId, given: Given) -> Result<(), Violation> {
        // Whoever only goes with others needs nothing.
        if given.is_written {
            return Ok(());
        }
        let pod = self.find_pod(&given.uid)?;
        let Given { attempt, writes, node, .. } = given;
        if !self.chance(self.faults.lost_percent) {
            self.world.propose(pod, Some(&node));
        }
        let leader = self.leader_mut().expect("only a leader decides");
        leader.in_flight += 1;
        self.requests_made += 1;
        let (versions, backoff) = (Vec::new(), BACKOFF_MIN);
        let prepare = Prepare { replica, pod, attempt, writes, versions, backoff };
        self.prepares.insert(self.requests_made, prepare);
        self.agenda.add(self.world.now(), Doing::Writes(self.requests_made, WriteStep::Sent));
        Ok(())
    }
}

// === Writes ===

impl Run {
    pub(super) fn write_step(&mut self, id: RequestId, step: WriteStep) {
        let Some(prepare) = self.prepares.get(&id) else { return };
        let fence = self.fences.get(&prepare.replica).copied();
        match step {
            WriteStep::Arrives | WriteStep::ArrivesLate if fence.is_some() => {
                // Until another one leads, what is out may arrive.
                if fence >= Some(self.world.now()) {
                    let write = self.write_of(id);
                    self.world.post_write(&write);
                }
                _ = self.prepares.remove(&id);
            }
            // Whoever leads next reads what happened.
            _ if fence.is_some() => _ = self.prepares.remove(&id),
            WriteStep::Sent => self.send_write(id),
            WriteStep::Arrives => self.write_arrives(id),
            WriteStep::ArrivesLate => {
                let write = self.write_of(id);
                self.world.post_write(&write);
                _ = self.prepares.remove(&id);
            }
            WriteStep::Answered(reply) => self.write_answered(id, reply),
            WriteStep::Read { is_conflict } => self.read_write(id, is_conflict),
            WriteStep::ReadArrives { is_conflict } => {
                let said = self.world.read_write(&self.write_of(id));
                self.write_soon(id, WriteStep::Found { is_conflict, said });
            }
            WriteStep::Found { is_conflict, said } => match said {
                Said::So(version) => self.written(id, version),
                Said::Gone => self.write_refused(id),
                Said::Otherwise if is_conflict => self.write_refused(id),
                Said::Otherwise => self.write_later(id),
            },
        }
    }

    /// The write that is out.
    fn write_of(&self, id: RequestId) -> Write {
        let prepare = &self.prepares[&id];
        prepare.writes[prepare.versions.len()].clone()
    }

    fn write_soon(&mut self, id: RequestId, step: WriteStep) {
        let at = self.world.now() + self.on_its_way();
        self.agenda.add(at, Doing::Writes(id, step));
    }

    fn send_write(&mut self, id: RequestId) {
        if self.is_all_written(id) {
            return self.all_written(id);
        }
        if !self.chance(self.faults.lost_percent) {
            return self.write_soon(id, WriteStep::Arrives);
        }
        self.world.happened_mut().lost += 1;
        let given_up = self.world.now() + PATIENCE;
        self.agenda.add(given_up, Doing::Writes(id, WriteStep::Read { is_conflict: false }));
        if self.chance(50) {
            let late = given_up + Millis(self.dice.between(0, LATE_MAX.0));
            // A copy that is on its way by itself.
            let copy = Prepare { writes: vec![self.write_of(id)], ..self.prepares[&id].clone() };
            self.requests_made += 1;
            let copy = Prepare { versions: Vec::new(), ..copy };
            self.prepares.insert(self.requests_made, copy);
            self.agenda.add(late, Doing::Writes(self.requests_made, WriteStep::ArrivesLate));
        }
    }

    fn write_arrives(&mut self, id: RequestId) {
        let write = self.write_of(id);
        let reply = if !self.chance(self.faults.refused_percent) {
            Reply::Written(self.world.post_write(&write))
        } else {
            match self.dice.between(0, 3) {
                0 => Reply::Busy,
                1 => {
                    self.world.post_write(&write);
                    Reply::Broken
                }
                _ => Reply::Broken,
            }
        };
        if self.chance(self.faults.unanswered_percent) {
            self.world.happened_mut().unanswered += 1;
            let at = self.world.now() + PATIENCE;
            self.agenda.add(at, Doing::Writes(id, WriteStep::Read { is_conflict: false }));
        } else {
            self.write_soon(id, WriteStep::Answered(reply));
        }
    }

    fn write_answered(&mut self, id: RequestId, reply: Reply) {
        match reply {
            Reply::Written(Written::Done(version)) => self.written(id, version),
            Reply::Written(Written::NotFound) => self.write_refused(id),
            Reply::Written(Written::Conflict) => self.read_write(id, true),
            Reply::Broken => self.read_write(id, false),
            Reply::Busy => self.write_later(id),
        }
    }

    fn read_write(&mut self, id: RequestId, is_conflict: bool) {
        if self.chance(self.faults.lost_percent) {
            // Nothing is known: the same again.
            self.world.happened_mut().lost += 1;
            let at = self.world.now() + PATIENCE;
            self.agenda.add(at, Doing::Writes(id, WriteStep::Sent));
            return;
        }
        self.write_soon(id, WriteStep::ReadArrives { is_conflict });
    }

    fn write_later(&mut self, id: RequestId) {
        let prepare = self.prepares.get_mut(&id).expect("what is out is listed");
        let at = self.world.now() + prepare.backoff;
        prepare.backoff = Millis(prepare.backoff.0 * 2).min(BACKOFF_MAX);
        self.agenda.add(at, Doing::Writes(id, WriteStep::Sent));
    }

    fn written(&mut self, id: RequestId, version: u64) {
        let prepare = self.prepares.get_mut(&id).expect("what is out is listed");
        prepare.versions.push(version);
        prepare.backoff = BACKOFF_MIN;
        self.send_write(id);
    }

    fn is_all_written(&self, id: RequestId) -> bool {
        let Prepare { writes, versions, .. } = &self.prepares[&id];
        versions.len() == writes.len()
    }

    fn all_written(&mut self, id: RequestId) {
        let Prepare { replica, pod, attempt, versions, .. } =
            self.prepares.remove(&id).expect("what is out is listed");
        let uid = self.world.pod(pod).key.uid.clone();
        let versions = versions.into();
        self.tell(replica, Outcome::Prepared { uid, attempt, versions });
    }

    fn write_refused(&mut self, id: RequestId) {
        let Prepare { replica, pod, attempt, .. } =
            self.prepares.remove(&id).expect("what is out is listed");
        self.world.happened_mut().refused += 1;
        let uid = self.world.pod(pod).key.uid.clone();
        self.tell(replica, Outcome::PrepareRefused { uid, attempt });
    }

    fn tell(&mut self, replica: ReplicaId, outcome: Outcome) {
        let at = self.replicas.iter().position(|one| one.id == replica);
        let at = at.expect("a replica that waits for an answer lives");
        self.replicas[at].in_flight -= 1;
        self.deliver(at, &Arc::new(Event::Outcome(outcome)));
    }
}
