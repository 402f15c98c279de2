//! Namespaces: what an administrator says of them, which changes now and then.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Event, Labels, NamespaceFacts, Present};

use super::happenings::Happening;
use super::{Kind, World};
use crate::plan::NamespacePlan;

/// A namespace that is, was or will be there.
pub(super) struct NamespaceRecord {
    name: Box<str>,
    /// What becomes of it, in the order of the plan.
    states: Box<[Option<Labels>]>,
    /// Its labels, if it is there.
    labels: Option<Labels>,
}

impl NamespaceRecord {
    fn facts(&self) -> Option<NamespaceFacts> {
        Some(NamespaceFacts { name: self.name.clone(), labels: self.labels.clone()? })
    }
}

impl World {
    pub(super) fn expect_namespace(&mut self, plan: NamespacePlan) {
        let at = self.namespaces.len();
        let NamespacePlan { name, states } = plan;
        for (number, (time, _)) in states.iter().enumerate() {
            self.agenda.add(*time, Happening::NamespaceChanges(at, number));
        }
        let states = states.into_iter().map(|(_, labels)| labels).collect();
        self.namespaces.push(NamespaceRecord { name, states, labels: None });
    }

    pub(super) fn namespace_changes(&mut self, at: usize, state: usize) {
        let record = &mut self.namespaces[at];
        let labels = record.states[state].clone();
        if record.labels == labels {
            return;
        }
        record.labels = labels;
        let event = match record.facts() {
            Some(facts) => Event::NamespaceApplied(Box::new(facts)),
            None => Event::NamespaceDeleted(record.name.to_string()),
        };
        self.happened.namespaces_changed += 1;
        self.publish(Kind::Namespaces, event);
    }

    pub(super) fn list_namespaces(&self) -> (Vec<Arc<Event>>, Present) {
        let there: Vec<NamespaceFacts> =
            self.namespaces.iter().filter_map(NamespaceRecord::facts).collect();
        let names: BTreeSet<Box<str>> = there.iter().map(|facts| facts.name.clone()).collect();
        let event = |facts| Arc::new(Event::NamespaceApplied(Box::new(facts)));
        (there.into_iter().map(event).collect(), Present::Namespaces(names))
    }
}
