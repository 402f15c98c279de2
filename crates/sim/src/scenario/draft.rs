//! Manifests of pods and of what makes pods: how many there are, what they ask for, how long they
//! run.

use std::collections::BTreeMap;

use k8s::document::quoted;
use k8s::ingest;
use k8s::manifest::Manifest;
use model::{Event, Fact, GroupingFacts, Owner, PodFacts, VolumeClaimFacts};
use serde_json::{Value as Json, json};

use super::arrivals::PODS_MAX;
use super::complete::{self, Defaults, shown};
use super::length::Length;
use super::mistakes::Mistakes;
use super::script::Script;
use super::{DURATION, Origin, groupings, mounts, pools};
use crate::plan::{BatchJob, Gates, Job, Keeper, Life, Membership, Mount};

/// The kinds that are read here.
pub(super) const KINDS: [&str; 6] =
    ["Pod", "Job", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// Pods to be.
#[derive(Clone, Debug)]
pub(super) struct Draft<'a> {
    pub(super) origin: Origin<'a>,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
    /// Whether it has the name itself, rather than being named by the API server.
    pub(super) is_named: bool,
    /// Kind and name of what it belongs to.
    pub(super) owner: Option<(String, String)>,
    /// How many run side by side.
    pub(super) pods: u64,
    /// How many more follow, one as another ends.
    pub(super) followers: u64,
    pub(super) facts: PodFacts,
    /// Who makes others in place of its pods, and the controller that it is itself.
    pub(super) keeper: Keeper,
    pub(super) grouping: Option<GroupingFacts>,
    /// How long a pod runs, if it says so itself.
    pub(super) length: Option<Length>,
    mounts: Vec<Mount>,
    /// Templates of claims that each of its pods has of its own.
    pub(super) claims: Vec<VolumeClaimFacts>,
}

/// A path in a manifest, and what is wrong there.
type Wrong = (String, String);

/// Reads a manifest.
pub(super) fn read<'a>(
    file: &'a str,
    manifest: &Manifest,
    defaults: &Defaults,
    script: &Script,
    mistakes: &mut Mistakes,
) -> Option<Draft<'a>> {
    let origin = Origin { file, line: manifest.line };
    match draft(origin, manifest, defaults) {
        Ok(mut draft) => {
            let stays = !matches!(&*draft.kind, "Pod" | "Job");
            if stays && draft.length.is_none() {
                draft.length = Some(Length::Forever);
            }
            draft.length = draft.length.or(Some(script.length));
            Some(draft)
        }
        Err((path, message)) => {
            mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
            None
        }
    }
}

fn draft<'a>(
    origin: Origin<'a>,
    manifest: &Manifest,
    defaults: &Defaults,
) -> Result<Draft<'a>, Wrong> {
    let object = manifest.json();
    let kind = manifest.kind.clone();
    let (name, is_named) = name(&object)?;
    let namespace = word(&object, "/metadata/namespace", "metadata.namespace")?;
    let namespace = namespace.unwrap_or("default").to_owned();
    let (mut pod, prefix) = match &*kind {
        "Pod" => (object.clone().into_owned(), ""),
        _ => (from_template(&object)?, "spec.template."),
    };
    if let Some(metadata) = pod.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.insert("namespace".into(), json!(namespace));
    }
    let claims = match &*kind {
        "StatefulSet" => mounts::templates(&object, &mut pod, defaults)?,
        _ => Vec::new(),
    };
    let within = |path: &str| format!("{prefix}{path}");
    complete::pod(&mut pod, defaults).map_err(|(path, message)| (within(path), message))?;
    let length = length(&pod).map_err(|(path, message)| (within(&path), message))?;
    let event = ingest::pod(&pod);
    let event = event.map_err(|error| (within(error.path()), error.message().to_owned()))?;
    let Event::Seen(Fact::Pod(facts)) = event else { unreachable!("a pod is read as a pod") };
    if !pools::is_bounded(&facts.spec.requests.charge.amounts) {
        return Err((within("spec.containers"), pools::TOO_MUCH.to_owned()));
    }
    let (pods, followers) = counts(&kind, &object)?;
    if pods + followers > PODS_MAX {
        return Err(("spec".to_owned(), format!("more than {PODS_MAX} pods are too many")));
    }
    // Without one it would fit everywhere.
    if pod.get("spec").is_none_or(Json::is_null) {
        return Err((within("spec"), "required, but missing".to_owned()));
    }
    let mounts = mounts::mounts(&pod, &facts, defaults);
    let mounts = mounts.map_err(|(path, message)| (within(&path), message))?;
    let owner = owner(&object);
    let facts = *facts;
    let grouping = groupings::controller(&kind, &object, &facts.labels)?;
    let keeper = keeper(&kind, &object, owner.as_ref(), &facts, grouping.as_ref());
    Ok(Draft {
        origin,
        kind,
        namespace,
        name,
        is_named,
        owner,
        pods,
        followers,
        facts,
        keeper,
        grouping,
        length,
        mounts,
        claims,
    })
}

/// The annotation that a kubelet gives the pods that it starts by itself.
const MIRROR: &str = "/metadata/annotations/kubernetes.io~1config.mirror";

fn keeper(
    kind: &str,
    object: &Json,
    owner: Option<&(String, String)>,
    facts: &PodFacts,
    grouping: Option<&GroupingFacts>,
) -> Keeper {
    if kind != "Pod" {
        let owner = grouping.map(|GroupingFacts { key, .. }| key);
        let owner = owner.map(|key| Owner { kind: key.kind, name: key.name.clone() });
        return Keeper::Controller(owner);
    }
    match owner.map(|(kind, _)| &**kind) {
        _ if object.pointer(MIRROR).is_some() => Keeper::Kubelet,
        Some("Node") => Keeper::Kubelet,
        Some("DaemonSet") => Keeper::DaemonSet,
        Some(_) => Keeper::Controller(facts.owner.clone()),
        None => Keeper::Nobody,
    }
}

/// The name, and whether it is more than the beginning of one.
fn name(object: &Json) -> Result<(String, bool), Wrong> {
    let generated = word(object, "/metadata/generateName", "metadata.generateName")?;
    let name = word(object, "/metadata/name", "metadata.name")?;
    let generated = generated.map(|name| (name.trim_end_matches('-'), false));
    let name = name.map(|name| (name, true)).or(generated);
    let missing = || ("metadata.name".to_owned(), "required, but missing".to_owned());
    name.map(|(name, is_named)| (name.to_owned(), is_named)).ok_or_else(missing)
}

/// A text that may be absent, which an empty one is as well.
fn word<'a>(object: &'a Json, pointer: &str, path: &str) -> Result<Option<&'a str>, Wrong> {
    match object.pointer(pointer) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(&**text).filter(|text| !text.is_empty())),
        Some(other) => Err((path.to_owned(), format!("expected text, found {}", shown(other)))),
    }
}

/// The pod that a template makes.
fn from_template(object: &Json) -> Result<Json, Wrong> {
    let Some(template) = object.pointer("/spec/template").filter(|found| found.is_object()) else {
        return Err(("spec.template".to_owned(), "required, but missing".to_owned()));
    };
    let mut pod = template.clone();
    if pod.get("metadata").is_none_or(Json::is_null) {
        pod["metadata"] = json!({});
    }
    Ok(pod)
}

/// How many pods run at once, and how many follow.
fn counts(kind: &str, object: &Json) -> Result<(u64, u64), Wrong> {
    let count = |key: &str| -> Result<Option<u64>, Wrong> {
        let found = &object["spec"][key];
        let natural = found.as_u64().filter(|count| *count <= i32::MAX.unsigned_abs().into());
        if found.is_null() || natural.is_some() {
            return Ok(natural);
        }
        let message = format!("expected an integer from 0 to 2147483647, found {}", shown(found));
        Err((format!("spec.{key}"), message))
    };
    match kind {
        "Pod" => Ok((1, 0)),
        "Job" if object["spec"]["suspend"] == Json::Bool(true) => Ok((0, 0)),
        "Job" => {
            let parallelism = count("parallelism")?.unwrap_or(1);
            let completions = count("completions")?.unwrap_or(parallelism);
            let pods = parallelism.min(completions);
            // None run, so none follow.
            Ok((pods, if pods == 0 { 0 } else { completions - pods }))
        }
        _ => Ok((count("replicas")?.unwrap_or(1), 0)),
    }
}

/// The annotation that says how long a pod runs.
fn length(pod: &Json) -> Result<Option<Length>, Wrong> {
    let pointer = format!("/metadata/annotations/{}", DURATION.replace('/', "~1"));
    let path = format!("metadata.annotations.{DURATION}");
    let text = word(pod, &pointer, &path)?;
    text.map(|text| Length::parse(text).map_err(|message| (path, message))).transpose()
}

/// The controller among the owners.
fn owner(object: &Json) -> Option<(String, String)> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == Json::Bool(true))?;
    let text = |key: &str| controller[key].as_str().map(str::to_owned);
    Some((text("kind")?, text("name")?))
}

impl Draft<'_> {
    /// A job of such pods, without a time of its own. Its length is the caller's business.
    pub(super) fn job(&self, name: String, pods: u64, followers: u64) -> Job {
        let gates = &self.facts.rest.gates;
        let gates = (!gates.is_empty()).then(|| Gates { names: gates.clone(), lifted_after: None });
        Job {
            name,
            at: model::Time::default(),
            pods,
            followers,
            spec: self.facts.spec.clone(),
            labels: self.facts.labels.clone(),
            priority: self.facts.rest.priority,
            node: None,
            runs: None,
            gates,
            life: Life {
                is_modest: !self.facts.rest.is_preempting,
                is_named: self.kind == "Pod" && self.is_named,
                keeper: self.keeper.clone(),
                mounts: self.mounts.clone(),
                ..Life::default()
            },
            gang: self.facts.gang.as_ref().map(|claim| Membership {
                gang: claim.name.clone(),
                is_bare: self.kind == "Pod" && self.owner.is_none(),
                claim: Some(claim.clone()),
                batch: (self.kind == "Job").then(BatchJob::default),
                ..Membership::default()
            }),
        }
    }
}

/// Says which objects are among the manifests more than once.
pub(super) fn check_names(drafts: &[Draft<'_>], mistakes: &mut Mistakes) {
    let mut seen: BTreeMap<(&str, &str, &str), Origin<'_>> = BTreeMap::new();
    for draft in drafts.iter().filter(|draft| draft.is_named) {
        let Draft { kind, namespace, name, .. } = draft;
        let Some(first) = seen.insert((kind, namespace, name), draft.origin) else { continue };
        let name = quoted(&format!("{namespace}/{name}"));
        let (file, line) = (first.file, first.line);
        let message = format!("{kind} {name} is given twice, first at {file}:{line}");
        mistakes.add(draft.origin, "metadata.name", message);
    }
}

/// That pods of Jobs never end, which hardly anyone wants.
pub(super) fn endless_note(jobs: &[Job], drafts: &[Draft<'_>]) -> Option<String> {
    let is_endless = |draft: &&Draft<'_>| {
        draft.kind == "Job" && draft.pods > 0 && draft.length == Some(Length::Forever)
    };
    let first = drafts.iter().find(is_endless)?;
    let is_there = jobs.iter().any(|job| job.name == first.name && job.runs.is_none());
    is_there.then(|| {
        format!(
            "pods of Jobs run to the end of the simulation, {} among them: give them the \
             annotation {DURATION}, or the scenario a duration",
            first.name
        )
    })
}
