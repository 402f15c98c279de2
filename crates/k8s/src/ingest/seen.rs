//! Objects as they arrive from a list or a watch: text straight to facts, and beside them what is
//! needed to write back to the object.

use model::{Event, SucceededFacts};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::view::{NamespaceView, NodeView, PodView};
use super::{IngestError, company, gang, node, pod, read};

/// A pod as it was seen.
#[derive(Clone, Debug)]
pub struct SeenPod {
    /// Its `resourceVersion`.
    pub version: String,
    /// That it is there.
    pub event: Event,
    /// What stands about scheduling in its object, if it is on no node and not at its end.
    pub standing: Option<Standing>,
}

/// What stands about scheduling in the object of a pod that is on no node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// `metadata.generation`.
    pub generation: i64,
    /// Reason and message of the `PodScheduled` condition, if it stands at `False`.
    pub condition: Option<(String, String)>,
}

/// A node as it was seen.
#[derive(Clone, Debug)]
pub struct SeenNode {
    /// Its `resourceVersion`.
    pub version: String,
    /// That it is there.
    pub event: Event,
}

/// Reads the text of a pod.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a Pod.
pub fn read_pod(text: &[u8]) -> Result<SeenPod, IngestError> {
    let mut view: PodView = read_text("Pod", text)?;
    let standing = Standing::new(&view);
    let version = std::mem::take(&mut view.metadata.resource_version);
    let facts = pod::facts(view);
    let standing = standing.filter(|_| !facts.is_finished);
    Ok(SeenPod { version, event: Event::seen(facts), standing })
}

/// Reads the text of a pod that ran to its end: its `resourceVersion`, and that it is there if
/// it was in a gang.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a Pod.
pub fn read_succeeded(text: &[u8]) -> Result<(String, Option<Event>), IngestError> {
    let mut view: PodView = read_text("Pod", text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    let is_failed = view.status.phase == "Failed";
    let owner = view.metadata.owner_references.iter().find(|owner| owner.controller);
    let job = owner.filter(|owner| owner.kind == "Job");
    let own = job.filter(|job| job.api_version.starts_with("batch/") && !job.uid.is_empty());
    let is_of_job = job.is_some() && own.is_none();
    // Who is in whose place is the business of a Job that says when it is through.
    let owner = owner.filter(|_| own.is_none());
    let owner = owner.map(|owner| format!("{}/{}", owner.kind, owner.name)).unwrap_or_default();
    let job = own.map(|job| job.uid.as_str().into()).unwrap_or_default();
    let facts = pod::facts(view);
    let claim = facts.gang.filter(|claim| !claim.name.is_empty());
    let event = claim.map(|claim| {
        Event::seen(SucceededFacts {
            uid: facts.key.uid,
            namespace: facts.key.namespace,
            gang: claim.name.clone(),
            is_failed,
            created: facts.rest.created,
            owner: owner.into(),
            job,
            is_of_job,
            min: claim.min,
            objects: claim.objects.clone(),
        })
    });
    Ok((version, event))
}

/// Whether a pod waits for gangs to end.
#[must_use]
pub fn waits_for_gangs(pod: &Value) -> bool {
    let view: Result<PodView, _> = read("Pod", pod);
    let claim = view.ok().and_then(|view| gang::claim(&view));
    claim.is_some_and(|claim| !claim.after.is_empty())
}

/// Reads the text of a node.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a Node.
pub fn read_node(text: &[u8]) -> Result<SeenNode, IngestError> {
    let mut view: NodeView = read_text("Node", text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok(SeenNode { version, event: Event::seen(node::facts(view)) })
}

/// Reads the text of a namespace: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a Namespace.
pub fn read_namespace(text: &[u8]) -> Result<(String, Event), IngestError> {
    let mut view: NamespaceView = read_text("Namespace", text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    Ok((version, Event::seen(company::namespace_facts(view))))
}

/// Reads text without anything in between. Only a fault makes it worth the while to go through the
/// object step by step and find where it is.
pub(super) fn read_text<T: DeserializeOwned>(
    kind: &'static str,
    text: &[u8],
) -> Result<T, IngestError> {
    if let Ok(view) = serde_json::from_slice(text) {
        return Ok(view);
    }
    let object: Value = serde_json::from_slice(text).map_err(|error| {
        let message = format!("is not JSON: {error}");
        IngestError { kind, path: String::new(), message }
    })?;
    read(kind, &object)
}

impl Standing {
    /// Nothing if the pod is on a node.
    fn new(view: &PodView) -> Option<Self> {
        if !view.spec.node_name.is_empty() {
            return None;
        }
        let found = pod::not_scheduled(view);
        Some(Self {
            generation: view.metadata.generation,
            condition: found.map(|condition| (condition.reason.clone(), condition.message.clone())),
        })
    }
}
