//! The way into the engine: one bounded channel, in the order things were seen.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use k8s::ingest::GroupStanding;
use model::{Attempt, Event, Kind, PodKey};

use crate::watch::Watched;

/// How many inputs may wait. When the engine is behind, watches are read no further.
const WAITING_MAX: usize = 4096;
/// How long a full channel is left alone.
const FULL_PAUSE: Duration = Duration::from_millis(1);

/// Something the engine thread has to take in.
pub(crate) enum Input {
    /// What a watch said.
    Seen(Seen),
    /// What became of a binding.
    Outcome(Outcome),
    /// What became of what a pod needs before it can be bound.
    Prepared {
        /// Which pod.
        pod: PodKey,
        /// To be given back.
        attempt: Attempt,
        /// The versions of all that was written, or why it was not.
        result: Result<Box<[u64]>, String>,
    },
    /// What became of an eviction.
    Eviction {
        /// The uid of the pod that was to go.
        uid: Box<str>,
        /// Whether it goes, or is gone.
        is_done: bool,
    },
    /// A condition could not be written: the pod's status does not say what we think it says.
    NotTold {
        /// The pod's uid.
        uid: Box<str>,
    },
    /// Kinds that not every cluster has and that have to be listed before anything is decided.
    Await(Vec<Kind>),
    /// We lead: decide.
    Lead,
    /// Decide nothing more, and say when nothing is in flight.
    Drain(tokio::sync::oneshot::Sender<()>),
}

/// An event with what is worth knowing beside it.
pub(crate) struct Seen {
    pub(crate) event: Event,
    /// The `resourceVersion` of an object that is there; 0 if it is not a number.
    pub(crate) version: u64,
    /// What the status of a pod on no node says.
    pub(crate) standing: Option<k8s::ingest::Standing>,
    /// Where an object about a gang is served, and what its status says.
    pub(crate) group: Option<Box<(&'static Watched, GroupStanding)>>,
    pub(crate) read_at: Instant,
}

impl Seen {
    /// An event that is about no object.
    pub(crate) fn plain(event: Event) -> Self {
        Self { event, version: 0, standing: None, group: None, read_at: Instant::now() }
    }
}

/// What became of a binding.
pub(crate) struct Outcome {
    pub(crate) pod: PodKey,
    pub(crate) attempt: Attempt,
    pub(crate) result: Result<(), Refusal>,
}

/// Why a binding did not come about.
pub(crate) struct Refusal {
    /// What to tell the pod's owner; nothing where the pod is gone or is bound elsewhere.
    pub(crate) message: Option<String>,
}

/// The engine takes nothing any more.
#[derive(Debug)]
pub(crate) struct Closed;

/// The sending end.
#[derive(Clone)]
pub(crate) struct Feed(SyncSender<Input>);

/// Both ends.
pub(crate) fn feed() -> (Feed, Receiver<Input>) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    (Feed(sender), receiver)
}

impl Feed {
    /// Hands an input over, waiting for room.
    pub(crate) async fn send(&self, mut input: Input) -> Result<(), Closed> {
        loop {
            match self.0.try_send(input) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(_)) => return Err(Closed),
                Err(TrySendError::Full(back)) => {
                    input = back;
                    tokio::time::sleep(FULL_PAUSE).await;
                }
            }
        }
    }
}
