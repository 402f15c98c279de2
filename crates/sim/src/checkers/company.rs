//! What pods are to each other, written down a second time: every pod on every node is looked at,
//! for every question. Only what is taken of a node is added up once for many.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use model::{Labels, NodeFacts, PodFacts, PodTerm, SpreadSpec, Target};

use super::fabric;
use super::ledger::{Ledger, Place};
use super::rules::{self, Objection, Taken};
use super::volumes::{self, Gifts, Mounted};

/// Who is where: as it is, or as it would be without some pods, and with others on a node.
pub(crate) struct Scene<'a> {
    ledger: &'a Ledger,
    gone: BTreeSet<&'a str>,
    /// By the name of their node.
    guests: BTreeMap<&'a str, Vec<&'a PodFacts>>,
    /// Those of them that want others to be far.
    unwelcoming: Vec<(&'a NodeFacts, &'a PodFacts)>,
    /// What their claims are given, with the node.
    gifts: Vec<(Box<str>, Gifts)>,
    /// What is taken of nodes that were asked about: it is added up once for all questions.
    taken: RefCell<BTreeMap<&'a str, Taken<'a>>>,
}

impl<'a> Scene<'a> {
    pub(crate) fn of(ledger: &'a Ledger) -> Self {
        Self::without(ledger, &[])
    }

    /// Without these pods, by uid.
    pub(crate) fn without(ledger: &'a Ledger, gone: &[&'a str]) -> Self {
        let (gone, guests) = (gone.iter().copied().collect(), BTreeMap::new());
        let (unwelcoming, gifts) = (Vec::new(), Vec::new());
        Self { ledger, gone, guests, unwelcoming, gifts, taken: RefCell::default() }
    }

    /// With one more pod.
    pub(crate) fn add(&mut self, node: &'a NodeFacts, pod: &'a PodFacts) {
        if !pod.volumes.is_empty() {
            let view = View { scene: self, rivals: &[] };
            let gifts = view.volumes(pod, node).unwrap_or_default();
            self.gifts.push((node.name.as_str().into(), gifts));
        }
        self.guests.entry(&node.name).or_default().push(pod);
        self.unwelcoming.extend((!pod.spec.far.is_empty()).then_some((node, pod)));
        if let Some(taken) = self.taken.get_mut().get_mut(&*node.name) {
            taken.add(&pod.spec);
        }
    }

    fn is_there(&self, pod: &PodFacts) -> bool {
        !self.gone.contains(&*pod.key.uid)
    }

    fn pods(&self, node: &NodeFacts, place: &'a Place) -> impl Iterator<Item = &'a PodFacts> {
        let guests = self.guests.get(&*node.name).into_iter().flatten().copied();
        place.pods().filter(|pod| self.is_there(pod)).chain(guests)
    }
}

/// Who is where, with pods that one must yield to on the nodes that are proposed for them.
struct View<'v, 'a> {
    scene: &'v Scene<'a>,
    rivals: &'v [(&'v NodeFacts, &'v PodFacts)],
}

impl<'v, 'a> View<'v, 'a> {
    fn nodes(&self) -> impl Iterator<Item = (&'a NodeFacts, &'a Place)> {
        self.scene.ledger.nodes()
    }

    fn rivals_on(&self, node: &NodeFacts) -> impl Iterator<Item = &'v PodFacts> {
        let rivals = self.rivals.iter().filter(|(at, _)| at.name == node.name);
        rivals.map(|(_, rival)| *rival)
    }

    fn pods(&self, node: &NodeFacts, place: &'a Place) -> impl Iterator<Item = &'v PodFacts> {
        let others = self.scene.pods(node, place).map(|pod| -> &'v PodFacts { pod });
        others.chain(self.rivals_on(node))
    }

    /// Pods that want others to be far, with their nodes.
    fn unwelcoming(&self) -> impl Iterator<Item = (&'v NodeFacts, &'v PodFacts)> {
        let scene = self.scene;
        let guests = scene.unwelcoming.iter().chain(self.rivals).copied();
        scene.ledger.unwelcoming().filter(|(_, pod)| scene.is_there(pod)).chain(guests)
    }

    /// What a node has against the volumes of a pod, or what its claims would get.
    fn volumes(&self, pod: &PodFacts, node: &NodeFacts) -> Result<Gifts, Vec<Objection>> {
        if pod.volumes.is_empty() {
            return Ok(Gifts::new());
        }
        let others = |(node, place)| self.pods(node, place).filter(|one| !one.volumes.is_empty());
        let found = self.scene.ledger.node(&node.name);
        let mounted = Mounted {
            ledger: self.scene.ledger,
            users: self.users(),
            here: found.into_iter().flat_map(others).collect(),
            gifts: &self.scene.gifts,
        };
        volumes::objections(&mounted, pod, node)
    }

    /// All pods with volumes on nodes that are there. Whether a claim is in use is asked before
    /// those count for which a node is proposed.
    fn users(&self) -> Vec<&PodFacts> {
        let placed = self.nodes().flat_map(|(_, place)| place.pods());
        let placed = placed.filter(|pod| self.scene.is_there(pod));
        let guests = self.scene.guests.values().flatten().copied();
        placed.chain(guests).filter(|pod| !pod.volumes.is_empty()).collect()
    }

    /// What the rules for a pod by itself say, with what is taken by pods on the node and by those
    /// that room is kept for.
    fn plain(&self, pod: &PodFacts, node: &NodeFacts) -> Vec<Objection> {
        let found = self.scene.ledger.node(&node.name);
        let (facts, place) = found.expect("a node that is asked about is there");
        let mut all = self.scene.taken.borrow_mut();
        let taken = all.entry(&facts.name).or_insert_with(|| {
            let pods = self.scene.pods(facts, place).chain(place.seats());
            Taken::by(pods.map(|pod| &pod.spec))
        });
        if self.rivals_on(node).next().is_none() {
            return rules::objections(&pod.spec, node, taken);
        }
        let mut taken = taken.clone();
        self.rivals_on(node).for_each(|rival| taken.add(&rival.spec));
        rules::objections(&pod.spec, node, &taken)
    }
}

/// Everything a node has against a pod, or what the first rule says that objects. Those for which
/// the node is proposed count as well if the pod must yield to them, and those that insist on
/// another one.
pub(crate) fn objections(scene: &Scene<'_>, pod: &PodFacts, node: &NodeFacts) -> Vec<Objection> {
    let insisting = scene.ledger.insisting(pod).filter(|(at, _)| at.name != node.name);
    let rivals = scene.ledger.rivals(&node.name, pod).map(|rival| (node, rival));
    let rivals: Vec<_> = rivals.chain(insisting).collect();
    if !rivals.is_empty() {
        let objections = plain_objections(&View { scene, rivals: &rivals }, pod, node);
        if !objections.is_empty() {
            return objections;
        }
    }
    plain_objections(&View { scene, rivals: &[] }, pod, node)
}

/// Whether a node takes a pod for certain. Where its kubelet aligns the pod, or the pod wants
/// something of GPUs, and the scheduler asks for that, more decides than is delivered.
pub(crate) fn surely_takes(scene: &Scene<'_>, pod: &PodFacts, node: &NodeFacts) -> bool {
    !scene.ledger.is_uncertain(pod, node) && objections(scene, pod, node).is_empty()
}

fn plain_objections(view: &View<'_, '_>, pod: &PodFacts, node: &NodeFacts) -> Vec<Objection> {
    let plain = view.plain(pod, node);
    // Features are looked at last.
    if !plain.is_empty() && plain != [Objection::Feature] {
        return plain;
    }
    if let Err(objections) = view.volumes(pod, node) {
        return objections;
    }
    match spread(view, pod, node).or_else(|| affinity(view, pod, node)) {
        Some(objection) => vec![objection],
        None if plain.is_empty() && fabric::objection(view.scene.ledger, pod, node).is_some() => {
            vec![Objection::Slow]
        }
        None if plain.is_empty() => {
            let of_tiers = view.scene.ledger.tier_objection(pod, node);
            of_tiers.map(Objection::Tier).into_iter().collect()
        }
        None => plain,
    }
}

/// Whether where other pods are matters to a pod.
pub(crate) fn matters(ledger: &Ledger, pod: &PodFacts) -> bool {
    let spec = &pod.spec;
    !pod.volumes.is_empty()
        || !spec.spread.is_empty()
        || !spec.near.is_empty()
        || !spec.far.is_empty()
        || ledger.unwelcoming().next().is_some()
        || ledger.reads_tiers(pod)
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

fn spread(view: &View<'_, '_>, pod: &PodFacts, node: &NodeFacts) -> Option<Objection> {
    let hard: Vec<&SpreadSpec> = pod.spec.spread.iter().filter(|s| s.is_required).collect();
    for constraint in &hard {
        let Some(own) = label(node, &constraint.key) else { return Some(Objection::SpreadLabel) };
        let selects = |other: &PodFacts| {
            let selector = constraint.selector.as_ref();
            selector.is_some_and(|selector| selector.matches(&other.labels))
        };
        let is_counted = |other: &&PodFacts| {
            !other.rest.is_terminating && other.key.namespace == pod.key.namespace && selects(other)
        };
        let mut domains: BTreeMap<&str, usize> = BTreeMap::new();
        for (other, place) in view.nodes() {
            let has_keys = hard.iter().all(|constraint| label(other, &constraint.key).is_some());
            let is_open = (!constraint.honours_affinity || rules::is_selected(&pod.spec, other))
                && (!constraint.honours_taints || !rules::is_kept_away(&pod.spec, other));
            if has_keys && is_open {
                let domain = label(other, &constraint.key).expect("it has all keys");
                let count = view.pods(other, place).filter(is_counted).count();
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

fn affinity(view: &View<'_, '_>, pod: &PodFacts, node: &NodeFacts) -> Option<Objection> {
    // Whether a pod that is meant is on a node with the same value of the key.
    let is_near = |key: &str, is_meant: &dyn Fn(&PodFacts) -> bool| {
        let own = label(node, key);
        let mut nodes = view.nodes().filter(|(other, _)| own.is_some() && label(other, key) == own);
        nodes.any(|(other, place)| view.pods(other, place).any(is_meant))
    };
    let labels = |pod: &PodFacts| view.scene.ledger.namespace(&pod.key.namespace);
    let is_meant = |term: &PodTerm, other: &PodFacts| means(&term.target, other, labels(other));
    let near = &pod.spec.near;
    let all = |other: &PodFacts| near.iter().all(|term| is_meant(term, other));
    if near.iter().any(|term| label(node, &term.key).is_none()) {
        return Some(Objection::NotNear);
    }
    if !near.iter().all(|term| is_near(&term.key, &all)) {
        let has_key = |term: &PodTerm, other: &NodeFacts| label(other, &term.key).is_some();
        let mut somewhere =
            view.nodes().filter(|(other, _)| near.iter().any(|t| has_key(t, other)));
        let is_first =
            !somewhere.any(|(other, place)| view.pods(other, place).any(all)) && all(pod);
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
    for (other_node, other) in view.unwelcoming() {
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
