//! Random clusters as they are, slimmed, and without names: a pod is judged the same in all three.

use engine::{Judgement, NodeJudgement, Options, Scheduler};
use k8s::anonymise::Anonymiser;
use k8s::ingest;
use kubenexus_parity::generate;
use model::{Catalog, Event, GroupingKind, Time};
use serde_json::Value;

const CASES: u64 = 300;

/// What the scheduler thinks of a pod on every node; nothing if an object cannot be read.
fn judged(objects: &[Value], pod: &Value) -> Option<Judgement> {
    let settings = k8s::config::defaults(plugins::known());
    let mut catalog = Catalog::default();
    let profile = plugins::build(&settings.profiles[0], &mut catalog).expect("the default profile");
    let name = profile.scheduler.clone();
    let mut scheduler = Scheduler::new(catalog, vec![profile], Options::default());
    for object in objects {
        if let Some(event) = event(object) {
            scheduler.apply(&event.ok()?, Time::default());
        }
    }
    let mut facts = ingest::pod_to_judge(pod).ok()?;
    facts.spec.scheduler = name;
    scheduler.judge(&facts)
}

/// What is read of an object; nothing of one that no scheduler is told of.
fn event(object: &Value) -> Option<Result<Event, ingest::IngestError>> {
    let (version, kind) = (object["apiVersion"].as_str().unwrap_or("v1"), object["kind"].as_str()?);
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    if let Some(kind) = ingest::storage_kind(group, kind) {
        return Some(ingest::storage(kind, object));
    }
    Some(match kind {
        "Node" => ingest::node(object),
        "Pod" => ingest::pod(object),
        "Namespace" => ingest::namespace(object),
        "PodDisruptionBudget" => ingest::budget(object),
        "Service" => ingest::grouping(GroupingKind::Service, object),
        "ReplicationController" => ingest::grouping(GroupingKind::ReplicationController, object),
        "ReplicaSet" => ingest::grouping(GroupingKind::ReplicaSet, object),
        "StatefulSet" => ingest::grouping(GroupingKind::StatefulSet, object),
        _ => return None,
    })
}

fn slim(object: &Value) -> Value {
    let text = |key: &str, other: &str| object[key].as_str().unwrap_or(other).to_owned();
    ingest::slim(&text("apiVersion", "v1"), &text("kind", "Pod"), object.clone())
}

/// Without names, pods before all else, as a snapshot has them.
fn nameless(objects: &[Value], pod: &Value) -> (Vec<Value>, Value) {
    let anonymiser = Anonymiser::new(|text: &str| model::hash_of(&("secret", text)));
    let pod = anonymiser.object(pod.clone());
    let is_pod = |object: &&Value| object["kind"] == "Pod";
    for pod in objects.iter().filter(is_pod) {
        let _ = anonymiser.object(pod.clone());
    }
    (objects.iter().map(|object| anonymiser.object(object.clone())).collect(), pod)
}

#[test]
fn a_pod_is_judged_the_same_without_names() {
    let cases = (0..CASES).map(|number| generate::case(11, number));
    let (fits, misfits) = check(cases);
    assert!(fits > 200 && misfits > 200, "{fits} fit, {misfits} do not");
}

#[test]
fn a_pod_with_volumes_is_judged_the_same_without_names() {
    let cases = (0..CASES / 2).map(|number| generate::volume_case(11, number));
    let (fits, misfits) = check(cases);
    assert!(fits > 100 && misfits > 100, "{fits} fit, {misfits} do not");
}

/// A judgement without the names of objects in its reasons. Plugins are single words that begin in
/// upper case.
fn shape(judgement: &Judgement) -> String {
    let text = format!("{judgement:?}");
    let is_plugin = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_uppercase()) && !part.contains(' ')
    };
    let parts = text.split('"').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 1 && !is_plugin(part) { "" } else { part });
    parts.collect::<Vec<_>>().join("\"")
}

/// How many nodes fitted, and how many did not.
fn check(cases: impl Iterator<Item = Value>) -> (usize, usize) {
    let (mut fits, mut misfits) = (0, 0);
    for case in cases {
        let Some(objects) = case["objects"].as_array() else { continue };
        let Some(whole) = judged(objects, &case["pod"]) else { continue };
        let slimmed: Vec<_> = objects.iter().map(slim).collect();
        let pod = slim(&case["pod"]);
        assert_eq!(judged(&slimmed, &pod).as_ref(), Some(&whole), "slim: {case}");
        let (nameless, pod) = nameless(&slimmed, &pod);
        let judged = judged(&nameless, &pod).map(|found| shape(&found));
        assert_eq!(judged, Some(shape(&whole)), "without names: {case}");
        for (_, verdict) in whole.nodes {
            match verdict {
                NodeJudgement::Fits(_) => fits += 1,
                NodeJudgement::Unfit(..) => misfits += 1,
            }
        }
    }
    (fits, misfits)
}
