//! What happens to binds on bad days.

use std::collections::VecDeque;
use std::time::Duration;

/// What is done to a bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is answered with this code; the server never sees it.
    Answer(u16),
    /// It is never answered; the server never sees it.
    Swallow,
    /// It is never answered, though the server acted.
    Unanswered,
    /// The server acts, then the connection is cut in place of the answer.
    Cut,
    /// It reaches the server late.
    Delay(Duration),
    /// It reaches the server when [`super::Proxy::release`] says so, even if the scheduler is gone.
    Hold,
}

impl Fault {
    /// For the next `count` binds.
    pub fn next(self, count: usize) -> Plan {
        Plan { fault: self, skip: 0, count, every: 1 }
    }

    /// For all binds after the next `skip`.
    pub fn after(self, skip: usize) -> Plan {
        Plan { fault: self, skip, count: usize::MAX, every: 1 }
    }

    /// For every `every`th bind, `count` times.
    pub fn every(self, every: usize, count: usize) -> Plan {
        Plan { fault: self, skip: 0, count, every }
    }
}

/// Which binds a fault is for.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What is done.
    pub fault: Fault,
    /// So many binds pass first.
    pub skip: usize,
    /// So many binds are meant.
    pub count: usize,
    /// One of so many is meant, the last of them.
    pub every: usize,
}

/// Plans, one after the other.
#[derive(Debug, Default)]
pub(super) struct Faults {
    plans: VecDeque<Plan>,
    /// Binds since the front plan was last used.
    passed: usize,
}

impl Faults {
    pub(super) fn push(&mut self, plan: Plan) {
        self.plans.push_back(plan);
    }

    pub(super) fn clear(&mut self) {
        self.plans.clear();
        self.passed = 0;
    }

    /// What is done to the bind that has just arrived.
    pub(super) fn next(&mut self) -> Option<Fault> {
        let plan = self.plans.front_mut()?;
        if plan.skip > 0 {
            plan.skip -= 1;
            return None;
        }
        self.passed += 1;
        if self.passed < plan.every {
            return None;
        }
        self.passed = 0;
        plan.count = plan.count.saturating_sub(1);
        let fault = plan.fault;
        if plan.count == 0 {
            self.plans.pop_front();
        }
        Some(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(plans: &[Plan], expected: &str) {
        let mut faults = Faults::default();
        plans.iter().for_each(|plan| faults.push(*plan));
        let letter = |fault: Option<Fault>| match fault {
            None => '.',
            Some(Fault::Answer(_)) => 'a',
            Some(Fault::Swallow) => 's',
            Some(Fault::Unanswered) => 'u',
            Some(Fault::Cut) => 'c',
            Some(Fault::Delay(_)) => 'd',
            Some(Fault::Hold) => 'h',
        };
        let found: String = expected.chars().map(|_| letter(faults.next())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn plans_follow_each_other() {
        check(&[], "..");
        check(&[Fault::Answer(409).next(2), Fault::Swallow.next(1)], "aas..");
        check(&[Fault::Cut.every(3, 2), Fault::Hold.after(1)], "..c..c.hhh");
    }
}
