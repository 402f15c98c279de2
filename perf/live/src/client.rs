//! Requests, over the stack the scheduler uses: kube's client around hyper, HTTP/1.1.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;
use tower::{BoxError, ServiceBuilder};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A client as a kubeconfig file describes it.
pub(crate) async fn of_kubeconfig(file: &Path) -> Result<Client> {
    let text = || format!("reading kubeconfig {}", file.display());
    let kubeconfig = Kubeconfig::read_from(file).with_context(text)?;
    connect(kubeconfig).await.with_context(text)
}

/// A client for a server on a port of loopback, whoever it is.
pub(crate) async fn of_port(port: u16, token: &str) -> Result<Client> {
    let cluster =
        json!({"server": format!("https://127.0.0.1:{port}"), "insecure-skip-tls-verify": true});
    let kubeconfig = serde_json::from_value(json!({
        "clusters": [{"name": "local", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "local", "context": {"cluster": "local", "user": "user"}}],
        "current-context": "local",
    }))?;
    connect(kubeconfig).await
}

async fn connect(kubeconfig: Kubeconfig) -> Result<Client> {
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let connector = config.rustls_https_connector_with_connector(tcp)?;
    let http: Http<_, Body> = Http::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(30))
        .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer()?)
        .map_err(BoxError::from)
        .service(http);
    Ok(Client::new(service, "default"))
}

/// Reads a whole answer.
pub(crate) async fn get(client: &Client, path: &str) -> Result<Bytes> {
    let request = Request::get(path).header(header::ACCEPT, "application/json");
    let (status, body) = send(client, request.body(Body::empty())?).await?;
    expect_success(path, status, &body)?;
    Ok(body)
}

/// Sends an object in JSON.
pub(crate) async fn post(client: &Client, path: &str, object: Vec<u8>) -> Result<()> {
    let request = Request::post(path)
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, "application/json");
    let (status, body) = send(client, request.body(Body::from(object))?).await?;
    expect_success(path, status, &body)
}

/// Deletes everything under a path, at once.
pub(crate) async fn delete_all(client: &Client, path: &str) -> Result<()> {
    let request = Request::delete(format!("{path}?gracePeriodSeconds=0"));
    let (status, body) = send(client, request.body(Body::empty())?).await?;
    expect_success(path, status, &body)
}

/// Sends a request and reads the answer whole.
pub(crate) async fn send(client: &Client, request: Request<Body>) -> Result<(StatusCode, Bytes)> {
    let exchange = async {
        let response = client.send(request).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    };
    tokio::time::timeout(PATIENCE, exchange).await.context("waiting for an answer")?
}

fn expect_success(path: &str, status: StatusCode, body: &[u8]) -> Result<()> {
    if status.is_success() { Ok(()) } else { Err(refusal(path, status, body)) }
}

/// What a server said instead of what was asked for.
pub(crate) fn refusal(path: &str, status: StatusCode, body: &[u8]) -> anyhow::Error {
    let text = String::from_utf8_lossy(&body[..body.len().min(300)]);
    anyhow!("{path}: expected success, found {status}: {text}")
}
