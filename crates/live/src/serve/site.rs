//! Which answer belongs to which path, and who may have it.

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Request, StatusCode};
use serde_json::{Value, json};
use tracing::error;

use super::access::{Access, Verdict};
use super::answer::{self, Answer};
use super::health::{Check, Health, Question};
use crate::metrics::{self, Metrics};

/// The name under which the configuration is shown.
const CONFIGZ_NAME: &str = "kubescheduler.config.k8s.io";

/// Everything that is served.
pub(super) struct Site {
    access: Access,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    configz: String,
}

/// What a path asks for.
#[derive(Clone, Copy)]
enum Target {
    Health(Question),
    HealthCheck(Question, Check),
    Metrics,
    Configz,
}

impl Target {
    fn at(path: &str) -> Option<Self> {
        let path = path.strip_prefix('/')?;
        let question = |name| Question::ALL.into_iter().find(|question| question.name() == name);
        match path.split_once('/') {
            None if path == "metrics" => Some(Self::Metrics),
            None if path == "configz" => Some(Self::Configz),
            None => question(path).map(Self::Health),
            Some((name, check)) => {
                let question = question(name)?;
                let check = question.checks().iter().find(|other| other.name() == check)?;
                Some(Self::HealthCheck(question, *check))
            }
        }
    }
}

impl Site {
    pub(super) fn new(
        access: Access,
        health: Arc<Health>,
        metrics: Arc<Metrics>,
        configz: &Value,
    ) -> Self {
        let configz = json!({ CONFIGZ_NAME: configz }).to_string();
        Self { access, health, metrics, configz }
    }

    /// The answer to a request, whose body does not matter.
    pub(super) async fn answer<B>(&self, request: &Request<B>) -> Answer {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return answer::only_reading();
        }
        let path = request.uri().path();
        let Some(target) = Target::at(path) else { return answer::not_found() };
        match self.verdict(target, path, request.headers()).await {
            Verdict::Open => self.content(target, request.uri().query(), false),
            Verdict::Allowed => self.content(target, request.uri().query(), true),
            Verdict::Unknown => answer::unauthorized(),
            Verdict::Forbidden { user } => answer::forbidden(&user, path),
            Verdict::NotReviewed(fault) => {
                error!(path, fault, "the caller's rights cannot be reviewed");
                answer::not_reviewed()
            }
        }
    }

    async fn verdict(&self, target: Target, path: &str, headers: &HeaderMap) -> Verdict {
        if self.access.is_open(path) {
            return Verdict::Open;
        }
        // Whoever may ask a question may also ask it in parts; reasons are for the known.
        if let Target::HealthCheck(question, _) = target
            && Access::token(headers).is_none()
            && self.access.is_open(question.name())
        {
            return Verdict::Open;
        }
        self.access.review(headers, path, Instant::now()).await
    }

    fn content(&self, target: Target, query: Option<&str>, is_known: bool) -> Answer {
        match target {
            Target::Health(question) => {
                let report = question.report(&self.health, query.unwrap_or_default());
                answer::text(status(report.is_good), report.text)
            }
            Target::HealthCheck(_, check) => match self.health.fault(check) {
                None => answer::text(StatusCode::OK, "ok"),
                Some(fault) => {
                    let fault = if is_known { fault } else { "reason withheld".into() };
                    let text = format!("internal server error: {fault}\n");
                    answer::text(status(false), text)
                }
            },
            Target::Metrics => {
                let text = self.metrics.text();
                answer::of_type(StatusCode::OK, metrics::CONTENT_TYPE, text)
            }
            Target::Configz => answer::json_value(self.configz.clone()),
        }
    }
}

fn status(is_good: bool) -> StatusCode {
    if is_good { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }
}
