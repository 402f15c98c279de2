//! What keeps a pod off a node, written down a second time, in the plainest way there is.
//!
//! Shares nothing with plugins and engine: it reads texts where they read symbols, and adds up all
//! pods of a node where they keep sums. The order of the rules is that of the default profile.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Effect, FieldOperator, HostPort, LabelOperator, Need, NodeFacts, NodeTerm, Operator, PodSpec,
    RequirementSpec, Taint, Toleration,
};

/// The taint that a closed node has by definition.
const CLOSED: &str = "node.kubernetes.io/unschedulable";

/// Why a node does not take a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Objection {
    /// The pod is for other nodes, which it names.
    NotNamed,
    Closed,
    Tainted,
    Affinity,
    Port,
    Pods,
    /// Of a resource, by name.
    Lack {
        resource: String,
        /// Even if it were empty.
        is_beyond_node: bool,
    },
    Feature,
    SpreadLabel,
    SpreadSkew,
    NotNear,
    NotFar,
    Unwelcome,
    /// What its volumes lack there, in the word for it.
    Volume(&'static str),
    /// Why its tenant, or accelerators, keep it off, in the word for it.
    Tier(&'static str),
    /// Its network is slower than the pod asks for, or not known.
    Slow,
}

/// What the pods on a node take together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken<'a> {
    pub(crate) pods: i64,
    /// By name: `cpu` in thousandths, `memory` and `ephemeral-storage` in bytes, and others.
    pub(crate) amounts: BTreeMap<&'a str, i64>,
    pub(crate) ports: Vec<&'a HostPort<String>>,
}

impl<'a> Taken<'a> {
    pub(crate) fn by(pods: impl Iterator<Item = &'a PodSpec>) -> Self {
        let mut taken = Self::default();
        let (mut cpu, mut memory, mut ephemeral) = (0, 0, 0);
        for spec in pods {
            let amounts = &spec.requests.charge.amounts;
            taken.pods += 1;
            cpu += amounts.cpu;
            memory += amounts.memory;
            ephemeral += amounts.ephemeral;
            for (name, amount) in &amounts.scalars {
                *taken.amounts.entry(name).or_default() += amount;
            }
            taken.ports.extend(&spec.ports);
        }
        let fixed = [("cpu", cpu), ("memory", memory), ("ephemeral-storage", ephemeral)];
        taken.amounts.extend(fixed.into_iter().filter(|(_, amount)| *amount != 0));
        taken
    }

    /// With one more pod.
    pub(crate) fn add(&mut self, spec: &'a PodSpec) {
        let one = Self::by([spec].into_iter());
        self.pods += one.pods;
        for (name, amount) in one.amounts {
            *self.amounts.entry(name).or_default() += amount;
        }
        self.ports.extend(one.ports);
    }

    pub(crate) fn of(&self, resource: &str) -> i64 {
        self.amounts.get(resource).copied().unwrap_or(0)
    }
}

/// What the first rule that objects says; nothing if the node takes the pod.
pub(crate) fn objections(spec: &PodSpec, node: &NodeFacts, taken: &Taken<'_>) -> Vec<Objection> {
    let single = [
        (!is_named(spec, &node.name), Objection::NotNamed),
        (node.is_closed && !tolerates_closed(spec), Objection::Closed),
        (is_kept_away(spec, node), Objection::Tainted),
        (!is_selected(spec, node), Objection::Affinity),
        (is_port_taken(spec, taken), Objection::Port),
    ];
    if let Some((_, objection)) = single.into_iter().find(|(is_true, _)| *is_true) {
        return vec![objection];
    }
    let lacks = room(spec, node, taken);
    if !lacks.is_empty() {
        return lacks;
    }
    if spec.features.is_within(node.features) { Vec::new() } else { vec![Objection::Feature] }
}

/// What a pod asks for that nobody can give it.
pub(crate) fn unsupported(spec: &PodSpec) -> Option<Need> {
    spec.needs.iter().copied().find(|need| *need == Need::ResourceClaims)
}

/// Whether a taint of a node keeps a pod away.
pub(crate) fn is_kept_away(spec: &PodSpec, node: &NodeFacts) -> bool {
    node.taints.iter().any(|taint| keeps_away(spec, taint))
}

/// What a node itself would turn a pod away for: room and ports.
pub(crate) fn lacks(spec: &PodSpec, node: &NodeFacts, taken: &Taken<'_>) -> Vec<Objection> {
    let port = is_port_taken(spec, taken).then_some(Objection::Port);
    port.into_iter().chain(room(spec, node, taken)).collect()
}

// === Names ===

/// The nodes that a pod names, if it names any: by its target, and by terms that all name some.
pub(crate) fn names(spec: &PodSpec) -> Vec<BTreeSet<&str>> {
    let target = spec.target.as_deref().map(|name| BTreeSet::from([name]));
    target.into_iter().chain(names_of_terms(spec)).collect()
}

/// The nodes that required terms name, if each of them names some.
pub(crate) fn names_of_terms(spec: &PodSpec) -> Option<BTreeSet<&str>> {
    let terms = spec.required.as_ref().filter(|terms| !terms.is_empty())?;
    let mut all = BTreeSet::new();
    for term in terms {
        let is_name = |field: &&RequirementSpec<FieldOperator>| {
            field.key == "metadata.name" && field.operator == FieldOperator::In
        };
        let sets = term.fields.iter().filter(is_name);
        let sets: Vec<BTreeSet<&str>> =
            sets.map(|field| field.values.iter().map(|value| &**value).collect()).collect();
        let (first, others) = sets.split_first()?;
        all.extend(first.iter().filter(|name| others.iter().all(|set| set.contains(**name))));
    }
    Some(all)
}

fn is_named(spec: &PodSpec, node: &str) -> bool {
    names(spec).iter().all(|set| set.contains(node))
}

// === Taints ===

fn tolerates_closed(spec: &PodSpec) -> bool {
    let taint = Taint { key: CLOSED.to_owned(), value: String::new(), effect: Effect::NoSchedule };
    spec.tolerations.iter().any(|toleration| covers(toleration, &taint))
}

fn keeps_away(spec: &PodSpec, taint: &Taint<String>) -> bool {
    let is_strict = match taint.effect {
        Effect::NoSchedule | Effect::NoExecute => true,
        Effect::PreferNoSchedule | Effect::Unknown => false,
    };
    is_strict && !spec.tolerations.iter().any(|toleration| covers(toleration, taint))
}

fn covers(toleration: &Toleration<String>, taint: &Taint<String>) -> bool {
    let is_key = toleration.key.as_ref().is_none_or(|key| *key == taint.key);
    let is_effect = toleration.effect.is_none_or(|effect| effect == taint.effect);
    let is_value = match toleration.operator {
        Operator::Exists => true,
        Operator::Equal => toleration.value == taint.value,
        Operator::Never => false,
    };
    is_key && is_effect && is_value
}

// === Labels ===

fn label<'a>(node: &'a NodeFacts, key: &str) -> Option<&'a str> {
    node.labels.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
}

pub(crate) fn is_selected(spec: &PodSpec, node: &NodeFacts) -> bool {
    let has = |(key, value): &(String, String)| label(node, key) == Some(value);
    let required = spec.required.as_ref();
    spec.node_selector.iter().all(has)
        && required.is_none_or(|terms| terms.iter().any(|term| matches(term, node)))
}

pub(crate) fn matches(term: &NodeTerm, node: &NodeFacts) -> bool {
    let is_empty = term.expressions.is_empty() && term.fields.is_empty();
    !is_empty
        && !is_broken(term)
        && term.expressions.iter().all(|requirement| holds(requirement, node))
        && term.fields.iter().all(|field| {
            let is_equal = field.key == "metadata.name" && field.values[0] == node.name;
            is_equal == (field.operator == FieldOperator::In)
        })
}

fn holds(requirement: &RequirementSpec<LabelOperator>, node: &NodeFacts) -> bool {
    let found = label(node, &requirement.key);
    let is_listed = found.is_some_and(|value| requirement.values.iter().any(|v| v == value));
    let number = || found.and_then(|value| value.parse::<i64>().ok());
    let bound = || requirement.values.first().and_then(|value| value.parse::<i64>().ok());
    match requirement.operator {
        LabelOperator::In => is_listed,
        LabelOperator::NotIn => !is_listed,
        LabelOperator::Exists => found.is_some(),
        LabelOperator::DoesNotExist => found.is_none(),
        LabelOperator::Gt => number().zip(bound()).is_some_and(|(n, bound)| n > bound),
        LabelOperator::Lt => number().zip(bound()).is_some_and(|(n, bound)| n < bound),
        LabelOperator::Unknown => false,
    }
}

/// Whether a term makes no sense, so that it matches nothing.
fn is_broken(term: &NodeTerm) -> bool {
    let is_label_broken = |requirement: &RequirementSpec<LabelOperator>| {
        let values = &requirement.values;
        match requirement.operator {
            LabelOperator::In | LabelOperator::NotIn => values.is_empty(),
            LabelOperator::Exists | LabelOperator::DoesNotExist => !values.is_empty(),
            LabelOperator::Gt | LabelOperator::Lt => {
                values.len() != 1 || values[0].parse::<i64>().is_err()
            }
            LabelOperator::Unknown => true,
        }
    };
    let is_field_broken = |field: &RequirementSpec<FieldOperator>| {
        field.values.len() != 1 || field.operator == FieldOperator::Unknown
    };
    term.expressions.iter().any(is_label_broken) || term.fields.iter().any(is_field_broken)
}

/// Whether nodes cannot be ranked for a pod, so that it goes nowhere unless a node is proposed.
pub(crate) fn cannot_be_ranked(spec: &PodSpec) -> bool {
    let says_something = |term: &NodeTerm| !term.expressions.is_empty() || !term.fields.is_empty();
    spec.preferred.iter().any(|preference| {
        preference.weight != 0 && says_something(&preference.term) && is_broken(&preference.term)
    })
}

// === Room ===

fn is_port_taken(spec: &PodSpec, taken: &Taken<'_>) -> bool {
    let collide = |one: &HostPort<String>, other: &HostPort<String>| {
        let is_anywhere = one.address.is_none() || other.address.is_none();
        one.port == other.port
            && one.protocol == other.protocol
            && (is_anywhere || one.address == other.address)
    };
    spec.ports.iter().any(|wanted| taken.ports.iter().any(|port| collide(wanted, port)))
}

fn room(spec: &PodSpec, node: &NodeFacts, taken: &Taken<'_>) -> Vec<Objection> {
    let mut lacks = Vec::new();
    if taken.pods + 1 > node.pods_max {
        lacks.push(Objection::Pods);
    }
    let (fit, offered) = (&spec.requests.fit, &node.allocatable);
    let fixed = [
        ("cpu", fit.cpu, offered.cpu),
        ("memory", fit.memory, offered.memory),
        ("ephemeral-storage", fit.ephemeral, offered.ephemeral),
    ];
    let scalars = fit.scalars.iter().map(|(name, amount)| {
        let offered = offered.scalars.iter().find(|(other, _)| other == name);
        (&**name, *amount, offered.map_or(0, |(_, amount)| *amount))
    });
    for (name, wanted, offered) in fixed.into_iter().chain(scalars) {
        if wanted > 0 && taken.of(name) + wanted > offered {
            let (resource, is_beyond_node) = (name.to_owned(), wanted > offered);
            lacks.push(Objection::Lack { resource, is_beyond_node });
        }
    }
    lacks
}

#[cfg(test)]
mod tests;
