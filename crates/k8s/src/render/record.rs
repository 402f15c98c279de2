//! What is written about a pod beside its binding: events, and the change of its status.

use model::PodKey;
use serde::Serialize;

/// The longest note the API server takes, in bytes.
const NOTE_MAX: usize = 1024;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// The pod was bound.
    Scheduled,
    /// The pod waits.
    FailedScheduling,
    /// The pod was evicted for this one.
    Preempted(Regarding<'a>),
    /// The pod was evicted because its gang could not be completed.
    GangTakenBack,
    /// The pod's gang could not be completed, and nobody would make the pod again.
    GangIncomplete,
    /// Enough of a gang is on nodes.
    GangScheduled,
    /// A gang lost pods that it needs.
    GangDegraded,
    /// Pods of a gang do not agree on how long it may be incomplete.
    GangTimeoutsDiffer,
    /// The pod's tier is the lowest because something is not known.
    TierUnknown,
    /// The pod says something of itself that means nothing.
    HintIgnored,
    /// The node says something of its inside that means nothing.
    HardwareIgnored,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<Regarding<'a>>,
    note: &'a str,
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
struct Meta<'a> {
    name: String,
    namespace: &'a str,
}

/// The object that an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Regarding<'a> {
    /// Its group and version.
    pub api_version: &'a str,
    /// What it is.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// Its uid.
    pub uid: &'a str,
    /// Its `resourceVersion` when the event happened; empty if that is not known.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub resource_version: &'a str,
}

impl<'a> Regarding<'a> {
    /// A node. It is known by its name in the place of its uid, as the kubelet does it and clients
    /// expect; events about it are in the namespace `default`.
    #[must_use]
    pub fn node(name: &'a str) -> Self {
        Self {
            api_version: "v1",
            kind: "Node",
            name,
            namespace: "default",
            uid: name,
            resource_version: "",
        }
    }

    /// A pod at a `resourceVersion`.
    #[must_use]
    pub fn pod(pod: &'a PodKey, resource_version: &'a str) -> Self {
        Self {
            api_version: "v1",
            kind: "Pod",
            name: &pod.name,
            namespace: &pod.namespace,
            uid: &pod.uid,
            resource_version,
        }
    }
}

/// An event about an object at a time in `MicroTime`'s form. `serial` makes its name different
/// from those of other events about the object; `reporter` is the scheduler and its instance.
#[must_use]
pub fn event<'a>(
    record: Record<'a>,
    regarding: Regarding<'a>,
    note: &'a str,
    at: &'a str,
    serial: u64,
    reporter: (&'a str, &'a str),
) -> EventRecord<'a> {
    let (reason, action, r#type, related) = match record {
        Record::Scheduled => ("Scheduled", "Binding", "Normal", None),
        Record::FailedScheduling => ("FailedScheduling", "Scheduling", "Warning", None),
        Record::Preempted(by) => ("Preempted", "Preempting", "Normal", Some(by)),
        Record::GangTakenBack => ("GangTakenBack", "TakingBack", "Normal", None),
        Record::GangIncomplete => ("GangIncomplete", "Scheduling", "Warning", None),
        Record::GangScheduled => ("GangScheduled", "Scheduling", "Normal", None),
        Record::GangDegraded => ("GangDegraded", "Scheduling", "Warning", None),
        Record::GangTimeoutsDiffer => ("GangTimeoutsDiffer", "Scheduling", "Warning", None),
        Record::TierUnknown => ("TierUnknown", "Classifying", "Warning", None),
        Record::HintIgnored => ("HintIgnored", "Classifying", "Warning", None),
        Record::HardwareIgnored => ("HardwareIgnored", "Reading", "Warning", None),
    };
    EventRecord {
        api_version: "events.k8s.io/v1",
        kind: "Event",
        metadata: Meta { name: event_name(regarding.name, serial), namespace: regarding.namespace },
        event_time: at,
        reporting_controller: reporter.0,
        reporting_instance: cut(reporter.1, INSTANCE_MAX),
        action,
        reason,
        regarding,
        related,
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
pub fn scheduled_note((namespace, name): (&str, &str), node: &str) -> String {
    format!("Successfully assigned {namespace}/{name} to {node}")
}

/// The note about a pod that was evicted for another one.
#[must_use]
pub fn preempted_note(preemptor: &PodKey, node: &str) -> String {
    format!("Preempted by pod {} on node {node}", preemptor.uid)
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

/// What must be so of the object, or the request fails.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchMeta<'a> {
    uid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
}

impl<'a> PatchMeta<'a> {
    /// Whatever happened to it meanwhile.
    fn of(pod: &'a PodKey) -> Self {
        Self { uid: &pod.uid, resource_version: None }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PatchStatus<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<[PatchCondition<'a>; 1]>,
    /// Null takes the field away.
    #[serde(skip_serializing_if = "Option::is_none")]
    nominated_node_name: Option<Option<&'a str>>,
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

/// How the status of a pod that waits is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusChange {
    /// The generation of the pod that was judged.
    pub generation: i64,
    /// Whether the condition was not `False` before, so that it changes at this time.
    pub is_transition: bool,
    /// The node that is proposed for the pod, or none, if the status says something else.
    pub nomination: Option<Option<Box<str>>>,
}

/// The patch that makes a pod's `PodScheduled` condition say why it waits. The uid makes it fail
/// for another pod of the same name, the `resourceVersion` for a pod that has changed: it may have
/// been bound.
#[must_use]
pub fn status_patch<'a>(
    (pod, version): (&'a PodKey, &'a str),
    (reason, message): (&'a str, &'a str),
    at: &'a str,
    change: &'a StatusChange,
) -> StatusPatch<'a> {
    StatusPatch {
        metadata: PatchMeta { resource_version: Some(version), ..PatchMeta::of(pod) },
        status: PatchStatus {
            conditions: Some([PatchCondition {
                r#type: "PodScheduled",
                status: "False",
                reason,
                message,
                observed_generation: change.generation,
                last_transition_time: change.is_transition.then_some(at),
            }]),
            nominated_node_name: change.nomination.as_ref().map(Option::as_deref),
        },
    }
}

/// The patch that proposes a node for a pod at a `resourceVersion`, or none any more.
#[must_use]
pub fn nomination_patch<'a>(
    pod: &'a PodKey,
    version: &'a str,
    node: Option<&'a str>,
) -> StatusPatch<'a> {
    let metadata = PatchMeta { resource_version: Some(version), ..PatchMeta::of(pod) };
    let status = PatchStatus { conditions: None, nominated_node_name: Some(node) };
    StatusPatch { metadata, status }
}

/// Why a pod is about to be evicted, as its status says it: a reason and a message.
pub type Disruption = (&'static str, String);

/// That a pod is about to be evicted for another one.
#[must_use]
pub fn preemption(scheduler: &str) -> Disruption {
    let message = format!("{scheduler}: preempting to accommodate a higher priority pod");
    ("PreemptionByScheduler", message)
}

/// That a pod is about to be evicted because its gang could not be completed.
#[must_use]
pub fn taken_back(scheduler: &str, note: &str) -> Disruption {
    ("GangBelowMinimum", format!("{scheduler}: {note}"))
}

/// The patch that says in a pod's status that it is about to be evicted.
#[must_use]
pub fn disruption_patch<'a>(
    pod: &'a PodKey,
    generation: i64,
    (reason, message): &'a Disruption,
    at: &'a str,
) -> StatusPatch<'a> {
    let condition = PatchCondition {
        r#type: "DisruptionTarget",
        status: "True",
        reason,
        message,
        observed_generation: generation,
        last_transition_time: Some(at),
    };
    let status = PatchStatus { conditions: Some([condition]), nominated_node_name: None };
    StatusPatch { metadata: PatchMeta::of(pod), status }
}

/// The body of a request that deletes this very pod, and no other of its name.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteOptions<'a> {
    api_version: &'static str,
    kind: &'static str,
    preconditions: PatchMeta<'a>,
}

/// Deletes a pod.
#[must_use]
pub fn deletion(pod: &PodKey) -> DeleteOptions<'_> {
    let preconditions = PatchMeta::of(pod);
    DeleteOptions { api_version: "v1", kind: "DeleteOptions", preconditions }
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
        let note = scheduled_note(("ns", "web-1"), "n1");
        let reporter = ("batch", "batch-host");
        let event = event(
            Record::Scheduled,
            Regarding::pod(&pod, "17"),
            &note,
            "2026-01-02T03:04:05.000006Z",
            255,
            reporter,
        );
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
                "apiVersion": "v1", "kind": "Pod", "name": "web-1", "namespace": "ns", "uid": "u1",
                "resourceVersion": "17",
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
        let nomination = Some(None);
        let change = StatusChange { generation: 1, is_transition: true, nomination };
        let patch = |change: StatusChange| {
            let patch = status_patch(
                (&pod, "17"),
                ("Unschedulable", "why"),
                "2026-01-02T03:04:05Z",
                &change,
            );
            serde_json::to_value(&patch).unwrap()
        };
        let metadata = serde_json::json!({"uid": "u1", "resourceVersion": "17"});
        let expected = serde_json::json!({
            "metadata": metadata,
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
        let plain = StatusChange { generation: 0, is_transition: false, nomination: None };
        let condition = serde_json::json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "why",
        });
        let expected =
            serde_json::json!({"metadata": metadata, "status": {"conditions": [condition]}});
        assert_eq!(patch(plain.clone()), expected);
        let proposed = StatusChange { nomination: Some(Some("n1".into())), ..plain };
        assert_eq!(patch(proposed)["status"]["nominatedNodeName"], "n1");
        let expected =
            serde_json::json!({"metadata": metadata, "status": {"nominatedNodeName": null}});
        assert_eq!(serde_json::to_value(nomination_patch(&pod, "17", None)).unwrap(), expected);
    }

    #[test]
    fn a_victim_is_marked_and_deleted_by_its_uid() {
        let pod = pod("web-1");
        let why = preemption("batch");
        let patch = disruption_patch(&pod, 2, &why, "2026-01-02T03:04:05Z");
        let expected = serde_json::json!({
            "metadata": {"uid": "u1"},
            "status": {"conditions": [{
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "PreemptionByScheduler",
                "message": "batch: preempting to accommodate a higher priority pod",
                "observedGeneration": 2,
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }]},
        });
        assert_eq!(serde_json::to_value(&patch).unwrap(), expected);
        let expected = serde_json::json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "u1"},
        });
        assert_eq!(serde_json::to_value(deletion(&pod)).unwrap(), expected);
    }
}
