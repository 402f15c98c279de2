//! What the API server says it was asked by the scheduler, from its audit log.

use std::fs;
use std::ops::Range;
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
    /// Whether the API server was about to start. Until it has read the roles it refuses what
    /// they allow.
    pub is_early: bool,
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

/// Everything in the log so far. The server writes an answer's line before the answer. `starts` are
/// the lines that were written while it started.
pub(crate) fn read(file: &Path, starts: &[Range<usize>]) -> Result<Vec<Call>> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    let mut calls = Vec::new();
    for (number, line) in text.lines().enumerate() {
        // A server that was killed may have left half a line.
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        if !is_end_of_watch(&event) {
            let is_early = starts.iter().any(|lines| lines.contains(&number));
            calls.push(Call { is_early, ..call(&event) });
        }
    }
    Ok(calls)
}

/// How many lines the log has.
pub(crate) fn lines(file: &Path) -> Result<usize> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(text.lines().count())
}

/// A watch has a line at its start; the one at its end would count it twice.
fn is_end_of_watch(event: &Value) -> bool {
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
        is_early: false,
    }
}

fn code(event: &Value) -> u64 {
    event["responseStatus"]["code"].as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watch_is_one_call_and_early_lines_are_marked() {
        let line = |stage: &str, verb: &str, code: u64| {
            json!({
                "stage": stage, "verb": verb, "requestURI": "/api/v1/pods",
                "objectRef": {"resource": "pods", "subresource": "binding", "name": "a"},
                "user": {"username": "me"}, "responseStatus": {"code": code},
            })
            .to_string()
        };
        let text = [
            line("ResponseComplete", "create", 403),
            line("ResponseStarted", "watch", 200),
            "{\"half".into(),
            line("ResponseComplete", "watch", 200),
            line("ResponseComplete", "create", 201),
        ];
        let file = std::env::temp_dir().join(format!("kubenexus-audit-{}", std::process::id()));
        fs::write(&file, text.join("\n")).unwrap();
        let calls = read(&file, std::slice::from_ref(&(0..2))).unwrap();
        let told: Vec<_> = calls.iter().map(|it| (&*it.verb, it.code, it.is_early)).collect();
        assert_eq!(told, [("create", 403, true), ("watch", 200, true), ("create", 201, false)]);
        assert_eq!(calls[0].resource, "pods/binding");
        assert_eq!(lines(&file).unwrap(), 5);
        fs::remove_file(file).unwrap();
    }
}
