//! Who leads. A leader can be lost in the middle of anything; a standby that watched all along
//! takes over some seconds later, once it has seen everything that the API server knows by then.
//! In the place of the lost replica a fresh one starts, which has to list everything.

use model::{Millis, Time};

use super::replica::{Replica, ReplicaId};
use super::{Doing, Run};
use crate::world::ByKind;

/// How long nobody leads, at least and at most.
const VACANT: (u64, u64) = (2_000, 20_000);
/// How long a replica takes to start, at least and at most.
const STARTS: (u64, u64) = (500, 10_000);

/// Who leads, or is about to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lead {
    /// Nobody.
    Vacant,
    /// Has the lease, but has not yet seen these versions of every kind.
    Catching(ReplicaId, ByKind<u64>),
    /// Decides.
    Leading(ReplicaId),
}

impl Run {
    /// Starts a replica, which lists everything first.
    pub(super) fn start_replica(&mut self, at: Time) {
        self.replicas_made += 1;
        let id = ReplicaId(self.replicas_made);
        self.replicas.push(Replica::new(id, &self.settings, self.seed, &self.kinds));
        for event in self.told.clone() {
            self.deliver(self.replicas.len() - 1, &event);
        }
        for kind in &self.kinds {
            self.agenda.add(at, Doing::Lists(id, *kind));
        }
        // A replica has its cuts from the start: also in the middle of its first list.
        self.expect_cut(id);
    }

    /// The leader ends, in the middle of anything.
    pub(super) fn leader_lost(&mut self) {
        let (Lead::Leading(lost) | Lead::Catching(lost, _)) = self.lead else { return };
        self.world.happened_mut().leaders_lost += 1;
        self.lead = Lead::Vacant;
        self.world.forget_scheduler();
        self.replicas.retain(|replica| replica.id != lost);
        let takes_over = self.world.now() + Millis(self.dice.between(VACANT.0, VACANT.1));
        self.fences.insert(lost, takes_over);
        self.agenda.add(takes_over, Doing::TakesOver);
        let starts = self.world.now() + Millis(self.dice.between(STARTS.0, STARTS.1));
        self.start_replica(starts);
    }

    /// The replica that has been there longest gets the lease.
    pub(super) fn takes_over(&mut self) {
        let first = self.replicas.first().expect("there is always a standby").id;
        self.lead = Lead::Catching(first, self.versions);
    }

    /// Lets a replica that has the lease lead once it has seen enough.
    pub(super) fn check_lead(&mut self) {
        let Lead::Catching(id, versions) = self.lead else { return };
        let replica = self.replicas.iter().find(|replica| replica.id == id);
        let replica = replica.expect("whoever has the lease lives");
        if replica.is_synced() && replica.has_seen(versions) {
            self.lead = Lead::Leading(id);
            self.expect_loss();
        }
    }

    fn expect_loss(&mut self) {
        if let Some(at) = self.some_time(self.faults.leader_lost_every) {
            self.agenda.add(at, Doing::LeaderLost);
        }
    }

    pub(super) fn expect_cut(&mut self, id: ReplicaId) {
        if let Some(at) = self.some_time(self.faults.watch_cut_every) {
            let kind = self.dice.pick(&self.kinds);
            self.agenda.add(at, Doing::Cut(id, kind));
        }
    }

    /// When something happens next that happens once in a while.
    fn some_time(&mut self, mean: Option<Millis>) -> Option<Time> {
        let mean = mean?;
        Some(self.world.now() + Millis(self.dice.between(1, 2 * mean.0)))
    }
}
