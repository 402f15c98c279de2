//! The way into the engine: one bounded channel, in the order things were seen.
//!
//! To wake a thread costs more than most of what the engine is woken for. So it says what it waits
//! for: while it has room for more bindings, anything but a binding that went well is news; while
//! it has none, nothing is, until there is room for several.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
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

/// What the engine waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Anything that is news to it.
    News,
    /// So many bindings that are not out any more.
    Room(usize),
}

/// Wakes the engine.
#[derive(Default)]
struct Bell {
    /// What the engine waits for, while it sleeps.
    asleep: Mutex<Option<Until>>,
    rung: Condvar,
}

impl Bell {
    fn asleep(&self) -> MutexGuard<'_, Option<Until>> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An input was handed over; wakes the engine if that is what it waits for.
    fn ring(&self, is_news: bool, is_room: bool) {
        let mut asleep = self.asleep();
        *asleep = match *asleep {
            None => return,
            Some(Until::News) if !is_news => return,
            Some(Until::Room(_)) if !is_room => return,
            Some(Until::Room(left)) if left > 1 => Some(Until::Room(left - 1)),
            Some(Until::News | Until::Room(_)) => None,
        };
        if asleep.is_none() {
            drop(asleep);
            self.rung.notify_one();
        }
    }
}

/// The sending end.
#[derive(Clone)]
pub(crate) struct Feed {
    sender: SyncSender<Input>,
    bell: Arc<Bell>,
}

/// The engine's end.
pub(crate) struct Inbox {
    receiver: Receiver<Input>,
    bell: Arc<Bell>,
}

/// Both ends.
pub(crate) fn feed() -> (Feed, Inbox) {
    let (sender, receiver) = sync_channel(WAITING_MAX);
    let bell = Arc::new(Bell::default());
    (Feed { sender, bell: bell.clone() }, Inbox { receiver, bell })
}

impl Feed {
    /// Hands an input over, waiting for room.
    pub(crate) async fn send(&self, mut input: Input) -> Result<(), Closed> {
        let is_room = matches!(input, Input::Outcome(_) | Input::Prepared { .. });
        let is_news = !matches!(input, Input::Outcome(Outcome { result: Ok(()), .. }));
        loop {
            match self.sender.try_send(input) {
                Ok(()) => {
                    self.bell.ring(is_news, is_room);
                    return Ok(());
                }
                Err(TrySendError::Disconnected(_)) => return Err(Closed),
                Err(TrySendError::Full(back)) => {
                    input = back;
                    tokio::time::sleep(FULL_PAUSE).await;
                }
            }
        }
    }
}

impl Inbox {
    /// The next input, if one is there.
    pub(crate) fn next(&self) -> Result<Option<Input>, Closed> {
        match self.receiver.try_recv() {
            Ok(input) => Ok(Some(input)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Closed),
        }
    }

    /// The next input, after a sleep if none is there: nothing if nothing came that is waited for.
    pub(crate) fn wait(&self, until: Until, patience: Duration) -> Result<Option<Input>, Closed> {
        let mut asleep = self.bell.asleep();
        // Whoever hands over something from here on finds the engine asleep.
        let input = self.next()?;
        if input.is_some() || patience.is_zero() {
            return Ok(input);
        }
        *asleep = Some(until);
        let waited = self.bell.rung.wait_timeout_while(asleep, patience, |asleep| asleep.is_some());
        *waited.unwrap_or_else(PoisonError::into_inner).0 = None;
        self.next()
    }

    /// Everything that is there.
    #[cfg(test)]
    pub(crate) fn try_iter(&self) -> impl Iterator<Item = Input> {
        self.receiver.try_iter()
    }
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    /// Well beyond what a sleep takes, and well below what a test may.
    const LONG: Duration = Duration::from_secs(60);

    fn outcome(result: Result<(), Refusal>) -> Input {
        let (pod, attempt) = (PodKey::default(), Attempt::default());
        Input::Outcome(Outcome { pod, attempt, result })
    }

    /// What is found after a sleep during which these come, and whether it was slept to the end.
    async fn after_sleep(until: Until, patience: Duration, inputs: Vec<Input>) -> (usize, bool) {
        let (feed, inbox) = feed();
        let began = Instant::now();
        let engine = std::thread::spawn(move || {
            let first = inbox.wait(until, patience).expect("it is fed");
            (first.into_iter().chain(inbox.try_iter()).count(), inbox)
        });
        // Inputs that come before the sleep begins would end it.
        while feed.bell.asleep().is_none() {
            std::thread::yield_now();
        }
        for input in inputs {
            feed.send(input).await.expect("it is taken");
        }
        let (count, _inbox) = engine.join().expect("no panic");
        (count, began.elapsed() >= patience)
    }

    #[tokio::test]
    async fn a_binding_that_went_well_is_no_news_and_all_else_is() {
        let short = Duration::from_millis(50);
        let settled = vec![outcome(Ok(()))];
        assert_eq!(after_sleep(Until::News, short, settled).await, (1, true));
        let refused = vec![outcome(Err(Refusal { message: None }))];
        assert_eq!(after_sleep(Until::News, LONG, refused).await, (1, false));
        let lead = vec![outcome(Ok(())), Input::Lead];
        assert_eq!(after_sleep(Until::News, LONG, lead).await, (2, false));
    }

    #[tokio::test]
    async fn who_waits_for_room_is_woken_by_enough_of_it() {
        let short = Duration::from_millis(50);
        let settled = |count| (0..count).map(|_| outcome(Ok(()))).collect::<Vec<_>>();
        assert_eq!(after_sleep(Until::Room(3), LONG, settled(3)).await, (3, false));
        assert_eq!(after_sleep(Until::Room(3), short, settled(2)).await, (2, true));
        let seen =
            Seen::plain(Event::Listed(Kind::Node, model::Present::Names(Default::default())));
        let others = vec![Input::Seen(seen), Input::Lead];
        assert_eq!(after_sleep(Until::Room(1), short, others).await, (2, true));
    }

    #[tokio::test]
    async fn nobody_sleeps_next_to_an_input() {
        let (feed, inbox) = feed();
        feed.send(outcome(Ok(()))).await.expect("it is taken");
        assert!(inbox.wait(Until::Room(8), LONG).expect("it is fed").is_some());
        drop(feed);
        assert!(inbox.wait(Until::News, LONG).is_err(), "nobody feeds it any more");
    }
}
