//! Disruption budgets: how many of which pods may be evicted.

use std::collections::BTreeMap;

use super::Catalog;
use crate::event::{BudgetFacts, PodKey};
use crate::ids::PodId;
use crate::spec::Labels;

/// All budgets, by namespace and name.
#[derive(Default)]
pub(super) struct Budgets {
    by_namespace: BTreeMap<Box<str>, BTreeMap<Box<str>, BudgetFacts>>,
    revision: u64,
}

impl Budgets {
    pub(super) fn set(&mut self, facts: &BudgetFacts) {
        let budgets = self.by_namespace.entry(facts.namespace.clone()).or_default();
        if budgets.get(&facts.name) != Some(facts) {
            budgets.insert(facts.name.clone(), facts.clone());
            self.revision += 1;
        }
    }

    pub(super) fn delete(&mut self, key: &str) {
        let Some((namespace, name)) = key.split_once('/') else { return };
        let Some(budgets) = self.by_namespace.get_mut(namespace) else { return };
        if budgets.remove(name).is_some() {
            self.revision += 1;
        }
        if budgets.is_empty() {
            self.by_namespace.remove(namespace);
        }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &BudgetFacts> {
        self.by_namespace.values().flat_map(BTreeMap::values)
    }

    pub(super) fn of(&self, pod: &PodKey, labels: &Labels) -> impl Iterator<Item = &BudgetFacts> {
        let budgets = self.by_namespace.get(&pod.namespace).into_iter().flat_map(BTreeMap::values);
        budgets.filter(move |budget| {
            let is_meant = budget.selector.as_ref().is_some_and(|selector| {
                !selector.requirements.is_empty() && !labels.is_empty() && selector.matches(labels)
            });
            is_meant && !budget.disrupted.contains(&pod.name)
        })
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }
}

impl Catalog {
    /// Takes in a budget.
    pub fn set_budget(&mut self, facts: &BudgetFacts) {
        self.budgets.set(facts);
    }

    /// Forgets the budget with this [`BudgetFacts::key`].
    pub fn delete_budget(&mut self, key: &str) {
        self.budgets.delete(key);
    }

    /// All budgets, by namespace and name.
    pub fn budgets(&self) -> impl Iterator<Item = &BudgetFacts> {
        self.budgets.all()
    }

    /// The budgets that a pod counts for: those of its namespace that select it, and that do not
    /// count it as evicted already.
    pub fn budgets_of(&self, pod: PodId) -> impl Iterator<Item = &BudgetFacts> {
        let pod = self.pods.get(pod);
        let labels = &self.crowds.tags(pod.tags).labels;
        self.budgets.of(&pod.key, labels)
    }

    /// Grows whenever a budget is another one.
    #[must_use]
    pub fn budget_revision(&self) -> u64 {
        self.budgets.revision()
    }
}
