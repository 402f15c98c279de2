//! What a user sees of a case's pods, as lines that are the same for schedulers that do the same.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ObjectReference, Pod};
use k8s_openapi::api::events::v1::Event;
use serde_json::{Value, json};

use super::case::Outcome;
use super::ledger::Record;
use crate::world::{name_of, node_of, phase_of};

/// The name both schedulers run under, so that nothing they write differs because of it.
pub(super) const SCHEDULER: &str = "default-scheduler";

/// Why a pod may wait: nothing takes it, something went wrong, or it is not to be scheduled yet.
const WAITING: [&str; 3] = ["Unschedulable", "SchedulerError", "SchedulingGated"];

/// What is expected, by the names that cases use.
pub(super) type Expectations = BTreeMap<String, Outcome>;

/// Fails with the first thing that is not as expected yet.
pub(super) fn check(
    records: &BTreeMap<String, Record>,
    expectations: &Expectations,
) -> Result<(), String> {
    // One that is gone and was made anew is not asked.
    let is_replaced = |record: &Record| {
        let is_next = |it: &Record| !it.is_gone && full_name(&it.pod) == full_name(&record.pod);
        record.is_gone && records.values().any(is_next)
    };
    for record in records.values().filter(|record| !is_replaced(record)) {
        let name = full_name(&record.pod);
        match expectation_of(&name, expectations) {
            Some((_, outcome)) => check_pod(&name, record, outcome)?,
            None if node_of(&record.pod).is_none() => {
                return Err(format!("the case does not say what it expects of pod {name}"));
            }
            // A pod that was there before stays.
            None if is_deleted(record) => return Err(format!("pod {name} is {}", state(record))),
            None if phase_of(&record.pod) != "Running" => {
                return Err(format!("pod {name} does not run"));
            }
            None => {}
        }
    }
    for (who, outcome) in expectations {
        let is_met = matches!(outcome, Outcome::Allows(_) | Outcome::Claim(_))
            || records.values().any(|it| is_meant(who, &full_name(&it.pod)));
        if !is_met {
            return Err(format!("there is no pod {who}"));
        }
    }
    Ok(())
}

fn check_pod(name: &str, record: &Record, outcome: &Outcome) -> Result<(), String> {
    let (node, nominated) = (node_of(&record.pod), nominated_of(&record.pod));
    let is_right = match outcome {
        Outcome::On(nodes) => {
            !is_deleted(record) && node.is_some_and(|node| nodes.iter().any(|it| it == node))
        }
        Outcome::Waits(prospect) => {
            !is_deleted(record)
                && node.is_none()
                && nominated == prospect.as_deref()
                && conditions(&record.pod).any(|it| WAITING.iter().any(|why| it["reason"] == *why))
        }
        Outcome::Prebinding(prospect) => {
            !is_deleted(record) && node.is_none() && nominated == Some(prospect)
        }
        Outcome::Leaving => is_deleted(record) && !record.is_gone,
        Outcome::Gone => record.is_gone,
        Outcome::Allows(_) | Outcome::Claim(_) => false,
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("pod {name}: {}, expected: {outcome}", state(record))),
    }
}

fn is_deleted(record: &Record) -> bool {
    record.is_gone || record.pod.metadata.deletion_timestamp.is_some()
}

fn state(record: &Record) -> String {
    let place = match (node_of(&record.pod), nominated_of(&record.pod)) {
        (Some(node), _) => format!("on {node}"),
        (None, Some(nominated)) => format!("waiting for {nominated}"),
        (None, None) => "waiting".to_owned(),
    };
    match (record.is_gone, is_deleted(record)) {
        (true, _) => format!("{place}, gone"),
        (false, true) => format!("{place}, leaving"),
        (false, false) => place,
    }
}

/// Everything about the pods and the schedulers' events about them, in a fixed order.
pub(super) fn lines(
    records: &BTreeMap<String, Record>,
    events: &[Event],
    expectations: &Expectations,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (uid, record) in records {
        let pod = &record.pod;
        let name = full_name(pod);
        let (shown, outcome) =
            expectation_of(&name, expectations).map_or((&*name, None), |(who, it)| (who, Some(it)));
        let mut told = vec![state(record)];
        told.extend(conditions(pod).map(|condition| format!("condition {condition}")));
        if let Some(nominated) = nominated_of(pod) {
            told.push(format!("nominatedNodeName {nominated}"));
        }
        if let Some(seconds) = pod.metadata.deletion_grace_period_seconds {
            told.push(format!("was given {seconds} s to leave"));
        }
        let of_pod = events.iter().filter(|it| about(it).uid.as_ref() == Some(uid));
        let of_pod = of_pod.filter(|event| !is_about_end(event));
        told.extend(of_pod.map(|event| format!("event {}", event_text(event))));
        for line in told {
            let line = line.replace(name_of(pod), own_name(shown));
            lines.push(format!("{shown}: {}", without_choice(line, pod, outcome)));
        }
    }
    for (uid, record) in records {
        let name = full_name(&record.pod);
        let shown = expectation_of(&name, expectations).map_or(&*name, |(who, _)| who);
        let text = format!("(uid of {shown})");
        lines.iter_mut().for_each(|line| *line = line.replace(uid, &text));
    }
    lines.sort();
    lines.dedup();
    lines
}

/// Of nodes that are equally good, it does not matter which one it is.
fn without_choice(line: String, pod: &Pod, outcome: Option<&Outcome>) -> String {
    let (Some(Outcome::On(nodes)), Some(node)) = (outcome, node_of(pod)) else { return line };
    if !nodes.iter().any(|it| it == node) {
        return line;
    }
    let choice = nodes.join(" or ");
    let line = line.replace(&format!(" to {node}\""), &format!(" to {choice}\""));
    if line == format!("on {node}") { format!("on {choice}") } else { line }
}

/// The conditions that schedulers write, without their times.
fn conditions(pod: &Pod) -> impl Iterator<Item = Value> {
    let all = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let all = all.into_iter().flatten();
    all.filter(|it| ["PodScheduled", "DisruptionTarget"].contains(&&*it.type_)).map(|condition| {
        let mut condition = json!(condition);
        let fields = condition.as_object_mut().expect("a condition has fields");
        fields.retain(|key, value| !key.ends_with("Time") && !value.is_null());
        condition
    })
}

/// Without `related`: kube-scheduler 1.37 means to name the preemptor there and fails to.
fn event_text(event: &Event) -> Value {
    let it = about(event);
    json!({
        "type": event.type_,
        "reason": event.reason,
        "action": event.action,
        "reportingController": event.reporting_controller,
        "regarding": [it.api_version, it.kind, it.namespace, it.name, it.uid, it.field_path],
        "note": event.note,
    })
}

/// Whether kube-scheduler tells that a pod it was about to bind is gone. It does so only if it asks
/// for the pod before it hears of the end, which is a matter of time.
fn is_about_end(event: &Event) -> bool {
    event.note.as_deref().is_some_and(|note| note.contains(": pod does not exist any more: "))
}

fn about(event: &Event) -> ObjectReference {
    event.regarding.clone().unwrap_or_default()
}

fn nominated_of(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.nominated_node_name.as_deref().filter(|name| !name.is_empty())
}

/// A pod's name as cases have it.
fn full_name(pod: &Pod) -> String {
    match pod.metadata.namespace.as_deref() {
        None | Some("default") => name_of(pod).to_owned(),
        Some(namespace) => format!("{namespace}/{}", name_of(pod)),
    }
}

fn own_name(full: &str) -> &str {
    full.rsplit('/').next().unwrap_or(full)
}

/// What is expected of a pod: by its name if there is such, else by how its name begins.
fn expectation_of<'a>(
    name: &str,
    expectations: &'a Expectations,
) -> Option<(&'a str, &'a Outcome)> {
    let exact = expectations.get_key_value(name);
    let found = exact.or_else(|| expectations.iter().find(|(who, _)| is_meant(who, name)));
    found.map(|(who, outcome)| (who.as_str(), outcome))
}

fn is_meant(who: &str, name: &str) -> bool {
    match who.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => who == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, uid: &str, node: &str) -> (String, Record) {
        let pod = json!({
            "metadata": {"name": name, "namespace": "default", "uid": uid},
            "spec": {"containers": [], "nodeName": node},
            "status": {"conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": null},
                {"type": "Ready", "status": "True"},
            ]},
        });
        let pod = serde_json::from_value(pod).unwrap();
        (uid.to_owned(), Record { pod, is_gone: false })
    }

    fn event(uid: &str, note: &str) -> Event {
        let event = json!({
            "metadata": {}, "eventTime": null, "reason": "Scheduled", "note": note,
            "regarding": {"kind": "Pod", "uid": uid},
        });
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn what_is_left_to_chance_is_not_seen() {
        let expectations = Expectations::from([(
            "web-*".to_owned(),
            Outcome::On(vec!["a".to_owned(), "b".to_owned()]),
        )]);
        let seen = |name: &str, uid: &str, node: &str| {
            let note = format!("Successfully assigned default/{name} to {node}");
            let records = BTreeMap::from([record(name, uid, node)]);
            (check(&records, &expectations), lines(&records, &[event(uid, &note)], &expectations))
        };
        let (checked, lines) = seen("web-x1", "11-11", "a");
        assert_eq!((checked, &lines), (Ok(()), &seen("web-y2", "22-22", "b").1));
        assert_eq!(lines[0], "web-*: condition {\"status\":\"True\",\"type\":\"PodScheduled\"}");
        assert!(lines[1].contains("Successfully assigned default/web-* to a or b\""), "{lines:?}");
        assert!(lines[1].contains("(uid of web-*)"), "{lines:?}");
        assert_eq!(lines[2], "web-*: on a or b");
        let (checked, other) = seen("web-x1", "11-11", "c");
        assert_eq!(checked.unwrap_err(), "pod web-x1: on c, expected: on a or b");
        assert!(other.contains(&"web-*: on c".to_owned()), "{other:?}");
    }
}
