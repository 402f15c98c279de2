//! What labels and annotations of a node tell of its inside. What means nothing is unknown, and is
//! named among the facts so that it can be told.

mod gpus;
mod held;
mod kubelet;
mod tiers;
mod zones;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use model::hardware::{CpuRanges, HardwareFacts, HeldFacts, Unread};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

pub(super) use kubelet::{policy, scope};

use super::cut;
use super::slim::Slim;

/// Domains of annotations that are read. Labels of these domains have the same keys.
const DOMAINS: [&str; 3] = ["numa.kubenexus.io/", "gpu.kubenexus.io/", "device.kubenexus.io/"];
/// How many bytes a value may have that is read.
const BYTES_MAX: usize = 16 << 10;
/// How many annotations of a node are read, and how many mistakes are kept.
const ANNOTATIONS_MAX: usize = 1_024;
const UNREAD_MAX: usize = 16;
/// How much of a value that means nothing is repeated.
const SHOWN_MAX: usize = 80;
/// How many parts a list of CPUs may have.
const RANGES_MAX: usize = 4_096;

/// The facts of a node's inside, and who holds what; nothing where nothing is told.
pub(super) fn hardware(
    labels: &BTreeMap<String, String>,
    annotations: &NodeAnnotations,
) -> (Option<Box<HardwareFacts>>, Option<Box<HeldFacts>>) {
    let mut reader = Reader { labels, annotations, unread: Vec::new() };
    for long in &annotations.long {
        let expected = format!("at most {BYTES_MAX} bytes, found {}", long.bytes);
        reader.reject(&long.key, &long.begins, &expected);
    }
    let mut facts = HardwareFacts::default();
    zones::read(&mut reader, &mut facts);
    gpus::read(&mut reader, &mut facts);
    kubelet::read(&mut reader, &mut facts);
    tiers::read(&mut reader, &mut facts);
    let held = held::read(&mut reader);
    facts.unread = reader.unread.into();
    let is_told = facts != HardwareFacts::default();
    (is_told.then(|| Box::new(facts)), held.map(Box::new))
}

/// Annotations of our domains.
#[derive(Default)]
pub(super) struct NodeAnnotations {
    short: BTreeMap<String, String>,
    long: Vec<TooLong>,
}

struct TooLong {
    key: String,
    bytes: usize,
    begins: String,
}

impl<'de> Deserialize<'de> for NodeAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NodeAnnotationsVisitor)
    }
}

struct NodeAnnotationsVisitor;

impl<'de> Visitor<'de> for NodeAnnotationsVisitor {
    type Value = NodeAnnotations;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<NodeAnnotations, M::Error> {
        let mut found = NodeAnnotations::default();
        while let Some(key) = map.next_key::<String>()? {
            if !is_ours(&key) || found.short.len() + found.long.len() == ANNOTATIONS_MAX {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: String = map.next_value()?;
            if value.len() <= BYTES_MAX {
                found.short.insert(key, value);
            } else {
                let (bytes, begins) = (value.len(), cut(&value, SHOWN_MAX));
                found.long.push(TooLong { key, bytes, begins });
            }
        }
        Ok(found)
    }
}

impl Slim for NodeAnnotations {
    fn slim(value: &mut Value) {
        if let Value::Object(annotations) = value {
            annotations.retain(|key, _| is_ours(key));
        }
    }
}

/// Whether a label or an annotation of a node is about its inside. Keys of zones and GPUs have
/// numbers in them, so they are no list.
pub(crate) fn is_hardware_key(key: &str) -> bool {
    let is_of_gpu = |name: &str| name.starts_with("gpu") || name.starts_with("numa-node-");
    match key.split_once('/') {
        Some(("numa.kubenexus.io", name)) => {
            name.starts_with("node-") || ["cores", "kubelet", "threads-per-core"].contains(&name)
        }
        Some(("gpu.kubenexus.io", name)) => {
            is_of_gpu(name) || ["devices", "clique"].contains(&name)
        }
        Some(("device.kubenexus.io", name)) => name == "allocations",
        Some(_) | None => tiers::LABELS.contains(&key),
    }
}

fn is_ours(key: &str) -> bool {
    DOMAINS.iter().any(|domain| key.starts_with(domain))
}

/// Labels and annotations, and what could not be read so far.
struct Reader<'a> {
    labels: &'a BTreeMap<String, String>,
    annotations: &'a NodeAnnotations,
    unread: Vec<Unread>,
}

impl<'a> Reader<'a> {
    /// What a label says, or an annotation with the same key.
    fn get(&self, key: &str) -> Option<&'a str> {
        let (labels, annotations) = (self.labels, self.annotations);
        labels.get(key).or_else(|| annotations.short.get(key)).map(String::as_str)
    }

    /// All labels and annotations whose keys begin so, with the rest of the key. Where there are
    /// both, the label counts.
    fn all(&self, prefix: &'a str) -> Vec<(&'a str, &'a str, &'a str)> {
        let annotations = self.annotations.short.range(prefix.to_owned()..);
        let annotations = annotations.take_while(|(key, _)| key.starts_with(prefix));
        let labels = self.labels.range(prefix.to_owned()..);
        let labels = labels.take_while(|(key, _)| key.starts_with(prefix));
        let both: BTreeMap<&str, &str> =
            annotations.chain(labels).map(|(key, value)| (&**key, &**value)).collect();
        both.into_iter().map(|(key, value)| (key, &key[prefix.len()..], value)).collect()
    }

    /// Notes that a value means nothing.
    fn reject(&mut self, key: &str, value: &str, expected: &str) {
        if self.unread.len() < UNREAD_MAX {
            let value = cut(value, SHOWN_MAX).into();
            self.unread.push(Unread { key: key.into(), value, expected: expected.into() });
        }
    }

    /// What was made of a value, unless it means nothing.
    fn check<T>(
        &mut self,
        (key, value): (&str, &str),
        made: Option<T>,
        expected: &str,
    ) -> Option<T> {
        if made.is_none() {
            self.reject(key, value, expected);
        }
        made
    }

    /// A number in a range.
    fn number(&mut self, said: (&str, &str), range: RangeInclusive<u64>) -> Option<u64> {
        let made = number(said.1).filter(|number| range.contains(number));
        let expected = format!("an integer from {} to {}", range.start(), range.end());
        self.check(said, made, &expected)
    }
}

/// A number that is written in digits alone.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

/// The same where it has to fit 32 bits.
fn small(text: &str) -> Option<u32> {
    number(text).and_then(|number| number.try_into().ok())
}

/// CPUs as `0-15,32-47`; `_` may stand for the comma, which labels cannot have.
pub(super) fn cpus(text: &str) -> Option<CpuRanges> {
    let text = text.trim();
    if text.is_empty() {
        return Some(CpuRanges::default());
    }
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((small(first)?, small(last)?))
    };
    let parts = text.split([',', '_']);
    let ranges: Option<Vec<_>> = parts.take(RANGES_MAX + 1).map(range).collect();
    ranges.filter(|ranges| ranges.len() <= RANGES_MAX).and_then(CpuRanges::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_by_table() {
        let table = [
            ("", Some(vec![])),
            ("0", Some(vec![(0, 0)])),
            ("0-15", Some(vec![(0, 15)])),
            ("0-15,32-47", Some(vec![(0, 15), (32, 47)])),
            ("32-47_0-15", Some(vec![(0, 15), (32, 47)])),
            ("0-3,4-7,6-9", Some(vec![(0, 9)])),
            ("7-3", None),
            ("0-", None),
            ("0,,1", None),
            ("0-65536", None),
            ("+1", None),
            ("a", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|ranges| CpuRanges::new(ranges).expect("in order"));
            assert_eq!(cpus(text), expected, "{text:?}");
        }
        let many = vec!["1"; RANGES_MAX + 1].join(",");
        assert_eq!(cpus(&many), None);
        assert_eq!(cpus("0-3,8").map(|cpus| cpus.count()), Some(5));
    }
}
