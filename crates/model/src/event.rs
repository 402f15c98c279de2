//! What comes in: facts from the API and outcomes of our own decisions.

mod written;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amounts::Amounts;
use crate::decision::Attempt;
use crate::gang::GangClaim;
use crate::grouping::Owner;
use crate::hardware::{HardwareFacts, HeldFacts};
use crate::kinds::{Fact, Key, Kind};
use crate::need::Features;
use crate::spec::{LabelSelector, Labels, PodSpec};
use crate::taint::Taint;
use crate::volume::PodVolumes;
use written::Written;

/// Something that happened outside. Whoever does not care about a kind does not name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub enum Event {
    /// An object is there, or is different now.
    Seen(Fact),
    /// An object is gone.
    Gone(Key),
    /// All there is of a kind was listed: what is not among it is gone.
    Listed(Kind, Present),
    /// What became of a decision.
    Outcome(Outcome),
}

impl Event {
    /// That an object is there, or is different now.
    #[must_use]
    pub fn seen(facts: impl Into<Fact>) -> Self {
        Self::Seen(facts.into())
    }

    /// That an object is gone.
    #[must_use]
    pub fn gone(kind: Kind, name: impl Into<Box<str>>) -> Self {
        Self::Gone(Key::new(kind, name))
    }
}

/// Everything of a kind that the API has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Present {
    /// Objects that were seen just before, by the names of their keys.
    Names(BTreeSet<Box<str>>),
    /// Objects that were not seen before, because they only mean something together: some of the
    /// queues of a namespace could give it a tenant that all of them do not.
    Facts(Vec<Fact>),
}

impl Present {
    /// The names of what is there.
    #[must_use]
    pub fn names(&self) -> Cow<'_, BTreeSet<Box<str>>> {
        match self {
            Self::Names(names) => Cow::Borrowed(names),
            Self::Facts(facts) => Cow::Owned(facts.iter().map(|fact| fact.key().name).collect()),
        }
    }
}

/// What became of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Outcome {
    /// The API server refused a binding: the pod is not on that node.
    BindRefused {
        /// The pod's uid.
        uid: Box<str>,
        /// Which of our attempts this answers; answers to older attempts are ignored.
        attempt: Attempt,
    },
    /// A pod that was to be evicted for another one was not; by uid.
    EvictionFailed(Box<str>),
    /// What a pod needs before it can be bound was written.
    Prepared {
        /// The pod's uid.
        uid: Box<str>,
        /// Which of our attempts this answers.
        attempt: Attempt,
        /// The `resourceVersion` of every object as it was written, in the order of the writes.
        versions: Box<[u64]>,
    },
    /// The API server refused to write something that a pod needs before it can be bound.
    PrepareRefused {
        /// The pod's uid.
        uid: Box<str>,
        /// Which of our attempts this answers.
        attempt: Attempt,
    },
}

/// A disruption budget as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetFacts {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// The pods it is about; none, or one without requirements, means no pod.
    pub selector: Option<LabelSelector>,
    /// How many of them may be evicted.
    pub allowed: i32,
    /// Names of pods that are counted as evicted already.
    pub disrupted: Box<[Box<str>]>,
}

impl BudgetFacts {
    /// What it is listed by: namespace and name.
    #[must_use]
    pub fn key(&self) -> Box<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// A LocalQueue of Kueue as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LocalQueueFacts {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// The name of the ClusterQueue it leads to; empty if it says none.
    pub cluster_queue: Box<str>,
}

impl LocalQueueFacts {
    /// The LocalQueue that has this key.
    #[must_use]
    pub fn of(key: &str, cluster_queue: &str) -> Self {
        let (namespace, name) = key.split_once('/').unwrap_or((key, ""));
        let (namespace, name) = (namespace.into(), name.into());
        Self { namespace, name, cluster_queue: cluster_queue.into() }
    }

    /// What it is listed by: namespace and name.
    #[must_use]
    pub fn key(&self) -> Box<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// A ClusterQueue of Kueue as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterQueueFacts {
    /// Its name.
    pub name: Box<str>,
    /// The namespaces whose LocalQueues may lead to it; none means no namespace, and one without
    /// requirements all of them.
    pub namespaces: Option<LabelSelector>,
}

/// A namespace as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NamespaceFacts {
    /// Its name.
    pub name: Box<str>,
    /// Sorted by key.
    pub labels: Labels,
}

/// A node as the API has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NodeFacts {
    /// Its name.
    pub name: String,
    /// Labels, in any order.
    pub labels: Vec<(String, String)>,
    /// Taints, in the order of the spec.
    pub taints: Vec<Taint<String>>,
    /// Whether it is closed to new pods.
    pub is_closed: bool,
    /// What it offers.
    pub allocatable: Amounts<String>,
    /// How many pods it may hold.
    pub pods_max: i64,
    /// Images it has, with their sizes in bytes.
    pub images: Vec<(String, i64)>,
    /// Features it declares.
    pub features: Features,
    /// What it tells of its inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Box<HardwareFacts>>,
    /// Who holds what of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<HeldFacts>>,
}

/// A pod as the API has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PodFacts {
    /// Which pod.
    pub key: PodKey,
    /// What decides where it may go. Written down, it may stand apart, once for many pods.
    #[serde(default, skip_serializing_if = "PodSpec::is_empty")]
    pub spec: PodSpec,
    /// What rules of other pods know it by.
    #[serde(default)]
    pub labels: Labels,
    /// The controller that made it, if it is one that groups pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Its volumes that limit where it can run.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub volumes: PodVolumes,
    /// The node it is on, if it is on one.
    pub node: Option<String>,
    /// The node that is proposed for it as long as it is on none.
    pub nominated: Option<String>,
    /// Whether it has run to its end, so that it takes nothing any more.
    pub is_finished: bool,
    /// What it says of its gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<Arc<GangClaim>>,
    /// What is its own.
    #[serde(flatten)]
    pub rest: PodRest,
}

/// What a pod does not share with others, but for its names and the node it is on. Facts, the
/// table of pods and checkpoints have it whole, so that a new field is written here and read from
/// the API, and nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PodRest {
    /// Higher goes first.
    pub priority: i32,
    /// Gates that keep it from being looked at.
    pub gates: Box<[Box<str>]>,
    /// Whether less important pods may be evicted so that it finds room.
    pub is_preempting: bool,
    /// Whether it is being deleted. It still takes its place, but is not placed any more.
    pub is_terminating: bool,
    /// Whether it is being deleted because a scheduler evicted it for another pod.
    #[serde(default)]
    pub is_preempted: bool,
    /// When it started, in seconds since 1970, if it did.
    #[serde(default)]
    pub started: Option<i64>,
    /// Grows with its spec.
    #[serde(default)]
    pub generation: i64,
    /// When it was made, in seconds since 1970.
    #[serde(default)]
    pub created: i64,
    /// Since when it can be placed.
    #[serde(default, skip_serializing_if = "Eligible::is_created")]
    pub eligible: Eligible,
    /// Whether a controller makes another one when it is gone.
    #[serde(default)]
    pub is_remade: bool,
    /// The zones that it was bound with, a bit for each id; 0 if nothing is written on it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub placed: u64,
    /// The GPUs that it was bound with, bit 0 being the first; 0 if nothing is written on it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gpus: u64,
}

impl Default for PodRest {
    /// As a plain pod has it, which may preempt.
    fn default() -> Self {
        Self {
            priority: 0,
            gates: Box::default(),
            is_preempting: true,
            is_terminating: false,
            is_preempted: false,
            started: None,
            generation: 0,
            created: 0,
            eligible: Eligible::Created,
            is_remade: false,
            placed: 0,
            gpus: 0,
        }
    }
}

fn is_zero(bits: &u64) -> bool {
    *bits == 0
}

/// Since when a pod on no node can be placed, by what its object says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Eligible {
    /// Since it was made.
    #[default]
    Created,
    /// It has gates, or had some, and its object does not say yet when the last one was removed.
    Ungated,
    /// Since then, in seconds since 1970.
    Since(u32),
}

impl Eligible {
    /// Whether it never had gates.
    #[must_use]
    pub fn is_created(&self) -> bool {
        *self == Self::Created
    }
}

/// Names of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodKey {
    /// The identity of this very pod.
    pub uid: Box<str>,
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

/// What an event changed about a node, as far as a waiting unit could care. A unit whose own pod
/// changed is tried again in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The node appeared.
    Added,
    /// Something about it is different.
    Changed(NodeAspects),
    /// A pod that was on it takes less of it now, or nothing.
    Freed,
    /// The node is gone.
    Removed,
}

/// Which facts of a node changed in a way that can only help waiting pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeAspects {
    /// More of some resource, or of pods.
    pub allocatable: bool,
    /// Other labels.
    pub labels: bool,
    /// Other taints.
    pub taints: bool,
    /// Opened to new pods.
    pub opened: bool,
    /// Other features.
    pub features: bool,
    /// Another inside, or other holders of it.
    pub hardware: bool,
}

impl NodeAspects {
    /// Whether nothing changed that could help anyone.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}
