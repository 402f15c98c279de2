//! Words for taints, tolerations and terms of node selectors.
//!
//! ```text
//! taint       KEY[=VALUE]:EFFECT
//! toleration  * | KEY[=VALUE][:EFFECT]     without a value any value will do
//! term        REQUIREMENT[&REQUIREMENT]..  or empty: a term without requirements
//! requirement KEY:OPERATOR[:VALUE,..]      in, notin, exists, absent, gt, lt; others are broken
//!             @FIELD:OPERATOR:VALUE        on a field, such as @metadata.name
//! preference  WEIGHT:TERM
//! ```

use model::{
    Effect, FieldOperator, LabelOperator, NodeTerm, Operator, Preference, RequirementSpec, Taint,
    Toleration,
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
