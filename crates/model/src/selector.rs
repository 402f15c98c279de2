//! Node selectors, compiled once per class and matched against interned labels.
//!
//! A term that Kubernetes could not parse matches nothing, and says so ([`Term::Broken`]), because
//! required terms ignore the fault while preferred terms make scoring fail.

use crate::catalog::Node;
use crate::names::{is_label_value, is_qualified_name};
use crate::spec::{FieldOperator, LabelOperator, NodeTerm, RequirementSpec};
use crate::symbol::{Holder, Symbol, Symbols};

/// What a node must be: any one of the terms.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    terms: Box<[Term]>,
}

/// A term with the weight it adds.
#[derive(Clone, Debug)]
pub struct WeightedTerm {
    /// What is added to a matching node's score.
    pub weight: i64,
    /// What must match.
    pub term: Term,
}

/// One term.
#[derive(Clone, Debug)]
pub enum Term {
    /// All requirements must hold.
    All(SelectorTerm),
    /// At least one requirement makes no sense.
    Broken,
}

/// The requirements of a term.
#[derive(Clone, Debug)]
pub struct SelectorTerm {
    labels: Box<[Requirement]>,
    names: Box<[(bool, Option<Symbol>)]>,
}

/// One requirement on labels.
#[derive(Clone, Debug)]
pub enum Requirement {
    /// Has the label with one of the values.
    In(Symbol, Box<[Symbol]>),
    /// Lacks the label or has another value.
    NotIn(Symbol, Box<[Symbol]>),
    /// Has the label.
    Exists(Symbol),
    /// Lacks the label.
    DoesNotExist(Symbol),
    /// Has the label with a number above.
    Above(Symbol, i64),
    /// Has the label with a number below.
    Below(Symbol, i64),
}

impl Selector {
    /// Compiles terms, which are alternatives. Empty terms select nothing and are left out.
    pub(crate) fn compile(terms: &[NodeTerm], symbols: &mut Holder<'_>) -> Self {
        let terms = terms.iter().filter(|term| !is_empty(term));
        Self { terms: terms.map(|term| Term::compile(term, symbols)).collect() }
    }

    /// Whether one of the terms matches.
    #[must_use]
    pub fn matches(&self, node: &Node, symbols: &Symbols) -> bool {
        self.terms.iter().any(|term| term.matches(node, symbols))
    }
}

impl Term {
    /// Compiles one term.
    pub(crate) fn compile(term: &NodeTerm, symbols: &mut Holder<'_>) -> Self {
        let labels: Option<_> =
            term.expressions.iter().map(|spec| label_requirement(spec, symbols)).collect();
        let names: Option<_> =
            term.fields.iter().map(|spec| field_requirement(spec, symbols)).collect();
        match (labels, names) {
            (Some(labels), Some(names)) => Self::All(SelectorTerm { labels, names }),
            _ => Self::Broken,
        }
    }

    /// Whether all requirements hold.
    #[must_use]
    pub fn matches(&self, node: &Node, symbols: &Symbols) -> bool {
        let Self::All(term) = self else { return false };
        let is_named =
            |&(is_equal, name): &(bool, Option<Symbol>)| (name == Some(node.name)) == is_equal;
        term.labels.iter().all(|requirement| requirement.matches(node, symbols))
            && term.names.iter().all(is_named)
    }
}

impl Requirement {
    fn matches(&self, node: &Node, symbols: &Symbols) -> bool {
        match self {
            Self::In(key, values) => node.label(*key).is_some_and(|value| values.contains(&value)),
            Self::NotIn(key, values) => {
                node.label(*key).is_none_or(|value| !values.contains(&value))
            }
            Self::Exists(key) => node.label(*key).is_some(),
            Self::DoesNotExist(key) => node.label(*key).is_none(),
            Self::Above(key, bound) => number(node, *key, symbols).is_some_and(|n| n > *bound),
            Self::Below(key, bound) => number(node, *key, symbols).is_some_and(|n| n < *bound),
        }
    }
}

fn number(node: &Node, key: Symbol, symbols: &Symbols) -> Option<i64> {
    symbols.text(node.label(key)?).parse().ok()
}

fn is_empty(term: &NodeTerm) -> bool {
    term.expressions.is_empty() && term.fields.is_empty()
}

fn label_requirement(
    spec: &RequirementSpec<LabelOperator>,
    symbols: &mut Holder<'_>,
) -> Option<Requirement> {
    if !is_qualified_name(&spec.key) || !spec.values.iter().all(|value| is_label_value(value)) {
        return None;
    }
    let values = |symbols: &mut Holder<'_>| {
        let values: Box<[_]> = spec.values.iter().map(|value| symbols.hold(value)).collect();
        (!values.is_empty()).then_some(values)
    };
    let bound = || if let [value] = &spec.values[..] { value.parse().ok() } else { None };
    let key = symbols.hold(&spec.key);
    match spec.operator {
        LabelOperator::In => Some(Requirement::In(key, values(symbols)?)),
        LabelOperator::NotIn => Some(Requirement::NotIn(key, values(symbols)?)),
        LabelOperator::Exists => spec.values.is_empty().then_some(Requirement::Exists(key)),
        LabelOperator::DoesNotExist => {
            spec.values.is_empty().then_some(Requirement::DoesNotExist(key))
        }
        LabelOperator::Gt => Some(Requirement::Above(key, bound()?)),
        LabelOperator::Lt => Some(Requirement::Below(key, bound()?)),
        LabelOperator::Unknown => None,
    }
}

/// The name a node must, or must not, have. Fields other than the name are always empty.
fn field_requirement(
    spec: &RequirementSpec<FieldOperator>,
    symbols: &mut Holder<'_>,
) -> Option<(bool, Option<Symbol>)> {
    let [value] = &spec.values[..] else { return None };
    let is_equal = match spec.operator {
        FieldOperator::In => true,
        FieldOperator::NotIn => false,
        FieldOperator::Unknown => return None,
    };
    if spec.key == "metadata.name" {
        return Some((is_equal, Some(symbols.hold(value))));
    }
    // An unknown field reads as empty: equal to "" on every node, to anything else on none.
    Some((is_equal != value.is_empty(), None))
}
