//! What a pod says of itself, by which it is classified: its controller, a few labels and
//! annotations, and its priority class. Keys, kinds and values are compared whole, never in part.

use std::collections::BTreeMap;

use model::{Hints, Said, Tier, Workload};

use super::view::{OwnerView, PodView};

/// The workload a pod declares, as a label or an annotation.
const TYPE: &str = "workload.kubenexus.io/type";
/// The tier a pod asks for, as a label or an annotation.
const TIER: &str = "tenant.kubenexus.io/tier";
/// Whether a pod may be evicted for others, as a label.
pub(super) const PREEMPTIBLE: &str = "scheduling.kubenexus.io/preemptible";
/// What a pod is part of, as a label.
const COMPONENT: &str = "app.kubernetes.io/component";

/// Whether a pod is to be spread over zones, as an annotation.
const SPREAD: &str = "topology.kubenexus.io/spread-zones";
/// Words for yes and no.
const TRUTHS: [(&str, bool); 2] = [("true", true), ("false", false)];

/// Annotations that are read.
pub(super) const ANNOTATIONS: [&str; 3] = [TYPE, TIER, SPREAD];

/// What controllers are known for.
const OWNERS: [(&str, Workload); 18] = [
    ("PyTorchJob", Workload::Batch),
    ("TFJob", Workload::Batch),
    ("MPIJob", Workload::Batch),
    ("XGBoostJob", Workload::Batch),
    ("TrainJob", Workload::Batch),
    ("JobSet", Workload::Batch),
    ("RayJob", Workload::Batch),
    ("RayCluster", Workload::Batch),
    ("SparkApplication", Workload::Batch),
    ("Job", Workload::Batch),
    ("CronJob", Workload::Batch),
    ("LeaderWorkerSet", Workload::Inference),
    ("InferenceService", Workload::Inference),
    ("Notebook", Workload::Interactive),
    ("Deployment", Workload::Service),
    // What a Deployment has its pods made by.
    ("ReplicaSet", Workload::Service),
    ("StatefulSet", Workload::Service),
    ("DaemonSet", Workload::Service),
];

/// Controllers that have their pods made by a StatefulSet or by the ReplicaSet of a Deployment: the
/// label that they give these pods, and their kind.
const BEHIND: [(&str, &str); 3] = [
    ("leaderworkerset.sigs.k8s.io/name", "LeaderWorkerSet"),
    ("serving.kserve.io/inferenceservice", "InferenceService"),
    ("notebook-name", "Notebook"),
];

/// Labels that operators put on pods that run to their end.
const LABELS: [&str; 4] =
    ["spark-role", "tf-replica-type", "pytorch-job-name", "pytorch-replica-type"];

/// Domains in which every label means the same.
const DOMAINS: [&str; 2] = ["training.kubeflow.org", "jobset.sigs.k8s.io"];

/// Whether a label or an annotation says something about what a pod is, in a word of ours.
pub(crate) fn is_word(key: &str, value: &str) -> bool {
    let is_workload = Workload::WORDS.iter().any(|(word, _)| *word == value);
    let is_tier = Tier::WORDS.iter().any(|(word, _)| *word == value);
    let is_truth = TRUTHS.iter().any(|(word, _)| *word == value);
    let is_kind = matches!(key, TYPE | COMPONENT) && is_workload;
    is_kind || key == TIER && is_tier || key == SPREAD && is_truth
}

/// Whether a kind of controllers is known for what its pods do.
pub(crate) fn is_known_controller(kind: &str) -> bool {
    OWNERS.iter().any(|(known, _)| *known == kind)
}

/// What a pod says of itself, if it says anything.
pub(super) fn hints(view: &PodView, is_in_gang: bool) -> Option<Box<Hints>> {
    let meta = &view.metadata;
    let label = |key: &str| meta.labels.get(key).map(String::as_str);
    let long = |key: &str| {
        let long = meta.annotations.too_long().iter().find(|long| long.key == key);
        long.map(|long| long.word())
    };
    let (long_type, long_tier, long_spread) = (long(TYPE), long(TIER), long(SPREAD));
    let said = |key| label(key).or_else(|| meta.annotations.get(key));
    let declared = said(TYPE).map(|word| Said::read(word, &Workload::WORDS));
    let tiers = [label(TIER), meta.annotations.get(TIER)];
    let tiers = tiers.into_iter().flatten().map(|word| Said::read(word, &Tier::WORDS));
    let class = &*view.spec.priority_class_name;
    let spread = meta.annotations.get(SPREAD).map(|word| Said::read(word, &TRUTHS));
    let hints = Hints {
        declared: declared.or(long_type.map(|word| Said::Unknown(word.into()))),
        made_by: made_by(&meta.owner_references, &meta.labels),
        labelled: labelled(&meta.labels),
        tier: lowest(tiers.chain(long_tier.map(|word| Said::Unknown(word.into())))),
        preemptible: label(PREEMPTIBLE).map(|word| Said::read(word, &TRUTHS)),
        priority_class: (!class.is_empty()).then(|| class.into()),
        spread: spread.or(long_spread.map(|word| Said::Unknown(word.into()))),
        is_in_gang,
    };
    hints.if_any()
}

/// The lower of the tiers that a pod asks for; what means nothing is lower than any.
fn lowest(said: impl Iterator<Item = Said<Tier>>) -> Option<Said<Tier>> {
    said.min_by_key(|said| match said {
        Said::Unknown(_) => None,
        Said::Known(tier) => Some(*tier),
    })
}

fn made_by(
    owners: &[OwnerView],
    labels: &BTreeMap<String, String>,
) -> Option<(Workload, Box<str>)> {
    let kind = &*owners.iter().find(|owner| owner.controller)?.kind;
    let behind = BEHIND.iter().find(|(label, _)| labels.contains_key(*label));
    let behind = behind.filter(|_| matches!(kind, "StatefulSet" | "ReplicaSet"));
    let kind = behind.map_or(kind, |(_, kind)| kind);
    let (kind, workload) = OWNERS.iter().find(|(known, _)| *known == kind)?;
    Some((*workload, (*kind).into()))
}

fn labelled(labels: &BTreeMap<String, String>) -> Option<(Workload, Box<str>)> {
    let is_told = |key: &&str| {
        let domain = key.split_once('/').map(|(domain, _)| domain);
        LABELS.contains(key) || domain.is_some_and(|domain| DOMAINS.contains(&domain))
    };
    if let Some(key) = labels.keys().map(String::as_str).find(is_told) {
        return Some((Workload::Batch, key.into()));
    }
    let component = labels.get(COMPONENT).map(|word| Said::read(word, &Workload::WORDS));
    match component {
        Some(Said::Known(workload)) => Some((workload, COMPONENT.into())),
        Some(Said::Unknown(_)) | None => None,
    }
}
