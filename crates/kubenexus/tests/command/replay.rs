//! Journals are replayed with an exit code that says how it went.

use std::path::{Path, PathBuf};
use std::time::Duration;

use engine::{Options, Scheduler};
use journal::{Decided, Journal};
use model::{Catalog, Decision, Time};
use serde_json::{Value, json};

use crate::runner::{arg, run, scratch};

fn node(name: &str) -> Value {
    let room = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
    json!({"metadata": {"name": name}, "status": {"allocatable": room}})
}

fn pod(name: &str, cpu: &str) -> Value {
    let container = json!({"name": "main", "resources": {"requests": {"cpu": cpu}}});
    json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"schedulerName": "default-scheduler", "containers": [container]},
    })
}

/// A journal of four pods on two nodes; `spoil` changes what was decided.
pub(crate) fn recorded(name: &str, spoil: impl Fn(&mut Decided)) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    let settings = k8s::config::defaults(plugins::known());
    let mut catalog = Catalog::default();
    let profile = plugins::build(&settings.profiles[0], &mut catalog).expect("a profile");
    let mut scheduler = Scheduler::new(catalog, vec![profile], Options::default());
    let (mut journal, closer) = Journal::open(journal::Options {
        folder: folder.clone(),
        bytes_max: 1 << 30,
        segment_bytes: 1 << 20,
        version: "test".into(),
        started_unix_ms: 1_794_800_000_000,
        engine: Options::default(),
        config: k8s::config::write(&settings, plugins::known()),
    })
    .expect("the scratch folder can be written");
    journal.begin(Time(0), scheduler.checkpoint());
    let nodes = ["a", "b"].map(|name| k8s::ingest::node(&node(name)).expect("a node"));
    let pods = [("one", "1"), ("two", "1"), ("three", "1"), ("large", "4")];
    let pods = pods.map(|(name, cpu)| k8s::ingest::pod(&pod(name, cpu)).expect("a pod"));
    for (at, event) in nodes.into_iter().chain(pods).enumerate() {
        let (now, mut decisions) = (Time(at as u64), Vec::new());
        scheduler.apply(&event, now);
        journal.applied(now, event);
        scheduler.step(now, 1, &mut decisions);
        if let Some(decision) = decisions.pop() {
            let catalog = scheduler.catalog();
            let mut decided = match decision {
                Decision::Bind { pod, node, attempt, .. } => {
                    Decided::bind(catalog, pod, node, attempt)
                }
                Decision::Preempt(preemption) => Decided::preempt(catalog, &preemption),
                Decision::Disband(_)
                | Decision::Report(_)
                | Decision::Prepare(_)
                | Decision::Unprepared { .. } => continue,
                Decision::Wait(waiting) => {
                    let message = k8s::render::message(&waiting.diagnosis, catalog);
                    Decided::wait(catalog, &waiting, &message)
                }
            };
            spoil(&mut decided);
            journal.stepped(now, vec![decided]);
        }
    }
    assert!(closer.close(Duration::from_secs(20)), "the journal is written");
    folder
}

#[test]
fn the_same_decisions_end_with_0() {
    let ran = run(&["replay", arg(&recorded("replay-same", |_| {}))]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "{}", ran.out);
    let start = "1 segments, 10 records, 2026-11-16T03:33:20.000Z to 2026-11-16T03:33:20.005Z\n\
                 3 bindings, 1 waits\n";
    assert!(ran.out.starts_with(start), "{}", ran.out);
    assert!(ran.out.ends_with("all decisions are the same\n"), "{}", ran.out);
}

#[test]
fn another_decision_ends_with_2_and_is_shown() {
    let folder = recorded("replay-differs", |decided| {
        if let Decided::Wait { uid, message, .. } = decided {
            assert_eq!(&**uid, "large");
            *message = "the stars are wrong".into();
        }
    });
    let ran = run(&["replay", arg(&folder)]);
    assert_eq!((ran.code, &*ran.err), (Some(2), ""), "{}", ran.out);
    let expected = ", record 10, at 2026-11-16T03:33:20.005Z\n  \
                    pod   shop/large (large)\n  \
                    then  waits: the stars are wrong\n  \
                    now   waits: 0/2 nodes are available: 2 Insufficient cpu.";
    assert!(ran.out.contains(expected), "{}", ran.out);
}

#[test]
fn another_configuration_shows_what_it_would_have_done() {
    let folder = recorded("replay-instead", |_| {});
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}],
    });
    let config = scratch("replay-packing.yaml", config.to_string().as_bytes());
    let ran = run(&["replay", arg(&folder), "--config", arg(&config), "--list", "1"]);
    assert_eq!((ran.code, &*ran.err), (Some(2), ""), "{}", ran.out);
    assert!(ran.out.contains("1 pods that were not placed are\n"), "{}", ran.out);
    assert!(ran.out.contains("the first 1 of "), "{}", ran.out);
}

#[test]
fn what_is_no_journal_ends_with_1() {
    let ran = run(&["replay", "/nowhere/journal"]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    let expected = "kubenexus: reading the journal /nowhere/journal: No such file";
    assert!(ran.err.starts_with(expected), "{}", ran.err);
}

#[test]
fn a_folder_of_garbage_ends_with_3_and_names_each_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay-garbage");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).expect("the scratch folder can be written");
    let ran = run(&["replay", arg(&folder)]);
    assert_eq!((ran.code, &*ran.out), (Some(3), ""), "an empty folder");
    assert!(ran.err.contains("replay-garbage holds no segment of a journal"), "{}", ran.err);
    let names =
        ["000000001-2026-11-16T03-28-39Z.jsonl.gz", "000000002-2026-11-16T03-29-39Z.jsonl.gz"];
    for (name, bytes) in names.into_iter().zip([&b"garbage"[..], b""]) {
        std::fs::write(folder.join(name), bytes).expect("the scratch folder can be written");
    }
    let ran = run(&["replay", arg(&folder)]);
    assert_eq!((ran.code, &*ran.out), (Some(3), ""));
    assert!(ran.err.contains("replay-garbage holds nothing that can be replayed:"), "{}", ran.err);
    for name in names {
        let expected = format!("\n{name}: no journal, or cut before its checkpoint was complete");
        assert!(ran.err.contains(&expected), "{}", ran.err);
    }
}

#[test]
fn a_configuration_without_the_journals_profile_says_so() {
    let folder = recorded("replay-missing", |_| {});
    let config = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "another-scheduler"}],
    });
    let config = scratch("replay-missing.yaml", config.to_string().as_bytes());
    let ran = run(&["replay", arg(&folder), "--config", arg(&config)]);
    let note = "note: the other configuration has no profile \"default-scheduler\", as the journal \
                has; it places none of its pods (it has \"another-scheduler\")\n";
    assert!(ran.out.contains(note), "{}", ran.out);
    assert!(ran.out.contains("3 pods that were placed are not\n"), "{}", ran.out);
}

#[test]
fn a_snapshot_needs_a_cluster() {
    let ran = run(&["snapshot", "--kubeconfig", "/nowhere/config"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("reading kubeconfig /nowhere/config"), "{}", ran.err);
}
