//! Evicts pods, for others or from gangs that are not completed, by the rules of the live shell
//! (`live::dispatch::evict`).
//!
//! ```text
//! decided ─▶ the reason is sent ─▶ done ─▶ the deletion is sent ─▶ done: it goes
//!               ▲  │                          ▲  │
//!               └──┤ not now, no answer       └──┤ not now, no answer
//!                  └─────────────────────────────┴─▶ no plan, too often: it stays
//! ```
//!
//! Nothing is sent for an eviction that the engine does not want any more, or by a replica that is
//! gone. Where a pod stays, the engine is told.

use std::sync::Arc;

use model::{Event, Millis, Outcome, Preemption};

use super::replica::ReplicaId;
use super::shell::{BACKOFF_MAX, BACKOFF_MIN, LATE_MAX, PATIENCE, RequestId};
use super::{Doing, Run};
use crate::checkers::{self, Violation};
use crate::world::{NodeAt, PodAt, Step};

/// Attempts of a request that is not answered, or that the server cannot carry out.
const TRIES_MAX: u32 = 6;

/// An eviction that is out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Eviction {
    replica: ReplicaId,
    victim: PodAt,
    /// Whom it is for, and where; nobody if it is taken back from an incomplete gang.
    purpose: Option<(PodAt, NodeAt)>,
    step: Step,
    tries: u32,
    backoff: Millis,
    /// Whether the engine does not want it any more.
    is_spared: bool,
}

/// What comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Done,
    /// There is no such pod.
    Gone,
    /// It may be done another time.
    NotNow,
}

impl Run {
    /// Has pods evicted for another one.
    pub(super) fn preempt(&mut self, preemption: &Preemption) -> Result<(), Violation> {
        let leader = self.leader().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let uid = |pod| catalog.pod(pod).key.uid.clone();
        #[cfg_attr(not(test), expect(unused_mut, reason = "only saboteurs change plans"))]
        let mut plan = checkers::Eviction {
            pod: uid(preemption.pod),
            node: catalog.node_name(preemption.node).into(),
            victims: preemption.victims.iter().map(|victim| uid(*victim)).collect(),
            outranked: preemption.outranked.iter().map(|pod| uid(*pod)).collect(),
        };
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.preempt(&mut plan, &self.world);
        }
        self.tally.preemptions += 1;
        self.note(&plan.pod);
        self.tally.fingerprint.text(&plan.node);
        let is_cluster = self.is_cluster;
        let leader = self.leader_mut().expect("only a leader decides");
        // Of zones, disks and capacities of a whole cluster the rules know nothing, so they cannot
        // say who could stay.
        let known = leader.ledger.pod(&plan.pod);
        let is_beyond = is_cluster && known.is_some_and(|it| !it.facts().volumes.is_empty());
        if !is_beyond {
            checkers::check_preemption(&leader.ledger, &plan)?;
        }
        leader.ledger.preempt(&plan)?;
        let replica = leader.id;
        for uid in &plan.outranked {
            let pod = self.find_pod(uid)?;
            if !self.chance(self.faults.lost_percent) {
                self.world.propose(pod, None);
            }
        }
        let pod = self.find_pod(&plan.pod)?;
        let unknown = || Violation::Unknown { name: format!("node {}", plan.node) };
        let node = self.world.find_node(&plan.node).ok_or_else(unknown)?;
        for victim in &plan.victims {
            let victim = self.find_pod(victim)?;
            self.begin_eviction(replica, victim, Some((pod, node)));
        }
        Ok(())
    }

    pub(super) fn begin_eviction(
        &mut self,
        replica: ReplicaId,
        victim: PodAt,
        purpose: Option<(PodAt, NodeAt)>,
    ) {
        let step = if purpose.is_some() { Step::Reason } else { Step::TakeBack };
        let (tries, backoff) = (0, BACKOFF_MIN);
        let is_spared = false;
        let eviction = Eviction { replica, victim, purpose, step, tries, backoff, is_spared };
        self.requests_made += 1;
        self.evictions.insert(self.requests_made, eviction);
        self.agenda.add(self.world.now(), Doing::Evict(self.requests_made));
    }

    /// Sends a request, if it is still wanted.
    pub(super) fn evict(&mut self, id: RequestId) -> Result<(), Violation> {
        let replica = self.evictions[&id].replica;
        let Some(at) = self.replicas.iter().position(|one| one.id == replica) else {
            self.evictions.remove(&id);
            return Ok(());
        };
        self.spare(at);
        let Eviction { victim, purpose, tries, is_spared, .. } = self.evictions[&id];
        if tries == TRIES_MAX || is_spared {
            self.stays(id);
            return Ok(());
        }
        if let Some((pod, node)) = purpose {
            let (pod, node) = (&self.world.pod(pod).key.uid, &self.world.node(node).facts.name);
            let victim = &self.world.pod(victim).key.uid;
            checkers::check_eviction(&self.replicas[at].ledger, pod, node, victim)?;
        }
        self.evictions.get_mut(&id).expect("an eviction that is out is listed").tries += 1;
        if !self.chance(self.faults.lost_percent) {
            let at = self.world.now() + self.on_its_way();
            self.agenda.add(at, Doing::EvictionArrives(id));
            return Ok(());
        }
        self.world.happened_mut().lost += 1;
        if self.chance(50) {
            let late = Millis(self.dice.between(0, LATE_MAX.0));
            let late = self.world.now() + PATIENCE + late;
            self.agenda.add(late, Doing::EvictionArrivesLate(self.evictions[&id]));
        }
        self.evict_later(id, PATIENCE);
        Ok(())
    }

    /// Stops evictions that the engine of a replica does not want any more.
    fn spare(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        let (id, spared) = (replica.id, replica.scheduler.spared());
        #[cfg(test)]
        if self.saboteur.as_ref().is_some_and(|one| one.is_stubborn()) {
            return;
        }
        if spared.is_empty() {
            return;
        }
        let world = &self.world;
        for eviction in self.evictions.values_mut().filter(|eviction| eviction.replica == id) {
            eviction.is_spared |= spared.contains(&world.pod(eviction.victim).key.uid);
        }
    }

    pub(super) fn eviction_arrives(&mut self, id: RequestId) {
        let eviction = self.evictions[&id];
        if self.fences.contains_key(&eviction.replica) {
            self.evictions.remove(&id);
            return self.eviction_arrives_late(eviction);
        }
        let said = self.say(eviction);
        if self.chance(self.faults.unanswered_percent) {
            self.world.happened_mut().unanswered += 1;
            return self.evict_later(id, PATIENCE);
        }
        let at = self.world.now() + self.on_its_way();
        self.agenda.add(at, Doing::EvictionAnswered(id, said));
    }

    /// A request reaches the API server when nobody waits for its answer any more.
    pub(super) fn eviction_arrives_late(&mut self, eviction: Eviction) {
        let Eviction { replica, victim, step, .. } = eviction;
        let fence = self.fences.get(&replica);
        if fence.is_none_or(|fence| self.world.now() <= *fence) {
            self.world.post_eviction(victim, step);
        }
    }

    fn say(&mut self, Eviction { victim, step, .. }: Eviction) -> Said {
        if self.chance(self.faults.refused_percent) {
            if self.chance(25) {
                self.world.post_eviction(victim, step);
            }
            return Said::NotNow;
        }
        if self.world.post_eviction(victim, step) { Said::Done } else { Said::Gone }
    }

    pub(super) fn eviction_answered(&mut self, id: RequestId, said: Said) {
        let eviction = self.evictions.get_mut(&id).expect("an eviction that is out is listed");
        match (said, eviction.step) {
            (Said::Done, Step::Reason) => {
                (eviction.step, eviction.tries, eviction.backoff) = (Step::Delete, 0, BACKOFF_MIN);
                self.agenda.add(self.world.now(), Doing::Evict(id));
            }
            (Said::Done, Step::Delete | Step::TakeBack) | (Said::Gone, _) => {
                _ = self.evictions.remove(&id)
            }
            (Said::NotNow, _) => self.evict_later(id, Millis(0)),
        }
    }

    /// Sends it again, some time after it is given up.
    fn evict_later(&mut self, id: RequestId, given_up: Millis) {
        let eviction = self.evictions.get_mut(&id).expect("an eviction that is out is listed");
        let at = self.world.now() + given_up + eviction.backoff;
        eviction.backoff = Millis(eviction.backoff.0 * 2).min(BACKOFF_MAX);
        self.agenda.add(at, Doing::Evict(id));
    }

    /// A pod is not evicted after all.
    fn stays(&mut self, id: RequestId) {
        let eviction = self.evictions.remove(&id).expect("an eviction that is out is listed");
        let at = self.replicas.iter().position(|one| one.id == eviction.replica);
        let uid = self.world.pod(eviction.victim).key.uid.clone();
        let event = Arc::new(Event::Outcome(Outcome::EvictionFailed(uid)));
        self.deliver(at.expect("a replica that sends lives"), &event);
    }
}
