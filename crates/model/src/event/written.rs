//! How events are written down: as they are, and as journals of before have them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{
    BudgetFacts, Event, LocalQueueFacts, NamespaceFacts, NodeFacts, Outcome, PodFacts, Present,
};
use crate::decision::Attempt;
use crate::gang::{PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts};
use crate::grouping::{GroupingFacts, GroupingKey, GroupingKind};
use crate::kinds::{Fact, Key, Kind};

/// An event in a journal of any format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) enum Written {
    Seen(Fact),
    Gone(Key),
    Listed(Kind, Present),
    Outcome(Outcome),
    // Format 1 has two of them for every kind there was.
    NodeApplied(Box<NodeFacts>),
    NodeDeleted(Box<str>),
    PodApplied(Box<PodFacts>),
    PodDeleted(Box<str>),
    NamespaceApplied(Box<NamespaceFacts>),
    NamespaceDeleted(Box<str>),
    BudgetApplied(Box<BudgetFacts>),
    BudgetDeleted(Box<str>),
    GroupingApplied(Box<GroupingFacts>),
    GroupingDeleted(GroupingKey),
    PodGroupApplied(Box<PodGroupFacts>),
    PodGroupDeleted(PodGroupKey),
    SucceededApplied(Box<SucceededFacts>),
    SucceededDeleted(Box<str>),
    LocalQueueApplied(Box<LocalQueueFacts>),
    LocalQueueDeleted(Box<str>),
    Reset(All),
    BindRefused { uid: Box<str>, attempt: Attempt },
    EvictionFailed(Box<str>),
}

/// All there is of a kind, in format 1.
#[derive(Deserialize)]
pub(super) enum All {
    Nodes(BTreeSet<Box<str>>),
    Pods(BTreeSet<Box<str>>),
    Namespaces(BTreeSet<Box<str>>),
    Budgets(BTreeSet<Box<str>>),
    Groupings(GroupingKind, BTreeSet<Box<str>>),
    PodGroups(PodGroupKind, BTreeSet<Box<str>>),
    Succeeded(BTreeSet<Box<str>>),
    LocalQueues(BTreeMap<Box<str>, Box<str>>),
}

impl From<Written> for Event {
    fn from(written: Written) -> Self {
        match written {
            Written::Seen(fact) => Self::Seen(fact),
            Written::Gone(key) => Self::Gone(key),
            Written::Listed(kind, present) => Self::Listed(kind, present),
            Written::Outcome(outcome) => Self::Outcome(outcome),
            Written::NodeApplied(facts) => Self::Seen(Fact::Node(facts)),
            Written::NodeDeleted(name) => Self::gone(Kind::Node, name),
            Written::PodApplied(facts) => Self::Seen(Fact::Pod(facts)),
            Written::PodDeleted(uid) => Self::gone(Kind::Pod, uid),
            Written::NamespaceApplied(facts) => Self::Seen(Fact::Namespace(facts)),
            Written::NamespaceDeleted(name) => Self::gone(Kind::Namespace, name),
            Written::BudgetApplied(facts) => Self::Seen(Fact::Budget(facts)),
            Written::BudgetDeleted(key) => Self::gone(Kind::Budget, key),
            Written::GroupingApplied(facts) => Self::Seen(Fact::Grouping(facts)),
            Written::GroupingDeleted(key) => Self::Gone(key.into()),
            Written::PodGroupApplied(facts) => Self::Seen(Fact::PodGroup(facts)),
            Written::PodGroupDeleted(key) => Self::Gone(key.into()),
            Written::SucceededApplied(facts) => Self::Seen(Fact::Succeeded(facts)),
            Written::SucceededDeleted(uid) => Self::gone(Kind::Succeeded, uid),
            Written::LocalQueueApplied(facts) => Self::Seen(Fact::LocalQueue(facts)),
            Written::LocalQueueDeleted(key) => Self::gone(Kind::LocalQueue, key),
            Written::Reset(all) => all.into(),
            Written::BindRefused { uid, attempt } => {
                Self::Outcome(Outcome::BindRefused { uid, attempt })
            }
            Written::EvictionFailed(uid) => Self::Outcome(Outcome::EvictionFailed(uid)),
        }
    }
}

impl From<All> for Event {
    fn from(all: All) -> Self {
        let (kind, names) = match all {
            All::Nodes(names) => (Kind::Node, names),
            All::Pods(uids) => (Kind::Pod, uids),
            All::Namespaces(names) => (Kind::Namespace, names),
            All::Budgets(keys) => (Kind::Budget, keys),
            All::Groupings(sort, names) => (Kind::Grouping(sort), names),
            All::PodGroups(sort, names) => (Kind::PodGroup(sort), names),
            All::Succeeded(uids) => (Kind::Succeeded, uids),
            All::LocalQueues(queues) => {
                let queues = queues.iter();
                let queues = queues.map(|(key, target)| LocalQueueFacts::of(key, target).into());
                return Self::Listed(Kind::LocalQueue, Present::Facts(queues.collect()));
            }
        };
        Self::Listed(kind, Present::Names(names))
    }
}
