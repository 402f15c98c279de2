//! Watches, line by line, and the one that tells when pods are bound.

use std::time::Instant;

use anyhow::{Context as _, Result};
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;

use crate::client;

/// The lines of a watch.
pub(crate) struct Lines {
    body: Body,
    text: Vec<u8>,
    /// What comes before is taken.
    start: usize,
    /// What comes before has no end of a line after `start`.
    searched: usize,
}

impl Lines {
    /// Opens a watch and waits until the server has begun it.
    pub(crate) async fn open(client: &Client, path: &str) -> Result<Self> {
        let request = Request::get(path).header(header::ACCEPT, "application/json");
        let response = client.send(request.body(Body::empty())?).await?;
        let status = response.status();
        let body = response.into_body();
        if !status.is_success() {
            return Err(client::refusal(path, status, &body.collect().await?.to_bytes()));
        }
        Ok(Self { body, text: Vec::new(), start: 0, searched: 0 })
    }

    /// The next line. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Result<&[u8]> {
        loop {
            let found = self.text[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(at) = found {
                let (from, to) = (self.start, self.searched + at);
                self.start = to + 1;
                self.searched = self.start;
                return Ok(&self.text[from..to]);
            }
            self.text.drain(..self.start);
            self.start = 0;
            self.searched = self.text.len();
            let frame = self.body.frame().await.context("the server ended a watch")??;
            if let Ok(piece) = frame.into_data() {
                self.text.extend_from_slice(&piece);
            }
        }
    }
}

/// The watch that shows pods of a namespace from the moment they are on a node. The benchmark
/// reads nothing else while it measures, so that it costs little and the same for everyone.
pub(crate) struct Bound {
    lines: Lines,
}

/// A pod that is on a node.
pub(crate) struct BoundPod {
    pub(crate) name: String,
    /// When the benchmark knew.
    pub(crate) at: Instant,
}

impl Bound {
    pub(crate) async fn open(client: &Client, namespace: &str) -> Result<Self> {
        let path = format!(
            "/api/v1/namespaces/{namespace}/pods?watch=1&fieldSelector=spec.nodeName!%3D\
             &timeoutSeconds=1200"
        );
        Ok(Self { lines: Lines::open(client, &path).await? })
    }

    /// The next pod that came onto a node. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Result<BoundPod> {
        #[derive(Deserialize)]
        struct Event {
            r#type: String,
            object: Object,
        }
        #[derive(Deserialize)]
        struct Object {
            metadata: Meta,
        }
        #[derive(Deserialize)]
        struct Meta {
            name: String,
        }
        loop {
            let line = self.lines.next().await?;
            let at = Instant::now();
            let event: Event = serde_json::from_slice(line)
                .with_context(|| format!("a watch said {}", String::from_utf8_lossy(line)))?;
            if event.r#type == "ADDED" {
                return Ok(BoundPod { name: event.object.metadata.name, at });
            }
        }
    }
}
