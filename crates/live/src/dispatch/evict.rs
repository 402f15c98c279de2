//! Evicts pods for others, or because their gang cannot be completed: the reason goes into the
//! status first, then the pod is deleted, by its uid. Nothing is sent for an eviction that is not
//! wanted any more, or once we do not lead.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use jiff::Timestamp;
use k8s::render::{self, Disruption};
use tracing::{info, warn};

use super::{BACKOFF_MAX, BACKOFF_MIN, Dispatch, PATIENCE, PodView, name, pod_path};
use crate::client::{ask_counted, request, status_message};
use crate::feed::Input;
use crate::order::{Disband, PodRef, Preempt, Subject, Victim};
use crate::writes::{STRATEGIC, Text, Write};

/// Attempts of a request that is not answered, or that the server cannot carry out.
const TRIES_MAX: u32 = 6;

/// Starts to evict.
pub(super) fn carry_out(dispatch: &Arc<Dispatch>, preempt: Preempt) {
    let Preempt { pod, scheduler, node, victims, outranked } = preempt;
    let (by, count) = (name(&pod.key), victims.len());
    info!(pod = by, %node, victims = count, "pods are evicted for another one");
    for pod in outranked {
        dispatch.writes.push(Write::propose(pod, None));
    }
    for victim in victims {
        let (dispatch, scheduler) = (dispatch.clone(), scheduler.clone());
        let (pod, node) = (pod.clone(), node.clone());
        tokio::spawn(async move {
            let why = render::preemption(&scheduler);
            let gone = dispatch.evict(&victim, &why).await;
            let (uid, is_done) = (victim.pod.key.uid, gone.is_some());
            if let Some(victim) = gone {
                dispatch.writes.push(Write::preempted(victim, pod, node, scheduler));
            }
            let _ = dispatch.feed.send(Input::Eviction { uid, is_done }).await;
        });
    }
}

/// Starts to evict the pods of a gang that could not be completed.
pub(super) fn take_back(dispatch: &Arc<Dispatch>, disband: Disband) {
    let Disband { scheduler, note, evicted, bare } = disband;
    info!(%note, evicted = evicted.len(), bare = bare.len(), "a gang is taken back");
    for pod in bare {
        let text = Text::GangIncomplete(note.clone());
        dispatch.writes.push(Write::event(Subject::Pod(pod), scheduler.clone(), text));
    }
    for victim in evicted {
        let (dispatch, scheduler, note) = (dispatch.clone(), scheduler.clone(), note.clone());
        tokio::spawn(async move {
            let why = render::taken_back(&scheduler, &note);
            let gone = dispatch.evict(&victim, &why).await;
            let (uid, is_done) = (victim.pod.key.uid, gone.is_some());
            if let Some(pod) = gone {
                let text = Text::GangTakenBack(note);
                dispatch.writes.push(Write::event(Subject::Pod(pod), scheduler, text));
            }
            let _ = dispatch.feed.send(Input::Eviction { uid, is_done }).await;
        });
    }
}

impl Dispatch {
    /// Evicts a pod. If it goes: the pod at the last version of it that is known.
    pub(super) async fn evict(&self, victim: &Victim, why: &Disruption) -> Option<PodRef> {
        let PodRef { key: pod, version } = &victim.pod;
        let permit = self.evictions.acquire().await;
        let _permit = permit.expect("nobody closes the door for evictions");
        let at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let patch = render::disruption_patch(pod, victim.generation, why, &at);
        let patch = serde_json::to_vec(&patch).expect("a patch is plain text");
        let delete = render::deletion(pod);
        let delete = serde_json::to_vec(&delete).expect("options are plain text");
        let path = pod_path(pod);
        let requests = [
            (Method::PATCH, format!("{path}/status"), STRATEGIC, patch),
            (Method::DELETE, path, "application/json", delete),
        ];
        let mut version = version.clone();
        for (method, path, content_type, body) in requests {
            let is_last = method == Method::DELETE;
            match self.ask(victim, (method, &path, content_type, body)).await {
                Answered::Done(shown) if !is_last => version = shown.unwrap_or(version),
                // Only the deletion says for certain whether another pod has its name.
                Answered::Conflict if !is_last => {}
                Answered::Done(_) | Answered::Conflict | Answered::Gone => {
                    return Some(PodRef { key: pod.clone(), version });
                }
                Answered::Refused => return None,
            }
        }
        unreachable!("the last request is answered one way or the other")
    }

    /// Sends a request until it is answered for good.
    async fn ask(
        &self,
        victim: &Victim,
        (method, path, content_type, body): (Method, &str, &'static str, Vec<u8>),
    ) -> Answered {
        let pod = &victim.pod.key;
        let mut backoff = BACKOFF_MIN;
        for _ in 0..TRIES_MAX {
            self.limiter.pass().await;
            if !victim.is_wanted.load(Ordering::Relaxed)
                || !self.leadership.may_bind(Instant::now())
            {
                return Answered::Refused;
            }
            let request = request(method.clone(), path, content_type, body.clone());
            let mut pause: Option<Duration> = None;
            match ask_counted(&self.binder, &self.metrics, request, PATIENCE).await {
                Ok(answer) if answer.status.is_success() => {
                    return Answered::Done(PodView::read(&answer.body).map(|pod| pod.version));
                }
                Ok(answer) if answer.status == StatusCode::NOT_FOUND => return Answered::Gone,
                Ok(answer) if answer.status == StatusCode::CONFLICT => return Answered::Conflict,
                Ok(answer) => {
                    let message = status_message(&answer.body);
                    warn!(pod = %name(pod), status = %answer.status, message, "not evicted yet");
                    let may_change = answer.status == StatusCode::TOO_MANY_REQUESTS
                        || answer.status.is_server_error();
                    if !may_change {
                        return Answered::Refused;
                    }
                    pause = answer.retry_after;
                }
                Err(error) => warn!(pod = %name(pod), %error, "no answer to an eviction"),
            }
            tokio::time::sleep(pause.unwrap_or(backoff)).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
        Answered::Refused
    }
}

/// What became of a request about a victim.
enum Answered {
    /// The pod has this version by it, if it was shown.
    Done(Option<Box<str>>),
    /// No pod has its name.
    Gone,
    /// Another pod has its name, or somebody changed it meanwhile.
    Conflict,
    Refused,
}
