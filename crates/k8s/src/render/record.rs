//! What is written about a pod beside its binding: events, and the change of its status.

use model::PodKey;
use serde::Serialize;

/// The longest note the API server takes, in bytes.
const NOTE_MAX: usize = 1024;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The pod was bound.
    Scheduled,
    /// The pod waits.
    FailedScheduling,
}

/// An `events.k8s.io/v1` Event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Meta<'a>,
    event_time: &'a str,
    reporting_controller: &'a str,
    reporting_instance: &'a str,
    action: &'static str,
    reason: &'static str,
    regarding: Regarding<'a>,
    note: &'a str,
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct Meta<'a> {
    name: String,
    namespace: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Regarding<'a> {
    api_version: &'static str,
    kind: &'static str,
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
}

/// An event about a pod at a time in `MicroTime`'s form. `serial` makes its name different from
/// those of other events about the pod; `reporter` is the scheduler and its instance.
#[must_use]
pub fn event<'a>(
    record: Record,
    pod: &'a PodKey,
    note: &'a str,
    at: &'a str,
    serial: u64,
    reporter: (&'a str, &'a str),
) -> EventRecord<'a> {
    let (reason, action, r#type) = match record {
        Record::Scheduled => ("Scheduled", "Binding", "Normal"),
        Record::FailedScheduling => ("FailedScheduling", "Scheduling", "Warning"),
    };
    EventRecord {
        api_version: "events.k8s.io/v1",
        kind: "Event",
        metadata: Meta { name: event_name(&pod.name, serial), namespace: &pod.namespace },
        event_time: at,
        reporting_controller: reporter.0,
        reporting_instance: cut(reporter.1, INSTANCE_MAX),
        action,
        reason,
        regarding: Regarding {
            api_version: "v1",
            kind: "Pod",
            name: &pod.name,
            namespace: &pod.namespace,
            uid: &pod.uid,
        },
        note,
        r#type,
    }
}

/// The longest name of an object, and of a reporting instance.
const NAME_MAX: usize = 253;
const INSTANCE_MAX: usize = 128;

fn event_name(pod: &str, serial: u64) -> String {
    let tail = format!(".{serial:x}");
    // A name may not end in a dot or a dash before the tail.
    let head = cut(pod, NAME_MAX - tail.len()).trim_end_matches(['.', '-']);
    format!("{head}{tail}")
}

fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max.min(text.len()))]
}

/// The note about a pod that was bound.
#[must_use]
pub fn scheduled_note(pod: &PodKey, node: &str) -> String {
    format!("Successfully assigned {}/{} to {node}", pod.namespace, pod.name)
}

/// A message that fits into a note.
#[must_use]
pub fn cut_note(message: &str) -> String {
    const SUFFIX: &str = " ...";
    if message.len() <= NOTE_MAX {
        return message.into();
    }
    format!("{}{SUFFIX}", cut(message, NOTE_MAX - SUFFIX.len()))
}

/// A patch of a pod's status, for `application/strategic-merge-patch+json`.
#[derive(Debug, Serialize)]
pub struct StatusPatch<'a> {
    metadata: PatchMeta<'a>,
    status: PatchStatus<'a>,
}

#[derive(Debug, Serialize)]
struct PatchMeta<'a> {
    uid: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchStatus<'a> {
    conditions: [PatchCondition<'a>; 1],
    /// Null takes the field away.
    #[serde(skip_serializing_if = "Option::is_none")]
    nominated_node_name: Option<()>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchCondition<'a> {
    r#type: &'static str,
    status: &'static str,
    reason: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    observed_generation: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_transition_time: Option<&'a str>,
}

fn is_zero(value: &i64) -> bool {
    *value == 0
}

/// How a status is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// The generation of the pod that was judged.
    pub generation: i64,
    /// Whether the condition was not `False` before, so that it changes at this time.
    pub is_transition: bool,
    /// Whether a nominated node has to be taken back.
    pub clears_nomination: bool,
}

/// The patch that makes a pod's `PodScheduled` condition say why it waits. The uid makes it fail
/// for another pod of the same name.
#[must_use]
pub fn status_patch<'a>(
    pod: &'a PodKey,
    (reason, message): (&'a str, &'a str),
    at: &'a str,
    change: StatusChange,
) -> StatusPatch<'a> {
    StatusPatch {
        metadata: PatchMeta { uid: &pod.uid },
        status: PatchStatus {
            conditions: [PatchCondition {
                r#type: "PodScheduled",
                status: "False",
                reason,
                message,
                observed_generation: change.generation,
                last_transition_time: change.is_transition.then_some(at),
            }],
            nominated_node_name: change.clears_nomination.then_some(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str) -> PodKey {
        PodKey { uid: "u1".into(), namespace: "ns".into(), name: name.into() }
    }

    #[test]
    fn an_event_reads_as_kube_scheduler_writes_it() {
        let pod = pod("web-1");
        let note = scheduled_note(&pod, "n1");
        let reporter = ("batch", "batch-host");
        let event =
            event(Record::Scheduled, &pod, &note, "2026-01-02T03:04:05.000006Z", 255, reporter);
        let expected = serde_json::json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web-1.ff", "namespace": "ns"},
            "eventTime": "2026-01-02T03:04:05.000006Z",
            "reportingController": "batch",
            "reportingInstance": "batch-host",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {
                "apiVersion": "v1", "kind": "Pod", "name": "web-1", "namespace": "ns", "uid": "u1"
            },
            "note": "Successfully assigned ns/web-1 to n1",
            "type": "Normal",
        });
        assert_eq!(serde_json::to_value(&event).unwrap(), expected);
    }

    #[test]
    fn names_and_notes_stay_within_their_limits() {
        let name = event_name(&format!("{}.{}", "a".repeat(240), "b".repeat(12)), u64::MAX);
        assert!(name.len() <= NAME_MAX && !name.contains(".."), "{name}");
        assert_eq!(cut_note("short"), "short");
        let note = cut_note(&"é".repeat(600));
        assert!(note.len() <= NOTE_MAX && note.ends_with("é ..."), "{note}");
    }

    #[test]
    fn a_patch_names_only_what_changes() {
        let pod = pod("web-1");
        let change = StatusChange { generation: 1, is_transition: true, clears_nomination: true };
        let patch = |change| {
            let patch =
                status_patch(&pod, ("Unschedulable", "why"), "2026-01-02T03:04:05Z", change);
            serde_json::to_value(&patch).unwrap()
        };
        let expected = serde_json::json!({
            "metadata": {"uid": "u1"},
            "status": {
                "conditions": [{
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "why",
                    "observedGeneration": 1,
                    "lastTransitionTime": "2026-01-02T03:04:05Z",
                }],
                "nominatedNodeName": null,
            },
        });
        assert_eq!(patch(change), expected);
        let plain = StatusChange { generation: 0, is_transition: false, clears_nomination: false };
        let condition = serde_json::json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "why",
        });
        let expected =
            serde_json::json!({"metadata": {"uid": "u1"}, "status": {"conditions": [condition]}});
        assert_eq!(patch(plain), expected);
    }
}
