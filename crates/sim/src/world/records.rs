//! What the world knows of each node and pod.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Diagnosis, NodeFacts, PodKey, Time};

use crate::meter::PoolAt;
use crate::plan::{Fate, NodePlan};
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
    pub(crate) is_there: bool,
    /// Pods that run on it or are about to.
    pub(crate) pods: BTreeSet<PodAt>,
    /// What the pods that run on it take.
    pub(crate) taken: Columns,
}

impl NodeRecord {
    pub(crate) fn new(pool: PoolAt, plan: NodePlan) -> Self {
        let NodePlan { facts, fates, .. } = plan;
        let fates = fates.into_iter().map(|(_, fate)| fate).collect();
        Self { pool, facts, fates, is_there: false, pods: BTreeSet::new(), taken: [0; 3] }
    }
}

/// Where a pod is in its life.
///
/// ```text
/// Waiting ── an order comes ──▶ Ordered ── accepted ──▶ Running ── its time is over ──▶ Finished
///    ▲                             │                       └────── its node leaves ───▶ Evicted
///    └────────── refused ──────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Waiting,
    Ordered(NodeAt),
    Running(NodeAt),
    Finished,
    Evicted,
}

impl Phase {
    /// The node that the API names for the pod: an order does not count before it is accepted.
    pub(super) fn node(self) -> Option<NodeAt> {
        match self {
            Self::Running(node) => Some(node),
            Self::Waiting | Self::Ordered(_) | Self::Finished | Self::Evicted => None,
        }
    }
}

/// A pod, from its arrival to the end of the world.
#[derive(Clone, Debug)]
pub(crate) struct PodRecord {
    pub(crate) job: JobAt,
    pub(crate) key: PodKey,
    pub(crate) phase: Phase,
    pub(crate) is_gated: bool,
    /// Since when it may be scheduled: its arrival, or the lifting of its gate.
    pub(crate) since: Time,
    /// When its binding was accepted.
    pub(crate) placed: Option<Time>,
    /// Why the scheduler last said that it has to wait.
    pub(crate) condition: Option<Arc<Diagnosis>>,
    /// How often a binding of it was refused.
    pub(crate) refusals: u32,
}

impl PodRecord {
    pub(super) fn new(job: JobAt, key: PodKey, is_gated: bool, now: Time) -> Self {
        Self {
            job,
            key,
            phase: Phase::Waiting,
            is_gated,
            since: now,
            placed: None,
            condition: None,
            refusals: 0,
        }
    }
}
