//! The proxy between a plain client and a server that counts what it saw.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::*;

const BIND: &str = "/api/v1/namespaces/here/pods/a/binding";
const CLAIM: &str = "/api/v1/namespaces/here/persistentvolumeclaims/data";
const WATCH: &str = "/api/v1/pods?watch=true&resourceVersion=5";
const EXPIRED: &str = r#"{"type":"ERROR","object":{"message":"too old resource version: 5 (9)"}}"#;

/// Time for what never happens.
const NEVER: Duration = Duration::from_millis(200);

/// Time for what happens.
const SOON: Duration = Duration::from_secs(10);

/// A body that says one thing and does not end.
struct Endless(Option<Bytes>);

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.0.take() {
            Some(bytes) => Poll::Ready(Some(Ok(Frame::data(bytes)))),
            None => Poll::Pending,
        }
    }
}

/// A server with TLS that counts binds, and says in every answer whom it took the client for.
/// Watches are told that they are too old.
async fn server(binds: Arc<AtomicUsize>) -> u16 {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(serve(acceptor.clone(), stream, binds.clone()));
        }
    });
    port
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, binds: Arc<AtomicUsize>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(|request: Request<Incoming>| {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
        let is_bind = request.uri().path().ends_with("/binding");
        binds.fetch_add(usize::from(is_bind), Ordering::SeqCst);
        let token = request.headers()["authorization"].to_str().unwrap().to_owned();
        let answer = Response::builder().status(if is_bind { 201 } else { 200 });
        async move {
            if is_watch {
                answer.body(Endless(Some(EXPIRED.into())).boxed())
            } else {
                answer.body(Full::from(token).boxed())
            }
        }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// A proxy in front of a server, a client, and how many binds the server saw.
async fn line() -> (Proxy, SendRequest<Full<Bytes>>, Arc<AtomicUsize>) {
    let binds = Arc::new(AtomicUsize::new(0));
    let proxy = Proxy::start(server(binds.clone()).await, "spare").unwrap();
    let client = connect(&proxy).await;
    (proxy, client, binds)
}

async fn connect(proxy: &Proxy) -> SendRequest<Full<Bytes>> {
    let stream = TcpStream::connect(proxy.address).await.unwrap();
    let (client, connection) = handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn ask(client: &mut SendRequest<Full<Bytes>>, path: &str) -> hyper::Result<(u16, String)> {
    let request = match path {
        CLAIM => Request::put(path).body(Full::default()),
        BIND => Request::post(path).body(Full::from(r#"{"target":{"name":"node-7"}}"#)),
        _ => Request::get(path).header("authorization", "Bearer mine").body(Full::default()),
    };
    client.ready().await?;
    let response = client.send_request(request.unwrap()).await?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    Ok((code, String::from_utf8(body.to_vec()).unwrap()))
}

async fn until(mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < SOON);
        sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn what_passes_is_recorded() {
    let (proxy, mut client, binds) = line().await;
    let told = ask(&mut client, "/api/v1/nodes?limit=2").await.unwrap();
    assert_eq!(told, (200, "Bearer mine".into()));
    assert_eq!(ask(&mut client, BIND).await.unwrap(), (201, "Bearer spare".into()));
    assert_eq!(binds.load(Ordering::SeqCst), 1);
    let record = proxy.record();
    let list = &record[0];
    assert_eq!((list.path.as_str(), list.parameter("limit")), ("/api/v1/nodes", Some("2")));
    assert_eq!((list.code, list.bytes), (Some(200), 11));
    let bind = &record[1];
    assert!(bind.is_bound() && bind.fault.is_none());
    assert_eq!((bind.pod().as_deref(), bind.node.as_deref()), (Some("here/a"), Some("node-7")));
}

#[tokio::test]
async fn a_refused_bind_does_not_reach_the_server() {
    let (proxy, mut client, binds) = line().await;
    proxy.inject(Fault::Answer(409).next(1));
    let (code, body) = ask(&mut client, BIND).await.unwrap();
    assert!(code == 409 && body.contains("\"reason\":\"Conflict\""), "{body}");
    assert_eq!(binds.load(Ordering::SeqCst), 0);
    assert!(!proxy.record()[0].is_bound());
    assert_eq!(ask(&mut client, BIND).await.unwrap().0, 201);
}

#[tokio::test]
async fn changes_of_volumes_meet_faults_of_their_own() {
    let (proxy, mut client, _) = line().await;
    proxy.inject_into_volumes(Fault::Answer(500).next(1));
    assert_eq!(ask(&mut client, BIND).await.unwrap().0, 201);
    assert_eq!(ask(&mut client, CLAIM).await.unwrap().0, 500);
    assert_eq!(ask(&mut client, CLAIM).await.unwrap().0, 200);
    proxy.inject(Fault::Answer(409).next(1));
    assert_eq!(ask(&mut client, CLAIM).await.unwrap().0, 200);
    assert_eq!(ask(&mut client, BIND).await.unwrap().0, 409);
}

#[tokio::test]
async fn silence_comes_before_or_after_the_server_acted() {
    for (fault, seen) in [(Fault::Swallow, 0), (Fault::Unanswered, 1)] {
        let (proxy, mut client, binds) = line().await;
        proxy.inject(fault.next(1));
        assert!(timeout(NEVER, ask(&mut client, BIND)).await.is_err(), "{fault:?}");
        until(|| binds.load(Ordering::SeqCst) == seen).await;
        // The proxy hears of it after the server acted.
        until(|| proxy.record()[0].is_bound() == (seen == 1)).await;
    }
}

#[tokio::test]
async fn a_cut_comes_after_the_server_acted() {
    let (proxy, mut client, binds) = line().await;
    proxy.inject(Fault::Cut.next(1));
    assert!(timeout(SOON, ask(&mut client, BIND)).await.unwrap().is_err());
    assert_eq!(binds.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_held_bind_arrives_even_if_nobody_waits_for_it() {
    let (proxy, mut client, binds) = line().await;
    proxy.inject(Fault::Hold.after(0));
    assert!(timeout(NEVER, ask(&mut client, BIND)).await.is_err());
    assert_eq!((proxy.held(), binds.load(Ordering::SeqCst)), (1, 0));
    drop(client);
    until(|| !proxy.record()[0].is_open).await;
    proxy.release();
    until(|| proxy.record()[0].is_bound()).await;
    assert_eq!((proxy.held(), binds.load(Ordering::SeqCst)), (0, 1));
}

#[tokio::test]
async fn watches_stream_and_can_be_cut() {
    let (proxy, mut client, _) = line().await;
    let request = Request::get(WATCH).body(Full::default()).unwrap();
    let mut body = client.send_request(request).await.unwrap().into_body();
    let first = timeout(SOON, body.frame()).await.unwrap().unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), EXPIRED);
    let watch = &proxy.record()[0];
    assert!(watch.is_watch() && watch.is_open && watch.is_expired);
    let mut other = connect(&proxy).await;
    ask(&mut other, "/api/v1/nodes").await.unwrap();
    assert_eq!(proxy.cut_watches(), 1);
    assert!(timeout(SOON, body.frame()).await.unwrap().unwrap().is_err());
    assert!(ask(&mut other, "/api/v1/nodes").await.is_ok());
}

#[tokio::test]
async fn held_watches_arrive_late() {
    let (proxy, mut client, _) = line().await;
    proxy.hold_watches(true);
    let request = Request::get(WATCH).body(Full::default()).unwrap();
    let asked = client.send_request(request);
    tokio::pin!(asked);
    assert!(timeout(NEVER, &mut asked).await.is_err());
    proxy.hold_watches(false);
    assert_eq!(timeout(SOON, asked).await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn nobody_gets_through_while_it_refuses() {
    let (proxy, mut client, _) = line().await;
    ask(&mut client, "/api/v1/nodes").await.unwrap();
    proxy.refuse(true);
    assert!(ask(&mut client, "/api/v1/nodes").await.is_err());
    assert!(ask(&mut connect(&proxy).await, "/api/v1/nodes").await.is_err());
    proxy.refuse(false);
    assert!(ask(&mut connect(&proxy).await, "/api/v1/nodes").await.is_ok());
}
