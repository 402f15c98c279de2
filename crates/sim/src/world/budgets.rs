//! Disruption budgets: how many of which pods may go, by how many are well at the moment.

use std::collections::{BTreeMap, BTreeSet};

use model::BudgetFacts;

use super::World;
use super::records::{JobAt, Phase, PodAt};
use crate::plan::{Budget, Job, Stay};

/// All budgets, and which of them a job's pods are in.
pub(super) struct Budgets {
    all: Vec<BudgetRecord>,
    of_jobs: Vec<Vec<usize>>,
    /// Those of which pods have come or gone since they were last published.
    stale: BTreeSet<usize>,
}

struct BudgetRecord {
    facts: BudgetFacts,
    stay: Stay,
    /// How many of its pods there are to be, and how many are well.
    expected: i32,
    healthy: i32,
}

impl Budgets {
    pub(super) fn new(budgets: Vec<Budget>, jobs: &[Job]) -> Self {
        let mut by_namespace: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, job) in jobs.iter().enumerate() {
            by_namespace.entry(&job.spec.namespace).or_default().push(at);
        }
        let mut of_jobs = vec![Vec::new(); jobs.len()];
        let mut all = Vec::new();
        for Budget { name, namespace, selector, stay } in budgets {
            let meant = by_namespace.get(&*namespace).into_iter().flatten();
            for job in meant.filter(|job| selector.matches(&jobs[**job].labels)) {
                of_jobs[*job].push(all.len());
            }
            let facts = BudgetFacts {
                namespace: namespace.into(),
                name: name.into(),
                selector: Some(selector),
                ..BudgetFacts::default()
            };
            all.push(BudgetRecord { facts, stay, expected: 0, healthy: 0 });
        }
        Self { all, of_jobs, stale: BTreeSet::new() }
    }

    fn each(&mut self, job: JobAt, change: impl Fn(&mut BudgetRecord)) {
        for at in &self.of_jobs[job.0] {
            change(&mut self.all[*at]);
            self.stale.insert(*at);
        }
    }
}

impl World {
    /// Counts a pod, or does not any more, if it is well: on a node, and to stay there.
    pub(super) fn count_healthy(&mut self, pod: PodAt, sign: i32) {
        let record = &self.pods[pod.0];
        if matches!(record.phase, Phase::Running(_)) && !record.is_terminating {
            self.budgets.each(record.job, |budget| budget.healthy += sign);
        }
    }

    /// Counts the pods that there are to be of a job that arrives.
    pub(super) fn count_expected(&mut self, job: JobAt) {
        let pods = i32::try_from(self.jobs[job.0].pods).unwrap_or(i32::MAX);
        self.budgets.each(job, |budget| budget.expected = budget.expected.saturating_add(pods));
    }

    /// Brings up to date how many pods may go.
    pub(super) fn renew_budgets(&mut self) {
        for at in std::mem::take(&mut self.budgets.stale) {
            let BudgetRecord { facts, stay, expected, healthy } = &mut self.budgets.all[at];
            let allowed = healthy.saturating_sub(stay.of(*expected)).max(0);
            if allowed != facts.allowed {
                facts.allowed = allowed;
                let facts = facts.clone();
                self.publish(facts);
            }
        }
    }

    pub(super) fn budgets(&self) -> impl Iterator<Item = &BudgetFacts> {
        self.budgets.all.iter().map(|budget| &budget.facts)
    }
}
