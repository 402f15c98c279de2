//! What the scheduler serves over HTTPS: health for the kubelet, metrics for Prometheus, and the
//! configuration it runs with.
//!
//! Everything runs on the thread of the caller's runtime. Nobody who connects can hold it up:
//! connections are bounded in number and in time, bodies are not read, and whoever has to be
//! known is looked up at the API server.

mod access;
mod answer;
mod health;
mod self_signed;
mod site;
#[cfg(test)]
mod tests;
mod tls;

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

pub(crate) use health::Health;
pub use tls::Source;

use crate::metrics::Metrics;
use access::{Access, OpenPaths};
use site::Site;
use tls::Certificate;

/// Connections at once. The kubelet and a few scrapers need less than ten.
const CONNECTIONS_MAX: usize = 128;
/// How long a handshake may take.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// How long a connection may wait for the head of a request, between requests as well.
const HEAD_MAX: Duration = Duration::from_secs(30);
/// How long a connection is used, and how long its last answer may then take.
const CONNECTION_MAX: Duration = Duration::from_secs(300);
const LAST_ANSWER_MAX: Duration = Duration::from_secs(30);
/// The head of a request has to fit; tokens are a few kilobytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Rest after a connection could not be accepted, for want of file descriptors as a rule.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where and how to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address and port.
    pub address: SocketAddr,
    /// The certificate.
    pub certificate: Source,
    /// Paths that are open to everyone; a `*` at the end stands for anything.
    pub always_allow: Vec<String>,
}

/// A port that is taken and a certificate that is loaded.
pub(crate) struct Server {
    listener: TcpListener,
    certificate: Arc<Certificate>,
    open: OpenPaths,
}

/// Takes the port and loads the certificate.
///
/// # Errors
/// When the port is not free, or a path or the certificate is not usable.
pub(crate) fn bind(options: &Options) -> Result<Server> {
    let open = OpenPaths::new(&options.always_allow)?;
    let certificate = Arc::new(Certificate::load(&options.certificate, options.address.ip())?);
    let address = options.address;
    let listening = || format!("listening on {address} (--bind-address, --secure-port)");
    let listener = TcpListener::bind(address).with_context(listening)?;
    listener.set_nonblocking(true).with_context(listening)?;
    Ok(Server { listener, certificate, open })
}

impl Server {
    /// Serves until dropped. `configz` is the configuration the scheduler runs with.
    pub(crate) async fn run(
        self,
        client: kube::Client,
        health: Arc<Health>,
        metrics: Arc<Metrics>,
        configz: serde_json::Value,
    ) {
        let listener = tokio::net::TcpListener::from_std(self.listener)
            .expect("a listener that does not block can be watched");
        let access = Access::new(client, self.open);
        let site = Arc::new(Site::new(access, health, metrics, &configz));
        let acceptor = TlsAcceptor::from(tls::server_config(self.certificate.clone()));
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        // Connections end with the server, because they are dropped with the set.
        let mut connections = JoinSet::new();
        if let Ok(address) = listener.local_addr() {
            info!(%address, "serving");
        }
        loop {
            let place = places.clone().acquire_owned().await.expect("the places are never closed");
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    warn!(%error, "a connection cannot be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            self.certificate.refresh(Instant::now());
            let (acceptor, site) = (acceptor.clone(), site.clone());
            connections.spawn(async move {
                connection(stream, acceptor, site).await;
                drop(place);
            });
        }
    }
}

/// Serves one connection to its end.
async fn connection(stream: TcpStream, acceptor: TlsAcceptor, site: Arc<Site>) {
    let stream = match tokio::time::timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!(%error, "a handshake failed"),
        Err(_) => return debug!("a handshake took too long"),
    };
    let service = service_fn(|request| {
        let site = site.clone();
        async move { Ok::<_, Infallible>(site.answer(&request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = tokio::time::sleep(CONNECTION_MAX) => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(LAST_ANSWER_MAX, connection).await {
                Ok(ended) => ended,
                Err(_) => return debug!("a connection was cut: its last answer was not read"),
            }
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection broke");
    }
}
