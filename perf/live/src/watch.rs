//! Watches of objects, and the one that tells when pods are bound.

use std::collections::BTreeMap;
use std::time::Instant;

use anyhow::{Context as _, Result};
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::client;

/// What is read of an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(bound = "S: DeserializeOwned + Default")]
pub(crate) struct Object<S> {
    pub(crate) metadata: Meta,
    #[serde(default)]
    pub(crate) spec: S,
}

/// What is read of a pod.
pub(crate) type Pod = Object<Spec>;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Spec {
    #[serde(default)]
    pub(crate) node_name: String,
    #[serde(default)]
    pub(crate) scheduler_name: String,
}

/// A page of a list. Other objects have names too, and nothing else of them is needed.
#[derive(Debug, Deserialize)]
pub(crate) struct Page {
    pub(crate) metadata: PageMeta,
    pub(crate) items: Vec<Pod>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageMeta {
    /// What the list shows, on all pages.
    pub(crate) resource_version: String,
    /// Names the next page; empty on the last.
    #[serde(default)]
    pub(crate) r#continue: String,
}

/// A watch that goes on where it was when the server ends it. Servers do that to a watch that does
/// not take events fast enough, and on a busy machine nothing is fast enough.
pub(crate) struct Watch {
    client: Client,
    path: String,
    lines: Option<Lines>,
    /// Everything up to here was seen.
    version: String,
}

impl Watch {
    /// Opens a watch for what happens after a version. More parameters can follow `path`.
    pub(crate) async fn open(client: &Client, path: String, version: String) -> Result<Self> {
        let mut watch = Self { client: client.clone(), path, lines: None, version };
        watch.lines().await?;
        Ok(watch)
    }

    /// Opens a watch for what happens from now on.
    pub(crate) async fn from_now(client: &Client, path: String) -> Result<Self> {
        let version = version(client, &path).await?;
        Self::open(client, path, version).await
    }

    /// The next pod that was added, in the eyes of this watch.
    pub(crate) async fn added(&mut self) -> Result<Pod> {
        loop {
            let (kind, pod) = self.next().await?;
            if kind == "ADDED" {
                return Ok(pod);
            }
        }
    }

    /// What happened next, and to which object. Whoever drops this before it is done loses
    /// nothing.
    pub(crate) async fn next<S>(&mut self) -> Result<(String, Object<S>)>
    where
        S: DeserializeOwned + Default,
    {
        #[derive(Deserialize)]
        #[serde(bound = "S: DeserializeOwned + Default")]
        struct Event<S> {
            r#type: String,
            object: Object<S>,
        }
        loop {
            let Some(line) = self.lines().await?.next().await? else {
                self.lines = None;
                continue;
            };
            let event: Event<S> = serde_json::from_slice(line)
                .with_context(|| format!("a watch said {}", String::from_utf8_lossy(line)))?;
            self.version.clone_from(&event.object.metadata.resource_version);
            return Ok((event.r#type, event.object));
        }
    }

    async fn lines(&mut self) -> Result<&mut Lines> {
        if self.lines.is_none() {
            let (path, version) = (&self.path, &self.version);
            let url = format!("{path}watch=1&timeoutSeconds=1200&resourceVersion={version}");
            self.lines = Some(Lines::open(&self.client, &url).await?);
        }
        Ok(self.lines.as_mut().expect("it was opened above"))
    }
}

/// The version of what is under a path now. More parameters can follow `path`.
pub(crate) async fn version(client: &Client, path: &str) -> Result<String> {
    let body = client::get(client, &format!("{path}limit=1")).await?;
    let page: Page = serde_json::from_slice(&body).with_context(|| format!("list {path}"))?;
    Ok(page.metadata.resource_version)
}

/// The lines of an answer that comes piece by piece.
struct Lines {
    body: Body,
    text: Vec<u8>,
    /// What comes before is taken.
    start: usize,
    /// What comes before has no end of a line after `start`.
    searched: usize,
}

impl Lines {
    /// Waits until the server has begun its answer.
    async fn open(client: &Client, path: &str) -> Result<Self> {
        let request = Request::get(path).header(header::ACCEPT, "application/json");
        let response = client.send(request.body(Body::empty())?).await?;
        let status = response.status();
        let body = response.into_body();
        if !status.is_success() {
            return Err(client::refusal(path, status, &body.collect().await?.to_bytes()));
        }
        Ok(Self { body, text: Vec::new(), start: 0, searched: 0 })
    }

    /// The next line; nothing at the end.
    async fn next(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let found = self.text[self.searched..].iter().position(|byte| *byte == b'\n');
            if let Some(at) = found {
                let (from, to) = (self.start, self.searched + at);
                self.start = to + 1;
                self.searched = self.start;
                return Ok(Some(&self.text[from..to]));
            }
            self.text.drain(..self.start);
            self.start = 0;
            self.searched = self.text.len();
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            if let Ok(piece) = frame?.into_data() {
                self.text.extend_from_slice(&piece);
            }
        }
    }
}

/// The watch that shows pods of a namespace from the moment they are on a node. The benchmark
/// reads nothing else while it measures, so that it costs little and the same for everyone.
pub(crate) struct Bound(Watch);

/// A pod that is on a node.
pub(crate) struct BoundPod {
    pub(crate) name: String,
    /// When the benchmark knew.
    pub(crate) at: Instant,
}

impl Bound {
    pub(crate) async fn open(client: &Client, namespace: &str) -> Result<Self> {
        let path = format!("/api/v1/namespaces/{namespace}/pods?fieldSelector=spec.nodeName!%3D&");
        Ok(Self(Watch::from_now(client, path).await?))
    }

    /// The next pod that came onto a node.
    pub(crate) async fn next(&mut self) -> Result<BoundPod> {
        let pod = self.0.added().await?;
        Ok(BoundPod { name: pod.metadata.name, at: Instant::now() })
    }
}
