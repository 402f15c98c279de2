//! What is written for volumes before a pod is bound, and why a pod was not bound after it.

use model::{ClaimRef, Unprepared, Write};
use serde_json::{Value, json};

/// A merge patch, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePatch {
    /// The path of the object.
    pub path: String,
    /// The patch, which is about one state of the object.
    pub body: Value,
}

/// The patch that says what is to be written.
#[must_use]
pub fn volume_patch(write: &Write) -> VolumePatch {
    match write {
        Write::BindVolume { volume, uid, version, claim } => VolumePatch {
            path: format!("/api/v1/persistentvolumes/{volume}"),
            body: json!({
                "metadata": {
                    "uid": uid,
                    "resourceVersion": version,
                    "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
                },
                "spec": {"claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.namespace,
                    "name": claim.name,
                    "uid": claim.uid,
                }},
            }),
        },
        Write::SelectNode { claim, version, node } => VolumePatch {
            path: claim_path(claim),
            body: json!({
                "metadata": {
                    "uid": claim.uid,
                    "resourceVersion": version,
                    "annotations": {"volume.kubernetes.io/selected-node": node},
                },
            }),
        },
    }
}

/// The `resourceVersion` of an object that says what was to be written; nothing if it does not say
/// so.
#[must_use]
pub fn written_version(write: &Write, object: &Value) -> Option<u64> {
    let meta = &object["metadata"];
    let is_said = match write {
        Write::BindVolume { uid, claim, .. } => {
            meta["uid"] == **uid && object["spec"]["claimRef"]["uid"] == *claim.uid
        }
        Write::SelectNode { claim, node, .. } => {
            let selected = &meta["annotations"]["volume.kubernetes.io/selected-node"];
            meta["uid"] == *claim.uid && *selected == **node
        }
    };
    let version = meta["resourceVersion"].as_str().filter(|_| is_said)?;
    // A version that is no number is never behind.
    Some(version.parse().unwrap_or(0))
}

fn claim_path(claim: &ClaimRef) -> String {
    format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", claim.namespace, claim.name)
}

/// Why a pod was not bound, in kube-scheduler's words.
#[must_use]
pub fn unprepared_text(why: &Unprepared) -> String {
    let why = match why {
        Unprepared::TimedOut => "context deadline exceeded".into(),
        Unprepared::NodeGone(node) => {
            format!("failed to get node {node:?}: node {node:?} not found")
        }
        Unprepared::ClaimGone(claim) => {
            format!("failed to check binding: could not find v1.PersistentVolumeClaim {claim:?}")
        }
        Unprepared::VolumeGone(volume) => {
            format!("failed to check binding: could not find v1.PersistentVolume {volume:?}")
        }
        Unprepared::Unclaimed(volume) => format!("ClaimRef got reset for pv {volume:?}"),
        Unprepared::NotMade(claim) => format!("provisioning failed for PVC {claim:?}"),
        Unprepared::NodeConflict { volume, node } => format!(
            "pv {volume:?} node affinity doesn't match node {node:?}: no matching NodeSelectorTerms"
        ),
    };
    format!("running PreBind plugin \"VolumeBinding\": binding volumes: {why}")
}
