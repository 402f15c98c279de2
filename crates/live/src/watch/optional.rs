//! Kinds that not every cluster has are watched while the server has them: they can come and go
//! while we run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::{Event, Kind};
use tokio::task::AbortHandle;
use tracing::info;

use super::{Progress, Watched, Watcher};
use crate::feed::{Closed, Feed, Input, Seen};
use crate::metrics::Metrics;

/// How long decisions wait for these kinds. Rights to read them can be missing, and pods must not
/// wait for that: those that name objects about gangs wait in any case, and no tier is higher for
/// want of queues.
const AWAITED_MAX: Duration = Duration::from_secs(60);

/// Which of the kinds are served, and where.
pub(crate) type Served = BTreeMap<Kind, &'static Watched>;

/// What is watched of them.
pub(crate) struct OptionalWatches {
    client: kube::Client,
    feed: Feed,
    metrics: Arc<Metrics>,
    running: BTreeMap<Kind, (&'static Watched, AbortHandle)>,
    is_first: bool,
}

impl OptionalWatches {
    pub(crate) fn new(client: kube::Client, feed: Feed, metrics: Arc<Metrics>) -> Self {
        Self { client, feed, metrics, running: BTreeMap::new(), is_first: true }
    }

    /// Watches what is served, and nothing else. What is served the first time has to be listed
    /// before anything is decided.
    pub(crate) async fn follow(&mut self, served: &Served) -> Result<(), Closed> {
        if std::mem::take(&mut self.is_first) {
            self.feed.send(Input::Await(served.keys().copied().collect())).await?;
            let feed = self.feed.clone();
            tokio::spawn(async move {
                tokio::time::sleep(AWAITED_MAX).await;
                let _ = feed.send(Input::Await(Vec::new())).await;
            });
        }
        let is_stale = |kind: &Kind, api: &&Watched| served.get(kind) != Some(api);
        let stale: Vec<_> =
            self.running.extract_if(.., |kind, (api, _)| is_stale(kind, api)).collect();
        for (kind, (api, task)) in stale {
            task.abort();
            if !served.contains_key(&kind) {
                info!(kind = api.word, "a kind is not served any more");
                let seen = Seen::plain(Event::Listed(api.kind, api.nobody()));
                self.feed.send(Input::Seen(seen)).await?;
            }
        }
        for (kind, api) in served {
            if !self.running.contains_key(kind) {
                let (word, version) = (api.word, api.version);
                info!(kind = word, version, "a kind that not every cluster has is watched");
                self.running.insert(*kind, (*api, self.watch(api)));
            }
        }
        Ok(())
    }

    fn watch(&self, watched: &'static Watched) -> AbortHandle {
        let (client, feed) = (self.client.clone(), self.feed.clone());
        let progress = Progress::default();
        let watcher = Watcher::new(watched, client, feed, self.metrics.clone(), progress);
        tokio::spawn(watcher.run()).abort_handle()
    }
}

#[cfg(test)]
mod tests {
    use model::Present;

    use super::super::OPTIONAL;
    use super::*;
    use crate::feed::feed;
    use crate::testing::server;

    /// What the engine was told, in words.
    fn told(inbox: &crate::feed::Inbox) -> Vec<String> {
        let word = |input| match input {
            Input::Await(kinds) => format!("await {kinds:?}"),
            Input::Seen(Seen {
                event: Event::Listed(Kind::PodGroup(kind), Present::Names(names)),
                ..
            }) => {
                format!("{kind:?}={}", names.len())
            }
            Input::Seen(Seen {
                event: Event::Listed(Kind::LocalQueue, Present::Facts(names)),
                ..
            }) => {
                format!("queues={}", names.len())
            }
            Input::Seen(_)
            | Input::Outcome(_)
            | Input::Prepared { .. }
            | Input::Eviction { .. }
            | Input::NotTold { .. }
            | Input::Lead
            | Input::Drain(_) => "?".into(),
        };
        inbox.try_iter().map(word).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_served_is_watched_in_the_version_that_is_served() {
        let (client, log) = server(|_| async { None });
        let (feed, inbox) = feed();
        let metrics = Arc::new(Metrics::new(["s"], "host", "lease"));
        let mut watches = OptionalWatches::new(client, feed, metrics);
        let asked = || -> Vec<String> {
            let log = log.lock().unwrap();
            let path = |target: &str| target.split('?').next().unwrap().to_owned();
            log.iter().map(|arrived| path(&arrived.target)).collect()
        };
        let of = |at: &[usize]| -> Served {
            at.iter().map(|at| (OPTIONAL[*at].kind, &OPTIONAL[*at])).collect()
        };
        watches.follow(&of(&[])).await.unwrap();
        watches.follow(&of(&[1, 5, 9])).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let first = [
            "/apis/scheduling.k8s.io/v1alpha3/podgroups",
            "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
            "/apis/kueue.x-k8s.io/v1beta1/localqueues",
        ];
        assert_eq!(asked(), first);
        // Nothing changes, then newer versions come and another kind goes.
        watches.follow(&of(&[1, 5, 9])).await.unwrap();
        watches.follow(&of(&[0, 8])).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let newer = [
            "/apis/scheduling.k8s.io/v1beta1/podgroups",
            "/apis/kueue.x-k8s.io/v1beta2/localqueues",
        ];
        assert_eq!(asked()[3..], newer);
        assert_eq!(told(&inbox), ["await []", "Coscheduling=0"]);
        // Longer than a watch waits for an answer before it asks again.
        tokio::time::sleep(AWAITED_MAX * 3).await;
        let is_new = |path: &String| newer.contains(&path.as_str());
        assert!(asked().len() > 5 && asked()[3..].iter().all(is_new), "{:?}", asked());
        assert_eq!(told(&inbox), ["await []"], "nobody waits for ever");
        watches.follow(&of(&[0])).await.unwrap();
        assert_eq!(told(&inbox), ["queues=0"], "Kueue was removed");
    }
}
