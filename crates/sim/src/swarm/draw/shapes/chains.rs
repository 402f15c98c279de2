//! Gangs and pods that wait for others to succeed, in long rows and in circles, and annotations
//! that say too much.

use std::sync::Arc;

use model::{GangClaim, Millis, Time};
use serde_json::json;

use super::{job, range};
use crate::dice::Dice;
use crate::plan::{Job, Membership, Plan};
use crate::swarm::draw::OURS;

/// The annotation as users write it.
const AFTER: &str = "scheduling.kubenexus.io/depends-on";

pub(super) fn draw(dice: &mut Dice, plan: &mut Plan, is_large: bool) {
    let count = if is_large { dice.between(900, 1_300) } else { dice.between(2, 30) };
    let namespace = dice.pick(&["red", "blue"]);
    let is_circle = dice.percent(25);
    let (is_backwards, every) = (dice.percent(40), dice.pick(&[0, 1, 200]));
    let start = dice.between(0, plan.span.0 / 2);
    for at in 0..count {
        let mut job = link(dice, plan.span, format!("link{at}"), namespace);
        let number = if is_backwards { count - at } else { at };
        job.at = Time((start + number * every).min(plan.span.0));
        let after = match at {
            0 if is_circle => Some(count - 1),
            0 => None,
            _ => Some(at - 1),
        };
        let mut after: Vec<String> = after.map(|at| format!("link{at}")).into_iter().collect();
        if at > 1 && dice.percent(10) {
            after.push(format!("link{}", dice.between(0, at - 1)));
        }
        job.gang = Some(after_all(&format!("link{at}"), &after.join(",")));
        plan.jobs.push(job);
    }
    for at in 0..dice.between(0, 3) {
        let mut job = link(dice, plan.span, format!("waits{at}"), namespace);
        let last = dice.between(0, count - 1);
        let names = |count: u64| (0..count).map(|at| format!("link{at}")).collect::<Vec<_>>();
        let text = match dice.between(0, 5) {
            0..3 => format!("link{last}"),
            3 => names(64).join(", "),
            4 => names(65).join(", "),
            _ => "link0, ".repeat(700),
        };
        // Some of them are in no gang.
        let name = if dice.percent(50) { String::new() } else { format!("waits{at}") };
        job.gang = Some(after_all(&name, &text));
        plan.jobs.push(job);
    }
}

/// A pod that runs to a good end soon.
fn link(dice: &mut Dice, span: Millis, name: String, namespace: &str) -> Job {
    let mut job = job(dice, name, span);
    // The profile in which all keys count.
    job.spec.scheduler = OURS[1].to_owned();
    job.spec.namespace = namespace.to_owned();
    job.runs = dice.percent(95).then(|| range(dice, 3_000));
    job.life.failed_percent = if dice.percent(5) { 30 } else { 0 };
    job
}

/// A gang of one, or none, that is tried after others, as it is read from the annotation.
fn after_all(name: &str, text: &str) -> Membership {
    let mut labels = json!({});
    if !name.is_empty() {
        labels = json!({
            "pod-group.scheduling.kubenexus.io/name": name,
            "pod-group.scheduling.kubenexus.io/min-available": "1",
        });
    }
    let pod = json!({
        "metadata": {"name": "p", "labels": labels, "annotations": {AFTER: text}},
        "spec": {"containers": [{"name": "c"}]},
    });
    let facts = k8s::ingest::pod_to_judge(&pod).expect("what is drawn is a pod");
    let claim = facts.gang.unwrap_or_else(|| Arc::new(GangClaim::default()));
    Membership { gang: name.into(), claim: Some(claim), ..Membership::default() }
}
