//! Objects that say how many pods of a gang start together, of all projects that have such.

use std::collections::BTreeMap;

use k8s::document::quoted;
use k8s::ingest;
use k8s::manifest::Manifest;
use model::{PodGroupFacts, PodGroupKey, PodGroupKind, Time};
use serde_json::Value as Json;

use super::Origin;
use super::mistakes::Mistakes;
use crate::plan::PodGroupPlan;

/// All of them, each of which is there from the start to the end.
pub(super) fn read(
    manifests: &[(&str, PodGroupKind, Manifest)],
    mistakes: &mut Mistakes,
) -> Vec<PodGroupPlan> {
    let mut all: BTreeMap<PodGroupKey, (Origin<'_>, PodGroupPlan)> = BTreeMap::new();
    for (file, kind, manifest) in manifests {
        let origin = Origin { file, line: manifest.line };
        let (path, message) = match group(*kind, &manifest.json()) {
            Ok(facts) => {
                let key = facts.key.clone();
                let (at, deleted, later) = (Time::default(), None, Vec::new());
                let plan = PodGroupPlan { facts, at, deleted, later };
                let Some((first, _)) = all.insert(key.clone(), (origin, plan)) else { continue };
                let name = quoted(&key.listed_by());
                let (kind, Origin { file, line }) = (&manifest.kind, first);
                let message = format!("{kind} {name} is given twice, first at {file}:{line}");
                ("metadata.name".to_owned(), message)
            }
            Err(wrong) => wrong,
        };
        mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
    }
    all.into_values().map(|(_, plan)| plan).collect()
}

fn group(kind: PodGroupKind, object: &Json) -> Result<PodGroupFacts, (String, String)> {
    let facts = ingest::pod_group_facts(kind, object);
    let mut facts = facts.map_err(|error| (error.path().to_owned(), error.message().to_owned()))?;
    if facts.key.name.is_empty() {
        return Err(("metadata.name".to_owned(), "required, but missing".to_owned()));
    }
    if facts.key.namespace.is_empty() {
        facts.key.namespace = "default".into();
    }
    Ok(facts)
}
