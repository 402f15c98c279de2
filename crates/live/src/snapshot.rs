//! Reads everything there is once, page by page, and keeps what scheduling reads.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::{Request, StatusCode, header};
use k8s::ingest::{slim_node, slim_pod};
use kube::client::Body;
use serde_json::Value;

use crate::client::{Answer, ask_for_up_to, configuration, connect, status_message};
use crate::outage::Outage;
use crate::watch::{NODES, PODS, Watched, page};

/// Objects per page: large ones must fit into one answer.
const PAGE: usize = 100;
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a page is asked for when the server is busy, and how long it is left alone.
const TRIES: usize = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// How many objects were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnapshotProgress {
    /// Nodes.
    pub nodes: usize,
    /// Pods.
    pub pods: usize,
}

/// Nodes, and then pods that have not run to their end, with no more than scheduling reads. Each
/// is handed to `take` as it comes.
///
/// # Errors
/// When the API server cannot be reached or refuses.
pub fn snapshot(
    kubeconfig: Option<&Path>,
    master: Option<&str>,
    mut take: impl FnMut(Value, SnapshotProgress) -> Result<()>,
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
        let mut progress = SnapshotProgress::default();
        for watched in [&NODES, &PODS] {
            let reading = || format!("listing {} of {}", watched.word, config.cluster_url);
            list(&client, watched, &mut progress, &mut take).await.with_context(reading)?;
        }
        Ok(progress)
    })
}

async fn list(
    client: &kube::Client,
    watched: &Watched,
    progress: &mut SnapshotProgress,
    take: &mut impl FnMut(Value, SnapshotProgress) -> Result<()>,
) -> Result<()> {
    let mut next = String::new();
    loop {
        let answer = page_of(client, watched, &next).await?;
        let page = page::read(&answer.body).map_err(anyhow::Error::msg)?;
        for object in &page.items {
            let object: Value = serde_json::from_str(object.get()).context("an object")?;
            let object = if *watched == NODES {
                progress.nodes += 1;
                slim_node(object)
            } else {
                progress.pods += 1;
                slim_pod(object)
            };
            take(object, *progress)?;
        }
        match page.next {
            Some(token) => next = format!("&continue={token}"),
            None => return Ok(()),
        }
    }
}

/// One page, asked for again while the server is busy.
async fn page_of(client: &kube::Client, watched: &Watched, next: &str) -> Result<Answer> {
    for tries in 1.. {
        let request = Request::get(format!("{}&limit={PAGE}{next}", watched.path()))
            .header(header::ACCEPT, "application/json")
            .body(Body::empty())
            .context("the next page")?;
        let answer = ask_for_up_to(page::BYTES_MAX, client, request, PATIENCE).await?;
        match answer.status {
            StatusCode::OK => return Ok(answer),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE if tries < TRIES => {
                tokio::time::sleep(answer.retry_after.unwrap_or(PAUSE)).await;
            }
            StatusCode::GONE => bail!("the list expired while it was read: try again"),
            status => bail!("{status}: {}", status_message(&answer.body)),
        }
    }
    unreachable!("the last try returns")
}
