//! A watch as lines: each is one event with one object.

use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Broken;
use crate::client::broken;

/// No object is larger: the store does not take more.
const LINE_MAX: usize = 16 << 20;

/// One event of a watch; objects are still text.
#[derive(Debug)]
pub(super) enum Line<'a> {
    /// An object is there, or is different.
    Applied(&'a [u8]),
    /// An object is gone; this is how it was last.
    Deleted(&'a [u8]),
    /// Everything up to a version was delivered.
    Bookmark { version: String, is_list_end: bool },
    /// The watch is over.
    Error { code: u16, message: String },
}

/// Reads a body line by line.
pub(super) struct Lines {
    body: Body,
    patience: Duration,
    buffer: Vec<u8>,
    /// Where the first unread line begins, and up to where no line ends.
    start: usize,
    searched: usize,
}

impl Lines {
    /// `patience` is how long the stream may be silent.
    pub(super) fn new(body: Body, patience: Duration) -> Self {
        Self { body, patience, buffer: Vec::new(), start: 0, searched: 0 }
    }

    /// The next line; nothing when the stream ended in good order.
    pub(super) async fn next(&mut self) -> Result<Option<Line<'_>>, Broken> {
        loop {
            let rest = &self.buffer[self.searched..];
            if let Some(length) = memchr::memchr(b'\n', rest) {
                let (start, end) = (self.start, self.searched + length);
                (self.start, self.searched) = (end + 1, end + 1);
                if self.buffer[start..end].iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return parse(&self.buffer[start..end]).map(Some);
            }
            self.searched = self.buffer.len();
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }

    /// Reads more; tells whether there was any.
    async fn fill(&mut self) -> Result<bool, Broken> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        if self.buffer.is_empty() {
            // A burst of large objects must not be remembered for ever.
            self.buffer.shrink_to(64 << 10);
        }
        if self.buffer.len() > LINE_MAX {
            return Err(Broken::Failed(format!("a line of more than {LINE_MAX} bytes")));
        }
        let frame = match tokio::time::timeout(self.patience, self.body.frame()).await {
            Err(_) => {
                let silence = self.patience.as_secs();
                return Err(Broken::Failed(format!("no word from the server for {silence} s")));
            }
            Ok(None) => return Ok(false),
            Ok(Some(frame)) => frame.map_err(|error| broken(&error))?,
        };
        if let Ok(bytes) = frame.into_data() {
            self.buffer.extend_from_slice(&bytes);
        }
        Ok(true)
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

fn parse(line: &[u8]) -> Result<Line<'_>, Broken> {
    let (kind, object) = match split(line) {
        Some(parts) => parts,
        None => {
            let envelope: Envelope<'_> = serde_json::from_slice(line)
                .map_err(|error| Broken::Failed(format!("a line of the watch: {error}")))?;
            (envelope.kind.as_bytes(), envelope.object.get().as_bytes())
        }
    };
    match kind {
        b"ADDED" | b"MODIFIED" => Ok(Line::Applied(object)),
        b"DELETED" => Ok(Line::Deleted(object)),
        b"BOOKMARK" => bookmark(object),
        b"ERROR" => Ok(error(object)),
        other => {
            let word = String::from_utf8_lossy(other);
            Err(Broken::Failed(format!("an event of type {word:?}, which no watch has")))
        }
    }
}

/// The parts of a line as API servers write it, without looking into the object.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = line.trim_ascii().strip_prefix(br#"{"type":""#)?;
    let end = rest.iter().take(16).position(|byte| *byte == b'"')?;
    let (kind, rest) = rest.split_at(end);
    let object = rest.strip_prefix(br#"","object":"#)?.strip_suffix(b"}")?;
    Some((kind, object))
}

fn bookmark(object: &[u8]) -> Result<Line<'_>, Broken> {
    #[derive(Deserialize)]
    struct Bookmark {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Meta {
        resource_version: String,
        #[serde(default)]
        annotations: Option<Annotations>,
    }
    #[derive(Deserialize)]
    struct Annotations {
        #[serde(rename = "k8s.io/initial-events-end")]
        list_end: Option<String>,
    }
    let bookmark: Bookmark = serde_json::from_slice(object)
        .map_err(|error| Broken::Failed(format!("a bookmark: {error}")))?;
    let end = bookmark.metadata.annotations.and_then(|annotations| annotations.list_end);
    let version = bookmark.metadata.resource_version;
    Ok(Line::Bookmark { version, is_list_end: end.as_deref() == Some("true") })
}

fn error(object: &[u8]) -> Line<'_> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Status {
        code: u16,
        message: String,
    }
    let Status { code, message } = serde_json::from_slice(object).unwrap_or_default();
    Line::Error { code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(chunks: &[&str]) -> Vec<String> {
        let body = Body::from(chunks.concat().into_bytes());
        let mut lines = Lines::new(body, Duration::from_secs(1));
        let mut found = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(Line::Applied(object))) => {
                    found.push(format!("applied {}", String::from_utf8_lossy(object)));
                }
                Ok(Some(other)) => found.push(format!("{other:?}")),
                Ok(None) => return found,
                Err(error) => {
                    found.push(format!("{error:?}"));
                    return found;
                }
            }
        }
    }

    #[tokio::test]
    async fn lines_are_told_apart() {
        let found = lines(&[
            "{\"type\":\"ADDED\",\"object\":{\"a\":1}}\n\n",
            "{ \"object\": {\"b\":2}, \"type\": \"MODIFIED\" }\n",
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n",
            "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\",",
            "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
            "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}\n",
        ]);
        let expected = [
            "applied {\"a\":1}",
            "applied {\"b\":2}",
            "Bookmark { version: \"7\", is_list_end: false }",
            "Bookmark { version: \"8\", is_list_end: true }",
            "Error { code: 410, message: \"too old\" }",
        ];
        assert_eq!(found.await, expected);
    }

    #[tokio::test]
    async fn a_line_that_is_no_event_ends_the_watch() {
        for text in ["{\"type\":\"GROWN\",\"object\":{}}\n", "<html>\n", "{\"type\":\"ADDED\"}\n"] {
            let found = lines(&[text]).await;
            assert!(found[0].starts_with("Failed("), "{text}: {found:?}");
        }
    }
}
