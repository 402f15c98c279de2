//! Services and controllers that are there, and whom they make alike.

use std::collections::BTreeMap;

use crate::grouping::{GroupingFacts, GroupingKey, GroupingKind, Owner};
use crate::spec::{LabelSelector, Labels};

/// All services and controllers.
#[derive(Default)]
pub(super) struct Groupings {
    selectors: BTreeMap<GroupingKey, LabelSelector>,
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
        Some(match selector {
            Some(selector) => self.selectors.insert(key.clone(), selector.clone()),
            None => self.selectors.remove(key),
        })
    }

    pub(super) fn facts(&self) -> impl Iterator<Item = GroupingFacts> {
        let all = self.selectors.iter();
        all.map(|(key, selector)| GroupingFacts { key: key.clone(), selector: selector.clone() })
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &GroupingKey> {
        self.selectors.keys()
    }

    /// What the selectors of all services that select a pod, and that of its controller, say
    /// together. No requirements if nobody says anything.
    pub(super) fn alike(
        &self,
        namespace: &str,
        labels: &Labels,
        owner: Option<&Owner>,
    ) -> LabelSelector {
        let mut requirements = Vec::new();
        for service in self.services(namespace).filter(|service| service.matches(labels)) {
            requirements.extend_from_slice(&service.requirements);
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
        LabelSelector { requirements }
    }

    fn services(&self, namespace: &str) -> impl Iterator<Item = &LabelSelector> {
        let (kind, name) = (GroupingKind::Service, Box::default());
        let first = GroupingKey { kind, namespace: namespace.into(), name };
        let from = self.selectors.range(&first..);
        let is_within =
            move |key: &GroupingKey| key.kind == kind && key.namespace == first.namespace;
        from.take_while(move |(key, _)| is_within(key)).map(|(_, selector)| selector)
    }
}
