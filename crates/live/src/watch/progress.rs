//! How far the watch of pods has come, for a replica that takes over the lead.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use tracing::{debug, warn};

use super::page;
use crate::client::{ask, request};

/// The last version that was delivered to the engine.
#[derive(Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU64>);

const PATIENCE: Duration = Duration::from_secs(5);
/// A quiet watch does not tell that it is up to date; after this long it is taken to be.
const CATCH_UP_MAX: Duration = Duration::from_millis(500);

impl Progress {
    pub(super) fn reached(&self, version: &str) {
        // A version that is no number cannot be compared, and then nobody waits for it.
        if let Ok(version) = version.parse() {
            self.0.store(version, Ordering::Release);
        }
    }

    /// Waits until the engine has been fed all that the API server had when this was called: the
    /// bindings of the leader before us among it.
    pub(crate) async fn catch_up(&self, client: &kube::Client) {
        let request = request(Method::GET, "/api/v1/pods?limit=1", "application/json", Vec::new());
        let answer = match ask(client, request, PATIENCE).await {
            Ok(answer) if answer.status.is_success() => answer,
            Ok(answer) => {
                warn!(status = %answer.status, "cannot ask for the version of the pods");
                return tokio::time::sleep(CATCH_UP_MAX).await;
            }
            Err(error) => {
                warn!(%error, "cannot ask for the version of the pods");
                return tokio::time::sleep(CATCH_UP_MAX).await;
            }
        };
        let version = page::read(&answer.body).ok().and_then(|page| page.version.parse().ok());
        let Some(version) = version else { return };
        let until = Instant::now() + CATCH_UP_MAX;
        while self.0.load(Ordering::Acquire) < version && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        debug!(version, "caught up");
    }
}
