//! Disruption budgets: how many of which pods may go, by how many are well at the moment.

use model::{BudgetFacts, Event};

use super::records::{JobAt, Phase, PodAt};
use super::{Kind, World};
use crate::plan::{Budget, Job};

/// A budget, and the jobs whose pods it is about.
pub(super) struct BudgetRecord {
    facts: BudgetFacts,
    min_available: i32,
    jobs: Box<[JobAt]>,
}

impl BudgetRecord {
    pub(super) fn new(budget: Budget, jobs: &[Job]) -> Self {
        let Budget { name, namespace, selector, min_available } = budget;
        let is_meant = |job: &Job| job.spec.namespace == namespace && selector.matches(&job.labels);
        let meant = jobs.iter().enumerate().filter(|(_, job)| is_meant(job));
        let meant = meant.map(|(at, _)| JobAt(at)).collect();
        let facts = BudgetFacts {
            namespace: namespace.into(),
            name: name.into(),
            selector: Some(selector),
            ..BudgetFacts::default()
        };
        Self { facts, min_available, jobs: meant }
    }
}

impl World {
    /// Counts a pod, or does not any more, if it is well: on a node, and to stay there.
    pub(super) fn count_healthy(&mut self, pod: PodAt, sign: i32) {
        let record = &self.pods[pod.0];
        if matches!(record.phase, Phase::Running(_)) && !record.is_terminating {
            self.healthy[record.job.0] += sign;
        }
    }

    /// Brings up to date how many pods may go.
    pub(super) fn renew_budgets(&mut self) {
        for at in 0..self.budgets.len() {
            let BudgetRecord { facts, min_available, jobs } = &mut self.budgets[at];
            let healthy: i32 = jobs.iter().map(|job| self.healthy[job.0]).sum();
            let allowed = (healthy - *min_available).max(0);
            if allowed != facts.allowed {
                facts.allowed = allowed;
                let event = Event::BudgetApplied(Box::new(facts.clone()));
                self.publish(Kind::Budgets, event);
            }
        }
    }

    pub(super) fn budgets(&self) -> impl Iterator<Item = &BudgetFacts> {
        self.budgets.iter().map(|budget| &budget.facts)
    }
}
