//! What a journal costs: `cargo run --release -p kubenexus-journal --example cost`.
//!
//! Pods are created, bound and confirmed on 5,000 nodes, with and without a journal. Printed are
//! the time of the engine's thread, CPU of all threads, bytes per pod, and what a checkpoint takes.

use std::fs;
use std::time::Duration;

use engine::{Options, Scheduler};
use kubenexus_journal::{Decided, Journal, Options as JournalOptions};
use model::{Decision, Event, Fact, NodeFacts, PodFacts, Time};
use testkit::Script;

const NODES: usize = 5_000;
const PODS: usize = 100_000;
/// Pods that differ in what they ask for.
const SHAPES: usize = 50;

fn node(at: usize) -> NodeFacts {
    let name = format!("node-{at:05}.cluster.example");
    let mut node = testkit::node(&format!("{name} cpu=64 memory=256Gi pods=250"));
    let labels = [
        ("topology.kubernetes.io/zone", format!("zone-{}", at % 3)),
        ("kubernetes.io/hostname", name),
        ("kubernetes.io/os", "linux".into()),
        ("kubernetes.io/arch", "amd64".into()),
        ("node.example/pool", format!("pool-{}", at % 7)),
    ];
    node.labels = labels.map(|(key, value)| (key.into(), value)).into();
    node.images = (0..40).map(|it| (format!("registry.example/app-{it}:v{}", at % 5), 9)).collect();
    node
}

fn pod(at: usize) -> PodFacts {
    let hash = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (shape, low) = (at % SHAPES, hash & 0xffff_ffff_ffff);
    let uid = format!("{:08x}-{:04x}-4a1b-8c2d-{low:012x}", hash >> 32, at % 65_536);
    testkit::pod(&format!(
        "service-{shape}-{:010x}-{:05x} uid={uid} namespace=team-{} cpu={}m memory={}Mi \
         tolerate=node.kubernetes.io/not-ready:NoExecute \
         tolerate=node.kubernetes.io/unreachable:NoExecute image=registry.example/app-{shape}:v1",
        shape * 7919,
        at % 1_048_576,
        shape % 10,
        50 + shape,
        64 + shape
    ))
}

fn scheduler() -> Scheduler {
    let mut scheduler = Script::new(&[testkit::default_profile()], Options::default()).scheduler;
    for at in 0..NODES {
        scheduler.apply(&Event::seen(node(at)), Time::default());
    }
    scheduler
}

/// Creates, binds and confirms all pods; tells how long the engine's thread took.
fn run(mut journal: Option<&mut Journal>) -> (Duration, Scheduler) {
    let mut scheduler = scheduler();
    if let Some(journal) = &mut journal {
        journal.begin(Time::default(), scheduler.checkpoint());
    }
    let pods: Vec<PodFacts> = (0..PODS).map(pod).collect();
    let created: Vec<_> = pods.iter().map(|pod| Event::seen(pod.clone())).collect();
    let mut confirmed: Vec<_> = pods.into_iter().map(Box::new).collect();
    let mut decisions = Vec::new();
    let before = thread_cpu();
    for (at, (event, mut after)) in created.into_iter().zip(confirmed.drain(..)).enumerate() {
        let now = Time(at as u64);
        scheduler.apply(&event, now);
        if let Some(journal) = &mut journal {
            journal.applied(now, event);
        }
        scheduler.step(now, 1, &mut decisions);
        let Some(Decision::Bind { pod, node, attempt, .. }) = decisions.pop() else {
            panic!("pod {at} found no node");
        };
        let catalog = scheduler.catalog();
        after.node = Some(catalog.node_name(node).into());
        if let Some(journal) = &mut journal {
            journal.stepped(now, vec![Decided::bind(catalog, pod, node, attempt)]);
        }
        let event = Event::Seen(Fact::Pod(after));
        scheduler.apply(&event, now);
        if let Some(journal) = &mut journal {
            journal.applied(now, event);
        }
        if at + 1 == PODS / 5 && journal.is_none() {
            took_checkpoint(&scheduler);
        }
        if at % 1000 == 0 {
            // As long as a cluster of this size takes at least, so that the writer keeps up.
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    (thread_cpu() - before, scheduler)
}

fn took_checkpoint(scheduler: &Scheduler) {
    let (pods, before) = (scheduler.catalog().pod_count(), thread_cpu());
    let checkpoint = scheduler.checkpoint();
    let took = (thread_cpu() - before).as_secs_f64() * 1e3;
    drop(checkpoint);
    println!("checkpoint of {NODES} nodes and {pods} pods: {took:.1} ms");
}

/// CPU time of this thread so far: on a busy machine, time on the clock says little.
fn thread_cpu() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanos = stat.split_whitespace().next().and_then(|text| text.parse().ok());
    Duration::from_nanos(nanos.expect("a number"))
}

/// CPU time of the process so far.
fn cpu() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace().collect::<Vec<_>>());
    let ticks = |at: usize| fields.as_ref().and_then(|it| it[at - 3].parse::<u64>().ok());
    Duration::from_millis(10 * (ticks(14).unwrap_or(0) + ticks(15).unwrap_or(0)))
}

fn main() {
    let folder = std::env::temp_dir().join(format!("journal-cost-{}", std::process::id()));
    let each = |took: Duration| took.as_nanos() as f64 / PODS as f64;
    let before = cpu();
    let (plain, scheduler) = run(None);
    let plain_cpu = cpu() - before;
    took_checkpoint(&scheduler);
    drop(scheduler);
    let before = cpu();
    let (mut journal, closer) = Journal::open(JournalOptions {
        folder: folder.clone(),
        bytes_max: 4 << 30,
        segment_bytes: 1 << 30,
        version: "cost".into(),
        started_unix_ms: 0,
        engine: Options::default(),
        config: k8s_config(),
    })
    .expect("a folder for temporary files");
    let (written, _) = run(Some(&mut journal));
    assert!(closer.close(Duration::from_secs(60)), "the writer ends");
    let written_cpu = cpu() - before;
    let totals = journal.totals();
    let bytes: u64 = kubenexus_journal::list(&folder)
        .expect("it was just written")
        .iter()
        .map(|it| it.bytes)
        .sum();
    println!(
        "engine's thread per pod: {:.0} ns without, {:.0} ns with a journal",
        each(plain),
        each(written)
    );
    println!(
        "CPU of all threads per pod: {:.0} ns without, {:.0} ns with",
        each(plain_cpu),
        each(written_cpu)
    );
    println!(
        "bytes per pod: {:.1} ({bytes} bytes, {} records, {} gaps)",
        bytes as f64 / PODS as f64,
        totals.records,
        totals.gaps
    );
    println!("replay it with: kubenexus replay {}", folder.display());
}

fn k8s_config() -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler"}],
    })
}
