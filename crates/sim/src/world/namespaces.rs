//! Namespaces: what an administrator says of them, which changes now and then.

use model::{Fact, Key, Kind, Labels, NamespaceFacts};

use super::World;
use super::happenings::Happening;
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
        self.happened.namespaces_changed += 1;
        match record.facts() {
            Some(facts) => self.publish(facts),
            None => {
                let key = Key::new(Kind::Namespace, record.name.clone());
                self.publish_gone(key);
            }
        }
    }

    pub(super) fn list_namespaces(&self) -> Vec<Fact> {
        self.namespaces.iter().filter_map(NamespaceRecord::facts).map(Fact::from).collect()
    }
}
