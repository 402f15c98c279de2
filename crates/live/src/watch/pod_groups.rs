//! Objects about gangs are watched while the server has them: not every cluster does, and they can
//! come and go while we run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Event, PodGroupKey, PodGroupKind, Present};
use tokio::task::AbortHandle;
use tracing::info;

use super::{Kind, Progress, Watcher};
use crate::feed::{Closed, Feed, Input, Seen};
use crate::metrics::Metrics;

/// How long decisions wait for objects about gangs. Rights to read them can be missing, and pods
/// that name none must not wait for that; those that do wait in any case.
const AWAITED_MAX: Duration = Duration::from_secs(60);

/// Where a kind of such objects is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupApi {
    pub(crate) kind: PodGroupKind,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
}

const fn api(
    kind: PodGroupKind,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
) -> GroupApi {
    GroupApi { kind, group, version, resource }
}

const NATIVE: &str = "scheduling.k8s.io";

/// All that are known; of a kind the one to be preferred first.
pub(crate) const GROUP_APIS: [GroupApi; 8] = [
    api(PodGroupKind::Native, NATIVE, "v1beta1", "podgroups"),
    api(PodGroupKind::Native, NATIVE, "v1alpha3", "podgroups"),
    api(PodGroupKind::Native, NATIVE, "v1alpha2", "podgroups"),
    api(PodGroupKind::Composite, NATIVE, "v1alpha3", "compositepodgroups"),
    api(PodGroupKind::Workload, NATIVE, "v1alpha1", "workloads"),
    api(PodGroupKind::Coscheduling, "scheduling.x-k8s.io", "v1alpha1", "podgroups"),
    api(PodGroupKind::Volcano, "scheduling.volcano.sh", "v1beta1", "podgroups"),
    api(PodGroupKind::Kai, "scheduling.run.ai", "v2alpha2", "podgroups"),
];

impl GroupApi {
    /// In metrics and logs.
    pub(crate) fn word(self) -> &'static str {
        match self.kind {
            PodGroupKind::Native => "podgroups",
            PodGroupKind::Composite => "compositepodgroups",
            PodGroupKind::Workload => "workloads",
            PodGroupKind::Coscheduling => "podgroups.scheduling.x-k8s.io",
            PodGroupKind::Volcano => "podgroups.scheduling.volcano.sh",
            PodGroupKind::Kai => "podgroups.scheduling.run.ai",
        }
    }

    /// Path of all of them, and the start of the query.
    pub(crate) fn path(self) -> String {
        let Self { group, version, resource, .. } = self;
        format!("/apis/{group}/{version}/{resource}?")
    }

    /// Path of one of them.
    pub(crate) fn path_of(self, key: &PodGroupKey) -> String {
        let Self { group, version, resource, .. } = self;
        let (namespace, name) = (&key.namespace, &key.name);
        format!("/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}")
    }

    /// Group and version.
    pub(crate) fn api_version(self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// What its objects call themselves.
    pub(crate) fn object_kind(self) -> &'static str {
        match self.kind {
            PodGroupKind::Native
            | PodGroupKind::Coscheduling
            | PodGroupKind::Volcano
            | PodGroupKind::Kai => "PodGroup",
            PodGroupKind::Composite => "CompositePodGroup",
            PodGroupKind::Workload => "Workload",
        }
    }

    /// The condition by which their owners are told, if it is ours to write.
    pub(crate) fn condition(self) -> Option<&'static str> {
        match self.kind {
            PodGroupKind::Native if self.version == "v1alpha2" => Some("PodGroupScheduled"),
            PodGroupKind::Native => Some("PodGroupInitiallyScheduled"),
            PodGroupKind::Composite => Some("CompositePodGroupInitiallyScheduled"),
            PodGroupKind::Workload
            | PodGroupKind::Coscheduling
            | PodGroupKind::Volcano
            | PodGroupKind::Kai => None,
        }
    }
}

/// What is watched of them.
pub(crate) struct PodGroupWatches {
    client: kube::Client,
    feed: Feed,
    metrics: Arc<Metrics>,
    running: BTreeMap<PodGroupKind, (GroupApi, AbortHandle)>,
    is_first: bool,
}

impl PodGroupWatches {
    pub(crate) fn new(client: kube::Client, feed: Feed, metrics: Arc<Metrics>) -> Self {
        Self { client, feed, metrics, running: BTreeMap::new(), is_first: true }
    }

    /// Watches what is served, and nothing else. What is served the first time has to be listed
    /// before anything is decided.
    pub(crate) async fn follow(
        &mut self,
        served: &BTreeMap<PodGroupKind, GroupApi>,
    ) -> Result<(), Closed> {
        if std::mem::take(&mut self.is_first) {
            self.feed.send(Input::Await(served.keys().copied().collect())).await?;
            let feed = self.feed.clone();
            tokio::spawn(async move {
                tokio::time::sleep(AWAITED_MAX).await;
                let _ = feed.send(Input::Await(Vec::new())).await;
            });
        }
        for kind in PodGroupKind::ALL {
            let (before, now) = (self.running.get(&kind), served.get(&kind));
            if before.map(|(api, _)| api) == now {
                continue;
            }
            let before = self.running.remove(&kind);
            if let Some((_, task)) = &before {
                task.abort();
            }
            if let Some(api) = now {
                info!(kind = api.word(), version = api.version, "objects about gangs are watched");
                self.running.insert(kind, (*api, self.watch(*api)));
            } else if let Some((api, _)) = before {
                info!(kind = api.word(), "objects about gangs are not served any more");
                let event = Event::Reset(Present::PodGroups(kind, Default::default()));
                let (standing, group) = (None, None);
                let seen = Seen { event, standing, group, read_at: Instant::now() };
                self.feed.send(Input::Seen(seen)).await?;
            }
        }
        Ok(())
    }

    fn watch(&self, api: GroupApi) -> AbortHandle {
        let (client, feed) = (self.client.clone(), self.feed.clone());
        let (kind, progress) = (Kind::PodGroups(api), Progress::default());
        let watcher = Watcher::new(kind, client, feed, self.metrics.clone(), progress);
        tokio::spawn(watcher.run()).abort_handle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::feed;
    use crate::testing::server;

    /// What the engine was told, in words.
    fn told(inbox: &std::sync::mpsc::Receiver<Input>) -> Vec<String> {
        let word = |input| match input {
            Input::Await(kinds) => format!("await {kinds:?}"),
            Input::Seen(Seen { event: Event::Reset(Present::PodGroups(kind, names)), .. }) => {
                format!("{kind:?}={}", names.len())
            }
            Input::Seen(_)
            | Input::Outcome(_)
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
        let mut watches = PodGroupWatches::new(client, feed, metrics);
        let asked = || -> Vec<String> {
            let log = log.lock().unwrap();
            let path = |target: &str| target.split('?').next().unwrap().to_owned();
            log.iter().map(|arrived| path(&arrived.target)).collect()
        };
        let of = |at: &[usize]| -> BTreeMap<PodGroupKind, GroupApi> {
            at.iter().map(|at| (GROUP_APIS[*at].kind, GROUP_APIS[*at])).collect()
        };
        watches.follow(&of(&[])).await.unwrap();
        watches.follow(&of(&[1, 5])).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let first = [
            "/apis/scheduling.k8s.io/v1alpha3/podgroups",
            "/apis/scheduling.x-k8s.io/v1alpha1/podgroups",
        ];
        assert_eq!(asked(), first);
        // Nothing changes, then a newer version comes and the other kind goes.
        watches.follow(&of(&[1, 5])).await.unwrap();
        watches.follow(&of(&[0])).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(asked()[2..], ["/apis/scheduling.k8s.io/v1beta1/podgroups"]);
        assert_eq!(told(&inbox), ["await []", "Coscheduling=0"]);
        // Longer than a watch waits for an answer before it asks again.
        tokio::time::sleep(AWAITED_MAX * 3).await;
        let is_new = |path: &String| path.contains("v1beta1");
        assert!(asked().len() > 3 && asked()[2..].iter().all(is_new), "{:?}", asked());
        assert_eq!(told(&inbox), ["await []"], "nobody waits for ever");
    }

    #[test]
    fn only_what_is_ours_to_write_has_a_condition() {
        let words = GROUP_APIS.map(|api| api.condition().unwrap_or("-"));
        let started = "PodGroupInitiallyScheduled";
        let composite = "CompositePodGroupInitiallyScheduled";
        let expected = [started, started, "PodGroupScheduled", composite, "-", "-", "-", "-"];
        assert_eq!(words, expected);
    }
}
