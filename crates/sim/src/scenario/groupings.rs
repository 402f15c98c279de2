//! Services and controllers, by which pods are spread that do not say how.

use std::collections::BTreeMap;

use k8s::ingest;
use k8s::manifest::Manifest;
use model::{
    Event, Fact, GroupingFacts, GroupingKey, GroupingKind, LabelOperator, LabelSelector, Labels,
    Owner, RequirementSpec,
};
use serde_json::Value as Json;

use super::Origin;
use super::mistakes::Mistakes;
use crate::plan::{Job, Keeper};

/// Services, controllers that make no pods here, and those of pods, each once.
pub(super) fn all(
    manifests: &[(&str, GroupingKind, Manifest)],
    controllers: Vec<GroupingFacts>,
    mistakes: &mut Mistakes,
) -> Vec<GroupingFacts> {
    let mut all: BTreeMap<GroupingKey, GroupingFacts> = BTreeMap::new();
    let mut add = |facts: GroupingFacts| _ = all.insert(facts.key.clone(), facts);
    for (file, kind, manifest) in manifests {
        match read(*kind, &manifest.json()) {
            Ok(facts) => add(facts),
            Err((path, message)) => {
                mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
            }
        }
    }
    controllers.into_iter().for_each(add);
    all.into_values().collect()
}

fn read(kind: GroupingKind, object: &Json) -> Result<GroupingFacts, (String, String)> {
    let event = ingest::grouping(kind, object);
    let event = event.map_err(|error| (error.path().to_owned(), error.message().to_owned()))?;
    let Event::Seen(Fact::Grouping(mut facts)) = event else {
        unreachable!("it is read as what it is")
    };
    if facts.key.name.is_empty() {
        return Err(("metadata.name".to_owned(), "required, but missing".to_owned()));
    }
    if facts.key.namespace.is_empty() {
        facts.key.namespace = "default".into();
    }
    Ok(*facts)
}

/// The controller that a manifest is, as far as pods are spread by it. A Deployment stands for the
/// ReplicaSet that it would make. Without a selector it means the pods of its template.
pub(super) fn controller(
    kind: &str,
    object: &Json,
    labels: &Labels,
) -> Result<Option<GroupingFacts>, (String, String)> {
    let kind = match kind {
        "ReplicationController" => GroupingKind::ReplicationController,
        "ReplicaSet" | "Deployment" => GroupingKind::ReplicaSet,
        "StatefulSet" => GroupingKind::StatefulSet,
        _ => return Ok(None),
    };
    let mut facts = read(kind, object)?;
    if facts.selector.requirements.is_empty() {
        let requirement = |(key, value): &(Box<str>, Box<str>)| RequirementSpec {
            key: key.to_string(),
            operator: LabelOperator::In,
            values: vec![value.to_string()],
        };
        facts.selector = LabelSelector { requirements: labels.iter().map(requirement).collect() };
    }
    Ok(Some(facts))
}

/// That pods belong to controllers which are not among the files.
pub(super) fn unknown_note(jobs: &[Job], groupings: &[GroupingFacts]) -> Option<String> {
    let known: Vec<&GroupingKey> = groupings.iter().map(|facts| &facts.key).collect();
    let is_unknown = |namespace: &str, Owner { kind, name }: &Owner| {
        let key = GroupingKey { kind: *kind, namespace: namespace.into(), name: name.clone() };
        known.binary_search(&&key).is_err()
    };
    let unknown = |job: &&Job| match &job.life.keeper {
        Keeper::Controller(Some(owner)) => is_unknown(&job.spec.namespace, owner),
        Keeper::Controller(None) | Keeper::DaemonSet | Keeper::Kubelet | Keeper::Nobody => false,
    };
    let pods = jobs.iter().filter(unknown).fold(0, |sum: u64, job| sum.saturating_add(job.pods));
    (pods > 0).then(|| {
        format!(
            "not simulated: {pods} pods belong to controllers that are not among the files; \
             they are spread by default as if they had none"
        )
    })
}
