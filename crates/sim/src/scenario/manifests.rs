//! The objects of all files, by what becomes of them.

use std::collections::BTreeMap;

use k8s::ingest;
use k8s::manifest::Manifest;
use model::{GroupingKind, PodGroupKind, StorageKind};

use super::mistakes::Mistakes;
use super::script::Script;
use super::{KIND, Origin, draft};

/// All of them.
#[derive(Default)]
pub(super) struct Manifests<'a> {
    scenarios: Vec<(&'a str, Manifest)>,
    pub(super) nodes: Vec<(&'a str, Manifest)>,
    pub(super) workload: Vec<(&'a str, Manifest)>,
    pub(super) priorities: Vec<(&'a str, Manifest)>,
    pub(super) namespaces: Vec<(&'a str, Manifest)>,
    /// Services, and controllers that make no pods here.
    pub(super) groupings: Vec<(&'a str, GroupingKind, Manifest)>,
    pub(super) budgets: Vec<(&'a str, Manifest)>,
    pub(super) storage: Vec<(&'a str, StorageKind, Manifest)>,
    pub(super) groups: Vec<(&'a str, PodGroupKind, Manifest)>,
    /// Queues of Kueue, and what is told of the inside of nodes.
    pub(super) fixed: Vec<(&'a str, Manifest)>,
    /// Jobs that are complete.
    pub(super) ended: Vec<(&'a str, Manifest)>,
    /// How many of each kind make no difference, and how many might and are not looked at.
    ignored: BTreeMap<String, u64>,
    not_simulated: BTreeMap<String, u64>,
    others: Vec<(&'a str, Manifest)>,
}

/// Kinds that make no difference to where a pod goes.
const IGNORED: [&str; 19] = [
    "Endpoints",
    "EndpointSlice",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Role",
    "RoleBinding",
    "ClusterRole",
    "ClusterRoleBinding",
    "Ingress",
    "IngressClass",
    "NetworkPolicy",
    "Event",
    "Lease",
    "ControllerRevision",
    "CustomResourceDefinition",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// Kinds that make a difference in a cluster, and none here.
const NOT_SIMULATED: [&str; 1] = ["HorizontalPodAutoscaler"];

/// Kinds of objects about gangs, whose meaning depends on whose they are.
const GROUPS: [&str; 3] = ["PodGroup", "CompositePodGroup", "Workload"];

/// Other kinds that are read.
const OTHERS: [&str; 21] = [
    KIND,
    "Node",
    "PriorityClass",
    "Namespace",
    "Service",
    "PodDisruptionBudget",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "PodGroup",
    "CompositePodGroup",
    "Workload",
    "LocalQueue",
    "ClusterQueue",
    "NodeResourceTopology",
    "ResourceSlice",
    "ResourceClaim",
];

/// The kind of an object of storage, also if it does not say its version.
fn storage_kind(manifest: &Manifest) -> Option<StorageKind> {
    let kind = |group: &str| ingest::storage_kind(group, &manifest.kind);
    match &*manifest.api_version {
        "" => kind("").or_else(|| kind("storage.k8s.io")),
        version => kind(version.rsplit_once('/').map_or("", |(group, _)| group)),
    }
}

fn group_kind(manifest: &Manifest) -> Option<PodGroupKind> {
    let (group, _) = manifest.api_version.rsplit_once('/')?;
    ingest::pod_group_kind(group, &manifest.kind)
}

/// The sort of a controller that says nothing but whose pods it means, as snapshots have them.
fn grouping_kind(manifest: &Manifest) -> Option<GroupingKind> {
    let kind = match &*manifest.kind {
        "Service" => return Some(GroupingKind::Service),
        "ReplicationController" => GroupingKind::ReplicationController,
        "ReplicaSet" => GroupingKind::ReplicaSet,
        "StatefulSet" => GroupingKind::StatefulSet,
        _ => return None,
    };
    let object = manifest.json();
    let has = |key: &str| !object["spec"][key].is_null();
    (object["spec"].is_object() && !has("template") && !has("replicas")).then_some(kind)
}

fn is_ended(manifest: &Manifest) -> bool {
    manifest.kind == "Job" && matches!(ingest::job(&manifest.json()), Ok(Some(_)))
}

impl<'a> Manifests<'a> {
    pub(super) fn add(&mut self, file: &'a str, manifest: Manifest) {
        if let Some(kind) = storage_kind(&manifest) {
            return self.storage.push((file, kind, manifest));
        }
        if let Some(kind) = group_kind(&manifest) {
            return self.groups.push((file, kind, manifest));
        }
        if let Some(kind) = grouping_kind(&manifest) {
            return self.groupings.push((file, kind, manifest));
        }
        let to = match &*manifest.kind {
            KIND => &mut self.scenarios,
            "Node" => &mut self.nodes,
            "PriorityClass" => &mut self.priorities,
            "Namespace" => &mut self.namespaces,
            "LocalQueue"
            | "ClusterQueue"
            | "NodeResourceTopology"
            | "ResourceSlice"
            | "ResourceClaim" => &mut self.fixed,
            _ if is_ended(&manifest) => &mut self.ended,
            "PodDisruptionBudget" => &mut self.budgets,
            kind if draft::KINDS.contains(&kind) => &mut self.workload,
            kind if IGNORED.contains(&kind) => {
                *self.ignored.entry(kind.to_owned()).or_default() += 1;
                return;
            }
            kind if NOT_SIMULATED.contains(&kind) => {
                *self.not_simulated.entry(kind.to_owned()).or_default() += 1;
                return;
            }
            _ => &mut self.others,
        };
        to.push((file, manifest));
    }

    pub(super) fn check_kinds(&self, mistakes: &mut Mistakes) {
        for (file, one) in &self.others {
            if GROUPS.contains(&&*one.kind) {
                let found = match &*one.api_version {
                    "" => "nothing".to_owned(),
                    version => k8s::document::quoted(version),
                };
                let message = format!(
                    "expected a version of scheduling.k8s.io, scheduling.x-k8s.io, \
                     scheduling.volcano.sh or scheduling.run.ai that has {}, found {found}",
                    one.kind
                );
                let origin = Origin { file, line: one.line_at("apiVersion") };
                mistakes.add(origin, "apiVersion", message);
                continue;
            }
            let message = match &*one.kind {
                "" => "required, but missing".to_owned(),
                "DaemonSet" => "DaemonSets are not simulated; give the pods that it has".to_owned(),
                "CronJob" => {
                    "CronJobs are not simulated; put its Job under jobs of a Scenario, with every"
                        .to_owned()
                }
                "KubeSchedulerConfiguration" => {
                    "name this file under config of a Scenario, or with --config".to_owned()
                }
                kind => {
                    let known = draft::KINDS.into_iter().chain(OTHERS);
                    let hint = k8s::document::suggestion(kind, known);
                    format!("{} is not simulated{hint}", k8s::document::quoted(kind))
                }
            };
            mistakes.add(Origin { file, line: one.line_at("kind") }, "kind", message);
        }
    }

    pub(super) fn script(&self, mistakes: &mut Mistakes) -> Script {
        if let Some((file, second)) = self.scenarios.get(1) {
            let origin = Origin { file, line: second.line };
            mistakes.add(origin, "", "expected one Scenario, found a second one".to_owned());
        }
        let first = self.scenarios.first();
        first.map_or_else(Script::default, |(file, one)| Script::read(file, one, mistakes))
    }

    pub(super) fn ignored_notes(&self) -> impl Iterator<Item = String> {
        let note = |(words, kinds): (&str, &BTreeMap<String, u64>)| {
            let kinds: Vec<String> =
                kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            (!kinds.is_empty()).then(|| format!("{words}: {}", kinds.join(", ")))
        };
        let ignored = ("ignored, because it makes no difference", &self.ignored);
        [ignored, ("not simulated", &self.not_simulated)].into_iter().filter_map(note)
    }
}
