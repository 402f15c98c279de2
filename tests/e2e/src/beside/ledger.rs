//! The last state of every pod, also of those that are gone: read from a watch, since a victim may
//! be there for a few milliseconds only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use anyhow::{Result, anyhow, bail};
use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{WatchEvent, WatchParams};
use kube::{Api, Client};
use tokio::task::JoinHandle;

/// A pod as it was seen last.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) pod: Pod,
    pub(super) is_gone: bool,
}

/// Everything the watch has shown since the last `clear`.
#[derive(Debug)]
struct Shown {
    records: BTreeMap<String, Record>,
    changed: Instant,
    error: Option<String>,
}

/// A watch of all pods, until it is dropped.
#[derive(Debug)]
pub(super) struct Ledger {
    shown: Arc<Mutex<Shown>>,
    task: JoinHandle<()>,
}

impl Ledger {
    /// Watches the pods of a cluster that is empty.
    pub(super) fn open(client: Client) -> Self {
        let shown = Shown { records: BTreeMap::new(), changed: Instant::now(), error: None };
        let shown = Arc::new(Mutex::new(shown));
        let kept = shown.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = follow(client, &kept).await {
                lock(&kept).error = Some(format!("{error:#}"));
            }
        });
        Self { shown, task }
    }

    /// All pods by uid, and the time of the last change.
    pub(super) fn read(&self) -> Result<(BTreeMap<String, Record>, Instant)> {
        let shown = lock(&self.shown);
        match &shown.error {
            Some(error) => Err(anyhow!("watching pods: {error}")),
            None => Ok((shown.records.clone(), shown.changed)),
        }
    }

    /// Forgets the pods that are gone.
    pub(super) fn clear(&self) {
        lock(&self.shown).records.retain(|_, record| !record.is_gone);
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(shown: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shown.lock().expect("nobody panics while holding it")
}

async fn follow(client: Client, shown: &Mutex<Shown>) -> Result<()> {
    let pods: Api<Pod> = Api::all(client);
    let mut version = "0".to_owned();
    loop {
        let mut events = Box::pin(pods.watch(&WatchParams::default(), &version).await?);
        while let Some(event) = events.try_next().await? {
            let (pod, is_gone) = match event {
                WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (pod, false),
                WatchEvent::Deleted(pod) => (pod, true),
                WatchEvent::Bookmark(bookmark) => {
                    version = bookmark.metadata.resource_version;
                    continue;
                }
                WatchEvent::Error(error) => bail!("{error}"),
            };
            version = pod.metadata.resource_version.clone().unwrap_or_default();
            let uid = pod.metadata.uid.clone().unwrap_or_default();
            let mut shown = lock(shown);
            shown.records.insert(uid, Record { pod, is_gone });
            shown.changed = Instant::now();
        }
    }
}
