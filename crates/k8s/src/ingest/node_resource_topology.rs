//! NodeResourceTopology objects (`topology.node.k8s.io/v1alpha2`) to facts. What means nothing is
//! unknown, and named so that it can be told; if it is part of a zone, no zone is known, because
//! a machine with a part of its zones is another machine.

use std::collections::BTreeMap;
use std::fmt;

use model::hardware::{CpuRanges, Unread, ZONE_ID_MAX};
use model::topology::{TopologyPolicy, TopologyScope};
use model::{
    Event, FingerprintMethod, NodeResourceTopologyFacts, PodsFingerprint, Quantity, ToldZone,
    ZoneAmount,
};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::hardware::{cpus, policy, scope};
use super::seen::read_text;
use super::slim::Slim;
use super::view::{
    CostView, NodeResourceTopologyView, ResourceView, TopologyAttributeView, TopologyMeta, ZoneView,
};
use super::{IngestError, cut, read};

const KIND: &str = "NodeResourceTopology";
/// Resources of a zone.
const RESOURCES_MAX: usize = 64;
/// How many attributes are looked at.
const ATTRIBUTES_MAX: usize = 64;
/// Characters of a name, and of a value.
const NAME_MAX: usize = 317;
const TEXT_MAX: usize = 4_096;
/// How many mistakes are kept, and how much of a value that means nothing is repeated.
const UNREAD_MAX: usize = 16;
const SHOWN_MAX: usize = 80;
/// The largest distance: the operating system has a byte for it.
const DISTANCE_MAX: u64 = 255;

/// How fingerprints of pods begin, in the only version there is.
const FINGERPRINT: &str = "pfp0v001";

/// The event that a NodeResourceTopology is there.
///
/// # Errors
/// When the object does not have the shape of a NodeResourceTopology.
pub fn node_resource_topology(object: &serde_json::Value) -> Result<Event, IngestError> {
    Ok(Event::seen(facts(read(KIND, object)?)))
}

/// Reads the text of a NodeResourceTopology: its `resourceVersion`, and that it is there.
///
/// # Errors
/// When it is no JSON, or does not have the shape of a NodeResourceTopology.
pub fn read_node_resource_topology(text: &[u8]) -> Result<(String, Event), IngestError> {
    let view: NodeResourceTopologyView = read_text(KIND, text)?;
    let version = view.metadata.resource_version.clone();
    Ok((version, Event::seen(facts(view))))
}

fn facts(view: NodeResourceTopologyView) -> NodeResourceTopologyFacts {
    let NodeResourceTopologyView { metadata, topology_policies, zones, attributes } = view;
    let TopologyMeta { name, resource_version, annotations } = metadata;
    let mut reader = Reader::default();
    let (mut policy, mut scope) = reader.policies(&topology_policies);
    let (mut sum, mut method) = (annotations.fingerprint, String::new());
    for TopologyAttributeView { name, value } in attributes.into_iter().take(ATTRIBUTES_MAX) {
        match &*name {
            "topologyManagerPolicy" => policy = reader.policy(&value).or(policy),
            "topologyManagerScope" => scope = reader.scope(&value).or(scope),
            "nodeTopologyPodsFingerprint" => sum = value,
            "nodeTopologyPodsFingerprintMethod" => method = value,
            _ => {}
        }
    }
    NodeResourceTopologyFacts {
        node: name.into(),
        version: resource_version.parse().unwrap_or_default(),
        policy,
        scope,
        zones: reader.zones(&zones).unwrap_or_default(),
        pods: reader.fingerprint(&sum, &method),
        unread: reader.unread.into(),
    }
}

/// What could not be read so far.
#[derive(Default)]
struct Reader {
    unread: Vec<Unread>,
}

impl Reader {
    /// Notes that a value means nothing.
    fn reject<T>(&mut self, path: &str, value: &str, expected: &str) -> Option<T> {
        if self.unread.len() < UNREAD_MAX {
            let key = format!("{KIND} {}", cut(path, SHOWN_MAX)).into();
            let value = cut(value, SHOWN_MAX).into();
            self.unread.push(Unread { key, value, expected: expected.into() });
        }
        None
    }

    /// The kubelet's policy and scope by the list of before, of which the first entry counts.
    fn policies(&mut self, list: &[String]) -> (Option<TopologyPolicy>, Option<TopologyScope>) {
        let Some(word) = list.first().filter(|word| !word.is_empty()) else { return (None, None) };
        let level =
            [("ContainerLevel", TopologyScope::Container), ("PodLevel", TopologyScope::Pod)];
        let mut levels = level.iter().filter_map(|(end, scope)| {
            let word = word.strip_suffix(end)?;
            Some((word, Some(*scope)))
        });
        let (name, scope) = levels.next().unwrap_or((word, None));
        let policy = match name {
            "SingleNUMANode" if scope.is_some() => TopologyPolicy::SingleNumaNode,
            "Restricted" => TopologyPolicy::Restricted,
            "BestEffort" => TopologyPolicy::BestEffort,
            "None" if scope.is_none() => TopologyPolicy::None,
            _ => {
                let expected = "a policy, such as RestrictedPodLevel";
                self.reject::<()>("topologyPolicies[0]", word, expected);
                return (None, None);
            }
        };
        (Some(policy), scope)
    }

    fn policy(&mut self, word: &str) -> Option<TopologyPolicy> {
        let expected = "none, best-effort, restricted or single-numa-node";
        policy(word).or_else(|| self.reject("topologyManagerPolicy", word, expected))
    }

    fn scope(&mut self, word: &str) -> Option<TopologyScope> {
        let expected = "container or pod";
        scope(word).or_else(|| self.reject("topologyManagerScope", word, expected))
    }

    fn fingerprint(&mut self, sum: &str, method: &str) -> Option<PodsFingerprint> {
        if sum.is_empty() {
            return None;
        }
        let method = match method {
            // Pods that ended are not known here.
            "" | "all" | "exclude-terminal" => FingerprintMethod::All,
            "with-exclusive-resources" => FingerprintMethod::WithExclusiveResources,
            _ => {
                let expected = "all, exclude-terminal or with-exclusive-resources";
                return self.reject("nodeTopologyPodsFingerprintMethod", method, expected);
            }
        };
        let digits = sum.strip_prefix(FINGERPRINT).filter(|digits| digits.len() == 16);
        let digits = digits.filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit()));
        let found = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        match found {
            Some(sum) => Some(PodsFingerprint { method, sum }),
            None => {
                let expected = "pfp0v001 and 16 hexadecimal digits";
                self.reject("nodeTopologyPodsFingerprint", sum, expected)
            }
        }
    }

    /// The zones that are NUMA nodes, by id.
    fn zones(&mut self, views: &[ZoneView]) -> Option<Box<[ToldZone]>> {
        let mut zones: BTreeMap<u32, ToldZone> = BTreeMap::new();
        for view in views.iter().filter(|view| view.r#type == "Node") {
            let Some(id) = zone_id(&view.name) else {
                return self.reject("zone", &view.name, "node-0 to node-63");
            };
            let zone = ToldZone {
                id,
                amounts: self.amounts(view)?,
                distances: self.distances(view).unwrap_or_default(),
                cpus: self.cpus(view),
            };
            if zones.insert(id, zone).is_some() {
                return self.reject("zone", &view.name, "every zone once");
            }
        }
        Some(zones.into_values().collect())
    }

    fn amounts(&mut self, zone: &ZoneView) -> Option<Box<[ZoneAmount]>> {
        let path = |resource: &str, field: &str| {
            format!("{}.{}{field}", zone.name, cut(resource, SHOWN_MAX))
        };
        if zone.resources.len() > RESOURCES_MAX {
            let found = zone.resources.len().to_string();
            return self.reject(&path("resources", ""), &found, "at most 64 resources");
        }
        let mut amounts: BTreeMap<&str, ZoneAmount> = BTreeMap::new();
        for view in &zone.resources {
            let ResourceView { name, capacity, allocatable, available } = view;
            if name.is_empty() || name.len() > NAME_MAX || amounts.contains_key(&**name) {
                return self.reject(&path("resources", ".name"), name, "every resource once");
            }
            let mut amount = |field: &str, Text(text): &Text, is_rounded_up| {
                let made = amount(name == "cpu", text, is_rounded_up);
                made.or_else(|| self.reject(&path(name, field), text, "an amount"))
            };
            let amount = ZoneAmount {
                resource: name.as_str().into(),
                capacity: amount(".capacity", capacity, true)?,
                allocatable: amount(".allocatable", allocatable, false)?,
                available: amount(".available", available, false)?,
            };
            amounts.insert(name, amount);
        }
        Some(amounts.into_values().collect())
    }

    /// How far other zones are. One that means nothing makes all of them unknown.
    fn distances(&mut self, zone: &ZoneView) -> Option<Box<[(u32, u32)]>> {
        let mut distances = BTreeMap::new();
        for CostView { name, value: Text(value) } in &zone.costs {
            let distance = value.parse().ok().filter(|it: &u64| (1..=DISTANCE_MAX).contains(it));
            let distance = distance.and_then(|it| u32::try_from(it).ok());
            let (Some(id), Some(distance)) = (zone_id(name), distance) else {
                let path = format!("{}.costs.{}", zone.name, cut(name, SHOWN_MAX));
                return self.reject(&path, value, "a distance from 1 to 255");
            };
            distances.insert(id, distance);
        }
        Some(distances.into_iter().collect())
    }

    /// The CPUs of a zone, as our own agent tells them.
    fn cpus(&mut self, zone: &ZoneView) -> Option<CpuRanges> {
        const CPUS: &str = "numa.kubenexus.io/cpus";
        let mut attributes = zone.attributes.iter().take(ATTRIBUTES_MAX);
        let TopologyAttributeView { value, .. } = attributes.find(|it| it.name == CPUS)?;
        let found = Some(value).filter(|value| value.len() <= TEXT_MAX);
        let found = found.and_then(|value| cpus(value));
        let path = format!("{}.{CPUS}", zone.name);
        found.or_else(|| self.reject(&path, value, "CPUs, such as 0-15,32-47"))
    }
}

fn zone_id(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("node-").filter(|digits| (1..=2).contains(&digits.len()))?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let id = digits.parse().ok().filter(|id| is_number && *id <= ZONE_ID_MAX)?;
    // No other way to write the same number.
    (digits == format!("{id}")).then_some(id)
}

/// An amount in whole CPUs, bytes or devices. Of a part of a CPU none is free.
fn amount(is_cpu: bool, text: &str, is_rounded_up: bool) -> Option<u64> {
    if text.is_empty() || text.len() > TEXT_MAX {
        return None;
    }
    let quantity = Quantity::parse(text).ok()?;
    let units = match is_cpu && !is_rounded_up {
        true => quantity.milli().div_euclid(1_000),
        false => quantity.units(),
    };
    u64::try_from(units).ok()
}

/// A string or a number as it is written. Whatever else stands there means nothing.
#[derive(Default)]
pub(super) struct Text(String);

impl Slim for Text {}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a string or a number")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Text, E> {
        Ok(Text::default())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Text, S::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Text("a list".into()))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Text, M::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Text("an object".into()))
    }
}
