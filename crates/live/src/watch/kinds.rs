//! The kinds that are watched, and how their objects are read.

use std::collections::BTreeSet;
use std::time::Instant;

use k8s::ingest::{self, GroupStanding, IngestError, Standing};
use model::{
    ClusterQueueFacts, Event, Fact, GroupingKind, Key, Kind, LocalQueueFacts, PodGroupKind, PodKey,
    Present, StorageKind,
};
use serde::Deserialize;
use tracing::error;

use super::{Broken, Watcher};
use crate::feed::Seen;

/// A kind that is watched, and where the server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watched {
    pub(crate) kind: Kind,
    /// Empty for the core of the API.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
    /// What objects call themselves.
    pub(crate) object: &'static str,
    /// In metrics and logs.
    pub(crate) word: &'static str,
    /// The start of the query.
    query: &'static str,
}

const fn row(
    kind: Kind,
    group: &'static str,
    version: &'static str,
    (resource, object): (&'static str, &'static str),
) -> Watched {
    Watched { kind, group, version, resource, object, word: resource, query: "" }
}

const fn grouping(
    sort: GroupingKind,
    group: &'static str,
    names: (&'static str, &'static str),
) -> Watched {
    row(Kind::Grouping(sort), group, "v1", names)
}

const fn storage(
    sort: StorageKind,
    group: &'static str,
    names: (&'static str, &'static str),
) -> Watched {
    row(Kind::Storage(sort), group, "v1", names)
}

/// A PodGroup that is not Kubernetes' own.
const fn pod_group(
    sort: PodGroupKind,
    (group, version): (&'static str, &'static str),
    word: &'static str,
) -> Watched {
    Watched { word, ..row(Kind::PodGroup(sort), group, version, ("podgroups", "PodGroup")) }
}

/// What every cluster has.
pub(crate) static NODES: Watched = row(Kind::Node, "", "v1", ("nodes", "Node"));
pub(crate) static NAMESPACES: Watched = row(Kind::Namespace, "", "v1", ("namespaces", "Namespace"));
pub(crate) static BUDGETS: Watched =
    row(Kind::Budget, "policy", "v1", ("poddisruptionbudgets", "PodDisruptionBudget"));
/// Pods that ran to their end take nothing and are left out.
pub(crate) static PODS: Watched = Watched {
    query: "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed",
    ..row(Kind::Pod, "", "v1", ("pods", "Pod"))
};
/// Pods that ran to a good end, of which nothing matters but that they did; and those that failed:
/// a gang of which some did has not succeeded.
pub(crate) static SUCCEEDED: Watched = Watched {
    word: "succeededpods",
    query: "fieldSelector=status.phase%21%3DPending%2Cstatus.phase%21%3DRunning\
            %2Cstatus.phase%21%3DUnknown",
    ..row(Kind::Succeeded, "", "v1", ("pods", "Pod"))
};
/// Jobs, of which nothing matters but that they are complete: none is without a pod that succeeded.
pub(crate) static JOBS: Watched = Watched {
    query: "fieldSelector=status.successful%21%3D0",
    ..row(Kind::Job, "batch", "v1", ("jobs", "Job"))
};
pub(crate) static GROUPINGS: [Watched; 4] = [
    grouping(GroupingKind::Service, "", ("services", "Service")),
    grouping(
        GroupingKind::ReplicationController,
        "",
        ("replicationcontrollers", "ReplicationController"),
    ),
    grouping(GroupingKind::ReplicaSet, "apps", ("replicasets", "ReplicaSet")),
    grouping(GroupingKind::StatefulSet, "apps", ("statefulsets", "StatefulSet")),
];

/// Volumes, and what decides where they can be used.
pub(crate) static STORAGE: [Watched; 7] = [
    storage(StorageKind::Volume, "", ("persistentvolumes", "PersistentVolume")),
    storage(StorageKind::Claim, "", ("persistentvolumeclaims", "PersistentVolumeClaim")),
    storage(StorageKind::Class, "storage.k8s.io", ("storageclasses", "StorageClass")),
    storage(StorageKind::CsiNode, "storage.k8s.io", ("csinodes", "CSINode")),
    storage(StorageKind::CsiDriver, "storage.k8s.io", ("csidrivers", "CSIDriver")),
    storage(
        StorageKind::Capacity,
        "storage.k8s.io",
        ("csistoragecapacities", "CSIStorageCapacity"),
    ),
    storage(StorageKind::Attachment, "storage.k8s.io", ("volumeattachments", "VolumeAttachment")),
];

const NATIVE: &str = "scheduling.k8s.io";
const PLUGINS: &str = "scheduling.x-k8s.io";
const VOLCANO: &str = "scheduling.volcano.sh";
const KAI: &str = "scheduling.run.ai";
const KUEUE: &str = "kueue.x-k8s.io";
const DEVICES: &str = "resource.k8s.io";

/// What not every cluster has; of a kind the one to be preferred first.
pub(crate) static OPTIONAL: [Watched; 15] = [
    row(Kind::PodGroup(PodGroupKind::Native), NATIVE, "v1beta1", ("podgroups", "PodGroup")),
    row(Kind::PodGroup(PodGroupKind::Native), NATIVE, "v1alpha3", ("podgroups", "PodGroup")),
    row(Kind::PodGroup(PodGroupKind::Native), NATIVE, "v1alpha2", ("podgroups", "PodGroup")),
    row(
        Kind::PodGroup(PodGroupKind::Composite),
        NATIVE,
        "v1alpha3",
        ("compositepodgroups", "CompositePodGroup"),
    ),
    row(Kind::PodGroup(PodGroupKind::Workload), NATIVE, "v1alpha1", ("workloads", "Workload")),
    pod_group(PodGroupKind::Coscheduling, (PLUGINS, "v1alpha1"), "podgroups.scheduling.x-k8s.io"),
    pod_group(PodGroupKind::Volcano, (VOLCANO, "v1beta1"), "podgroups.scheduling.volcano.sh"),
    pod_group(PodGroupKind::Kai, (KAI, "v2alpha2"), "podgroups.scheduling.run.ai"),
    row(Kind::LocalQueue, KUEUE, "v1beta2", ("localqueues", "LocalQueue")),
    row(Kind::LocalQueue, KUEUE, "v1beta1", ("localqueues", "LocalQueue")),
    row(Kind::ClusterQueue, KUEUE, "v1beta2", ("clusterqueues", "ClusterQueue")),
    row(Kind::ClusterQueue, KUEUE, "v1beta1", ("clusterqueues", "ClusterQueue")),
    row(
        Kind::NodeResourceTopology,
        "topology.node.k8s.io",
        "v1alpha2",
        ("noderesourcetopologies", "NodeResourceTopology"),
    ),
    row(Kind::ResourceSlice, DEVICES, "v1", ("resourceslices", "ResourceSlice")),
    row(Kind::ResourceClaim, DEVICES, "v1", ("resourceclaims", "ResourceClaim")),
];

impl Watched {
    /// Group and version, as objects say them.
    pub(crate) fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Path, and the start of the query.
    pub(crate) fn path(&self) -> String {
        let Self { resource, query, .. } = self;
        format!("{}/{resource}?{query}", self.root())
    }

    /// Path of one object.
    pub(crate) fn path_of(&self, namespace: &str, name: &str) -> String {
        format!("{}/namespaces/{namespace}/{}/{name}", self.root(), self.resource)
    }

    fn root(&self) -> String {
        match self.group {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }

    /// A list with nothing in it. Queues only mean something together.
    pub(super) fn nobody(&self) -> Present {
        match self.kind {
            Kind::LocalQueue => Present::Facts(Vec::new()),
            Kind::Node
            | Kind::Pod
            | Kind::Namespace
            | Kind::Budget
            | Kind::Grouping(_)
            | Kind::PodGroup(_)
            | Kind::Succeeded
            | Kind::ClusterQueue
            | Kind::Job
            | Kind::NodeResourceTopology
            | Kind::ResourceSlice
            | Kind::ResourceClaim
            | Kind::Storage(_) => Present::Names(BTreeSet::new()),
        }
    }
}

/// An object that was read.
pub(super) struct Read {
    pub(super) version: String,
    /// What happened to it.
    pub(super) event: Event,
    /// What the status of a pod says.
    pub(super) standing: Option<Standing>,
    /// What is known beside of an object about a gang.
    pub(super) group: Option<Box<(&'static Watched, GroupStanding)>>,
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
            Kind::Node
            | Kind::Namespace
            | Kind::ClusterQueue
            | Kind::NodeResourceTopology
            | Kind::ResourceSlice => self.name,
            Kind::Storage(_) if self.namespace.is_empty() => self.name,
            Kind::Pod | Kind::Succeeded | Kind::Job => self.uid,
            Kind::Budget
            | Kind::Grouping(_)
            | Kind::PodGroup(_)
            | Kind::LocalQueue
            | Kind::ResourceClaim
            | Kind::Storage(_) => {
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

/// What counts of an object that cannot be read, where what was known must not go on.
fn harmless(key: &Key) -> Option<Event> {
    if key.kind == Kind::LocalQueue {
        return Some(Event::seen(LocalQueueFacts::of(&key.name, "")));
    }
    let is_queue = key.kind == Kind::ClusterQueue;
    let nobodys = || ClusterQueueFacts { name: key.name.clone(), namespaces: None };
    is_queue.then(|| Event::seen(nobodys()))
}

impl Watcher {
    /// Reads an object, and adds it to the list that is being made. One that cannot be read is
    /// reported, and what was known of it stays; a queue that cannot be read gives nobody a tenant.
    pub(super) fn read(&self, object: &[u8], listing: Option<&mut Present>) -> Option<Read> {
        let (read, unread) = match self.read_well(object) {
            Ok(None) => return None,
            Ok(read) => (read, None),
            Err(fault) => {
                let meta = serde_json::from_slice::<View>(object).ok()?.metadata;
                error!(name = meta.name, %fault, "an object that cannot be read");
                self.metrics.not_read(self.watched.word);
                let version = meta.resource_version.clone();
                let key = meta.key(self.watched.kind);
                let read = harmless(&key).map(|event| Read::plain((version, event)));
                (read, Some(key))
            }
        };
        let Some(listing) = listing else { return read };
        let key = unread.or_else(|| match &read.as_ref()?.event {
            Event::Seen(fact) => Some(fact.key()),
            Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => None,
        });
        let Some(key) = key else { return read };
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
        let read = match self.watched.kind {
            Kind::Node => {
                ingest::read_node(object).map(|node| Read::plain((node.version, node.event)))
            }
            Kind::Pod => {
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
            Kind::Namespace => plain(ingest::read_namespace(object)),
            Kind::Budget => plain(ingest::read_budget(object)),
            Kind::LocalQueue => plain(ingest::read_local_queue(object)),
            Kind::ClusterQueue => plain(ingest::read_cluster_queue(object)),
            Kind::NodeResourceTopology => plain(ingest::read_node_resource_topology(object)),
            Kind::ResourceSlice => plain(ingest::read_resource_slice(object)),
            Kind::ResourceClaim => plain(ingest::read_resource_claim(object)),
            Kind::Grouping(kind) => plain(ingest::read_grouping(kind, object)),
            Kind::Storage(kind) => plain(ingest::read_storage(kind, object)),
            Kind::PodGroup(sort) => ingest::read_pod_group(sort, object).map(|seen| {
                let group = Some(Box::new((self.watched, seen.standing)));
                Read { group, ..Read::plain((seen.version, seen.event)) }
            }),
            Kind::Succeeded => {
                let (version, event) = ingest::read_succeeded(object)?;
                return Ok(event.map(|event| Read::plain((version, event))));
            }
            Kind::Job => {
                let (version, event) = ingest::read_job(object)?;
                return Ok(event.map(|event| Read::plain((version, event))));
            }
        };
        read.map(Some)
    }

    /// Reads the last state of an object that is gone.
    pub(super) fn read_gone(&self, object: &[u8]) -> Result<Read, Broken> {
        let view: View = serde_json::from_slice(object)
            .map_err(|error| Broken::Refused(format!("an object that is gone: {error}")))?;
        if self.watched.kind == Kind::Pod && view.may_be_rejected() {
            self.rejections.look_at(view.pod());
        }
        let version = view.metadata.resource_version.clone();
        let event = Event::Gone(view.metadata.key(self.watched.kind));
        Ok(Read::plain((version, event)))
    }
}
