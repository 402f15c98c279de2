//! `kubenexus verdict`: judges pods on clusters that are described in JSON lines.

mod profile;
mod warnings;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use engine::{Judgement, Merits, NodeJudgement, Options, Scheduler};
use framework::ProfileSettings;
use k8s::config::{self, Settings};
use k8s::ingest;
use k8s::render::{code_word, points, reason_text};
use model::{Catalog, Code, Fact, GroupingKind, Reason, Time};
use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::out;
use profile::ProfileAnswer;
use warnings::Warnings;

/// Reads cases from a file or standard input until its end. What pods are is only shown if it is
/// asked for: the rest is a format that others write as well. Fails if no case could be judged.
pub(crate) fn run(file: Option<&Path>, shows_profile: bool) -> Result<()> {
    let input: Box<dyn BufRead> = match file {
        Some(path) => {
            let file =
                File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
            Box::new(BufReader::new(file))
        }
        None => Box::new(io::stdin().lock()),
    };
    let name = file.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
    let mut warnings = Warnings::new(name);
    let (mut cases, mut judged) = (0_u64, 0_u64);
    for (at, line) in input.split(b'\n').enumerate() {
        let line = line.context("cannot read the next case")?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        warnings.line = at + 1;
        let answer = answer(&line, shows_profile, &mut warnings);
        cases += 1;
        judged += u64::from(answer.error.is_none());
        // Whoever writes cases one by one waits for each answer.
        out::print(format_args!("{}\n", serde_json::to_string(&answer)?))?;
    }
    warnings.finish();
    if cases > 0 && judged == 0 {
        let noun = if cases == 1 { "case" } else { "cases" };
        bail!("{cases} {noun}, and none could be judged: see \"error\"");
    }
    Ok(())
}

/// A case whose parts are there; what is in them is judged later.
struct Case {
    config: Option<Value>,
    objects: Vec<Value>,
    pod: Value,
}

impl Case {
    fn read(mut fields: Map<String, Value>) -> Result<Self> {
        let mut take = |key: &str| fields.remove(key).filter(|value| !value.is_null());
        let (config, objects, pod) = (take("config"), take("objects"), take("pod"));
        if let Some((key, _)) = fields.into_iter().next() {
            let key = shown(&Value::String(key));
            bail!("unknown field {key}; expected id, config, objects and pod");
        }
        let objects = match objects {
            None => Vec::new(),
            Some(Value::Array(objects)) => objects,
            Some(other) => bail!("objects: expected a list, found {}", shown(&other)),
        };
        let pod = pod.ok_or_else(|| anyhow!("pod: required, but missing"))?;
        Ok(Self { config, objects, pod })
    }
}

/// The answer to a case. Device allocation is not built yet and stays null.
#[derive(Default, Serialize)]
struct Answer {
    id: Value,
    error: Option<String>,
    prefilter: Option<Refusal>,
    nodes: Option<BTreeMap<String, NodeAnswer>>,
    preemption: Option<PreemptionAnswer>,
    allocation: Option<Value>,
    /// Absent if it is not asked for, null if pods are not classified.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Option<ProfileAnswer>>,
}

#[derive(Serialize)]
struct PreemptionAnswer {
    node: String,
    candidates: BTreeMap<String, CandidateAnswer>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CandidateAnswer {
    victims: Vec<String>,
    pdb_violations: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Refusal {
    plugin: &'static str,
    code: &'static str,
    reasons: Vec<String>,
    /// The words of the reasons, in the same order.
    reason_codes: Vec<&'static str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NodeAnswer {
    Fits {
        feasible: bool,
        scores: BTreeMap<&'static str, Number>,
        total: Number,
        /// Whether it is taken only if no other node fits; absent if not.
        #[serde(rename = "lastResort", skip_serializing_if = "std::ops::Not::not")]
        is_last_resort: bool,
    },
    Unfit {
        feasible: bool,
        #[serde(flatten)]
        refusal: Refusal,
    },
}

fn answer(line: &[u8], shows_profile: bool, warnings: &mut Warnings) -> Answer {
    let (id, result) = match serde_json::from_slice(line) {
        // A case that cannot be judged still says which one it is.
        Ok(Value::Object(mut fields)) => {
            let id = fields.remove("id").unwrap_or_default();
            let case = Case::read(fields);
            case.iter().for_each(|case| warnings.look(&case.pod, &case.objects));
            (id, case.and_then(|case| judge(&case, shows_profile)))
        }
        Ok(other) => {
            let found = shown(&other);
            (Value::Null, Err(anyhow!("a case: expected an object with a pod, found {found}")))
        }
        Err(error) => (Value::Null, Err(anyhow!("a case: expected one line of JSON: {error}"))),
    };
    match result {
        Ok(answer) => Answer { id, ..answer },
        Err(error) => Answer { id, error: Some(format!("{error:#}")), ..Answer::default() },
    }
}

fn judge(case: &Case, shows_profile: bool) -> Result<Answer> {
    let kind = word(&case.pod, "kind").context("pod")?;
    if !matches!(kind, "" | "Pod") {
        bail!("pod: kind: expected \"Pod\", found {}", shown(&Value::String(kind.into())));
    }
    require_spec(&case.pod).context("pod")?;
    let mut pod = ingest::pod_to_judge(&case.pod).context("pod")?;
    let settings = profile(case.config.as_ref(), &pod.spec.scheduler)?;
    let mut catalog = Catalog::default();
    let profile = plugins::build(&settings, &mut catalog)?;
    let mut scheduler = Scheduler::new(catalog, vec![profile], Options::default());
    // What is told of the inside of nodes is about pods that are there.
    let is_about_pods =
        |object: &Value| object.get("kind").is_some_and(|kind| kind == "NodeResourceTopology");
    let objects = case.objects.iter().enumerate();
    let (last, first): (Vec<_>, Vec<_>) = objects.partition(|(_, object)| is_about_pods(object));
    for (at, object) in first.into_iter().chain(last) {
        take_in(&mut scheduler, &settings.scheduler, object)
            .with_context(|| format!("objects[{at}]"))?;
    }
    pod.spec.scheduler = settings.scheduler;
    // It is not in the cluster, whatever its uid says.
    pod.key.uid = format!("{}/", pod.key.uid).into();
    let judgement = scheduler.judge(&pod).expect("the profile was made for this pod");
    let mut answer = render(&judgement, scheduler.catalog())?;
    if shows_profile {
        answer.profile = Some(scheduler.classify(&pod).as_deref().map(ProfileAnswer::of));
    }
    Ok(answer)
}

/// A pod without a spec would fit everywhere, and nobody means that.
fn require_spec(pod: &Value) -> Result<()> {
    if pod.get("spec").is_none_or(Value::is_null) {
        bail!("spec: required, but missing");
    }
    Ok(())
}

/// The profile that would schedule the pod.
fn profile(config: Option<&Value>, scheduler: &str) -> Result<ProfileSettings> {
    let settings: Settings = match config {
        Some(config) => config::from_json(config, plugins::known()).context("config")?,
        None => config::defaults(plugins::known()),
    };
    let name = if scheduler.is_empty() { "default-scheduler" } else { scheduler };
    let quoted = |name: &str| shown(&Value::String(name.into()));
    let names: Vec<_> = settings.profiles.iter().map(|p| quoted(&p.scheduler)).collect();
    let found = settings.profiles.into_iter().find(|profile| profile.scheduler == name);
    found.ok_or_else(|| {
        let (name, names) = (quoted(name), names.join(", "));
        anyhow!("pod.spec.schedulerName: no profile is named {name}; there are {names}")
    })
}

/// Kinds that are looked at.
const USED: [&str; 24] = [
    "Node",
    "Pod",
    "Namespace",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "PodDisruptionBudget",
    "PodGroup",
    "CompositePodGroup",
    "Workload",
    "LocalQueue",
    "ClusterQueue",
    "Job",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "VolumeAttachment",
    "NodeResourceTopology",
    "ResourceSlice",
    "ResourceClaim",
];

/// Kinds that are part of a cluster but that nothing built so far looks at, by API group.
const IGNORED: &[(&str, &[&str])] = &[
    ("scheduling.k8s.io", &["PriorityClass"]),
    ("resource.k8s.io", &["ResourceClaimTemplate", "DeviceClass", "DeviceTaintRule"]),
    ("scheduling.kubenexus.io", &["ResourceReservation"]),
];

fn take_in(scheduler: &mut Scheduler, profile: &str, object: &Value) -> Result<()> {
    let (version, kind) = (word(object, "apiVersion")?, word(object, "kind")?);
    let group = version.rsplit_once('/').map_or("", |(group, _)| group);
    if let Some(kind) = ingest::pod_group_kind(group, kind) {
        scheduler.apply(&ingest::pod_group(kind, object)?, Time::default());
        return Ok(());
    }
    if let Some(kind) = ingest::storage_kind(group, kind) {
        scheduler.apply(&ingest::storage(kind, object)?, Time::default());
        return Ok(());
    }
    let mut event = match (group, kind) {
        ("", "Node") => ingest::node(object)?,
        ("", "Pod") => {
            require_spec(object)?;
            ingest::pod(object)?
        }
        ("", "Namespace") => ingest::namespace(object)?,
        ("policy", "PodDisruptionBudget") => ingest::budget(object)?,
        ("kueue.x-k8s.io", "LocalQueue") => ingest::local_queue(object)?,
        ("batch", "Job") => match ingest::job(object)? {
            Some(event) => event,
            None => return Ok(()),
        },
        ("kueue.x-k8s.io", "ClusterQueue") => ingest::cluster_queue(object)?,
        ("topology.node.k8s.io", "NodeResourceTopology") => ingest::node_resource_topology(object)?,
        ("resource.k8s.io", "ResourceSlice") => ingest::resource_slice(object)?,
        ("resource.k8s.io", "ResourceClaim") => ingest::resource_claim(object)?,
        ("", "Service") => ingest::grouping(GroupingKind::Service, object)?,
        ("", "ReplicationController") => {
            ingest::grouping(GroupingKind::ReplicationController, object)?
        }
        ("apps", "ReplicaSet") => ingest::grouping(GroupingKind::ReplicaSet, object)?,
        ("apps", "StatefulSet") => ingest::grouping(GroupingKind::StatefulSet, object)?,
        _ if IGNORED.iter().any(|(g, kinds)| *g == group && kinds.contains(&kind)) => return Ok(()),
        (_, "") => bail!("kind: required, but missing"),
        _ => {
            let [kind, version] = [kind, version].map(|word| shown(&Value::String(word.into())));
            let others = IGNORED.iter().flat_map(|(_, kinds)| *kinds).copied();
            let known: Vec<_> = USED.into_iter().chain(others).collect();
            bail!("unknown kind {kind} of apiVersion {version}; known are {}", known.join(", "));
        }
    };
    if kind == "Pod" && matches!(phase_of(object), "Succeeded" | "Failed") {
        // Other gangs may wait for its own.
        let (_, event) = ingest::read_succeeded(object.to_string().as_bytes())?;
        event.into_iter().for_each(|event| scheduler.apply(&event, Time::default()));
        return Ok(());
    }
    if let model::Event::Seen(Fact::Pod(facts)) = &mut event
        && facts.node.is_none()
    {
        // Of pods that wait only those matter for which a node is proposed.
        if facts.nominated.is_none() {
            return Ok(());
        }
        facts.spec.scheduler = profile.into();
    }
    scheduler.apply(&event, Time::default());
    Ok(())
}

fn phase_of(pod: &Value) -> &str {
    pod["status"]["phase"].as_str().unwrap_or_default()
}

/// A word that every object says about itself; empty if it is left out.
fn word<'a>(object: &'a Value, key: &str) -> Result<&'a str> {
    let Value::Object(fields) = object else {
        bail!("expected an object, found {}", shown(object));
    };
    match fields.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(word)) => Ok(word),
        Some(other) => bail!("{key}: expected a string, found {}", shown(other)),
    }
}

/// The longest text that is worth repeating to its author.
const SHOWN_MAX: usize = 64;

/// A value as it is shown in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        Value::String(text) if text.chars().count() > SHOWN_MAX => {
            let start: String = text.chars().take(SHOWN_MAX).collect();
            format!("{start:?}...")
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn render(judgement: &Judgement, catalog: &Catalog) -> Result<Answer> {
    if let Some(fault) = &judgement.fault {
        bail!("{}", reason_text(fault, catalog));
    }
    let in_points = |score: i32| points(score, judgement.per_point);
    let node = |(node, judgement): &(model::NodeId, NodeJudgement)| {
        let answer = match judgement {
            NodeJudgement::Fits(Merits { scores, is_last_resort }) => NodeAnswer::Fits {
                feasible: true,
                scores: scores.iter().map(|(name, score)| (*name, in_points(*score))).collect(),
                total: in_points(scores.iter().map(|(_, score)| score).sum()),
                is_last_resort: *is_last_resort,
            },
            NodeJudgement::Unfit(plugin, reasons) => {
                NodeAnswer::Unfit { feasible: false, refusal: refusal(plugin, reasons, catalog) }
            }
        };
        (catalog.node_name(*node).to_owned(), answer)
    };
    let prefilter = judgement.refusal.as_ref();
    let preemption = judgement.preemption.as_ref().map(|preemption| {
        let name = |node: model::NodeId| catalog.node_name(node).to_owned();
        let key = |pod: &model::PodId| {
            let key = &catalog.pod(*pod).key;
            format!("{}/{}", key.namespace, key.name)
        };
        let candidate = |(node, victims, violations): &(_, Vec<_>, usize)| {
            let mut victims: Vec<String> = victims.iter().map(key).collect();
            victims.sort();
            (name(*node), CandidateAnswer { victims, pdb_violations: *violations })
        };
        let candidates = preemption.candidates.iter().map(candidate).collect();
        PreemptionAnswer { node: name(preemption.node), candidates }
    });
    Ok(Answer {
        preemption,
        prefilter: prefilter
            .map(|(plugin, reason)| refusal(plugin, std::slice::from_ref(reason), catalog)),
        nodes: Some(judgement.nodes.iter().map(node).collect()),
        ..Answer::default()
    })
}

/// The worst code speaks for all reasons.
fn refusal(plugin: &'static str, reasons: &[Reason], catalog: &Catalog) -> Refusal {
    let code = Code::worst(reasons).unwrap_or(Code::Unschedulable);
    Refusal {
        plugin,
        code: code_word(code),
        reasons: reasons.iter().map(|reason| reason_text(reason, catalog)).collect(),
        reason_codes: reasons.iter().map(Reason::word).collect(),
    }
}
