//! What a pod is: who it belongs to, what it does and what hardware it wants.
//!
//! [`Hints`] are what the pod says itself, read once where it comes in. A [`WorkloadProfile`] is
//! what a classifier makes of them, of the namespace and of the configuration, each with the source
//! it came from. Nothing that a user can write raises a tier.

use serde::{Deserialize, Serialize};

use crate::hardware::Unread;

/// The tier of a tenant, lowest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Tier {
    /// What anybody has.
    #[default]
    Bronze,
    /// More than anybody.
    Silver,
    /// The highest.
    Gold,
}

impl Tier {
    /// The words for tiers.
    pub const WORDS: [(&'static str, Self); 3] =
        [("gold", Self::Gold), ("silver", Self::Silver), ("bronze", Self::Bronze)];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        word_of(&Self::WORDS, self)
    }
}

/// What a pod does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Workload {
    /// Batch on accelerators.
    Training,
    /// Answers with a model.
    Inference,
    /// Runs to its end.
    Batch,
    /// Runs until it is stopped.
    Service,
    /// Somebody sits in front of it.
    Interactive,
}

impl Workload {
    /// The words for workloads.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("training", Self::Training),
        ("inference", Self::Inference),
        ("batch", Self::Batch),
        ("service", Self::Service),
        ("interactive", Self::Interactive),
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        word_of(&Self::WORDS, self)
    }
}

/// What hardware a pod wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hardware {
    /// No GPU.
    None,
    /// One GPU.
    SingleGpu,
    /// Several GPUs of one node.
    MultiGpu,
    /// GPUs together with other pods, which may be on other nodes.
    MultiNode,
}

impl Hardware {
    const WORDS: [(&'static str, Self); 4] = [
        ("none", Self::None),
        ("single-gpu", Self::SingleGpu),
        ("multi-gpu", Self::MultiGpu),
        ("multi-node", Self::MultiNode),
    ];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        word_of(&Self::WORDS, self)
    }
}

fn word_of<T: PartialEq>(words: &[(&'static str, T)], value: T) -> &'static str {
    let found = words.iter().find(|(_, other)| *other == value);
    found.map(|(word, _)| *word).expect("every value has a word")
}

/// A word of a user, which may be none that is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Said<T> {
    /// A word with a meaning.
    Known(T),
    /// Another one, as it was written.
    Unknown(Box<str>),
}

impl<T: Copy> Said<T> {
    /// The value of a word, or the word itself if it is none of those.
    #[must_use]
    pub fn read(word: &str, words: &[(&str, T)]) -> Self {
        match words.iter().find(|(known, _)| *known == word) {
            Some((_, value)) => Self::Known(*value),
            // Of a text that is no word at all the beginning tells enough.
            None => Self::Unknown(word.chars().take(64).collect::<String>().into()),
        }
    }
}

/// What a pod says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hints {
    /// The workload it declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<Said<Workload>>,
    /// What the kind of its controller tells, and the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<(Workload, Box<str>)>,
    /// What a label tells, and the key of the label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labelled: Option<(Workload, Box<str>)>,
    /// The tier it asks for, which can only be a lower one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Said<Tier>>,
    /// Whether it says that it may be evicted for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemptible: Option<Said<bool>>,
    /// The name of its priority class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority_class: Option<Box<str>>,
    /// Whether it says that it is to be spread over zones, or that it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Said<bool>>,
    /// Whether it names a gang.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_in_gang: bool,
}

impl Hints {
    /// Nothing if nothing is said, so that most pods carry none.
    #[must_use]
    pub fn if_any(self) -> Option<Box<Self>> {
        (self != Self::default()).then(|| Box::new(self))
    }
}

/// Whether a pod runs with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bond {
    /// It does not.
    Alone,
    /// It is in a gang whose pods are started one by one.
    Loose,
    /// It is in a gang that starts as a whole.
    Gang,
}

/// Where something that is known of a pod came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A tenant of the configuration, by name.
    Tenant(Box<str>),
    /// A tenant of the configuration, by name, and one of its ClusterQueues, to which a LocalQueue
    /// of the namespace leads.
    ClusterQueue(Box<str>, Box<str>),
    /// A label of the namespace.
    NamespaceLabel,
    /// The name of the namespace.
    NamespaceName,
    /// The namespace is not known, or not any more.
    NamespaceUnknown,
    /// A label of the namespace has a value that means nothing.
    NamespaceUnreadable(Box<str>),
    /// What the configuration says of a priority class, by name.
    PriorityClass(Box<str>),
    /// The pod itself.
    Pod,
    /// The pod itself, in a word that means nothing.
    PodUnreadable(Box<str>),
    /// The kind of the controller.
    Owner(Box<str>),
    /// A label of the pod, by key.
    Label(Box<str>),
    /// The pod is one of a gang.
    Gang,
    /// It is batch and asks for GPUs.
    BatchWithGpus,
    /// What the pod asks for.
    Requests,
    /// What the pod asks for, and its gang.
    RequestsAndGang,
    /// Nobody says anything.
    Nothing,
}

/// A word of a pod that is not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    /// It asks for a tier that is higher than its own.
    Tier(Tier),
    /// It declares a workload that there is not.
    Workload(Box<str>),
    /// It says neither that it is to be spread over zones nor that it is not.
    Spread(Box<str>),
    /// It says neither that it may be evicted for others nor that it may not.
    Preemptible(Box<str>),
    /// It says that it may not be evicted for others, which is not its own to say.
    NotPreemptible,
    /// What it says of the zones it wants means nothing.
    Numa(Unread),
}

/// Something that is known, and where from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known<T> {
    /// What.
    pub value: T,
    /// Where from.
    pub source: Source,
}

/// What a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadProfile {
    /// Who it belongs to.
    pub tenant: Known<Box<str>>,
    /// How that tenant is served.
    pub tier: Known<Tier>,
    /// What it does.
    pub workload: Known<Workload>,
    /// What hardware it wants.
    pub hardware: Known<Hardware>,
    /// Whether it is of the kind that is evicted for others before anyone else.
    pub is_preemptible: Known<bool>,
    /// What it says without being followed.
    pub ignored: Box<[Ignored]>,
}
