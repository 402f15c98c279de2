//! Services and controllers that are there, and whom they make alike.

use std::collections::{BTreeMap, BTreeSet};

use super::crowds::{asked_label, label};
use crate::grouping::{GroupingFacts, GroupingKey, GroupingKind, Owner};
use crate::map::Map;
use crate::spec::{LabelSelector, Labels};

/// All services and controllers.
#[derive(Default)]
pub(super) struct Groupings {
    selectors: BTreeMap<GroupingKey, LabelSelector>,
    /// Services by a label that they ask for, to look at few of them for a pod.
    services: Map<u64, BTreeSet<GroupingKey>>,
}

impl Groupings {
    /// Takes in a selector, or that it is gone; gives back what was known before if that is
    /// different.
    pub(super) fn set(
        &mut self,
        key: &GroupingKey,
        selector: Option<&LabelSelector>,
    ) -> Option<Option<LabelSelector>> {
        if self.selectors.get(key) == selector {
            return None;
        }
        let before = match selector {
            Some(selector) => self.selectors.insert(key.clone(), selector.clone()),
            None => self.selectors.remove(key),
        };
        if key.kind == GroupingKind::Service {
            let label = |selector: &LabelSelector| asked_label(&key.namespace, selector);
            if let Some(label) = before.as_ref().and_then(label) {
                let listed = self.services.get_mut(&label).expect("a service is listed");
                listed.remove(key);
                if listed.is_empty() {
                    self.services.remove(&label);
                }
            }
            if let Some(label) = selector.and_then(label) {
                self.services.entry(label).or_default().insert(key.clone());
            }
        }
        Some(before)
    }

    pub(super) fn has(&self, facts: &GroupingFacts) -> bool {
        self.selectors.get(&facts.key) == Some(&facts.selector)
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = GroupingFacts> {
        let all = self.selectors.iter();
        all.map(|(key, selector)| GroupingFacts { key: key.clone(), selector: selector.clone() })
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &GroupingKey> {
        self.selectors.keys()
    }

    /// What the selectors of all services that select a pod, and that of its controller, say
    /// together, and of how many it was asked. No requirements if nobody says anything.
    pub(super) fn alike(
        &self,
        namespace: &str,
        labels: &Labels,
        owner: Option<&Owner>,
    ) -> (LabelSelector, usize) {
        let mut requirements = Vec::new();
        let mut asked = 1;
        for service in self.services(namespace, labels) {
            asked += 1;
            if service.matches(labels) {
                requirements.extend_from_slice(&service.requirements);
            }
        }
        let own = owner.and_then(|Owner { kind, name }| {
            let (namespace, name) = (namespace.into(), name.clone());
            let key = GroupingKey { kind: *kind, namespace, name };
            self.selectors.get(&key).map(|selector| (*kind, selector))
        });
        if let Some((kind, selector)) = own {
            if kind == GroupingKind::ReplicationController {
                // Its labels take the place of those of services instead of adding to them.
                let is_replaced = |key: &str| selector.requirements.iter().any(|r| r.key == key);
                requirements.retain(|requirement| !is_replaced(&requirement.key));
            }
            requirements.extend_from_slice(&selector.requirements);
        }
        // However it came together, the same selector means the same crowd.
        requirements.sort_unstable();
        requirements.dedup();
        (LabelSelector { requirements }, asked)
    }

    /// Services that may select a pod with these labels.
    fn services(&self, namespace: &str, labels: &Labels) -> impl Iterator<Item = &LabelSelector> {
        let asked = labels.iter().map(move |(key, value)| label(namespace, key, value));
        let listed = asked.filter_map(|label| self.services.get(&label)).flatten();
        // What is listed by a hash is asked by name.
        let own = listed.filter(move |key| *key.namespace == *namespace);
        own.map(|key| &self.selectors[key])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{LabelOperator, RequirementSpec};
    use GroupingKind::{ReplicaSet, ReplicationController, Service};

    fn selector(text: &str) -> LabelSelector {
        let requirement = |label: &str| {
            let (key, value) = label.split_once(':').expect("a label is KEY:VALUE");
            let (key, values) = (key.to_owned(), vec![value.to_owned()]);
            RequirementSpec { key, operator: LabelOperator::In, values }
        };
        LabelSelector { requirements: text.split_whitespace().map(requirement).collect() }
    }

    fn check(there: &[(GroupingKind, &str, &str)], owner: Option<GroupingKind>, expected: &str) {
        let mut groupings = Groupings::default();
        for (kind, name, text) in there {
            let key =
                GroupingKey { kind: *kind, namespace: "default".into(), name: (*name).into() };
            assert_eq!(groupings.set(&key, Some(&selector(text))), Some(None));
            assert_eq!(groupings.set(&key, Some(&selector(text))), None, "it is known");
        }
        let labels: Labels = [("app", "web"), ("tier", "back")]
            .map(|(key, value)| (key.into(), value.into()))
            .into();
        let owner = owner.map(|kind| Owner { kind, name: "own".into() });
        let (alike, _) = groupings.alike("default", &labels, owner.as_ref());
        assert_eq!(alike, selector(expected), "{there:?} {owner:?}");
        let (elsewhere, _) = groupings.alike("other", &labels, owner.as_ref());
        assert_eq!(elsewhere, LabelSelector::default(), "{there:?}");
    }

    #[test]
    fn selectors_are_put_together_by_table() {
        let web = (Service, "web", "app:web");
        check(&[], None, "");
        check(&[web], None, "app:web");
        check(&[web, (Service, "db", "app:db")], None, "app:web");
        check(&[web, (Service, "all", "")], None, "app:web");
        check(&[web, (Service, "both", "tier:back app:web")], None, "app:web tier:back");
        // Who owns others, or is owned by another kind, says nothing.
        check(&[web, (ReplicaSet, "other", "tier:back")], Some(ReplicaSet), "app:web");
        check(&[(ReplicaSet, "own", "tier:back")], Some(ReplicationController), "");
        check(&[web, (ReplicaSet, "own", "tier:back")], Some(ReplicaSet), "app:web tier:back");
        check(&[web, (ReplicaSet, "own", "app:db")], Some(ReplicaSet), "app:db app:web");
        // A map has one value for a key.
        let own = (ReplicationController, "own", "app:db");
        check(&[web, own], Some(ReplicationController), "app:db");
    }
}
