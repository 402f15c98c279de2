//! What a run consists of: nodes and what becomes of them, jobs and when they arrive, and the
//! scheduler's settings. A plan says what happens by itself; what the scheduler makes of it is the
//! run's.

mod storage;

use std::sync::Arc;

use k8s::config::Settings;
use model::hardware::HardwareFacts;
use model::{
    Amounts, Fact, GangClaim, GroupingFacts, LabelSelector, Labels, Millis, NodeFacts, Owner,
    PodGroupFacts, PodGroupKind, PodSpec, Said, Taint, Tier, Time,
};

pub use storage::{ClaimPlan, ClusterStorage, Mount, Provisioner, StorageChange, StoragePlan};

/// All of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides everything that chance decides.
    pub seed: u64,
    /// How much virtual time passes.
    pub span: Millis,
    /// All nodes, those that join later included.
    pub nodes: Vec<NodePlan>,
    /// All jobs.
    pub jobs: Vec<Job>,
    /// How many of which pods must stay when others need their room.
    pub budgets: Vec<Budget>,
    /// Objects about gangs.
    pub pod_groups: Vec<PodGroupPlan>,
    /// Services and controllers, by which pods are spread that do not say how. They are there from
    /// the start to the end.
    pub groupings: Vec<GroupingFacts>,
    /// Namespaces, as objects. Pods may be in others, of which nothing is known then.
    pub namespaces: Vec<NamespacePlan>,
    /// Volumes, claims and who gives them to each other.
    pub storage: StoragePlan,
    /// What else is there from the start to the end: queues, what CSI drivers say of themselves,
    /// Jobs that are complete and pods that succeeded before.
    pub fixed: Vec<Fact>,
    /// How the scheduler is configured.
    pub settings: Settings,
    /// What goes wrong between the scheduler and the API server.
    pub faults: Faults,
}

/// What goes wrong between the scheduler and the API server, and how long things take there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// How long a request is on its way, at least and at most; its answer takes as long again.
    pub request: (Millis, Millis),
    /// How long a watch takes to show a change, at least and at most.
    pub watch: (Millis, Millis),
    /// How many of a hundred bindings are refused for no reason of the pod's. Some of these were
    /// carried out all the same.
    pub refused_percent: u64,
    /// How many of a hundred requests never arrive, or long after they were given up.
    pub lost_percent: u64,
    /// How many of a hundred answers never arrive.
    pub unanswered_percent: u64,
    /// The mean time between two cuts of a watch; each leads to a list of everything.
    pub watch_cut_every: Option<Millis>,
    /// How many of a hundred lists break off after a part; everything is listed again later.
    pub broken_list_percent: u64,
    /// The mean time between two ends of the leading scheduler, in the middle of anything.
    pub leader_lost_every: Option<Millis>,
    /// How long another scheduler takes to bind the pods that none of our profiles schedules, at
    /// least and at most. It does not always look whether they fit. Without it they wait.
    pub second_scheduler: Option<(Millis, Millis)>,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        request: (Millis(2), Millis(20)),
        watch: (Millis(0), Millis(0)),
        refused_percent: 0,
        lost_percent: 0,
        unanswered_percent: 0,
        watch_cut_every: None,
        broken_list_percent: 0,
        leader_lost_every: None,
        second_scheduler: None,
    };
}

/// A node to be.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// The nodes it is reported with.
    pub pool: Box<str>,
    /// What it is when it joins.
    pub facts: NodeFacts,
    /// When it joins.
    pub joins: Time,
    /// What becomes of it later, and when.
    pub fates: Vec<(Time, Fate)>,
    /// The agent that tells what pods hold inside it, if one runs there. It has something to tell
    /// where it is known what is inside.
    pub agent: Option<AgentPlan>,
}

/// The agent of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPlan {
    /// How long after a change it reports, at least and at most; never twice within five seconds.
    pub lag: (Millis, Millis),
    /// What its reports leave out: names of resources, `cpus` or `memory`.
    pub leaves_out: Box<[Box<str>]>,
}

impl Default for AgentPlan {
    /// It asks the kubelet every five seconds, and leaves nothing out.
    fn default() -> Self {
        Self { lag: (Millis(100), Millis(5_100)), leaves_out: [].into() }
    }
}

impl NodePlan {
    /// A node that is there from the start, to the end.
    #[must_use]
    pub fn new(pool: &str, facts: NodeFacts) -> Self {
        let agent = Some(AgentPlan::default());
        Self { pool: pool.into(), facts, joins: Time::default(), fates: Vec::new(), agent }
    }
}

/// Something that becomes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is closed to new pods.
    Closes,
    /// It is opened to new pods.
    Opens,
    /// Its pods are evicted.
    Drains,
    /// It is taken away, with the pods that are still on it.
    Leaves,
    /// It disappears without notice. Its pods are removed some time later, unless it returns.
    Dies,
    /// It is there again, as it was.
    Returns,
    /// It offers more or less. Pods that are on it stay.
    Resizes {
        /// What it offers from then on.
        allocatable: Amounts<String>,
        /// How many pods it may hold from then on.
        pods_max: i64,
    },
    /// It has other taints. Pods that are on it stay.
    Taints(Vec<Taint<String>>),
    /// It has other labels. Pods that are on it stay.
    Labels(Vec<(String, String)>),
    /// It tells something else of its inside, or nothing. Pods that are on it stay.
    Hardware(Option<Box<HardwareFacts>>),
    /// Nobody tells any more what pods hold inside it.
    AgentVanishes {
        /// Whether what was told before is removed.
        is_cleaned: bool,
    },
}

/// A disruption budget, which is there from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name.
    pub name: String,
    /// The namespace of its pods.
    pub namespace: String,
    /// Which of them it is about.
    pub selector: LabelSelector,
    /// How many of them must stay.
    pub stay: Stay,
}

/// How many of the pods of a disruption budget must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// `minAvailable`.
    AtLeast(i32),
    /// `minAvailable` as a percentage of all of them, rounded up.
    AtLeastPercent(i32),
    /// `maxUnavailable`.
    AllBut(i32),
    /// `maxUnavailable` as a percentage of all of them, rounded up.
    AllButPercent(i32),
}

impl Stay {
    /// How many must stay if there are to be so many.
    #[must_use]
    pub fn of(self, expected: i32) -> i32 {
        let part = |percent: i32| {
            let part = (i64::from(percent) * i64::from(expected) + 99) / 100;
            i32::try_from(part).unwrap_or(i32::MAX)
        };
        match self {
            Self::AtLeast(count) => count,
            Self::AtLeastPercent(percent) => part(percent),
            Self::AllBut(count) => expected.saturating_sub(count),
            Self::AllButPercent(percent) => expected.saturating_sub(part(percent)),
        }
    }
}

/// Who makes another pod in the place of one that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keeper {
    /// A controller that does not mind where the pod runs. It is named if pods that it makes are
    /// spread by it.
    Controller(Option<Owner>),
    /// A DaemonSet, which has one pod on every node. The pod stays when its node is drained, and
    /// is gone when its node is.
    DaemonSet,
    /// The kubelet of its node. A static pod cannot move; it is gone when its node is.
    Kubelet,
    /// Nobody: once it is gone, it is gone.
    Nobody,
}

impl Default for Keeper {
    fn default() -> Self {
        Self::Controller(None)
    }
}

/// Pods that arrive together and are alike.
#[derive(Clone, Debug)]
pub struct Job {
    /// The name its pods begin with.
    pub name: String,
    /// When it arrives.
    pub at: Time,
    /// How many pods it has.
    pub pods: u64,
    /// How many more come one by one, each when one of its pods has run to its end.
    pub followers: u64,
    /// What its pods ask for.
    pub spec: PodSpec,
    /// What rules of other pods know its pods by.
    pub labels: Labels,
    /// Higher goes first.
    pub priority: i32,
    /// The node of the plan its pods are on when they arrive, if they are on one.
    pub node: Option<String>,
    /// How long its pods run, at least and at most; none stay until the end.
    pub runs: Option<(Millis, Millis)>,
    /// The scheduling gates of its pods, and how long after its arrival they are lifted.
    pub gates: Option<Gates>,
    /// What else becomes of its pods.
    pub life: Life,
    /// The gang its pods are in, if they are in one.
    pub gang: Option<Membership>,
}

/// What pods of a job say of their gang. Several jobs may name the same one: its members are not
/// alike then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// The gang's name.
    pub gang: Box<str>,
    /// How many have to start together, if the pods say so themselves.
    pub min: Option<u32>,
    /// The kind of the object that says so, if one does. It has the gang's name.
    pub object: Option<PodGroupKind>,
    /// How much later than the one before each pod of the job is made.
    pub every: Millis,
    /// Whether nobody makes another pod in the place of one that is gone.
    pub is_bare: bool,
    /// Gangs that have to run to a good end before.
    pub after: Box<[Box<str>]>,
    /// The job whose pod makes those of this one, and how long after it started, at least and at
    /// most. They are gone when that pod is.
    pub made_by: Option<(String, (Millis, Millis))>,
    /// What its pods say to the letter, if that is known; the gang's name, and with whom it is
    /// together, still hold.
    pub claim: Option<Arc<GangClaim>>,
    /// The Job of Kubernetes that makes its pods, if one does.
    pub batch: Option<BatchJob>,
}

/// What becomes of a Job of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchJob {
    /// How long after the last of its pods succeeded it is complete, at least and at most.
    pub completes: (Millis, Millis),
    /// How long after that it is deleted with its pods, at least and at most, if it is.
    pub deleted: Option<(Millis, Millis)>,
}

/// An object about a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodGroupPlan {
    /// What it says.
    pub facts: PodGroupFacts,
    /// When it is made.
    pub at: Time,
    /// When it is deleted, if it is.
    pub deleted: Option<Time>,
    /// What it says from some time on, or that it is not there from then on.
    pub later: Vec<(Time, Option<PodGroupFacts>)>,
}

/// A namespace, as an object of an administrator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespacePlan {
    /// Its name.
    pub name: Box<str>,
    /// Its labels from some time on, or that it is not there from then on. Before the first it is
    /// not there.
    pub states: Vec<(Time, Option<Labels>)>,
}

/// What becomes of the pods of a job beside running for their time. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Life {
    /// How long pods that are deleted or evicted take to end, at least and at most.
    pub grace: (Millis, Millis),
    /// When they are deleted for good, counted from their arrival, at least and at most.
    pub deleted_after: Option<(Millis, Millis)>,
    /// How many of a hundred that run to their end fail; their owner makes others instead.
    pub failed_percent: u64,
    /// When their requests change in place, counted from their binding, and to what part of a
    /// hundred.
    pub resized: Option<(Millis, i64)>,
    /// When their owner lets them tolerate every taint, counted from their arrival.
    pub tolerant_after: Option<Millis>,
    /// When their owner writes a tier on them, counted from their arrival, and what he writes.
    pub wishes: Option<(Millis, Said<Tier>)>,
    /// The node that is proposed for them.
    pub nominated: Option<String>,
    /// Whether nobody may be evicted for them.
    pub is_modest: bool,
    /// Who makes others in their place.
    pub keeper: Keeper,
    /// Whether its first pod has the name of the job, without a number behind it.
    pub is_named: bool,
    /// The volumes of each of them.
    pub mounts: Vec<Mount>,
}

/// Gates that keep pods from being scheduled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    /// Their names.
    pub names: Box<[Box<str>]>,
    /// When they are lifted, counted from the arrival; never if there is none.
    pub lifted_after: Option<Millis>,
}
