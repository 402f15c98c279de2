//! An API server made of a function, for the tests of this crate.

use std::future::Future;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;

/// Log lines at info level and above that a thread writes.
#[derive(Clone)]
pub(crate) struct LogLines {
    bytes: Arc<Mutex<Vec<u8>>>,
    _guard: Arc<tracing::subscriber::DefaultGuard>,
}

/// Collects what this thread logs, as long as the result is there.
pub(crate) fn log_lines() -> LogLines {
    let bytes = Arc::new(Mutex::new(Vec::new()));
    let lines = tracing_subscriber::fmt().with_ansi(false).with_max_level(tracing::Level::INFO);
    let subscriber = lines.with_writer(Written(bytes.clone())).finish();
    LogLines { bytes, _guard: Arc::new(tracing::subscriber::set_default(subscriber)) }
}

impl LogLines {
    /// What was logged since this was last asked.
    pub(crate) fn take(&self) -> Vec<String> {
        let bytes = std::mem::take(&mut *self.bytes.lock().expect("no test panics here"));
        let text = String::from_utf8(bytes).expect("text");
        text.lines().map(str::to_owned).collect()
    }
}

#[derive(Clone)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no test panics here").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl tracing_subscriber::fmt::MakeWriter<'_> for Written {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) body: String,
}

/// What is answered: a status and a body; nothing is silence, for ever.
pub(crate) type Reply = Option<(u16, String)>;

/// A client whose requests are answered by a function, and what arrived.
pub(crate) fn server<F, R>(answer: F) -> (kube::Client, Arc<Mutex<Vec<Arrived>>>)
where
    F: Fn(Arrived) -> R + Send + Sync + 'static,
    R: Future<Output = Reply> + Send + 'static,
{
    let log = Arc::new(Mutex::new(Vec::new()));
    let (answer, kept) = (Arc::new(answer), log.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (answer, kept) = (answer.clone(), kept.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.expect("a body of ours").to_bytes();
            let arrived = Arrived {
                method: head.method,
                target: head.uri.to_string(),
                body: String::from_utf8(body.to_vec()).expect("text"),
            };
            kept.lock().expect("no test panics here").push(arrived.clone());
            let Some((status, text)) = answer(arrived).await else {
                std::future::pending::<()>().await;
                unreachable!("silence lasts");
            };
            let response = Response::builder().status(status).body(Body::from(text.into_bytes()));
            Ok::<_, std::convert::Infallible>(response.expect("a response"))
        }
    });
    (kube::Client::new(service, "default"), log)
}
