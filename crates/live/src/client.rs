//! The connection to the API server: kube's configuration and credentials around a client whose
//! sockets we choose.
//!
//! kube's own stack repeats refused requests of every verb and leaves dead connections to the
//! kernel's two hours. Here the caller decides what is repeated, and a silent peer is noticed.

mod fence;
mod pool;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use kube::client::{Body, ConfigExt as _};
use kube::config::{KubeConfigOptions, Kubeconfig};
use tower::{BoxError, Service, ServiceBuilder, ServiceExt as _};

use crate::lease::Leadership;
use crate::metrics::Metrics;
use crate::outage::Outage;
use fence::Fenced;
use pool::Pool;

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
    config.headers.push((header::USER_AGENT, HeaderValue::from_static(USER_AGENT)));
    Ok(config)
}

/// A client for what is read. Nothing is sent yet. Whether the server is reached is noted.
///
/// # Errors
/// When certificates or credentials cannot be used.
pub(crate) fn connect(config: &kube::Config, outage: &Outage) -> Result<kube::Client> {
    let http: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector(config, None)?);
    let outage = outage.clone();
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().context("preparing credentials")?)
        .layer(config.extra_headers_layer().context("preparing headers")?)
        .map_err(BoxError::from)
        .map_result(move |result: Result<Response<_>, hyper_util::client::legacy::Error>| {
            match &result {
                Ok(_) => outage.answered(),
                Err(error) => outage.failed(&broken(error).to_string()),
            }
            result
        })
        .service(http);
    Ok(kube::Client::new(service, config.default_namespace.clone()))
}

/// Makes connections over which nothing is sent while the right that is given, if any, does not
/// stand.
fn connector(
    config: &kube::Config,
    right: Option<Leadership>,
) -> Result<
    impl Service<
        Uri,
        Response = impl Read + Write + Connection + Unpin + Send + 'static,
        Error = BoxError,
        Future = impl Send + Unpin + 'static,
    > + Clone
    + Send
    + Sync
    + 'static,
> {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT_MAX));
    tcp.set_keepalive(Some(KEEPALIVE));
    tcp.set_keepalive_interval(Some(KEEPALIVE / 3));
    tcp.set_keepalive_retries(Some(3));
    tcp.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX));
    let tcp = tcp.map_response(move |connection| Fenced::new(connection, right.clone()));
    config.rustls_https_connector_with_connector(tcp).context("preparing TLS for the client")
}

/// Sends what is written, over connections of its own. Clones are the same.
#[derive(Clone)]
pub(crate) struct Writer(Arc<dyn Fn(Request<Body>) -> Sending + Send + Sync>);

type Sending = Pin<Box<dyn Future<Output = Result<Response<Body>, NoAnswer>> + Send>>;

impl Writer {
    /// For a configuration. Nothing is sent yet, and nothing is sent while the right that is given,
    /// if any, does not stand. Whether the server is reached is noted.
    ///
    /// # Errors
    /// When certificates or credentials cannot be used.
    pub(crate) fn connect(
        config: &kube::Config,
        right: Option<Leadership>,
        outage: &Outage,
    ) -> Result<Self> {
        // A connection without a right to send says nothing about the server.
        let outage = right.is_none().then(|| outage.clone());
        let pool = Pool::new(connector(config, right)?, config.cluster_url.clone(), ANSWER_MAX);
        let service = ServiceBuilder::new()
            .option_layer(config.auth_layer().context("preparing credentials")?)
            .layer(config.extra_headers_layer().context("preparing headers")?)
            .service(pool.map_err(|error| anyhow!(error))?);
        Ok(Self(Arc::new(move |request| {
            let (sent, outage) = (service.clone().oneshot(request), outage.clone());
            Box::pin(async move {
                let result = sent.await.map_err(|error| broken(&*error));
                match (&outage, &result) {
                    (Some(outage), Ok(_)) => outage.answered(),
                    (Some(outage), Err(error)) => outage.failed(&error.to_string()),
                    (None, _) => {}
                }
                result
            })
        })))
    }
}

#[cfg(test)]
impl From<kube::Client> for Writer {
    fn from(client: kube::Client) -> Self {
        Self(Arc::new(move |request| {
            let client = client.clone();
            Box::pin(async move { client.ask(request).await })
        }))
    }
}

/// Sends a request.
pub(crate) trait Ask {
    /// Tells of an answer as soon as it begins.
    fn ask(
        &self,
        request: Request<Body>,
    ) -> impl Future<Output = Result<Response<Body>, NoAnswer>> + Send;
}

impl Ask for kube::Client {
    async fn ask(&self, request: Request<Body>) -> Result<Response<Body>, NoAnswer> {
        self.send(request).await.map_err(|error| broken(&error))
    }
}

impl Ask for Writer {
    async fn ask(&self, request: Request<Body>) -> Result<Response<Body>, NoAnswer> {
        (self.0)(request).await
    }
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
    content_type: &'static str,
    body: Vec<u8>,
) -> Request<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::ACCEPT, HeaderValue::from_static("application/json"))
        .header(header::CONTENT_TYPE, HeaderValue::from_static(content_type))
        .body(Body::from(body));
    request.expect("paths are made of names that the API server accepted")
}

/// Sends a request and reads the answer whole. Giving up closes the connection.
pub(crate) async fn ask(
    client: &impl Ask,
    request: Request<Body>,
    patience: Duration,
) -> Result<Answer, NoAnswer> {
    ask_for_up_to(ANSWER_MAX, client, request, patience).await
}

/// As [`ask`], for an answer of up to so many bytes.
pub(crate) async fn ask_for_up_to(
    bytes_max: usize,
    client: &impl Ask,
    request: Request<Body>,
    patience: Duration,
) -> Result<Answer, NoAnswer> {
    let exchange = async {
        let response = client.ask(request).await?;
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
    client: &impl Ask,
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

    async fn head_of(ask: impl AsyncFn(&kube::Config, Request<Body>) -> Answer) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let config = configuration(None, Some(&url)).await.unwrap();
        let served = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = vec![0; 4096];
            let length = stream.read(&mut head).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
            String::from_utf8(head[..length].to_vec()).unwrap()
        });
        let patch = request(Method::PATCH, "/api/v1/x", "application/json", b"{}".to_vec());
        assert_eq!(ask(&config, patch).await.status, StatusCode::OK);
        served.await.unwrap()
    }

    #[tokio::test]
    async fn the_server_is_told_who_reads_and_writes() {
        let (patience, outage) = (Duration::from_secs(5), Outage::default());
        let read = head_of(async |config, patch| {
            let client = connect(config, &outage).unwrap();
            ask(&client, patch, patience).await.unwrap()
        });
        let written = head_of(async |config, patch| {
            let writer = Writer::connect(config, Some(Leadership::always()), &outage).unwrap();
            ask(&writer, patch, patience).await.unwrap()
        });
        let expected = concat!("user-agent: kubenexus-scheduler/", env!("CARGO_PKG_VERSION"));
        for head in [read.await, written.await] {
            assert!(head.lines().any(|line| line == expected), "{head}");
            assert!(head.starts_with("PATCH /api/v1/x HTTP/1.1\r\n"), "{head}");
        }
    }

    #[tokio::test]
    async fn whether_the_server_is_reached_is_noted_where_everybody_may_send() {
        let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", unused.local_addr().unwrap());
        drop(unused);
        let config = configuration(None, Some(&url)).await.unwrap();
        for (right, is_noted) in [(Some(Leadership::always()), false), (None, true)] {
            let outage = Outage::default();
            let writer = Writer::connect(&config, right, &outage).unwrap();
            let get = request(Method::GET, "/", "application/json", Vec::new());
            let error = ask(&writer, get, Duration::from_secs(5)).await.err().expect("nobody");
            assert!(error.to_string().contains("refused"), "{error}");
            assert_eq!(outage.is_on(), is_noted);
        }
    }
}
