//! Bindings against a server that answers what a test wants.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use k8s::render::StatusChange;
use model::Attempt;
use serde_json::json;

use super::*;
use crate::feed::feed;
use crate::order::{Disband, Tell, Victim};
use crate::testing::{Reply, server};

const OURS: &str = "n1";

fn pod_on(uid: &str, node: &str) -> Reply {
    let spec = if node.is_empty() { json!({}) } else { json!({"nodeName": node}) };
    Some((200, json!({"metadata": {"uid": uid}, "spec": spec}).to_string()))
}

fn status(code: u16) -> Reply {
    Some((code, json!({"message": format!("said {code}")}).to_string()))
}

/// Binds with the given replies, then silence. Returns what came of it and the methods that were
/// asked.
async fn check(replies: Vec<Reply>) -> (Option<Result<(), Option<String>>>, String) {
    let replies = Mutex::new(VecDeque::from(replies));
    let (client, log) = server(move |_| {
        let reply = replies.lock().unwrap().pop_front().flatten();
        async move { reply }
    });
    let dispatch = dispatch(client, Leadership::always());
    let result = dispatch.bind(&bind()).await;
    let methods: Vec<String> =
        log.lock().unwrap().iter().map(|arrived| arrived.method.to_string()).collect();
    (result.map(|result| result.map_err(|refusal| refusal.message)), methods.join(" "))
}

fn dispatch(client: kube::Client, leadership: Leadership) -> Dispatch {
    let (feed, _) = feed();
    let metrics = Arc::new(Metrics::new(["s"], "host", "lease"));
    let limiter = Arc::new(Limiter::new(-1, 1));
    let in_flight = Arc::new(AtomicUsize::new(0));
    let limiters = (limiter.clone(), Limiter::new(-1, 1));
    let writes = Writes::new(
        client.clone().into(),
        feed.clone(),
        metrics.clone(),
        limiters,
        in_flight.clone(),
        "host".into(),
    );
    let (binder, writes) = (client.clone().into(), Arc::new(writes));
    let evictions = Arc::new(Semaphore::new(EVICTIONS_MAX));
    Dispatch { client, binder, feed, metrics, leadership, limiter, writes, evictions, in_flight }
}

fn bind() -> Bind {
    let now = Instant::now();
    Bind {
        pod: PodKey { uid: "u1".into(), namespace: "ns".into(), name: "p".into() },
        version: "7".into(),
        node: OURS.into(),
        scheduler: "s".into(),
        attempt: Attempt(1),
        body: b"{}".to_vec(),
        read_at: None,
        began: now,
        arrived: now,
        tries: 1,
    }
}

#[tokio::test(start_paused = true)]
async fn outcomes_by_table() {
    let refused = |code: &str| Some(Err(Some(format!("binding to node n1 was refused: {code}"))));
    let table = [
        ("taken", vec![status(201)], Some(Ok(())), "POST"),
        ("gone", vec![status(404)], Some(Err(None)), "POST"),
        ("forbidden", vec![status(403)], refused("403 Forbidden: said 403"), "POST"),
        ("our own", vec![status(409), pod_on("u1", OURS)], Some(Ok(())), "POST GET"),
        ("elsewhere", vec![status(409), pod_on("u1", "n2")], Some(Err(None)), "POST GET"),
        ("another pod", vec![status(409), pod_on("u2", OURS)], Some(Err(None)), "POST GET"),
        (
            "fault, nowhere",
            vec![status(500), pod_on("u1", "")],
            refused("500 Internal Server Error: said 500"),
            "POST GET",
        ),
        ("fault, yet there", vec![status(500), pod_on("u1", OURS)], Some(Ok(())), "POST GET"),
        ("busy", vec![status(429), status(429), status(201)], Some(Ok(())), "POST POST POST"),
        ("silence, yet there", vec![None, pod_on("u1", OURS)], Some(Ok(())), "POST GET"),
        ("silence, gone", vec![None, status(404)], Some(Err(None)), "POST GET"),
        (
            "silence twice",
            vec![None, pod_on("u1", ""), None, pod_on("u1", OURS)],
            Some(Ok(())),
            "POST GET POST GET",
        ),
        (
            "silence, then a fault: the first may yet arrive",
            vec![None, pod_on("u1", ""), status(500), pod_on("u1", ""), status(201)],
            Some(Ok(())),
            "POST GET POST GET POST",
        ),
        (
            "silence, and the read fails too",
            vec![None, status(500), None, pod_on("u1", OURS)],
            Some(Ok(())),
            "POST GET GET GET",
        ),
    ];
    for (name, replies, expected, methods) in table {
        assert_eq!(check(replies).await, (expected, methods.into()), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_lead_sends_nothing() {
    let (client, log) = server(|_| async { status(201) });
    let result = dispatch(client, Leadership::none()).bind(&bind()).await;
    assert!(result.is_none());
    assert!(log.lock().unwrap().is_empty());
}

fn victim(is_wanted: AtomicBool) -> Victim {
    let pod = PodRef { key: bind().pod, version: "9".into() };
    Victim { pod, generation: 1, is_wanted: Arc::new(is_wanted) }
}

/// Evicts a pod with the given replies, then silence. Returns whether it goes, and the methods that
/// were asked.
async fn check_eviction(replies: Vec<Reply>, is_wanted: bool) -> (bool, String) {
    let replies = Mutex::new(VecDeque::from(replies));
    let (client, log) = server(move |_| {
        let reply = replies.lock().unwrap().pop_front().flatten();
        async move { reply }
    });
    let dispatch = dispatch(client, Leadership::always());
    let why = k8s::render::preemption("s");
    let victim = victim(AtomicBool::new(is_wanted));
    let gone = dispatch.evict(&victim, &why).await;
    assert!(
        gone.as_ref().is_none_or(|gone| *gone == victim.pod),
        "no answer showed a later version"
    );
    let log = log.lock().unwrap();
    for arrived in log.iter() {
        assert!(arrived.body.contains("\"uid\":\"u1\""), "{}", arrived.body);
    }
    let methods: Vec<String> = log.iter().map(|arrived| arrived.method.to_string()).collect();
    (gone.is_some(), methods.join(" "))
}

#[tokio::test(start_paused = true)]
async fn evictions_by_table() {
    let table = [
        ("goes", vec![status(200), status(200)], true, "PATCH DELETE"),
        ("gone", vec![status(404)], true, "PATCH"),
        ("gone meanwhile", vec![status(200), status(404)], true, "PATCH DELETE"),
        ("changed meanwhile", vec![status(409), status(200)], true, "PATCH DELETE"),
        ("another pod", vec![status(409), status(409)], true, "PATCH DELETE"),
        ("forbidden", vec![status(403)], false, "PATCH"),
        ("forbidden to delete", vec![status(200), status(403)], false, "PATCH DELETE"),
        ("busy", vec![status(429), status(200), status(200)], true, "PATCH PATCH DELETE"),
        ("silence", vec![None, status(200), None, status(200)], true, "PATCH PATCH DELETE DELETE"),
        (
            "a fault that lasts",
            vec![status(200); 1].into_iter().chain(vec![status(500); 6]).collect(),
            false,
            "PATCH DELETE DELETE DELETE DELETE DELETE DELETE",
        ),
    ];
    for (name, replies, goes, methods) in table {
        assert_eq!(check_eviction(replies, true).await, (goes, methods.into()), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_evicted_who_is_spared() {
    assert_eq!(check_eviction(vec![status(200)], false).await, (false, String::new()));
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_gang_are_taken_back_and_those_nobody_makes_again_are_only_told() {
    let pod = json!({"metadata": {"uid": "u1", "resourceVersion": "31"}, "spec": {}}).to_string();
    let (client, log) = server(move |_| {
        let pod = pod.clone();
        async move { Some((200, pod)) }
    });
    let (mut dispatch, (feed, inbox)) = (dispatch(client, Leadership::always()), feed());
    dispatch.feed = feed;
    let dispatch = Arc::new(dispatch);
    tokio::spawn(dispatch.writes.clone().run());
    let bare = PodKey { uid: "u2".into(), namespace: "ns".into(), name: "bare".into() };
    let disband = Disband {
        scheduler: "s".into(),
        note: "gang g: 1 of at least 2 are on nodes".into(),
        evicted: vec![victim(AtomicBool::new(true))],
        bare: vec![PodRef { key: bare, version: "12".into() }],
    };
    evict::take_back(&dispatch, disband);
    tokio::time::sleep(Duration::from_secs(1)).await;
    dispatch.writes.flushed().await;
    let done = inbox.try_iter().next();
    assert!(matches!(done, Some(Input::Eviction { uid, is_done: true }) if &*uid == "u1"));
    let log = log.lock().unwrap();
    let find = |text: &str| log.iter().find(|arrived| arrived.body.contains(text));
    let patch = find("\"type\":\"DisruptionTarget\"").expect("the status says why");
    let reason = "\"reason\":\"GangBelowMinimum\",\"message\":\"s: gang g: 1 of at least 2";
    assert!(patch.body.contains(reason), "{}", patch.body);
    let deletion = log.iter().find(|arrived| arrived.method == Method::DELETE);
    assert!(deletion.is_some_and(|it| it.target.ends_with("/pods/p")), "{log:?}");
    assert!(find("\"reason\":\"GangTakenBack\"").is_some_and(|it| {
        it.body.contains("\"u1\"") && it.body.contains("\"resourceVersion\":\"31\"")
    }));
    let told = find("\"reason\":\"GangIncomplete\"").expect("who stays is told");
    assert!(told.body.contains("Warning") && told.body.contains("\"u2\""), "{}", told.body);
    assert!(told.body.contains("\"resourceVersion\":\"12\""), "{}", told.body);
    assert_eq!(log.iter().filter(|arrived| arrived.body.contains("u2")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn why_a_pod_waits_is_not_written_once_its_binding_goes_out() {
    let (client, log) = server(|_| async { status(201) });
    let dispatch = dispatch(client, Leadership::always());
    let writes = dispatch.writes.clone();
    tokio::spawn(writes.clone().run());
    let (sender, orders) = tokio::sync::mpsc::unbounded_channel();
    let tell = Tell {
        pod: PodRef { key: bind().pod, version: "7".into() },
        scheduler: "s".into(),
        reason: "Unschedulable",
        message: "why".into(),
        since_unix_ms: None,
        status: Some(StatusChange { generation: 1, is_transition: true, nomination: None }),
        has_event: false,
    };
    assert!(sender.send(Order::Tell(tell)).is_ok() && sender.send(Order::Bind(bind())).is_ok());
    tokio::spawn(run(dispatch, orders));
    tokio::time::sleep(Duration::from_secs(1)).await;
    writes.flushed().await;
    let log = log.lock().unwrap();
    let found: Vec<_> = log.iter().map(|a| format!("{} {}", a.method, a.target)).collect();
    let event = "POST /apis/events.k8s.io/v1/namespaces/ns/events";
    assert_eq!(found, ["POST /api/v1/namespaces/ns/pods/p/binding", event]);
    assert!(log[1].body.contains("\"resourceVersion\":\"7\""), "{}", log[1].body);
}
