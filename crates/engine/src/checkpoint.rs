//! Everything a scheduler knows, as facts: to go on from in another process, or another version.
//!
//! Nothing in it depends on how the engine keeps what it knows. Results that are kept are left out,
//! for they follow from the rest. Places of nodes are part of it, free ones as well, because nodes
//! that are equally good are told apart by their places.

mod gpus;
mod resume;
mod take;
mod written;

use std::sync::Arc;

use model::topology::{State, Taken, ZoneMask};
use model::{
    Account, Assignment, Attempt, Diagnosis, Fact, GangClaim, Labels, Learnt, NodeFacts, Outlook,
    Owner, PodGroupKind, PodKey, PodRest, PodSpec, PodVolumes, Reason, Time,
};
use serde::{Deserialize, Serialize};

pub(crate) use gpus::GpusEntry;
pub use resume::ResumeError;
use written::Written;

use crate::evictions::Purpose;

/// All facts about nodes, pods and waiting units at one moment. Lists refer to each other by
/// position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Checkpoint {
    /// The last attempt that was made.
    pub attempt: Attempt,
    /// How many units ever came.
    pub arrivals: u64,
    /// What the clock on the wall is ahead of the engine's time, in milliseconds.
    pub clock: i64,
    /// Names of resources, by the numbers that reasons have for them.
    pub resources: Vec<String>,
    /// Objects of all kinds but nodes and pods.
    pub facts: Vec<Fact>,
    /// Kinds of objects about gangs that were listed.
    pub pod_group_kinds: Vec<PodGroupKind>,
    /// Nodes by their places; nothing for a free place.
    pub nodes: Vec<Option<NodePlace>>,
    /// The specs of all pods, each once.
    pub specs: Vec<PodSpec>,
    /// All pods.
    pub pods: Vec<PodEntry>,
    /// Why units wait; many share theirs.
    pub diagnoses: Vec<Diagnosis>,
    /// What is known of gangs beyond their pods.
    pub gangs: Vec<GangEntry>,
    /// Units that wait for a node, or for the answer to a binding.
    pub units: Vec<UnitEntry>,
    /// Units on their way whose pods need something before they can be bound.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitEntry>,
    /// Pods that are to go for others, by uid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evictions: Vec<(Box<str>, Purpose)>,
    /// What pods take inside nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub insides: Vec<InsideEntry>,
    /// What pods take of GPUs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpusEntry>,
    /// What was learnt of the demand for GPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_demand: Option<Box<Learnt>>,
}

/// What is taken inside a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InsideEntry {
    /// The node, by name.
    pub node: Box<str>,
    /// What is taken.
    pub state: State,
    /// Who takes it, in the order in which they came.
    pub guests: Vec<GuestEntry>,
    /// Whether what was told of it last was not what had been foreseen.
    #[serde(default)]
    pub is_contradicted: bool,
}

/// What a pod, or room that is kept for one, takes inside a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestEntry {
    /// Which of the pods; none if it does not exist yet.
    pub pod: Option<usize>,
    /// The spec, if it does not exist yet.
    pub spec: Option<PodSpec>,
    /// What it takes.
    pub taken: Taken,
    /// The zones it is in.
    #[serde(default)]
    pub zones: ZoneMask,
    /// Whether its kubelet has told so.
    pub is_reported: bool,
    /// Whether it is taken anyway, by what a NodeResourceTopology tells.
    #[serde(default, skip_serializing_if = "Account::is_open")]
    pub account: Account,
}

/// A unit on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommitEntry {
    /// Its pods.
    pub members: Vec<MemberEntry>,
    /// How often it was tried.
    pub tries: u32,
    /// When it could first be tried.
    pub arrived: Time,
    /// When its time is over, once all was written.
    pub until: Option<Time>,
}

/// A pod on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberEntry {
    /// Which of the pods.
    pub pod: usize,
    /// What is given to its claims.
    pub given: Vec<Assignment>,
    /// For which of that something is written.
    pub writes: Box<[usize]>,
    /// The versions of what was written; nothing as long as the answer is out.
    pub written: Option<Box<[u64]>>,
}

/// Which gang: namespace, name, and whether its parts are gangs.
pub type GangName = (Box<str>, Box<str>, bool);

/// A gang.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GangEntry {
    /// Which one.
    pub name: GangName,
    /// Whether enough of its pods were once on nodes.
    pub is_started: bool,
    /// Whether some of its pods were on nodes when they were first heard of.
    #[serde(default)]
    pub is_found: bool,
    /// Whether pods of it were sent to nodes, before it is known that they are up.
    #[serde(default)]
    pub is_sent: bool,
    /// Whether it was told that its pods do not agree on how long it may be incomplete.
    #[serde(default)]
    pub is_timeout_told: bool,
    /// Whether it is known that it has too few.
    pub is_degraded: bool,
    /// When it is taken back if it is not whole by then.
    pub deadline: Option<Time>,
    /// Nodes that refused its pods.
    pub refused: Vec<(usize, Vec<Box<str>>)>,
    /// Until when room is kept for pods that do not exist yet.
    pub kept_until: Option<Time>,
    /// That room: the pod that will make them, what each is like, and the node.
    #[serde(alias = "seats")]
    pub holds: Vec<(usize, PodSpec, Box<str>)>,
}

/// A place of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodePlace {
    /// The node's name.
    pub name: String,
    /// The node, unless it is not there and only pods name it.
    pub facts: Option<NodeFacts>,
}

/// A pod. Not its facts, which have room for a spec that is shared here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodEntry {
    /// Which pod.
    pub key: PodKey,
    /// Which of the specs is its own.
    pub spec: usize,
    /// What rules of other pods know it by.
    #[serde(default)]
    pub labels: Labels,
    /// The controller that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Its volumes that limit where it can run.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub volumes: PodVolumes,
    /// The node that is proposed for it.
    pub nominated: Option<Box<str>>,
    /// What the API said last about that.
    #[serde(default)]
    pub nominated_by_api: Option<Box<str>>,
    /// Whether we want it to go, and the API has not said yet that it goes.
    #[serde(default)]
    pub is_evicted: bool,
    /// How often others were to be evicted for it.
    #[serde(default)]
    pub plans: u32,
    /// What it says of its gang.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<Arc<GangClaim>>,
    /// The node it is on, or was sent to.
    pub node: Option<Box<str>>,
    /// The attempt that sent it there, if that is not confirmed yet.
    pub attempt: Option<Attempt>,
    /// What is its own.
    #[serde(flatten)]
    pub rest: PodRest,
}

/// A unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitEntry {
    /// Which of the pods are its own.
    pub pods: Vec<usize>,
    /// The gang all of whose waiting pods these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangName>,
    /// Why its gang cannot be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Reason>,
    /// What would help its gang.
    #[serde(default)]
    pub outlook: Outlook,
    /// Whether it is of a gang that found no room.
    #[serde(default)]
    pub lacks_room: bool,
    /// For how many more pods there has to be room before its gang can fit.
    #[serde(default)]
    pub short: u64,
    /// Whether it has waited for too long.
    #[serde(default)]
    pub is_starving: bool,
    /// Its rank by importance.
    pub rank: i64,
    /// The order of arrival.
    pub arrival: u64,
    /// When it could first be tried.
    pub arrived: Option<Time>,
    /// Since when it waits for its turn.
    pub since: Time,
    /// How often it failed.
    pub failures: u32,
    /// When it last failed.
    pub last_failure: Time,
    /// Where it is.
    pub place: UnitPlace,
}

/// Where a unit is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum UnitPlace {
    /// Its turn comes in order.
    Active,
    /// It waits for a time.
    Backoff,
    /// It waits for a change.
    Parked {
        /// Since when.
        since: Time,
        /// Why.
        diagnosis: usize,
        /// The spec that found no node.
        spec: usize,
    },
    /// It waits for its gates to be removed.
    Gated,
    /// It waits for pods of its gang, and is told at this time.
    Gathering(Time),
    /// It was sent to a node, and the answer is not known.
    Tried,
}

impl Checkpoint {
    /// Adds the lists of the part that follows, for a checkpoint that is kept in parts.
    pub fn extend(&mut self, part: Self) {
        let Checkpoint {
            attempt,
            arrivals,
            clock,
            resources,
            facts,
            pod_group_kinds,
            nodes,
            specs,
            pods,
            diagnoses,
            gangs,
            units,
            commits,
            evictions,
            insides,
            gpus,
            gpu_demand,
        } = part;
        self.attempt = self.attempt.max(attempt);
        self.arrivals = self.arrivals.max(arrivals);
        self.clock = clock;
        self.resources.extend(resources);
        self.facts.extend(facts);
        self.pod_group_kinds.extend(pod_group_kinds);
        self.nodes.extend(nodes);
        self.specs.extend(specs);
        self.pods.extend(pods);
        self.diagnoses.extend(diagnoses);
        self.gangs.extend(gangs);
        self.units.extend(units);
        self.commits.extend(commits);
        self.evictions.extend(evictions);
        self.insides.extend(insides);
        self.gpus.extend(gpus);
        self.gpu_demand = gpu_demand.or(self.gpu_demand.take());
    }

    /// The same in parts of at most `max` items, of which there is at least one, to be put together
    /// with [`Checkpoint::extend`].
    pub fn parts(self, max: usize) -> impl Iterator<Item = Self> {
        fn take<T>(list: &mut impl Iterator<Item = T>, room: &mut usize) -> Vec<T> {
            let taken: Vec<T> = list.take(*room).collect();
            *room -= taken.len();
            taken
        }
        let Checkpoint {
            attempt,
            arrivals,
            clock,
            resources,
            facts,
            pod_group_kinds,
            nodes,
            specs,
            pods,
            diagnoses,
            gangs,
            units,
            commits,
            evictions,
            insides,
            gpus,
            mut gpu_demand,
        } = self;
        let (mut facts, mut kinds) = (facts.into_iter(), pod_group_kinds.into_iter());
        let (mut resources, mut nodes) = (resources.into_iter(), nodes.into_iter());
        let (mut gangs, mut commits) = (gangs.into_iter(), commits.into_iter());
        let (mut specs, mut pods) = (specs.into_iter(), pods.into_iter());
        let (mut diagnoses, mut units) = (diagnoses.into_iter(), units.into_iter());
        let (mut evictions, mut insides) = (evictions.into_iter(), insides.into_iter());
        let mut gpus = gpus.into_iter();
        let mut is_first = true;
        std::iter::from_fn(move || {
            let mut room = max;
            let part = Self {
                attempt,
                arrivals,
                clock,
                resources: take(&mut resources, &mut room),
                facts: take(&mut facts, &mut room),
                pod_group_kinds: take(&mut kinds, &mut room),
                nodes: take(&mut nodes, &mut room),
                specs: take(&mut specs, &mut room),
                pods: take(&mut pods, &mut room),
                diagnoses: take(&mut diagnoses, &mut room),
                gangs: take(&mut gangs, &mut room),
                units: take(&mut units, &mut room),
                commits: take(&mut commits, &mut room),
                evictions: take(&mut evictions, &mut room),
                insides: take(&mut insides, &mut room),
                gpus: take(&mut gpus, &mut room),
                gpu_demand: gpu_demand.take(),
            };
            let is_needed = std::mem::take(&mut is_first) || room < max;
            is_needed.then_some(part)
        })
    }
}
