//! What the engine's thread wants done at the API server.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use k8s::render::{GroupCondition, StatusChange};
use model::{Attempt, PodGroupKey, PodKey, Write};

use crate::watch::Watched;

/// One thing to do.
pub(crate) enum Order {
    /// Bind a pod.
    Bind(Bind),
    /// Write what a pod needs before it can be bound.
    Prepare(Prepare),
    /// Evict pods for another one.
    Preempt(Preempt),
    /// Evict pods of a gang that could not be completed.
    Disband(Disband),
    /// Tell the owner of a pod why it waits.
    Tell(Tell),
    /// Tell the owner of a gang how it is.
    Report(Report),
    /// Tell the owner of a pod or a node that something about it is in doubt.
    Warn(Warn),
}

/// A pod or a node about which something is in doubt.
pub(crate) struct Warn {
    pub(crate) about: Subject,
    pub(crate) scheduler: Arc<str>,
    pub(crate) doubt: Doubt,
    /// Which tier it has and why, or what is said in vain.
    pub(crate) note: Arc<str>,
}

/// What is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The tier of a pod.
    Tier,
    /// What a pod says of itself means nothing, and is ignored.
    Hint,
    /// What a node says of its inside means nothing, and is ignored.
    Hardware,
}

/// Pods of a gang that could not be completed.
pub(crate) struct Disband {
    pub(crate) scheduler: Arc<str>,
    /// How many of the gang are there.
    pub(crate) note: Arc<str>,
    pub(crate) evicted: Vec<Victim>,
    /// Pods that nobody would make again, and which stay.
    pub(crate) bare: Vec<PodRef>,
}

/// A pod to evict.
pub(crate) struct Victim {
    pub(crate) pod: PodRef,
    pub(crate) generation: i64,
    /// Nothing more is sent once it is not.
    pub(crate) is_wanted: Arc<AtomicBool>,
}

impl Victim {
    /// What is noted of it as long as the eviction is out.
    pub(crate) fn noted(&self) -> (Box<str>, Arc<AtomicBool>) {
        (self.pod.key.uid.clone(), self.is_wanted.clone())
    }
}

/// How a gang is.
pub(crate) struct Report {
    pub(crate) scheduler: Arc<str>,
    /// What to write into the status of its object.
    pub(crate) condition: Option<(GroupRef, GroupCondition)>,
    /// An event: about whom, and what happened.
    pub(crate) event: Option<(Subject, Happened, Arc<str>)>,
}

/// What happened to a gang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// Enough of it is on nodes.
    Scheduled,
    /// It lost pods that it needs.
    Degraded,
    /// Its pods do not agree on how long it may be incomplete.
    TimeoutsDiffer,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Pod(PodRef),
    Group(GroupRef),
    /// By name.
    Node(Box<str>),
}

/// A pod as it was when something was decided about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodRef {
    pub(crate) key: PodKey,
    /// Its `resourceVersion`; empty if that is not known.
    pub(crate) version: Box<str>,
}

/// An object about a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupRef {
    pub(crate) api: &'static Watched,
    pub(crate) key: PodGroupKey,
    pub(crate) uid: Box<str>,
    /// Its `resourceVersion`.
    pub(crate) version: Box<str>,
}

/// Pods that have to go for another one.
pub(crate) struct Preempt {
    pub(crate) pod: PodRef,
    pub(crate) scheduler: Arc<str>,
    pub(crate) node: Box<str>,
    pub(crate) victims: Vec<Victim>,
    /// Pods whose status says that the node is proposed for them, which it is not any more.
    pub(crate) outranked: Vec<PodRef>,
}

/// A pod that goes to a node.
pub(crate) struct Bind {
    pub(crate) pod: PodKey,
    /// The pod's `resourceVersion` when this was decided.
    pub(crate) version: Box<str>,
    pub(crate) node: Box<str>,
    pub(crate) scheduler: Arc<str>,
    pub(crate) attempt: Attempt,
    /// The binding, written out.
    pub(crate) body: Vec<u8>,
    /// When the pod was first read, if this is the first decision about it.
    pub(crate) read_at: Option<Instant>,
    /// When this attempt began.
    pub(crate) began: Instant,
    /// When the pod came into the queue.
    pub(crate) arrived: Instant,
    /// How often it was tried, this time included.
    pub(crate) tries: u32,
}

/// What a pod needs before it can be bound.
pub(crate) struct Prepare {
    pub(crate) pod: PodKey,
    /// The pod and the node it goes to, if its status does not say so yet.
    pub(crate) proposal: Option<(PodRef, Box<str>)>,
    pub(crate) attempt: Attempt,
    pub(crate) writes: Vec<Write>,
}

/// A pod that waits, and why.
pub(crate) struct Tell {
    pub(crate) pod: PodRef,
    pub(crate) scheduler: Arc<str>,
    /// The reason of the `PodScheduled` condition.
    pub(crate) reason: &'static str,
    pub(crate) message: Arc<str>,
    /// Since when that is so, in milliseconds since 1970; nothing if it is so from now on.
    pub(crate) since_unix_ms: Option<u64>,
    /// What to write into the pod's status; nothing if it says so already.
    pub(crate) status: Option<StatusChange>,
    /// Whether an event is due.
    pub(crate) has_event: bool,
}
