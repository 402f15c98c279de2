//! Keeps pods on nodes that match their selector and required affinity, and prefers nodes that
//! match their preferences.
//!
//! A profile can add affinity to every pod (`addedAffinity`). A pod whose required terms all name
//! nodes by `metadata.name` is confined to those nodes before any node is looked at.

use std::collections::BTreeSet;

use framework::{
    Feasible, Narrow, NodeAffinityArgs, Normalize, Parts, Plugin, Rank, Reach, Scores, Verdict,
    View,
};
use model::{
    Catalog, Class, FieldOperator, Node, NodeId, NodeTerm, Reason, Selector, Symbol, Symbols, Term,
    WeightedTerm,
};

pub(crate) struct NodeAffinity {
    added: Option<Selector>,
    added_preferred: Box<[WeightedTerm]>,
}

impl NodeAffinity {
    pub(crate) fn new(args: &NodeAffinityArgs, catalog: &mut Catalog) -> Self {
        Self {
            added: args.required.as_ref().map(|terms| catalog.selector(terms)),
            added_preferred: catalog.preferences(&args.preferred),
        }
    }
}

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        "NodeAffinity"
    }
}

impl Feasible for NodeAffinity {
    fn reads(&self) -> Parts {
        Parts::REQUIRED
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Narrow>> {
        if self.added.is_none() && class.required.is_none() && class.node_selector.is_empty() {
            return None;
        }
        Some(Box::new(Required {
            added: self.added.clone(),
            labels: class.node_selector.clone(),
            required: class.required.clone(),
            named: named(class.spec.required.as_deref().unwrap_or_default()),
        }))
    }
}

impl Rank for NodeAffinity {
    fn reads(&self) -> Parts {
        Parts::PREFERRED
    }

    fn prepare(&self, _: &Catalog, class: &Class) -> Option<Box<dyn Scores>> {
        if class.spec.preferred.is_empty() && self.added_preferred.is_empty() {
            return None;
        }
        let terms = self.added_preferred.iter().chain(&class.preferred).cloned().collect();
        Some(Box::new(Preferred { terms }))
    }
}

/// The nodes that the terms name, if every term names some: one of them must be the one.
fn named(terms: &[NodeTerm]) -> Option<BTreeSet<String>> {
    let names_of = |term: &NodeTerm| {
        let is_name = |key: &str, operator| key == "metadata.name" && operator == FieldOperator::In;
        let requirements = term.fields.iter().filter(|field| is_name(&field.key, field.operator));
        let sets = requirements.map(|field| field.values.iter().cloned().collect::<BTreeSet<_>>());
        sets.reduce(|all, more| &all & &more)
    };
    let mut union = None;
    for term in terms {
        let names = names_of(term)?;
        union.get_or_insert_with(BTreeSet::new).extend(names);
    }
    union
}

pub(crate) fn has_labels(node: &Node, labels: &[(Symbol, Symbol)]) -> bool {
    labels.iter().all(|(key, value)| node.label(*key) == Some(*value))
}

struct Required {
    added: Option<Selector>,
    labels: Box<[(Symbol, Symbol)]>,
    required: Option<Selector>,
    named: Option<BTreeSet<String>>,
}

impl Required {
    fn why_not_node(&self, node: &Node, symbols: &Symbols) -> Option<Reason> {
        if self.added.as_ref().is_some_and(|added| !added.matches(node, symbols)) {
            return Some(Reason::AddedAffinity);
        }
        let is_match = has_labels(node, &self.labels)
            && self.required.as_ref().is_none_or(|required| required.matches(node, symbols));
        (!is_match).then_some(Reason::NodeAffinity)
    }
}

impl Narrow for Required {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn before(&self, _: View<'_>) -> Verdict {
        match &self.named {
            None => Verdict::Open,
            Some(names) if names.is_empty() => Verdict::Refused(Reason::AffinityConflict),
            Some(names) => Verdict::Only(names.clone()),
        }
    }

    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        let symbols = view.catalog.symbols();
        nodes.retain(|node| self.why_not_node(view.catalog.node(*node), symbols).is_none());
    }

    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason> {
        let reason = self.why_not_node(view.catalog.node(node), view.catalog.symbols());
        reason.into_iter().collect()
    }
}

struct Preferred {
    terms: Box<[WeightedTerm]>,
}

impl Scores for Preferred {
    fn reach(&self) -> Reach {
        Reach::Facts
    }

    fn normalize(&self) -> Normalize {
        Normalize::Highest
    }

    fn is_broken(&self) -> bool {
        self.terms.iter().any(|weighted| matches!(weighted.term, Term::Broken))
    }

    fn scores(&self, view: View<'_>, nodes: &[NodeId], out: &mut [i32]) {
        let symbols = view.catalog.symbols();
        for (node, score) in nodes.iter().zip(out) {
            let node = view.catalog.node(*node);
            let matching =
                self.terms.iter().filter(|weighted| weighted.term.matches(node, symbols));
            let sum: i64 = matching.map(|weighted| weighted.weight).sum();
            *score = i32::try_from(sum).unwrap_or(i32::MAX);
        }
    }
}
