//! Gangs: pods that start together or not at all.

use serde::{Deserialize, Serialize};

use crate::amounts::{Amounts, Requests};

/// The largest minimum that a gang may have.
pub const GANG_MAX: u32 = 10_000;
/// How many levels of groups a tree of gangs may have.
pub const GANG_LEVELS_MAX: usize = 8;
/// How many gangs a gang may wait for.
pub const GANG_AFTER_MAX: usize = 64;
/// How many different things the pods of a gang may say of it.
pub const GANG_CLAIMS_MAX: usize = 64;
/// Over how many gangs that wait for each other a chain is followed.
pub const GANG_CHAIN_MAX: usize = 1_000;

/// Kinds of objects that say how many of a gang have to start together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PodGroupKind {
    /// `PodGroup` of `scheduling.k8s.io`.
    Native,
    /// `CompositePodGroup` of `scheduling.k8s.io`, whose parts are groups.
    Composite,
    /// `Workload` of `scheduling.k8s.io/v1alpha1`, which has several groups inside.
    Workload,
    /// `PodGroup` of `scheduling.x-k8s.io`.
    Coscheduling,
    /// `PodGroup` of `scheduling.volcano.sh`.
    Volcano,
    /// `PodGroup` of `scheduling.run.ai`.
    Kai,
}

impl PodGroupKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Native,
        Self::Composite,
        Self::Workload,
        Self::Coscheduling,
        Self::Volcano,
        Self::Kai,
    ];

    /// Whether pods name such objects for the sake of another scheduler, so that it means nothing
    /// where there is no such kind.
    #[must_use]
    pub fn is_foreign(self) -> bool {
        matches!(self, Self::Volcano | Self::Kai)
    }

    pub(crate) fn of_facts(facts: &PodGroupFacts) -> Self {
        facts.key.kind
    }
}

/// Which object says how many of a gang have to start together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodGroupKey {
    /// What it is.
    pub kind: PodGroupKind,
    /// Its namespace, which is that of its pods.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
}

impl PodGroupKey {
    /// The one that is listed by this among its kind.
    #[must_use]
    pub fn of(kind: PodGroupKind, listed_by: &str) -> Self {
        let (namespace, name) = listed_by.split_once('/').unwrap_or((listed_by, ""));
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    /// What it is listed by among its kind.
    #[must_use]
    pub fn listed_by(&self) -> Box<str> {
        format!("{}/{}", self.namespace, self.name).into()
    }
}

/// Such an object as the API has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodGroupFacts {
    /// Which one.
    pub key: PodGroupKey,
    /// How many pods have to start together; of a composite, how many of its parts. 1 or less means
    /// that its pods are started one by one. A `Workload` has several, each with its name.
    pub mins: Box<[(Box<str>, u32)]>,
    /// For how many seconds some may be on nodes without the others.
    pub timeout: Option<u32>,
    /// Importance of all its pods.
    pub priority: Option<i32>,
    /// Labels of nodes: all its pods must be on nodes that have the same values of them.
    pub topology: Box<[Box<str>]>,
    /// Whether its pods are only evicted together.
    pub is_evicted_whole: bool,
    /// The composite it is a part of.
    pub parent: Option<Box<str>>,
    /// Whether its status says that enough of its pods were once on nodes.
    pub is_started: bool,
    /// What has to be free on all nodes together before any of its pods is tried.
    #[serde(default)]
    pub min_resources: Amounts<String>,
}

/// A group of an object: the object's kind, its name, and which of its groups is meant.
pub type GroupPart = (PodGroupKind, Box<str>, Box<str>);

/// What a pod says of its gang, and of gangs it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GangClaim {
    /// The gang's name, in the pod's namespace; empty if it belongs to none.
    pub name: Box<str>,
    /// How many have to start together, if the pod says so itself. If it does not, and names no
    /// object that does, its gang only keeps pods together.
    pub min: Option<u32>,
    /// Objects that say so.
    pub objects: Box<[GroupPart]>,
    /// For how many seconds some may be on nodes without the others.
    pub timeout: Option<u32>,
    /// Pods of the gang that this one will make when it runs.
    pub workers: Box<[Workers]>,
    /// Gangs in its namespace that must have run to a good end before it is tried.
    pub after: Box<[Box<str>]>,
    /// The pod's priority, if an object that it names says which one all pods of it have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Why it cannot be told which gang the pod belongs to.
    pub fault: Option<Box<str>>,
}

impl GangClaim {
    /// Whether the pod makes others of its gang when it runs.
    #[must_use]
    pub fn makes_others(&self) -> bool {
        !self.workers.is_empty()
    }

    /// What is left of a claim if only the pod's own fields count, which the API server knows, and
    /// neither labels nor annotations do; nothing if they name no gang.
    #[must_use]
    pub fn native(&self) -> Option<Self> {
        let is_native = |(kind, ..): &&GroupPart| match kind {
            PodGroupKind::Native | PodGroupKind::Workload => true,
            PodGroupKind::Composite
            | PodGroupKind::Coscheduling
            | PodGroupKind::Volcano
            | PodGroupKind::Kai => false,
        };
        let objects: Box<[GroupPart]> = self.objects.iter().filter(is_native).cloned().collect();
        // Where a field names a gang, it counts most: the name of the claim is the one it gives.
        let (has_name, priority) = (!objects.is_empty(), self.priority);
        has_name.then(|| Self { name: self.name.clone(), objects, priority, ..Self::default() })
    }
}

/// Pods that do not exist yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Workers {
    /// How many.
    pub count: u32,
    /// What each of them asks for.
    pub requests: Requests<String>,
}

/// A pod of a gang that ran to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SucceededFacts {
    /// The pod's uid.
    pub uid: Box<str>,
    /// Its namespace.
    pub namespace: Box<str>,
    /// The name of its gang.
    pub gang: Box<str>,
    /// Whether the end was not a good one.
    #[serde(default)]
    pub is_failed: bool,
    /// When it was made, in seconds since 1970.
    #[serde(default)]
    pub created: i64,
    /// Kind and name of the controller that made it; empty if none did.
    #[serde(default)]
    pub owner: Box<str>,
    /// The uid of the Job that made it; empty if none did, or if Jobs were not read yet.
    #[serde(default)]
    pub job: Box<str>,
    /// Whether its controller may make more pods when all it made have ended, and does not say when
    /// it is through: a Job that is not Kubernetes' own, or one of which the uid is not known.
    #[serde(default)]
    pub is_of_job: bool,
    /// How many of the gang start together, if the pod says so itself.
    #[serde(default)]
    pub min: Option<u32>,
    /// Objects that say so.
    #[serde(default)]
    pub objects: Box<[GroupPart]>,
}

/// A Job that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobFacts {
    /// Its uid.
    pub uid: Box<str>,
    /// How many pods of a gang it stood for.
    pub pods: u32,
}
