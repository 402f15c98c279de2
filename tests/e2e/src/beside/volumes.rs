//! What a user sees of a case's claims and volumes.

use anyhow::Result;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::case::{ClaimState, Outcome};
use super::seen::Expectations;

/// Kinds without which a case has no volumes to look at and to clear away.
const KINDS: &[&str] = &["PersistentVolume", "StorageClass", "CSI", "VolumeAttachment"];

/// What kubectl writes for itself.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether manifests have anything to do with volumes.
pub(super) fn are_in(manifests: &str) -> bool {
    let mut kinds = manifests.lines().filter_map(|line| line.trim().strip_prefix("kind: "));
    kinds.any(|kind| KINDS.iter().any(|start| kind.starts_with(start)))
}

/// All claims and volumes.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    claims: Vec<PersistentVolumeClaim>,
    volumes: Vec<PersistentVolume>,
}

impl Volumes {
    pub(super) async fn read(client: Client) -> Result<Self> {
        let (claims, volumes) = (Api::all(client.clone()), Api::all(client));
        Ok(Self {
            claims: claims.list(&ListParams::default()).await?.items,
            volumes: volumes.list(&ListParams::default()).await?.items,
        })
    }

    /// How many there are, of both.
    pub(super) fn count(&self) -> usize {
        self.claims.len() + self.volumes.len()
    }

    /// Fails with the first claim that is not as expected yet.
    pub(super) fn check(&self, expectations: &Expectations) -> Result<(), String> {
        for (who, outcome) in expectations {
            let Outcome::Claim(expected) = outcome else { continue };
            let claim = self.claims.iter().find(|it| shown_name(&it.metadata) == *who);
            let found = claim.map_or(ClaimState::Gone, state);
            let is_right = match (&found, expected) {
                (ClaimState::Bound(Some(_)), ClaimState::Bound(None)) => true,
                (found, expected) => found == expected,
            };
            if !is_right {
                return Err(format!("{who}: {found}, expected: {expected}"));
            }
        }
        Ok(())
    }

    /// Everything about claims and volumes; of the reference to a claim not its version, which
    /// depends on who was faster.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for claim in &self.claims {
            let seen = json!({
                "phase": claim.status.as_ref().and_then(|status| status.phase.as_deref()),
                "volumeName": claim.spec.as_ref().and_then(|spec| spec.volume_name.as_deref()),
                "annotations": annotations(&claim.metadata),
                "isDeleted": claim.metadata.deletion_timestamp.is_some(),
            });
            lines.push(format!("{}: {seen}", shown_name(&claim.metadata)));
        }
        for volume in &self.volumes {
            let mut owner = json!(volume.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref()));
            if let Some(fields) = owner.as_object_mut() {
                fields.remove("resourceVersion");
            }
            let seen = json!({
                "phase": volume.status.as_ref().and_then(|status| status.phase.as_deref()),
                "claimRef": owner,
                "annotations": annotations(&volume.metadata),
            });
            let name = volume.metadata.name.as_deref().unwrap_or_default();
            lines.push(format!("volume {name}: {seen}"));
        }
        lines
    }

    /// The uids of claims and what stands for them; volumes that were made for a claim have its uid
    /// in their names.
    pub(super) fn uids(&self) -> impl Iterator<Item = (&str, String)> {
        self.claims.iter().filter_map(|claim| {
            let uid = claim.metadata.uid.as_deref()?;
            Some((uid, format!("(uid of {})", shown_name(&claim.metadata))))
        })
    }
}

fn state(claim: &PersistentVolumeClaim) -> ClaimState {
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    let volume = claim.spec.as_ref().and_then(|spec| spec.volume_name.clone());
    match (claim.metadata.deletion_timestamp.is_some(), phase) {
        (true, _) => ClaimState::Leaving,
        (false, Some("Bound")) => ClaimState::Bound(volume),
        (false, Some("Lost")) => ClaimState::Lost,
        (false, _) => ClaimState::Pending,
    }
}

/// A claim's name as cases have it, with a word that tells it from pods.
fn shown_name(claim: &ObjectMeta) -> String {
    let name = claim.name.as_deref().unwrap_or_default();
    match claim.namespace.as_deref() {
        None | Some("default") => format!("claim {name}"),
        Some(namespace) => format!("claim {namespace}/{name}"),
    }
}

fn annotations(of: &ObjectMeta) -> Value {
    let mut annotations = of.annotations.clone().unwrap_or_default();
    annotations.remove(APPLIED);
    json!(annotations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(phase: &str, version: &str) -> Volumes {
        let claim = json!({
            "metadata": {"name": "data", "namespace": "default", "uid": "11-11"},
            "spec": {"volumeName": "pv-a"}, "status": {"phase": phase},
        });
        let owner = json!({"name": "data", "uid": "11-11", "resourceVersion": version});
        let volume = json!({"metadata": {"name": "pv-a"}, "spec": {"claimRef": owner}});
        Volumes {
            claims: vec![serde_json::from_value(claim).unwrap()],
            volumes: vec![serde_json::from_value(volume).unwrap()],
        }
    }

    #[test]
    fn a_claim_is_as_expected_or_said_to_be_otherwise() {
        let bound_to = |name: &str| Outcome::Claim(ClaimState::Bound(Some(name.to_owned())));
        let check = |who: &str, outcome| {
            seen("Bound", "1").check(&Expectations::from([(who.to_owned(), outcome)]))
        };
        assert_eq!(check("claim data", bound_to("pv-a")), Ok(()));
        assert_eq!(check("claim data", Outcome::Claim(ClaimState::Bound(None))), Ok(()));
        assert_eq!(check("claim other", Outcome::Claim(ClaimState::Gone)), Ok(()));
        let error = check("claim data", bound_to("pv-b")).unwrap_err();
        assert_eq!(error, "claim data: bound to pv-a, expected: bound to pv-b");
        assert!(check("claim data", Outcome::Claim(ClaimState::Pending)).is_err());
    }

    #[test]
    fn versions_of_claims_are_not_seen_and_phases_are() {
        assert_eq!(seen("Bound", "1").lines(), seen("Bound", "2").lines());
        assert_ne!(seen("Bound", "1").lines(), seen("Pending", "1").lines());
    }

    #[test]
    fn manifests_with_volumes_are_told_from_others() {
        assert!(are_in("apiVersion: v1\nkind: PersistentVolumeClaim\n"));
        assert!(are_in("kind: CSINode\n"));
        assert!(!are_in("kind: Node\n---\nkind: Pod\n"));
    }
}
