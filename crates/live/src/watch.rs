//! Keeps the engine's picture of one kind of object: a list, then a watch from there on.
//!
//! ```text
//!            sendInitialEvents            the stream ends: again from the last version
//!  ┌───────▶ Streaming list ──────────▶ Watch ◀────┐
//!  │            │ the server refuses it   │  └─────┘
//!  │            ▼                         │
//!  │         Paged list ──────────────────┤
//!  └──────────────────────────────────────┘
//!            410: the version is too old, what happened in between is not known
//! ```
//!
//! A list is applied object by object, and ends with one [`Event::Listed`] that names what is
//! there: whatever else was known is gone. Nothing here keeps an object.

mod kinds;
mod lines;
mod optional;
pub(crate) mod page;
mod pod_groups;
mod progress;
mod rejections;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use model::{Event, Kind, Present};
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use crate::client::{NoAnswer, ask_for_up_to, broken, status_message};
use crate::feed::{Closed, Feed, Input, Seen};
use crate::limit::Limiter;
use crate::metrics::Metrics;
use crate::outage::Repeats;

pub(crate) use kinds::{
    BUDGETS, GROUPINGS, JOBS, NAMESPACES, NODES, OPTIONAL, PODS, STORAGE, SUCCEEDED, Watched,
};
use lines::{Line, Lines};
pub(crate) use optional::{OptionalWatches, Served};
pub(crate) use progress::Progress;
use rejections::Rejections;

/// How long the server may let a watch run before it ends it in good order.
const WATCH_MAX: Duration = Duration::from_secs(300);
/// A watch that says nothing for this long beyond its own end is dead.
const WATCH_OVERDUE: Duration = Duration::from_secs(30);
/// How long a page may take.
const PAGE_PATIENCE: Duration = Duration::from_secs(60);
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Watches one kind until the engine is gone.
pub(crate) struct Watcher {
    watched: &'static Watched,
    client: kube::Client,
    feed: Feed,
    metrics: Arc<Metrics>,
    progress: Progress,
    rejections: Rejections,
    /// Is told when a pod is seen that waits for gangs to end.
    ends: Option<Arc<Notify>>,
    /// The version everything up to which was delivered; nothing before the first list.
    version: Option<String>,
    is_streaming: bool,
    backoff: Duration,
    repeats: Repeats,
}

/// Why a list or a watch ended before its time.
#[derive(Debug)]
enum Broken {
    /// The engine takes nothing any more.
    Closed,
    /// The version is too old: list again.
    Expired,
    /// Somebody has to know what is there: list again.
    Behind,
    /// The server does not know streaming lists.
    NotStreaming(String),
    /// The server does not go on from this version: list again, later.
    Refused(String),
    /// The connection broke, which is said elsewhere: try again later.
    Cut(String),
    /// Anything else: try again later.
    Failed(String),
}

impl From<Closed> for Broken {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<NoAnswer> for Broken {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Silence(_) => Self::Failed(error.to_string()),
            NoAnswer::Broken(message) => Self::Cut(message),
        }
    }
}

impl Watcher {
    pub(crate) fn new(
        watched: &'static Watched,
        client: kube::Client,
        feed: Feed,
        metrics: Arc<Metrics>,
        progress: Progress,
    ) -> Self {
        let backoff = BACKOFF_MIN;
        let (ends, version, is_streaming) = (None, None, true);
        let repeats = Repeats::default();
        let unlimited = Arc::new(Limiter::new(-1, 1));
        let rejections = Rejections::new(client.clone(), metrics.clone(), unlimited);
        Self {
            watched,
            client,
            feed,
            metrics,
            progress,
            rejections,
            ends,
            version,
            is_streaming,
            backoff,
            repeats,
        }
    }

    /// Tells when a pod is seen that waits for gangs to end.
    pub(crate) fn telling(self, ends: Arc<Notify>) -> Self {
        Self { ends: Some(ends), ..self }
    }

    /// Reads single pods, which lists and watches do not show any more, within a rate.
    pub(crate) fn limited(self, limiter: Arc<Limiter>) -> Self {
        let rejections = Rejections::new(self.client.clone(), self.metrics.clone(), limiter);
        Self { rejections, ..self }
    }

    /// Lists and watches until the engine is gone.
    pub(crate) async fn run(mut self) {
        loop {
            let began = Instant::now();
            let is_listing = self.version.is_none() && !self.is_streaming;
            let (progress, has_progress) = (self.progress.clone(), self.watched.kind == Kind::Pod);
            let result = tokio::select! {
                biased;
                result = self.follow_on() => result,
                () = progress.asked_for_list(), if has_progress => Err(Broken::Behind),
            };
            let kind = self.watched.word;
            let cause = match result {
                Ok(()) if is_listing => continue,
                Ok(()) => "ended",
                Err(Broken::Closed) => return,
                Err(Broken::Expired) => {
                    info!(kind, "the watched version is too old, listing again");
                    self.version = None;
                    "expired"
                }
                Err(Broken::Behind) => {
                    self.version = None;
                    self.metrics.watch_restarted(kind, "behind");
                    continue;
                }
                Err(Broken::NotStreaming(message)) => {
                    info!(kind, message, "the server has no streaming lists, listing by pages");
                    self.is_streaming = false;
                    continue;
                }
                Err(Broken::Refused(message)) => {
                    if self.repeats.is_news(&message) {
                        warn!(kind, message, "the watch was refused, listing again");
                    }
                    self.version = None;
                    "failed"
                }
                Err(Broken::Failed(message)) => {
                    if self.repeats.is_news(&message) {
                        warn!(kind, message, "the watch broke, trying again");
                    }
                    "failed"
                }
                Err(Broken::Cut(message)) => {
                    debug!(kind, message, "the watch broke, trying again");
                    "failed"
                }
            };
            self.metrics.watch_restarted(kind, cause);
            if began.elapsed() > BACKOFF_MAX {
                self.backoff = BACKOFF_MIN;
            } else {
                tokio::time::sleep(self.backoff).await;
                self.backoff = (self.backoff * 2).min(BACKOFF_MAX);
            }
        }
    }

    /// Lists, or goes on from what was listed.
    async fn follow_on(&mut self) -> Result<(), Broken> {
        match (&self.version, self.is_streaming) {
            (Some(_), _) => self.watch().await,
            (None, true) => self.stream_list().await,
            (None, false) => self.page_list().await,
        }
    }

    /// Lists and goes on watching in one request.
    async fn stream_list(&mut self) -> Result<(), Broken> {
        let query = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        let lines = self.open(query).await?;
        self.metrics.relisted(self.watched.word);
        self.follow(lines, Some(self.watched.nobody())).await
    }

    async fn watch(&mut self) -> Result<(), Broken> {
        let version = self.version.as_deref().unwrap_or_default();
        let lines = self.open(&format!("&resourceVersion={version}")).await?;
        self.follow(lines, None).await
    }

    /// Opens a watch.
    async fn open(&self, query: &str) -> Result<Lines, Broken> {
        let (path, seconds) = (self.watched.path(), WATCH_MAX.as_secs());
        let path =
            format!("{path}&watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}{query}");
        // Compression of a watch would hold events back.
        let request = Request::get(path)
            .header(header::ACCEPT, "application/json")
            .header(header::ACCEPT_ENCODING, "identity")
            .body(Body::empty())
            .expect("versions come from the server and have no special characters");
        let sent = tokio::time::timeout(PAGE_PATIENCE, self.client.send(request)).await;
        let response = match sent {
            Ok(sent) => sent.map_err(|error| broken(&error))?,
            Err(_) => return Err(NoAnswer::Silence(PAGE_PATIENCE).into()),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(Lines::new(response.into_body(), WATCH_MAX + WATCH_OVERDUE));
        }
        let body = response.into_body().collect().await.map_err(|error| broken(&error))?;
        let message = status_message(&body.to_bytes());
        Err(match status {
            StatusCode::GONE => Broken::Expired,
            StatusCode::BAD_REQUEST
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::METHOD_NOT_ALLOWED
                if self.version.is_none() =>
            {
                Broken::NotStreaming(message)
            }
            // Nothing is wrong with the version. A server that has just started does not know yet
            // what we may do.
            StatusCode::TOO_MANY_REQUESTS
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN => Broken::Failed(format!("{status}: {message}")),
            _ => Broken::Refused(format!("{status}: {message}")),
        })
    }

    /// Delivers what a watch says. `listing` collects what is there until the list is over.
    async fn follow(
        &mut self,
        mut lines: Lines,
        mut listing: Option<Present>,
    ) -> Result<(), Broken> {
        while let Some(line) = lines.next().await? {
            let read_at = Instant::now();
            let seen = match line {
                Line::Applied(object) => self.read(object, listing.as_mut()),
                Line::Deleted(object) => Some(self.read_gone(object)?),
                Line::Bookmark { version, is_list_end } => {
                    if is_list_end && let Some(present) = listing.take() {
                        self.listed(present).await?;
                    }
                    if listing.is_none() {
                        self.reached(version);
                    }
                    continue;
                }
                Line::Error { code: 410, .. } => return Err(Broken::Expired),
                Line::Error { code, message } => {
                    return Err(Broken::Refused(format!("{code}: {message}")));
                }
            };
            let Some(read) = seen else { continue };
            let (version, seen) = read.seen(read_at);
            self.feed.send(Input::Seen(seen)).await?;
            if listing.is_none() {
                self.reached(version);
            }
        }
        debug!(kind = self.watched.word, "the watch ended");
        match listing {
            Some(_) => Err(Broken::Failed("the list was cut off".into())),
            None => Ok(()),
        }
    }

    /// Lists by pages; the watch follows from the list's version.
    async fn page_list(&mut self) -> Result<(), Broken> {
        let mut present = self.watched.nobody();
        let mut next = String::new();
        self.metrics.relisted(self.watched.word);
        loop {
            let path = format!("{}&limit={}{next}", self.watched.path(), page::SIZE);
            let request = Request::get(path)
                .header(header::ACCEPT, "application/json")
                .body(Body::empty())
                .map_err(|error| Broken::Failed(format!("the next page: {error}")))?;
            let answer =
                ask_for_up_to(page::BYTES_MAX, &self.client, request, PAGE_PATIENCE).await?;
            let page = match answer.status {
                StatusCode::OK => page::read(&answer.body).map_err(Broken::Failed)?,
                StatusCode::GONE => return Err(Broken::Expired),
                status => {
                    let message = status_message(&answer.body);
                    return Err(Broken::Failed(format!("{status}: {message}")));
                }
            };
            let read_at = Instant::now();
            for object in &page.items {
                let object = object.get().as_bytes();
                let Some(read) = self.read(object, Some(&mut present)) else { continue };
                let (_, seen) = read.seen(read_at);
                self.feed.send(Input::Seen(seen)).await?;
            }
            match page.next {
                Some(token) => next = format!("&continue={token}"),
                None => {
                    self.listed(present).await?;
                    self.reached(page.version);
                    return Ok(());
                }
            }
        }
    }

    fn reached(&mut self, version: String) {
        self.repeats.end();
        if self.watched.kind == Kind::Pod {
            self.progress.reached(&version);
        }
        self.version = Some(version);
    }

    async fn listed(&mut self, present: Present) -> Result<(), Broken> {
        self.backoff = BACKOFF_MIN;
        self.feed.send(Input::Seen(Seen::plain(Event::Listed(self.watched.kind, present)))).await?;
        Ok(())
    }
}
