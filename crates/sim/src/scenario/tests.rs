//! Scenarios as texts: what becomes of them, and what is said about bad ones.

mod fuzz;
mod gangs;
mod keepers;
mod machines;
mod namespaces;
mod refusals;
mod saved;
mod storage;
mod typos;

use model::{Millis, Time};

use super::*;
use crate::plan::Fate;
use crate::quantities::columns;
use crate::report::Report;
use crate::run::Run;

const HEAD: &str = "apiVersion: simulate.kubenexus.io/v1alpha1\nkind: Scenario\n";
const NODE: &str =
    "kind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: 4, memory: 8Gi}}\n";

fn source(name: &str, text: &str) -> Source {
    Source { name: name.to_owned(), text: text.to_owned() }
}

/// Reads one file.
fn scenario(text: &str) -> Scenario {
    read(&[source("a.yaml", text)]).unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"))
}

fn plan(text: &str) -> (Plan, Vec<String>) {
    scenario(text).plan(None).expect("every profile is there")
}

fn report(text: &str) -> Report {
    let scenario = scenario(text);
    let run = Run::new(scenario.plan(None).expect("every profile is there").0);
    let run = if scenario.is_open_ended() { run.until_settled() } else { run };
    run.finish().expect("no rule is broken")
}

/// Name, pods and followers of every job.
fn jobs(text: &str) -> Vec<(String, u64, u64)> {
    let (plan, _) = plan(text);
    plan.jobs.into_iter().map(|job| (job.name, job.pods, job.followers)).collect()
}

fn row(name: &str, pods: u64, followers: u64) -> (String, u64, u64) {
    (name.to_owned(), pods, followers)
}

#[test]
fn manifests_alone_are_a_scenario() {
    let text = format!(
        "{NODE}---\nkind: Pod\nmetadata: {{name: bound, uid: u}}\nspec: {{nodeName: n1}}\n---\n\
         kind: Pod\nmetadata: {{name: waits, namespace: team}}\nspec: {{}}\n---\n\
         kind: Pod\nmetadata: {{name: over}}\nspec: {{nodeName: n1}}\nstatus: {{phase: Failed}}\n\
         ---\nkind: ConfigMap\nmetadata: {{name: s}}\n---\nkind: HorizontalPodAutoscaler\n"
    );
    let (plan, notes) = plan(&text);
    assert_eq!(plan.nodes.len(), 1);
    assert_eq!((&*plan.nodes[0].pool, plan.nodes[0].facts.pods_max), ("nodes", 110));
    let found: Vec<_> = plan
        .jobs
        .iter()
        .map(|job| (&*job.name, &*job.spec.namespace, job.node.as_deref()))
        .collect();
    assert_eq!(found, [("bound", "default", Some("n1")), ("waits", "team", None)]);
    assert!(plan.jobs.iter().all(|job| job.spec.scheduler == "default-scheduler"));
    let ignored = "ignored, because it makes no difference: 1 ConfigMap";
    assert_eq!(notes, [ignored, "not simulated: 1 HorizontalPodAutoscaler"]);
    let report = report(&text);
    assert_eq!((report.pods.given, report.pods.placed, report.pods.waiting), (1, 1, 0));
}

#[test]
fn what_makes_pods_makes_them_by_table() {
    let template = "template: {spec: {containers: [{name: c}]}}";
    // (kind, spec, pods, followers)
    let table = [
        ("Deployment", "replicas: 3", 3, 0),
        ("Deployment", "x: 1", 1, 0),
        ("StatefulSet", "replicas: 2", 2, 0),
        ("ReplicaSet", "replicas: 4", 4, 0),
        ("Job", "completions: 5", 1, 4),
        ("Job", "parallelism: 3", 3, 0),
        ("Job", "parallelism: 3, completions: 10, completionMode: Indexed", 3, 7),
        ("Job", "parallelism: 9, completions: 2", 2, 0),
    ];
    for (kind, spec, pods, followers) in table {
        let text = format!(
            "{NODE}---\nkind: {kind}\nmetadata: {{name: x}}\nspec: {{{spec}, {template}}}\n"
        );
        assert_eq!(jobs(&text), [row("x", pods, followers)], "{kind} {spec}");
    }
    for spec in ["suspend: true", "parallelism: 0"] {
        let text =
            format!("{NODE}---\nkind: Job\nmetadata: {{name: x}}\nspec: {{{spec}, {template}}}\n");
        assert_eq!(jobs(&text), [], "{spec}");
    }
}

#[test]
fn a_saved_cluster_has_every_pod_once() {
    let owner = |kind: &str, name: &str| {
        format!("ownerReferences: [{{kind: {kind}, name: {name}, controller: true}}]")
    };
    let spec = "spec: {replicas: 3, template: {spec: {containers: []}}}";
    let set = owner("Deployment", "web");
    let pod = owner("ReplicaSet", "web-1");
    let text = format!(
        "{NODE}---\nkind: Deployment\nmetadata: {{name: web}}\n{spec}\n---\n\
         kind: ReplicaSet\nmetadata: {{name: web-1, {set}}}\n{spec}\n---\n\
         kind: Pod\nmetadata: {{name: web-1-a, {pod}}}\nspec: {{nodeName: n1}}\n---\n\
         kind: Pod\nmetadata: {{name: web-1-b, {pod}}}\nspec: {{}}\n"
    );
    assert_eq!(jobs(&text), [row("web", 1, 0), row("web-1-a", 1, 0), row("web-1-b", 1, 0)]);
}

#[test]
fn what_the_api_server_fills_in_is_filled_in() {
    let text = format!(
        "{NODE}---\nkind: PriorityClass\nmetadata: {{name: high}}\nvalue: 900\n\
         preemptionPolicy: Never\n---\n\
         kind: PriorityClass\nmetadata: {{name: usual}}\nvalue: 10\nglobalDefault: true\n---\n\
         kind: Pod\nmetadata: {{name: a}}\nspec:\n  priorityClassName: high\n  \
         hostNetwork: true\n  containers:\n  - ports: [{{containerPort: 80}}]\n    \
         resources:\n      limits: {{cpu: 2, nvidia.com/gpu: 4}}\n      \
         requests: {{cpu: 500m}}\n---\n\
         kind: Pod\nmetadata: {{name: b}}\nspec: {{containers: [{{name: c}}]}}\n---\n\
         kind: Pod\nmetadata: {{name: c}}\nspec: {{priority: 7, priorityClassName: gone}}\n"
    );
    let (plan, _) = plan(&text);
    let priorities: Vec<i32> = plan.jobs.iter().map(|job| job.priority).collect();
    assert_eq!(priorities, [900, 10, 7]);
    let modest: Vec<bool> = plan.jobs.iter().map(|job| job.life.is_modest).collect();
    assert_eq!(modest, [true, false, false]);
    let first = &plan.jobs[0].spec;
    assert_eq!(columns(&first.requests.fit), [500, 0, 4]);
    assert_eq!(first.ports.len(), 1);
}

#[test]
fn pools_are_copies_of_a_template_or_a_node() {
    let text = format!(
        "{NODE}---\n{HEAD}pools:\n- name: big\n  count: 2\n  joins: 1h\n  template:\n    \
         metadata: {{labels: {{a: b}}}}\n    status: {{capacity: {{cpu: 8}}}}\n\
         - {{name: same, count: 1, like: n1}}\nnodes:\n\
         - {{at: 2h, do: drain, pool: big, count: 1}}\n- {{at: 3h, do: open, node: big-001}}\n\
         - {{at: 1h, do: join, node: same-001}}\n"
    );
    let (plan, _) = plan(&text);
    let names: Vec<_> = plan.nodes.iter().map(|node| (&*node.facts.name, &*node.pool)).collect();
    let expected = [("n1", "nodes"), ("big-001", "big"), ("big-002", "big"), ("same-001", "same")];
    assert_eq!(names, expected);
    let hour = |count: u64| Time(count * 3_600_000);
    assert_eq!(
        plan.nodes.iter().map(|node| node.joins).collect::<Vec<_>>(),
        [Time(0), hour(1), hour(1), hour(1)]
    );
    let fates = [(hour(2), Fate::Closes), (hour(2), Fate::Drains), (hour(3), Fate::Opens)];
    assert_eq!(plan.nodes[1].fates, fates);
    assert!(plan.nodes[2].fates.is_empty());
    let host = |at: usize| {
        let mut labels = plan.nodes[at].facts.labels.iter();
        labels
            .find(|(key, _)| key == "kubernetes.io/hostname")
            .expect("a host has a name")
            .1
            .clone()
    };
    assert_eq!([host(0), host(2), host(3)], ["n1", "big-002", "same-001"]);
    assert_eq!(plan.nodes[1].facts.allocatable.cpu, 8000);
}

#[test]
fn arrivals_come_when_the_scenario_says() {
    let arrivals = |keys: &str| -> Vec<u64> {
        let text = format!(
            "{NODE}---\n{HEAD}span: 1h\njobs:\n- {{{keys}, template: {{kind: Pod, \
             metadata: {{name: p}}, spec: {{}}}}}}\n"
        );
        plan(&text).0.jobs.iter().map(|job| job.at.0 / 60_000).collect()
    };
    assert_eq!(arrivals("at: 5m"), [5]);
    assert_eq!(arrivals("every: 20m"), [0, 20, 40]);
    assert_eq!(arrivals("at: 10m, every: 20m, until: 50m"), [10, 30]);
    assert_eq!(arrivals("every: 1m, times: 3"), [0, 1, 2]);
    assert_eq!(arrivals("at: 1m, count: 2"), [1, 1]);
    let between = arrivals("between: 10m..20m, times: 50");
    assert_eq!(between.len(), 50);
    assert!(between.is_sorted() && between.iter().all(|at| (10..=20).contains(at)), "{between:?}");
    let random = arrivals("perHour: 600");
    assert!((500..700).contains(&random.len()), "{}", random.len());
    assert!(random.is_sorted() && random.iter().all(|at| *at < 60));
}

#[test]
fn what_arrives_beside_a_job_changes_nothing_about_its_times() {
    let job = |name: &str| {
        format!(
            "- {{name: {name}, perHour: 9, duration: ~5m, template: {{kind: Pod, metadata: \
             {{name: p}}, spec: {{}}}}}}\n"
        )
    };
    let of_b = |jobs: &str| -> Vec<(Time, Option<(Millis, Millis)>)> {
        let (plan, _) = plan(&format!("{NODE}---\n{HEAD}span: 9h\njobs:\n{jobs}"));
        let of_b = plan.jobs.into_iter().filter(|job| job.name.starts_with('b'));
        of_b.map(|job| (job.at, job.runs)).collect()
    };
    let alone = of_b(&job("b"));
    assert!(alone.len() > 40, "{}", alone.len());
    assert_eq!(of_b(&(job("a") + &job("b"))), alone);
}

#[test]
fn lengths_come_from_the_pod_the_arrival_or_the_scenario() {
    let annotated = "annotations: {simulate.kubenexus.io/duration: 1m}";
    let text = format!(
        "{NODE}---\n{HEAD}duration: 3m\njobs:\n- {{from: Pod/a, duration: 2m}}\n- {{from: Pod/b}}\n\
         ---\nkind: Pod\nmetadata: {{name: a, {annotated}}}\nspec: {{}}\n---\n\
         kind: Pod\nmetadata: {{name: b, {annotated}}}\nspec: {{}}\n---\n\
         kind: Pod\nmetadata: {{name: c}}\nspec: {{}}\n---\n\
         kind: Deployment\nmetadata: {{name: d}}\nspec: {{template: {{spec: {{}}}}}}\n"
    );
    let (plan, _) = plan(&text);
    let mut found: Vec<_> = plan.jobs.iter().map(|job| (&*job.name, job.runs)).collect();
    found.sort_unstable_by_key(|(name, _)| *name);
    let minutes = |count: u64| Some((Millis::seconds(count * 60), Millis::seconds(count * 60)));
    assert_eq!(found, [("a", minutes(2)), ("b", minutes(1)), ("c", minutes(3)), ("d", None)]);
}

#[test]
fn followers_come_one_by_one_and_the_run_ends_by_itself() {
    let text = format!(
        "{NODE}---\n{HEAD}duration: 10m\n---\nkind: Job\nmetadata: {{name: x}}\nspec:\n  \
         parallelism: 2\n  completions: 5\n  template: {{spec: {{containers: [{{resources: \
         {{requests: {{cpu: 3}}}}}}]}}}}\n"
    );
    let report = report(&text);
    // One after the other, because two do not fit side by side.
    assert_eq!((report.pods.created, report.pods.finished, report.pods.waiting), (5, 5, 0));
    assert_eq!(report.span_ms / 60_000, 50);
    assert!(report.history.iter().all(|sample| sample.waiting <= 1));
    assert_eq!(report.cluster.cpu.end_permille, 0);
    assert!((740..=750).contains(&report.cluster.cpu.mean_permille), "{:?}", report.cluster.cpu);
}

#[test]
fn a_run_without_a_span_ends_when_what_is_left_cannot_be_placed() {
    let text =
        format!("{NODE}---\nkind: Pod\nmetadata: {{name: x}}\nspec: {{nodeSelector: {{a: b}}}}\n");
    let report = report(&text);
    assert_eq!((report.pods.waiting, report.span_ms), (1, 0));
    assert_eq!(report.waiting_jobs.len(), 1);
}

#[test]
fn a_node_that_has_too_much_on_it_already_takes_what_asks_for_something_else() {
    let pod = |name: &str, node: &str, request: &str| {
        format!(
            "---\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{{node}containers: [{{name: c, \
             resources: {{requests: {{{request}}}}}}}]}}\n"
        )
    };
    let greedy = pod("greedy", "nodeName: n1, ", "cpu: 8");
    let found = report(&format!("{NODE}{greedy}{}", pod("modest", "", "memory: 1Gi")));
    assert_eq!((found.pods.given, found.pods.placed), (1, 1));
    assert_eq!(found.cluster.cpu.end_permille, 2000);
    let found = report(&format!("{NODE}{greedy}{}", pod("thirsty", "", "cpu: 1m")));
    assert_eq!(found.pods.waiting, 1);
}

#[test]
fn pods_of_unknown_schedulers_run_with_the_first_profile() {
    let pod = "kind: Pod\nmetadata: {name: x}\nspec: {schedulerName: volcano}\n";
    let (plan, notes) = plan(&format!("{NODE}---\n{pod}"));
    assert_eq!(plan.jobs[0].spec.scheduler, "default-scheduler");
    assert!(notes[0].starts_with("1 pods ask for a scheduler"), "{notes:?}");
    let named =
        scenario(&format!("{NODE}---\n{pod}---\n{HEAD}schedulerName: kubenexus-scheduler\n"));
    let (plan, notes) = named.plan(None).expect("there is such a profile");
    assert_eq!((&*plan.jobs[0].spec.scheduler, notes.len()), ("kubenexus-scheduler", 0));
}

#[test]
fn configurations_are_files_or_inline() {
    let file = scenario(&format!("{NODE}---\n{HEAD}config: sub/c.yaml\n"));
    assert_eq!(file.config_file(), Some(("sub/c.yaml", "a.yaml")));
    let inline = format!(
        "{NODE}---\n{HEAD}config:\n  apiVersion: kubescheduler.config.k8s.io/v1\n  \
         kind: KubeSchedulerConfiguration\n  podMaxBackoffSeconds: 77\n"
    );
    let (plan, _) = plan(&inline);
    assert_eq!(plan.settings.max_backoff, Millis::seconds(77));
}

#[test]
fn what_is_in_json_is_what_is_in_yaml() {
    let json = r#"{"kind": "List", "items": [
        {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4"}}},
        {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n1"}}]}
        {"apiVersion": "simulate.kubenexus.io/v1alpha1", "kind": "Scenario", "span": "1h"}"#;
    let (plan, _) = plan(json);
    assert_eq!((plan.nodes.len(), plan.jobs.len(), plan.span), (1, 1, Millis::seconds(3600)));
}

#[test]
fn faults_are_the_plans_faults() {
    let text = format!(
        "{NODE}---\n{HEAD}span: 1h\nfaults: {{requestTime: 1ms..9ms, watchDelay: 5ms, \
         refusedPercent: 3, lostPercent: 2, unansweredPercent: 1, watchCutEvery: 10m, \
         leaderLostEvery: 20m}}\n"
    );
    let faults = plan(&text).0.faults;
    assert_eq!(faults.request, (Millis(1), Millis(9)));
    assert_eq!(faults.watch, (Millis(5), Millis(5)));
    let percents = (faults.refused_percent, faults.lost_percent, faults.unanswered_percent);
    assert_eq!(percents, (3, 2, 1));
    assert_eq!(faults.watch_cut_every, Some(Millis::seconds(600)));
    assert_eq!(faults.leader_lost_every, Some(Millis::seconds(1200)));
}
