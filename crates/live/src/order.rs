//! What the engine's thread wants done at the API server.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use k8s::render::StatusChange;
use model::{Attempt, PodKey};

/// One thing to do.
pub(crate) enum Order {
    /// Bind a pod.
    Bind(Bind),
    /// Evict pods for another one.
    Preempt(Preempt),
    /// Tell the owner of a pod why it waits.
    Tell(Tell),
}

/// Pods that have to go for another one.
pub(crate) struct Preempt {
    pub(crate) pod: PodKey,
    pub(crate) scheduler: Arc<str>,
    pub(crate) node: Box<str>,
    /// With their generations.
    pub(crate) victims: Vec<(PodKey, i64)>,
    /// Pods whose status says that the node is proposed for them, which it is not any more.
    pub(crate) outranked: Vec<PodKey>,
    /// Whether the pod still needs the room.
    pub(crate) stands: Arc<AtomicBool>,
}

/// A pod that goes to a node.
pub(crate) struct Bind {
    pub(crate) pod: PodKey,
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

/// A pod that waits, and why.
pub(crate) struct Tell {
    pub(crate) pod: PodKey,
    pub(crate) scheduler: Arc<str>,
    /// `Unschedulable` or `SchedulerError`.
    pub(crate) reason: &'static str,
    pub(crate) message: Arc<str>,
    /// What to write into the pod's status; nothing if it says so already.
    pub(crate) status: Option<StatusChange>,
    /// Whether an event is due.
    pub(crate) has_event: bool,
}
