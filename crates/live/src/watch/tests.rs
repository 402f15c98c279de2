//! Lists and watches against a server that says what a test wants.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use model::{Event, Fact, Key, Kind, Present};
use serde_json::{Value, json};

use super::*;
use crate::feed::{Inbox, feed};
use crate::testing::{Reply, server};

fn node(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "uid": format!("u-{name}"),
        "resourceVersion": version.to_string()}, "status": {"allocatable": {"pods": "1"}}})
}

fn line(kind: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": kind, "object": object}))
}

fn bookmark(version: u64, is_end: bool) -> String {
    let annotations = if is_end { json!({"k8s.io/initial-events-end": "true"}) } else { json!({}) };
    let version = version.to_string();
    let meta = json!({"resourceVersion": version, "annotations": annotations});
    line("BOOKMARK", &json!({"metadata": meta}))
}

/// Gives the replies one after the other, then silence; returns what the engine was fed and the
/// targets that were asked.
async fn check(replies: Vec<Reply>) -> (Vec<String>, Vec<String>) {
    check_watched(&NODES, replies).await
}

async fn check_watched(
    watched: &'static Watched,
    replies: Vec<Reply>,
) -> (Vec<String>, Vec<String>) {
    let count = replies.len();
    let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
    let (client, log) = server(move |_| {
        let reply = replies.lock().unwrap().pop_front().flatten();
        async move { reply }
    });
    let (feed, inbox) = feed();
    let metrics = Arc::new(Metrics::new(["a"], "host", "lease"));
    let watcher = Watcher::new(watched, client, feed, metrics, Progress::default());
    let task = tokio::spawn(watcher.run());
    while log.lock().unwrap().len() <= count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    task.abort();
    let targets = log.lock().unwrap().iter().map(|arrived| arrived.target.clone()).collect();
    (fed(&inbox), targets)
}

fn fed(inbox: &Inbox) -> Vec<String> {
    let word = |input: Input| match input {
        Input::Seen(Seen { event: Event::Seen(Fact::Node(facts)), .. }) => facts.name,
        Input::Seen(Seen { event: Event::Seen(Fact::LocalQueue(facts)), .. }) => {
            format!("{}>{}", facts.key(), facts.cluster_queue)
        }
        Input::Seen(Seen {
            event: Event::Gone(Key { kind: Kind::Node | Kind::LocalQueue, name }),
            ..
        }) => format!("-{name}"),
        Input::Seen(Seen { event: Event::Listed(Kind::Node, Present::Names(names)), .. }) => {
            format!("={}", names.into_iter().collect::<Vec<_>>().join(","))
        }
        Input::Seen(Seen { event: Event::Listed(_, Present::Facts(facts)), .. }) => {
            let queue = |fact: &Fact| {
                let Fact::LocalQueue(facts) = fact else { panic!("{fact:?} is no queue") };
                format!("{}>{}", facts.key(), facts.cluster_queue)
            };
            let queues = facts.iter().map(queue);
            format!("={}", queues.collect::<Vec<_>>().join(","))
        }
        Input::Seen(_)
        | Input::Outcome(_)
        | Input::Prepared { .. }
        | Input::Eviction { .. }
        | Input::NotTold { .. }
        | Input::Await(_)
        | Input::Lead
        | Input::Drain(_) => "?".into(),
    };
    inbox.try_iter().map(word).collect()
}

#[tokio::test(start_paused = true)]
async fn queues_are_listed_at_once_and_one_that_cannot_be_read_leads_nowhere() {
    let queue = |name: &str, leads_to: Value, version: u64| {
        json!({"metadata": {"name": name, "namespace": "team", "uid": name,
            "resourceVersion": version.to_string()}, "spec": {"clusterQueue": leads_to}})
    };
    let body = [
        line("ADDED", &queue("a", json!("gpu"), 1)),
        line("ADDED", &queue("b", json!(7), 2)),
        bookmark(7, true),
        line("MODIFIED", &queue("a", json!("web"), 8)),
        line("MODIFIED", &queue("a", json!(7), 9)),
        line("DELETED", &queue("b", json!(7), 10)),
    ];
    let queues = OPTIONAL.iter().find(|each| each.kind == Kind::LocalQueue).unwrap();
    let (fed, targets) = check_watched(queues, vec![Some((200, body.concat()))]).await;
    assert_eq!(fed, ["=team/a>gpu,team/b>", "team/a>web", "team/a>", "-team/b"]);
    let path = "/apis/kueue.x-k8s.io/v1beta2/localqueues?";
    assert!(targets.iter().all(|target| target.starts_with(path)), "{targets:?}");
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_ends_with_one_reset_and_goes_on_as_a_watch() {
    let body = [
        line("ADDED", &node("a", 1)),
        line("ADDED", &node("b", 2)),
        bookmark(7, true),
        line("MODIFIED", &node("b", 8)),
        line("DELETED", &node("a", 9)),
        bookmark(12, false),
    ];
    let again = line("ADDED", &node("c", 13));
    let (fed, targets) = check(vec![Some((200, body.concat())), Some((200, again))]).await;
    assert_eq!(fed, ["a", "b", "=a,b", "b", "-a", "c"]);
    assert!(targets[0].contains("sendInitialEvents=true"), "{targets:?}");
    assert!(targets[1].contains("resourceVersion=12&") || targets[1].ends_with("=12"));
    assert!(targets[2].contains("resourceVersion=13"), "{targets:?}");
    assert!(!targets[1].contains("sendInitialEvents"), "{targets:?}");
}

#[tokio::test(start_paused = true)]
async fn a_server_without_streaming_lists_is_listed_by_pages() {
    let refusal = json!({"message": "sendInitialEvents is forbidden"}).to_string();
    let page = |items: Value, token: &str| {
        let meta = json!({"resourceVersion": "20", "continue": token});
        Some((200, json!({"metadata": meta, "items": items}).to_string()))
    };
    let (fed, targets) = check(vec![
        Some((422, refusal)),
        page(json!([node("a", 1), node("b", 2)]), "next-1"),
        page(json!([node("c", 3)]), ""),
        Some((200, line("DELETED", &node("b", 21)))),
    ])
    .await;
    assert_eq!(fed, ["a", "b", "c", "=a,b,c", "-b"]);
    assert!(targets[1].contains("limit=250") && !targets[1].contains("watch=true"));
    assert!(targets[2].contains("continue=next-1"), "{targets:?}");
    assert!(targets[3].contains("resourceVersion=20"), "{targets:?}");
    assert!(targets[4].contains("resourceVersion=21"), "{targets:?}");
}

#[tokio::test(start_paused = true)]
async fn a_page_may_be_larger_than_any_other_answer() {
    let mut large = node("a", 1);
    large["metadata"]["annotations"] = json!({"a": "x".repeat(5 << 20)});
    let list = json!({"metadata": {"resourceVersion": "20"}, "items": [large]}).to_string();
    let (fed, _) = check(vec![Some((422, "{}".into())), Some((200, list))]).await;
    assert_eq!(fed, ["a", "=a"]);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_too_old_is_listed_again() {
    let list = |name: &str, version| {
        let lines = [line("ADDED", &node(name, version)), bookmark(version, true)];
        Some((200, lines.concat()))
    };
    let gone = line("ERROR", &json!({"code": 410, "message": "too old"}));
    for answer in [Some((200, gone)), Some((410, "{}".into())), Some((500, "{}".into()))] {
        let (fed, targets) = check(vec![list("a", 5), answer, list("b", 9)]).await;
        assert_eq!(fed, ["a", "=a", "b", "=b"]);
        assert!(targets[2].contains("sendInitialEvents=true"), "{targets:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_from_where_we_were() {
    let list = [line("ADDED", &node("a", 5)), bookmark(6, true)].concat();
    let busy = Some((429, "{}".into()));
    let (fed, targets) = check(vec![Some((200, list)), busy]).await;
    assert_eq!(fed, ["a", "=a"]);
    assert!(targets[2].contains("resourceVersion=6"), "{targets:?}");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_cut_off_resets_nothing() {
    let cut = line("ADDED", &node("a", 5));
    let whole = [line("ADDED", &node("b", 5)), bookmark(6, true)].concat();
    let (fed, _) = check(vec![Some((200, cut)), Some((200, whole))]).await;
    assert_eq!(fed, ["a", "b", "=b"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_stays_as_it_was_known() {
    let mut broken = node("b", 2);
    broken["status"]["allocatable"]["cpu"] = json!("many");
    let list = [line("ADDED", &node("a", 1)), line("ADDED", &broken), bookmark(6, true)].concat();
    let (fed, _) = check(vec![Some((200, list))]).await;
    assert_eq!(fed, ["a", "=a,b"]);
}

#[tokio::test(start_paused = true)]
async fn pods_that_ended_well_are_told_of_gangs_only_and_who_waits_for_them_is_noticed() {
    let pod = |name: &str, annotations: Value| {
        json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}"),
            "resourceVersion": "3", "annotations": annotations}})
    };
    let body = [
        line("ADDED", &pod("plain", json!({}))),
        line("ADDED", &pod("a", json!({"scheduling.kubenexus.io/gang-group": "g"}))),
        bookmark(7, true),
        line("DELETED", &pod("a", json!({}))),
    ];
    let body = body.concat();
    let (client, log) = server(move |_| {
        let body = body.clone();
        async move { Some((200, body)) }
    });
    let (feed, inbox) = feed();
    let metrics = Arc::new(Metrics::new(["a"], "host", "lease"));
    let watcher = |watched| {
        let (client, feed, metrics) = (client.clone(), feed.clone(), metrics.clone());
        Watcher::new(watched, client, feed, metrics, Progress::default())
    };
    let task = tokio::spawn(watcher(&SUCCEEDED).run());
    tokio::time::sleep(Duration::from_millis(50)).await;
    task.abort();
    let word = |input: Input| {
        let Input::Seen(Seen { event, .. }) = input else { return "?".into() };
        if let Event::Seen(Fact::Succeeded(facts)) = event {
            return format!("{} {}", facts.uid, facts.gang);
        }
        format!("{event:?}")
    };
    let fed: Vec<String> = inbox.try_iter().take(3).map(word).collect();
    let gone = r#"Gone(Key { kind: Succeeded, name: "u-a" })"#;
    assert_eq!(fed, ["u-a g", r#"Listed(Succeeded, Names({"u-a"}))"#, gone]);
    let target = log.lock().unwrap()[0].target.clone();
    let ended = "/api/v1/pods?fieldSelector=status.phase%21%3DPending%2Cstatus.phase%21%3DRunning\
                 %2Cstatus.phase%21%3DUnknown&";
    assert!(target.starts_with(ended), "{target}");
    let ends = Arc::new(Notify::new());
    let pods = watcher(&PODS).telling(ends.clone());
    let is_told =
        async || tokio::time::timeout(Duration::from_millis(1), ends.notified()).await.is_ok();
    pods.read(pod("a", json!({})).to_string().as_bytes(), None);
    assert!(!is_told().await);
    let after = json!({"scheduling.kubenexus.io/depends-on": "g"});
    pods.read(pod("b", after).to_string().as_bytes(), None);
    assert!(is_told().await);
}

#[tokio::test(start_paused = true)]
async fn objects_of_storage_are_read_and_gone_by_the_same_name() {
    let paths = STORAGE.map(|watched| watched.path());
    let expected = [
        "/api/v1/persistentvolumes?",
        "/api/v1/persistentvolumeclaims?",
        "/apis/storage.k8s.io/v1/storageclasses?",
        "/apis/storage.k8s.io/v1/csinodes?",
        "/apis/storage.k8s.io/v1/csidrivers?",
        "/apis/storage.k8s.io/v1/csistoragecapacities?",
        "/apis/storage.k8s.io/v1/volumeattachments?",
    ];
    assert_eq!(paths, expected);
    let (client, _) = server(|_| async { None });
    let (feed, _inbox) = feed();
    let metrics = Arc::new(Metrics::new(["a"], "host", "lease"));
    for watched in &STORAGE {
        let (client, feed, metrics) = (client.clone(), feed.clone(), metrics.clone());
        let watcher = Watcher::new(watched, client, feed, metrics, Progress::default());
        let is_of_namespace = ["persistentvolumeclaims", "csistoragecapacities"];
        let namespace = is_of_namespace.contains(&watched.resource).then_some("ns");
        let object = json!({"metadata": {"name": "x", "namespace": namespace.unwrap_or_default(),
            "uid": "u", "resourceVersion": "3"}})
        .to_string();
        let read = watcher.read(object.as_bytes(), None).expect("it is sound");
        let Event::Seen(fact) = read.event else { panic!("it is there") };
        let name = namespace.map_or("x".to_owned(), |namespace| format!("{namespace}/x"));
        assert_eq!(fact.key(), Key::new(watched.kind, name));
        let gone = watcher.read_gone(object.as_bytes()).expect("it is sound");
        assert_eq!((&*gone.version, gone.event), ("3", Event::Gone(fact.key())));
    }
}

#[tokio::test(start_paused = true)]
async fn of_jobs_only_those_that_are_complete_are_told() {
    let job = |name: &str, condition: &str| {
        json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}"),
            "resourceVersion": "3"}, "spec": {"parallelism": 2},
            "status": {"conditions": [{"type": condition, "status": "True"}]}})
    };
    let body = [
        line("ADDED", &job("a", "Complete")),
        line("ADDED", &job("b", "Failed")),
        line(
            "ADDED",
            &json!({"metadata": {"name": "c", "namespace": "ns", "uid": "u-c",
            "resourceVersion": "3"}, "spec": {"parallelism": "many"}}),
        ),
        bookmark(7, true),
        line("MODIFIED", &job("d", "Suspended")),
        line("MODIFIED", &job("d", "Complete")),
        line("DELETED", &job("a", "Complete")),
    ];
    let body = body.concat();
    let (client, log) = server(move |_| {
        let body = body.clone();
        async move { Some((200, body)) }
    });
    let (feed, inbox) = feed();
    let metrics = Arc::new(Metrics::new(["a"], "host", "lease"));
    let task = tokio::spawn(Watcher::new(&JOBS, client, feed, metrics, Progress::default()).run());
    tokio::time::sleep(Duration::from_millis(50)).await;
    task.abort();
    let word = |input: Input| {
        let Input::Seen(Seen { event, .. }) = input else { return "?".into() };
        if let Event::Seen(Fact::Job(facts)) = event {
            return format!("{} {}", facts.uid, facts.pods);
        }
        format!("{event:?}")
    };
    let fed: Vec<String> = inbox.try_iter().take(4).map(word).collect();
    // What was known of one that cannot be read stays.
    let listed = r#"Listed(Job, Names({"u-a", "u-c"}))"#;
    assert_eq!(fed, ["u-a 2", listed, "u-d 2", r#"Gone(Key { kind: Job, name: "u-a" })"#]);
    let target = log.lock().unwrap()[0].target.clone();
    let expected = "/apis/batch/v1/jobs?fieldSelector=status.successful%21%3D0&";
    assert!(target.starts_with(expected), "{target}");
}

/// A server whose pods are at a version that the watch of them does not show by itself; the lists
/// and watches that were asked for.
fn quiet(now: Arc<Mutex<u64>>) -> (kube::Client, impl Fn() -> Vec<String>) {
    let (client, log) = server(move |arrived| {
        let version = *now.lock().unwrap();
        async move {
            if arrived.target.contains("limit=1") {
                let meta = json!({"resourceVersion": version.to_string()});
                return Some((200, json!({"metadata": meta, "items": []}).to_string()));
            }
            let is_list = arrived.target.contains("sendInitialEvents=true");
            is_list.then(|| (200, bookmark(version, true)))
        }
    });
    let asked = move || {
        let log = log.lock().unwrap();
        let word = |target: &str| match target {
            target if target.contains("limit=1") => "version",
            target if target.contains("sendInitialEvents=true") => "list",
            _ => "watch",
        };
        log.iter().map(|arrived| word(&arrived.target).to_owned()).collect()
    };
    (client, asked)
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_knows_all_that_was_there_when_it_took_over() {
    let now = Arc::new(Mutex::new(5));
    let (client, asked) = quiet(now.clone());
    let (feed, _inbox) = feed();
    let (metrics, progress) = (Arc::new(Metrics::new(["a"], "host", "lease")), Progress::default());
    let watcher = Watcher::new(&PODS, client.clone(), feed, metrics, progress.clone());
    tokio::spawn(watcher.run());
    tokio::time::sleep(Duration::from_secs(1)).await;
    progress.catch_up(&client).await;
    assert_eq!(asked(), ["list", "watch", "version"], "nothing happened since the list");
    *now.lock().unwrap() = 9;
    progress.catch_up(&client).await;
    assert_eq!(asked()[3..], ["version", "list"], "the watch does not tell");
}

#[tokio::test(start_paused = true)]
async fn nobody_leads_without_having_caught_up() {
    let replies = Mutex::new(VecDeque::from([None, Some((500, "{}".into()))]));
    let (client, log) = server(move |_| {
        let version = Some((200, json!({"metadata": {"resourceVersion": "9"}}).to_string()));
        let reply = replies.lock().unwrap().pop_front().unwrap_or(version);
        async move { reply }
    });
    let progress = Progress::default();
    progress.reached("8");
    let waits = async |progress: &Progress| {
        let caught_up = progress.catch_up(&client);
        tokio::time::timeout(Duration::from_secs(3600), caught_up).await.is_err()
    };
    assert!(waits(&progress).await, "the engine was not fed all");
    assert_eq!(log.lock().unwrap().len(), 3, "the version is asked for until it is told");
    progress.reached("9");
    assert!(!waits(&progress).await);
}

/// A pod at its end is not among those that are watched: the server shows it as it was before, and
/// that it is gone.
#[tokio::test(start_paused = true)]
async fn pods_that_a_kubelet_turned_away_are_counted() {
    let pod = |name: &str, node: &str, status: Value| {
        json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}"),
            "resourceVersion": "9"}, "spec": {"nodeName": node}, "status": status})
    };
    let pending = json!({"phase": "Pending"});
    let mut deleted = pod("deleted", "n", pending.clone());
    deleted["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    let gone = [
        pod("rejected", "n", pending.clone()),
        pod("short", "n", pending.clone()),
        pod("nowhere", "", pending),
        pod("ran", "n", json!({"phase": "Running"})),
        deleted,
    ];
    let gone: String = gone.iter().map(|pod| line("DELETED", pod)).collect();
    let body = bookmark(7, true) + &gone;
    let (client, log) = server(move |arrived| {
        let reply = match arrived.target.as_str() {
            "/api/v1/namespaces/ns/pods/rejected" => {
                let status = json!({"phase": "Failed", "reason": "OutOfcpu"});
                Some((200, pod("rejected", "n", status).to_string()))
            }
            "/api/v1/namespaces/ns/pods/short" => {
                Some((200, pod("short", "n", json!({"phase": "Succeeded"})).to_string()))
            }
            target if target.contains("sendInitialEvents=true") => Some((200, body.clone())),
            _ => None,
        };
        async move { reply }
    });
    let (feed, _inbox) = feed();
    let metrics = Arc::new(Metrics::new(["a"], "host", "lease"));
    let watcher = Watcher::new(&PODS, client, feed, metrics.clone(), Progress::default());
    let task = tokio::spawn(watcher.run());
    tokio::time::sleep(Duration::from_secs(1)).await;
    task.abort();
    let text = metrics.text();
    assert!(text.contains("kubenexus_rejected_by_kubelet_total 1\n"), "{text}");
    let log = log.lock().unwrap();
    let read = log.iter().filter(|arrived| arrived.target.contains("/pods/")).count();
    assert_eq!(read, 2, "{log:?}");
}

#[tokio::test(start_paused = true)]
async fn pods_at_their_end_are_read_one_by_one_within_the_rate() {
    let gone = |at: usize| {
        json!({"metadata": {"name": format!("p{at}"), "namespace": "ns", "uid": format!("u-{at}"),
            "resourceVersion": "9"}, "spec": {"nodeName": "n"}, "status": {"phase": "Pending"}})
    };
    let gone: String = (0..100).map(|at| line("DELETED", &gone(at))).collect();
    let body = bookmark(7, true) + &gone;
    let (client, log) = server(move |arrived| {
        let is_list = arrived.target.contains("sendInitialEvents=true");
        let is_pod = arrived.target.contains("/pods/p");
        let reply = match (is_list, is_pod) {
            (true, _) => Some((200, body.clone())),
            (_, true) => Some((404, "{}".into())),
            _ => None,
        };
        async move { reply }
    });
    let (feed, _inbox) = feed();
    let metrics = Arc::new(Metrics::new(["a"], "host", "lease"));
    let watcher = Watcher::new(&PODS, client, feed, metrics, Progress::default());
    let limiter = Arc::new(Limiter::new(10_000, 10));
    let task = tokio::spawn(watcher.limited(limiter.clone()).run());
    let read = || log.lock().unwrap().iter().filter(|it| it.target.contains("/pods/p")).count();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(read(), 5, "half of the burst is left to bindings");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(read(), 15);
    let start = tokio::time::Instant::now();
    for _ in 0..5 {
        limiter.pass().await;
    }
    assert!(start.elapsed().is_zero(), "a binding does not wait for them");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(read(), 100);
    task.abort();
}
