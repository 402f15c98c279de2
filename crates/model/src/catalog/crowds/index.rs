//! Which tags a rule can be about, and which crowds tags can belong to, without looking at all of
//! them: most rules ask for some label in one namespace. What is found has to be asked in earnest.

use std::collections::BTreeSet;

use super::{Rule, Tags};
use crate::grouping::{GroupingKey, Owner};
use crate::ids::{CrowdId, TagsId};
use crate::map::{Map, hash_of};
use crate::spec::{LabelOperator, LabelSelector, Target};

/// Tags and crowds by labels, each together with a namespace and as a hash.
#[derive(Default)]
pub(super) struct Index {
    /// Tags by each of their labels, and by their owner.
    tags: Map<u64, BTreeSet<TagsId>>,
    /// Crowds by a label that all of their members have.
    crowds: Map<u64, BTreeSet<CrowdId>>,
    /// Crowds that may have members with any labels.
    others: BTreeSet<CrowdId>,
    /// Tags by their namespace.
    by_namespace: Map<Box<str>, BTreeSet<TagsId>>,
    /// Crowds whose members depend on labels of namespaces.
    selecting: BTreeSet<CrowdId>,
}

impl Index {
    /// Lists tags; tells which crowds they may belong to.
    pub(super) fn add_tags(&mut self, id: TagsId, tags: &Tags) -> Vec<CrowdId> {
        let mut found = Vec::new();
        for key in keys(tags) {
            self.tags.entry(key).or_default().insert(id);
            found.extend(self.crowds.get(&key).into_iter().flatten());
        }
        found.extend(&self.others);
        self.by_namespace.entry(tags.namespace.clone()).or_default().insert(id);
        found
    }

    pub(super) fn remove_tags(&mut self, id: TagsId, tags: &Tags) {
        for key in keys(tags) {
            let Some(listed) = self.tags.get_mut(&key) else { continue };
            listed.remove(&id);
            if listed.is_empty() {
                self.tags.remove(&key);
            }
        }
        let neighbours = self.by_namespace.get_mut(&tags.namespace).expect("tags are listed");
        neighbours.remove(&id);
        if neighbours.is_empty() {
            self.by_namespace.remove(&tags.namespace);
        }
    }

    /// Tags of the pods in a namespace.
    pub(super) fn tags_in(&self, namespace: &str) -> Vec<TagsId> {
        self.by_namespace.get(namespace).into_iter().flatten().copied().collect()
    }

    pub(super) fn is_inhabited(&self, namespace: &str) -> bool {
        self.by_namespace.contains_key(namespace)
    }

    /// Crowds whose members depend on labels of namespaces.
    pub(super) fn selecting(&self) -> impl Iterator<Item = CrowdId> {
        self.selecting.iter().copied()
    }

    pub(super) fn add_crowd(&mut self, id: CrowdId, rule: &Rule) {
        if is_selecting(rule) {
            self.selecting.insert(id);
        }
        match label_of(rule) {
            Some(key) => self.crowds.entry(key).or_default().insert(id),
            None => self.others.insert(id),
        };
    }

    pub(super) fn remove_crowd(&mut self, id: CrowdId, rule: &Rule) {
        self.selecting.remove(&id);
        let Some(key) = label_of(rule) else {
            self.others.remove(&id);
            return;
        };
        let Some(listed) = self.crowds.get_mut(&key) else { return };
        listed.remove(&id);
        if listed.is_empty() {
            self.crowds.remove(&key);
        }
    }

    /// Tags that a rule may be about; none if it may be about any.
    pub(super) fn tags_of(&self, rule: &Rule) -> Option<Vec<TagsId>> {
        label_of(rule).map(|key| self.listed(key))
    }

    /// Tags that a selector may be about in a namespace.
    pub(super) fn tags_selected(&self, namespace: &str, selector: &LabelSelector) -> Vec<TagsId> {
        asked_label(namespace, selector).map_or_else(Vec::new, |key| self.listed(key))
    }

    /// Tags of the pods that a controller may own.
    pub(super) fn tags_owned(&self, key: &GroupingKey) -> Vec<TagsId> {
        self.listed(hash_of(&(&key.namespace, key.kind, &key.name)))
    }

    fn listed(&self, key: u64) -> Vec<TagsId> {
        self.tags.get(&key).into_iter().flatten().copied().collect()
    }
}

/// Whether a rule asks for labels of namespaces.
fn is_selecting(rule: &Rule) -> bool {
    let is_selecting = |target: &Target| target.namespace_selector.is_some();
    match rule {
        Rule::Meant { targets, .. } => targets.iter().any(is_selecting),
        Rule::Holds(held) => is_selecting(&held.target),
    }
}

/// What tags are listed by.
fn keys(tags: &Tags) -> impl Iterator<Item = u64> {
    let namespace = &tags.namespace;
    let labels = tags.labels.iter().map(move |(key, value)| label(namespace, key, value));
    let owner = |Owner { kind, name }: &Owner| hash_of(&(namespace, kind, name));
    labels.chain(tags.owner.as_ref().map(owner))
}

/// What a label in a namespace is listed by.
pub(in crate::catalog) fn label(namespace: &str, key: &str, value: &str) -> u64 {
    hash_of(&(namespace, key, value))
}

/// A label that everybody has whom a rule is about.
fn label_of(rule: &Rule) -> Option<u64> {
    let of_target = |target: &Target| {
        let ([namespace], None) = (&target.namespaces[..], &target.namespace_selector) else {
            return None;
        };
        asked_label(namespace, target.selector.as_ref()?)
    };
    match rule {
        Rule::Meant { targets, .. } => targets.iter().find_map(of_target),
        Rule::Holds(held) => of_target(&held.target),
    }
}

/// A label that a selector asks for. The last one: hashes of templates come late in the alphabet,
/// and few pods have the same.
pub(in crate::catalog) fn asked_label(namespace: &str, selector: &LabelSelector) -> Option<u64> {
    selector.requirements.iter().rev().find_map(|requirement| {
        match (requirement.operator, &requirement.values[..]) {
            (LabelOperator::In, [value]) => Some(label(namespace, &requirement.key, value)),
            _ => None,
        }
    })
}
