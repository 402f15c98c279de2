//! Objects that say how many pods of a gang start together, of all projects that have such.
//!
//! Queues and priority classes of other schedulers mean nothing to this one.

use model::{Amounts, Event, PodGroupFacts, PodGroupKey, PodGroupKind};
use serde_json::Value;

use super::seen::read_text;
use super::view::{Condition, PodGroupSpec, PodGroupView, PolicyView};
use super::{IngestError, read};

/// For how many seconds some of a gang may be on nodes without the others.
const TIMEOUT_MAX: u32 = 3600;

/// The event that an object about a gang is there.
///
/// # Errors
/// When the object does not have the shape of its kind.
pub fn pod_group(kind: PodGroupKind, object: &Value) -> Result<Event, IngestError> {
    pod_group_facts(kind, object).map(Event::seen)
}

/// The facts of an object about a gang.
///
/// # Errors
/// When the object does not have the shape of its kind.
pub fn pod_group_facts(kind: PodGroupKind, object: &Value) -> Result<PodGroupFacts, IngestError> {
    Ok(facts(kind, read(word(kind), object)?))
}

/// An object about a gang as it was seen.
#[derive(Clone, Debug)]
pub struct SeenPodGroup {
    /// Its `resourceVersion`.
    pub version: String,
    /// That it is there.
    pub event: Event,
    /// What has to be known to write to it.
    pub standing: GroupStanding,
}

/// What stands in the object of a gang beside its facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupStanding {
    /// `metadata.uid`.
    pub uid: Box<str>,
    /// `metadata.resourceVersion`.
    pub version: Box<str>,
    /// `metadata.generation`.
    pub generation: i64,
    /// Status, reason and message of the condition that says whether the gang was once on nodes.
    pub condition: Option<(String, String, String)>,
}

/// Reads the text of an object about a gang.
///
/// # Errors
/// When it is no JSON, or does not have the shape of its kind.
pub fn read_pod_group(kind: PodGroupKind, text: &[u8]) -> Result<SeenPodGroup, IngestError> {
    let mut view: PodGroupView = read_text(word(kind), text)?;
    let version = std::mem::take(&mut view.metadata.resource_version);
    let condition = view.status.conditions.iter().find(|condition| is_start(condition));
    let standing = GroupStanding {
        uid: view.metadata.uid.as_str().into(),
        version: version.as_str().into(),
        generation: view.metadata.generation,
        condition: condition.map(|it| (it.status.clone(), it.reason.clone(), it.message.clone())),
    };
    let event = Event::seen(facts(kind, view));
    Ok(SeenPodGroup { version, event, standing })
}

/// Whether a condition says if the gang was once on nodes. Kubernetes 1.36 had another word, and
/// composites have one of their own.
fn is_start(condition: &Condition) -> bool {
    matches!(
        condition.r#type.as_str(),
        "PodGroupInitiallyScheduled" | "PodGroupScheduled" | "CompositePodGroupInitiallyScheduled"
    )
}

/// Which kind is meant by an API group and a kind of object.
#[must_use]
pub fn pod_group_kind(group: &str, kind: &str) -> Option<PodGroupKind> {
    match (group, kind) {
        ("scheduling.k8s.io", "PodGroup") => Some(PodGroupKind::Native),
        ("scheduling.k8s.io", "CompositePodGroup") => Some(PodGroupKind::Composite),
        ("scheduling.k8s.io", "Workload") => Some(PodGroupKind::Workload),
        ("scheduling.x-k8s.io", "PodGroup") => Some(PodGroupKind::Coscheduling),
        ("scheduling.volcano.sh", "PodGroup") => Some(PodGroupKind::Volcano),
        ("scheduling.run.ai", "PodGroup") => Some(PodGroupKind::Kai),
        _ => None,
    }
}

fn word(kind: PodGroupKind) -> &'static str {
    match kind {
        PodGroupKind::Native
        | PodGroupKind::Coscheduling
        | PodGroupKind::Volcano
        | PodGroupKind::Kai => "PodGroup",
        PodGroupKind::Composite => "CompositePodGroup",
        PodGroupKind::Workload => "Workload",
    }
}

fn facts(kind: PodGroupKind, view: PodGroupView) -> PodGroupFacts {
    let PodGroupView { metadata, spec, status } = view;
    let is_native = matches!(kind, PodGroupKind::Native | PodGroupKind::Composite);
    let mut conditions = status.conditions.iter();
    let is_started = conditions.any(|it| is_start(it) && it.status == "True");
    let timeout = spec.schedule_timeout_seconds.map(|it| count(it).min(TIMEOUT_MAX));
    let topology = spec.scheduling_constraints.topology.iter();
    let parent = spec.parent_composite_pod_group_name.as_str();
    PodGroupFacts {
        key: PodGroupKey { kind, namespace: metadata.namespace.into(), name: metadata.name.into() },
        mins: mins(kind, &spec),
        timeout: timeout.filter(|it| *it > 0 && kind == PodGroupKind::Coscheduling),
        priority: spec.priority.filter(|_| is_native),
        topology: topology.map(|it| it.key.as_str().into()).filter(|_| is_native).collect(),
        is_evicted_whole: is_native && spec.disruption_mode.0,
        parent: (is_native && !parent.is_empty()).then(|| parent.into()),
        is_started: is_native && is_started,
        min_resources: min_resources(kind, &spec),
    }
}

/// What has to be free on all nodes together. How many pods that are is said by a number of its
/// own, and planned for.
fn min_resources(kind: PodGroupKind, spec: &PodGroupSpec) -> Amounts<String> {
    let mut amounts = match kind {
        PodGroupKind::Coscheduling | PodGroupKind::Volcano => spec.min_resources.amounts(),
        PodGroupKind::Native
        | PodGroupKind::Composite
        | PodGroupKind::Workload
        | PodGroupKind::Kai => return Amounts::default(),
    };
    // Volcano's controllers add what a quota counts, such as `count/pods`.
    let scalars = std::mem::take(&mut amounts.scalars).into_iter();
    amounts.scalars = scalars.filter(|(name, _)| !name.starts_with("count/")).collect();
    amounts
}

fn mins(kind: PodGroupKind, spec: &PodGroupSpec) -> Box<[(Box<str>, u32)]> {
    let only = |min: u32| -> Box<[(Box<str>, u32)]> { Box::new([("".into(), min)]) };
    match kind {
        PodGroupKind::Native => only(pods(&spec.scheduling_policy)),
        // Without a minimum each part stands for itself.
        PodGroupKind::Composite => {
            let gang = spec.scheduling_policy.gang.as_ref();
            only(gang.map_or(0, |gang| count(gang.min_group_count)))
        }
        PodGroupKind::Workload => {
            let groups = spec.pod_groups.iter();
            groups.map(|group| (group.name.as_str().into(), pods(&group.policy))).collect()
        }
        PodGroupKind::Coscheduling | PodGroupKind::Volcano | PodGroupKind::Kai => {
            only(spec.min_member.map_or(1, count))
        }
    }
}

/// How many pods a policy starts together.
fn pods(policy: &PolicyView) -> u32 {
    policy.gang.as_ref().map_or(1, |gang| count(gang.min_count))
}

fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
