//! What went through a proxy.

use std::time::Instant;

use http::request::Parts;

use super::Fault;

/// One request, and what became of it so far.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// When it arrived.
    pub at: Instant,
    /// The method.
    pub method: String,
    /// The path.
    pub path: String,
    /// The query, without the question mark.
    pub query: String,
    /// The code of the server's answer, or of the fault in its place. The scheduler saw it only
    /// if no fault kept it away.
    pub code: Option<u16>,
    /// What was done to it.
    pub fault: Option<Fault>,
    /// How many bytes of the answer's body were passed on.
    pub bytes: u64,
    /// Whether the scheduler still waits for the answer or for more of it.
    pub is_open: bool,
    /// Whether the server said that the resource version is too old, in the code or in a watch.
    pub is_expired: bool,
    /// The node a bind names.
    pub node: Option<String>,
}

impl Exchange {
    pub(super) fn of(parts: &Parts) -> Self {
        Self {
            at: Instant::now(),
            method: parts.method.to_string(),
            path: parts.uri.path().into(),
            query: parts.uri.query().unwrap_or_default().into(),
            code: None,
            fault: None,
            bytes: 0,
            is_open: true,
            is_expired: false,
            node: None,
        }
    }

    /// Whether it binds a pod.
    pub fn is_bind(&self) -> bool {
        self.method == "POST" && self.path.ends_with("/binding")
    }

    /// Whether it changes a claim or a volume.
    pub fn is_volume_change(&self) -> bool {
        let is_change = self.method == "PUT" || self.method == "PATCH";
        let kinds = ["/persistentvolumes/", "/persistentvolumeclaims/"];
        is_change && kinds.iter().any(|kind| self.path.contains(kind))
    }

    /// Whether the server bound a pod.
    pub fn is_bound(&self) -> bool {
        let is_forged = matches!(self.fault, Some(Fault::Answer(_)));
        self.is_bind() && self.code == Some(201) && !is_forged
    }

    /// The pod a bind is about, as `NAMESPACE/NAME`.
    pub fn pod(&self) -> Option<String> {
        let path = self.path.strip_prefix("/api/v1/namespaces/")?.strip_suffix("/binding")?;
        let (namespace, name) = path.split_once("/pods/")?;
        Some(format!("{namespace}/{name}"))
    }

    /// Whether it watches.
    pub fn is_watch(&self) -> bool {
        self.has("watch", "true") || self.has("watch", "1")
    }

    /// Whether it watches and wants what is there first.
    pub fn is_streaming_list(&self) -> bool {
        self.is_watch() && self.has("sendInitialEvents", "true")
    }

    /// Whether it asks for a further page of a list.
    pub fn is_further_page(&self) -> bool {
        self.parameter("continue").is_some_and(|token| !token.is_empty())
    }

    /// The value of a parameter of the query, as it was sent.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    fn has(&self, name: &str, value: &str) -> bool {
        self.parameter(name) == Some(value)
    }
}
