//! What names that users write cost: memory for topology keys that came and went, the time that a
//! new namespace takes, and a joining node after namespaces that came and went.
//!
//! `cargo run --release -p kubenexus-perf --example names`

use std::time::Instant;

use engine::{Options, Scheduler};
use model::{
    Catalog, Event, Kind, LabelOperator, LabelSelector, NamespaceFacts, PodFacts, PodTerm,
    RequirementSpec, SpreadSpec, Target, Time,
};

const NODES: usize = 5_000;

fn main() {
    keys();
    new_namespace();
    joining_node();
}

fn scheduler(nodes: usize) -> Scheduler {
    let mut catalog = Catalog::default();
    let settings = k8s::config::defaults(plugins::known()).profiles;
    let build = |settings| plugins::build(settings, &mut catalog).expect("a valid profile");
    let profiles = settings.iter().map(build).collect();
    let mut scheduler = Scheduler::new(catalog, profiles, Options::default());
    for at in 0..nodes {
        join(&mut scheduler, at);
    }
    scheduler
}

fn join(scheduler: &mut Scheduler, at: usize) {
    let labels = vec![("kubernetes.io/hostname".into(), format!("n{at}"))];
    let mut facts = model::NodeFacts { name: format!("n{at}"), labels, ..Default::default() };
    (facts.pods_max, facts.allocatable.cpu) = (1_000, 100_000);
    scheduler.apply(&Event::seen(facts), Time::default());
}

/// A pod of another scheduler on a node.
fn pod(at: usize, namespace: &str) -> PodFacts {
    let facts = serde_json::json!({
        "key": {"uid": format!("u{at}"), "namespace": namespace, "name": format!("p{at}")},
        "priority": 0, "gates": [], "is_preempting": true,
        "node": format!("n{}", at % NODES), "nominated": null,
        "is_finished": false, "is_terminating": false,
    });
    let mut facts: PodFacts = serde_json::from_value(facts).expect("a pod");
    (facts.spec.scheduler, facts.spec.namespace) = ("other".into(), namespace.into());
    facts
}

fn apply_pod(scheduler: &mut Scheduler, facts: PodFacts) {
    scheduler.apply(&Event::seen(facts), Time::default());
}

fn delete_pod(scheduler: &mut Scheduler, at: usize) {
    scheduler.apply(&Event::gone(Kind::Pod, format!("u{at}")), Time::default());
}

fn selector(key: &str) -> LabelSelector {
    let (key, values) = (key.to_owned(), vec!["x".to_owned()]);
    LabelSelector {
        requirements: vec![RequirementSpec { key, operator: LabelOperator::In, values }],
    }
}

fn keys() {
    let mut scheduler = scheduler(NODES);
    println!("{NODES} nodes: {} MiB", resident() >> 20);
    for at in 0..6_000 {
        let mut facts = pod(at, "default");
        facts.spec.spread.push(SpreadSpec {
            key: format!("example.com/key-{at}"),
            selector: None,
            max_skew: 1,
            min_domains: 1,
            is_required: true,
            honours_affinity: true,
            honours_taints: false,
        });
        apply_pod(&mut scheduler, facts);
    }
    println!("with 6,000 pods that name a topology key each: {} MiB", resident() >> 20);
    (0..6_000).for_each(|at| delete_pod(&mut scheduler, at));
    println!("and without them again: {} MiB", resident() >> 20);
    let started = Instant::now();
    join(&mut scheduler, NODES);
    println!("a node joins in {:?}", started.elapsed());
}

fn new_namespace() {
    let mut scheduler = scheduler(NODES);
    for at in 0..100_000 {
        let mut facts = pod(at, "default");
        if at < 500 {
            let namespaces = Vec::new();
            let selector_of = |key: &str| Some(selector(&format!("example.com/{key}-{at}")));
            let (selector, namespace_selector) = (selector_of("app"), selector_of("team"));
            let target = Target { namespaces, namespace_selector, selector };
            facts.spec.far.push(PodTerm { key: "kubernetes.io/hostname".into(), target });
        }
        apply_pod(&mut scheduler, facts);
    }
    let started = Instant::now();
    let facts = NamespaceFacts { name: "new".into(), labels: model::Labels::default() };
    scheduler.apply(&Event::seen(facts), Time::default());
    println!("a namespace without pods comes, 100,000 pods, 500 rules: {:?}", started.elapsed());
}

fn joining_node() {
    let mut scheduler = scheduler(NODES);
    for at in 0..100_000 {
        apply_pod(&mut scheduler, pod(at, &format!("ns{at}")));
        delete_pod(&mut scheduler, at);
    }
    scheduler.step(Time::default(), 1, &mut Vec::new());
    let started = Instant::now();
    join(&mut scheduler, NODES);
    scheduler.step(Time::default(), 1, &mut Vec::new());
    println!("a node joins after 100,000 namespaces that are gone: {:?}", started.elapsed());
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").expect("a Linux system");
    let pages = status.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.expect("a number of pages") * 4096
}
