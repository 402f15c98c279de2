//! How far the watch of pods has come, for a replica that takes over the lead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use tokio::sync::{Notify, watch};
use tracing::{debug, info, warn};

use super::page;
use crate::client::{ask, request, status_message};
use crate::outage::Repeats;

/// The last version that was delivered to the engine.
#[derive(Clone)]
pub(crate) struct Progress(Arc<Shared>);

struct Shared {
    /// Zero before the first list.
    version: AtomicU64,
    changed: watch::Sender<()>,
    /// Somebody has to know what is there, and the watch does not tell.
    list: Notify,
}

impl Default for Progress {
    fn default() -> Self {
        let (version, changed) = (AtomicU64::new(0), watch::Sender::new(()));
        Self(Arc::new(Shared { version, changed, list: Notify::new() }))
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_millis(500);
/// A watch on which nothing happens does not tell that it is up to date. After this long the pods
/// are listed again: that tells for certain.
const QUIET_MAX: Duration = Duration::from_millis(500);

impl Progress {
    pub(super) fn reached(&self, version: &str) {
        if let Ok(version) = version.parse() {
            self.0.version.store(version, Ordering::Release);
            self.0.changed.send_replace(());
        }
    }

    /// Somebody asks for a new list.
    pub(super) async fn asked_for_list(&self) {
        self.0.list.notified().await;
    }

    /// Waits until the engine has been fed all that the API server had when this was called: the
    /// bindings of the leader before us among it.
    pub(crate) async fn catch_up(&self, client: &kube::Client) {
        let mut repeats = Repeats::default();
        let version = loop {
            match version_of_pods(client).await {
                Ok(version) => break version,
                Err(message) if repeats.is_news(&message) => {
                    warn!(message, "cannot ask for the version of the pods, nothing is decided");
                }
                Err(_) => {}
            }
            tokio::time::sleep(RETRY).await;
        };
        // A version that is no number cannot be compared, and then nobody waits for it.
        let Ok(version) = version.parse::<u64>() else { return };
        self.reaches(1).await;
        if tokio::time::timeout(QUIET_MAX, self.reaches(version)).await.is_err() {
            info!("the watch of pods is quiet: they are listed before anything is decided");
            self.0.list.notify_one();
            self.reaches(version).await;
        }
        debug!(version, "caught up");
    }

    async fn reaches(&self, version: u64) {
        let mut changed = self.0.changed.subscribe();
        let is_reached = |(): &()| self.0.version.load(Ordering::Acquire) >= version;
        // Fails if the sender is gone, and that is part of this.
        let _ = changed.wait_for(is_reached).await;
    }
}

/// The version that the API server has at this time.
async fn version_of_pods(client: &kube::Client) -> Result<String, String> {
    let request = request(Method::GET, "/api/v1/pods?limit=1", "application/json", Vec::new());
    let answer = ask(client, request, PATIENCE).await.map_err(|error| error.to_string())?;
    if !answer.status.is_success() {
        return Err(format!("{}: {}", answer.status, status_message(&answer.body)));
    }
    page::read(&answer.body).map(|page| page.version)
}
