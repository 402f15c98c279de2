//! Connections for requests whose answers are read whole.
//!
//! Bindings and events are most of what the process does, and on their way to the socket they need
//! nothing but credentials. So a connection belongs to one request at a time and is moved on by
//! whoever waits for the answer: it has no task of its own, and nobody else is woken. Connections
//! that are not in use stand in a pool.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::header::{HOST, HeaderValue};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::rt::{Read, Write};
use kube::client::Body;
use tokio::time::Instant;
use tower::{BoxError, Service, ServiceExt as _};

/// A connection that nobody uses for this long is closed.
const IDLE_MAX: Duration = Duration::from_secs(30);

type Future<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;

/// Sends requests to one server. Clones share their connections.
#[derive(Clone)]
pub(super) struct Pool(Arc<Shared>);

struct Shared {
    connect: Box<dyn Fn() -> Future<Result<Line, BoxError>> + Send + Sync>,
    host: HeaderValue,
    /// What all paths begin with; empty for nearly all servers.
    prefix: String,
    /// No answer is larger.
    bytes_max: usize,
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    /// Connections that are not in use and since when, the one that was used last at the end.
    lines: Vec<(Instant, Line)>,
    /// Whether somebody closes those that are old.
    is_swept: bool,
}

/// A connection, and the end at which requests go in.
struct Line {
    requests: SendRequest<Body>,
    connection: Future<hyper::Result<()>>,
}

impl Pool {
    /// A pool for a server, empty yet.
    ///
    /// # Errors
    /// When the address names no server.
    pub(super) fn new<C>(connector: C, server: Uri, bytes_max: usize) -> Result<Self, BoxError>
    where
        C: Service<Uri> + Clone + Send + Sync + 'static,
        C::Response: Read + Write + Unpin + Send + 'static,
        C::Error: Into<BoxError>,
        C::Future: Send,
    {
        let authority = server.authority().ok_or("the address of the server names no host")?;
        let host = HeaderValue::from_str(authority.as_str())?;
        let prefix = server.path().trim_end_matches('/').to_owned();
        let connect = move || -> Future<Result<Line, BoxError>> {
            let (connector, server) = (connector.clone(), server.clone());
            Box::pin(async move {
                let stream = connector.oneshot(server).await.map_err(Into::into)?;
                let (requests, connection) = handshake(stream).await?;
                Ok(Line { requests, connection: Box::pin(connection) })
            })
        };
        let (connect, idle) = (Box::new(connect), Mutex::default());
        Ok(Self(Arc::new(Shared { connect, host, prefix, bytes_max, idle })))
    }
}

impl Service<Request<Body>> for Pool {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Future<Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let shared = self.0.clone();
        request.headers_mut().insert(HOST, shared.host.clone());
        Box::pin(async move {
            if !shared.prefix.is_empty() {
                let path = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
                *request.uri_mut() = Uri::try_from(format!("{}{path}", shared.prefix))?;
            }
            shared.exchange(request).await
        })
    }
}

impl Shared {
    /// Sends a request, and again only if not a byte of it was sent.
    async fn exchange(
        self: &Arc<Self>,
        mut request: Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        loop {
            let (mut line, is_new) = match self.take() {
                Some(line) => (line, false),
                None => ((self.connect)().await?, true),
            };
            match line.exchange(request, self.bytes_max).await {
                Ok(response) => {
                    self.keep(line);
                    return Ok(response);
                }
                Err((_, Some(unsent))) if !is_new => request = unsent,
                Err((error, _)) => return Err(error),
            }
        }
    }

    /// A connection that is ready for a request, if there is one.
    fn take(&self) -> Option<Line> {
        loop {
            let (_, mut line) = self.idle().lines.pop()?;
            if line.is_ready() {
                return Some(line);
            }
        }
    }

    fn keep(self: &Arc<Self>, line: Line) {
        let mut idle = self.idle();
        idle.lines.push((Instant::now(), line));
        if !std::mem::replace(&mut idle.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes connections that are not in use for long, as long as there are any.
async fn sweep(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(IDLE_MAX / 2).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut idle = shared.idle();
        idle.lines.retain_mut(|(since, line)| since.elapsed() < IDLE_MAX && line.is_ready());
        if idle.lines.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

impl Line {
    /// Whether a request can be sent. Sees to it first that an end is noticed that came while
    /// nobody looked.
    fn is_ready(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.connection.as_mut().poll(&mut context).is_pending() && self.requests.is_ready()
    }

    /// Sends a request and reads the answer whole; if that fails, the request comes back if it was
    /// not sent.
    async fn exchange(
        &mut self,
        request: Request<Body>,
        bytes_max: usize,
    ) -> Result<Response<Body>, (BoxError, Option<Request<Body>>)> {
        let Self { requests, connection } = self;
        let mut answer = pin!(async move {
            let response = requests.try_send_request(request).await.map_err(|mut error| {
                let unsent = error.take_message();
                (error.into_error().into(), unsent)
            })?;
            let (head, body) = response.into_parts();
            let body =
                Limited::new(body, bytes_max).collect().await.map_err(|error| (error, None))?;
            Ok(Response::from_parts(head, Body::from(body.to_bytes())))
        });
        let mut is_open = true;
        poll_fn(|context| {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            if is_open {
                // How it ended is told to whoever waits for the answer.
                is_open = connection.as_mut().poll(context).is_pending();
            }
            answer.as_mut().poll(context)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::client::legacy::connect::HttpConnector;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const ANSWER: &str = "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";

    async fn bench(path: &str) -> (Pool, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}{path}", listener.local_addr().unwrap());
        let pool = Pool::new(HttpConnector::new(), server.parse().unwrap(), 1000).unwrap();
        (pool, listener)
    }

    /// The next connection, which has to come soon.
    async fn accept(listener: &TcpListener) -> TcpStream {
        let accepted = tokio::time::timeout(Duration::from_secs(5), listener.accept()).await;
        accepted.expect("somebody connects").unwrap().0
    }

    /// Sends a body; tells the status, or why there is none.
    fn send(pool: &Pool, body: &str) -> tokio::task::JoinHandle<Result<u16, String>> {
        let request = Request::post("/api/x?y=z").body(Body::from(body.as_bytes().to_vec()));
        let sent = pool.clone().oneshot(request.unwrap());
        tokio::spawn(async move {
            let response = sent.await.map_err(|error| error.to_string())?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, "{}");
            Ok(status)
        })
    }

    /// Reads a request that ends like this, and answers it.
    async fn serve(stream: &mut TcpStream, end: &str, answer: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            let mut bytes = [0; 1024];
            let length = stream.read(&mut bytes).await.unwrap();
            assert_ne!(length, 0, "{text}");
            text.push_str(std::str::from_utf8(&bytes[..length]).unwrap());
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        text
    }

    #[tokio::test]
    async fn a_connection_is_used_again_until_the_server_ends_it() {
        let (pool, listener) = bench("/behind/").await;
        let sent = send(&pool, "one");
        let mut first = accept(&listener).await;
        let text = serve(&mut first, "one", ANSWER).await;
        assert_eq!(sent.await.unwrap(), Ok(201));
        assert!(text.starts_with("POST /behind/api/x?y=z HTTP/1.1\r\n"), "{text}");
        let host = format!("\r\nhost: {}\r\n", listener.local_addr().unwrap());
        assert!(text.contains(&host) && text.contains("\r\ncontent-length: 3\r\n"), "{text}");
        let sent = send(&pool, "two");
        serve(&mut first, "two", ANSWER).await;
        assert_eq!(sent.await.unwrap(), Ok(201), "over the same connection");
        drop(first);
        // The end has to arrive.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let sent = send(&pool, "three");
        let mut second = accept(&listener).await;
        serve(&mut second, "three", ANSWER).await;
        assert_eq!(sent.await.unwrap(), Ok(201));
    }

    #[tokio::test]
    async fn requests_at_a_time_have_a_connection_each() {
        let (pool, listener) = bench("").await;
        let sent = [send(&pool, "one"), send(&pool, "one")];
        let mut first = accept(&listener).await;
        let mut second = accept(&listener).await;
        for stream in [&mut second, &mut first] {
            serve(stream, "one", ANSWER).await;
        }
        for sent in sent {
            assert_eq!(sent.await.unwrap(), Ok(201));
        }
        assert_eq!(pool.0.idle().lines.len(), 2);
    }

    /// Whether the server acted on a request is not known then, so it must not be repeated here.
    #[tokio::test]
    async fn a_request_that_was_sent_is_not_sent_again() {
        let (pool, listener) = bench("").await;
        for answer in ["", "HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{"] {
            let sent = send(&pool, "one");
            let mut stream = accept(&listener).await;
            serve(&mut stream, "one", answer).await;
            drop(stream);
            assert!(sent.await.unwrap().is_err());
            assert!(pool.0.idle().lines.is_empty());
        }
        let another = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(another.is_err(), "nobody connects");
    }

    #[tokio::test]
    async fn an_answer_has_a_limit() {
        let (pool, listener) = bench("").await;
        let sent = send(&pool, "one");
        let mut stream = accept(&listener).await;
        let long = format!("HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n{}", "x".repeat(1001));
        serve(&mut stream, "one", &long).await;
        assert_eq!(sent.await.unwrap(), Err("length limit exceeded".into()));
        assert!(pool.0.idle().lines.is_empty(), "what is left of it is in nobody's way");
    }

    #[tokio::test]
    async fn whoever_gives_up_closes_the_connection() {
        let (pool, listener) = bench("").await;
        let sent = send(&pool, "one");
        let mut stream = accept(&listener).await;
        serve(&mut stream, "one", "").await;
        sent.abort();
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn connections_that_nobody_uses_are_closed() {
        let (pool, listener) = bench("").await;
        let sent = send(&pool, "one");
        let mut stream = accept(&listener).await;
        serve(&mut stream, "one", ANSWER).await;
        assert_eq!(sent.await.unwrap(), Ok(201));
        tokio::time::pause();
        tokio::time::sleep(IDLE_MAX / 3).await;
        assert_eq!(pool.0.idle().lines.len(), 1);
        tokio::time::sleep(IDLE_MAX * 2).await;
        assert!(pool.0.idle().lines.is_empty() && !pool.0.idle().is_swept);
        assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
    }
}
