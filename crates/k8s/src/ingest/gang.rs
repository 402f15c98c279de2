//! Which gang a pod belongs to: the only place that reads what pods say about it.
//!
//! Several tools have keys for it, and a pod may have more than one of them as long as they agree.
//! Where they do not nothing is guessed: the pod waits, and is told both keys and both values.
//! What the objects say that a pod names is not known here.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use model::{GANG_AFTER_MAX, GANG_MAX, GangClaim, PodGroupKind};

use super::cut;
use super::view::PodView;
use super::workers;

const COSCHEDULING: &str = "scheduling.x-k8s.io/pod-group";
const NAME: &str = "pod-group.scheduling.kubenexus.io/name";
const MIN: &str = "pod-group.scheduling.kubenexus.io/min-available";
pub(crate) const TIMEOUT: &str = "pod-group.scheduling.kubenexus.io/timeout-seconds";
const SIGS_NAME: &str = "pod-group.scheduling.sigs.k8s.io/name";
const SIGS_MIN: &str = "pod-group.scheduling.sigs.k8s.io/min-available";
const GANG_NAME: &str = "gang.scheduling.kubenexus.io/name";
const GANG_MIN: &str = "scheduling.kubenexus.io/min-available";
const GROUP: &str = "scheduling.kubenexus.io/gang-group";
pub(crate) const MEMBERS: &str = "scheduling.kubenexus.io/members";
pub(crate) const AFTER: &str = "scheduling.kubenexus.io/depends-on";
const VOLCANO: &str = "scheduling.k8s.io/group-name";
const KAI: &str = "pod-group-name";
/// What Spark calls its pods.
pub(crate) const SPARK_ROLE: &str = "spark-role";

/// Annotations that are read.
pub(crate) const ANNOTATIONS: [&str; 12] = [
    NAME, MIN, TIMEOUT, SIGS_NAME, SIGS_MIN, GANG_NAME, GANG_MIN, GROUP, MEMBERS, AFTER, VOLCANO,
    KAI,
];

/// Keys that name a gang, each with the key that says how many start together. With the last one
/// nobody has to say.
const NAMES: [(&str, Option<&str>); 4] =
    [(NAME, Some(MIN)), (SIGS_NAME, Some(SIGS_MIN)), (GANG_NAME, Some(GANG_MIN)), (GROUP, None)];

/// Keys of other schedulers, which are looked at if there is nothing else.
const FOREIGN: [(&str, PodGroupKind); 2] =
    [(VOLCANO, PodGroupKind::Volcano), (KAI, PodGroupKind::Kai)];

/// Names are shown to people, so they are not longer than those of objects.
const NAME_MAX: usize = 253;
/// For how many seconds some of a gang may be on nodes without the others.
const TIMEOUT_MAX: u32 = 3600;
/// How much of a value is repeated to its author.
const SHOWN_MAX: usize = 80;

/// What a pod says of its gang; nothing if it says nothing.
pub(super) fn claim(pod: &PodView) -> Option<Arc<GangClaim>> {
    let mut claim = GangClaim::default();
    claim.fault = fill(&mut claim, pod).err().map(Into::into);
    (claim != GangClaim::default()).then(|| Arc::new(claim))
}

/// Fills in a claim as far as that can be told, or says why not.
fn fill(claim: &mut GangClaim, pod: &PodView) -> Result<(), String> {
    let names = names(pod);
    let is_name =
        |said: &Said<'_>| !said.value.is_empty() && said.value.chars().nth(NAME_MAX).is_none();
    if names.iter().all(is_name) {
        claim.name = names.first().map(|first| first.value.as_ref().into()).unwrap_or_default();
        claim.objects = names.iter().filter_map(|said| said.object.clone()).collect();
        let is_native = claim.objects.iter().any(|(kind, ..)| *kind == PodGroupKind::Native);
        claim.priority = is_native.then(|| pod.spec.priority.unwrap_or(0));
    }
    agree(&names, "one gang")?;
    // Keys of other schedulers do not count beside another name.
    let is_read = |key: &str| {
        let is_foreign = FOREIGN.iter().any(|(foreign, _)| *foreign == key);
        ANNOTATIONS.contains(&key) && (names.is_empty() || !is_foreign)
    };
    if let Some(long) = pod.metadata.annotations.too_long().iter().find(|it| is_read(it.key)) {
        return Err(long.to_string());
    }
    if let Some(said) = names.iter().find(|said| !is_name(said)) {
        let wanted = format!("the name of a gang, of at most {NAME_MAX} characters");
        return Err(said.fault(&wanted));
    }
    claim.after = after(pod)?;
    claim.min = number(pod, &NAMES.map(|(_, min)| min), GANG_MAX)?;
    claim.timeout = number(pod, &[Some(TIMEOUT)], TIMEOUT_MAX)?;
    is_complete(claim, &names, pod)?;
    if let Some(text) = pod.metadata.annotations.get(MEMBERS) {
        claim.workers = workers::read(MEMBERS, text)?;
    } else if is_spark_driver(pod) && claim.min != Some(1) && has_terms(claim) {
        let found = workers::of_spark_driver(&pod.spec);
        if found.is_none() && claim.min.is_some() {
            return Err(format!(
                "a Spark driver makes its executors itself, and nothing says how large they are: \
                 add annotation {MEMBERS}, such as {}",
                workers::EXAMPLE
            ));
        }
        claim.workers = found.into_iter().collect();
    }
    Ok(())
}

/// Whether anything says, or could say, how many have to start together.
fn has_terms(claim: &GangClaim) -> bool {
    claim.min.is_some() || !claim.objects.is_empty()
}

/// Whether no key is there whose companion is missing.
fn is_complete(claim: &GangClaim, names: &[Said<'_>], pod: &PodView) -> Result<(), String> {
    if names.is_empty() {
        let keys = NAMES.map(|(_, min)| min).into_iter().flatten().chain([TIMEOUT, MEMBERS]);
        let orphan = keys.flat_map(|key| on(pod, key)).next();
        return orphan
            .map_or(Ok(()), |said| Err(format!("{said}, but no key names the gang: add {NAME}")));
    }
    if has_terms(claim) {
        return Ok(());
    }
    let lonely = names.iter().find_map(|said| {
        let (_, min) = NAMES.iter().find(|(name, _)| *name == said.key)?;
        min.map(|min| (said, min))
    });
    lonely.map_or(Ok(()), |(said, min)| {
        Err(format!("{said}, but no key says how many of it start together: add {min}"))
    })
}

fn is_spark_driver(pod: &PodView) -> bool {
    pod.metadata.labels.get(SPARK_ROLE).is_some_and(|role| role == "driver")
}

/// Gangs that the pod waits for.
fn after(pod: &PodView) -> Result<Box<[Box<str>]>, String> {
    let Some(text) = pod.metadata.annotations.get(AFTER) else { return Ok(Box::default()) };
    let mut found: Vec<Box<str>> = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let said = Said { place: Place::Annotation, key: AFTER, value: name.into(), object: None };
        if name.chars().nth(NAME_MAX).is_some() {
            let wanted = format!("names of gangs, of at most {NAME_MAX} characters");
            return Err(said.fault(&wanted));
        }
        if !found.iter().any(|known| **known == *name) {
            found.push(name.into());
        }
        if found.len() > GANG_AFTER_MAX {
            return Err(Said { value: text.into(), ..said }
                .fault(&format!("the names of at most {GANG_AFTER_MAX} gangs")));
        }
    }
    Ok(found.into())
}

/// Something that a pod says.
struct Said<'a> {
    place: Place,
    key: &'static str,
    value: Cow<'a, str>,
    /// The object it means.
    object: Option<(PodGroupKind, Box<str>, Box<str>)>,
}

#[derive(Clone, Copy)]
enum Place {
    Field,
    Label,
    Annotation,
}

impl Said<'_> {
    /// That the value makes no sense.
    fn fault(&self, wanted: &str) -> String {
        format!("{self}: expected {wanted}")
    }
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match self.place {
            Place::Field => "",
            Place::Label => "label ",
            Place::Annotation => "annotation ",
        };
        write!(out, "{place}{} is {:?}", self.key, cut(&self.value, SHOWN_MAX))
    }
}

/// Everything that names the pod's gang, what counts most first.
fn names(pod: &PodView) -> Vec<Said<'_>> {
    let mut names = Vec::new();
    let native = pod.spec.scheduling_group.pod_group_name.as_str();
    if !native.is_empty() {
        let key = "spec.schedulingGroup.podGroupName";
        let object = Some((PodGroupKind::Native, native.into(), "".into()));
        names.push(Said { place: Place::Field, key, value: native.into(), object });
    }
    names.extend(of_workload(pod));
    let group = pod.metadata.labels.get(COSCHEDULING).map(String::as_str).unwrap_or_default();
    if !group.is_empty() {
        let object = Some((PodGroupKind::Coscheduling, group.into(), "".into()));
        names.push(Said { place: Place::Label, key: COSCHEDULING, value: group.into(), object });
    }
    names.extend(NAMES.iter().flat_map(|(key, _)| on(pod, key)));
    if names.is_empty() {
        for (key, kind) in FOREIGN {
            let name = pod.metadata.annotations.get(key).unwrap_or_default();
            if !name.is_empty() {
                let object = Some((kind, name.into(), "".into()));
                names.push(Said { place: Place::Annotation, key, value: name.into(), object });
            }
        }
    }
    names
}

/// A group inside a `Workload`, of which there may be several copies.
fn of_workload(pod: &PodView) -> Option<Said<'_>> {
    let workload = &pod.spec.workload_ref;
    if workload.name.is_empty() {
        return None;
    }
    let mut name = format!("{}/{}", workload.name, workload.pod_group);
    if !workload.pod_group_replica_key.is_empty() {
        name = format!("{name}/{}", workload.pod_group_replica_key);
    }
    let group = workload.pod_group.as_str().into();
    let object = Some((PodGroupKind::Workload, workload.name.as_str().into(), group));
    Some(Said { place: Place::Field, key: "spec.workloadRef", value: name.into(), object })
}

/// What a pod says under a key: the label, then the annotation.
fn on<'a>(pod: &'a PodView, key: &'static str) -> impl Iterator<Item = Said<'a>> {
    let label = pod.metadata.labels.get(key).map(|value| (Place::Label, value.as_str()));
    let note = pod.metadata.annotations.get(key).map(|value| (Place::Annotation, value));
    let found = label.into_iter().chain(note);
    found.map(move |(place, value)| Said { place, key, value: value.into(), object: None })
}

/// Whether all say the same.
fn agree(all: &[Said<'_>], wanted: &str) -> Result<(), String> {
    let Some(first) = all.first() else { return Ok(()) };
    match all.iter().find(|said| said.value != first.value) {
        Some(other) => Err(format!("{first}, {other}: expected {wanted}")),
        None => Ok(()),
    }
}

/// The number that a pod gives under any of the keys.
fn number(pod: &PodView, keys: &[Option<&'static str>], max: u32) -> Result<Option<u32>, String> {
    let mut found: Option<(u32, Said<'_>)> = None;
    for said in keys.iter().flatten().flat_map(|key| on(pod, key)) {
        let number = said.value.parse().ok().filter(|number| (1..=max).contains(number));
        let wanted = || format!("a number from 1 to {max}");
        let number = number.ok_or_else(|| said.fault(&wanted()))?;
        match &found {
            Some((known, first)) if *known != number => {
                return Err(format!("{first}, {said}: expected one number"));
            }
            Some(_) => {}
            None => found = Some((number, said)),
        }
    }
    Ok(found.map(|(number, _)| number))
}
