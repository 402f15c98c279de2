//! Random clusters as they are, slimmed, and without names: a pod is judged the same in all three.

use engine::{Judgement, NodeJudgement, Options, Scheduler};
use k8s::anonymise::Anonymiser;
use k8s::ingest::{self, slim_node, slim_pod};
use kubenexus_parity::generate;
use model::{Catalog, Time};
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
        let event = match object["kind"].as_str()? {
            "Node" => ingest::node(object).ok()?,
            "Pod" => ingest::pod(object).ok()?,
            _ => continue,
        };
        scheduler.apply(&event, Time::default());
    }
    let mut facts = ingest::pod_to_judge(pod).ok()?;
    facts.spec.scheduler = name;
    scheduler.judge(&facts)
}

fn slim(object: &Value) -> Value {
    match object["kind"].as_str() {
        Some("Node") => slim_node(object.clone()),
        Some("Pod") | None => slim_pod(object.clone()),
        Some(_) => object.clone(),
    }
}

#[test]
fn a_pod_is_judged_the_same_without_names() {
    let anonymiser = Anonymiser::new(|text: &str| model::hash_of(&("secret", text)));
    let (mut fits, mut misfits) = (0, 0);
    for case in (0..CASES).map(|number| generate::case(11, number)) {
        let Some(objects) = case["objects"].as_array() else { continue };
        let Some(whole) = judged(objects, &case["pod"]) else { continue };
        let slimmed: Vec<_> = objects.iter().map(slim).collect();
        let pod = slim(&case["pod"]);
        assert_eq!(judged(&slimmed, &pod).as_ref(), Some(&whole), "slim: {case}");
        let nameless: Vec<_> = slimmed.into_iter().map(|it| anonymiser.object(it)).collect();
        let pod = anonymiser.object(pod);
        assert_eq!(judged(&nameless, &pod).as_ref(), Some(&whole), "without names: {case}");
        for (_, verdict) in whole.nodes {
            match verdict {
                NodeJudgement::Fits(_) => fits += 1,
                NodeJudgement::Unfit(..) => misfits += 1,
            }
        }
    }
    assert!(fits > 200 && misfits > 200, "{fits} fit, {misfits} do not");
}
