//! Which pods are alike with others: by services and controllers, or by labels that name their job
//! or gang.

use super::{Crowds, Rule, Tags};
use crate::grouping::{GroupingKey, GroupingKind};
use crate::ids::{CrowdId, TagsId};
use crate::spec::{LabelOperator, LabelSelector, RequirementSpec, Target};

impl Crowds {
    /// Works out who is alike; tells whether these are others than before.
    pub(super) fn find_alike(&mut self, id: TagsId) -> bool {
        if !self.asks_alike {
            return false;
        }
        let Tags { namespace, labels, owner, alike: before, .. } = self.tags(id);
        let (before, namespace) = (*before, namespace.to_string());
        let (selector, asked) = self.groupings.alike(&namespace, labels, owner.as_ref());
        self.looks.add(asked);
        let is_any = !selector.requirements.is_empty();
        let alike = is_any.then(|| self.hold_selected(namespace, selector));
        self.tags[id.index()].as_mut().expect("tags in use are there").alike = alike;
        if let Some(crowd) = before {
            self.release(crowd);
        }
        alike != before
    }

    /// Works out who is kin by labels, once.
    pub(super) fn find_kin(&mut self, id: TagsId) {
        let Tags { namespace, labels, kin, .. } = self.tags(id);
        if kin.is_some() || !self.asks_alike {
            return;
        }
        let label = |key: &&str| labels.iter().find(|(own, _)| **own == **key);
        let Some((key, value)) = self.kin_labels.iter().find_map(label) else { return };
        let (key, values) = (key.to_string(), vec![value.to_string()]);
        let requirement = RequirementSpec { key, operator: LabelOperator::In, values };
        let selector = LabelSelector { requirements: vec![requirement] };
        let kin = self.hold_selected(namespace.to_string(), selector);
        self.tags[id.index()].as_mut().expect("tags in use are there").kin = Some(kin);
    }

    /// The crowd of pods of a namespace that are selected and not being deleted; held.
    fn hold_selected(&mut self, namespace: String, selector: LabelSelector) -> CrowdId {
        let target = Target {
            namespaces: vec![namespace],
            namespace_selector: None,
            selector: Some(selector),
        };
        self.hold(Rule::Meant { targets: [target].into(), counts_leaving: false })
    }

    /// Takes in the selector of a service or a controller, or that it is gone; tells whether other
    /// pods are alike then.
    pub(in crate::catalog) fn set_grouping(
        &mut self,
        key: &GroupingKey,
        selector: Option<&LabelSelector>,
    ) -> bool {
        let Some(before) = self.groupings.set(key, selector) else { return false };
        let affected: Vec<TagsId> = match key.kind {
            GroupingKind::Service => {
                let selectors = selector.into_iter().chain(&before);
                selectors.flat_map(|s| self.index.tags_selected(&key.namespace, s)).collect()
            }
            GroupingKind::ReplicationController
            | GroupingKind::ReplicaSet
            | GroupingKind::StatefulSet => self.index.tags_owned(key),
        };
        let mut is_changed = false;
        for tags in affected {
            is_changed |= self.find_alike(tags);
        }
        is_changed
    }
}
