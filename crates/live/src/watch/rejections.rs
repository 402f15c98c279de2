//! Counts pods that a kubelet turned away after they were bound. A watch that leaves out pods at
//! their end does not show how they ended, so each of them is read: one at a time, behind the
//! bindings and conditions in the rate that the configuration sets.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use model::PodKey;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tracing::warn;

use crate::client::{ask_counted, request};
use crate::dispatch::{name, pod_path};
use crate::limit::Limiter;
use crate::metrics::Metrics;

/// Reasons of a kubelet that turned a pod away, beside those that begin with `OutOf`.
const REASONS: [&str; 6] = [
    "UnexpectedAdmissionError",
    "NodeAffinity",
    "NodePorts",
    "TopologyAffinityError",
    "InsufficientResources",
    "PodFeatureUnsupported",
];
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// Pods that may wait to be read. Beyond it they are not counted.
const WAITING_MAX: usize = 10_000;

/// Reads pods that went from `Pending` straight to their end.
#[derive(Clone)]
pub(super) struct Rejections {
    client: kube::Client,
    metrics: Arc<Metrics>,
    limiter: Arc<Limiter>,
    /// Who may wait to be read, and whose turn it is.
    waiting: Arc<Semaphore>,
    turn: Arc<Semaphore>,
}

impl Rejections {
    pub(super) fn new(client: kube::Client, metrics: Arc<Metrics>, limiter: Arc<Limiter>) -> Self {
        let (waiting, turn) = (Semaphore::new(WAITING_MAX), Semaphore::new(1));
        Self { client, metrics, limiter, waiting: waiting.into(), turn: turn.into() }
    }

    /// Reads a pod later, and counts it if the kubelet turned it away.
    pub(super) fn look_at(&self, pod: PodKey) {
        let Ok(permit) = self.waiting.clone().try_acquire_owned() else { return };
        let this = self.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let _turn = this.turn.acquire().await.expect("nobody closes it");
            this.limiter.pass_behind().await;
            this.count(&pod).await;
        });
    }

    async fn count(&self, pod: &PodKey) {
        let request = request(Method::GET, &pod_path(pod), "application/json", Vec::new());
        let answer = ask_counted(&self.client, &self.metrics, request, PATIENCE).await;
        let Ok(Ok(view)) = answer.map(|answer| serde_json::from_slice::<View>(&answer.body)) else {
            return;
        };
        if view.metadata.uid == *pod.uid && view.status.is_rejected() {
            warn!(pod = %name(pod), "the kubelet turned away a pod that was bound to its node");
            self.metrics.rejected_by_kubelet();
        }
    }
}

#[derive(Deserialize)]
struct View {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Meta {
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
    reason: String,
}

impl Status {
    fn is_rejected(&self) -> bool {
        let is_rejection = self.reason.starts_with("OutOf") || REASONS.contains(&&*self.reason);
        self.phase == "Failed" && is_rejection
    }
}
