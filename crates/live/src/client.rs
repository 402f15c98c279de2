//! The connection to the API server: kube's configuration and credentials around a client whose
//! sockets we choose.
//!
//! kube's own stack repeats refused requests of every verb and leaves dead connections to the
//! kernel's two hours. Here the caller decides what is repeated, and a silent peer is noticed.

mod fence;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::{BoxError, ServiceBuilder, ServiceExt as _};

use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::outage::Outage;
use fence::Fenced;

/// A silent connection is asked whether it lives after this long, and again every third of it.
const KEEPALIVE: Duration = Duration::from_secs(15);
/// Sent data that nobody acknowledges for this long means the connection is dead.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(20);
/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The most that is read of an answer that is not a watch or a page.
const ANSWER_MAX: usize = 4 << 20;

/// What we call ourselves. The API server takes the part before the slash for the field manager of
/// what we write.
const USER_AGENT: &str = concat!("kubenexus-scheduler/", env!("CARGO_PKG_VERSION"));

/// Where the API server is and who we are to it.
///
/// # Errors
/// When a file cannot be read or parsed, or when there is none and this is no pod of a cluster.
pub(crate) async fn configuration(
    kubeconfig: Option<&Path>,
    master: Option<&str>,
) -> Result<kube::Config> {
    let mut config = match kubeconfig {
        Some(path) => {
            let reading = || format!("reading kubeconfig {}", path.display());
            let file = Kubeconfig::read_from(path).with_context(reading)?;
            let options = KubeConfigOptions::default();
            kube::Config::from_custom_kubeconfig(file, &options).await.with_context(reading)?
        }
        None => match master {
            Some(_) => kube::Config::new(http::Uri::default()),
            None => kube::Config::incluster().context(
                "no kubeconfig is given and this is no pod of a cluster: give --kubeconfig FILE",
            )?,
        },
    };
    if let Some(url) = master {
        let parsed = url.parse().with_context(|| format!("--master {url:?}: expected a URL"))?;
        config.cluster_url = parsed;
    }
    config.headers.push((header::USER_AGENT, header::HeaderValue::from_static(USER_AGENT)));
    Ok(config)
}

/// A client for a configuration. Nothing is sent yet, and nothing is sent while the right that is
/// given, if any, does not stand. Whether the server is reached is noted.
///
/// # Errors
/// When certificates or credentials cannot be used.
pub(crate) fn connect(
    config: &kube::Config,
    right: Option<Leadership>,
    outage: &Outage,
) -> Result<kube::Client> {
    // A connection without a right to send says nothing about the server.
    let outage = right.is_none().then(|| outage.clone());
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_MAX));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE / 3));
    tcp.set_keepalive_retries(Some(3));
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX));
    let tcp = tcp.map_response(move |connection| Fenced::new(connection, right.clone()));
    let connector = config
        .rustls_https_connector_with_connector(tcp)
        .context("preparing TLS for the client")?;
    let http: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().context("preparing credentials")?)
        .layer(config.extra_headers_layer().context("preparing headers")?)
        .map_err(BoxError::from)
        .map_result(move |result: Result<Response<_>, hyper_util::client::legacy::Error>| {
            match (&outage, &result) {
                (Some(outage), Ok(_)) => outage.answered(),
                (Some(outage), Err(error)) => outage.failed(&broken(error).to_string()),
                (None, _) => {}
            }
            result
        })
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

/// An answer that was read whole.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
    /// How long the server asks us to wait.
    pub(crate) retry_after: Option<Duration>,
}

/// Why there is no answer: whether the server acted is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("no answer within {} s", .0.as_secs())]
    Silence(Duration),
    #[error("{0}")]
    Broken(String),
}

/// A request with a JSON body.
pub(crate) fn request(
    method: Method,
    path: &str,
    content_type: &str,
    body: Vec<u8>,
) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, content_type)
        .body(Body::from(body));
    request.expect("paths are made of names that the API server accepted")
}

/// Sends a request and reads the answer whole. Giving up closes the connection.
pub(crate) async fn ask(
    client: &kube::Client,
    request: Request<Body>,
    patience: Duration,
) -> Result<Answer, NoAnswer> {
    ask_for_up_to(ANSWER_MAX, client, request, patience).await
}

/// As [`ask`], for an answer of up to so many bytes.
pub(crate) async fn ask_for_up_to(
    bytes_max: usize,
    client: &kube::Client,
    request: Request<Body>,
    patience: Duration,
) -> Result<Answer, NoAnswer> {
    let exchange = async {
        let response = client.send(request).await.map_err(|error| broken(&error))?;
        let (status, retry_after) = (response.status(), retry_after(&response));
        let body = http_body_util::Limited::new(response.into_body(), bytes_max);
        let body = body.collect().await.map_err(|error| broken(&*error))?.to_bytes();
        Ok(Answer { status, body, retry_after })
    };
    match tokio::time::timeout(patience, exchange).await {
        Ok(result) => result,
        Err(_) => Err(NoAnswer::Silence(patience)),
    }
}

/// As [`ask`], and counted: all requests that carry out decisions.
pub(crate) async fn ask_counted(
    client: &kube::Client,
    metrics: &Metrics,
    request: Request<Body>,
    patience: Duration,
) -> Result<Answer, NoAnswer> {
    let method = request.method().clone();
    let result = ask(client, request, patience).await;
    metrics.request(&method, result.as_ref().ok().map(|answer| answer.status));
    result
}

fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// An error with everything that caused it: "connection refused" is at the end of the chain.
pub(crate) fn broken(error: &(dyn std::error::Error + 'static)) -> NoAnswer {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    NoAnswer::Broken(text)
}

/// What a server says in a `Status`, or the start of whatever it says.
pub(crate) fn status_message(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Status {
        message: String,
    }
    match serde_json::from_slice::<Status>(body) {
        Ok(status) => status.message,
        Err(_) => String::from_utf8_lossy(&body[..body.len().min(200)]).trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn the_server_is_told_who_writes() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let config = configuration(None, Some(&url)).await.unwrap();
        let client = connect(&config, None, &Outage::default()).unwrap();
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            String::from_utf8(head[..length].to_vec()).unwrap()
        });
        let patch = request(Method::PATCH, "/api/v1/x", "application/json", b"{}".to_vec());
        let answer = ask(&client, patch, Duration::from_secs(5)).await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
        let head = served.await.unwrap();
        let expected = concat!("user-agent: kubenexus-scheduler/", env!("CARGO_PKG_VERSION"));
        assert!(head.lines().any(|line| line == expected), "{head}");
    }
}
