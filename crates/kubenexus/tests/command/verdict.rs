//! `kubenexus verdict`: files, pipes and the examples.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::runner::{arg, in_repository, judge, kubenexus, run};

/// The verdicts of an example file, which are the same from a file and from standard input.
fn verdicts(name: &str) -> Vec<Value> {
    let file = in_repository(&format!("examples/verdict/{name}"));
    let ran = run(&["verdict", arg(&file)]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let text = std::fs::read(&file).expect("the example is there");
    assert_eq!(judge(text).out, ran.out, "from standard input");
    ran.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn check(name: &str, expected: &[Value]) {
    let found = verdicts(name);
    assert_eq!(found.len(), expected.len(), "{name}");
    for (found, expected) in found.iter().zip(expected) {
        let text = |value| serde_json::to_string_pretty(value).expect("JSON");
        assert_eq!(found, expected, "{name} gives\n{}", text(found));
    }
}

fn verdict(id: &str, nodes: Value) -> Value {
    json!({
        "id": id, "error": null, "prefilter": null, "nodes": nodes, "preemption": null,
        "allocation": null,
    })
}

#[test]
fn every_example_is_checked() {
    let files = std::fs::read_dir(in_repository("examples/verdict")).expect("there are examples");
    let names = files.map(|file| file.expect("readable").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["fits-nowhere.jsonl", "fits-on-some.jsonl", "packing.jsonl"]);
}

fn unfit(plugin: &str, code: &str, reasons: &[&str]) -> Value {
    let codes: Vec<_> = reasons.iter().map(|reason| word(reason)).collect();
    json!({"feasible": false, "plugin": plugin, "code": code, "reasons": reasons,
        "reasonCodes": codes})
}

/// The code of a reason.
fn word(reason: &str) -> &'static str {
    // (how its text starts, the code)
    let table = [
        ("Too many pods", "TooManyPods"),
        ("Insufficient ", "InsufficientResource"),
        ("node(s) were unschedulable", "NodeUnschedulable"),
        ("node(s) had untolerated taint(s)", "UntoleratedTaint"),
        ("node(s) didn't match Pod's node affinity/selector", "NodeAffinityMismatch"),
        ("gang: ", "GangInvalid"),
        ("waiting for PodGroup ", "PodGroupMissing"),
        ("waiting for gang ", "DependencyPending"),
    ];
    let found = table.iter().find(|(start, _)| reason.starts_with(start));
    found.unwrap_or_else(|| panic!("{reason}")).1
}

fn fit(resources: i64, balance: i64, total: i64) -> Value {
    let scores = json!({
        "ImageLocality": 0, "NodeResourcesBalancedAllocation": balance,
        "NodeResourcesFit": resources, "TaintToleration": 300,
    });
    json!({"feasible": true, "scores": scores, "total": total})
}

#[test]
fn a_pod_that_fits_on_some_nodes() {
    let never = "UnschedulableAndUnresolvable";
    let nodes = json!({
        "small": unfit("NodeResourcesFit", "Unschedulable", &["Insufficient cpu"]),
        // 7/8 of cpu and of memory stay free, as even as before.
        "large": fit(87, 75, 462),
        "closed": unfit("NodeUnschedulable", never, &["node(s) were unschedulable"]),
        "gpu": unfit("TaintToleration", never, &["node(s) had untolerated taint(s)"]),
    });
    check("fits-on-some.jsonl", &[verdict("web", nodes)]);
}

#[test]
fn a_pod_that_fits_nowhere_for_several_reasons() {
    let never = "UnschedulableAndUnresolvable";
    let gpu = "Insufficient nvidia.com/gpu";
    let selector = "node(s) didn't match Pod's node affinity/selector";
    let nodes = json!({
        "cpu-only": unfit("NodeResourcesFit", never, &[gpu]),
        "busy": unfit("NodeResourcesFit", "Unschedulable", &["Insufficient cpu", gpu]),
        "full": unfit("NodeResourcesFit", "Unschedulable", &["Too many pods"]),
        "other-pool": unfit("NodeAffinity", never, &[selector]),
        "draining": unfit("TaintToleration", never, &["node(s) had untolerated taint(s)"]),
    });
    let mut pinned = verdict("pinned", json!({}));
    pinned["prefilter"] = json!({
        "plugin": "NodeAffinity", "code": never, "reasons": ["pod affinity terms conflict"],
        "reasonCodes": ["NodeAffinityConflict"],
    });
    check("fits-nowhere.jsonl", &[verdict("training", nodes), pinned]);
}

#[test]
fn packing_turns_the_scores_around() {
    let most = json!({"empty": fit(25, 75, 400), "half-full": fit(75, 75, 450)});
    let least = json!({"empty": fit(75, 75, 450), "half-full": fit(25, 75, 400)});
    check("packing.jsonl", &[verdict("most-allocated", most), verdict("least-allocated", least)]);
}

/// The first block of a document in a language, below a heading.
fn block<'a>(document: &'a str, heading: &str, language: &str) -> &'a str {
    let (_, below) = document.split_once(heading).expect("the heading is there");
    let (_, block) = below.split_once(&format!("```{language}\n")).expect("a block is below it");
    block.split_once("```").expect("it ends").0
}

#[test]
fn the_example_of_the_documentation_runs_as_it_is_copied_and_answers_as_printed() {
    let document = std::fs::read_to_string(in_repository("docs/verdict.md")).expect("it is there");
    let script = block(&document, "## A case", "sh");
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_kubenexus")).parent().expect("a folder");
    let ran =
        std::process::Command::new("/bin/sh").args(["-c", script]).env("PATH", folder).output();
    let ran = ran.expect("there is a shell");
    assert_eq!(String::from_utf8_lossy(&ran.stderr), "");
    assert!(ran.status.success());
    let found: Value = serde_json::from_slice(&ran.stdout).expect("one JSON object");
    let printed: Value =
        serde_json::from_str(block(&document, "## A verdict", "json")).expect("JSON");
    assert_eq!(found, printed, "{}", serde_json::to_string_pretty(&found).expect("JSON"));
}

#[test]
fn cases_of_which_none_can_be_judged_end_with_1() {
    let ran = judge(b"{\"id\":1}\n\nnonsense\n".to_vec());
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.err, "kubenexus: 2 cases, and none could be judged: see \"error\"\n");
    assert_eq!(ran.out.lines().count(), 2, "each has its answer: {}", ran.out);
    let ran = judge(b"nonsense\n{\"id\":2,\"pod\":{\"spec\":{}}}\n".to_vec());
    assert_eq!((ran.code, &*ran.err), (Some(0), ""), "one could be judged");
    assert_eq!(judge(Vec::new()).code, Some(0), "no case, no failure");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let ran = run(&["verdict", "no-such-file.jsonl"]);
    let expected =
        "kubenexus: cannot open no-such-file.jsonl: No such file or directory (os error 2)\n";
    assert_eq!((ran.code, &*ran.out, &*ran.err), (Some(1), "", expected));
}

#[test]
fn a_folder_is_refused() {
    let ran = run(&["verdict", arg(&in_repository("examples"))]);
    assert_eq!((ran.code, &*ran.out), (Some(1), ""));
    assert!(ran.err.contains("Is a directory"), "{}", ran.err);
}

/// Whoever writes one case waits for its answer before writing the next.
#[test]
fn every_answer_comes_before_the_next_case() {
    let mut child = kubenexus(&["verdict"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    for id in 1..=3 {
        writeln!(stdin, r#"{{"id":{id},"pod":{{"spec":{{}}}}}}"#).expect("it reads");
        let mut answer = String::new();
        answers.read_line(&mut answer).expect("it answers");
        assert!(answer.starts_with(&format!("{{\"id\":{id},")), "{answer}");
    }
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
}

/// As in `kubenexus verdict | head -1`.
#[test]
fn a_reader_that_leaves_early_causes_no_panic() {
    let mut child = kubenexus(&["verdict"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut answers = BufReader::new(child.stdout.take().expect("a pipe"));
    stdin.write_all(b"{\"id\":1,\"pod\":{\"spec\":{}}}\n").expect("it reads");
    let mut answer = String::new();
    answers.read_line(&mut answer).expect("it answers");
    drop(answers);
    for _ in 0..10_000 {
        if stdin.write_all(b"{\"id\":2,\"pod\":{\"spec\":{}}}\n").is_err() {
            break;
        }
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 100), "{:?} {error}", output.status);
    assert!(!error.contains("panicked"), "{error}");
}

/// Sums of requests that no cluster could meet must neither overflow nor make room.
#[test]
fn a_node_full_of_absurd_pods_is_full() {
    let absurd = json!({"cpu": "4611686018427387904m", "memory": "4Ei", "example.com/x": "4Ei"});
    let pod = |name: &str, requests: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]},
        })
    };
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable":
            {"cpu": "4", "memory": "8Gi", "pods": "10", "example.com/x": "5"}},
    });
    let mut objects = vec![node];
    for name in ["a", "b", "c", "d"] {
        let mut running = pod(name, absurd.clone());
        running["spec"]["nodeName"] = json!("n");
        objects.push(running);
    }
    let wanted = json!({"cpu": "1", "memory": "1", "example.com/x": "1"});
    let case = json!({"id": "full", "objects": objects, "pod": pod("judged", wanted)});
    let ran = judge(case.to_string().into_bytes());
    let reasons = ["Insufficient cpu", "Insufficient memory", "Insufficient example.com/x"];
    let nodes = json!({"n": unfit("NodeResourcesFit", "Unschedulable", &reasons)});
    let found: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(found, verdict("full", nodes));
}

/// What a pod with such labels and annotations is told before any node is looked at; a node would
/// take it.
fn prefilter(scheduler: &str, labels: Value, annotations: Value, more: &[Value]) -> Value {
    let mut objects = vec![json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    })];
    objects.extend(more.iter().cloned());
    let pod = json!({
        "metadata": {"name": "p", "labels": labels, "annotations": annotations},
        "spec": {"schedulerName": scheduler, "containers": [{"name": "c"}]},
    });
    let ran = judge(json!({"objects": objects, "pod": pod}).to_string().into_bytes());
    let mut found: Value = serde_json::from_str(&ran.out).expect("JSON");
    let is_judged = found["nodes"]["n"]["feasible"] == json!(true);
    assert_eq!(is_judged, found["prefilter"].is_null(), "{found}");
    found["prefilter"].take()
}

#[test]
fn a_pod_whose_gang_makes_no_sense_is_not_feasible() {
    let ours = "pod-group.scheduling.kubenexus.io";
    let (name, min) = (format!("{ours}/name"), format!("{ours}/min-available"));
    let theirs = "scheduling.x-k8s.io/pod-group";
    let refused = |reason: &str| {
        json!({"plugin": "Coscheduling", "code": "UnschedulableAndUnresolvable",
            "reasons": [reason], "reasonCodes": [word(reason)]})
    };
    let none = json!({});
    let after = json!({"scheduling.kubenexus.io/depends-on": "prepare"});
    let table = [
        (
            json!({&name: "a", &min: "2", theirs: "b"}),
            none.clone(),
            "gang: label scheduling.x-k8s.io/pod-group is \"b\", label \
             pod-group.scheduling.kubenexus.io/name is \"a\": expected one gang",
        ),
        (
            json!({&name: "a", &min: "all"}),
            none.clone(),
            "gang: label pod-group.scheduling.kubenexus.io/min-available is \"all\": expected a \
             number from 1 to 10000",
        ),
        (json!({theirs: "a"}), none.clone(), "waiting for PodGroup \"a\", which is not there"),
        (none.clone(), after.clone(), "waiting for gang \"prepare\" to succeed"),
    ];
    for (labels, annotations, reason) in table {
        let told = |scheduler| prefilter(scheduler, labels.clone(), annotations.clone(), &[]);
        assert_eq!(told("kubenexus-scheduler"), refused(reason));
        assert_eq!(told("default-scheduler"), Value::Null, "it does not read these keys");
    }
    let group = json!({"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "a"}, "spec": {"minMember": 2}});
    let done = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "done", "uid": "1", "labels": {&name: "prepare", &min: "1"}},
        "spec": {"nodeName": "n", "containers": []}, "status": {"phase": "Succeeded"}});
    let told =
        |labels, annotations, more| prefilter("kubenexus-scheduler", labels, annotations, &[more]);
    assert_eq!(told(json!({theirs: "a"}), none.clone(), group), Value::Null);
    assert_eq!(told(none.clone(), after.clone(), done.clone()), Value::Null);
    let mut of_job = done;
    of_job["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job",
        "name": "prepare", "uid": "2", "controller": true}]);
    let job = |condition: &str| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "prepare", "uid": "2"},
            "status": {"conditions": [{"type": condition, "status": "True"}]}})
    };
    for (condition, expected) in
        [("Complete", Value::Null), ("Failed", refused("waiting for gang \"prepare\" to succeed"))]
    {
        let objects = [of_job.clone(), job(condition)];
        let told = prefilter("kubenexus-scheduler", none.clone(), after.clone(), &objects);
        assert_eq!(told, expected, "{condition}");
    }
}

/// The contribution of every plugin that has something to say of a service in our profile.
#[test]
fn every_plugin_shows_what_it_adds_to_a_node() {
    let node = |name: &str, zone: &str| {
        let labels = json!({"topology.kubernetes.io/zone": zone});
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": {"cpu": "10", "memory": "10Gi", "pods": "110"}}})
    };
    let metadata = |name: &str| {
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
            "controller": true});
        json!({"name": name, "uid": name, "namespace": "default", "labels": {"app": "web"},
            "ownerReferences": [owner]})
    };
    let container = json!({"name": "c", "image": "web:1", "resources": {
        "requests": {"cpu": "1", "memory": "1Gi"}}});
    let pod = |name: &str, node: Value| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name), "spec": {
            "schedulerName": "kubenexus-scheduler", "nodeName": node, "containers": [container]}})
    };
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}}});
    let objects = json!([node("n1", "a"), node("n2", "b"), set, pod("first", "n1".into())]);
    let nodes = judged(&objects, &pod("next", Value::Null), &[])["nodes"].take();
    let scores = |spread: Value, filled: Value, total: f64| {
        let scores = json!({"ImageLocality": 0, "ResourceFragmentation": 1000,
            "TaintToleration": 300, "TenantHardware": 100, "TopologySpread": spread,
            "WorkloadAware": filled});
        json!({"feasible": true, "scores": scores, "total": total})
    };
    // The only host of its zone keeps the weight of hosts: 6 x 20. A tenth of 20 and 10 per cent.
    let expected = json!({"n1": scores(json!(120), json!(10), 1530.0),
        "n2": scores(json!(600), json!(5), 2005.0)});
    assert_eq!(nodes.to_string(), expected.to_string().replace(".0", ""));
}

/// The answer to a case.
fn judged(objects: &Value, pod: &Value, flags: &[&str]) -> Value {
    let case = json!({"id": 1, "objects": objects, "pod": pod}).to_string();
    let mut child = kubenexus(&[&["verdict"], flags].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("piped").write_all(case.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["error"], Value::Null);
    answer
}

/// What the pod of a case is.
fn profile(objects: &Value, pod: &Value) -> Value {
    judged(objects, pod, &["--profile"])["profile"].take()
}

#[test]
fn what_a_pod_is_comes_with_its_source_and_nothing_it_says_raises_its_tier() {
    let namespace = json!([{"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "lab", "labels": {"tenant.kubenexus.io/tier": "silver"}}}]);
    let pod = json!({"kind": "Pod",
        "metadata": {"name": "p", "namespace": "lab",
            "annotations": {"tenant.kubenexus.io/tier": "gold"},
            "ownerReferences": [{"kind": "Job", "name": "j", "controller": true}]},
        "spec": {"schedulerName": "kubenexus-scheduler", "containers": [{"name": "c",
            "resources": {"requests": {"nvidia.com/gpu": "2"}}}]}});
    let expected = json!({
        "tenant": {"value": "lab", "source": "name of the namespace"},
        "tier": {"value": "silver", "source": "label tenant.kubenexus.io/tier of the namespace"},
        "workload": {"value": "training", "source": "batch that asks for GPUs"},
        "hardware": {"value": "multi-gpu", "source": "what the pod asks for"},
        "preemptible": {"value": false, "source": "nothing says otherwise"},
        "ignored": ["the pod asks for tier gold; a pod can only ask for a lower tier than its own"],
    });
    assert_eq!(profile(&namespace, &pod), expected);
    let unknown = profile(&json!([]), &pod);
    let lowest = json!({"value": "bronze", "source": "the namespace is not known, so the lowest"});
    assert_eq!(unknown["tier"], lowest);
    let mut other = pod;
    other["spec"]["schedulerName"] = "default-scheduler".into();
    assert_eq!(profile(&namespace, &other), Value::Null, "kube-scheduler's profile knows nothing");
}

#[test]
fn fields_that_nobody_knows_are_warnings_with_the_line_of_the_case() {
    let first = json!({"pod": {"spec": {}}});
    let second = json!({
        "objects": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
            "status": {"allocatble": {"cpu": "4"}}}],
        "pod": {"metadata": {"labels": {"tenant.kubenexus.io/teir": "gold"}},
            "spec": {"containers": [{"resources": {"requets": {"cpu": "1"}}}]}},
    });
    let ran = judge(format!("{first}\n\n{second}\n").into_bytes());
    assert_eq!(ran.code, Some(0));
    let expected = [
        "warning: -:3: pod.metadata.labels[\"tenant.kubenexus.io/teir\"]: unknown key; did you \
         mean \"tenant.kubenexus.io/tier\"?",
        "warning: -:3: pod.spec.containers[0].resources.requets: unknown field; did you mean \
         \"requests\"?",
        "warning: -:3: objects[0].status.allocatble: unknown field; did you mean \"allocatable\"?",
    ];
    assert_eq!(ran.err.lines().collect::<Vec<_>>(), expected);
    let many: String = (0..30).map(|_| format!("{second}\n")).collect();
    let ran = judge(many.into_bytes());
    assert_eq!(ran.err.lines().count(), 21);
    assert!(ran.err.ends_with("warning: and 70 more\n"), "{}", ran.err);
}

#[test]
fn a_pod_without_a_spec_is_refused() {
    let ran = judge(b"{\"pod\":{\"metadata\":{\"name\":\"p\"}}}\n".to_vec());
    assert!(ran.out.contains("\"error\":\"pod: spec: required, but missing\""), "{}", ran.out);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
    let ran = judge(json!({"objects": [pod], "pod": {"spec": {}}}).to_string().into_bytes());
    let error = "\"error\":\"objects[0]: spec: required, but missing\"";
    assert!(ran.out.contains(error), "{}", ran.out);
}
