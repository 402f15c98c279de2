//! The queue behind the bindings.

use super::*;
use crate::feed::feed;
use crate::testing::server;

fn pod(name: &str) -> PodKey {
    PodKey { uid: format!("u-{name}").into(), namespace: "ns".into(), name: name.into() }
}

struct Bench {
    writes: Arc<Writes>,
    binds: Arc<AtomicUsize>,
    inbox: std::sync::mpsc::Receiver<Input>,
    log: Arc<Mutex<Vec<crate::testing::Arrived>>>,
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
    let (feed, inbox) = feed();
    let metrics = Arc::new(Metrics::new(["s"], "host", "lease"));
    let limiters = (Arc::new(Limiter::new(-1, 1)), Limiter::new(-1, 1));
    let binds = Arc::new(AtomicUsize::new(0));
    let writes = Writes::new(client, feed, metrics, limiters, binds.clone(), "host".into());
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
async fn a_tier_in_doubt_is_a_warning_about_the_pod() {
    let bench = bench(200);
    let (scheduler, note) = ("s".into(), "tier bronze: why".into());
    bench.writes.warn(Warn { pod: pod("a"), scheduler, note });
    bench.writes.flushed().await;
    let log = bench.log.lock().unwrap();
    assert_eq!(log.len(), 1);
    let event: serde_json::Value = serde_json::from_str(&log[0].body).unwrap();
    let found = ["type", "reason", "note"].map(|key| event[key].as_str().unwrap_or_default());
    assert_eq!(found, ["Warning", "TierUnknown", "tier bronze: why"]);
    assert_eq!(event["regarding"]["uid"], "u-a");
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
    let queues = bench.writes.queues();
    assert_eq!(queues.late.len(), QUEUE_MAX);
    let Some((_, Write::Event { about: Subject::Pod(pod), .. })) = queues.late.front() else {
        panic!("events about pods only")
    };
    assert_eq!(&*pod.name, "p1");
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
    let api = crate::watch::GROUP_APIS[1];
    let group = GroupRef { api, key, uid: "u-train".into() };
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
        "kind": "PodGroup", "name": "train", "namespace": "ns", "uid": "u-train"});
    assert_eq!((&event["regarding"], &event["reason"]), (&regarding, &"GangScheduled".into()));
}

/// What the object of a gang is to say.
fn status(is_scheduled: bool) -> Report {
    let api = crate::watch::GROUP_APIS[0];
    let (kind, namespace, name) = (api.kind, "ns".into(), "g".into());
    let key = model::PodGroupKey { kind, namespace, name };
    let group = GroupRef { api, key, uid: "u-g".into() };
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
    bench.writes.report(status(true));
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert_eq!(sent(), 0);
    bench.writes.report(status(false));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sent(), 1);
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(sent(), 2, "it does not wait for ever");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_never_drops_that_a_gang_has_started() {
    let bench = bench(200);
    bench.binds.store(1, Ordering::Relaxed);
    bench.writes.report(status(true));
    for at in 0..QUEUE_MAX {
        bench.writes.push(Write::scheduled(pod(&format!("p{at}")), "n".into(), "s".into()));
    }
    let queues = bench.writes.queues();
    assert_eq!(queues.late.len(), QUEUE_MAX);
    assert!(matches!(queues.reasons.front(), Some(Write::Group { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_status_of_a_gang_that_is_refused_is_reported() {
    let bench = bench(422);
    bench.writes.report(status(false));
    bench.writes.flushed().await;
    let told = bench.inbox.try_iter().next();
    assert!(matches!(told, Some(Input::NotTold { uid }) if &*uid == "u-g"));
}
