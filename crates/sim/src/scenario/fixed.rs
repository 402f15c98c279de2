//! What is there from the start to the end, beside services, controllers and storage: queues,
//! what is told of the inside of nodes, devices that drivers tell of, and what ended before that
//! others wait for.

use k8s::ingest;
use k8s::manifest::Manifest;
use model::{Event, Fact};
use serde_json::{Value as Json, json};

use super::Origin;
use super::manifests::Manifests;
use super::mistakes::Mistakes;

/// All of it.
pub(super) fn read(manifests: &Manifests<'_>, mistakes: &mut Mistakes) -> Vec<Fact> {
    let mut fixed = Vec::new();
    for (file, manifest) in &manifests.fixed {
        match object(manifest) {
            Ok(fact) => fixed.push(fact),
            Err((path, message)) => {
                mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
            }
        }
    }
    let jobs = manifests.ended.iter().filter_map(|(_, job)| ingest::job(&job.json()).ok()?);
    let pods = manifests.workload.iter().filter_map(|(_, pod)| succeeded(pod));
    fixed.extend(jobs.chain(pods).filter_map(fact));
    fixed
}

fn fact(event: Event) -> Option<Fact> {
    if let Event::Seen(fact) = event { Some(fact) } else { None }
}

/// A queue of Kueue, or what is told of the inside of a node.
fn object(manifest: &Manifest) -> Result<Fact, (String, String)> {
    let mut object = manifest.json().into_owned();
    let missing = || ("metadata.name".to_owned(), "required, but missing".to_owned());
    let is_named = |object: &Json| object.pointer("/metadata/name").is_some_and(|it| it != "");
    if !is_named(&object) {
        return Err(missing());
    }
    if ["LocalQueue", "ResourceClaim"].contains(&&*manifest.kind) {
        give_namespace(&mut object);
    }
    let event = match &*manifest.kind {
        "NodeResourceTopology" => ingest::node_resource_topology(&object),
        "LocalQueue" => ingest::local_queue(&object),
        "ResourceSlice" => ingest::resource_slice(&object),
        "ResourceClaim" => ingest::resource_claim(&object),
        _ => ingest::cluster_queue(&object),
    };
    let event = event.map_err(|error| (error.path().to_owned(), error.message().to_owned()))?;
    let mut fact = fact(event).ok_or_else(missing)?;
    if let Fact::NodeResourceTopology(facts) = &mut fact {
        // Nobody updates it here: who takes what is foreseen from the first pod on.
        let amounts = facts.zones.iter_mut().flat_map(|zone| &mut zone.amounts);
        amounts.for_each(|amount| amount.available = amount.allocatable);
        facts.pods = None;
    }
    Ok(fact)
}

/// A pod of a gang that ran to its end.
fn succeeded(manifest: &Manifest) -> Option<Event> {
    if manifest.kind != "Pod" {
        return None;
    }
    let pod = manifest.json();
    let phase = pod.pointer("/status/phase")?;
    if phase != "Succeeded" && phase != "Failed" {
        return None;
    }
    let mut pod = pod.into_owned();
    give_namespace(&mut pod);
    ingest::read_succeeded(pod.to_string().as_bytes()).ok()?.1
}

/// An object without a namespace is in the default one.
fn give_namespace(object: &mut Json) {
    let metadata = object.get_mut("metadata").and_then(Json::as_object_mut);
    let Some(metadata) = metadata else { return };
    if metadata.get("namespace").is_none_or(Json::is_null) {
        metadata.insert("namespace".into(), json!("default"));
    }
}
