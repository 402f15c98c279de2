//! Connections: one to the scheduler and one to the API server, side by side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, HOST, HeaderValue};
use http::{Method, Request, Response, request};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self as client, SendRequest};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot, watch};

use super::body::{AnyBody, Counted, Open, whole};
use super::fault::{Fault, Faults};
use super::record::Exchange;
use crate::http::tls;

/// What all connections of a proxy share.
#[derive(Debug)]
pub(super) struct Shared {
    upstream: u16,
    authorization: String,
    /// What is done to binds.
    faults: Mutex<Faults>,
    /// What is done to changes of claims and volumes.
    volume_faults: Mutex<Faults>,
    record: Mutex<Vec<Exchange>>,
    lines: Mutex<BTreeMap<usize, Arc<Line>>>,
    is_refusing: AtomicBool,
    held: AtomicUsize,
    /// How often held binds were released.
    releases: watch::Sender<usize>,
    holds_watches: watch::Sender<bool>,
    /// How late changes of a status reach the server.
    status_delay: Mutex<Duration>,
}

/// A connection, as seen by those who want to cut it.
#[derive(Debug, Default)]
struct Line {
    is_watching: AtomicBool,
    cut: Notify,
}

/// The other half of a connection, if it was needed so far.
type Upstream = tokio::sync::Mutex<Option<SendRequest<AnyBody>>>;

impl Shared {
    pub(super) fn new(upstream: u16, token: &str) -> Self {
        Self {
            upstream,
            authorization: format!("Bearer {token}"),
            faults: Mutex::default(),
            volume_faults: Mutex::default(),
            record: Mutex::default(),
            lines: Mutex::default(),
            is_refusing: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            releases: watch::Sender::new(0),
            holds_watches: watch::Sender::new(false),
            status_delay: Mutex::default(),
        }
    }

    pub(super) fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub(super) fn volume_faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.volume_faults)
    }

    pub(super) fn record(&self) -> Vec<Exchange> {
        lock(&self.record).clone()
    }

    pub(super) fn note(&self, index: usize, change: impl FnOnce(&mut Exchange)) {
        change(&mut lock(&self.record)[index]);
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::SeqCst)
    }

    pub(super) fn release(&self) {
        self.releases.send_modify(|count| *count += 1);
    }

    pub(super) fn hold_watches(&self, is_holding: bool) {
        self.holds_watches.send_replace(is_holding);
    }

    pub(super) fn delay_statuses(&self, delay: Duration) {
        *lock(&self.status_delay) = delay;
    }

    pub(super) fn refuse(&self, is_refusing: bool) {
        self.is_refusing.store(is_refusing, Ordering::SeqCst);
    }

    pub(super) fn cut(&self, only_watches: bool) -> usize {
        let lines = lock(&self.lines);
        let is_meant = |line: &&Arc<Line>| !only_watches || line.is_watching.load(Ordering::SeqCst);
        lines.values().filter(is_meant).map(|line| line.cut.notify_one()).count()
    }

    fn begin(&self, exchange: Exchange) -> usize {
        let mut record = lock(&self.record);
        record.push(exchange);
        record.len() - 1
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is valid after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves whoever connects, for ever.
pub(super) async fn accept(shared: Arc<Shared>, listener: std::net::TcpListener) {
    let listener = TcpListener::from_std(listener).expect("it does not block, and a runtime runs");
    for number in 0.. {
        let Ok((stream, _)) = listener.accept().await else { continue };
        if !shared.is_refusing.load(Ordering::SeqCst) {
            tokio::spawn(serve(shared.clone(), stream, number));
        }
    }
}

async fn serve(shared: Arc<Shared>, stream: TcpStream, number: usize) {
    let line = Arc::new(Line::default());
    lock(&shared.lines).insert(number, line.clone());
    // Without it small answers would wait for the acknowledgement of earlier ones.
    let _ = stream.set_nodelay(true);
    let upstream = Arc::new(Upstream::default());
    let service = service_fn(|request| {
        let (shared, line, upstream) = (shared.clone(), line.clone(), upstream.clone());
        async move { answer(shared, &line, &upstream, request).await }
    });
    let connection = server::Builder::new().serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // An error is a connection that was cut, on one side or the other.
        _ = connection => {}
        () = line.cut.notified() => {}
    }
    lock(&shared.lines).remove(&number);
}

/// An error cuts the connection.
async fn answer(
    shared: Arc<Shared>,
    line: &Line,
    upstream: &Upstream,
    request: Request<Incoming>,
) -> Result<Response<AnyBody>> {
    let (mut parts, body) = request.into_parts();
    let exchange = Exchange::of(&parts);
    let is_watch = exchange.is_watch();
    let faults = if exchange.is_bind() {
        Some(&shared.faults)
    } else if exchange.is_volume_change() {
        Some(&shared.volume_faults)
    } else {
        None
    };
    let fault = faults.map(|faults| lock(faults).next());
    line.is_watching.store(is_watch, Ordering::SeqCst);
    let index = shared.begin(exchange);
    let open = Open::of(shared.clone(), index);
    // A compressed answer could not be looked into.
    parts.headers.remove(ACCEPT_ENCODING);
    let host = HeaderValue::from_str(&format!("127.0.0.1:{}", shared.upstream))?;
    parts.headers.insert(HOST, host);
    if !parts.headers.contains_key(AUTHORIZATION) {
        parts.headers.insert(AUTHORIZATION, HeaderValue::from_str(&shared.authorization)?);
    }
    if let Some(fault) = fault {
        let body = body.collect().await?.to_bytes();
        return change(shared, upstream, index, fault, (parts, body)).await;
    }
    if parts.method == Method::PATCH && parts.uri.path().ends_with("/status") {
        let delay = *lock(&shared.status_delay);
        tokio::time::sleep(delay).await;
    }
    if is_watch {
        shared.holds_watches.subscribe().wait_for(|is_holding| !is_holding).await?;
    }
    let request = Request::from_parts(parts, body.boxed());
    let response = forward(&shared, upstream, index, request).await?;
    Ok(response.map(|body| Counted::of(body, open, is_watch).boxed()))
}

/// A bind, or a change of a claim or a volume: it may meet a fault.
async fn change(
    shared: Arc<Shared>,
    upstream: &Upstream,
    index: usize,
    fault: Option<Fault>,
    (parts, body): (request::Parts, Bytes),
) -> Result<Response<AnyBody>> {
    let binding: Value = serde_json::from_slice(&body).unwrap_or_default();
    shared.note(index, |exchange| {
        exchange.fault = fault;
        exchange.node = binding["target"]["name"].as_str().map(str::to_owned);
    });
    let request = Request::from_parts(parts, whole(body));
    match fault {
        None => {}
        Some(Fault::Answer(code)) => {
            shared.note(index, |exchange| exchange.code = Some(code));
            return refusal(code);
        }
        Some(Fault::Swallow) => return std::future::pending().await,
        Some(Fault::Unanswered) => {
            detached(shared, index, request).await?;
            return std::future::pending().await;
        }
        Some(Fault::Cut) => {
            detached(shared, index, request).await?;
            bail!("the answer is withheld");
        }
        Some(Fault::Delay(time)) => tokio::time::sleep(time).await,
        Some(Fault::Hold) => return held(shared, index, request).await,
    }
    let response = forward(&shared, upstream, index, request).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, whole(body)))
}

/// Sends a request that waits for its release in a task of its own, so that it is sent even if
/// the scheduler has gone.
async fn held(
    shared: Arc<Shared>,
    index: usize,
    request: Request<AnyBody>,
) -> Result<Response<AnyBody>> {
    let (send, receive) = oneshot::channel();
    let mut releases = shared.releases.subscribe();
    shared.held.fetch_add(1, Ordering::SeqCst);
    tokio::spawn(async move {
        // An error means that the proxy ends.
        let is_released = releases.changed().await.is_ok();
        shared.held.fetch_sub(1, Ordering::SeqCst);
        if is_released {
            let _ = send.send(detached(shared, index, request).await);
        }
    });
    receive.await?
}

/// Sends a request over a connection of its own, and waits for all of the answer.
async fn detached(
    shared: Arc<Shared>,
    index: usize,
    request: Request<AnyBody>,
) -> Result<Response<AnyBody>> {
    let response = forward(&shared, &Upstream::default(), index, request).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, whole(body)))
}

async fn forward(
    shared: &Shared,
    upstream: &Upstream,
    index: usize,
    request: Request<AnyBody>,
) -> Result<Response<Incoming>> {
    let mut upstream = upstream.lock().await;
    let mut sender = match upstream.take() {
        Some(sender) if !sender.is_closed() => sender,
        _ => connect(shared.upstream).await?,
    };
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    *upstream = Some(sender);
    let code = response.status().as_u16();
    shared.note(index, |exchange| {
        exchange.code = Some(code);
        exchange.is_expired |= code == 410;
    });
    Ok(response)
}

async fn connect(port: u16) -> Result<SendRequest<AnyBody>> {
    let stream = tls(port).await.context("connecting to the API server")?;
    let (sender, connection) = client::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// What the API server would say.
fn refusal(code: u16) -> Result<Response<AnyBody>> {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        429 => "TooManyRequests",
        500 => "InternalError",
        _ => "",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "a fault of the test's proxy", "reason": reason, "code": code,
    });
    let mut response = Response::builder().status(code).header("content-type", "application/json");
    if code == 429 {
        response = response.header("retry-after", "1");
    }
    Ok(response.body(whole(status.to_string()))?)
}
