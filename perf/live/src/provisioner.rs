//! The smallest provisioner of volumes: one request for each claim that a node is selected for,
//! many at a time. It runs in the benchmark, so its CPU time is nobody's. The controller that binds
//! volumes to claims is the real one.

use std::collections::BTreeSet;
use std::time::Instant;

use anyhow::{Result, ensure};
use kube::Client;
use serde::Deserialize;
use tokio::task::JoinSet;

use crate::stage::{VOLUMES_PATH, claims_path};
use crate::watch::{Object, Watch};
use crate::{client, objects};

/// Volumes that are created at a time. More only wait in the API server.
const AT_ONCE: usize = 32;
/// Who is to make a volume: set by the controller when it is time.
const STORAGE_PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";

/// What is read of a claim.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(default)]
    volume_name: String,
}

/// What a claim is in the eyes of a provisioner.
#[derive(Debug, PartialEq, Eq)]
enum Stand<'a> {
    /// No node is selected.
    Waits,
    /// A node is selected, and the controller has not asked yet.
    Selected,
    /// A volume that this node can use is to be made.
    Asks { node: &'a str },
    /// It has a volume.
    HasVolume,
}

/// When the last claim was so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// A node was selected for it.
    pub(crate) selected: Instant,
    /// It had its volume.
    pub(crate) bound: Instant,
}

/// Makes volumes for the claims of a namespace.
pub(crate) struct Provisioner {
    client: Client,
    claims: Watch,
}

impl Provisioner {
    /// Watches claims that are created from now on.
    pub(crate) async fn open(client: &Client, namespace: &str) -> Result<Self> {
        let path = format!("{}?", claims_path(namespace));
        let claims = Watch::from_now(client, path).await?;
        Ok(Self { client: client.clone(), claims })
    }

    /// Answers until so many claims have volumes.
    pub(crate) async fn serve(mut self, claims: usize) -> Result<Served> {
        let [mut selected, mut asked, mut done] = [const { BTreeSet::new() }; 3];
        let mut last = Served { selected: Instant::now(), bound: Instant::now() };
        let mut requests: JoinSet<Result<()>> = JoinSet::new();
        while done.len() < claims {
            let (_, claim) = tokio::select! {
                Some(made) = requests.join_next() => {
                    made??;
                    continue;
                }
                change = self.claims.next::<Spec>(), if requests.len() < AT_ONCE => change?,
            };
            let uid = claim.metadata.uid.clone();
            let stand = stand(&claim);
            if stand != Stand::Waits && selected.insert(uid.clone()) {
                last.selected = Instant::now();
            }
            match stand {
                Stand::Waits | Stand::Selected => {}
                Stand::HasVolume => {
                    ensure!(asked.contains(&uid), "somebody else made a volume for claim {uid}");
                    done.insert(uid);
                }
                Stand::Asks { node } => {
                    if asked.insert(uid) {
                        let volume = objects::volume(&claim.metadata, node).to_string();
                        let client = self.client.clone();
                        requests.spawn(async move {
                            client::post(&client, VOLUMES_PATH, volume.into()).await
                        });
                    }
                }
            }
        }
        last.bound = Instant::now();
        Ok(last)
    }
}

fn stand(claim: &Object<Spec>) -> Stand<'_> {
    if !claim.spec.volume_name.is_empty() {
        return Stand::HasVolume;
    }
    let annotation = |key: &str| claim.metadata.annotations.get(key).map(String::as_str);
    match (annotation(STORAGE_PROVISIONER), annotation(objects::SELECTED_NODE)) {
        (Some(objects::PROVISIONER), Some(node)) => Stand::Asks { node },
        (Some(_) | None, Some(_)) => Stand::Selected,
        (Some(_) | None, None) => Stand::Waits,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn check(annotations: Value, volume: &str, expected: &Stand<'_>) {
        let claim = json!({
            "metadata": {
                "name": "claim-0", "namespace": "run-1", "uid": "11-11", "resourceVersion": "7",
                "annotations": annotations,
            },
            "spec": {"volumeName": volume},
        });
        let claim: Object<Spec> = serde_json::from_value(claim).unwrap();
        assert_eq!(stand(&claim), *expected);
    }

    #[test]
    fn a_volume_is_made_once_the_controller_asks_for_it_on_a_node() {
        let node = objects::SELECTED_NODE;
        check(json!({}), "", &Stand::Waits);
        check(json!({node: "a"}), "", &Stand::Selected);
        check(json!({STORAGE_PROVISIONER: objects::PROVISIONER}), "", &Stand::Waits);
        check(json!({STORAGE_PROVISIONER: "other", node: "a"}), "", &Stand::Selected);
        let asks = json!({STORAGE_PROVISIONER: objects::PROVISIONER, node: "a"});
        check(asks.clone(), "", &Stand::Asks { node: "a" });
        check(asks, "pvc-11-11", &Stand::HasVolume);
    }

    #[test]
    fn a_volume_is_for_its_claim_and_on_the_selected_node() {
        let claim = json!({
            "name": "claim-0", "namespace": "run-1", "uid": "11-11", "resourceVersion": "7",
        });
        let volume = objects::volume(&serde_json::from_value(claim).unwrap(), "a");
        let (spec, claim) = (&volume["spec"], objects::claim(0, None));
        assert_eq!(spec["claimRef"]["uid"], "11-11");
        assert_eq!(spec["claimRef"]["name"], claim["metadata"]["name"]);
        assert_eq!(spec["storageClassName"], claim["spec"]["storageClassName"]);
        assert_eq!(spec["capacity"], claim["spec"]["resources"]["requests"]);
        let terms = &spec["nodeAffinity"]["required"]["nodeSelectorTerms"];
        assert_eq!(terms[0]["matchExpressions"][0]["values"], json!(["a"]));
    }
}
