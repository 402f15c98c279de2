//! A provisioner of volumes for tests. It answers claims as the external provisioner of a CSI
//! driver does, in a manner that the provisioner's name in a StorageClass says:
//!
//! - `ok.test.kubenexus.io` makes a volume at once,
//! - `fails-once.test.kubenexus.io` fails at the first attempt and makes one at the second,
//! - `silent.test.kubenexus.io` never answers,
//! - `returns-node.test.kubenexus.io` has no room on the first node that is selected for a claim:
//!   whenever that one is selected, it reports a capacity of 0 there and takes the selection back.
//!
//! The controller that binds volumes to claims is the real one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use futures::TryStreamExt as _;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::{CSIStorageCapacity, StorageClass};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// What the name of a provisioner that is answered for ends with.
const DOMAIN: &str = ".test.kubenexus.io";

/// Which node the scheduler has selected for a claim.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Who is to make a volume: set by the controller that binds them, when it is time.
const PROVISIONER: &str = "volume.kubernetes.io/storage-provisioner";

const HOSTNAME: &str = "kubernetes.io/hostname";

/// How long after a failure the second attempt is made.
const SECOND_ATTEMPT_AFTER: Duration = Duration::from_millis(200);

/// More claims than all cases and scenarios have together.
const CLAIMS_MAX: usize = 10_000;

/// A provisioner at work, until it is dropped.
#[derive(Debug)]
pub(crate) struct Provisioner {
    task: JoinHandle<()>,
    error: Arc<Mutex<Option<String>>>,
}

impl Provisioner {
    /// Watches the claims of a cluster.
    pub(crate) fn start(client: Client) -> Self {
        let error = Arc::new(Mutex::new(None));
        let kept = error.clone();
        let task = tokio::spawn(async move {
            let mut memory = Memory { client, asked: BTreeSet::new(), refused: BTreeMap::new() };
            if let Err(error) = memory.follow().await {
                *kept.lock().expect("nobody panics while holding it") = Some(format!("{error:#}"));
            }
        });
        Self { task, error }
    }

    /// Fails if it has ended.
    pub(crate) fn must_run(&self) -> Result<()> {
        let error = self.error.lock().expect("nobody panics while holding it");
        error.as_ref().map_or(Ok(()), |error| Err(anyhow!("the provisioner: {error}")))
    }
}

impl Drop for Provisioner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is remembered of claims, by uid.
struct Memory {
    client: Client,
    /// Claims a volume was asked for.
    asked: BTreeSet<String>,
    /// The node that has no room for a claim.
    refused: BTreeMap<String, String>,
}

/// A claim that a volume is to be made for.
struct Order {
    claim: Value,
    /// The provisioner that was asked.
    provisioner: String,
    class: StorageClass,
    /// Where, if that matters.
    node: Option<String>,
}

impl Memory {
    async fn follow(&mut self) -> Result<()> {
        let claims: Api<PersistentVolumeClaim> = Api::all(self.client.clone());
        let mut version = "0".to_owned();
        loop {
            let mut events = Box::pin(claims.watch(&WatchParams::default(), &version).await?);
            while let Some(event) = events.try_next().await? {
                match event {
                    WatchEvent::Added(claim) | WatchEvent::Modified(claim) => {
                        version = claim.metadata.resource_version.clone().unwrap_or_default();
                        self.answer(&claim).await?;
                    }
                    WatchEvent::Deleted(claim) => {
                        version = claim.metadata.resource_version.unwrap_or_default();
                    }
                    WatchEvent::Bookmark(bookmark) => version = bookmark.metadata.resource_version,
                    WatchEvent::Error(error) => bail!("watching claims: {error}"),
                }
            }
        }
    }

    async fn answer(&mut self, claim: &PersistentVolumeClaim) -> Result<()> {
        let Some(order) = self.order(claim).await? else { return Ok(()) };
        let uid = claim.metadata.uid.clone().unwrap_or_default();
        let is_first = self.asked.insert(uid.clone());
        ensure!(self.asked.len() <= CLAIMS_MAX, "more than {CLAIMS_MAX} claims want volumes");
        match order.provisioner.strip_suffix(DOMAIN) {
            Some("ok") => self.provision(&order).await,
            Some("fails-once") => {
                if is_first {
                    self.tell(&order, "the storage is busy").await?;
                    sleep(SECOND_ATTEMPT_AFTER).await;
                }
                self.provision(&order).await
            }
            Some("silent") => Ok(()),
            Some("returns-node") => {
                let node = order.node.clone().unwrap_or_default();
                let refused = self.refused.entry(uid).or_insert_with(|| node.clone());
                if *refused != node {
                    return self.provision(&order).await;
                }
                self.tell(&order, "the storage of the node is full").await?;
                self.report_full(&order, &node).await?;
                self.return_node(&order).await
            }
            other => bail!("there is no provisioner {other:?}"),
        }
    }

    /// What a claim asks of this provisioner now, as an external provisioner would read it.
    async fn order(&self, claim: &PersistentVolumeClaim) -> Result<Option<Order>> {
        let annotation = |key: &str| claim.metadata.annotations.as_ref()?.get(key).cloned();
        let Some(provisioner) = annotation(PROVISIONER) else { return Ok(None) };
        let Some(spec) = &claim.spec else { return Ok(None) };
        let is_bound = spec.volume_name.as_ref().is_some_and(|name| !name.is_empty());
        let is_leaving = claim.metadata.deletion_timestamp.is_some();
        if !provisioner.ends_with(DOMAIN) || is_bound || is_leaving {
            return Ok(None);
        }
        let classes: Api<StorageClass> = Api::all(self.client.clone());
        let name = spec.storage_class_name.as_deref().unwrap_or_default();
        let Some(class) = classes.get_opt(name).await? else { return Ok(None) };
        let node = annotation(SELECTED_NODE);
        let waits = class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer");
        if waits && node.is_none() {
            return Ok(None);
        }
        Ok(Some(Order { claim: json!(claim), provisioner, class, node }))
    }

    /// Makes the volume, unless it is there.
    async fn provision(&self, order: &Order) -> Result<()> {
        let request = Request::post("/api/v1/persistentvolumes");
        self.send(request, "application/json", &volume(order)).await
    }

    /// Writes an event that the attempt failed.
    async fn tell(&self, order: &Order, why: &str) -> Result<()> {
        let about = &order.claim["metadata"];
        let namespace = about["namespace"].as_str().unwrap_or_default();
        let class = order.class.metadata.name.as_deref().unwrap_or_default();
        let event = json!({
            "metadata": {"generateName": "provisioning-failed-", "namespace": namespace},
            "involvedObject": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace,
                "name": about["name"], "uid": about["uid"],
                "resourceVersion": about["resourceVersion"],
            },
            "type": "Warning",
            "reason": "ProvisioningFailed",
            "message": format!("failed to provision volume with StorageClass \"{class}\": {why}"),
            "source": {"component": order.provisioner},
        });
        let path = format!("/api/v1/namespaces/{namespace}/events");
        self.send(Request::post(path), "application/json", &event).await
    }

    /// Says that nothing is left where this node gets its storage from.
    async fn report_full(&self, order: &Order, node: &str) -> Result<()> {
        let capacities: Api<CSIStorageCapacity> = Api::all(self.client.clone());
        for capacity in capacities.list(&ListParams::default()).await?.items {
            let labels = capacity.node_topology.as_ref().and_then(|it| it.match_labels.as_ref());
            let is_here = labels.is_some_and(|it| it.get(HOSTNAME).is_some_and(|it| it == node));
            if !is_here || Some(&capacity.storage_class_name) != order.class.metadata.name.as_ref()
            {
                continue;
            }
            let namespace = capacity.metadata.namespace.unwrap_or_default();
            let name = capacity.metadata.name.unwrap_or_default();
            let path = format!(
                "/apis/storage.k8s.io/v1/namespaces/{namespace}/csistoragecapacities/{name}"
            );
            let patch = json!({"capacity": "0"});
            self.send(Request::patch(path), "application/merge-patch+json", &patch).await?;
        }
        Ok(())
    }

    /// Takes the selection of a node back, so that the scheduler selects again.
    async fn return_node(&self, order: &Order) -> Result<()> {
        let about = &order.claim["metadata"];
        let path = format!(
            "/api/v1/namespaces/{}/persistentvolumeclaims/{}",
            about["namespace"].as_str().unwrap_or_default(),
            about["name"].as_str().unwrap_or_default(),
        );
        let patch = json!({"metadata": {
            "annotations": {SELECTED_NODE: null},
            "resourceVersion": about["resourceVersion"],
        }});
        self.send(Request::patch(path), "application/merge-patch+json", &patch).await
    }

    /// Sends a request. That somebody was faster, or the object is gone, is no error: the watch
    /// shows what came of it.
    async fn send(&self, to: http::request::Builder, kind: &str, body: &Value) -> Result<()> {
        let request = to.header("content-type", kind).body(body.to_string().into_bytes())?;
        let path = request.uri().to_string();
        match self.client.request_text(request).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status))
                if [StatusCode::CONFLICT, StatusCode::NOT_FOUND]
                    .iter()
                    .any(|it| it.as_u16() == status.code) =>
            {
                Ok(())
            }
            Err(error) => Err(error).with_context(|| format!("asking for {path}")),
        }
    }
}

/// The volume for a claim: bound for it, as large as it asks, and on the node that was selected.
fn volume(order: &Order) -> Value {
    let (about, spec) = (&order.claim["metadata"], &order.claim["spec"]);
    let name = format!("pvc-{}", about["uid"].as_str().unwrap_or_default());
    let mut volume = json!({
        "metadata": {
            "name": name,
            "annotations": {"pv.kubernetes.io/provisioned-by": order.provisioner},
        },
        "spec": {
            "accessModes": spec["accessModes"],
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                "namespace": about["namespace"], "name": about["name"], "uid": about["uid"],
                "resourceVersion": about["resourceVersion"],
            },
            "csi": {"driver": order.provisioner, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": order.class.reclaim_policy.as_deref(),
            "storageClassName": order.class.metadata.name,
            "volumeMode": spec["volumeMode"],
        },
    });
    if let Some(node) = &order.node {
        let is_there = json!({"key": HOSTNAME, "operator": "In", "values": [node]});
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [is_there]}]}});
    }
    volume
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_for_its_claim_and_on_the_selected_node() {
        let claim = json!({
            "metadata": {"name": "data", "namespace": "default", "uid": "11-11"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        });
        let class = json!({
            "metadata": {"name": "fast"}, "provisioner": "ok.test.kubenexus.io",
            "reclaimPolicy": "Delete",
        });
        let mut order = Order {
            claim,
            provisioner: "ok.test.kubenexus.io".into(),
            class: serde_json::from_value(class).unwrap(),
            node: Some("a".into()),
        };
        let made = volume(&order);
        assert_eq!(made["metadata"]["name"], "pvc-11-11");
        assert_eq!(made["spec"]["claimRef"]["uid"], "11-11");
        assert_eq!(made["spec"]["capacity"]["storage"], "1Gi");
        assert_eq!(made["spec"]["storageClassName"], "fast");
        let terms = &made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"];
        assert_eq!(terms[0]["matchExpressions"][0]["values"], json!(["a"]));
        order.node = None;
        assert_eq!(volume(&order)["spec"]["nodeAffinity"], Value::Null);
    }
}
