//! The kinds that are watched, and how their objects are read.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Instant;

use k8s::ingest::{self, GroupStanding, IngestError, Standing};
use model::{Event, Fact, GroupingKind, Key, Kind, LocalQueueFacts, PodKey, Present};
use serde::Deserialize;
use tracing::error;

use super::optional::KUEUE;
use super::pod_groups::GroupApi;
use super::{Broken, Watcher};
use crate::feed::Seen;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watched {
    Nodes,
    Pods,
    Namespaces,
    Budgets,
    Groupings(GroupingKind),
    PodGroups(GroupApi),
    /// Pods that ran to a good end, of which nothing matters but that they did.
    Succeeded,
    /// LocalQueues of Kueue, in this version.
    LocalQueues(&'static str),
}

/// An object that was read.
pub(super) struct Read {
    pub(super) version: String,
    /// What happened to it.
    pub(super) event: Event,
    /// What the status of a pod says.
    pub(super) standing: Option<Standing>,
    /// What is known beside of an object about a gang.
    pub(super) group: Option<Box<(GroupApi, GroupStanding)>>,
}

impl Read {
    fn plain((version, event): (String, Event)) -> Self {
        Self { version, event, standing: None, group: None }
    }

    /// What the engine is fed, and the version of the object.
    pub(super) fn seen(self, read_at: Instant) -> (String, Seen) {
        let Self { version, event, standing, group } = self;
        let number = version.parse().unwrap_or_default();
        (version, Seen { event, version: number, standing, group, read_at })
    }
}

impl Watched {
    /// In metrics and logs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::Pods => "pods",
            Self::Namespaces => "namespaces",
            Self::Budgets => "poddisruptionbudgets",
            Self::Groupings(GroupingKind::Service) => "services",
            Self::Groupings(GroupingKind::ReplicationController) => "replicationcontrollers",
            Self::Groupings(GroupingKind::ReplicaSet) => "replicasets",
            Self::Groupings(GroupingKind::StatefulSet) => "statefulsets",
            Self::PodGroups(api) => api.word(),
            Self::Succeeded => "succeededpods",
            Self::LocalQueues(_) => "localqueues",
        }
    }

    /// Path and the start of the query. Pods that ran to their end take nothing and are left out.
    pub(crate) fn path(self) -> Cow<'static, str> {
        let path = match self {
            Self::PodGroups(api) => return api.path().into(),
            Self::LocalQueues(version) => {
                return format!("/apis/{KUEUE}/{version}/localqueues?").into();
            }
            // Those that failed as well: a gang of which some did has not succeeded.
            Self::Succeeded => {
                "/api/v1/pods?fieldSelector=status.phase%21%3DPending%2Cstatus.phase%21%3DRunning\
                 %2Cstatus.phase%21%3DUnknown"
            }
            Self::Nodes => "/api/v1/nodes?",
            Self::Namespaces => "/api/v1/namespaces?",
            Self::Budgets => "/apis/policy/v1/poddisruptionbudgets?",
            Self::Groupings(GroupingKind::Service) => "/api/v1/services?",
            Self::Groupings(GroupingKind::ReplicationController) => {
                "/api/v1/replicationcontrollers?"
            }
            Self::Groupings(GroupingKind::ReplicaSet) => "/apis/apps/v1/replicasets?",
            Self::Groupings(GroupingKind::StatefulSet) => "/apis/apps/v1/statefulsets?",
            Self::Pods => {
                "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
            }
        };
        path.into()
    }

    /// What its objects are.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Nodes => Kind::Node,
            Self::Pods => Kind::Pod,
            Self::Namespaces => Kind::Namespace,
            Self::Budgets => Kind::Budget,
            Self::Groupings(sort) => Kind::Grouping(sort),
            Self::PodGroups(api) => Kind::PodGroup(api.kind),
            Self::Succeeded => Kind::Succeeded,
            Self::LocalQueues(_) => Kind::LocalQueue,
        }
    }

    /// A list with nothing in it. Queues only mean something together.
    pub(super) fn nobody(self) -> Present {
        match self {
            Self::LocalQueues(_) => Present::Facts(Vec::new()),
            Self::Nodes
            | Self::Pods
            | Self::Namespaces
            | Self::Budgets
            | Self::Groupings(_)
            | Self::PodGroups(_)
            | Self::Succeeded => Present::Names(BTreeSet::new()),
        }
    }
}

#[derive(Deserialize)]
struct View {
    metadata: Meta,
    #[serde(default)]
    spec: Spec,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Spec {
    node_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    #[serde(default)]
    namespace: String,
    uid: String,
    resource_version: String,
    deletion_timestamp: Option<String>,
}

impl Meta {
    /// Which object it is.
    fn key(self, kind: Kind) -> Key {
        let name = match kind {
            Kind::Node | Kind::Namespace => self.name,
            Kind::Pod | Kind::Succeeded => self.uid,
            Kind::Budget | Kind::Grouping(_) | Kind::PodGroup(_) | Kind::LocalQueue => {
                format!("{}/{}", self.namespace, self.name)
            }
        };
        Key::new(kind, name)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    phase: String,
}

impl View {
    fn pod(&self) -> PodKey {
        let Meta { name, namespace, uid, .. } = &self.metadata;
        let [uid, namespace, name] = [uid, namespace, name].map(|text| text.as_str().into());
        PodKey { uid, namespace, name }
    }

    /// Whether the kubelet may have turned the pod away: it was on a node, never ran, and nobody
    /// deletes it. A watch that leaves out pods at their end shows how they were before it.
    fn may_be_rejected(&self) -> bool {
        let is_pending = self.status.as_ref().is_some_and(|status| status.phase == "Pending");
        let meta = &self.metadata;
        is_pending && !self.spec.node_name.is_empty() && meta.deletion_timestamp.is_none()
    }
}

impl Watcher {
    /// Reads an object, and adds it to the list that is being made. One that cannot be read is
    /// reported, and what was known of it stays; a LocalQueue that cannot be read leads nowhere.
    pub(super) fn read(&self, object: &[u8], listing: Option<&mut Present>) -> Option<Read> {
        let (read, key) = match self.read_well(object) {
            Ok(None) => return None,
            Ok(Some(read)) => {
                let key = match &read.event {
                    Event::Seen(fact) => Some(fact.key()),
                    Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => None,
                };
                (Some(read), key)
            }
            Err(fault) => {
                let meta = serde_json::from_slice::<View>(object).ok()?.metadata;
                error!(name = meta.name, %fault, "an object that cannot be read");
                self.metrics.not_read(self.watched.word());
                let version = meta.resource_version.clone();
                let key = meta.key(self.watched.kind());
                let is_queue = key.kind == Kind::LocalQueue;
                let nowhere = || Event::seen(LocalQueueFacts::of(&key.name, ""));
                let read = is_queue.then(|| Read::plain((version, nowhere())));
                (read, Some(key))
            }
        };
        let (Some(listing), Some(key)) = (listing, key) else { return read };
        match listing {
            Present::Names(names) => {
                names.insert(key.name);
                read
            }
            Present::Facts(facts) => {
                if let Some(Read { event: Event::Seen(fact), .. }) = read {
                    facts.push(fact);
                }
                None
            }
        }
    }

    /// Reads an object; nothing of one that does not matter.
    fn read_well(&self, object: &[u8]) -> Result<Option<Read>, IngestError> {
        let plain = |read: Result<(String, Event), IngestError>| read.map(Read::plain);
        let read = match self.watched {
            Watched::Nodes => {
                ingest::read_node(object).map(|node| Read::plain((node.version, node.event)))
            }
            Watched::Pods => {
                let pod = ingest::read_pod(object)?;
                if let Event::Seen(Fact::Pod(facts)) = &pod.event
                    && facts.gang.as_ref().is_some_and(|claim| !claim.after.is_empty())
                    && let Some(ends) = &self.ends
                {
                    ends.notify_one();
                }
                let standing = pod.standing;
                Ok(Read { standing, ..Read::plain((pod.version, pod.event)) })
            }
            Watched::Namespaces => plain(ingest::read_namespace(object)),
            Watched::Budgets => plain(ingest::read_budget(object)),
            Watched::LocalQueues(_) => plain(ingest::read_local_queue(object)),
            Watched::Groupings(kind) => plain(ingest::read_grouping(kind, object)),
            Watched::PodGroups(api) => ingest::read_pod_group(api.kind, object).map(|seen| {
                let group = Some(Box::new((api, seen.standing)));
                Read { group, ..Read::plain((seen.version, seen.event)) }
            }),
            Watched::Succeeded => {
                let (version, event) = ingest::read_succeeded(object)?;
                return Ok(event.map(|event| Read::plain((version, event))));
            }
        };
        read.map(Some)
    }

    /// Reads the last state of an object that is gone.
    pub(super) fn read_gone(&self, object: &[u8]) -> Result<Read, Broken> {
        let view: View = serde_json::from_slice(object)
            .map_err(|error| Broken::Refused(format!("an object that is gone: {error}")))?;
        if self.watched == Watched::Pods && view.may_be_rejected() {
            self.rejections.look_at(view.pod());
        }
        let version = view.metadata.resource_version.clone();
        let event = Event::Gone(view.metadata.key(self.watched.kind()));
        Ok(Read::plain((version, event)))
    }
}
