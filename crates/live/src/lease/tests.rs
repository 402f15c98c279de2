//! Candidates against an API server that holds one lease in memory.

use std::sync::{Arc, Mutex};

use http::{Method, Request, Response, StatusCode};
use kube::client::Body;
use model::Millis;
use serde_json::json;

use super::*;

/// The lease, and how often it was written.
#[derive(Default)]
struct Server {
    lease: Option<Lease>,
    version: u64,
    /// Holders that get no answer any more.
    cut: Vec<&'static str>,
}

type Shared = Arc<Mutex<Server>>;

impl Server {
    fn write(&mut self, mut lease: Lease) -> Response<Body> {
        self.version += 1;
        lease.metadata.resource_version = Some(self.version.to_string());
        self.lease = Some(lease.clone());
        answer(StatusCode::OK, &lease)
    }

    fn serve(&mut self, method: &Method, body: &[u8]) -> Response<Body> {
        let sent = || serde_json::from_slice::<Lease>(body).unwrap();
        match (method.as_str(), &self.lease) {
            ("GET", Some(lease)) => answer(StatusCode::OK, lease),
            ("GET" | "PUT", None) => refusal(StatusCode::NOT_FOUND),
            ("POST", None) => self.write(sent()),
            ("PUT", Some(lease))
                if lease.metadata.resource_version == sent().metadata.resource_version =>
            {
                self.write(sent())
            }
            ("POST" | "PUT", Some(_)) => refusal(StatusCode::CONFLICT),
            _ => refusal(StatusCode::METHOD_NOT_ALLOWED),
        }
    }
}

fn answer(code: StatusCode, body: &impl serde::Serialize) -> Response<Body> {
    let body = Body::from(serde_json::to_vec(body).unwrap());
    Response::builder().status(code).body(body).unwrap()
}

fn refusal(code: StatusCode) -> Response<Body> {
    answer(code, &json!({"kind": "Status", "status": "Failure", "code": code.as_u16()}))
}

fn candidate(server: &Shared, name: &'static str, settings: &LeaderElection) -> Candidate {
    let server = Arc::clone(server);
    let service = tower::service_fn(move |request: Request<Body>| {
        let server = Arc::clone(&server);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await.unwrap();
            if server.lock().unwrap().cut.contains(&name) {
                std::future::pending::<()>().await;
            }
            Ok::<_, kube::Error>(server.lock().unwrap().serve(&parts.method, &body))
        }
    });
    let client = kube::Client::new(service, "default");
    Candidate::named(client, settings, name.into(), 1)
}

/// Long enough that nothing expires while a test runs, unless it waits for that.
fn patient() -> LeaderElection {
    LeaderElection { retry_period: Millis(10), ..LeaderElection::default() }
}

fn hasty() -> LeaderElection {
    LeaderElection {
        lease_duration: Millis(3000),
        renew_deadline: Millis(2000),
        retry_period: Millis(20),
        ..LeaderElection::default()
    }
}

/// Longer than any wait here, shorter than anybody's patience.
const TOO_LONG: Duration = Duration::from_secs(60);

/// Waits until it leads.
async fn leads(leadership: &Leadership) {
    let mut changes = leadership.watch();
    tokio::time::timeout(TOO_LONG, changes.wait_for(|leads| *leads)).await.unwrap().unwrap();
}

/// Waits until it has lost.
async fn loss(campaign: tokio::task::JoinHandle<Loss>) -> Loss {
    tokio::time::timeout(TOO_LONG, campaign).await.unwrap().unwrap()
}

async fn until(what: impl Fn() -> bool) {
    let waiting = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(TOO_LONG, waiting).await.unwrap();
}

fn spec(server: &Shared) -> k8s_openapi::api::coordination::v1::LeaseSpec {
    server.lock().unwrap().lease.clone().unwrap().spec.unwrap()
}

fn holder(server: &Shared) -> Option<String> {
    let lease = server.lock().unwrap().lease.clone()?;
    lease.spec?.holder_identity
}

#[tokio::test]
async fn a_leader_without_answers_stops_before_another_starts() {
    let server = Shared::default();
    let mut first = candidate(&server, "first", &hasty());
    let mut second = candidate(&server, "second", &hasty());
    let (one, two) = (first.leadership(), second.leadership());
    let campaign = tokio::spawn(async move { first.campaign().await });
    leads(&one).await;
    assert!(one.may_bind(Instant::now()));
    let standby = tokio::spawn(async move { second.campaign().await });

    let never_two = async {
        loop {
            let now = Instant::now();
            assert!(!(one.may_bind(now) && two.may_bind(now)), "two may bind at once");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let story = async {
        // The leader renews, and the other one waits.
        until(|| server.lock().unwrap().version > 5).await;
        assert!(one.is_leader() && !two.is_leader());
        server.lock().unwrap().cut.push("first");
        assert_eq!(loss(campaign).await, Loss::Late);
        assert!(!one.is_leader() && !one.may_bind(Instant::now()));
        leads(&two).await;
        assert!(two.may_bind(Instant::now()));
    };
    tokio::select! {
        () = never_two => unreachable!("it has no end"),
        () = story => {}
    }
    let spec = spec(&server);
    assert_eq!(spec.holder_identity.as_deref(), Some("second"));
    assert_eq!(spec.lease_transitions, Some(1));
    standby.abort();
}

#[tokio::test]
async fn a_released_lease_is_taken_over_without_waiting_for_it_to_expire() {
    let server = Shared::default();
    let mut first = candidate(&server, "first", &patient());
    let mut second = candidate(&server, "second", &patient());
    let (one, two) = (first.leadership(), second.leadership());
    tokio::select! {
        loss = first.campaign() => panic!("lost: {loss}"),
        () = leads(&one) => {}
    }
    let standby = tokio::spawn(async move { second.campaign().await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!two.is_leader());
    first.release().await;
    assert!(!one.may_bind(Instant::now()) && !one.is_leader());
    // Fifteen seconds would be too long for this.
    tokio::time::timeout(Duration::from_secs(10), leads(&two)).await.unwrap();
    assert_eq!(spec(&server).lease_transitions, Some(1));
    standby.abort();
}

#[tokio::test]
async fn a_replica_that_does_not_lead_releases_nothing() {
    let server = Shared::default();
    let mut first = candidate(&server, "first", &patient());
    let mut second = candidate(&server, "second", &patient());
    second.release().await;
    assert!(server.lock().unwrap().lease.is_none());
    let one = first.leadership();
    tokio::select! {
        loss = first.campaign() => panic!("lost: {loss}"),
        () = leads(&one) => {}
    }
    second.release().await;
    assert_eq!(holder(&server).as_deref(), Some("first"));
    assert!(one.may_bind(Instant::now()));
}

#[tokio::test]
async fn a_deleted_lease_comes_back_with_the_same_leader() {
    let server = Shared::default();
    let mut first = candidate(&server, "first", &patient());
    let mut second = candidate(&server, "second", &patient());
    let (one, two) = (first.leadership(), second.leadership());
    let campaign = tokio::spawn(async move { first.campaign().await });
    leads(&one).await;
    let standby = tokio::spawn(async move { second.campaign().await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    for _ in 0..20 {
        server.lock().unwrap().lease = None;
        until(|| holder(&server).is_some()).await;
        assert_eq!(holder(&server).as_deref(), Some("first"));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(one.may_bind(Instant::now()) && !two.is_leader());
    assert!(!campaign.is_finished());
    campaign.abort();
    standby.abort();
}

#[tokio::test]
async fn a_leader_ends_when_somebody_else_is_written_in() {
    let server = Shared::default();
    let mut first = candidate(&server, "first", &patient());
    let one = first.leadership();
    let campaign = tokio::spawn(async move { first.campaign().await });
    leads(&one).await;
    {
        let mut server = server.lock().unwrap();
        let mut lease = server.lease.clone().unwrap();
        lease.spec.as_mut().unwrap().holder_identity = Some("by-hand".into());
        server.write(lease);
    }
    assert_eq!(loss(campaign).await, Loss::TakenBy("by-hand".into()));
    assert!(!one.may_bind(Instant::now()) && !one.is_leader());
}

#[test]
fn standby_pauses_are_spread_over_a_fifth() {
    let server = Shared::default();
    // A client needs a runtime, though nothing is sent.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _inside = runtime.enter();
    let mut candidate = candidate(&server, "first", &LeaderElection::default());
    let pauses: Vec<_> = (0..200).map(|_| candidate.standby_pause().as_millis()).collect();
    let (min, max) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
    assert!((2000..2100).contains(min) && (2300..2400).contains(max), "{min} to {max}");
}
