//! Gangs from what is seen to what is ordered.

mod eligible;
mod tiers;

use std::collections::BTreeSet;

use k8s::config::Settings;
use k8s::ingest::{self, GroupStanding};
use model::{Disband, Event, Kind, PodGroupKind, Present, Reason};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::patience::{ROOM, ROOM_PATIENCE};
use super::*;
use crate::feed::{Until, feed};
use crate::order::{Doubt, Happened, Subject, Warn};
use crate::watch::{OPTIONAL, Watched};

struct Bench {
    core: Core,
    orders: UnboundedReceiver<Order>,
}

/// A core that knows nothing yet, and leads.
fn bench() -> Bench {
    let mut settings = k8s::config::defaults(plugins::known());
    settings.profiles[0].add(framework::Point::Permit, "Coscheduling");
    bench_of(&settings)
}

fn bench_of(settings: &Settings) -> Bench {
    let mut catalog = model::Catalog::default();
    let profile = plugins::build(&settings.profiles[0], &mut catalog).expect("a valid profile");
    let (sender, orders) = unbounded_channel();
    let mut core = Core {
        scheduler: Scheduler::new(catalog, vec![profile], engine::Options::default()),
        profiles: vec![settings.profiles[0].scheduler.as_str().into()],
        inbox: feed().1,
        orders: sender,
        metrics: Arc::new(Metrics::new(["default-scheduler"], "host", "lease")),
        health: Arc::new(Health::new(|| true)),
        journal: None,
        start: Instant::now(),
        started_unix_ms: 0,
        state: State::awaiting(Vec::new()),
    };
    core.take(Input::Lead);
    Bench { core, orders }
}

fn node(cpu: u32) -> Event {
    let allocatable = json!({"cpu": cpu.to_string(), "memory": "64Gi", "pods": "500"});
    ingest::node(&json!({"metadata": {"name": "n"}, "status": {"allocatable": allocatable}}))
        .expect("a node")
}

/// A pod that names a native PodGroup, or has a label of ours.
fn pod(name: &str, spec: Value, labels: Value, node: &str) -> Event {
    let mut spec = spec;
    spec["schedulerName"] = json!("default-scheduler");
    spec["nodeName"] = json!(node);
    spec["containers"] =
        json!([{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Mi"}}}]);
    let metadata = json!({"name": name, "namespace": "team", "uid": format!("u-{name}"),
        "labels": labels, "generation": 4, "ownerReferences": [{"kind": "Job", "name": "j",
        "apiVersion": "batch/v1", "controller": true}]});
    ingest::pod(&json!({"metadata": metadata, "spec": spec})).expect("a pod")
}

fn grouped(name: &str, node: &str) -> Event {
    pod(name, json!({"schedulingGroup": {"podGroupName": "train"}}), json!({}), node)
}

fn labelled(name: &str, min: u32, node: &str) -> Event {
    let labels = json!({"pod-group.scheduling.kubenexus.io/name": "g",
        "pod-group.scheduling.kubenexus.io/min-available": min.to_string()});
    pod(name, json!({}), labels, node)
}

fn native() -> &'static Watched {
    &OPTIONAL[0]
}

fn group(min: u32, status: Value) -> (Event, GroupStanding) {
    let object = json!({"metadata": {"name": "train", "namespace": "team", "uid": "u-train",
        "generation": 2}, "spec": {"schedulingPolicy": {"gang": {"minCount": min}}},
        "status": status});
    let text = object.to_string();
    let seen = ingest::read_pod_group(PodGroupKind::Native, text.as_bytes()).expect("a group");
    (seen.event, seen.standing)
}

impl Bench {
    fn see(&mut self, event: Event) {
        self.core.take(Input::Seen(Seen::plain(event)));
    }

    fn see_group(&mut self, (event, standing): (Event, GroupStanding)) {
        let group = Some(Box::new((native(), standing)));
        self.core.take(Input::Seen(Seen { group, ..Seen::plain(event) }));
    }

    /// Everything that nearly every cluster has was listed.
    fn listed(&mut self) {
        let catalog = self.core.scheduler.catalog();
        let uids = catalog.pods().map(|pod| catalog.pod(pod).key.uid.clone()).collect();
        for (kind, names) in [
            (Kind::Namespace, BTreeSet::new()),
            (Kind::Budget, BTreeSet::new()),
            (Kind::Node, BTreeSet::from(["n".into()])),
            (Kind::Pod, uids),
        ] {
            self.see(Event::Listed(kind, Present::Names(names)));
        }
    }

    /// What is ordered, in words.
    fn decided(&mut self) -> Vec<String> {
        self.core.decide(&mut Vec::new());
        let mut found = Vec::new();
        while let Ok(order) = self.orders.try_recv() {
            found.push(word(order));
        }
        found
    }
}

fn word(order: Order) -> String {
    match order {
        Order::Bind(bind) => format!("bind {}", bind.pod.name),
        Order::Prepare(prepare) => format!("prepare {}", prepare.pod.name),
        Order::Preempt(_) => "preempt".into(),
        Order::Tell(tell) => format!("tell {}", tell.pod.key.name),
        Order::Warn(Warn { about, scheduler, doubt, note }) => {
            let word = match doubt {
                Doubt::Tier => "warn",
                Doubt::Hint | Doubt::Hardware => "ignored",
            };
            let name = match about {
                Subject::Pod(pod) => pod.key.name,
                Subject::Group(group) => group.key.name,
                Subject::Node(name) => name,
            };
            format!("{word} {scheduler} {name}: {note}")
        }
        Order::Disband(disband) => {
            let names = |pods: Vec<&PodRef>| {
                pods.into_iter().map(|pod| pod.key.name.to_string()).collect::<Vec<_>>().join(" ")
            };
            let evicted = names(disband.evicted.iter().map(|victim| &victim.pod).collect());
            let bare = names(disband.bare.iter().collect());
            format!("{}: {}; evict {evicted}; keep {bare}", disband.scheduler, disband.note)
        }
        Order::Report(report) => {
            let mut text = String::from("report");
            if let Some((group, condition)) = report.condition {
                let path = group.api.path_of(&group.key.namespace, &group.key.name);
                let (status, reason) = (condition.is_scheduled, condition.reason);
                text += &format!(" {path} {status} {reason} at {}", condition.generation);
            }
            if let Some((subject, happened, note)) = report.event {
                let subject = match subject {
                    Subject::Pod(pod) => format!("pod {}", pod.key.name),
                    Subject::Group(group) => format!("group {} {}", group.key.name, group.uid),
                    Subject::Node(name) => format!("node {name}"),
                };
                let happened = match happened {
                    Happened::Scheduled => "scheduled",
                    Happened::Degraded => "degraded",
                    Happened::TimeoutsDiffer => "timeouts",
                };
                text += &format!(" {subject} {happened}: {note}");
            }
            text
        }
    }
}

const STATUS: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/team/podgroups/train";

#[test]
fn nothing_is_decided_before_it_is_known_which_groups_there_are_and_all_are_listed() {
    let mut bench = bench();
    bench.see(node(4));
    bench.see(pod("alone", json!({}), json!({}), ""));
    bench.listed();
    assert_eq!(bench.decided(), Vec::<String>::new(), "nobody said which groups there are");
    let groups = [PodGroupKind::Native, PodGroupKind::Kai].map(Kind::PodGroup);
    bench.core.take(Input::Await([&groups[..], &[Kind::LocalQueue]].concat()));
    bench.see(Event::Listed(Kind::PodGroup(PodGroupKind::Native), Present::Names(BTreeSet::new())));
    assert_eq!(bench.decided(), Vec::<String>::new(), "one kind is not listed");
    bench.see(Event::Listed(Kind::PodGroup(PodGroupKind::Kai), Present::Names(BTreeSet::new())));
    assert_eq!(bench.decided(), Vec::<String>::new(), "queues are not listed");
    bench.see(Event::Listed(Kind::LocalQueue, Present::Facts(Vec::new())));
    assert_eq!(bench.decided(), ["bind alone"]);
}

#[test]
fn a_gang_is_sent_whole_however_large_it_is_and_its_object_is_told_once_it_runs() {
    let mut bench = bench();
    let size = u32::try_from(BINDS_MAX).unwrap() + 6;
    bench.core.take(Input::Await(vec![Kind::PodGroup(PodGroupKind::Native)]));
    bench.see(node(size));
    bench.see_group(group(size, json!({})));
    (0..size).for_each(|at| bench.see(grouped(&format!("p{at}"), "")));
    let names = BTreeSet::from(["team/train".into()]);
    bench.see(Event::Listed(Kind::PodGroup(PodGroupKind::Native), Present::Names(names)));
    bench.listed();
    let decided = bench.decided();
    assert_eq!(decided.len(), BINDS_MAX + 6);
    assert!(decided.iter().all(|word| word.starts_with("bind p")), "{decided:?}");
    (0..size).for_each(|at| bench.see(grouped(&format!("p{at}"), "n")));
    bench.core.state.in_flight = 0;
    let expected = format!(
        "report {STATUS} true Scheduled at 2 group train u-train scheduled: \
         gang train: 70 of at least 70 are on nodes"
    );
    assert_eq!(bench.decided(), [expected]);
    let text = bench.core.metrics.text();
    let line = "kubenexus_gang_attempts_total{namespace=\"team\",result=\"placed\"} 1";
    assert!(text.contains(line), "{text}");
    bench.core.count_waiting_gangs();
    assert!(bench.core.metrics.text().contains("kubenexus_gangs_waiting 0"));
    let line = "kubenexus_gangs_total{namespace=\"team\",result=\"scheduled\"} 1";
    assert!(text.contains(line) && text.contains("kubenexus_gang_wait_seconds_count 1"), "{text}");
    // Once it ran that stays said.
    let status = json!({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True",
        "reason": "Scheduled", "message": "x"}]});
    bench.see_group(group(size, status));
    bench.see(Event::gone(Kind::Pod, "u-p0"));
    bench.see(grouped("again", ""));
    let expected =
        "report group train u-train degraded: gang train: 69 of at least 70 are on nodes";
    let decided = bench.decided();
    assert!(decided.iter().any(|word| word == expected), "{decided:?}");
}

#[test]
fn why_a_gang_waits_stands_in_its_object_and_is_written_once() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(1));
    bench.see_group(group(2, json!({})));
    ["a", "b"].into_iter().for_each(|name| bench.see(grouped(name, "")));
    bench.listed();
    let expected = format!("report {STATUS} false Unschedulable at 2");
    assert_eq!(bench.decided(), ["tell a".into(), "tell b".into(), expected.clone()]);
    bench.core.count_waiting_gangs();
    let text = bench.core.metrics.text();
    let lines = [
        "kubenexus_gang_attempts_total{namespace=\"team\",result=\"failed\"} 1",
        "kubenexus_gang_plan_duration_seconds_count 1",
        "kubenexus_gangs_waiting 1",
        "kubenexus_waits_total{code=\"InsufficientResource\"} 2",
    ];
    lines.iter().for_each(|line| assert!(text.contains(line), "{line} is missing in {text}"));
    let group_key = bench.core.scheduler.catalog().gangs().next().expect("there is a gang");
    let diagnosis = Arc::new(Diagnosis { nodes: 1, ..Diagnosis::default() });
    let waiting = |diagnosis: &Arc<Diagnosis>| model::GangReport {
        gang: group_key,
        state: model::GangState::Waiting(diagnosis.clone()),
    };
    let mut reported = |diagnosis: &Arc<Diagnosis>| {
        bench.core.report(&waiting(diagnosis));
        bench.orders.try_recv().map(word).ok()
    };
    assert_eq!(reported(&diagnosis), Some(expected.clone()), "another message");
    assert_eq!(reported(&diagnosis), None);
    bench.core.take(Input::NotTold { uid: "u-train".into() });
    bench.core.report(&waiting(&diagnosis));
    assert_eq!(bench.orders.try_recv().map(word).ok(), Some(expected));
    // A scheduler that starts anew finds in the status what was said.
    let message = render::condition(&diagnosis, bench.core.scheduler.catalog()).message;
    let status = json!({"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False",
        "reason": "Unschedulable", "message": message}]});
    bench.see_group(group(2, json!({})));
    bench.see_group(group(2, status));
    bench.core.report(&waiting(&diagnosis));
    assert!(bench.orders.try_recv().is_err());
}

/// Nobody is to buy nodes for a gang that is not complete, and its PodGroup was not tried.
#[test]
fn pods_of_a_gang_that_is_not_complete_are_held_and_not_unschedulable() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(1));
    bench.see_group(group(2, json!({})));
    bench.see(grouped("a", ""));
    bench.listed();
    assert_eq!(bench.decided(), Vec::<String>::new());
    let catalog = bench.core.scheduler.catalog();
    let pod = catalog.find_pod("u-a").expect("the pod is there");
    let gang = catalog.find_gang("team", "train").expect("the gang is there");
    let rejection = Some(Reason::GangIncomplete { there: 1, min: 2 });
    let diagnosis = Arc::new(Diagnosis { nodes: 1, rejection, ..Diagnosis::default() });
    bench.core.wait(&Waiting { pod, diagnosis: diagnosis.clone() }, Instant::now());
    let Ok(Order::Tell(tell)) = bench.orders.try_recv() else { panic!("the pod is told") };
    assert_eq!((tell.reason, tell.has_event), ("SchedulingGated", true));
    let text = bench.core.metrics.text();
    let line = "scheduler_schedule_attempts_total{";
    let counted = text.lines().filter(|it| it.starts_with(line) && !it.ends_with(" 0"));
    assert_eq!(counted.count(), 0, "{text}");
    let state = model::GangState::Waiting(diagnosis);
    bench.core.report(&model::GangReport { gang, state });
    assert!(bench.orders.try_recv().is_err());
}

#[test]
fn a_gang_without_object_speaks_through_its_first_pod_unless_it_ran_before_us() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    bench.see(labelled("a", 2, ""));
    bench.see(labelled("b", 2, ""));
    bench.listed();
    assert_eq!(bench.decided(), ["bind a", "bind b"]);
    bench.see(labelled("a", 2, "n"));
    bench.see(labelled("b", 2, "n"));
    let expected = "report pod a scheduled: gang g: 2 of at least 2 are on nodes";
    assert_eq!(bench.decided(), [expected]);
    let mut bench = self::bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    bench.see(labelled("a", 2, "n"));
    bench.see(labelled("b", 2, "n"));
    bench.listed();
    let gang = bench.core.scheduler.catalog().gangs().next().expect("there is a gang");
    bench.core.report(&model::GangReport { gang, state: model::GangState::Started });
    assert_eq!(bench.decided(), Vec::<String>::new());
}

#[test]
fn the_owner_of_a_gang_is_told_once_that_its_pods_say_different_timeouts() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    let member = |name: &str, seconds: &str| {
        let labels = json!({"pod-group.scheduling.kubenexus.io/name": "g",
            "pod-group.scheduling.kubenexus.io/min-available": "4",
            "pod-group.scheduling.kubenexus.io/timeout-seconds": seconds});
        pod(name, json!({}), labels, "")
    };
    bench.see(member("a", "30"));
    bench.see(member("b", "60"));
    bench.listed();
    let expected = "report pod a timeouts: gang g: \
        pod-group.scheduling.kubenexus.io/timeout-seconds of its pods is 30 and 60: the largest \
        counts";
    assert_eq!(bench.decided(), [expected]);
    bench.see(member("c", "45"));
    assert_eq!(bench.decided(), Vec::<String>::new());
}

/// Also of pods that are on nodes: events about gangs without object are about one of those.
#[test]
fn the_newest_version_of_a_pod_is_known_wherever_it_is() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    let at = |event: Event, version: u64| {
        Input::Seen(Seen { version, standing: Some(Default::default()), ..Seen::plain(event) })
    };
    bench.core.take(at(labelled("a", 2, ""), 7));
    bench.core.take(at(labelled("b", 2, ""), 8));
    bench.listed();
    bench.core.decide(&mut Vec::new());
    let Ok(Order::Bind(bind)) = bench.orders.try_recv() else { panic!("it is bound") };
    assert_eq!(&*bind.version, "7");
    assert!(matches!(bench.orders.try_recv(), Ok(Order::Bind(_))));
    bench.core.take(at(labelled("a", 2, "n"), 21));
    bench.core.take(at(labelled("b", 2, "n"), 22));
    bench.core.decide(&mut Vec::new());
    let Ok(Order::Report(report)) = bench.orders.try_recv() else { panic!("it has started") };
    let Some((Subject::Pod(first), ..)) = report.event else { panic!("it has no object") };
    assert_eq!((&*first.key.name, &*first.version), ("a", "21"));
    let catalog = bench.core.scheduler.catalog();
    let find = |uid: &str| catalog.find_pod(uid).expect("the pod is there");
    let gang = catalog.find_gang("team", "g").expect("the gang is there");
    let disband = Disband { gang, evicted: vec![find("u-a")], bare: vec![find("u-b")] };
    bench.core.disband(&disband);
    let Ok(Order::Disband(order)) = bench.orders.try_recv() else { panic!("it is taken back") };
    assert_eq!((&*order.evicted[0].pod.version, &*order.bare[0].version), ("21", "22"));
    // A row that another pod has by now says nothing of it.
    bench.see(Event::gone(Kind::Pod, "u-a"));
    bench.see(labelled("c", 2, "n"));
    let pod = bench.core.scheduler.catalog().find_pod("u-c").expect("the pod is there");
    assert_eq!(&*bench.core.reference(pod).version, "");
}

#[test]
fn gangs_that_never_started_are_forgotten_when_they_are_gone() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    bench.listed();
    for round in 0..200 {
        let labels = json!({"scheduling.kubenexus.io/gang-group": format!("g{round}")});
        bench.see(pod("a", json!({}), labels, ""));
        let Core { scheduler, state, .. } = &mut bench.core;
        let id = scheduler.catalog().find_pod("u-a").expect("the pod is there");
        state.arrived(scheduler.catalog(), id, Instant::now());
        bench.see(Event::gone(Kind::Pod, "u-a"));
    }
    let noted = bench.core.state.arrivals.len();
    assert!(noted <= 65, "{noted} gangs are noted, none is there");
}

#[test]
fn pods_of_a_gang_that_cannot_be_completed_are_taken_back() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    bench.see(labelled("a", 3, "n"));
    bench.see(labelled("b", 3, "n"));
    bench.listed();
    let catalog = bench.core.scheduler.catalog();
    let find = |uid: &str| catalog.find_pod(uid).expect("the pod is there");
    let gang = catalog.find_gang("team", "g").expect("the gang is there");
    let disband = Disband { gang, evicted: vec![find("u-a")], bare: vec![find("u-b")] };
    bench.core.disband(&disband);
    let expected =
        "default-scheduler: gang g: 2 of at least 3 are on nodes; evict a; keep b".to_owned();
    assert_eq!(bench.orders.try_recv().map(word).ok(), Some(expected));
    assert!(bench.core.state.evicting.keys().eq(["u-a"].map(Box::<str>::from).iter()));
    let text = bench.core.metrics.text();
    let line = "kubenexus_gangs_total{namespace=\"team\",result=\"taken_back\"} 1";
    assert!(text.contains(line), "{text}");
    bench.core.take(Input::Eviction { uid: "u-a".into(), is_done: true });
    assert!(bench.core.state.evicting.is_empty());
    bench.see(Event::gone(Kind::Namespace, "team"));
    assert!(!bench.core.metrics.text().contains(line), "the namespace is gone");
}

#[test]
fn of_a_composite_its_groups_are_counted() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    bench.see(node(4));
    let composite = json!({"metadata": {"name": "all", "namespace": "team", "uid": "u-all"},
        "spec": {"schedulingPolicy": {"gang": {"minGroupCount": 2}}}});
    let kind = PodGroupKind::Composite;
    let seen = ingest::read_pod_group(kind, composite.to_string().as_bytes()).expect("a group");
    let group = Some(Box::new((&OPTIONAL[3], seen.standing)));
    bench.core.take(Input::Seen(Seen { group, ..Seen::plain(seen.event) }));
    for name in ["x", "y"] {
        let part = json!({"metadata": {"name": name, "namespace": "team", "uid": name}, "spec": {
            "parentCompositePodGroupName": "all", "schedulingPolicy": {"gang": {"minCount": 1}}}});
        bench.see(ingest::pod_group(PodGroupKind::Native, &part).expect("a group"));
    }
    let member = |name: &str, node: &str| {
        let group = json!({"schedulingGroup": {"podGroupName": name}});
        pod(&format!("{name}-0"), group, json!({}), node)
    };
    ["x", "y"].into_iter().for_each(|name| bench.see(member(name, "")));
    bench.listed();
    assert_eq!(bench.decided(), ["bind x-0", "bind y-0"]);
    ["x", "y"].into_iter().for_each(|name| bench.see(member(name, "n")));
    let path = "/apis/scheduling.k8s.io/v1alpha3/namespaces/team/compositepodgroups/all";
    let expected = format!(
        "report {path} true Scheduled at 0 group all u-all scheduled: \
         gang all: 2 of at least 2 groups are on nodes"
    );
    let decided = bench.decided();
    assert!(decided.contains(&expected), "{decided:?}");
}

/// A gang that was begun by a scheduler before us, and for the rest of which there is no room.
#[test]
fn a_gang_that_is_found_half_on_nodes_is_taken_back_in_time() {
    let mut bench = bench();
    bench.core.take(Input::Await(vec![]));
    for name in ["a", "b"] {
        bench.see(labelled(name, 4, "n"));
    }
    bench.see(labelled("c", 4, ""));
    bench.see(labelled("d", 4, ""));
    bench.see(node(2));
    bench.listed();
    assert_eq!(bench.decided(), ["tell c", "tell d"]);
    bench.core.start -= Duration::from_secs(11);
    let expected = "default-scheduler: gang g: 2 of at least 4 are on nodes; evict a b; keep ";
    assert_eq!(bench.decided(), [expected]);
}

#[test]
fn when_all_bindings_are_out_room_for_several_is_waited_for_and_not_for_long() {
    let mut bench = bench();
    bench.core.state.in_flight = BINDS_MAX - 1;
    assert_eq!(bench.core.patience().0, Until::News);
    for (in_flight, room) in [(BINDS_MAX, ROOM), (BINDS_MAX + 200, ROOM + 200)] {
        bench.core.state.in_flight = in_flight;
        assert_eq!(bench.core.patience(), (Until::Room(room), ROOM_PATIENCE));
    }
    bench.core.state.in_flight = 1;
    let (done, _drained) = oneshot::channel();
    bench.core.take(Input::Drain(done));
    assert_eq!(bench.core.patience(), (Until::News, ROOM_PATIENCE), "the last one wakes nobody");
}

#[test]
fn slices_that_do_not_fit_their_node_are_told_once() {
    let mut bench = bench();
    bench.core.state.is_leading = true;
    let node = |gpus: &str| {
        let status = json!({"allocatable": {"nvidia.com/gpu": gpus}});
        ingest::node(&json!({"metadata": {"name": "n"}, "status": status})).expect("a node")
    };
    let slice = |name: &str, generation: i64| {
        let pool = json!({"name": "n", "generation": generation, "resourceSliceCount": 1});
        let spec = json!({"driver": "gpu.nvidia.com", "nodeName": "n", "pool": pool,
            "devices": [{"name": "gpu-0"}]});
        let slice = json!({"metadata": {"name": name}, "spec": spec});
        ingest::resource_slice(&slice).expect("a slice")
    };
    let mut told = |event: Event| {
        bench.see(event);
        bench.core.tell_doubts();
        let mut orders = Vec::new();
        while let Ok(order) = bench.orders.try_recv() {
            orders.push(word(order));
        }
        orders
    };
    assert_eq!(told(node("2")), [""; 0]);
    let said = "ignored default-scheduler n: the pool n of gpu.nvidia.com in ResourceSlices is \
                \"1 devices, 1 healthy\"; expected 2 healthy ones, as the node offers of \
                nvidia.com/gpu";
    assert_eq!(told(slice("s", 1)), [said]);
    assert_eq!(told(slice("s", 2)), [""; 0], "it was told");
    assert_eq!(told(node("1")), [""; 0], "it fits");
    assert_eq!(told(node("2")), [said], "and does not again");
    assert_eq!(told(Event::gone(Kind::ResourceSlice, "s")), [""; 0]);
    assert_eq!(told(slice("s", 2)), [said], "it was gone");
    let none = Event::Listed(Kind::ResourceSlice, Present::Names(BTreeSet::new()));
    assert_eq!(told(none), [""; 0]);
    assert_eq!(told(slice("s", 2)), [said]);
}

#[test]
fn what_a_node_says_of_its_inside_in_vain_is_told_once_by_the_leader() {
    let mut bench = bench();
    let node = |cpus: &str, memory: &str| {
        let labels = json!({
            "numa.kubenexus.io/node-0-cpus": cpus,
            "numa.kubenexus.io/node-0-memory": memory,
        });
        let node = json!({"metadata": {"name": "n", "labels": labels}});
        ingest::node(&node).expect("a node")
    };
    let mut told = |event: Event, leads: bool| {
        bench.core.state.is_leading = leads;
        bench.see(event);
        bench.core.tell_doubts();
        let mut orders = Vec::new();
        while let Ok(order) = bench.orders.try_recv() {
            orders.push(word(order));
        }
        orders
    };
    assert_eq!(told(node("7-3", "1"), false), [""; 0], "whoever stands by says nothing");
    let cpus = "ignored default-scheduler n: numa.kubenexus.io/node-0-cpus is \"7-3\"; expected \
                CPUs, such as 0-15 or 0-15_32-47";
    assert_eq!(told(node("7-3", "2"), true), [cpus]);
    assert_eq!(told(node("7-3", "3"), true), [""; 0], "it was told");
    let memory = "ignored default-scheduler n: numa.kubenexus.io/node-0-memory is \"x\"; expected \
                  an amount of bytes";
    assert_eq!(told(node("7-3", "x"), true), [memory]);
    assert_eq!(told(node("0-3", "1"), true), [""; 0]);
    assert_eq!(told(node("7-3", "1"), true), [cpus], "it was mended, and broken again");
    let topology = |policy: &str, cpus: u32| {
        let cpus = json!({"name": "cpu", "capacity": cpus, "allocatable": cpus, "available": 0});
        let version = cpus["capacity"].to_string();
        let object = json!({"metadata": {"name": "n", "resourceVersion": version},
            "attributes": [{"name": "topologyManagerPolicy", "value": policy}],
            "zones": [{"name": "node-0", "type": "Node", "resources": [cpus]}]});
        ingest::node_resource_topology(&object).expect("a NodeResourceTopology")
    };
    let policy = "ignored default-scheduler n: NodeResourceTopology topologyManagerPolicy is \
                  \"strict\"; expected none, best-effort, restricted or single-numa-node";
    assert_eq!(told(topology("strict", 4), true), [policy], "another object tells of the node");
    assert_eq!(told(topology("strict", 5), true), [""; 0], "it was told");
    assert_eq!(
        told(node("0-3", "1"), true),
        ["ignored default-scheduler n: \
         numa.kubenexus.io/node-0-cpus is \"4 CPUs\"; expected 5, as the node's \
         NodeResourceTopology says"],
        "sources disagree"
    );
    let gone = Event::gone(Kind::NodeResourceTopology, "n");
    assert_eq!(told(gone, true), [""; 0]);
}
