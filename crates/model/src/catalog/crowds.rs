//! Crowds: the pods that a rule of some pod is about, and the pods that hold such a rule. Which
//! pods belong to a crowd follows from their namespace and labels, their tags, and is worked out
//! once for all pods that share them. How many of a crowd are on which node is kept in the usage.

mod alike;
mod index;

use std::collections::BTreeMap;

use super::groupings::Groupings;
use crate::event::{NamespaceFacts, PodFacts};
use crate::grouping::Owner;
use crate::ids::{CrowdId, KeyId, TagsId};
use crate::looks::Looks;
use crate::map::{Table, hash_of};
use crate::spec::{Labels, Target};
use crate::tiers::TENANT_TIER_LABEL;
use crate::volume::{PodVolume, PodVolumes, claim_key};
use index::Index;
pub(super) use index::{asked_label, label};

/// What makes a pod belong to a crowd.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// All of the targets mean it.
    Meant {
        /// Who is meant.
        targets: Box<[Target]>,
        /// Whether pods that are being deleted count.
        counts_leaving: bool,
    },
    /// It holds this rule about others.
    Holds(Held),
}

/// A rule that pods hold about others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    /// What it says.
    pub wish: Wish,
    /// The label of nodes that makes the domains.
    pub key: KeyId,
    /// Whom it is about.
    pub target: Target,
}

/// What a rule says of the pods it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// They must not come into the domain.
    Far,
    /// One of them had to be in the domain.
    Near,
    /// They are welcome there, or, with a negative weight, unwelcome.
    Prefers(i32),
}

/// A crowd.
pub struct Crowd {
    /// Who belongs to it.
    pub rule: Rule,
    hash: u64,
    holds: u32,
    /// Told apart from an earlier crowd of the same id.
    pub generation: u32,
}

/// A namespace, labels, an owner and volumes that pods share.
pub struct Tags {
    namespace: Box<str>,
    /// The labels.
    pub labels: Labels,
    /// The controller that made the pods.
    pub owner: Option<Owner>,
    /// Their volumes that limit where they can run.
    pub volumes: PodVolumes,
    /// The claims among these, by namespace and name, in their order.
    pub claims: Box<[Box<str>]>,
    /// The pods that services and the owner make alike with these, if somebody asks.
    pub alike: Option<CrowdId>,
    /// The pods of the same job or gang by their labels, if any of these pods asks to be spread.
    pub kin: Option<CrowdId>,
    hash: u64,
    holds: u32,
    /// How many pods on nodes have them.
    placed: usize,
    /// Crowds its pods belong to for being meant, sorted.
    pub meant: Memberships,
    /// Crowds of pods that hold a rule about its pods, sorted.
    pub held: Memberships,
}

/// All tags and crowds in use.
#[derive(Default)]
pub(super) struct Crowds {
    tags: Vec<Option<Tags>>,
    free_tags: Vec<TagsId>,
    by_tags: Table<TagsId>,
    crowds: Vec<Option<Box<Crowd>>>,
    free_crowds: Vec<CrowdId>,
    by_rule: Table<CrowdId>,
    namespaces: BTreeMap<Box<str>, Labels>,
    /// How many of these have a tier.
    pub(super) tiered_namespaces: usize,
    pub(super) groupings: Groupings,
    /// Whether somebody asks which pods are alike.
    pub(super) asks_alike: bool,
    /// Labels whose value names what a pod is part of, where no service or controller says so: the
    /// first that a pod has counts.
    pub(super) kin_labels: &'static [&'static str],
    index: Index,
    generation: u32,
    /// Crowds whose members have to be counted, and the tags of those that are on nodes.
    uncounted: Vec<(CrowdId, Vec<TagsId>)>,
    /// Which crowds the pods on nodes with these tags came to be in, or are not in any more.
    shifted: Shifted,
    pub(super) looks: Looks,
}

/// Crowds that tags joined or left.
pub(crate) type Shifted = BTreeMap<TagsId, Vec<(CrowdId, bool)>>;

impl Tags {
    /// The volumes of the pods, each with the key of its claim if it has one.
    pub fn mounts(&self) -> impl Iterator<Item = (&PodVolume, Option<&str>)> {
        let mut keys = self.claims.iter().map(|key| &**key);
        self.volumes.iter().map(move |it| (it, it.claim().and_then(|_| keys.next())))
    }
}

/// The claims among volumes of pods of a namespace.
fn claims(namespace: &str, volumes: &[PodVolume]) -> Box<[Box<str>]> {
    let names = volumes.iter().filter_map(PodVolume::claim);
    names.map(|name| claim_key(namespace, name)).collect()
}

// === Tags ===

impl Crowds {
    pub(super) fn tags(&self, id: TagsId) -> &Tags {
        self.tags[id.index()].as_ref().expect("tags in use are there")
    }

    pub(super) fn hold_tags(&mut self, facts: &PodFacts) -> TagsId {
        let PodFacts { key, labels, owner, volumes, .. } = facts;
        let hash = hash_of(&(&key.namespace, labels, owner, volumes));
        let rows = &self.tags;
        let is_it = |id: &TagsId| {
            let row = rows[id.index()].as_ref().expect("listed tags are there");
            row.hash == hash
                && row.namespace == key.namespace
                && row.labels == *labels
                && row.owner == *owner
                && row.volumes == *volumes
        };
        let found = self.by_tags.find(hash, is_it).copied();
        let id = found.unwrap_or_else(|| self.add_tags(facts, hash));
        self.tags[id.index()].as_mut().expect("tags in use are there").holds += 1;
        if facts.spec.asks_spread() {
            self.find_kin(id);
        }
        id
    }

    fn add_tags(&mut self, facts: &PodFacts, hash: u64) -> TagsId {
        let id = self.free_tags.pop().unwrap_or_else(|| {
            self.tags.push(None);
            TagsId::at(self.tags.len() - 1)
        });
        let mut tags = Tags {
            namespace: facts.key.namespace.clone(),
            labels: facts.labels.clone(),
            owner: facts.owner.clone(),
            volumes: facts.volumes.clone(),
            claims: claims(&facts.key.namespace, &facts.volumes),
            alike: None,
            kin: None,
            hash,
            holds: 0,
            placed: 0,
            meant: Memberships::default(),
            held: Memberships::default(),
        };
        let crowds = self.index.add_tags(id, &tags);
        self.looks.add(crowds.len());
        for crowd in crowds {
            tags.join(crowd, &self.get(crowd).rule, &self.namespaces);
        }
        self.tags[id.index()] = Some(tags);
        let rows = &self.tags;
        let rehash = |id: &TagsId| rows[id.index()].as_ref().map_or(0, |tags| tags.hash);
        self.by_tags.insert_unique(hash, id, rehash);
        self.find_alike(id);
        id
    }

    pub(super) fn release_tags(&mut self, id: TagsId) {
        let tags = self.tags[id.index()].as_mut().expect("tags in use are there");
        tags.holds -= 1;
        if tags.holds > 0 {
            return;
        }
        let tags = self.tags[id.index()].take().expect("tags in use are there");
        self.index.remove_tags(id, &tags);
        let entry = self.by_tags.find_entry(tags.hash, |other| *other == id);
        entry.expect("tags in use are listed").remove();
        self.free_tags.push(id);
        for crowd in tags.alike.into_iter().chain(tags.kin) {
            self.release(crowd);
        }
    }

    /// Counts a pod with these tags that came to a node, or left it.
    pub(super) fn count_placed(&mut self, id: TagsId, is_placed: bool) {
        let tags = self.tags[id.index()].as_mut().expect("tags in use are there");
        tags.placed = if is_placed { tags.placed + 1 } else { tags.placed - 1 };
    }
}

// === Crowds ===

impl Crowds {
    pub(super) fn get(&self, id: CrowdId) -> &Crowd {
        self.find(id).expect("a crowd in use is there")
    }

    pub(super) fn find(&self, id: CrowdId) -> Option<&Crowd> {
        self.crowds[id.index()].as_deref()
    }

    pub(super) fn hold(&mut self, rule: Rule) -> CrowdId {
        let hash = hash_of(&rule);
        let rows = &self.crowds;
        let row = |id: &CrowdId| rows[id.index()].as_deref().expect("a listed crowd is there");
        let found = self.by_rule.find(hash, |id| row(id).hash == hash && row(id).rule == rule);
        let id = found.copied().unwrap_or_else(|| self.add(rule, hash));
        self.crowds[id.index()].as_mut().expect("a crowd in use is there").holds += 1;
        id
    }

    fn add(&mut self, rule: Rule, hash: u64) -> CrowdId {
        let id = self.free_crowds.pop().unwrap_or_else(|| {
            self.crowds.push(None);
            CrowdId::at(self.crowds.len() - 1)
        });
        let mut members = Vec::new();
        let reached = self.reached(&rule);
        self.looks.add(reached.len());
        for tags_id in reached {
            let tags = self.tags[tags_id.index()].as_mut().expect("listed tags are there");
            if tags.join(id, &rule, &self.namespaces) && tags.placed > 0 {
                members.push(tags_id);
            }
        }
        self.index.add_crowd(id, &rule);
        self.generation = self.generation.wrapping_add(1);
        let crowd = Crowd { rule, hash, holds: 0, generation: self.generation };
        self.crowds[id.index()] = Some(Box::new(crowd));
        let rows = &self.crowds;
        let rehash = |id: &CrowdId| rows[id.index()].as_deref().map_or(0, |crowd| crowd.hash);
        self.by_rule.insert_unique(hash, id, rehash);
        self.uncounted.push((id, members));
        id
    }

    pub(super) fn release(&mut self, id: CrowdId) {
        let crowd = self.crowds[id.index()].as_mut().expect("a crowd in use is there");
        crowd.holds -= 1;
        if crowd.holds > 0 {
            return;
        }
        let crowd = self.crowds[id.index()].take().expect("a crowd in use is there");
        let entry = self.by_rule.find_entry(crowd.hash, |other| *other == id);
        entry.expect("a crowd in use is listed").remove();
        self.free_crowds.push(id);
        self.uncounted.retain(|(other, _)| *other != id);
        self.index.remove_crowd(id, &crowd.rule);
        let reached = self.reached(&crowd.rule);
        self.looks.add(reached.len());
        for tags in reached {
            let tags = self.tags[tags.index()].as_mut().expect("listed tags are there");
            tags.part(id, &crowd.rule);
        }
    }

    /// Tags that a rule may be about.
    fn reached(&self, rule: &Rule) -> Vec<TagsId> {
        let is_there = |at: &usize| self.tags[*at].is_some();
        let all = || (0..self.tags.len()).filter(is_there).map(TagsId::at).collect();
        self.index.tags_of(rule).unwrap_or_else(all)
    }

    pub(super) fn take_uncounted(&mut self) -> Vec<(CrowdId, Vec<TagsId>)> {
        std::mem::take(&mut self.uncounted)
    }

    pub(super) fn take_shifted(&mut self) -> Shifted {
        std::mem::take(&mut self.shifted)
    }
}

// === Namespaces ===

impl Crowds {
    /// Takes in the labels of a namespace, or that it is gone; tells whether that makes a
    /// difference: it does not as long as no pod is in it.
    pub(super) fn set_namespace(&mut self, name: &str, labels: Option<&Labels>) -> bool {
        if self.namespaces.get(name) == labels {
            return false;
        }
        let is_tiered = |labels: &Labels| labels.iter().any(|(key, _)| **key == *TENANT_TIER_LABEL);
        let before = match labels {
            Some(labels) => self.namespaces.insert(name.into(), labels.clone()),
            None => self.namespaces.remove(name),
        };
        self.tiered_namespaces += usize::from(labels.is_some_and(is_tiered));
        self.tiered_namespaces -= usize::from(before.as_ref().is_some_and(is_tiered));
        let inhabitants = self.index.tags_in(name);
        for id in &inhabitants {
            self.rejoin(*id);
        }
        !inhabitants.is_empty()
    }

    /// Whether pods are in a namespace.
    pub(super) fn is_inhabited(&self, namespace: &str) -> bool {
        self.index.is_inhabited(namespace)
    }

    /// Lets tags of a namespace with other labels join and leave crowds.
    fn rejoin(&mut self, id: TagsId) {
        let tags = self.tags[id.index()].as_mut().expect("listed tags are there");
        for crowd in self.index.selecting() {
            self.looks.add(1);
            let rule = &self.crowds[crowd.index()].as_ref().expect("a listed crowd is there").rule;
            let is_member = tags.belongs(rule, &self.namespaces);
            let is_changed = tags.list(rule).set(crowd, is_member);
            let is_counted = match rule {
                Rule::Meant { .. } => tags.placed > 0,
                Rule::Holds(_) => false,
            };
            if is_changed && is_counted {
                self.shifted.entry(id).or_default().push((crowd, is_member));
            }
        }
    }

    pub(super) fn namespace_facts(&self) -> impl Iterator<Item = NamespaceFacts> {
        let all = self.namespaces.iter();
        all.map(|(name, labels)| NamespaceFacts { name: name.clone(), labels: labels.clone() })
    }

    pub(super) fn namespace_labels(&self, name: &str) -> Option<&Labels> {
        self.namespaces.get(name)
    }

    pub(super) fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.namespaces.keys().map(|name| &**name)
    }
}

impl Tags {
    /// Joins a crowd if its rule says so; tells whether it does.
    fn join(
        &mut self,
        crowd: CrowdId,
        rule: &Rule,
        namespaces: &BTreeMap<Box<str>, Labels>,
    ) -> bool {
        let is_member = self.belongs(rule, namespaces);
        if is_member {
            self.list(rule).set(crowd, true);
        }
        is_member
    }

    fn part(&mut self, crowd: CrowdId, rule: &Rule) {
        self.list(rule).set(crowd, false);
    }

    /// Whether a rule is about pods with these tags.
    fn belongs(&self, rule: &Rule, namespaces: &BTreeMap<Box<str>, Labels>) -> bool {
        let labels = namespaces.get(&self.namespace);
        match rule {
            Rule::Meant { targets, .. } => {
                targets.iter().all(|target| target.means(self, labels.map(|l| &**l)))
            }
            // A namespace that is not known has no labels, for those who already hold a rule.
            Rule::Holds(held) => {
                held.target.means(self, Some(labels.map_or(&[][..], |labels| labels)))
            }
        }
    }

    /// The crowds of the same sort as one with this rule.
    fn list(&mut self, rule: &Rule) -> &mut Memberships {
        match rule {
            Rule::Meant { .. } => &mut self.meant,
            Rule::Holds(_) => &mut self.held,
        }
    }
}

/// Crowds that tags belong to, sorted.
#[derive(Default)]
pub struct Memberships(Vec<CrowdId>);

impl Memberships {
    /// Adds a crowd, or takes it out; tells whether it was otherwise before.
    fn set(&mut self, crowd: CrowdId, is_member: bool) -> bool {
        match (self.0.binary_search(&crowd), is_member) {
            (Err(at), true) => self.0.insert(at, crowd),
            (Ok(at), false) => _ = self.0.remove(at),
            (Ok(_), true) | (Err(_), false) => return false,
        }
        true
    }
}

impl std::ops::Deref for Memberships {
    type Target = [CrowdId];

    fn deref(&self) -> &[CrowdId] {
        &self.0
    }
}

impl Target {
    /// Whether pods with these tags are meant. A namespace that is not known has no labels.
    fn means(&self, tags: &Tags, namespace: Option<&[(Box<str>, Box<str>)]>) -> bool {
        let is_selected = match (&self.namespace_selector, namespace) {
            (None, _) => false,
            (Some(selector), Some(labels)) => selector.matches(labels),
            (Some(selector), None) => selector.requirements.is_empty(),
        };
        let is_named = || self.namespaces.iter().any(|name| **name == *tags.namespace);
        (is_selected || is_named())
            && self.selector.as_ref().is_some_and(|selector| selector.matches(&tags.labels))
    }
}
