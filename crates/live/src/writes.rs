//! What is written beside bindings: why pods and gangs wait, that gangs have started, and events.
//! It stands back for the bindings: while any is out, and for a moment after, only a trickle of
//! reasons is written, and of what tells of bindings that are over only what has waited long.
//!
//! Why a pod waits must never be written over the fact that it is bound. So what is queued when a
//! binding goes out is forgotten, and what is under way names the version of the pod it is about:
//! the API server refuses it once the binding has arrived.

mod queues;
#[cfg(test)]
mod tests;
mod words;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use k8s::render::{GroupCondition, StatusChange};
use tokio::sync::Notify;
use tracing::{debug, warn};

use crate::client::{Answer, Writer, ask_counted, request, status_message};
use crate::dispatch::{PodView, name, pod_path};
use crate::feed::{Feed, Input};
use crate::limit::Limiter;
use crate::metrics::Metrics;
use crate::order::{Doubt, GroupRef, Happened, PodRef, Report, Subject, Tell, Warn};
use queues::{IsOver, QUEUE_MAX, Queues};

/// Writes at a time when no binding is out; when some are; and when the queue is then half full.
const AT_ONCE: [usize; 3] = [16, 1, 8];
/// How long late writes wait for the bindings to be over.
const LATE_PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Attempts of a write, with growing pauses between.
const TRIES_MAX: u32 = 8;

/// The kind of patch that knows lists by their keys.
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// One thing to write.
pub(crate) enum Write {
    /// An event.
    Event { about: Subject, scheduler: Arc<str>, at: Timestamp, text: Text },
    /// What the status of a pod that waits is to say.
    Pod(PodStatus),
    /// Whether a gang was once on nodes.
    Group { group: GroupRef, condition: GroupCondition, at: Timestamp },
}

/// What the status of a pod that waits is to say.
pub(crate) struct PodStatus {
    pod: PodRef,
    /// Reason and message of the `PodScheduled` condition and since when; nothing if only the node
    /// that is proposed changes.
    said: Option<(&'static str, Arc<str>, Timestamp)>,
    change: StatusChange,
}

/// What an event says.
pub(crate) enum Text {
    /// The pod goes to this node.
    Scheduled(Box<str>),
    /// The pod waits for this reason.
    Failed(Arc<str>),
    /// The pod was evicted for another one, from this node.
    Preempted(PodRef, Box<str>),
    /// The pod was evicted because its gang could not be completed.
    GangTakenBack(Arc<str>),
    /// The pod stays, though its gang could not be completed.
    GangIncomplete(Arc<str>),
    /// Something happened to a gang.
    Gang(Happened, Arc<str>),
    /// Something about the pod or the node is in doubt.
    Doubtful(Doubt, Arc<str>),
}

impl Write {
    pub(crate) fn preempted(pod: PodRef, by: PodRef, node: Box<str>, scheduler: Arc<str>) -> Self {
        Self::event(Subject::Pod(pod), scheduler, Text::Preempted(by, node))
    }

    pub(crate) fn scheduled(pod: PodRef, node: Box<str>, scheduler: Arc<str>) -> Self {
        Self::event(Subject::Pod(pod), scheduler, Text::Scheduled(node))
    }

    pub(crate) fn event(about: Subject, scheduler: Arc<str>, text: Text) -> Self {
        Self::Event { about, scheduler, at: Timestamp::now(), text }
    }

    /// That a node is proposed for a pod, or none any more.
    pub(crate) fn propose(pod: PodRef, node: Option<Box<str>>) -> Self {
        let nomination = Some(node);
        let change = StatusChange { generation: 0, is_transition: false, nomination };
        Self::Pod(PodStatus { pod, said: None, change })
    }

    /// Whether it tells of bindings that are over, and can wait for those that are not.
    fn is_late(&self) -> bool {
        match self {
            Self::Event { .. } => true,
            Self::Pod(_) => false,
            Self::Group { condition, .. } => condition.is_scheduled,
        }
    }

    /// The uid of the object whose status it changes.
    fn uid(&self) -> Option<&str> {
        match self {
            Self::Event { .. } => None,
            Self::Pod(status) => Some(&status.pod.key.uid),
            Self::Group { group, .. } => Some(&group.uid),
        }
    }

    /// Becomes a later write about the same status, and says all that this one was to say beside.
    fn replace(&mut self, later: Self) {
        match (self, later) {
            (Self::Pod(earlier), Self::Pod(later)) => earlier.replace(later),
            (
                Self::Group { condition: earlier, at: since, group },
                Self::Group { condition: mut later, at, group: as_seen },
            ) => {
                later.is_transition |= earlier.is_transition;
                (*earlier, *since, *group) = (later, at, as_seen);
            }
            (earlier, later) => *earlier = later,
        }
    }

    /// At which version the pod is whose status this changes, by the answer to it.
    fn version_in(&self, answer: &[u8]) -> Option<Box<str>> {
        match self {
            Self::Pod(_) => PodView::read(answer).map(|pod| pod.version),
            Self::Event { .. } | Self::Group { .. } => None,
        }
    }

    /// What it is about, as users write it.
    fn subject(&self) -> String {
        match self {
            Self::Event { about: Subject::Pod(pod), .. } | Self::Pod(PodStatus { pod, .. }) => {
                name(&pod.key)
            }
            Self::Event { about: Subject::Group(group), .. } | Self::Group { group, .. } => {
                format!("{}/{}", group.key.namespace, group.key.name)
            }
            Self::Event { about: Subject::Node(name), .. } => name.to_string(),
        }
    }
}

impl PodStatus {
    fn replace(&mut self, later: Self) {
        self.pod = later.pod;
        if later.change.nomination.is_some() {
            self.change.nomination = later.change.nomination;
        }
        if later.said.is_some() {
            self.said = later.said;
            self.change.generation = later.change.generation;
            self.change.is_transition |= later.change.is_transition;
        }
    }
}

/// The queue, and what it takes to empty it.
pub(crate) struct Writes {
    client: Writer,
    feed: Feed,
    metrics: Arc<Metrics>,
    /// Conditions go behind the bindings, events have their own rate, as kube-scheduler has it.
    limiter: Arc<Limiter>,
    event_limiter: Limiter,
    /// Bindings that are out.
    binds: Arc<AtomicUsize>,
    /// The last part of the name of the reporting instance.
    hostname: String,
    queues: Mutex<Queues>,
    changed: Notify,
    /// Makes names of events different.
    serial: AtomicU64,
}

/// What became of a write.
enum Sent {
    /// It was taken. At which version the object is by it, if that is known.
    Taken(Option<Box<str>>),
    /// It was refused, given up, or is not wanted any more.
    Not,
}

impl Writes {
    pub(crate) fn new(
        client: Writer,
        feed: Feed,
        metrics: Arc<Metrics>,
        (limiter, event_limiter): (Arc<Limiter>, Limiter),
        binds: Arc<AtomicUsize>,
        hostname: String,
    ) -> Self {
        let start = Timestamp::now().as_microsecond();
        Self {
            client,
            feed,
            metrics,
            limiter,
            event_limiter,
            binds,
            hostname,
            queues: Mutex::default(),
            changed: Notify::new(),
            serial: AtomicU64::new(u64::try_from(start).unwrap_or_default()),
        }
    }

    /// Queues what the owner of a waiting pod is told.
    pub(crate) fn tell(&self, tell: Tell) {
        let Tell { pod, scheduler, reason, message, since_unix_ms, status, has_event } = tell;
        let at = Timestamp::now();
        if let Some(change) = status {
            let since = since_unix_ms.and_then(|ms| i64::try_from(ms).ok());
            let since = since.and_then(|ms| Timestamp::from_millisecond(ms).ok());
            let (pod, said) = (pod.clone(), Some((reason, message.clone(), since.unwrap_or(at))));
            self.push(Write::Pod(PodStatus { pod, said, change }));
        }
        if has_event {
            let (about, text) = (Subject::Pod(pod), Text::Failed(message));
            self.push(Write::Event { about, scheduler, at, text });
        }
    }

    /// Queues what the owner of a gang is told.
    pub(crate) fn report(&self, report: Report) {
        let Report { scheduler, condition, event } = report;
        if let Some((group, condition)) = condition {
            self.push(Write::Group { group, condition, at: Timestamp::now() });
        }
        if let Some((about, happened, note)) = event {
            self.push(Write::event(about, scheduler, Text::Gang(happened, note)));
        }
    }

    /// Queues that something about a pod is in doubt.
    pub(crate) fn warn(&self, warn: Warn) {
        let Warn { about, scheduler, doubt, note } = warn;
        self.push(Write::event(about, scheduler, Text::Doubtful(doubt, note)));
    }

    /// Queues a write.
    pub(crate) fn push(&self, write: Write) {
        let is_late = write.is_late();
        let mut queues = self.queues();
        if queues.push(write) {
            self.metrics.event_dropped();
        }
        // What can wait is not looked at while bindings are out, unless there is too much of it.
        if !is_late || self.has_no_binds() || queues.waiting() > QUEUE_MAX / 2 {
            self.changed.notify_one();
        }
    }

    /// A binding goes out: why the pod waits is not written any more.
    pub(crate) fn bound(&self, uid: &str) {
        self.queues().bound(uid);
    }

    /// A binding is not out any more.
    pub(crate) fn settled(&self) {
        self.queues().settled();
        if self.has_no_binds() {
            self.changed.notify_one();
        }
    }

    fn has_no_binds(&self) -> bool {
        self.binds.load(Ordering::Relaxed) == 0
    }

    /// Writes until it is dropped.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            while let Some((write, is_over)) = self.pop() {
                tokio::spawn(self.clone().carry_out(write, is_over));
            }
            let untold = self.queues().take_untold();
            for uid in untold {
                let _ = self.feed.send(Input::NotTold { uid }).await;
            }
            // Writes also get old, and lulls end, while nothing else changes.
            let lull = self.queues().lull();
            let pause = if lull.is_zero() { LATE_PATIENCE / 4 } else { lull };
            let _ = tokio::time::timeout(pause, self.changed.notified()).await;
        }
    }

    /// Waits until everything is written.
    pub(crate) async fn flushed(&self) {
        loop {
            {
                let queues = self.queues();
                if queues.in_flight() + queues.waiting() == 0 {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().expect("nobody panics while holding the queue")
    }

    /// The next write, if it may be sent at this time.
    fn pop(&self) -> Option<(Write, IsOver)> {
        let mut queues = self.queues();
        let [idle, trickle, crowded] = AT_ONCE;
        let is_idle = self.has_no_binds() && queues.lull().is_zero();
        let at_once = match is_idle {
            true => idle,
            false if queues.waiting() > QUEUE_MAX / 2 => crowded,
            false => trickle,
        };
        self.metrics.events_queued(queues.late());
        if queues.in_flight() >= at_once {
            return None;
        }
        queues.pop(|since| at_once != trickle || since.elapsed() >= LATE_PATIENCE)
    }

    async fn carry_out(self: Arc<Self>, mut write: Write, is_over: IsOver) {
        let sent = self.send(&mut write, &is_over).await;
        let uid = write.uid();
        let version = match (sent, uid) {
            (Sent::Taken(_), None) => {
                self.metrics.event_written();
                None
            }
            (Sent::Not, None) => {
                self.metrics.event_dropped();
                None
            }
            (Sent::Taken(version), Some(_)) => version,
            (Sent::Not, Some(uid)) => {
                let _ = self.feed.send(Input::NotTold { uid: uid.into() }).await;
                None
            }
        };
        self.queues().ended(uid, version);
        self.changed.notify_one();
    }

    /// Sends a write until it is taken, refused for good, or not wanted any more.
    async fn send(&self, write: &mut Write, is_over: &IsOver) -> Sent {
        let mut pause = Duration::from_millis(100);
        let mut words = None;
        for _ in 0..TRIES_MAX {
            match write {
                Write::Event { .. } => self.event_limiter.pass().await,
                Write::Pod(_) | Write::Group { .. } => self.limiter.pass_behind().await,
            }
            let is_over = || is_over.load(Ordering::Relaxed);
            let found = if is_over() { Found::Gone } else { self.find_version(write).await };
            match found {
                Found::Waits if is_over() => return Sent::Not,
                Found::Waits => {}
                Found::Gone => return Sent::Not,
                Found::Unknown => {
                    tokio::time::sleep(pause).await;
                    continue;
                }
            }
            let (method, path, content_type, body) =
                words.get_or_insert_with(|| self.put_into_words(write));
            let request = request(method.clone(), path, content_type, body.clone());
            match ask_counted(&self.client, &self.metrics, request, PATIENCE).await {
                Ok(answer) if answer.status.is_success() => {
                    return Sent::Taken(write.version_in(&answer.body));
                }
                Ok(answer) if answer.status == StatusCode::CONFLICT => {
                    // An event of this name is there: an earlier try arrived after all.
                    let Write::Pod(status) = write else { return Sent::Taken(None) };
                    status.pod.version = Box::default();
                    words = None;
                    continue;
                }
                Ok(answer) if is_final(&answer) => {
                    log_refusal(write, &answer);
                    return Sent::Not;
                }
                Ok(answer) => pause = answer.retry_after.unwrap_or(pause),
                Err(error) => debug!(about = write.subject(), %error, "no answer to a write"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(10));
        }
        warn!(about = write.subject(), "a write was given up");
        Sent::Not
    }

    /// Sees to it that the version of the pod is known which a write is about.
    async fn find_version(&self, write: &mut Write) -> Found {
        let Write::Pod(PodStatus { pod, .. }) = write else { return Found::Waits };
        if !pod.version.is_empty() {
            return Found::Waits;
        }
        let request = request(Method::GET, &pod_path(&pod.key), "application/json", Vec::new());
        match ask_counted(&self.client, &self.metrics, request, PATIENCE).await {
            Ok(answer) if answer.status.is_success() => match PodView::read(&answer.body) {
                Some(view) if view.uid == pod.key.uid && view.node.is_empty() => {
                    pod.version = view.version;
                    Found::Waits
                }
                Some(_) => Found::Gone,
                None => Found::Unknown,
            },
            Ok(answer) if answer.status == StatusCode::NOT_FOUND => Found::Gone,
            Ok(_) | Err(_) => Found::Unknown,
        }
    }
}

/// What is known of the object of a write before it is sent.
enum Found {
    /// It is there, or nothing has to be known of it.
    Waits,
    /// It is gone, or on a node: nobody has to be told why it waits.
    Gone,
    /// It cannot be read.
    Unknown,
}

fn log_refusal(write: &Write, answer: &Answer) {
    let message = status_message(&answer.body);
    // Of what is gone nobody has to be told.
    if answer.status == StatusCode::NOT_FOUND {
        debug!(about = write.subject(), message, "a write about what is gone");
    } else {
        warn!(about = write.subject(), message, "a write was refused");
    }
}

/// Whether another try would be answered alike.
fn is_final(answer: &Answer) -> bool {
    match answer.status {
        StatusCode::TOO_MANY_REQUESTS => false,
        // A server that has just started does not know yet what we may do.
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            status_message(&answer.body).contains("is being terminated")
        }
        status => status.is_client_error(),
    }
}
