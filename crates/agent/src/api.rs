//! The API server: what the agent reads there, and what it writes, by server-side apply.

mod conflict;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::{BoxError, ServiceBuilder};

use crate::desired::Desired;
use conflict::Conflicts;

/// Who the agent is in `managedFields`. What it no longer applies under this name is removed.
pub const MANAGER: &str = "kubenexus-agent";
/// Who `deploy/label-node.sh` is. The agent takes over what the script wrote.
const SCRIPT: &str = "kubenexus-label-node";

const USER_AGENT: &str = concat!("kubenexus-agent/", env!("CARGO_PKG_VERSION"));
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Longer than the pause between two writes, so that one connection serves all.
const IDLE_MAX: Duration = Duration::from_secs(90);
const PATIENCE: Duration = Duration::from_secs(15);
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// How often an apply is tried while others hold some of its keys.
const TRIES_MAX: usize = 4;

const TOPOLOGIES: &str = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";

/// A connection to the API server.
pub struct Api {
    client: kube::Client,
    /// How long an answer may take.
    patience: Duration,
}

/// What is read of a node.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Metadata {
    /// Tells it from another one of the same name.
    #[serde(default)]
    pub uid: String,
    /// All its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default, rename = "managedFields")]
    managed: Vec<Managed>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Managed {
    #[serde(default)]
    manager: String,
}

/// Whether the agent may write the node's NodeResourceTopology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// The API server does not know the kind.
    NotServed,
    /// There is none, or one that only the agent wrote.
    Free,
    /// Somebody else writes it.
    Owned(String),
}

struct Answer {
    status: StatusCode,
    body: Bytes,
}

impl Api {
    /// Prepares a connection; nothing is sent yet.
    ///
    /// # Errors
    /// When a kubeconfig or credentials cannot be used, or when there are none.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Self> {
        // Two providers of cryptography could be compiled in; the first one wins.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut config = configuration(kubeconfig).await?;
        config.headers.push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_MAX));
        let tls = config.rustls_https_connector_with_connector(tcp).context("preparing TLS")?;
        let http: Http<_, Body> = Http::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_MAX)
            .pool_max_idle_per_host(1)
            .build(tls);
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer().context("preparing credentials")?)
            .layer(config.extra_headers_layer().context("preparing headers")?)
            .map_err(BoxError::from)
            .service(http);
        let client = kube::Client::new(service, config.default_namespace.clone());
        Ok(Self { client, patience: PATIENCE })
    }

    /// Reads a node.
    ///
    /// # Errors
    /// When there is none, or no answer.
    pub async fn node(&self, name: &str) -> Result<Metadata> {
        let answer = self.get(&format!("/api/v1/nodes/{name}")).await;
        let found = answer.with_context(|| format!("reading node {name}"))?;
        found.with_context(|| format!("there is no node {name}: see --node-name"))
    }

    /// Whose the node's NodeResourceTopology is.
    ///
    /// # Errors
    /// When there is no answer, or none that says so.
    pub async fn topology(&self, node: &str) -> Result<Topology> {
        let reading = || format!("reading NodeResourceTopology {node}");
        let path = format!("{TOPOLOGIES}/{node}");
        if let Some(found) = self.get(&path).await.with_context(reading)? {
            let mut others = found.managed.into_iter().map(|managed| managed.manager);
            let other = others.find(|manager| manager != MANAGER);
            return Ok(other.map_or(Topology::Free, Topology::Owned));
        }
        // Not this one; does the server know any?
        let group = "/apis/topology.node.k8s.io/v1alpha2";
        let answer = self.ask(request(Method::GET, group, None)).await.with_context(reading)?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(Topology::NotServed),
            StatusCode::OK => Ok(Topology::Free),
            _ => Err(refusal(&answer)).with_context(reading),
        }
    }

    /// Writes labels and annotations of a node. Keys that others hold with another value are left
    /// to them, and returned.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn apply_node(
        &self,
        name: &str,
        uid: &str,
        desired: &Desired,
    ) -> Result<Vec<String>> {
        let mut object = node_object(name, desired);
        // Without it, an apply would create a node that is not there.
        object["metadata"]["uid"] = uid.into();
        let (mut left, mut is_forced) = (Vec::new(), false);
        for _ in 0..TRIES_MAX {
            let path = format!("/api/v1/nodes/{name}");
            let answer = self.apply(&path, &object, is_forced).await?;
            if answer.status.is_success() {
                return Ok(left);
            }
            let conflicts = match answer.status {
                StatusCode::CONFLICT => Conflicts::read(&answer.body),
                _ => Conflicts::default(),
            };
            let mut foreign = conflicts.not_of(SCRIPT);
            if conflicts.is_empty() {
                return Err(refusal(&answer)).with_context(|| format!("writing node {name}"));
            }
            is_forced = foreign.is_empty();
            foreign.retain(|key| remove(&mut object, key));
            left.extend(foreign);
        }
        bail!("writing node {name}: others changed it {TRIES_MAX} times meanwhile")
    }

    /// Writes the node's NodeResourceTopology, which goes with the node.
    ///
    /// # Errors
    /// When the API server refuses or does not answer.
    pub async fn apply_topology(&self, name: &str, uid: &str, topology: &Value) -> Result<()> {
        let mut object = topology_object(name, topology);
        object["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]);
        let answer = self.apply(&format!("{TOPOLOGIES}/{name}"), &object, false).await?;
        ensure!(
            answer.status.is_success(),
            "writing NodeResourceTopology {name}: {:#}",
            refusal(&answer)
        );
        Ok(())
    }

    async fn apply(&self, path: &str, object: &Value, is_forced: bool) -> Result<Answer> {
        let path = format!("{path}?fieldManager={MANAGER}&force={is_forced}");
        self.ask(request(Method::PATCH, &path, Some(object))).await
    }

    /// The metadata of an object, if there is one.
    async fn get(&self, path: &str) -> Result<Option<Metadata>> {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        let answer = self.ask(request(Method::GET, path, None)).await?;
        match answer.status {
            StatusCode::NOT_FOUND => Ok(None),
            StatusCode::OK => {
                let object: Object = serde_json::from_slice(&answer.body)?;
                Ok(Some(object.metadata))
            }
            _ => Err(refusal(&answer)),
        }
    }

    async fn ask(&self, request: Request<Body>) -> Result<Answer> {
        let exchange = async {
            let response = self.client.send(request).await?;
            let status = response.status();
            let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|error| anyhow::anyhow!(error))?.to_bytes();
            Ok(Answer { status, body })
        };
        let answer = tokio::time::timeout(self.patience, exchange).await;
        answer.with_context(|| format!("no answer within {:?}", self.patience)).flatten()
    }
}

async fn configuration(kubeconfig: Option<&Path>) -> Result<kube::Config> {
    let Some(path) = kubeconfig else {
        return kube::Config::incluster().context(
            "no kubeconfig is given and this is no pod of a cluster: give --kubeconfig FILE, or \
             --dry-run to only look",
        );
    };
    let reading = || format!("reading kubeconfig {}", path.display());
    let file = Kubeconfig::read_from(path).with_context(reading)?;
    let options = KubeConfigOptions::default();
    kube::Config::from_custom_kubeconfig(file, &options).await.with_context(reading)
}

/// What is applied to a node.
pub fn node_object(name: &str, desired: &Desired) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": desired.labels,
            "annotations": desired.annotations,
        },
    })
}

/// What is applied to a NodeResourceTopology.
pub fn topology_object(name: &str, topology: &Value) -> Value {
    json!({
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "attributes": topology["attributes"],
        "zones": topology["zones"],
    })
}

/// Takes a key out of what is applied; whether it was there.
fn remove(object: &mut Value, key: &str) -> bool {
    ["labels", "annotations"].into_iter().any(|part| {
        let keys = object["metadata"][part].as_object_mut();
        keys.is_some_and(|keys| keys.remove(key).is_some())
    })
}

fn request(method: Method, path: &str, object: Option<&Value>) -> Request<Body> {
    let accept = match method {
        Method::GET => {
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,\
                        application/json"
        }
        _ => "application/json",
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, HeaderValue::from_static(accept))
        .header(header::CONTENT_TYPE, HeaderValue::from_static("application/apply-patch+yaml"));
    // JSON is YAML.
    let body = object.map_or(Vec::new(), |object| object.to_string().into_bytes());
    request.body(Body::from(body)).expect("names of nodes are checked when the agent starts")
}

/// What a server says when it does not do what it was asked for.
fn refusal(answer: &Answer) -> anyhow::Error {
    #[derive(Deserialize)]
    struct Status {
        message: String,
    }
    let text = match serde_json::from_slice::<Status>(&answer.body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(&answer.body[..answer.body.len().min(200)]).into(),
    };
    anyhow::anyhow!("the API server answers {}: {}", answer.status.as_u16(), text.trim())
}
