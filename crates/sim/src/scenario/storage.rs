//! PersistentVolumes and their claims, classes, and what CSI drivers say: what there is from the
//! start. Where files have none of these, volumes of pods do not count.

use std::collections::{BTreeMap, BTreeSet};

use k8s::document::quoted;
use k8s::ingest;
use k8s::manifest::Manifest;
use model::{
    BindingMode, Fact, Millis, PersistentVolumeFacts, StorageFacts, StorageKind, Time,
    VolumeAttachmentFacts, VolumeClaimFacts, claim_key,
};
use serde_json::Value as Json;

use super::Origin;
use super::complete::Defaults;
use super::draft::Draft;
use super::mistakes::Mistakes;
use crate::plan::{ClaimPlan, ClusterStorage, Job, Mount, Provisioner, StoragePlan};

/// How long the controller takes to bring a claim and a volume together, at least and at most.
const CONTROLLER: (Millis, Millis) = (Millis(20), Millis(200));
/// How long it takes to make a volume, at least and at most.
const PROVISIONER: (Millis, Millis) = (Millis(1_000), Millis(5_000));
/// The provisioner of classes whose volumes nobody makes.
const NOBODY: &str = "kubernetes.io/no-provisioner";
const IS_DEFAULT: &str = "/metadata/annotations/storageclass.kubernetes.io~1is-default-class";

/// The storage of files.
#[derive(Default)]
pub(super) struct Storage {
    is_any: bool,
    plan: StoragePlan,
    cluster: ClusterStorage,
    /// Claims, each with its manifest.
    claims: Vec<(VolumeClaimFacts, Json)>,
    volumes: Vec<PersistentVolumeFacts>,
    attachments: Vec<VolumeAttachmentFacts>,
    fixed: Vec<Fact>,
    /// The class of claims that name none.
    pub(super) default_class: Option<Box<str>>,
}

/// Reads everything there is.
pub(super) fn read(
    manifests: &[(&str, StorageKind, Manifest)],
    mistakes: &mut Mistakes,
) -> Storage {
    let mut storage = Storage { is_any: !manifests.is_empty(), ..Storage::default() };
    let mut seen: BTreeMap<(StorageKind, Box<str>), Origin<'_>> = BTreeMap::new();
    for (file, sort, manifest) in manifests {
        let origin = Origin { file, line: manifest.line };
        let object = manifest.json();
        let (path, message) = match facts(*sort, &object) {
            Ok(facts) => match seen.insert((*sort, facts.name()), origin) {
                None => {
                    storage.add(facts, &object);
                    continue;
                }
                Some(Origin { file, line }) => {
                    let (kind, name) = (&manifest.kind, quoted(&facts.name()));
                    let message = format!("{kind} {name} is given twice, first at {file}:{line}");
                    ("metadata.name".to_owned(), message)
                }
            },
            Err(wrong) => wrong,
        };
        mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
    }
    storage
}

fn facts(sort: StorageKind, object: &Json) -> Result<StorageFacts, (String, String)> {
    let facts = ingest::storage_facts(sort, object);
    let mut facts = facts.map_err(|error| (error.path().to_owned(), error.message().to_owned()))?;
    let name = object.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
    if name.is_empty() {
        return Err(("metadata.name".to_owned(), "required, but missing".to_owned()));
    }
    let namespace = match &mut facts {
        StorageFacts::Claim(claim) => Some(&mut claim.namespace),
        StorageFacts::Capacity(capacity) => Some(&mut capacity.namespace),
        StorageFacts::Volume(_)
        | StorageFacts::Class(_)
        | StorageFacts::CsiNode(_)
        | StorageFacts::CsiDriver(_)
        | StorageFacts::Attachment(_) => None,
    };
    if let Some(namespace) = namespace.filter(|namespace| namespace.is_empty()) {
        *namespace = "default".into();
    }
    Ok(facts)
}

impl Storage {
    fn add(&mut self, facts: StorageFacts, object: &Json) {
        match facts {
            StorageFacts::Volume(volume) => self.add_volume(volume, object),
            StorageFacts::Claim(claim) => self.claims.push((claim, object.clone())),
            StorageFacts::Class(mut class) => {
                class.mode.get_or_insert(BindingMode::Immediate);
                if object.pointer(IS_DEFAULT).is_some_and(|it| it == "true") {
                    let first = self.default_class.take();
                    self.default_class = first.into_iter().chain([class.name.clone()]).min();
                }
                if object["reclaimPolicy"] == "Retain" {
                    self.cluster.retaining.insert(class.name.clone());
                }
                self.plan.classes.push((Time::default(), class));
            }
            StorageFacts::CsiNode(node) => {
                let drivers = object.pointer("/spec/drivers").and_then(Json::as_array);
                let drivers = node.drivers.iter().zip(drivers.into_iter().flatten());
                for ((driver, _), written) in drivers {
                    let keys = written["topologyKeys"].as_array().into_iter().flatten();
                    let keys = keys.filter_map(Json::as_str).map(Into::into).collect();
                    self.cluster.topology_keys.entry(driver.clone()).or_insert(keys);
                }
                self.plan.csi_nodes.push((Time::default(), node));
            }
            StorageFacts::Attachment(attachment) => self.attachments.push(attachment),
            other @ (StorageFacts::CsiDriver(_) | StorageFacts::Capacity(_)) => {
                self.fixed.push(other.into());
            }
        }
    }

    fn add_volume(&mut self, mut volume: PersistentVolumeFacts, object: &Json) {
        // What nobody has looked at yet is found available.
        let phase = object.pointer("/status/phase").and_then(Json::as_str).unwrap_or_default();
        volume.is_available |= matches!(phase, "" | "Pending");
        if object["spec"]["persistentVolumeReclaimPolicy"] == "Delete" {
            self.cluster.deleted.insert(volume.name.clone());
        }
        self.volumes.push(volume);
    }

    /// Fills in what the API server and its controllers would have filled in: classes of claims
    /// that name none, and by which uid claims and volumes know each other.
    pub(super) fn complete(&mut self, defaults: &Defaults) {
        let refs = self.volumes.iter().filter_map(|volume| volume.claim.as_ref());
        let refs = refs.filter(|to| !to.uid.is_empty());
        let said: BTreeMap<Box<str>, Box<str>> =
            refs.map(|to| (to.key(), to.uid.clone())).collect();
        let mut uids: BTreeMap<Box<str>, Box<str>> = BTreeMap::new();
        for (claim, object) in &mut self.claims {
            defaults.claim(claim, object);
            let key = claim.key();
            if claim.uid.is_empty() {
                claim.uid = said.get(&key).unwrap_or(&key).clone();
            }
            uids.insert(key, claim.uid.clone());
        }
        for volume in &mut self.volumes {
            if let Some(to) = volume.claim.as_mut().filter(|to| to.uid.is_empty())
                && let Some(uid) = uids.get(&to.key())
            {
                to.uid = uid.clone();
            }
        }
    }

    /// The storage of a plan with these jobs, and what stays as it is; `made` are claims that are
    /// made for StatefulSets.
    pub(super) fn plan(
        self,
        made: Vec<ClaimPlan>,
        drafts: &[Draft<'_>],
        jobs: &mut [Job],
        notes: &mut Vec<String>,
    ) -> (StoragePlan, Vec<Fact>) {
        if !self.is_any {
            notes.extend(without(jobs));
            return (StoragePlan::default(), Vec::new());
        }
        let used = self.used(drafts);
        let Self { mut plan, cluster, claims, volumes, attachments, mut fixed, .. } = self;
        let claims = claims.into_iter();
        let claims = claims.map(|(facts, _)| ClaimPlan { facts, times: vec![Time::default()] });
        plan.claims = claims.chain(made).collect();
        plan.volumes = volumes.into_iter().map(|volume| (Time::default(), volume)).collect();
        // What a pod has attached goes with the pod.
        let is_left = |attachment: &VolumeAttachmentFacts| {
            let volume = attachment.volume.as_ref();
            !volume.is_some_and(|name| used.contains(&(attachment.node.clone(), name.clone())))
        };
        let left = attachments.into_iter().filter(is_left);
        fixed.extend(left.map(|attachment| StorageFacts::Attachment(attachment).into()));
        plan.controller = CONTROLLER;
        plan.provisioner = Provisioner { takes: PROVISIONER, ..Provisioner::default() };
        notes.extend(nodes_note(&plan, &cluster, jobs));
        plan.cluster = Some(cluster);
        (plan, fixed)
    }

    /// Volumes that pods on nodes use, with the node.
    fn used(&self, drafts: &[Draft<'_>]) -> BTreeSet<(Box<str>, Box<str>)> {
        let volumes: BTreeMap<Box<str>, &Box<str>> =
            self.claims.iter().map(|(claim, _)| (claim.key(), &claim.volume)).collect();
        let mut used = BTreeSet::new();
        for draft in drafts.iter().filter(|draft| !draft.facts.is_finished) {
            let Some(node) = &draft.facts.node else { continue };
            let names = draft.facts.volumes.iter().filter_map(model::PodVolume::claim);
            let keys = names.map(|name| claim_key(&draft.namespace, name));
            let found = keys.filter_map(|key| volumes.get(&key).copied());
            used.extend(found.map(|volume| (node.as_str().into(), volume.clone())));
        }
        used
    }
}

/// Takes the volumes of pods away, and says of how many.
fn without(jobs: &mut [Job]) -> Option<String> {
    let mut pods = 0u64;
    for job in jobs.iter_mut().filter(|job| !job.life.mounts.is_empty()) {
        job.life.mounts.clear();
        pods = pods.saturating_add(job.pods).saturating_add(job.followers);
    }
    (pods > 0).then(|| {
        format!(
            "not simulated: volumes of {pods} pods, because no PersistentVolumes, claims or \
             StorageClasses are among the files"
        )
    })
}

/// That volumes will be taken to be of one node each, because nothing says otherwise.
fn nodes_note(plan: &StoragePlan, cluster: &ClusterStorage, jobs: &[Job]) -> Option<String> {
    let open = plan.claims.iter().map(|claim| &claim.facts).filter(|it| it.volume.is_empty());
    let mounts = jobs.iter().flat_map(|job| &job.life.mounts);
    let templates = mounts.filter_map(|mount| match mount {
        Mount::Ephemeral { template, .. } => template.as_deref(),
        Mount::Shared(_) | Mount::Disk(_) | Mount::Inline { .. } | Mount::Own { .. } => None,
    });
    let asked: BTreeSet<&str> = open.chain(templates).map(|claim| &*claim.class).collect();
    let unsaid = plan.classes.iter().map(|(_, class)| class).filter(|class| {
        class.mode == Some(BindingMode::WaitForFirstConsumer)
            && *class.provisioner != *NOBODY
            && class.topologies.is_none()
            && !cluster.topology_keys.contains_key(&class.provisioner)
            && asked.contains(&*class.name)
    });
    let names: Vec<&str> = unsaid.map(|class| &*class.name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "volumes of {} are each for the node that they are made for: neither CSINodes nor \
             allowedTopologies say otherwise",
            names.join(", ")
        )
    })
}
