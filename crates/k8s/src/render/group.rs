//! What is written to the status of an object about a gang.

use serde::Serialize;

use crate::ingest::TIMEOUT;

/// A patch of such a status, for `application/strategic-merge-patch+json`.
#[derive(Debug, Serialize)]
pub struct GroupPatch<'a> {
    metadata: Meta<'a>,
    status: Status<'a>,
}

#[derive(Debug, Serialize)]
struct Meta<'a> {
    uid: &'a str,
}

#[derive(Debug, Serialize)]
struct Status<'a> {
    conditions: [Condition<'a>; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Condition<'a> {
    r#type: &'a str,
    status: &'static str,
    reason: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_transition_time: Option<&'a str>,
}

/// Whether a gang was once on nodes, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupCondition {
    /// The word that its version of the API has for it.
    pub r#type: &'static str,
    /// Whether it was. Once it was it stays so.
    pub is_scheduled: bool,
    /// `Scheduled`, `Unschedulable` or `SchedulerError`.
    pub reason: &'static str,
    /// In words.
    pub message: String,
    /// The generation of the object that was looked at.
    pub generation: i64,
    /// Whether the condition said something else before, so that it changes at this time.
    pub is_transition: bool,
}

/// The patch that makes the status of an object say so. The uid makes it fail for another object of
/// the same name.
#[must_use]
pub fn group_patch<'a>(uid: &'a str, condition: &'a GroupCondition, at: &'a str) -> GroupPatch<'a> {
    let condition = Condition {
        r#type: condition.r#type,
        status: if condition.is_scheduled { "True" } else { "False" },
        reason: condition.reason,
        message: &condition.message,
        observed_generation: Some(condition.generation).filter(|it| *it > 0),
        last_transition_time: condition.is_transition.then_some(at),
    };
    GroupPatch { metadata: Meta { uid }, status: Status { conditions: [condition] } }
}

/// How many pods or parts of a gang are on nodes, as its owner is told.
#[must_use]
pub fn gang_note(name: &str, bound: u32, min: u32, is_composite: bool) -> String {
    let parts = if is_composite { "groups " } else { "" };
    format!("gang {name}: {bound} of at least {min} {parts}are on nodes")
}

/// That pods of a gang do not agree on how long it may be incomplete, in seconds.
#[must_use]
pub fn timeouts_note(name: &str, least: u32, most: u32) -> String {
    format!("gang {name}: {TIMEOUT} of its pods is {least} and {most}: the largest counts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut condition = GroupCondition {
            r#type: "PodGroupInitiallyScheduled",
            is_scheduled: false,
            reason: "Unschedulable",
            message: "why".into(),
            generation: 3,
            is_transition: true,
        };
        let at = "2026-01-02T03:04:05Z";
        let patch = |condition: &GroupCondition| {
            serde_json::to_value(group_patch("u1", condition, at)).unwrap()
        };
        let expected = serde_json::json!({
            "metadata": {"uid": "u1"},
            "status": {"conditions": [{
                "type": "PodGroupInitiallyScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "why",
                "observedGeneration": 3,
                "lastTransitionTime": at,
            }]},
        });
        assert_eq!(patch(&condition), expected);
        condition = GroupCondition { is_transition: false, is_scheduled: true, ..condition };
        let found = patch(&condition)["status"]["conditions"][0].clone();
        assert_eq!((&found["status"], found.get("lastTransitionTime")), (&"True".into(), None));
    }
}
