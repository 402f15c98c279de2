//! How services are spread, written down a second time: a pod of one is not sent to a zone that has
//! more of its like than another zone with a node that surely takes it.
//!
//! Only where nothing but fullness and images speaks for a node is that certain: these two are
//! outweighed by one pod more. So pods with wishes about nodes, other pods, volumes, GPUs or NUMA
//! zones are not judged, nor are those that others wish to be near, those that the node was
//! proposed for, places where a taint speaks against a node without ruling it out, and nodes with
//! GPUs, which may be left without CPU or memory.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Effect, Event, Fact, GroupingKey, GroupingKind, Hints, LabelSelector, NodeFacts, Owner,
    PodFacts, Said, Workload, is_gpu,
};

use super::Violation;
use super::company::{Scene, surely_takes};
use super::gpus::Wanted;
use super::ledger::Ledger;

const ZONE: &str = "topology.kubernetes.io/zone";

/// Which pods are alike, as services and controllers say, and in which profiles that counts.
#[derive(Default)]
pub(super) struct Alike {
    groupings: BTreeMap<GroupingKey, LabelSelector>,
    spreading: BTreeSet<String>,
}

impl Alike {
    /// Of profiles that spread services by zones, with the weights that they have by default.
    pub(super) fn expect(&mut self, spreading: Vec<String>) {
        self.spreading = spreading.into_iter().collect();
    }

    pub(super) fn apply(&mut self, event: &Event) {
        if let Event::Seen(Fact::Grouping(facts)) = event {
            self.groupings.insert(facts.key.clone(), facts.selector.clone());
        }
    }

    /// Selectors that all pods match that are alike with this one; none if nobody says.
    fn selectors(&self, pod: &PodFacts) -> Vec<&LabelSelector> {
        let is_there = |key: &GroupingKey| key.namespace == pod.key.namespace;
        let speaks = |key: &GroupingKey, selector: &LabelSelector| match key.kind {
            GroupingKind::Service => {
                !selector.requirements.is_empty() && selector.matches(&pod.labels)
            }
            kind @ (GroupingKind::ReplicationController
            | GroupingKind::ReplicaSet
            | GroupingKind::StatefulSet) => {
                pod.owner == Some(Owner { kind, name: key.name.clone() })
            }
        };
        let all = self.groupings.iter().filter(|(key, selector)| {
            is_there(key) && speaks(key, selector) && !selector.requirements.is_empty()
        });
        all.map(|(_, selector)| selector).collect()
    }
}

/// Whether a pod is one that is spread.
fn is_spread(pod: &PodFacts) -> bool {
    let silent = Hints::default();
    let hints = pod.spec.hints.as_deref().unwrap_or(&silent);
    match hints.spread {
        Some(Said::Known(is_spread)) => return is_spread,
        Some(Said::Unknown(_)) | None => {}
    }
    let serves = |workload| matches!(workload, Workload::Service | Workload::Inference);
    let says_so = match &hints.declared {
        Some(Said::Known(workload)) => serves(*workload),
        Some(Said::Unknown(_)) | None => {
            let others = hints.made_by.iter().chain(&hints.labelled);
            others.map(|(workload, _)| *workload).all(serves)
        }
    };
    says_so && pod.spec.spread.is_empty() && pod.gang.is_none() && !hints.is_in_gang
}

/// Whether nothing but fullness and images could speak for one node or the other.
fn is_plain(ledger: &Ledger, pod: &PodFacts) -> bool {
    let spec = &pod.spec;
    let wishes = !spec.preferred.is_empty()
        || !spec.prefers.is_empty()
        || !spec.near.is_empty()
        || !spec.spread.is_empty()
        || !pod.volumes.is_empty()
        || spec.numa.is_some()
        || spec.gpu.is_some()
        || Wanted::of(spec).is_some()
        || pod.nominated.is_some();
    let is_proposed = ledger.pod(&pod.key.uid).is_some_and(|known| known.proposed.is_some());
    let wants_others =
        |other: &PodFacts| !other.spec.near.is_empty() || !other.spec.prefers.is_empty();
    !wishes && !is_proposed && !ledger.placed().any(wants_others)
}

fn zone(node: &NodeFacts) -> Option<&str> {
    node.labels.iter().find(|(key, _)| key == ZONE).map(|(_, value)| value.as_str())
}

/// Checks where a pod is sent, before it is there. Looks at all pods on all nodes.
pub(crate) fn check_spread(ledger: &Ledger, uid: &str, node: &str) -> Result<(), Violation> {
    let pod = ledger.pod(uid).map(super::ledger::Known::facts);
    let (Some(pod), Some((node, _))) = (pod, ledger.node(node)) else { return Ok(()) };
    let scene = &Scene::of(ledger);
    let alike = ledger.alike();
    if !alike.spreading.contains(&pod.spec.scheduler) || !is_spread(pod) {
        return Ok(());
    }
    let selectors = alike.selectors(pod);
    if selectors.is_empty() || !is_plain(ledger, pod) {
        return Ok(());
    }
    let is_alike = |other: &&PodFacts| {
        other.key.namespace == pod.key.namespace
            && !other.rest.is_terminating
            && selectors.iter().all(|selector| selector.matches(&other.labels))
    };
    let mut counts: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for (other, place) in ledger.nodes() {
        let taint = |effect| other.taints.iter().any(|taint| taint.effect == effect);
        if taint(Effect::PreferNoSchedule) || ledger.is_aligned(pod, other) {
            return Ok(());
        }
        *counts.entry(zone(other)).or_default() += place.pods().filter(is_alike).count();
    }
    let own = counts.get(&zone(node)).copied().unwrap_or(0);
    let is_emptier = |other: &NodeFacts| counts.get(&zone(other)).is_some_and(|it| *it < own);
    let has_gpus = |node: &NodeFacts| {
        node.allocatable.scalars.iter().any(|(name, amount)| is_gpu(name) && *amount > 0)
    };
    let emptier = ledger.nodes().filter(|(other, _)| is_emptier(other) && !has_gpus(other));
    let mut better = emptier.filter(|(other, _)| surely_takes(scene, pod, other));
    let Some((other, _)) = better.next() else { return Ok(()) };
    Err(Violation::Crowded {
        pod: pod.key.name.to_string(),
        node: node.name.clone(),
        other: other.name.clone(),
        counts: (own, counts[&zone(other)]),
    })
}
