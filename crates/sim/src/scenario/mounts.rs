//! Volumes of pods: claims that they name, claims that are made for them, disks. A StatefulSet with
//! templates of claims has a claim for each of its pods, which stays when the pod is made again.

use std::sync::Arc;

use k8s::ingest;
use model::{PodFacts, PodVolume, StorageFacts, StorageKind, Time, VolumeClaimFacts};
use serde_json::{Value as Json, json};

use super::complete::Defaults;
use crate::plan::{ClaimPlan, Job, Mount};

/// A path in a manifest, and what is wrong there.
type Wrong = (String, String);

/// What the name of a claim ends with that each pod of a StatefulSet has of its own.
const EACH: &str = "-*";

/// The volumes of a pod, whose manifest this is.
pub(super) fn mounts(
    pod: &Json,
    facts: &PodFacts,
    defaults: &Defaults,
) -> Result<Vec<Mount>, Wrong> {
    let mut mounts = Vec::new();
    for volume in &*facts.volumes {
        mounts.push(match volume {
            PodVolume::Claim(name) => Mount::Shared(name.clone()),
            PodVolume::Inline { .. } => Mount::Disk(volume.clone()),
            PodVolume::Ephemeral { claim, pod_name, .. } => {
                let name = claim.get(pod_name.len() + 1..).unwrap_or_default();
                let template = ephemeral(pod, name, defaults)?.map(Arc::new);
                Mount::Ephemeral { volume: name.into(), template, owner: facts.key.uid.clone() }
            }
        });
    }
    Ok(mounts)
}

/// What the claim of an ephemeral volume asks for, if the pod says.
fn ephemeral(
    pod: &Json,
    name: &str,
    defaults: &Defaults,
) -> Result<Option<VolumeClaimFacts>, Wrong> {
    let volumes = pod.pointer("/spec/volumes").and_then(Json::as_array);
    let mut volumes = volumes.into_iter().flatten().enumerate();
    let found =
        volumes.find(|(_, volume)| volume["name"] == name && volume["ephemeral"] != json!(null));
    let Some((at, volume)) = found else { return Ok(None) };
    let template = &volume["ephemeral"]["volumeClaimTemplate"];
    if template.is_null() {
        return Ok(None);
    }
    let path = format!("spec.volumes[{at}].ephemeral.volumeClaimTemplate");
    claim(&json!({"spec": template["spec"]}), &path, defaults).map(Some)
}

/// What a claim asks for, of which a template stands under a path.
fn claim(object: &Json, path: &str, defaults: &Defaults) -> Result<VolumeClaimFacts, Wrong> {
    let facts = ingest::storage_facts(StorageKind::Claim, object);
    let facts =
        facts.map_err(|error| (format!("{path}.{}", error.path()), error.message().to_owned()))?;
    let StorageFacts::Claim(mut facts) = facts else { unreachable!("a claim is read as a claim") };
    defaults.claim(&mut facts, object);
    Ok(facts)
}

/// The templates of claims of a StatefulSet. Its pods get a volume for each, as the controller
/// gives it to them.
pub(super) fn templates(
    object: &Json,
    pod: &mut Json,
    defaults: &Defaults,
) -> Result<Vec<VolumeClaimFacts>, Wrong> {
    let listed = &object["spec"]["volumeClaimTemplates"];
    let Some(listed) = listed.as_array() else {
        let message = "expected a list".to_owned();
        let path = "spec.volumeClaimTemplates".to_owned();
        return if listed.is_null() { Ok(Vec::new()) } else { Err((path, message)) };
    };
    let mut claims = Vec::new();
    for (at, template) in listed.iter().enumerate() {
        let path = format!("spec.volumeClaimTemplates[{at}]");
        let name = template.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
        if name.is_empty() {
            return Err((format!("{path}.metadata.name"), "required, but missing".to_owned()));
        }
        let facts = claim(template, &path, defaults)?;
        claims.push(VolumeClaimFacts { name: name.into(), ..facts });
        if let Some(spec) = pod.get_mut("spec").and_then(Json::as_object_mut) {
            let volumes = spec.entry("volumes").or_insert_with(|| json!([]));
            if volumes.is_null() {
                *volumes = json!([]);
            }
            if let Some(volumes) = volumes.as_array_mut() {
                volumes.retain(|volume| volume["name"] != name);
                let source = json!({"claimName": format!("{name}{EACH}")});
                volumes.push(json!({"name": name, "persistentVolumeClaim": source}));
            }
        }
    }
    Ok(claims)
}

/// Takes the pods of a StatefulSet apart, each of which has claims of its own; and makes these, at
/// the time that the pods arrive.
pub(super) fn apart(
    job: &Job,
    claims: &[VolumeClaimFacts],
    ordinals: impl Iterator<Item = u64>,
    made: &mut Vec<ClaimPlan>,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    for ordinal in ordinals {
        let name = format!("{}-{ordinal}", job.name);
        let mut own = Job { name: name.clone(), pods: 1, followers: 0, ..job.clone() };
        own.life.is_named = true;
        for mount in &mut own.life.mounts {
            if let Mount::Shared(claim) = mount
                && let Some(template) = claim.strip_suffix(EACH)
            {
                *claim = format!("{template}-{name}").into();
            }
        }
        jobs.push(own);
        made.extend(claims.iter().map(|claim| ClaimPlan {
            facts: VolumeClaimFacts {
                namespace: job.spec.namespace.as_str().into(),
                name: format!("{}-{name}", claim.name).into(),
                uid: Box::default(),
                ..claim.clone()
            },
            times: vec![Time(job.at.0)],
        }));
    }
    jobs
}
