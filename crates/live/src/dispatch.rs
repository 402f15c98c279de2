//! Carries out orders at the API server, and reports what became of bindings.
//!
//! A binding is out until its outcome is certain. An answer is certain; silence is not: then the
//! pod is read, and a pod that is still on no node gets the same binding again, because the first
//! may yet arrive. Its place on the node stays taken all the while.

mod evict;
mod prepare;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use model::PodKey;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tracing::{debug, warn};

use crate::client::{Answer, NoAnswer, Writer, ask_counted, request, status_message};
use crate::feed::{Feed, Input, Outcome, Refusal};
use crate::lease::Leadership;
use crate::limit::Limiter;
use crate::metrics::{Attempt, BindOutcome, Metrics};
use crate::order::{Bind, Order, PodRef};
use crate::outage::Repeats;
use crate::writes::{Write, Writes};

/// How long an answer may take before the pod is read instead.
const PATIENCE: Duration = Duration::from_secs(15);
/// Evictions that may be out at a time.
pub(crate) const EVICTIONS_MAX: usize = 32;
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Everything that is needed to carry out orders.
pub(crate) struct Dispatch {
    /// Reads.
    pub(crate) client: kube::Client,
    /// Binds, and sends only while we lead.
    pub(crate) binder: Writer,
    pub(crate) feed: Feed,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) leadership: Leadership,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) writes: Arc<Writes>,
    /// How many evictions may be out at a time.
    pub(crate) evictions: Arc<Semaphore>,
    /// Bindings that are out: other writes stand back for them.
    pub(crate) in_flight: Arc<AtomicUsize>,
}

/// Carries out orders until nobody gives any.
pub(crate) async fn run(dispatch: Dispatch, mut orders: UnboundedReceiver<Order>) {
    let dispatch = Arc::new(dispatch);
    while let Some(order) = orders.recv().await {
        match order {
            Order::Bind(bind) => {
                dispatch.writes.bound(&bind.pod.uid);
                dispatch.in_flight.fetch_add(1, Ordering::Relaxed);
                dispatch.metrics.bind_started();
                tokio::spawn(carry_out(dispatch.clone(), bind));
            }
            Order::Prepare(prepare) => prepare::carry_out(&dispatch, prepare),
            Order::Preempt(preempt) => evict::carry_out(&dispatch, preempt),
            Order::Disband(disband) => evict::take_back(&dispatch, disband),
            Order::Tell(tell) => dispatch.writes.tell(tell),
            Order::Report(report) => dispatch.writes.report(report),
            Order::Warn(warn) => dispatch.writes.warn(warn),
        }
    }
}

async fn carry_out(dispatch: Arc<Dispatch>, bind: Bind) {
    let result = dispatch.bind(&bind).await;
    dispatch.in_flight.fetch_sub(1, Ordering::Relaxed);
    dispatch.writes.settled();
    let Some(result) = result else {
        // The lease is lost and the process ends: whoever leads next reads what happened.
        dispatch.metrics.bind_ended(BindOutcome::Lost);
        return;
    };
    let Bind { pod, version, node, scheduler, attempt, began, arrived, tries, .. } = bind;
    let seconds = began.elapsed().as_secs_f64();
    match &result {
        Ok(()) => {
            dispatch.metrics.bind_ended(BindOutcome::Bound);
            dispatch.metrics.attempt(&scheduler, Attempt::Scheduled, seconds);
            dispatch.metrics.sli(tries, arrived.elapsed().as_secs_f64());
            let bound = PodRef { key: pod.clone(), version };
            dispatch.writes.push(Write::scheduled(bound, node, scheduler));
        }
        Err(refusal) => {
            let message = refusal.message.as_deref().unwrap_or("gone, or bound by somebody else");
            warn!(pod = %name(&pod), %node, message, "a binding was refused");
            dispatch.metrics.bind_ended(BindOutcome::Refused);
            dispatch.metrics.attempt(&scheduler, Attempt::Error, seconds);
        }
    }
    let _ = dispatch.feed.send(Input::Outcome(Outcome { pod, attempt, result })).await;
}

/// What a read says about a pod that we may have bound.
enum Whereabouts {
    /// On the node we chose.
    There,
    /// On no node.
    Nowhere,
    /// On another node, or gone.
    Elsewhere,
}

impl Dispatch {
    /// Binds a pod; nothing if we do not lead any more.
    async fn bind(&self, bind: &Bind) -> Option<Result<(), Refusal>> {
        let mut backoff = BACKOFF_MIN;
        let mut read_at = bind.read_at;
        // Whether a request that was not answered may yet arrive.
        let mut is_open = false;
        loop {
            self.limiter.pass().await;
            if !self.leadership.may_bind(Instant::now()) {
                return None;
            }
            if let Some(read_at) = read_at.take() {
                self.metrics.decided(read_at.elapsed().as_secs_f64());
            }
            let sent = Instant::now();
            let result = self.post(bind).await;
            self.metrics.bind_request(sent.elapsed().as_secs_f64());
            let pause = match result {
                Ok(answer) => match self.judge(bind, answer, is_open).await {
                    Verdict::Settled(result) => return Some(result),
                    Verdict::Later(pause) => pause.unwrap_or(backoff),
                },
                Err(error) => {
                    self.metrics.bind_unknown();
                    let pod = name(&bind.pod);
                    warn!(pod, %error, "no answer to a binding, reading the pod");
                    match self.read(bind).await {
                        Whereabouts::There => return Some(Ok(())),
                        Whereabouts::Elsewhere => return Some(Err(Refusal { message: None })),
                        Whereabouts::Nowhere => {
                            is_open = true;
                            backoff
                        }
                    }
                }
            };
            tokio::time::sleep(pause).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    async fn post(&self, bind: &Bind) -> Result<Answer, NoAnswer> {
        let path = format!("{}/binding", pod_path(&bind.pod));
        let request = request(Method::POST, &path, "application/json", bind.body.clone());
        ask_counted(&self.binder, &self.metrics, request, PATIENCE).await
    }

    /// What an answer means. While an earlier request is `open`, a fault of the server settles
    /// nothing: it says that this request came to nothing, not that the earlier one did.
    async fn judge(&self, bind: &Bind, answer: Answer, is_open: bool) -> Verdict {
        let status = answer.status;
        if status.is_success() {
            return Verdict::Settled(Ok(()));
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            debug!(pod = %name(&bind.pod), "the server asks to wait");
            return Verdict::Later(answer.retry_after);
        }
        let message = status_message(&answer.body);
        let told = format!("binding to node {} was refused: {status}: {message}", bind.node);
        let refused = |message| Verdict::Settled(Err(Refusal { message }));
        // A conflict can be our own binding, of which the answer was lost; a fault of the server
        // can come after it acted.
        if status != StatusCode::CONFLICT && !status.is_server_error() {
            return refused((status != StatusCode::NOT_FOUND).then_some(told));
        }
        match self.read(bind).await {
            Whereabouts::There => Verdict::Settled(Ok(())),
            Whereabouts::Elsewhere => refused(None),
            Whereabouts::Nowhere if is_open && status.is_server_error() => Verdict::Later(None),
            Whereabouts::Nowhere => refused(Some(told)),
        }
    }

    /// Reads a pod until it is certain where it is.
    async fn read(&self, bind: &Bind) -> Whereabouts {
        let (mut backoff, mut repeats) = (BACKOFF_MIN, Repeats::default());
        loop {
            let request = request(Method::GET, &pod_path(&bind.pod), "application/json", vec![]);
            match ask_counted(&self.client, &self.metrics, request, PATIENCE).await {
                Ok(answer) if answer.status.is_success() => {
                    if let Some(whereabouts) = whereabouts(&answer.body, bind) {
                        return whereabouts;
                    }
                }
                Ok(answer) if answer.status == StatusCode::NOT_FOUND => {
                    return Whereabouts::Elsewhere;
                }
                Ok(answer) => {
                    let message = status_message(&answer.body);
                    if repeats.is_news(&message) {
                        warn!(pod = %name(&bind.pod), message, "a pod cannot be read");
                    }
                }
                Err(error) => debug!(pod = %name(&bind.pod), %error, "a pod cannot be read"),
            }
            tokio::time::sleep(backoff).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }
}

/// What an answer to a binding means.
enum Verdict {
    Settled(Result<(), Refusal>),
    /// The server did not act: the same again, after this long if it said so.
    Later(Option<Duration>),
}

fn whereabouts(body: &[u8], bind: &Bind) -> Option<Whereabouts> {
    let pod = PodView::read(body)?;
    Some(if pod.uid != bind.pod.uid {
        Whereabouts::Elsewhere
    } else if pod.node.is_empty() {
        Whereabouts::Nowhere
    } else if pod.node == bind.node {
        Whereabouts::There
    } else {
        Whereabouts::Elsewhere
    })
}

/// What is read of a pod to know what became of a request about it.
pub(crate) struct PodView {
    pub(crate) uid: Box<str>,
    pub(crate) version: Box<str>,
    /// Empty if it is on none.
    pub(crate) node: Box<str>,
}

impl PodView {
    /// Reads the text of a pod.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Pod {
            metadata: Meta,
            spec: Spec,
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Meta {
            uid: Box<str>,
            #[serde(default)]
            resource_version: Box<str>,
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Spec {
            #[serde(default)]
            node_name: Box<str>,
        }
        let Pod { metadata, spec } = serde_json::from_slice(body).ok()?;
        let Meta { uid, resource_version: version } = metadata;
        Some(Self { uid, version, node: spec.node_name })
    }
}

/// Where a pod is served.
pub(crate) fn pod_path(pod: &PodKey) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}

/// As users write it.
pub(crate) fn name(pod: &PodKey) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}
