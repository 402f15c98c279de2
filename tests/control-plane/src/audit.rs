//! What the API server says it was asked by the scheduler, from its audit log.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// One request that was answered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Who asked.
    pub user: String,
    /// `get`, `list`, `watch`, `create`, ...
    pub verb: String,
    /// The API group; empty for the core.
    pub group: String,
    /// The resource with its subresource, as in roles: `pods/binding`. Empty for other paths.
    pub resource: String,
    /// The namespace; empty if there is none.
    pub namespace: String,
    /// The object's name; empty if the request is about all.
    pub name: String,
    /// The path and query.
    pub uri: String,
    /// The status code.
    pub code: u64,
}

/// The policy: all requests of these users, without bodies.
pub(crate) fn policy(users: &[String]) -> String {
    // A watch is answered when it starts and when it ends; it counts from its start.
    let rules = json!([
        {"level": "Metadata", "users": users, "omitStages": ["RequestReceived"]},
        {"level": "None"},
    ]);
    json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": rules}).to_string()
}

/// Everything in the log so far. The server writes an answer's line before the answer.
pub(crate) fn read(file: &Path) -> Result<Vec<Call>> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    // A server that was killed may have left half a line.
    let events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(events.filter(|event| !is_start_of_end(event)).map(|event| call(&event)).collect())
}

/// A watch has a line at its start; the one at its end would count it twice.
fn is_start_of_end(event: &Value) -> bool {
    event["verb"] == "watch" && event["stage"] == "ResponseComplete" && code(event) == 200
}

fn call(event: &Value) -> Call {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &event["objectRef"];
    let mut resource = text(&about["resource"]);
    if let Some(sub) = about["subresource"].as_str() {
        resource = format!("{resource}/{sub}");
    }
    Call {
        user: text(&event["user"]["username"]),
        verb: text(&event["verb"]),
        group: text(&about["apiGroup"]),
        resource,
        namespace: text(&about["namespace"]),
        name: text(&about["name"]),
        uri: text(&event["requestURI"]),
        code: code(event),
    }
}

fn code(event: &Value) -> u64 {
    event["responseStatus"]["code"].as_u64().unwrap_or_default()
}
