//! What the swarm asks of a run: to look inside, to let it calm down, and to wait for its end.

use model::Millis;

use super::{Doing, Run, Tally};
use crate::plan::Faults;
use crate::run::Replica;
use crate::world::World;

impl Run {
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    #[cfg(test)]
    pub(crate) fn sabotage(&mut self, saboteur: Box<dyn crate::swarm::Saboteur>) {
        self.saboteur = Some(saboteur);
    }

    /// Holds all replicas to this time in which volumes must come.
    #[cfg(test)]
    pub(crate) fn expect_timeout(&mut self, timeout: Millis) {
        let names = super::names(&self.settings).into_iter();
        let timeouts: Vec<_> = names.map(|name| (name, timeout)).collect();
        for replica in &mut self.replicas {
            replica.ledger.expect_timeouts(timeouts.clone());
        }
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Nothing goes wrong from now on, and nothing happens by itself; time goes on.
    pub(crate) fn calm_down(&mut self) {
        self.faults = Faults::NONE;
        self.world.calm_down();
        let goes_on = |doing: &Doing| !matches!(doing, Doing::Cut(..) | Doing::LeaderLost);
        self.agenda.retain(goes_on);
    }

    /// Lets the run go on for a while beyond its end.
    pub(crate) fn prolong(&mut self, span: Millis) {
        self.end = self.end + span;
    }

    /// Whether nothing is under way any more, except that parked units have their turn some day.
    pub(crate) fn is_quiet(&self) -> bool {
        let is_waiting = |replica: &Replica| {
            let counts = replica.scheduler.waiting();
            counts.active + counts.backoff > 0
        };
        self.world.next_at().is_none()
            && self.agenda.next_at().is_none()
            && self.replicas.iter().all(|replica| replica.next_at().is_none())
            && self.leader().is_some_and(|leader| !is_waiting(leader) && leader.is_at_rest())
    }
}
