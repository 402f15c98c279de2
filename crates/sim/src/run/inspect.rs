//! Looks at everything that schedulers keep, after every step, if that is wanted.

use super::Run;
use crate::checkers::{Inspector, Kept, Violation};

impl Run {
    /// Looks at everything that the leader keeps, at how every replica serves whom, and at what
    /// events cost every replica.
    pub(super) fn inspect(&mut self) -> Result<(), Violation> {
        if let Some(violation) = self.overworked.take() {
            return Err(violation);
        }
        let Some((id, mut inspector)) = self.inspector.take() else { return Ok(()) };
        for replica in &mut self.replicas {
            replica.tiers.check(&replica.ledger, &replica.scheduler)?;
        }
        // Also across leaders, whose ledgers know nothing of each other.
        if let Some((pod, node)) = self.world.overfull() {
            let pod = self.world.pod(pod).key.name.to_string();
            let node = self.world.node(node).facts.name.clone();
            return Err(Violation::Overfull { pod, node });
        }
        let Some(leader) = self.leader() else {
            self.inspector = Some((id, inspector));
            return Ok(());
        };
        if leader.id != id {
            inspector = Inspector::default();
        }
        let now = self.world.now();
        let is_idle = leader.scheduler.next_wakeup().is_none_or(|at| at > now);
        #[cfg_attr(not(test), expect(unused_mut, reason = "only saboteurs change it"))]
        let mut kept = Kept::of(&leader.scheduler);
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.kept(&mut kept);
        }
        let leader = self.leader().expect("somebody leads");
        inspector.inspect(&leader.ledger, (&leader.scheduler, &kept), (now, is_idle))?;
        self.inspector = Some((leader.id, inspector));
        Ok(())
    }
}
