//! Services and controllers: what says which pods are alike, for pods that do not say themselves
//! whom they must be spread with.

use serde::{Deserialize, Serialize};

use crate::spec::LabelSelector;

/// What groups pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GroupingKind {
    /// A Service, whose selector is about any pod.
    Service,
    /// A ReplicationController, which owns its pods, as the others below do.
    ReplicationController,
    /// A ReplicaSet.
    ReplicaSet,
    /// A StatefulSet.
    StatefulSet,
}

impl GroupingKind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Service, Self::ReplicationController, Self::ReplicaSet, Self::StatefulSet];

    pub(crate) fn of_facts(facts: &GroupingFacts) -> Self {
        facts.key.kind
    }
}

/// Which service or controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupingKey {
    /// What it is.
    pub kind: GroupingKind,
    /// Its namespace, which is that of its pods.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

impl GroupingKey {
    /// The one that is listed by this among its kind.
    #[must_use]
    pub fn of(kind: GroupingKind, listed_by: &str) -> Self {
        let (namespace, name) = listed_by.split_once('/').unwrap_or((listed_by, ""));
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    /// What it is listed by among its kind.
    #[must_use]
    pub fn listed_by(&self) -> Box<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// A service or a controller as the API has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupingFacts {
    /// Which one.
    pub key: GroupingKey,
    /// The pods it is about. No requirements means that it says nothing of pods, and so does a
    /// selector that Kubernetes would not take for one.
    pub selector: LabelSelector,
}

/// The controller that made a pod, in the pod's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// What it is.
    pub kind: GroupingKind,
    /// Its name.
    pub name: Box<str>,
}
