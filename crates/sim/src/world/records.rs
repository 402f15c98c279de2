//! What the world knows of each node and pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Diagnosis, NodeFacts, PodKey, Time};

use crate::meter::PoolAt;
use crate::plan::{AgentPlan, Fate, NodePlan};
use crate::quantities::Columns;

/// A node, by its place in the world's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeAt(pub(super) usize);

/// A pod, by its place in the world's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PodAt(pub(super) usize);

/// A job, by its place in the world's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobAt(pub(super) usize);

/// A node that is, was or will be there.
#[derive(Clone, Debug)]
pub(crate) struct NodeRecord {
    pub(crate) pool: PoolAt,
    pub(crate) facts: NodeFacts,
    /// What becomes of it, in the order of the plan.
    pub(super) fates: Box<[Fate]>,
    /// The agent that tells what pods hold there, if there is one.
    pub(super) agent: Option<AgentPlan>,
    pub(crate) is_there: bool,
    /// Pods that run on it or are about to.
    pub(crate) pods: BTreeSet<PodAt>,
    /// What the pods that run on it take.
    pub(crate) taken: Columns,
}

impl NodeRecord {
    pub(crate) fn new(pool: PoolAt, plan: NodePlan) -> Self {
        let NodePlan { facts, fates, agent, .. } = plan;
        let fates = fates.into_iter().map(|(_, fate)| fate).collect();
        let (pods, taken) = (BTreeSet::new(), [0; 3]);
        Self { pool, facts, fates, agent, is_there: false, pods, taken }
    }
}

/// Where a pod is in its life.
///
/// ```text
/// Waiting ── an order comes ──▶ Ordered ── accepted ──▶ Running ── its time is over ──▶ Finished
///  │ ▲                             │                       └── its node or its owner ──▶ Evicted
///  │ └────────── refused ──────────┘                             or a scheduler sends it away
///  └── its owner deletes it ──▶ Deleted
/// ```
///
/// An order is a decision of the scheduler; the API knows nothing of it before it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Ordered(NodeAt),
    Running(NodeAt),
    Finished,
    Evicted,
    /// Before it got a node.
    Deleted,
}

impl Phase {
    /// The node it is on, or on its way to.
    pub(super) fn place(self) -> Option<NodeAt> {
        match self {
            Self::Running(node) | Self::Ordered(node) => Some(node),
            Self::Waiting | Self::Finished | Self::Evicted | Self::Deleted => None,
        }
    }

    /// Whether it takes nothing any more, for good.
    pub(crate) fn is_over(self) -> bool {
        match self {
            Self::Finished | Self::Evicted | Self::Deleted => true,
            Self::Waiting | Self::Ordered(_) | Self::Running(_) => false,
        }
    }
}

/// A pod, from its arrival to the end of the world.
#[derive(Clone, Debug)]
pub(crate) struct PodRecord {
    pub(crate) job: JobAt,
    pub(crate) key: PodKey,
    pub(crate) phase: Phase,
    /// The node that the API names for it, also when it has ended.
    pub(crate) bound: Option<NodeAt>,
    pub(crate) is_gated: bool,
    /// The node that is proposed for it, by name.
    pub(super) proposed: Option<String>,
    /// Whether its status says that a scheduler evicts it for another pod.
    pub(super) is_disrupted: bool,
    /// When it started, in whole seconds.
    pub(super) started: Option<i64>,
    /// When it was made.
    pub(super) created: Time,
    /// The pod that made it, if one did.
    pub(super) maker: Option<PodAt>,
    /// Whether it is being deleted.
    pub(crate) is_terminating: bool,
    /// Whether the API does not know it any more.
    pub(crate) is_gone: bool,
    /// Whether it tolerates every taint by now.
    pub(super) is_tolerant: bool,
    /// Whether its owner has written on it what tier it is of.
    pub(super) is_wishing: bool,
    /// Which part of a hundred of its requests it takes.
    pub(super) size_percent: i64,
    /// Since when it may be scheduled: its arrival, or the lifting of its gate.
    pub(crate) since: Time,
    /// When its binding was accepted.
    pub(crate) placed: Option<Time>,
    /// Why the scheduler last said that it has to wait.
    pub(crate) condition: Option<Arc<Diagnosis>>,
    /// When it said so.
    pub(crate) told: Option<Time>,
    /// How often a binding of it was refused.
    pub(crate) refusals: u32,
    /// Whether it was on its node before anybody scheduled it.
    pub(super) is_given: bool,
    /// How often in a row kubelets refused it and those in whose place it is.
    pub(super) refused: u32,
    /// The reason in its status, if its kubelet refused it.
    pub(crate) failure: Option<&'static str>,
}

impl PodRecord {
    pub(super) fn new(
        job: JobAt,
        key: PodKey,
        is_gated: bool,
        proposed: Option<String>,
        now: Time,
    ) -> Self {
        Self {
            job,
            key,
            phase: Phase::Waiting,
            bound: None,
            is_gated,
            proposed,
            is_disrupted: false,
            started: None,
            created: now,
            maker: None,
            is_terminating: false,
            is_gone: false,
            is_tolerant: false,
            is_wishing: false,
            size_percent: 100,
            since: now,
            placed: None,
            condition: None,
            told: None,
            refusals: 0,
            is_given: false,
            refused: 0,
            failure: None,
        }
    }
}
