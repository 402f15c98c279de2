//! What a pod says of the NUMA zones it wants. A constraint that means nothing keeps the pod from
//! being placed, and a hint that means nothing is ignored and told.

use model::hardware::{Unread, ZONE_ID_MAX};
use model::{GangSpread, NumaPolicy, NumaWish, is_extended_resource, is_huge_page};

use super::annotations::fault;
use super::cut;
use super::view::PodView;

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

/// Ids from 0 to 63, a bit for each.
pub(super) fn ids(text: &str) -> Option<u64> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(annotations: &[(&str, &str)]) -> NumaWish {
        let annotations: std::collections::BTreeMap<_, _> = annotations.iter().copied().collect();
        let pod = json!({"metadata": {"name": "p", "annotations": annotations}});
        let view: PodView = serde_json::from_value(pod).expect("a pod");
        wish(&view).map(|wish| *wish).unwrap_or_default()
    }

    #[test]
    fn constraints_by_table() {
        let words = "expected none, best-effort, restricted, single-numa or isolated";
        let zones = "expected numbers of zones from 0 to 63, separated by commas";
        let names = "expected cpu, memory, huge pages or extended resources, separated by commas";
        let table: [(&str, &str, Result<(), &str>); 17] = [
            (POLICY, "single-numa", Ok(())),
            (POLICY, "single-numa-node", Ok(())),
            (NUMA_POLICY, "isolated", Ok(())),
            (POLICY, "Single-NUMA", Err(words)),
            (POLICY, "", Err(words)),
            (NUMA_POLICY, "strict", Err(words)),
            (RESOURCES, "cpu, memory,nvidia.com/gpu,hugepages-2Mi", Ok(())),
            (RESOURCES, "gpu", Err(names)),
            (RESOURCES, "cpu,,memory", Err(names)),
            (RESOURCES, "", Err(names)),
            (ANTI_AFFINITY, "0, 63", Ok(())),
            (ANTI_AFFINITY, "64", Err(zones)),
            (ANTI_AFFINITY, "-1", Err(zones)),
            (ANTI_AFFINITY, "+1", Err(zones)),
            (ANTI_AFFINITY, "0-3", Err(zones)),
            (ANTI_AFFINITY, "", Err(zones)),
            (ANTI_AFFINITY, "99999999999999999999", Err(zones)),
        ];
        for (key, value, expected) in table {
            let fault = read(&[(key, value)]).fault;
            let expected =
                expected.err().map(|expected| format!("annotation {key} is {value:?}: {expected}"));
            assert_eq!(fault.as_deref(), expected.as_deref(), "{key} {value:?}");
        }
        let many = vec!["cpu"; RESOURCES_MAX + 1].join(",");
        assert!(read(&[(RESOURCES, &many)]).fault.is_some());
        let long = "0,".repeat(3_000);
        let fault = read(&[(ANTI_AFFINITY, &long)]).fault.expect("too long");
        assert!(fault.contains("expected at most 4096 bytes"), "{fault}");
    }

    #[test]
    fn two_policies_must_agree() {
        let same = read(&[(POLICY, "single-numa"), (NUMA_POLICY, "single-numa-node")]);
        assert_eq!((same.policy, same.fault), (Some(NumaPolicy::SingleNuma), None));
        let fault = read(&[(POLICY, "none"), (NUMA_POLICY, "isolated")]).fault;
        let expected = format!(
            "annotation {NUMA_POLICY} is \"isolated\": expected \"none\", as annotation {POLICY} \
             says"
        );
        assert_eq!(fault.as_deref(), Some(&*expected));
    }

    #[test]
    fn a_hint_that_means_nothing_is_no_fault() {
        let wish = read(&[(AFFINITY, "left"), (SPREAD, "even"), (INTENSIVE, "yes")]);
        assert_eq!((wish.fault, wish.preferred, wish.spread), (None, 0, None));
        let keys: Vec<&str> = wish.unread.iter().map(|unread| &*unread.key).collect();
        assert_eq!(keys, [AFFINITY, SPREAD, INTENSIVE]);
        let wish = read(&[(AFFINITY, "1,3"), (SPREAD, "balanced"), (INTENSIVE, "false")]);
        assert_eq!((wish.preferred, wish.spread), (0b1010, Some(GangSpread::Balanced)));
        assert_eq!((wish.is_memory_intensive, wish.unread.len()), (Some(false), 0));
        assert_eq!(wish.asked(), Some(NumaPolicy::BestEffort));
    }

    #[test]
    fn the_page_lists_every_annotation_and_every_word() {
        let page = include_str!("../../../../docs/numa.md");
        let (_, table) = page.split_once("| Annotation of a pod |").expect("a table");
        let (table, _) = table.split_once("\n\n").expect("an end");
        let rows: Vec<&str> = table.lines().skip(2).collect();
        let listed: Vec<&str> = rows.iter().filter_map(|row| row.split('`').nth(1)).collect();
        let sorted = |mut keys: Vec<&'static str>| {
            keys.sort_unstable();
            keys
        };
        assert_eq!(sorted(listed), sorted(ANNOTATIONS.to_vec()));
        let row = |key: &str| rows.iter().find(|row| row.contains(&format!("`{key}`")));
        for (word, _) in NumaPolicy::WORDS {
            assert!(row(POLICY).is_some_and(|row| row.contains(&format!("`{word}`"))), "{word}");
        }
        for (word, _) in GangSpread::WORDS {
            assert!(row(SPREAD).is_some_and(|row| row.contains(&format!("`{word}`"))), "{word}");
        }
        let waits = [POLICY, NUMA_POLICY, RESOURCES, ANTI_AFFINITY];
        for key in ANNOTATIONS {
            let is_strict = row(key).is_some_and(|row| row.contains("the pod waits"));
            assert_eq!(is_strict, waits.contains(&key), "{key}");
        }
    }
}
