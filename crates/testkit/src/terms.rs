//! Words for taints, tolerations and terms of node selectors.
//!
//! ```text
//! taint       KEY[=VALUE]:EFFECT
//! toleration  * | KEY[=VALUE][:EFFECT]     without a value any value will do
//! term        REQUIREMENT[&REQUIREMENT]..  or empty: a term without requirements
//! requirement KEY:OPERATOR[:VALUE,..]      in, notin, exists, absent, gt, lt; others are broken
//!             @FIELD:OPERATOR:VALUE        on a field, such as @metadata.name
//! preference  WEIGHT:TERM
//! spread      KEY,SKEW,LABEL:VALUE[,soft]
//! pod term    KEY,LABEL:VALUE[,NAMESPACE]  the pod's own namespace if there is none; * is any
//! liking      WEIGHT,PODTERM
//! ```

use model::{
    Effect, FieldOperator, LabelOperator, LabelSelector, NodeTerm, Operator, PodTerm, Preference,
    RequirementSpec, SpreadSpec, Taint, Target, Toleration,
};

pub(crate) fn pair(text: &str) -> (String, String) {
    let (key, value) = text.split_once(':').expect("a label is KEY:VALUE");
    (key.into(), value.into())
}

pub(crate) fn taint(text: &str) -> Taint<String> {
    let (name, word) = text.rsplit_once(':').expect("a taint is KEY[=VALUE]:EFFECT");
    let (key, value) = name.split_once('=').unwrap_or((name, ""));
    Taint { key: key.into(), value: value.into(), effect: effect(word) }
}

pub(crate) fn toleration(text: &str) -> Toleration<String> {
    let (name, effect) = match text.rsplit_once(':') {
        Some((name, word)) => (name, Some(effect(word))),
        None => (text, None),
    };
    let (key, value, operator) = match name.split_once('=') {
        Some((key, value)) => (key, value, Operator::Equal),
        None => (name, "", Operator::Exists),
    };
    let key = (key != "*").then(|| key.into());
    Toleration { key, value: value.into(), operator, effect }
}

pub(crate) fn preference(text: &str) -> Preference {
    let (weight, text) = text.split_once(':').expect("a preference is WEIGHT:TERM");
    Preference { weight: weight.parse().expect("a weight is a number"), term: term(text) }
}

pub(crate) fn term(text: &str) -> NodeTerm {
    let mut term = NodeTerm::default();
    for text in text.split('&').filter(|text| !text.is_empty()) {
        let mut parts = text.splitn(3, ':');
        let key = parts.next().unwrap_or_default();
        let operator = parts.next().unwrap_or_else(|| panic!("{text:?} has no operator"));
        let values =
            parts.next().map_or(vec![], |values| values.split(',').map(Into::into).collect());
        if let Some(field) = key.strip_prefix('@') {
            let operator = field_operator(operator);
            term.fields.push(RequirementSpec { key: field.into(), operator, values });
        } else {
            let operator = label_operator(operator);
            term.expressions.push(RequirementSpec { key: key.into(), operator, values });
        }
    }
    term
}

pub(crate) fn spread(text: &str) -> SpreadSpec {
    let parts: Vec<&str> = text.split(',').collect();
    let ([key, skew, label] | [key, skew, label, "soft"]) = parts[..] else {
        panic!("{text:?} is not KEY,SKEW,LABEL:VALUE[,soft]")
    };
    SpreadSpec {
        key: key.into(),
        selector: Some(selector(label)),
        max_skew: skew.parse().expect("a skew is a number"),
        min_domains: 1,
        is_required: parts.len() == 3,
        honours_affinity: true,
        honours_taints: false,
    }
}

pub(crate) fn pod_term(text: &str) -> PodTerm {
    let mut parts = text.split(',');
    let mut part = || parts.next();
    let key = part().expect("a pod term has a key").into();
    let selector = Some(selector(part().expect("a pod term has a label")));
    let (namespace, namespace_selector) = match part() {
        Some("*") => (None, Some(LabelSelector::default())),
        Some(label) if label.contains(':') => (None, Some(self::selector(label))),
        namespace => (namespace, None),
    };
    let namespaces = namespace.into_iter().map(Into::into).collect();
    PodTerm { key, target: Target { namespaces, namespace_selector, selector } }
}

pub(crate) fn liking(text: &str) -> (i32, PodTerm) {
    let (weight, term) = text.split_once(',').expect("a liking is WEIGHT,PODTERM");
    (weight.parse().expect("a weight is a number"), pod_term(term))
}

pub(crate) fn selector(text: &str) -> LabelSelector {
    let (key, value) = pair(text);
    let requirement = RequirementSpec { key, operator: LabelOperator::In, values: vec![value] };
    LabelSelector { requirements: vec![requirement] }
}

fn effect(word: &str) -> Effect {
    match word {
        "NoSchedule" => Effect::NoSchedule,
        "PreferNoSchedule" => Effect::PreferNoSchedule,
        "NoExecute" => Effect::NoExecute,
        _ => Effect::Unknown,
    }
}

fn label_operator(word: &str) -> LabelOperator {
    match word {
        "in" => LabelOperator::In,
        "notin" => LabelOperator::NotIn,
        "exists" => LabelOperator::Exists,
        "absent" => LabelOperator::DoesNotExist,
        "gt" => LabelOperator::Gt,
        "lt" => LabelOperator::Lt,
        _ => LabelOperator::Unknown,
    }
}

fn field_operator(word: &str) -> FieldOperator {
    match word {
        "in" => FieldOperator::In,
        "notin" => FieldOperator::NotIn,
        _ => FieldOperator::Unknown,
    }
}
