//! Writes what a pod needs before it can be bound, one after the other.
//!
//! As with bindings an answer is certain and silence is not: then the object is read, and if it
//! does not say what was written the same is written again. Every write is about one state of its
//! object, so that none overwrites what somebody else said meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use k8s::render::{self, VolumePatch};
use tracing::{debug, warn};

use super::{BACKOFF_MAX, BACKOFF_MIN, Dispatch, PATIENCE, name};
use crate::client::{Answer, ask_counted, request, status_message};
use crate::feed::Input;
use crate::order::Prepare;
use crate::writes::Write;

const MERGE: &str = "application/merge-patch+json";

/// Starts to write.
pub(super) fn carry_out(dispatch: &Arc<Dispatch>, prepare: Prepare) {
    let dispatch = dispatch.clone();
    let Prepare { pod, proposal, attempt, writes } = prepare;
    if let Some((pod, node)) = proposal {
        dispatch.writes.push(Write::propose(pod, Some(node)));
    }
    tokio::spawn(async move {
        let mut versions = Vec::with_capacity(writes.len());
        for write in &writes {
            match dispatch.write(write).await {
                Some(Ok(version)) => versions.push(version),
                Some(Err(message)) => {
                    let pod_name = name(&pod);
                    warn!(pod = pod_name, message, "what a pod needs was not written");
                    let result = Err(message);
                    let _ = dispatch.feed.send(Input::Prepared { pod, attempt, result }).await;
                    return;
                }
                // The lease is lost: whoever leads next reads what happened.
                None => return,
            }
        }
        let result = Ok(versions.into());
        let _ = dispatch.feed.send(Input::Prepared { pod, attempt, result }).await;
    });
}

/// What is known of a write.
enum Outcome {
    /// It is there, with this version.
    Written(u64),
    Refused(String),
    /// Nothing is certain: the same again, after this long if the server said so.
    Later(Option<Duration>),
}

impl Dispatch {
    /// Writes one thing; nothing if we do not lead any more.
    async fn write(&self, write: &model::Write) -> Option<Result<u64, String>> {
        let VolumePatch { path, body } = render::volume_patch(write);
        let body = serde_json::to_vec(&body).expect("a patch is plain text");
        let mut backoff = BACKOFF_MIN;
        loop {
            self.limiter.pass().await;
            if !self.leadership.may_bind(Instant::now()) {
                return None;
            }
            let request = request(Method::PATCH, &path, MERGE, body.clone());
            let outcome = match ask_counted(&self.binder, &self.metrics, request, PATIENCE).await {
                Ok(answer) => self.judge_write(write, &path, answer).await,
                Err(error) => {
                    debug!(path, %error, "no answer to a write, reading the object");
                    self.read_written(write, &path, None).await
                }
            };
            let pause = match outcome {
                Outcome::Written(version) => return Some(Ok(version)),
                Outcome::Refused(message) => return Some(Err(message)),
                Outcome::Later(pause) => pause.unwrap_or(backoff),
            };
            tokio::time::sleep(pause).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    async fn judge_write(&self, write: &model::Write, path: &str, answer: Answer) -> Outcome {
        let status = answer.status;
        if status.is_success() {
            let object = serde_json::from_slice(&answer.body).unwrap_or_default();
            return Outcome::Written(render::written_version(write, &object).unwrap_or(0));
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            return Outcome::Later(answer.retry_after);
        }
        let message = status_message(&answer.body);
        if status == StatusCode::CONFLICT || status.is_server_error() {
            return self.read_written(write, path, Some((status, message))).await;
        }
        Outcome::Refused(message)
    }

    /// Reads an object to know what became of a write. A conflict that is not our own write refuses
    /// it; after silence, or a fault of the server, the write may yet arrive.
    async fn read_written(
        &self,
        write: &model::Write,
        path: &str,
        refusal: Option<(StatusCode, String)>,
    ) -> Outcome {
        let request = request(Method::GET, path, "application/json", vec![]);
        let Ok(answer) = ask_counted(&self.client, &self.metrics, request, PATIENCE).await else {
            return Outcome::Later(None);
        };
        if answer.status == StatusCode::NOT_FOUND {
            return Outcome::Refused(status_message(&answer.body));
        }
        if !answer.status.is_success() {
            return Outcome::Later(None);
        }
        let object = serde_json::from_slice(&answer.body).unwrap_or_default();
        match (render::written_version(write, &object), refusal) {
            (Some(version), _) => Outcome::Written(version),
            (None, Some((StatusCode::CONFLICT, message))) => Outcome::Refused(message),
            (None, _) => Outcome::Later(None),
        }
    }
}
