//! The queue behind the bindings.

use std::collections::BTreeSet;

use model::PodKey;
use tokio::time::Instant;

use super::queues::LULL;
use super::*;
use crate::feed::feed;
use crate::testing::{Arrived, server};

fn pod(name: &str) -> PodRef {
    let (uid, namespace) = (format!("u-{name}").into(), "ns".into());
    PodRef { key: PodKey { uid, namespace, name: name.into() }, version: "7".into() }
}

struct Bench {
    writes: Arc<Writes>,
    binds: Arc<AtomicUsize>,
    inbox: crate::feed::Inbox,
    log: Arc<Mutex<Vec<Arrived>>>,
}

fn bench(code: u16) -> Bench {
    bench_after(0, 0, code)
}

/// The server answers so many requests with one code, and the rest with another.
fn bench_after(first: usize, first_code: u16, code: u16) -> Bench {
    let answered = Arc::new(AtomicUsize::new(0));
    let (client, log) = server(move |_| {
        let is_first = answered.fetch_add(1, Ordering::Relaxed) < first;
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            Some((if is_first { first_code } else { code }, "{}".into()))
        }
    });
    bench_with(client, log, Limiter::new(-1, 1))
}

fn bench_with(client: kube::Client, log: Arc<Mutex<Vec<Arrived>>>, limiter: Limiter) -> Bench {
    let (feed, inbox) = feed();
    let metrics = Arc::new(Metrics::new(["s"], "host", "lease"));
    let limiters = (Arc::new(limiter), Limiter::new(-1, 1));
    let binds = Arc::new(AtomicUsize::new(0));
    let writes = Writes::new(client.into(), feed, metrics, limiters, binds.clone(), "host".into());
    let writes = Arc::new(writes);
    tokio::spawn(writes.clone().run());
    Bench { writes, binds, inbox, log }
}

fn tell(name: &str) -> Tell {
    Tell {
        pod: pod(name),
        scheduler: "s".into(),
        reason: "Unschedulable",
        message: "0/0 nodes".into(),
        since_unix_ms: None,
        status: Some(StatusChange { generation: 1, is_transition: true, nomination: None }),
        has_event: true,
    }
}

#[tokio::test(start_paused = true)]
async fn conditions_and_events_are_written() {
    let bench = bench(200);
    bench.writes.tell(tell("a"));
    bench.writes.push(Write::scheduled(pod("b"), "n1".into(), "s".into()));
    bench.writes.flushed().await;
    let log = bench.log.lock().unwrap();
    let found: Vec<_> = log.iter().map(|a| format!("{} {}", a.method, a.target)).collect();
    let event = "POST /apis/events.k8s.io/v1/namespaces/ns/events";
    assert_eq!(found, ["PATCH /api/v1/namespaces/ns/pods/a/status", event, event]);
    assert!(log[1].body.contains("\"note\":\"0/0 nodes\""), "{}", log[1].body);
    let note = "\"note\":\"Successfully assigned ns/b to n1\"";
    assert!(log[2].body.contains(note), "{}", log[2].body);
    assert!(log[2].body.contains("\"reportingInstance\":\"s-host\""), "{}", log[2].body);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_doubt_is_a_warning_about_the_pod() {
    for (doubt, reason) in [(Doubt::Tier, "TierUnknown"), (Doubt::Hint, "HintIgnored")] {
        check_doubt(doubt, reason).await;
    }
}

async fn check_doubt(doubt: Doubt, reason: &str) {
    let bench = bench(200);
    let (scheduler, note) = ("s".into(), "tier bronze: why".into());
    bench.writes.warn(Warn { about: Subject::Pod(pod("a")), scheduler, doubt, note });
    bench.writes.flushed().await;
    let log = bench.log.lock().unwrap();
    assert_eq!(log.len(), 1);
    let event: serde_json::Value = serde_json::from_str(&log[0].body).unwrap();
    let found = ["type", "reason", "note"].map(|key| event[key].as_str().unwrap_or_default());
    assert_eq!(found, ["Warning", reason, "tier bronze: why"]);
    assert_eq!(event["regarding"]["uid"], "u-a");
    assert_eq!(event["regarding"]["resourceVersion"], "7");
}

#[tokio::test(start_paused = true)]
async fn while_bindings_are_out_there_is_only_a_trickle() {
    let bench = bench(200);
    let sent = || bench.log.lock().unwrap().len();
    bench.binds.store(1, Ordering::Relaxed);
    for at in 0..1000 {
        bench.writes.push(Write::scheduled(pod(&format!("p{at}")), "n".into(), "s".into()));
    }
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(sent(), 0, "events wait for the bindings");
    bench.writes.tell(tell("waiting"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sent(), 1, "conditions do not");
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!((10..=300).contains(&sent()), "{}", sent());
    bench.binds.store(0, Ordering::Relaxed);
    bench.writes.settled();
    bench.writes.flushed().await;
    assert_eq!(sent(), 1002);
}

#[tokio::test(start_paused = true)]
async fn between_two_bursts_of_bindings_nothing_is_written_that_can_wait() {
    let bench = bench(200);
    let sent = || bench.log.lock().unwrap().len();
    for _ in 0..20 {
        for at in 0..8 {
            bench.writes.settled();
            bench.writes.push(Write::scheduled(pod(&format!("p{at}")), "n".into(), "s".into()));
        }
        tokio::time::sleep(LULL / 2).await;
    }
    assert_eq!(sent(), 0);
    tokio::time::sleep(LULL).await;
    assert!(sent() > 0, "the bursts are over");
    bench.writes.flushed().await;
    assert_eq!(sent(), 160);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_is_refused_is_reported() {
    let bench = bench(422);
    bench.writes.tell(tell("a"));
    bench.writes.flushed().await;
    let told = bench.inbox.try_iter().next();
    assert!(matches!(told, Some(Input::NotTold { uid }) if &*uid == "u-a"));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_the_oldest_event() {
    let bench = bench(200);
    bench.binds.store(1, Ordering::Relaxed);
    for at in 0..=QUEUE_MAX {
        bench.writes.push(Write::scheduled(pod(&format!("p{at}")), "n".into(), "s".into()));
    }
    let mut queues = bench.writes.queues();
    assert_eq!(queues.late(), QUEUE_MAX);
    let Some((Write::Event { about: Subject::Pod(pod), .. }, _)) = queues.pop(|_| true) else {
        panic!("events about pods only")
    };
    assert_eq!(&*pod.key.name, "p1");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_our_rights_yet_is_asked_again() {
    for code in [401, 403, 429, 500, 503] {
        let bench = bench_after(3, code, 201);
        bench.writes.push(Write::scheduled(pod("a"), "n1".into(), "s".into()));
        bench.writes.flushed().await;
        assert_eq!(bench.log.lock().unwrap().len(), 4, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_owner_of_a_gang_is_told_in_its_object() {
    let bench = bench(200);
    let key = model::PodGroupKey {
        kind: model::PodGroupKind::Native,
        namespace: "ns".into(),
        name: "train".into(),
    };
    let api = &crate::watch::OPTIONAL[1];
    let group = GroupRef { api, key, uid: "u-train".into(), version: "9".into() };
    let condition = GroupCondition {
        r#type: "PodGroupInitiallyScheduled",
        is_scheduled: true,
        reason: "Scheduled",
        message: "all".into(),
        generation: 1,
        is_transition: true,
    };
    bench.writes.report(Report {
        scheduler: "s".into(),
        condition: Some((group.clone(), condition)),
        event: Some((Subject::Group(group), Happened::Scheduled, "8 of 8".into())),
    });
    bench.writes.flushed().await;
    let log = bench.log.lock().unwrap();
    let found: Vec<_> = log.iter().map(|a| format!("{} {}", a.method, a.target)).collect();
    let patch = "PATCH /apis/scheduling.k8s.io/v1alpha3/namespaces/ns/podgroups/train/status";
    assert_eq!(found, [patch, "POST /apis/events.k8s.io/v1/namespaces/ns/events"]);
    assert!(log[0].body.contains("{\"metadata\":{\"uid\":\"u-train\"}"), "{}", log[0].body);
    let event: serde_json::Value = serde_json::from_str(&log[1].body).unwrap();
    let regarding = serde_json::json!({"apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup", "name": "train", "namespace": "ns", "uid": "u-train",
        "resourceVersion": "9"});
    assert_eq!((&event["regarding"], &event["reason"]), (&regarding, &"GangScheduled".into()));
}

/// What the object of a gang is to say.
fn status(name: &str, is_scheduled: bool) -> Report {
    let api = &crate::watch::OPTIONAL[0];
    let uid = format!("u-{name}").into();
    let key = model::PodGroupKey::of(model::PodGroupKind::Native, &format!("ns/{name}"));
    let group = GroupRef { api, key, uid, version: "9".into() };
    let condition = GroupCondition {
        r#type: "PodGroupInitiallyScheduled",
        is_scheduled,
        reason: if is_scheduled { "Scheduled" } else { "Unschedulable" },
        message: "why".into(),
        generation: 1,
        is_transition: true,
    };
    Report { scheduler: "s".into(), condition: Some((group, condition)), event: None }
}

#[tokio::test(start_paused = true)]
async fn that_a_gang_has_started_waits_for_the_bindings_and_why_one_waits_does_not() {
    let bench = bench(200);
    let sent = || bench.log.lock().unwrap().len();
    bench.binds.store(1, Ordering::Relaxed);
    bench.writes.report(status("g", true));
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(sent(), 0);
    bench.writes.report(status("other", false));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sent(), 1);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(sent(), 2, "it does not wait for ever");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_never_drops_that_a_gang_has_started() {
    let bench = bench(200);
    bench.binds.store(1, Ordering::Relaxed);
    bench.writes.report(status("g", true));
    for at in 0..QUEUE_MAX {
        bench.writes.push(Write::scheduled(pod(&format!("p{at}")), "n".into(), "s".into()));
    }
    bench.writes.push(Write::scheduled(pod("last"), "n".into(), "s".into()));
    let mut queues = bench.writes.queues();
    assert_eq!((queues.late(), queues.waiting()), (QUEUE_MAX, QUEUE_MAX + 1));
    assert!(matches!(queues.pop(|_| true), Some((Write::Group { .. }, _))));
}

#[tokio::test(start_paused = true)]
async fn a_status_of_a_gang_that_is_refused_is_reported() {
    let bench = bench(422);
    bench.writes.report(status("g", false));
    bench.writes.flushed().await;
    let told = bench.inbox.try_iter().next();
    assert!(matches!(told, Some(Input::NotTold { uid }) if &*uid == "u-g"));
}

/// A pod whose status is to say `message`.
fn told(name: &str, message: &str, is_transition: bool) -> Tell {
    let status = Some(StatusChange { generation: 1, is_transition, nomination: None });
    Tell { status, message: message.into(), has_event: false, ..tell(name) }
}

/// A pod "ns/a" at an API server, which checks versions as Kubernetes does.
struct Cluster {
    version: u32,
    node: &'static str,
    condition: String,
}

/// A server that acts so long after a request has arrived.
fn cluster(delay: Duration) -> (Bench, Arc<Mutex<Cluster>>) {
    let cluster = Cluster { version: 7, node: "", condition: String::new() };
    let cluster = Arc::new(Mutex::new(cluster));
    let kept = cluster.clone();
    let (client, log) = server(move |arrived| {
        let kept = kept.clone();
        async move {
            tokio::time::sleep(delay).await;
            Some(kept.lock().unwrap().answer(&arrived))
        }
    });
    (bench_with(client, log, Limiter::new(-1, 1)), cluster)
}

impl Cluster {
    fn answer(&mut self, arrived: &Arrived) -> (u16, String) {
        if arrived.method == Method::PATCH {
            let patch: serde_json::Value = serde_json::from_str(&arrived.body).unwrap();
            let version = patch["metadata"]["resourceVersion"].as_str();
            if version != Some(&*self.version.to_string()) {
                return (409, "{}".into());
            }
            self.version += 1;
            let message = &patch["status"]["conditions"][0]["message"];
            self.condition = message.as_str().unwrap_or_default().into();
        }
        let (version, node) = (self.version.to_string(), self.node);
        let metadata = serde_json::json!({"uid": "u-a", "resourceVersion": version});
        (200, serde_json::json!({"metadata": metadata, "spec": {"nodeName": node}}).to_string())
    }

    fn bind(&mut self) {
        self.version += 1;
        (self.node, self.condition) = ("n", "bound".into());
    }
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_is_under_way_when_the_pod_is_bound_changes_nothing() {
    let (bench, cluster) = cluster(Duration::from_millis(300));
    bench.writes.tell(told("a", "why", true));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(bench.log.lock().unwrap().len(), 1, "it is under way");
    bench.writes.bound("u-a");
    cluster.lock().unwrap().bind();
    bench.writes.flushed().await;
    assert_eq!(cluster.lock().unwrap().condition, "bound");
    assert!(bench.log.lock().unwrap().iter().all(|it| it.body.contains("\"resourceVersion\":\"7")));
}

#[tokio::test(start_paused = true)]
async fn nothing_that_waits_is_written_once_the_binding_goes_out() {
    let (bench, _) = cluster(Duration::from_millis(10));
    bench.binds.store(1, Ordering::Relaxed);
    bench.writes.tell(told("other", "why", true));
    bench.writes.tell(told("a", "why", true));
    bench.writes.push(Write::propose(pod("a"), None));
    bench.writes.bound("u-a");
    bench.writes.flushed().await;
    let log = bench.log.lock().unwrap();
    assert!(log.iter().all(|arrived| arrived.target.contains("/pods/other")), "{log:?}");
    let told: BTreeSet<_> = bench.inbox.try_iter().map(uid).collect();
    assert!(told.contains("u-a"), "the engine knows that the status does not say so");
}

fn uid(input: Input) -> Box<str> {
    let Input::NotTold { uid } = input else { panic!("nothing else is fed") };
    uid
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_changed_is_read_and_told_if_it_still_waits() {
    let (bench, cluster) = cluster(Duration::from_millis(10));
    cluster.lock().unwrap().version = 20;
    bench.writes.tell(told("a", "why", true));
    bench.writes.flushed().await;
    assert_eq!(cluster.lock().unwrap().condition, "why");
    let methods = |bench: &Bench| -> String {
        let log = bench.log.lock().unwrap();
        log.iter().map(|arrived| arrived.method.to_string() + " ").collect()
    };
    assert_eq!(methods(&bench), "PATCH GET PATCH ");
    // A version that is not known is read first.
    let mut unknown = told("a", "again", false);
    unknown.pod.version = Box::default();
    bench.writes.tell(unknown);
    bench.writes.flushed().await;
    assert_eq!(cluster.lock().unwrap().condition, "again");
    assert_eq!(methods(&bench), "PATCH GET PATCH GET PATCH ");
}

#[tokio::test(start_paused = true)]
async fn since_when_something_is_so_may_be_earlier_than_it_is_told() {
    let (bench, _) = cluster(Duration::from_millis(10));
    let since_unix_ms = Some(1_794_825_000_700);
    bench.writes.tell(Tell { since_unix_ms, ..told("a", "why", true) });
    bench.writes.flushed().await;
    let log = bench.log.lock().unwrap();
    let patch: serde_json::Value = serde_json::from_str(&log[0].body).unwrap();
    let condition = &patch["status"]["conditions"][0];
    assert_eq!(condition["lastTransitionTime"], "2026-11-16T10:30:00Z");
}

#[tokio::test(start_paused = true)]
async fn of_what_a_status_is_to_say_the_newest_is_written_after_what_is_under_way() {
    let (bench, cluster) = cluster(Duration::from_millis(100));
    bench.writes.tell(told("a", "first", true));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut second = told("a", "second", true);
    let nomination = Some(Some("n1".into()));
    second.status = Some(StatusChange { generation: 1, is_transition: true, nomination });
    bench.writes.tell(second);
    for at in 3..100 {
        bench.writes.tell(told("a", &format!("message {at}"), false));
    }
    bench.writes.flushed().await;
    assert_eq!(cluster.lock().unwrap().condition, "message 99");
    let log = bench.log.lock().unwrap();
    assert_eq!(log.len(), 2, "{log:?}");
    let last: serde_json::Value = serde_json::from_str(&log[1].body).unwrap();
    assert_eq!(last["status"]["nominatedNodeName"], "n1", "nothing is lost on the way");
    assert!(last["status"]["conditions"][0]["lastTransitionTime"].is_string());
}

#[tokio::test(start_paused = true)]
async fn reasons_wait_in_a_bounded_queue_and_what_falls_out_is_told_again() {
    let bench = bench(200);
    bench.binds.store(1, Ordering::Relaxed);
    for round in 0..3 {
        for at in 0..QUEUE_MAX {
            bench.writes.tell(told(&format!("p{at}"), &format!("round {round}"), true));
        }
    }
    assert_eq!(bench.writes.queues().waiting(), QUEUE_MAX, "one for each pod");
    bench.writes.tell(told("one-more", "why", true));
    assert_eq!(bench.writes.queues().waiting(), QUEUE_MAX);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(bench.inbox.try_iter().map(uid).collect::<Vec<_>>(), ["u-p0".into()]);
}

#[tokio::test(start_paused = true)]
async fn a_binding_does_not_wait_for_conditions() {
    let (client, log) = server(|_| async { Some((200, "{}".into())) });
    let Bench { writes, .. } = bench_with(client, log, Limiter::new(50_000, 100));
    for at in 0..10_000 {
        writes.tell(told(&format!("p{at}"), "why", true));
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    let start = Instant::now();
    for _ in 0..50 {
        writes.limiter.pass().await;
    }
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
}
