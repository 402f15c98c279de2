//! What is written beside bindings: why pods and gangs wait, that gangs have started, and events.
//! It stands back for the bindings: while any is out, and for a moment after, only a trickle of
//! reasons is written, and of what tells of bindings that are over only what has waited long.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use k8s::render::{self, GroupCondition, Record, Regarding, StatusChange};
use model::PodKey;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::client::{Answer, ask_counted, request, status_message};
use crate::dispatch::{name, pod_path};
use crate::feed::{Feed, Input};
use crate::limit::Limiter;
use crate::metrics::Metrics;
use crate::order::{GroupRef, Happened, Report, Subject, Tell, Warn};

/// Beyond this many late writes the oldest events are dropped.
const QUEUE_MAX: usize = 60_000;
/// Writes at a time when no binding is out; when some are; and when the queue is then half full.
const AT_ONCE: [usize; 3] = [16, 1, 8];
/// How long no binding may have been out: gangs come in bursts, and what is written in between
/// would be in the way of the next.
const LULL: Duration = Duration::from_millis(50);
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
    /// The `PodScheduled` condition of a pod that waits.
    Condition {
        pod: PodKey,
        reason: &'static str,
        message: Arc<str>,
        change: StatusChange,
        at: Timestamp,
    },
    /// That no node is proposed for a pod any more.
    Unpropose { pod: PodKey },
    /// Whether a gang was once on nodes.
    Group { group: GroupRef, condition: GroupCondition, at: Timestamp },
}

/// What an event says.
pub(crate) enum Text {
    /// The pod goes to this node.
    Scheduled(Box<str>),
    /// The pod waits for this reason.
    Failed(Arc<str>),
    /// The pod was evicted for another one, from this node.
    Preempted(PodKey, Box<str>),
    /// The pod was evicted because its gang could not be completed.
    GangTakenBack(Arc<str>),
    /// The pod stays, though its gang could not be completed.
    GangIncomplete(Arc<str>),
    /// Something happened to a gang.
    Gang(Happened, Arc<str>),
    /// The pod's tier is in doubt.
    TierUnknown(Arc<str>),
}

impl Write {
    pub(crate) fn preempted(pod: PodKey, by: PodKey, node: Box<str>, scheduler: Arc<str>) -> Self {
        Self::event(Subject::Pod(pod), scheduler, Text::Preempted(by, node))
    }

    pub(crate) fn scheduled(pod: PodKey, node: Box<str>, scheduler: Arc<str>) -> Self {
        Self::event(Subject::Pod(pod), scheduler, Text::Scheduled(node))
    }

    pub(crate) fn event(about: Subject, scheduler: Arc<str>, text: Text) -> Self {
        Self::Event { about, scheduler, at: Timestamp::now(), text }
    }

    /// Whether it tells of bindings that are over, and can wait for those that are not.
    fn is_late(&self) -> bool {
        match self {
            Self::Event { .. } => true,
            Self::Condition { .. } | Self::Unpropose { .. } => false,
            Self::Group { condition, .. } => condition.is_scheduled,
        }
    }

    /// What it is about, as users write it.
    fn subject(&self) -> String {
        match self {
            Self::Event { about: Subject::Pod(pod), .. }
            | Self::Condition { pod, .. }
            | Self::Unpropose { pod } => name(pod),
            Self::Event { about: Subject::Group(group), .. } | Self::Group { group, .. } => {
                format!("{}/{}", group.key.namespace, group.key.name)
            }
        }
    }
}

/// The queue, and what it takes to empty it.
pub(crate) struct Writes {
    client: kube::Client,
    feed: Feed,
    metrics: Arc<Metrics>,
    /// Conditions go with the bindings, events have their own rate, as kube-scheduler has it.
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

#[derive(Default)]
struct Queues {
    /// Why pods and gangs wait.
    reasons: VecDeque<Write>,
    /// Events, and that gangs have started, each since when.
    late: VecDeque<(Instant, Write)>,
    in_flight: usize,
    /// When a binding was last settled.
    settled_at: Option<Instant>,
}

impl Queues {
    /// How long bindings still come first though none is out.
    fn lull(&self) -> Duration {
        self.settled_at.map_or(Duration::ZERO, |at| LULL.saturating_sub(at.elapsed()))
    }
}

impl Writes {
    pub(crate) fn new(
        client: kube::Client,
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
        let Tell { pod, scheduler, reason, message, status, has_event } = tell;
        let at = Timestamp::now();
        if let Some(change) = status {
            let (pod, message) = (pod.clone(), message.clone());
            self.push(Write::Condition { pod, reason, message, change, at });
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

    /// Queues that a pod's tier is in doubt.
    pub(crate) fn warn(&self, warn: Warn) {
        let Warn { pod, scheduler, note } = warn;
        self.push(Write::event(Subject::Pod(pod), scheduler, Text::TierUnknown(note)));
    }

    /// Queues a write. When the queue is full the oldest event is dropped, never a condition.
    pub(crate) fn push(&self, write: Write) {
        let mut queues = self.queues();
        if !write.is_late() {
            queues.reasons.push_back(write);
        } else {
            if queues.late.len() >= QUEUE_MAX
                && let Some((_, oldest)) = queues.late.pop_front()
            {
                match oldest {
                    Write::Event { .. } => self.metrics.event_dropped(),
                    Write::Condition { .. } | Write::Unpropose { .. } | Write::Group { .. } => {
                        queues.reasons.push_back(oldest);
                    }
                }
            }
            queues.late.push_back((Instant::now(), write));
        }
        drop(queues);
        self.changed.notify_one();
    }

    /// A binding is not out any more.
    pub(crate) fn settled(&self) {
        self.queues().settled_at = Some(Instant::now());
        self.changed.notify_one();
    }

    /// Writes until it is dropped.
    pub(crate) async fn run(self: Arc<Self>) {
        loop {
            while let Some(write) = self.pop() {
                tokio::spawn(self.clone().carry_out(write));
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
                if queues.in_flight + queues.reasons.len() + queues.late.len() == 0 {
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
    fn pop(&self) -> Option<Write> {
        let mut queues = self.queues();
        let [idle, trickle, crowded] = AT_ONCE;
        let waiting = queues.reasons.len() + queues.late.len();
        let is_idle = self.binds.load(Ordering::Relaxed) == 0 && queues.lull().is_zero();
        let at_once = match is_idle {
            true => idle,
            false if waiting > QUEUE_MAX / 2 => crowded,
            false => trickle,
        };
        self.metrics.events_queued(queues.late.len());
        if queues.in_flight >= at_once {
            return None;
        }
        let is_due = |since: &Instant| at_once != trickle || since.elapsed() >= LATE_PATIENCE;
        let is_late_due = queues.late.front().is_some_and(|(since, _)| is_due(since));
        let write = match queues.reasons.pop_front() {
            Some(reason) => reason,
            None if is_late_due => queues.late.pop_front()?.1,
            None => return None,
        };
        queues.in_flight += 1;
        Some(write)
    }

    async fn carry_out(self: Arc<Self>, write: Write) {
        match &write {
            Write::Event { .. } => {
                if self.send(&write).await {
                    self.metrics.event_written();
                } else {
                    self.metrics.event_dropped();
                }
            }
            Write::Condition { pod: PodKey { uid, .. }, .. }
            | Write::Unpropose { pod: PodKey { uid, .. } }
            | Write::Group { group: GroupRef { uid, .. }, .. } => {
                if !self.send(&write).await {
                    let uid = uid.clone();
                    let _ = self.feed.send(Input::NotTold { uid }).await;
                }
            }
        }
        self.queues().in_flight -= 1;
        self.changed.notify_one();
    }

    /// Sends a write until it is taken or refused for good; tells whether it was taken.
    async fn send(&self, write: &Write) -> bool {
        let (method, path, content_type, body) = self.put_into_words(write);
        let subject = || write.subject();
        let mut pause = Duration::from_millis(100);
        for _ in 0..TRIES_MAX {
            match write {
                Write::Event { .. } => self.event_limiter.pass().await,
                Write::Condition { .. } | Write::Unpropose { .. } | Write::Group { .. } => {
                    self.limiter.pass().await;
                }
            }
            let request = request(method.clone(), &path, content_type, body.clone());
            match ask_counted(&self.client, &self.metrics, request, PATIENCE).await {
                // An event of this name is there: an earlier try arrived after all.
                Ok(answer)
                    if answer.status.is_success() || answer.status == StatusCode::CONFLICT =>
                {
                    return true;
                }
                Ok(answer) if is_final(&answer) => {
                    let message = status_message(&answer.body);
                    // Of what is gone nobody has to be told.
                    if answer.status == StatusCode::NOT_FOUND {
                        debug!(about = subject(), message, "a write about what is gone");
                    } else {
                        warn!(about = subject(), message, "a write was refused");
                    }
                    return false;
                }
                Ok(answer) => pause = answer.retry_after.unwrap_or(pause),
                Err(error) => debug!(about = subject(), %error, "no answer to a write"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(10));
        }
        warn!(about = subject(), "a write was given up");
        false
    }

    fn put_into_words(&self, write: &Write) -> (Method, String, &'static str, Vec<u8>) {
        match write {
            Write::Event { about, scheduler, at, text } => {
                let (path, body) = self.event(about, scheduler, *at, text);
                (Method::POST, path, "application/json", body)
            }
            Write::Condition { pod, reason, message, change, at } => {
                let at = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                let patch = render::status_patch(pod, (reason, message), &at, change);
                let body = serde_json::to_vec(&patch).expect("a patch is plain text");
                let path = format!("{}/status", pod_path(pod));
                (Method::PATCH, path, STRATEGIC, body)
            }
            Write::Unpropose { pod } => {
                let patch = render::nomination_patch(pod);
                let body = serde_json::to_vec(&patch).expect("a patch is plain text");
                (Method::PATCH, format!("{}/status", pod_path(pod)), STRATEGIC, body)
            }
            Write::Group { group, condition, at } => {
                let at = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                let patch = render::group_patch(&group.uid, condition, &at);
                let body = serde_json::to_vec(&patch).expect("a patch is plain text");
                let path = format!("{}/status", group.api.path_of(&group.key));
                (Method::PATCH, path, STRATEGIC, body)
            }
        }
    }

    /// Where an event goes to, and the event.
    fn event(
        &self,
        about: &Subject,
        scheduler: &str,
        at: Timestamp,
        text: &Text,
    ) -> (String, Vec<u8>) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let instance = format!("{scheduler}-{}", self.hostname);
        let at = micros(at);
        let version;
        let regarding = match about {
            Subject::Pod(pod) => Regarding::from(pod),
            Subject::Group(GroupRef { api, key, uid }) => {
                version = api.api_version();
                Regarding {
                    api_version: &version,
                    kind: api.object_kind(),
                    name: &key.name,
                    namespace: &key.namespace,
                    uid,
                }
            }
        };
        let (record, note) = match text {
            Text::Scheduled(node) => {
                let Regarding { namespace, name, .. } = regarding;
                (Record::Scheduled, render::scheduled_note((namespace, name), node))
            }
            Text::Failed(why) => (Record::FailedScheduling, render::cut_note(why)),
            Text::Preempted(by, node) => (Record::Preempted(by), render::preempted_note(by, node)),
            Text::GangTakenBack(note) => (Record::GangTakenBack, render::cut_note(note)),
            Text::GangIncomplete(note) => (Record::GangIncomplete, render::cut_note(note)),
            Text::Gang(Happened::Scheduled, note) => {
                (Record::GangScheduled, render::cut_note(note))
            }
            Text::Gang(Happened::Degraded, note) => (Record::GangDegraded, render::cut_note(note)),
            Text::TierUnknown(note) => (Record::TierUnknown, render::cut_note(note)),
        };
        let reporter = (scheduler, &*instance);
        let event = render::event(record, regarding, &note, &at, serial, reporter);
        let body = serde_json::to_vec(&event).expect("an event is plain text");
        let namespace = regarding.namespace;
        (format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"), body)
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

/// A time as `MicroTime` writes it.
fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
