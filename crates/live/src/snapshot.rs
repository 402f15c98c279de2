//! Reads everything there is once, page by page, and keeps what scheduling reads.
//!
//! What is read are the rows of the table of kinds that are watched, and PriorityClasses: pods that
//! are there carry the number, pods to be name the class.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::{Request, StatusCode, header};
use k8s::ingest;
use kube::client::Body;
use serde_json::Value;

use crate::client::{Answer, ask_for_up_to, configuration, connect, status_message};
use crate::discovery;
use crate::outage::Outage;
use crate::watch::{
    BUDGETS, GROUPINGS, JOBS, NAMESPACES, NODES, PODS, STORAGE, SUCCEEDED, Watched, page,
};

/// Objects per page: large ones must fit into one answer.
const PAGE: usize = 100;
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a page is asked for when the server is busy, and how long it is left alone.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// Controllers of which only those are taken that pods name: a cluster keeps many that have none.
const CONTROLLERS: [&str; 3] = ["ReplicationController", "ReplicaSet", "StatefulSet"];

/// How many objects were read of each kind, and which kinds were not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotProgress {
    counts: Vec<(&'static str, usize)>,
    /// Kinds that are not in the snapshot though the server may have them, and why.
    pub left_out: Vec<String>,
}

impl fmt::Display for SnapshotProgress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.counts.is_empty() {
            return out.write_str("no objects");
        }
        for (at, (word, count)) in self.counts.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(out, "{separator}{count} {word}")?;
        }
        Ok(())
    }
}

impl SnapshotProgress {
    fn count(&mut self, word: &'static str) {
        match self.counts.last_mut() {
            Some((last, count)) if *last == word => *count += 1,
            Some(_) | None => self.counts.push((word, 1)),
        }
    }
}

/// Nodes, pods that have not run to their end, and all that decides where pods go, with no more
/// than scheduling reads. Each is handed to `take` as it comes. A kind that may not be read is left
/// out, unless it is nodes or pods.
///
/// # Errors
/// When the API server cannot be reached or refuses.
pub fn snapshot(
    kubeconfig: Option<&Path>,
    master: Option<&str>,
    take: impl FnMut(Value, &SnapshotProgress) -> Result<()>,
) -> Result<SnapshotProgress> {
    // Fails only if somebody was faster, which is just as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting the runtime")?;
    runtime.block_on(async {
        let config = configuration(kubeconfig, master).await?;
        let client = connect(&config, &Outage::default())?;
        let server = config.cluster_url.to_string();
        let mut taker = Taker { client, server, take, progress: Default::default() };
        taker.take_all().await?;
        Ok(taker.progress)
    })
}

/// Where objects of a kind are, and what they call themselves.
struct Rows {
    path: String,
    api_version: String,
    object: &'static str,
    word: &'static str,
}

impl From<&Watched> for Rows {
    fn from(watched: &Watched) -> Self {
        let (path, api_version) = (watched.path(), watched.api_version());
        Self { path, api_version, object: watched.object, word: watched.word }
    }
}

fn priority_classes() -> Rows {
    Rows {
        path: "/apis/scheduling.k8s.io/v1/priorityclasses?".to_owned(),
        api_version: "scheduling.k8s.io/v1".to_owned(),
        object: "PriorityClass",
        word: "priorityclasses",
    }
}

/// What pods name.
#[derive(Default)]
struct Named {
    /// Controllers by kind, namespace and name.
    controllers: BTreeSet<(String, String, String)>,
    /// Whether a pod waits for a gang to end.
    is_waiting: bool,
}

impl Named {
    fn note(&mut self, pod: &Value) {
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        for owner in owners.into_iter().flatten().filter(|owner| owner["controller"] == true) {
            let namespace = text(&pod["metadata"], "namespace");
            self.controllers.insert((text(owner, "kind"), namespace, text(owner, "name")));
        }
        self.is_waiting |= ingest::waits_for_gangs(pod);
    }

    /// Whether an object matters. Of Jobs and of pods that ran to their end only those do that the
    /// scheduler would be told of.
    fn is_meant(&self, rows: &Rows, object: &Value) -> bool {
        if rows.word == SUCCEEDED.word {
            let seen = ingest::read_succeeded(object.to_string().as_bytes());
            return matches!(seen, Ok((_, Some(_))));
        }
        if rows.object == JOBS.object {
            return matches!(ingest::job(object), Ok(Some(_)));
        }
        if !CONTROLLERS.contains(&rows.object) {
            return true;
        }
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        self.controllers.contains(&(rows.object.to_owned(), text("namespace"), text("name")))
    }
}

/// What it takes to take a snapshot.
struct Taker<T> {
    client: kube::Client,
    server: String,
    take: T,
    progress: SnapshotProgress,
}

impl<T: FnMut(Value, &SnapshotProgress) -> Result<()>> Taker<T> {
    /// Pods before what they name.
    async fn take_all(&mut self) -> Result<()> {
        let mut named = Named::default();
        for watched in [&NODES, &PODS] {
            if let Some(refusal) = self.list(&watched.into(), &mut named).await? {
                bail!("listing {} of {}: {refusal}", watched.word, self.server);
            }
        }
        let mut rows = vec![priority_classes()];
        let fixed = [&NAMESPACES, &BUDGETS].into_iter().chain(&GROUPINGS).chain(&STORAGE);
        rows.extend(fixed.map(Rows::from));
        match discovery::look(&self.client, true).await {
            Ok((_, served)) => rows.extend(served.into_values().map(Rows::from)),
            Err(why) => {
                let what = "PodGroups and queues, because which of them are served is not known";
                self.progress.left_out.push(format!("{what}: {why}"));
            }
        }
        if named.is_waiting {
            rows.extend([&SUCCEEDED, &JOBS].map(Rows::from));
        }
        for rows in rows {
            if let Some(refusal) = self.list(&rows, &mut named).await? {
                self.progress.left_out.push(format!("{}: {refusal}", rows.word));
            }
        }
        Ok(())
    }

    /// Takes all objects of a kind; tells why not if that is refused.
    async fn list(&mut self, rows: &Rows, named: &mut Named) -> Result<Option<String>> {
        let reading = || format!("listing {} of {}", rows.word, self.server);
        let mut next = String::new();
        loop {
            let answer = page_of(&self.client, rows, &next).await.with_context(reading)?;
            let answer = match answer {
                Ok(answer) => answer,
                Err(refusal) => return Ok(Some(refusal)),
            };
            let page = page::read(&answer.body).map_err(anyhow::Error::msg)?;
            for object in &page.items {
                let object: Value = serde_json::from_str(object.get()).context("an object")?;
                if !named.is_meant(rows, &object) {
                    continue;
                }
                let object = ingest::slim(&rows.api_version, rows.object, object);
                if rows.word == PODS.word {
                    named.note(&object);
                }
                self.progress.count(rows.word);
                (self.take)(object, &self.progress)?;
            }
            match page.next {
                Some(token) => next = format!("&continue={token}"),
                None => return Ok(None),
            }
        }
    }
}

/// One page, asked for again while the server is busy; or why it may not be read, or is not there.
async fn page_of(client: &kube::Client, rows: &Rows, next: &str) -> Result<Result<Answer, String>> {
    for tries in 1.. {
        let request = Request::get(format!("{}&limit={PAGE}{next}", rows.path))
            .header(header::ACCEPT, "application/json")
            .body(Body::empty())
            .context("the next page")?;
        let answer = ask_for_up_to(page::BYTES_MAX, client, request, PATIENCE).await?;
        let said = || format!("{}: {}", answer.status, status_message(&answer.body));
        match answer.status {
            StatusCode::OK => return Ok(Ok(answer)),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if tries < TRIES => {
                tokio::time::sleep(answer.retry_after.unwrap_or(PAUSE)).await;
            }
            StatusCode::GONE => bail!("the list expired while it was read: try again"),
            StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => return Ok(Err(said())),
            _ => bail!(said()),
        }
    }
    unreachable!("the last try returns")
}

#[cfg(test)]
mod tests;
