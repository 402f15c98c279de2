//! What pods are to each other: the rules of a class as crowds and keys, and what can be asked
//! about tags, crowds and domains.

use super::Catalog;
use super::classes::{Company, Spread};
use super::crowds::{Crowd, Held, Rule, Shifted, Tags, Wish};
use super::pods::Occupant;
use crate::event::PodFacts;
use crate::grouping::GroupingKey;
use crate::ids::{ClassId, CrowdId, DomainId, KeyId, NodeId, TagsId};
use crate::spec::{LabelSelector, Labels, PodSpec, PodTerm, SpreadSpec, Target};
use crate::symbol::Symbol;

impl Catalog {
    /// The namespace, labels and owner that pods share.
    #[must_use]
    pub fn tags(&self, tags: TagsId) -> &Tags {
        self.crowds.tags(tags)
    }

    /// Whether no rule about others is about pods of a kind, and they have none.
    #[must_use]
    pub fn has_no_rules(&self, class: ClassId, tags: TagsId) -> bool {
        self.tags(tags).meant.is_empty() && self.class(class).company.holds.is_empty()
    }

    /// The tags of a pod that is not in the cluster; held until [`Catalog::release_tags`].
    pub fn tags_of(&mut self, facts: &PodFacts) -> TagsId {
        self.crowds.hold_tags(facts)
    }

    /// Gives up one hold of tags.
    pub fn release_tags(&mut self, tags: TagsId) {
        self.crowds.release_tags(tags);
    }

    /// A crowd in use.
    #[must_use]
    pub fn crowd(&self, crowd: CrowdId) -> &Crowd {
        self.crowds.get(crowd)
    }

    /// A crowd, if it is still in use.
    #[must_use]
    pub fn find_crowd(&self, crowd: CrowdId) -> Option<&Crowd> {
        self.crowds.find(crowd)
    }

    /// Every crowd that a pod belongs to.
    pub fn crowds_of(&self, occupant: Occupant) -> impl Iterator<Item = CrowdId> {
        let counts = move |crowd: &&CrowdId| !occupant.is_leaving || self.counts_leaving(**crowd);
        let meant = if occupant.is_hold { &[][..] } else { &self.tags(occupant.tags).meant };
        meant.iter().filter(counts).chain(&self.class(occupant.class).company.holds).copied()
    }

    /// Whether a pod is among those that a crowd's rule means.
    #[must_use]
    pub fn is_in_crowd(&self, occupant: Occupant, crowd: CrowdId) -> bool {
        self.is_meant(occupant.tags, crowd) && (!occupant.is_leaving || self.counts_leaving(crowd))
    }

    /// Whether pods with these tags are among those that a crowd's rule means.
    #[must_use]
    pub fn is_meant(&self, tags: TagsId, crowd: CrowdId) -> bool {
        self.tags(tags).meant.binary_search(&crowd).is_ok()
    }

    /// Whether pods that are being deleted count in a crowd.
    pub(crate) fn counts_leaving(&self, crowd: CrowdId) -> bool {
        match self.crowd(crowd).rule {
            Rule::Meant { counts_leaving, .. } => counts_leaving,
            Rule::Holds(_) => true,
        }
    }

    /// Crowds that were made since this was last asked, and the tags of members on nodes.
    pub(crate) fn take_uncounted_crowds(&mut self) -> Vec<(CrowdId, Vec<TagsId>)> {
        self.crowds.take_uncounted()
    }

    /// Which crowds the pods on nodes with these tags came to be in, or are not in any more, since
    /// this was last asked.
    pub(crate) fn take_shifted_tags(&mut self) -> Shifted {
        self.crowds.take_shifted()
    }

    /// Whether pods are in a namespace.
    #[must_use]
    pub fn is_inhabited(&self, namespace: &str) -> bool {
        self.crowds.is_inhabited(namespace)
    }

    /// Takes in the labels of a namespace, or that it is gone; tells whether that makes a
    /// difference to any pod.
    pub fn set_namespace(&mut self, name: &str, labels: Option<&Labels>) -> bool {
        self.crowds.set_namespace(name, labels)
    }

    /// Whether a label gives any namespace a tier.
    #[must_use]
    pub fn has_tiered_namespaces(&self) -> bool {
        self.crowds.tiered_namespaces > 0
    }

    /// The labels of a namespace, if it is known.
    #[must_use]
    pub fn namespace_labels(&self, name: &str) -> Option<&Labels> {
        self.crowds.namespace_labels(name)
    }

    /// Namespaces that are there.
    pub fn namespaces(&self) -> impl Iterator<Item = &str> {
        self.crowds.namespaces()
    }

    /// Takes in the selector of a service or a controller, or that it is gone; tells whether other
    /// pods are alike then.
    pub fn set_grouping(&mut self, key: &GroupingKey, selector: Option<&LabelSelector>) -> bool {
        self.crowds.set_grouping(key, selector)
    }

    /// Services and controllers that are there.
    pub fn groupings(&self) -> impl Iterator<Item = &GroupingKey> {
        self.crowds.groupings.keys()
    }

    /// Compiles constraints that come from a configuration instead of a pod. Whom they are about
    /// follows from each pod: its tags say who is alike from then on. To be called before there are
    /// pods.
    pub fn default_spread(&mut self, specs: &[SpreadSpec]) -> Box<[Spread]> {
        self.crowds.asks_alike |= !specs.is_empty();
        specs.iter().map(|spec| self.spread(spec, "")).collect()
    }

    /// Labels whose value names what a pod is part of, where no service or controller says so: the
    /// first that a pod has counts. To be called before there are pods.
    pub fn set_kin_labels(&mut self, labels: &'static [&'static str]) {
        self.crowds.kin_labels = labels;
    }

    /// The key of a label of nodes, for somebody who asks which pods are alike. To be called before
    /// there are pods.
    pub fn alike_key(&mut self, label: &str) -> KeyId {
        self.crowds.asks_alike = true;
        self.hold_key(label)
    }

    /// Whether somebody asks which pods are alike, so that services and controllers matter.
    #[must_use]
    pub fn asks_alike(&self) -> bool {
        self.crowds.asks_alike
    }

    /// The domain of a node; none if it lacks the label or is not there.
    #[must_use]
    pub fn domain(&self, key: KeyId, node: NodeId) -> Option<DomainId> {
        self.domains.of(key, node)
    }

    /// Hot: the domains of all nodes, by place. Places that are not in it have none.
    #[inline]
    #[must_use]
    pub fn domains(&self, key: KeyId) -> &[Option<DomainId>] {
        self.domains.by_place(key)
    }

    /// How many domains a key has; every id is below it.
    #[must_use]
    pub fn domain_places(&self, key: KeyId) -> usize {
        self.domains.count(key)
    }

    /// The domain of nodes whose value of the label is empty, if there are any.
    #[must_use]
    pub fn unnamed_domain(&self, key: KeyId) -> Option<DomainId> {
        self.domains.find(key, self.symbols.find("")?)
    }

    /// The label of a key.
    #[must_use]
    pub fn key_label(&self, key: KeyId) -> Symbol {
        self.domains.label(key)
    }

    /// What the rules of a spec are about.
    pub(super) fn company_of(&mut self, spec: &PodSpec) -> Company {
        let targets = |terms: &[PodTerm]| -> Vec<Target> {
            terms.iter().map(|term| term.target.clone()).collect()
        };
        let spread = spec.spread.iter().map(|spread| self.spread(spread, &spec.namespace));
        let spread = spread.collect();
        let is_term_broken = has_broken_term(spec);
        let sound = is_term_broken.then(|| without_broken_lists(spec));
        let spec = sound.as_ref().unwrap_or(spec);
        let near = (!spec.near.is_empty()).then(|| {
            let targets = targets(&spec.near).into();
            let crowd = self.crowds.hold(Rule::Meant { targets, counts_leaving: true });
            (crowd, spec.near.iter().map(|term| self.hold_key(&term.key)).collect())
        });
        let far = spec.far.iter().map(|term| self.meant(term)).collect();
        let prefers = spec.prefers.iter().map(|(weight, term)| {
            let (crowd, key) = self.meant(term);
            (*weight, crowd, key)
        });
        let prefers = prefers.collect();
        let near_held = spec.near.iter().map(|term| (Wish::Near, term));
        let far_held = spec.far.iter().map(|term| (Wish::Far, term));
        let preferred = spec.prefers.iter().map(|(weight, term)| (Wish::Prefers(*weight), term));
        let held = near_held.chain(far_held).chain(preferred);
        let holds = Box::default();
        let company = Company { spread, near, far, prefers, holds, is_term_broken };
        let holds = held.zip(company.term_keys()).map(|((wish, term), key)| {
            let target = term.target.clone();
            self.crowds.hold(Rule::Holds(Held { wish, key, target }))
        });
        Company { holds: holds.collect(), ..company }
    }

    fn spread(&mut self, spec: &SpreadSpec, namespace: &str) -> Spread {
        // A selector without requirements counts nobody, though every pod matches it.
        let is_about_all = spec.selector.as_ref().is_some_and(|s| s.requirements.is_empty());
        let counted = spec.selector.as_ref().filter(|_| !is_about_all);
        let crowd = counted.map(|selector| {
            let target = Target {
                namespaces: vec![namespace.to_owned()],
                namespace_selector: None,
                selector: Some(selector.clone()),
            };
            self.crowds.hold(Rule::Meant { targets: [target].into(), counts_leaving: false })
        });
        Spread {
            key: self.hold_key(&spec.key),
            crowd,
            is_about_all,
            is_broken: spec.selector.as_ref().is_some_and(|selector| !selector.is_sound()),
            max_skew: spec.max_skew,
            min_domains: spec.min_domains,
            is_required: spec.is_required,
            honours_affinity: spec.honours_affinity,
            honours_taints: spec.honours_taints,
        }
    }

    fn meant(&mut self, term: &PodTerm) -> (CrowdId, KeyId) {
        let targets = [term.target.clone()].into();
        (self.crowds.hold(Rule::Meant { targets, counts_leaving: true }), self.hold_key(&term.key))
    }

    /// The key of a label; held until [`Catalog::release_key`].
    fn hold_key(&mut self, label: &str) -> KeyId {
        let label = self.symbols.hold(label);
        self.domains.hold(label, &self.nodes)
    }

    pub(super) fn release_key(&mut self, key: KeyId) {
        let label = self.domains.release(key);
        self.symbols.release(label);
    }
}

fn has_broken_term(spec: &PodSpec) -> bool {
    let preferred = spec.prefers.iter().map(|(_, term)| term);
    spec.near.iter().chain(&spec.far).chain(preferred).any(is_broken)
}

fn is_broken(term: &PodTerm) -> bool {
    let is_unsound = |selector: &Option<LabelSelector>| {
        selector.as_ref().is_some_and(|selector| !selector.is_sound())
    };
    is_unsound(&term.target.selector) || is_unsound(&term.target.namespace_selector)
}

/// A spec without the lists of terms in which one is broken: the others still hold.
fn without_broken_lists(spec: &PodSpec) -> PodSpec {
    let mut spec = spec.clone();
    for list in [&mut spec.near, &mut spec.far] {
        if list.iter().any(is_broken) {
            list.clear();
        }
    }
    for is_liking in [true, false] {
        let is_in_list = |(weight, _): &(i32, PodTerm)| (*weight >= 0) == is_liking;
        let mut list = spec.prefers.iter().filter(|one| is_in_list(one));
        if list.any(|(_, term)| is_broken(term)) {
            spec.prefers.retain(|one| !is_in_list(one));
        }
    }
    spec
}
