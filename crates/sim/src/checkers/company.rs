//! What pods are to each other, written down a second time: every pod on every node is looked at,
//! for every question.

use std::collections::BTreeMap;

use model::{Labels, NodeFacts, PodFacts, PodTerm, SpreadSpec, Target};

use super::ledger::{Ledger, Place};
use super::rules::{self, Objection, Taken};

/// Who is where: as it is, or as it would be without some pods, and with others on a node.
pub(crate) struct Scene<'a> {
    ledger: &'a Ledger,
    gone: &'a [&'a str],
    guests: Vec<(&'a NodeFacts, &'a PodFacts)>,
}

impl<'a> Scene<'a> {
    pub(crate) fn of(ledger: &'a Ledger) -> Self {
        Self::without(ledger, &[])
    }

    /// Without these pods, by uid.
    pub(crate) fn without(ledger: &'a Ledger, gone: &'a [&'a str]) -> Self {
        Self { ledger, gone, guests: Vec::new() }
    }

    /// With one more pod.
    pub(crate) fn add(&mut self, node: &'a NodeFacts, pod: &'a PodFacts) {
        self.guests.push((node, pod));
    }

    fn is_there(&self, pod: &PodFacts) -> bool {
        !self.gone.contains(&&*pod.key.uid)
    }

    fn nodes(&self) -> impl Iterator<Item = (&'a NodeFacts, &'a Place)> {
        self.ledger.nodes()
    }

    fn pods(&self, node: &NodeFacts, place: &'a Place) -> impl Iterator<Item = &'a PodFacts> {
        let guests = self.guests.iter().filter(|(at, _)| at.name == node.name);
        let guests = guests.map(|(_, guest)| *guest);
        place.pods().filter(|pod| self.is_there(pod)).chain(guests)
    }

    /// Pods that want others to be far, with their nodes.
    fn unwelcoming(&self) -> impl Iterator<Item = (&'a NodeFacts, &'a PodFacts)> {
        let guests = self.guests.iter().copied();
        self.ledger.unwelcoming().filter(|(_, pod)| self.is_there(pod)).chain(guests)
    }
}

/// Everything a node has against a pod, or what the first rule says that objects. Those for which
/// the node is proposed count as well if the pod must yield to them, and those that insist on
/// another one.
pub(crate) fn objections(scene: &Scene<'_>, pod: &PodFacts, node: &NodeFacts) -> Vec<Objection> {
    let Scene { ledger, gone, .. } = *scene;
    let insisting = ledger.insisting(pod).filter(|(at, _)| at.name != node.name);
    let rivals = ledger.rivals(&node.name, pod).map(|rival| (node, rival));
    let rivals: Vec<_> = rivals.chain(insisting).collect();
    if !rivals.is_empty() {
        let guests = scene.guests.iter().copied().chain(rivals).collect();
        let with = Scene { ledger, gone, guests };
        let objections = plain_objections(&with, pod, node);
        if !objections.is_empty() {
            return objections;
        }
    }
    plain_objections(scene, pod, node)
}

fn plain_objections(scene: &Scene<'_>, pod: &PodFacts, node: &NodeFacts) -> Vec<Objection> {
    let found = scene.ledger.node(&node.name);
    let (_, place) = found.expect("a node that is asked about is there");
    let pods = scene.pods(node, place).chain(place.seats());
    let taken = Taken::by(pods.map(|pod| &pod.spec));
    let plain = rules::objections(&pod.spec, node, &taken);
    // Features are looked at last.
    if !plain.is_empty() && plain != [Objection::Feature] {
        return plain;
    }
    match spread(scene, pod, node).or_else(|| affinity(scene, pod, node)) {
        Some(objection) => vec![objection],
        None => plain,
    }
}

/// Whether where other pods are matters to a pod.
pub(crate) fn matters(ledger: &Ledger, pod: &PodFacts) -> bool {
    let spec = &pod.spec;
    !spec.spread.is_empty()
        || !spec.near.is_empty()
        || !spec.far.is_empty()
        || ledger.unwelcoming().next().is_some()
}

fn label<'a>(node: &'a NodeFacts, key: &str) -> Option<&'a str> {
    node.labels.iter().find(|(other, _)| other == key).map(|(_, value)| &**value)
}

/// Whether a rule means a pod whose namespace has these labels. If nothing is known of the
/// namespace, a selector means it only if it means all.
fn means(target: &Target, pod: &PodFacts, namespace: Option<&Labels>) -> bool {
    let is_selected = target.namespace_selector.as_ref().is_some_and(|selector| {
        namespace.map_or(selector.requirements.is_empty(), |labels| selector.matches(labels))
    });
    let is_named = target.namespaces.iter().any(|name| **name == *pod.key.namespace);
    let selector = target.selector.as_ref();
    (is_selected || is_named) && selector.is_some_and(|selector| selector.matches(&pod.labels))
}

fn spread(scene: &Scene<'_>, pod: &PodFacts, node: &NodeFacts) -> Option<Objection> {
    let hard: Vec<&SpreadSpec> = pod.spec.spread.iter().filter(|s| s.is_required).collect();
    for constraint in &hard {
        let Some(own) = label(node, &constraint.key) else { return Some(Objection::SpreadLabel) };
        let selects = |other: &PodFacts| {
            let selector = constraint.selector.as_ref();
            selector.is_some_and(|selector| selector.matches(&other.labels))
        };
        let is_counted = |other: &&PodFacts| {
            !other.is_terminating && other.key.namespace == pod.key.namespace && selects(other)
        };
        let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
        for (other, place) in scene.nodes() {
            let has_keys = hard.iter().all(|constraint| label(other, &constraint.key).is_some());
            let is_open = (!constraint.honours_affinity || rules::is_selected(&pod.spec, other))
                && (!constraint.honours_taints || !rules::is_kept_away(&pod.spec, other));
            if has_keys && is_open {
                let domain = label(other, &constraint.key).expect("it has all keys");
                let count = scene.pods(other, place).filter(is_counted).count();
                *domains.entry(domain).or_default() += count;
            }
        }
        let is_few = domains.len() < usize::try_from(constraint.min_domains).unwrap_or(0);
        let lowest = if is_few { Some(0) } else { domains.values().min().copied() };
        let Some(lowest) = lowest else { continue };
        let after = domains.get(own).copied().unwrap_or(0) + usize::from(selects(pod));
        if after > lowest + usize::try_from(constraint.max_skew).unwrap_or(0) {
            return Some(Objection::SpreadSkew);
        }
    }
    None
}

fn affinity(scene: &Scene<'_>, pod: &PodFacts, node: &NodeFacts) -> Option<Objection> {
    // Whether a pod that is meant is on a node with the same value of the key.
    let is_near = |key: &str, is_meant: &dyn Fn(&PodFacts) -> bool| {
        let own = label(node, key);
        let mut nodes =
            scene.nodes().filter(|(other, _)| own.is_some() && label(other, key) == own);
        nodes.any(|(other, place)| scene.pods(other, place).any(is_meant))
    };
    let labels = |pod: &PodFacts| scene.ledger.namespace(&pod.key.namespace);
    let is_meant = |term: &PodTerm, other: &PodFacts| means(&term.target, other, labels(other));
    let near = &pod.spec.near;
    let all = |other: &PodFacts| near.iter().all(|term| is_meant(term, other));
    if near.iter().any(|term| label(node, &term.key).is_none()) {
        return Some(Objection::NotNear);
    }
    if !near.iter().all(|term| is_near(&term.key, &all)) {
        let has_key = |term: &PodTerm, other: &NodeFacts| label(other, &term.key).is_some();
        let mut somewhere =
            scene.nodes().filter(|(other, _)| near.iter().any(|t| has_key(t, other)));
        let is_first =
            !somewhere.any(|(other, place)| scene.pods(other, place).any(all)) && all(pod);
        if !is_first {
            return Some(Objection::NotNear);
        }
    }
    let is_hated = |term: &PodTerm| is_near(&term.key, &|other| is_meant(term, other));
    if pod.spec.far.iter().any(is_hated) {
        return Some(Objection::NotFar);
    }
    // For those who are there already, a namespace that is not known has no labels.
    let none = Labels::default();
    let own_labels = labels(pod).unwrap_or(&none);
    for (other_node, other) in scene.unwelcoming() {
        for term in &other.spec.far {
            let own = label(node, &term.key);
            let is_shared = own.is_some() && own == label(other_node, &term.key);
            if is_shared && means(&term.target, pod, Some(own_labels)) {
                return Some(Objection::Unwelcome);
            }
        }
    }
    None
}
