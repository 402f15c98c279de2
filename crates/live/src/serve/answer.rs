//! Answers, in the forms of the Kubernetes API.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::json;

pub(super) type Answer = Response<Full<Bytes>>;

const JSON: &str = "application/json";

/// A plain text.
pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Answer {
    of_type(status, "text/plain; charset=utf-8", text)
}

/// A body of some type.
pub(super) fn of_type(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}

/// A JSON value.
pub(super) fn json_value(body: impl Into<Bytes>) -> Answer {
    of_type(StatusCode::OK, JSON, body)
}

/// Nothing is served there.
pub(super) fn not_found() -> Answer {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// Only reading is served.
pub(super) fn only_reading() -> Answer {
    let mut answer = text(StatusCode::METHOD_NOT_ALLOWED, "405 only GET and HEAD are served\n");
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    answer
}

/// Nobody knows who is asking.
pub(super) fn unauthorized() -> Answer {
    let mut answer = failure(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized");
    answer.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

/// Whoever is asking has no right to.
pub(super) fn forbidden(user: &str, path: &str) -> Answer {
    let message = format!("forbidden: User {user:?} cannot get path {path:?}");
    failure(StatusCode::FORBIDDEN, "Forbidden", &message)
}

/// Nobody could be asked about the rights of whoever is asking.
pub(super) fn not_reviewed() -> Answer {
    let message = "the API server could not be asked whether this is allowed";
    failure(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
}

/// A `Status`, as API servers answer what they refuse.
fn failure(status: StatusCode, reason: &str, message: &str) -> Answer {
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": {},
        "code": status.as_u16(),
    });
    of_type(status, JSON, body.to_string())
}
