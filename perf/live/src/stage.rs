//! A control plane with nodes, and the pods that come and go on it.

use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use control_plane::{ControlPlane, Options, User};
use kube::Client;
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use crate::objects::{self, Workload};
use crate::watch::{Page, Pod};
use crate::{client, usage, whole};

/// The native API for gangs, and kube-scheduler's use of it.
const GANGS: &str = "--feature-gates=GenericWorkload=true";
/// The same, and gangs within one domain.
const RACKS: &str = "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true";
/// What the API server does not do to volumes and pods: nobody is there for service accounts and
/// for the taints of nodes, and claims and volumes may go as soon as they are deleted.
const NOT_ADMITTED_BY: &str = "--disable-admission-plugins=\
    ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection";
/// The controllers that claims need. The last one is what the start of a control plane waits for.
const CONTROLLERS: &str =
    "--controllers=persistentvolume-binder-controller,serviceaccount-controller";
/// How often the controller looks at all claims again. It writes an event about every one that
/// waits, so it would write events all the time if this were much shorter. Claims and volumes that
/// change do not wait for it.
const SYNC_PERIOD: &str = "--pvclaimbinder-sync-period=5s";
/// Requests per second of a controller, and at once: more than it can send.
const CONTROLLERS_QPS: [&str; 2] = ["--kube-api-qps=5000", "--kube-api-burst=5000"];
/// CPU time in a second, below which the controllers have nothing to do.
const CONTROLLERS_IDLE: Duration = Duration::from_millis(50);
/// How long deleted objects may take to go away, and controllers to come to rest.
const GONE_WITHIN: Duration = Duration::from_secs(120);
/// Pods that come and go before anything is measured.
const WARM_UP_PODS: usize = 2_000;
/// How long the API server is left alone before something is measured.
const REST: Duration = Duration::from_secs(1);

/// The programs that are measured, and how.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// etcd, kube-apiserver and kube-scheduler are in this folder.
    pub(crate) control_plane: PathBuf,
    /// The `kubenexus` program.
    pub(crate) kubenexus: Option<PathBuf>,
    /// Bindings that null binders have out at a time.
    pub(crate) in_flight: usize,
    /// Leave folders with logs there.
    pub(crate) keeps_folder: bool,
}

/// What a control plane has besides etcd and kube-apiserver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extra {
    Nothing,
    /// The native API for gangs.
    Gangs,
    /// The same with gangs within one domain, and nodes in racks.
    Racks,
    /// The controller that binds volumes to claims.
    Volumes,
    /// Nodes that tell of their NUMA nodes, GPUs and kubelets.
    Zones,
    /// Nodes in racks, of which most have GPUs.
    Whole,
}

impl Extra {
    fn apiserver_flags(self) -> &'static [&'static str] {
        match self {
            Self::Nothing | Self::Zones | Self::Whole => &[],
            Self::Gangs => &[GANGS, "--runtime-config=scheduling.k8s.io/v1beta1=true"],
            Self::Racks => &[
                RACKS,
                "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
            ],
            Self::Volumes => &[NOT_ADMITTED_BY],
        }
    }
}

/// A running control plane with nodes. It ends when it is dropped.
pub(crate) struct Stage {
    pub(crate) programs: Programs,
    pub(crate) plane: ControlPlane,
    /// Over the scheduler's own stack.
    pub(crate) client: Client,
    extra: Extra,
    /// Namespaces made so far: each run has its own, whose events can be counted.
    namespaces: Cell<usize>,
}

impl Stage {
    /// Starts etcd and kube-apiserver, nothing else, and creates nodes.
    pub(crate) async fn start(programs: &Programs, nodes: usize) -> Result<Self> {
        Self::start_as(programs, nodes, Extra::Nothing).await
    }

    /// The same, with the native API for gangs.
    pub(crate) async fn start_with_gangs(programs: &Programs, nodes: usize) -> Result<Self> {
        Self::start_as(programs, nodes, Extra::Gangs).await
    }

    /// The same, with gangs within one domain, and nodes in racks.
    pub(crate) async fn start_with_racks(programs: &Programs, nodes: usize) -> Result<Self> {
        Self::start_as(programs, nodes, Extra::Racks).await
    }

    /// The same, with the controller that binds volumes to claims, and a class for claims.
    pub(crate) async fn start_with_volumes(programs: &Programs, nodes: usize) -> Result<Self> {
        let stage = Self::start_as(programs, nodes, Extra::Volumes).await?;
        let path = "/apis/storage.k8s.io/v1/storageclasses";
        client::post(&stage.client, path, objects::storage_class().to_string().into()).await?;
        Ok(stage)
    }

    /// The same, with nodes that tell of their NUMA nodes, GPUs and kubelets.
    pub(crate) async fn start_with_zones(programs: &Programs, nodes: usize) -> Result<Self> {
        Self::start_as(programs, nodes, Extra::Zones).await
    }

    /// The same, with nodes in racks, of which most have GPUs.
    pub(crate) async fn start_whole(programs: &Programs, nodes: usize) -> Result<Self> {
        Self::start_as(programs, nodes, Extra::Whole).await
    }

    async fn start_as(programs: &Programs, nodes: usize, extra: Extra) -> Result<Self> {
        let began = Instant::now();
        // Pods are deleted between runs, not during them.
        let mut apiserver_flags = vec!["--delete-collection-workers=8".to_owned()];
        apiserver_flags.extend(extra.apiserver_flags().iter().map(|flag| (*flag).into()));
        let controllers_flags = [&[CONTROLLERS, SYNC_PERIOD][..], &CONTROLLERS_QPS].concat();
        let options = Options {
            has_controllers: extra == Extra::Volumes,
            has_kwok: false,
            apiserver_flags,
            controllers_flags: controllers_flags.into_iter().map(Into::into).collect(),
            // A policy that names nobody would write down every request.
            audited: vec!["nobody".into()],
            keeps_folder: programs.keeps_folder,
        };
        let plane = ControlPlane::start(&programs.control_plane, options).await?;
        let client = client::of_kubeconfig(&plane.kubeconfig(User::Admin)).await?;
        for (at, (count, mut node)) in objects::pools(nodes).enumerate() {
            let parts = match extra {
                Extra::Nothing | Extra::Gangs | Extra::Volumes => vec![(count, node)],
                Extra::Racks => objects::racks(count, &node).collect(),
                Extra::Whole => whole::nodes(at, count, &node),
                Extra::Zones => {
                    objects::tell_zones(&mut node);
                    vec![(count, node)]
                }
            };
            for (count, node) in parts {
                plane.create_nodes(count, &node).await?;
            }
        }
        let (programs, namespaces) = (programs.clone(), Cell::new(0));
        let stage = Self { programs, plane, client, extra, namespaces };
        stage.warm_up().await?;
        let seconds = began.elapsed().as_secs_f64();
        eprintln!("  a control plane with {nodes} nodes: {seconds:.1} s");
        Ok(stage)
    }

    /// With what kube-scheduler uses the native API for gangs, if it is served.
    pub(crate) fn gates(&self) -> Option<&'static str> {
        match self.extra {
            Extra::Gangs => Some(GANGS),
            Extra::Racks => Some(RACKS),
            Extra::Nothing | Extra::Volumes | Extra::Zones | Extra::Whole => None,
        }
    }

    /// Lets pods come and go once. The API server gives watches little room until it has seen how
    /// many events there are, and then ends those that are not read at once.
    async fn warm_up(&self) -> Result<()> {
        let namespace = self.namespace().await?;
        self.create_pods(&namespace, Workload::Plain, WARM_UP_PODS).await?;
        self.delete_pods(&namespace).await
    }

    /// The processes of the control plane.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.plane.pids().iter().map(|(_, pid)| *pid).collect()
    }

    /// The name of a node.
    pub(crate) async fn node(&self) -> Result<String> {
        let body = client::get(&self.client, "/api/v1/nodes?limit=1").await?;
        let page: Page = serde_json::from_slice(&body).context("list nodes")?;
        Ok(page.items.into_iter().next().context("there is no node")?.metadata.name)
    }

    /// Makes a namespace.
    pub(crate) async fn namespace(&self) -> Result<String> {
        let number = self.namespaces.get() + 1;
        self.namespaces.set(number);
        let name = format!("run-{number}");
        let metadata = json!({"name": name, "labels": {"kind": objects::KIND}});
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
        client::post(&self.client, "/api/v1/namespaces", object.to_string().into()).await?;
        Ok(name)
    }

    /// Creates pods, as fast as the API server takes them.
    pub(crate) async fn create_pods(
        &self,
        namespace: &str,
        workload: Workload,
        count: usize,
    ) -> Result<()> {
        self.create_services(namespace, workload).await?;
        let groups = (0..workload.pod_groups(count)).filter_map(|at| workload.pod_group(at));
        self.plane.create(&groups_path(namespace), groups).await?;
        let pods = (0..count).map(|at| workload.pod(at));
        self.plane.create(&pods_path(namespace), pods).await
    }

    /// Creates the services that pods are of.
    pub(crate) async fn create_services(&self, namespace: &str, workload: Workload) -> Result<()> {
        if workload == Workload::Whole {
            for (path, object) in whole::services(namespace) {
                client::post(&self.client, &path, object.to_string().into()).await?;
            }
        }
        Ok(())
    }

    /// Creates one pod.
    pub(crate) async fn create_pod(
        &self,
        namespace: &str,
        workload: Workload,
        at: usize,
    ) -> Result<()> {
        let pod = workload.pod(at).to_string();
        client::post(&self.client, &pods_path(namespace), pod.into()).await
    }

    /// Creates a gang without its pods.
    pub(crate) async fn create_group(
        &self,
        namespace: &str,
        workload: Workload,
        at: usize,
    ) -> Result<()> {
        let Some(group) = workload.pod_group(at) else { return Ok(()) };
        client::post(&self.client, &groups_path(namespace), group.to_string().into()).await
    }

    /// Deletes the pods of a namespace, and waits until they are gone.
    pub(crate) async fn delete_pods(&self, namespace: &str) -> Result<()> {
        self.delete_all(&pods_path(namespace)).await?;
        match self.extra {
            Extra::Nothing | Extra::Zones | Extra::Whole => {}
            Extra::Gangs | Extra::Racks => {
                client::delete_all(&self.client, &groups_path(namespace)).await?
            }
            Extra::Volumes => {
                self.delete_all(&claims_path(namespace)).await?;
                self.delete_all(VOLUMES_PATH).await?;
                self.wait_for_controllers().await?;
            }
        }
        sleep(REST).await;
        Ok(())
    }

    async fn delete_all(&self, path: &str) -> Result<()> {
        let began = Instant::now();
        loop {
            // Many objects take longer than one request may.
            let deleted = client::delete_all(&self.client, path).await;
            if self.count(path).await? == 0 {
                return Ok(());
            }
            if began.elapsed() > GONE_WITHIN {
                deleted?;
                bail!("{path} is not empty after {GONE_WITHIN:?}");
            }
        }
    }

    /// Waits until the controllers have nothing to do.
    pub(crate) async fn wait_for_controllers(&self) -> Result<()> {
        let pids = self.plane.pids();
        let pid = pids.iter().find(|(name, _)| *name == "kube-controller-manager");
        let (_, pid) = pid.context("there are no controllers")?;
        let began = Instant::now();
        while began.elapsed() < GONE_WITHIN {
            let before = usage::cpu(*pid)?;
            sleep(Duration::from_secs(1)).await;
            if usage::cpu(*pid)?.saturating_sub(before) < CONTROLLERS_IDLE {
                return Ok(());
            }
        }
        bail!("the controllers are still busy after {GONE_WITHIN:?}")
    }

    /// Makes a priority above that of other pods.
    pub(crate) async fn create_high_priority(&self) -> Result<()> {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": objects::HIGH_PRIORITY},
            "value": 1_000,
        });
        let path = "/apis/scheduling.k8s.io/v1/priorityclasses";
        client::post(&self.client, path, class.to_string().into()).await
    }

    /// How many pods there are in a namespace.
    pub(crate) async fn pods(&self, namespace: &str) -> Result<usize> {
        self.count(&pods_path(namespace)).await
    }

    /// The names of the pods of a namespace, and of their nodes.
    pub(crate) async fn placements(&self, namespace: &str) -> Result<Vec<(String, String)>> {
        let body = client::get(&self.client, &pods_path(namespace)).await?;
        let page: Page = serde_json::from_slice(&body).context("list pods")?;
        let pods = page.items.into_iter();
        Ok(pods.map(|pod| (pod.metadata.name, pod.spec.node_name)).collect())
    }

    /// How many pods of a namespace say with which NUMA nodes they were bound.
    pub(crate) async fn aligned_pods(&self, namespace: &str) -> Result<usize> {
        let body = client::get(&self.client, &pods_path(namespace)).await?;
        let page: Page = serde_json::from_slice(&body).context("list pods")?;
        let is_aligned = |pod: &&Pod| pod.metadata.annotations.contains_key(objects::PLACEMENT);
        Ok(page.items.iter().filter(is_aligned).count())
    }

    /// How many events there are in a namespace.
    pub(crate) async fn events(&self, namespace: &str) -> Result<usize> {
        self.count(&format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events")).await
    }

    async fn count(&self, path: &str) -> Result<usize> {
        #[derive(Deserialize)]
        struct List {
            metadata: Meta,
            items: Vec<serde::de::IgnoredAny>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Meta {
            remaining_item_count: Option<usize>,
        }
        let body = client::get(&self.client, &format!("{path}?limit=1")).await?;
        let list: List = serde_json::from_slice(&body).with_context(|| format!("list {path}"))?;
        Ok(list.items.len() + list.metadata.remaining_item_count.unwrap_or_default())
    }
}

fn groups_path(namespace: &str) -> String {
    format!("/apis/scheduling.k8s.io/v1beta1/namespaces/{namespace}/podgroups")
}

/// Where volumes are.
pub(crate) const VOLUMES_PATH: &str = "/api/v1/persistentvolumes";

pub(crate) fn claims_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}

pub(crate) fn pods_path(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}
