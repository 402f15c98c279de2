//! Which optional APIs the server has. They can come and go while we run: an operator is installed,
//! the cluster is upgraded. None of them is needed.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use model::Kind;
use serde::Deserialize;
use tracing::{info, warn};

use crate::client::{ask, request, status_message};
use crate::metrics::Metrics;
use crate::outage::{Outage, Repeats};
use crate::serve::Health;
use crate::watch::{self, OptionalWatches, Served};

/// Groups and versions that tell us more about a cluster where they are served.
const OPTIONAL: [(&str, &str); 11] = [
    ("resource.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1beta1"),
    ("scheduling.k8s.io", "v1alpha3"),
    ("scheduling.k8s.io", "v1alpha2"),
    ("scheduling.k8s.io", "v1alpha1"),
    ("scheduling.x-k8s.io", "v1alpha1"),
    ("scheduling.volcano.sh", "v1beta1"),
    ("scheduling.run.ai", "v2alpha2"),
    ("topology.node.k8s.io", "v1alpha2"),
    ("kueue.x-k8s.io", "v1beta2"),
    ("kueue.x-k8s.io", "v1beta1"),
];

/// How often the server is asked, and how soon again when it did not answer.
const PERIOD: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(15);
/// After this many tries scheduling begins without: pods that name objects which are not there wait
/// in any case. Tries while the server is not reached at all do not count.
const TRIES_MAX: u32 = 5;

type Api = (&'static str, &'static str);

/// What it takes to ask.
pub(crate) struct Discovery {
    pub(crate) client: kube::Client,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) health: Arc<Health>,
    pub(crate) outage: Outage,
    /// Whether the configuration names queues.
    pub(crate) has_queues: bool,
}

impl Discovery {
    /// Asks for as long as the process runs, and has watched what is read of it; queues only if the
    /// configuration names some.
    pub(crate) async fn run(self, mut watches: OptionalWatches) {
        let mut known: Option<BTreeSet<Api>> = None;
        let (mut tries, mut repeats) = (0, Repeats::default());
        loop {
            let (served, pause) = match look(&self.client, self.has_queues).await {
                Ok((found, served)) => {
                    repeats.end();
                    self.found(&mut known, found);
                    (Some(served), PERIOD)
                }
                Err(message) => {
                    // While the server is not reached nothing else is known of it either.
                    let is_reached = !self.outage.is_on();
                    tries += u32::from(is_reached);
                    if is_reached && repeats.is_news(&message) {
                        warn!(message, tries, "which APIs are served is not known");
                    }
                    if known.is_none() && tries < TRIES_MAX {
                        self.health.set_apis_unknown(Some(message));
                    }
                    let is_without = known.is_none() && tries == TRIES_MAX;
                    (is_without.then(|| self.go_without()), RETRY)
                }
            };
            if let Some(served) = served
                && watches.follow(&served).await.is_err()
            {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn found(&self, known: &mut Option<BTreeSet<Api>>, found: BTreeSet<Api>) {
        self.health.set_apis_unknown(None);
        self.metrics.optional_apis(OPTIONAL.map(|api| (api.0, api.1, found.contains(&api))));
        if known.as_ref() != Some(&found) {
            let names = found.iter().map(|(group, version)| format!("{group}/{version}"));
            info!(served = names.collect::<Vec<_>>().join(" "), "optional APIs");
            *known = Some(found);
        }
    }

    fn go_without(&self) -> Served {
        warn!("which APIs are served is not known, scheduling without those not every cluster has");
        self.health.set_apis_unknown(None);
        Served::new()
    }
}

/// The optional APIs that are served, and by which of them the kinds that matter can be read.
pub(crate) async fn look(
    client: &kube::Client,
    has_queues: bool,
) -> Result<(BTreeSet<Api>, Served), String> {
    let found = among(&get(client, "/apis").await?)?;
    let mut resources: BTreeMap<Api, BTreeSet<String>> = BTreeMap::new();
    let mut served = Served::new();
    // Queues matter only if the configuration names some.
    for api in watch::OPTIONAL.iter().filter(|api| has_queues || !is_queue(api.kind)) {
        let version = (api.group, api.version);
        if !found.contains(&version) || served.contains_key(&api.kind) {
            continue;
        }
        // A version can be served without all of its resources.
        let resources = match resources.entry(version) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let body = get(client, &format!("/apis/{}/{}", version.0, version.1)).await?;
                unknown.insert(resources_of(&body)?)
            }
        };
        if resources.contains(api.resource) {
            served.insert(api.kind, api);
        }
    }
    Ok((found, served))
}

fn is_queue(kind: Kind) -> bool {
    kind == Kind::LocalQueue || kind == Kind::ClusterQueue
}

async fn get(client: &kube::Client, path: &str) -> Result<Bytes, String> {
    let request = request(Method::GET, path, "application/json", Vec::new());
    let answer = ask(client, request, PATIENCE).await;
    let answer = answer.map_err(|error| format!("{path}: {error}"))?;
    if !answer.status.is_success() {
        let message = status_message(&answer.body);
        return Err(format!("{path}: {}: {message}", answer.status));
    }
    Ok(answer.body)
}

fn resources_of(body: &[u8]) -> Result<BTreeSet<String>, String> {
    #[derive(Deserialize)]
    struct ResourceList {
        resources: Vec<Resource>,
    }
    #[derive(Deserialize)]
    struct Resource {
        name: String,
    }
    let list: ResourceList = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    Ok(list.resources.into_iter().map(|resource| resource.name).collect())
}

fn among(body: &[u8]) -> Result<BTreeSet<Api>, String> {
    #[derive(Deserialize)]
    struct GroupList {
        groups: Vec<Group>,
    }
    #[derive(Deserialize)]
    struct Group {
        versions: Vec<Version>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        group_version: String,
    }
    let list: GroupList = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let served: BTreeSet<String> = list
        .groups
        .into_iter()
        .flat_map(|group| group.versions)
        .map(|version| version.group_version)
        .collect();
    let is_served = |api: &(&str, &str)| served.contains(&format!("{}/{}", api.0, api.1));
    Ok(OPTIONAL.into_iter().filter(is_served).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::feed::{Input, feed};
    use crate::testing::{Reply, log_lines, server};

    #[test]
    fn only_what_is_served_is_found() {
        let body = br#"{"kind":"APIGroupList","groups":[
            {"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},
            {"name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1"}]},
            {"name":"scheduling.k8s.io","versions":[{"groupVersion":"scheduling.k8s.io/v1"}]}]}"#;
        let found: Vec<_> = among(body).unwrap().into_iter().collect();
        assert_eq!(found, [("resource.k8s.io", "v1")]);
        assert!(among(b"{}").is_err());
    }

    fn answer(target: &str) -> Option<(u16, String)> {
        let groups = [
            "scheduling.k8s.io/v1beta1",
            "scheduling.k8s.io/v1alpha3",
            "scheduling.x-k8s.io/v1alpha1",
            "scheduling.volcano.sh/v1beta1",
            "kueue.x-k8s.io/v1beta2",
            "kueue.x-k8s.io/v1beta1",
            "resource.k8s.io/v1",
        ];
        let resources = |names: &[&str]| {
            let names = names.iter().map(|name| json!({"name": name}));
            json!({"resources": names.collect::<Vec<_>>()})
        };
        let body = match target {
            "/apis" => {
                let versions = groups.map(|version| json!({"groupVersion": version}));
                json!({"groups": [{"name": "all", "versions": versions}]})
            }
            "/apis/scheduling.k8s.io/v1beta1" => resources(&["podgroups", "podgroups/status"]),
            "/apis/scheduling.k8s.io/v1alpha3" => {
                resources(&["podgroups", "compositepodgroups", "workloads"])
            }
            "/apis/scheduling.x-k8s.io/v1alpha1" => resources(&["elasticquotas"]),
            "/apis/scheduling.volcano.sh/v1beta1" => resources(&["podgroups", "queues"]),
            "/apis/kueue.x-k8s.io/v1beta2" => resources(&["clusterqueues", "localqueues"]),
            "/apis/resource.k8s.io/v1" => resources(&["resourceslices", "deviceclasses"]),
            other => panic!("nobody asks for {other}"),
        };
        Some((200, body.to_string()))
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_kind_the_newest_version_that_has_it_is_taken_and_queues_only_if_they_matter() {
        let expected = [
            "podgroups v1beta1",
            "compositepodgroups v1alpha3",
            "podgroups.scheduling.volcano.sh v1beta1",
            "localqueues v1beta2",
            "clusterqueues v1beta2",
            "resourceslices v1",
        ];
        for (has_queues, left_out) in [(true, 0), (false, 2)] {
            let (client, _) = server(|arrived| async move { answer(&arrived.target) });
            let Ok((_, served)) = look(&client, has_queues).await else {
                panic!("the server answers")
            };
            let word = |api: &&watch::Watched| format!("{} {}", api.word, api.version);
            let found: Vec<_> = served.values().map(word).collect();
            let is_expected = |at: &usize| !(3..3 + left_out).contains(at);
            let places = (0..expected.len()).filter(is_expected);
            assert_eq!(found, places.map(|at| expected[at]).collect::<Vec<_>>());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_tell_is_named_and_does_not_hold_up_scheduling() {
        for reply in [Some((500, "{}".into())), Some((403, "{}".into())), None] {
            check_untold(reply).await;
        }
    }

    async fn check_untold(reply: Reply) {
        let (client, log) = server(move |_| {
            let reply = reply.clone();
            async move { reply }
        });
        let (feed, inbox) = feed();
        let metrics = Arc::new(Metrics::new(["s"], "host", "lease"));
        let watches = OptionalWatches::new(client.clone(), feed, metrics.clone());
        let (health, outage) = (Arc::new(Health::new(|| true)), Outage::default());
        let lines = log_lines();
        let asking =
            Discovery { client, metrics, health: health.clone(), outage, has_queues: true };
        let task = tokio::spawn(asking.run(watches));
        let fault = loop {
            if let Some(fault) = health.apis_unknown() {
                break fault;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert!(fault.contains("/apis"), "{fault}");
        let said = lines.take();
        assert!(said.len() == 1 && said[0].contains("WARN") && said[0].contains("/apis"));
        assert!(inbox.try_iter().next().is_none());
        while log.lock().unwrap().len() <= 5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        task.abort();
        let told: Vec<Input> = inbox.try_iter().collect();
        assert!(matches!(&told[..], [Input::Await(kinds)] if kinds.is_empty()));
        assert_eq!(health.apis_unknown(), None, "scheduling goes on without");
        assert_eq!(lines.take().len(), 3, "the second and the fourth time, and that it goes on");
    }
}
