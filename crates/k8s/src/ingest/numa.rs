//! What a pod says of the NUMA zones it wants. A constraint that means nothing keeps the pod from
//! being placed, and a hint that means nothing is ignored and told.

use model::hardware::{Unread, ZONE_ID_MAX};
use model::{GangSpread, NumaPolicy, NumaWish, is_extended_resource, is_huge_page};

use super::view::PodView;
use super::{cut, gang};

pub(crate) const POLICY: &str = "numa.scheduling.kubenexus.io/policy";
const NUMA_POLICY: &str = "scheduling.kubenexus.io/numa-policy";
pub(crate) const RESOURCES: &str = "numa.scheduling.kubenexus.io/resources";
pub(crate) const AFFINITY: &str = "scheduling.kubenexus.io/numa-affinity-node-id";
pub(crate) const ANTI_AFFINITY: &str = "scheduling.kubenexus.io/numa-anti-affinity-node-id";
pub(crate) const SPREAD: &str = "scheduling.kubenexus.io/gang-numa-spread";
pub(crate) const INTENSIVE: &str = "scheduling.kubenexus.io/memory-intensive";
/// The zones that a pod was bound with.
pub(crate) const PLACEMENT: &str = "numa.kubenexus.io/placement";

/// Annotations that are read.
pub(super) const ANNOTATIONS: [&str; 8] =
    [POLICY, NUMA_POLICY, RESOURCES, AFFINITY, ANTI_AFFINITY, SPREAD, INTENSIVE, PLACEMENT];

/// How many resources may be listed.
const RESOURCES_MAX: usize = 16;
/// How much of a value is repeated to its author.
const SHOWN_MAX: usize = 80;

/// What a pod says of zones; nothing if it says nothing.
pub(super) fn wish(pod: &PodView) -> Option<Box<NumaWish>> {
    let mut wish = NumaWish::default();
    wish.fault = constraints(&mut wish, pod).err().map(Into::into);
    hints(&mut wish, pod);
    (wish != NumaWish::default()).then(|| Box::new(wish))
}

/// Notes that a pod which kubelets align names a gang: that makes it batch.
pub(super) fn with_gang(wish: Option<Box<NumaWish>>, pod: &PodView) -> Option<Box<NumaWish>> {
    if gang::claim(pod).is_none() {
        return wish;
    }
    let mut wish = wish.unwrap_or_default();
    wish.is_in_gang = true;
    Some(wish)
}

/// The zones that a pod was bound with, a bit for each id; 0 if that is not known.
pub(super) fn placed(pod: &PodView) -> u64 {
    pod.metadata.annotations.get(PLACEMENT).and_then(ids).unwrap_or(0)
}

/// Reads what a pod insists on.
fn constraints(wish: &mut NumaWish, pod: &PodView) -> Result<(), String> {
    let annotations = &pod.metadata.annotations;
    let own = [POLICY, NUMA_POLICY, RESOURCES, ANTI_AFFINITY];
    if let Some(long) = annotations.too_long().iter().find(|long| own.contains(&long.key)) {
        return Err(long.to_string());
    }
    for key in [POLICY, NUMA_POLICY] {
        let Some(value) = annotations.get(key) else { continue };
        let found = NumaPolicy::WORDS.iter().find(|(word, _)| *word == value);
        let expected = "none, best-effort, restricted, single-numa or isolated";
        let (_, policy) = found.ok_or_else(|| fault(key, value, expected))?;
        if wish.policy.is_some_and(|other| other != *policy) {
            let other = annotations.get(POLICY).unwrap_or_default();
            return Err(fault(key, value, &format!("{other:?}, as annotation {POLICY} says")));
        }
        wish.policy = Some(*policy);
    }
    if let Some(value) = annotations.get(RESOURCES) {
        let expected = "cpu, memory, huge pages or extended resources, separated by commas";
        wish.resources = Some(resources(value).ok_or_else(|| fault(RESOURCES, value, expected))?);
    }
    if let Some(value) = annotations.get(ANTI_AFFINITY) {
        let zones = ids(value).ok_or_else(|| fault(ANTI_AFFINITY, value, ZONES))?;
        wish.avoided = zones;
    }
    Ok(())
}

const ZONES: &str = "numbers of zones from 0 to 63, separated by commas";

fn fault(key: &str, value: &str, expected: &str) -> String {
    let value = cut(value, SHOWN_MAX);
    format!("annotation {key} is {value:?}: expected {expected}")
}

/// Reads what a pod had better have.
fn hints(wish: &mut NumaWish, pod: &PodView) {
    let annotations = &pod.metadata.annotations;
    let mut unread = Vec::new();
    let mut reject = |key: &str, value: &str, expected: &str| {
        let [key, value, expected] = [key, &*cut(value, SHOWN_MAX), expected].map(Into::into);
        unread.push(Unread { key, value, expected });
    };
    for long in annotations.too_long() {
        if [AFFINITY, SPREAD, INTENSIVE].contains(&long.key) {
            reject(long.key, &long.word(), "a short list or word");
        }
    }
    if let Some(value) = annotations.get(AFFINITY) {
        match ids(value) {
            Some(zones) => wish.preferred = zones,
            None => reject(AFFINITY, value, ZONES),
        }
    }
    if let Some(value) = annotations.get(SPREAD) {
        match GangSpread::WORDS.iter().find(|(word, _)| *word == value) {
            Some((_, spread)) => wish.spread = Some(*spread),
            None => reject(SPREAD, value, "packed, balanced or isolated"),
        }
    }
    if let Some(value) = annotations.get(INTENSIVE) {
        match value {
            "true" => wish.is_memory_intensive = Some(true),
            "false" => wish.is_memory_intensive = Some(false),
            _ => reject(INTENSIVE, value, "\"true\" or \"false\""),
        }
    }
    wish.unread = unread.into();
}

/// Ids of zones, a bit for each.
fn ids(text: &str) -> Option<u64> {
    let id = |part: &str| {
        let part = part.trim();
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let id: Option<u32> = is_number.then(|| part.parse().ok()).flatten();
        id.filter(|id| *id <= ZONE_ID_MAX)
    };
    text.split(',').try_fold(0_u64, |zones, part| Some(zones | 1 << id(part)?))
}

fn resources(text: &str) -> Option<Box<[String]>> {
    let is_known = |name: &str| {
        matches!(name, "cpu" | "memory") || is_huge_page(name) || is_extended_resource(name)
    };
    let names = text.split(',').map(|name| Some(name.trim()).filter(|name| is_known(name)));
    let names: Option<Vec<&str>> = names.take(RESOURCES_MAX + 1).collect();
    let names = names.filter(|names| names.len() <= RESOURCES_MAX)?;
    Some(names.into_iter().map(Into::into).collect())
}
