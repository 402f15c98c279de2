//! Carries out what a scheduler decides about gangs.

use model::{Disband, GangReport, GangState};

use super::Run;
use super::shell::BINDS_MAX;
use crate::checkers::{self, Violation};

impl Run {
    /// Takes pods of a gang back that cannot be completed.
    pub(super) fn disband(&mut self, disband: &Disband) -> Result<(), Violation> {
        let leader = self.leader().expect("only a leader decides");
        let catalog = leader.scheduler.catalog();
        let uids = |pods: &[model::PodId]| -> Vec<Box<str>> {
            pods.iter().map(|pod| catalog.pod(*pod).key.uid.clone()).collect()
        };
        let (evicted, bare) = (uids(&disband.evicted), uids(&disband.bare));
        let row = catalog.gang(disband.gang);
        let key = (row.namespace.clone(), row.name.clone());
        #[cfg(test)]
        if self.saboteur.as_mut().is_some_and(|saboteur| !saboteur.is_disbanded()) {
            return Ok(());
        }
        self.tally.disbands += 1;
        self.note(&key.1);
        let leader = self.leader_mut().expect("only a leader decides");
        checkers::check_disband(&leader.ledger, &key, &evicted, &bare)?;
        leader.ledger.ask(&evicted);
        let replica = leader.id;
        for uid in &evicted {
            let victim = self.find_pod(uid)?;
            self.begin_eviction(replica, victim, None);
        }
        Ok(())
    }

    /// Takes note of what a gang's owner is told. That it has started is written down, unless it
    /// gets lost.
    pub(super) fn report(&mut self, report: &GangReport) {
        self.tally.reports += 1;
        let leader = self.leader().expect("only a leader decides");
        let row = leader.scheduler.catalog().gang(report.gang);
        match &report.state {
            GangState::Started => {
                let object = row.terms.as_ref().ok().and_then(|terms| terms.object.clone());
                self.world.happened_mut().gangs += 1;
                if let Some(key) = object
                    && !self.chance(self.faults.lost_percent)
                {
                    self.world.gang_started(&key);
                }
            }
            GangState::Degraded
            | GangState::Room(_)
            | GangState::Refused
            | GangState::TimeoutsDiffer(..)
            | GangState::Waiting(_) => {}
        }
    }

    /// No gang has some of its pods on nodes without the others for too long.
    pub(super) fn check_gangs(&mut self) -> Result<(), Violation> {
        let now = self.world.now();
        let Some(leader) = self.leader_mut() else { return Ok(()) };
        let is_able = leader.in_flight < BINDS_MAX;
        leader.patience.check(&leader.ledger, now, is_able)
    }
}
