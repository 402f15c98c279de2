//! Namespaces: as manifests describe them, and those that pods are in without one.

use std::collections::BTreeMap;

use k8s::document::quoted;
use k8s::ingest;
use k8s::manifest::Manifest;
use model::{Event, Fact, Labels, Time};

use super::Origin;
use super::mistakes::Mistakes;
use crate::plan::{Job, NamespacePlan};

/// The label that the API server gives every namespace: its name.
const NAME: &str = "kubernetes.io/metadata.name";

/// All namespaces, which are there from the start.
pub(super) fn read(
    manifests: &[(&str, Manifest)],
    jobs: &[Job],
    mistakes: &mut Mistakes,
) -> Vec<NamespacePlan> {
    let mut all: BTreeMap<Box<str>, Labels> = BTreeMap::new();
    for (file, manifest) in manifests {
        let mut wrong = |path: &str, message: String| {
            mistakes.add(Origin { file, line: manifest.line_at(path) }, path, message);
        };
        match ingest::namespace(&manifest.json()) {
            Ok(Event::Seen(Fact::Namespace(facts))) if facts.name.is_empty() => {
                wrong("metadata.name", "required, but missing".to_owned());
            }
            Ok(Event::Seen(Fact::Namespace(facts))) => {
                let name = quoted(&facts.name);
                if all.insert(facts.name, facts.labels).is_some() {
                    wrong("metadata.name", format!("namespace {name} is there twice"));
                }
            }
            Ok(_) => unreachable!("a namespace is read as a namespace"),
            Err(error) => wrong(error.path(), error.message().to_owned()),
        }
    }
    for job in jobs {
        if !all.contains_key(job.spec.namespace.as_str()) {
            all.insert(job.spec.namespace.as_str().into(), Labels::default());
        }
    }
    all.into_iter().map(|(name, labels)| plan(name, &labels)).collect()
}

fn plan(name: Box<str>, labels: &Labels) -> NamespacePlan {
    let mut labels: BTreeMap<Box<str>, Box<str>> = labels.iter().cloned().collect();
    labels.insert(NAME.into(), name.clone());
    let states = vec![(Time::default(), Some(labels.into_iter().collect()))];
    NamespacePlan { name, states }
}
