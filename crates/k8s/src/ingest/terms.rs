//! Node selector terms as facts.

use model::{FieldOperator, LabelOperator, NodeTerm, Preference, RequirementSpec};

use super::view::{Expression, PreferredTerm, SelectorTerm};

pub(super) fn term(view: SelectorTerm) -> NodeTerm {
    NodeTerm {
        expressions: requirements(view.match_expressions, label_operator),
        fields: requirements(view.match_fields, field_operator),
    }
}

pub(super) fn preference(view: PreferredTerm) -> Preference {
    Preference { weight: view.weight.0, term: term(view.preference) }
}

fn requirements<O>(views: Vec<Expression>, operator: fn(&str) -> O) -> Vec<RequirementSpec<O>> {
    let requirement = |view: Expression| RequirementSpec {
        key: view.key,
        operator: operator(&view.operator),
        values: view.values,
    };
    views.into_iter().map(requirement).collect()
}

fn label_operator(word: &str) -> LabelOperator {
    match word {
        "In" => LabelOperator::In,
        "NotIn" => LabelOperator::NotIn,
        "Exists" => LabelOperator::Exists,
        "DoesNotExist" => LabelOperator::DoesNotExist,
        "Gt" => LabelOperator::Gt,
        "Lt" => LabelOperator::Lt,
        _ => LabelOperator::Unknown,
    }
}

fn field_operator(word: &str) -> FieldOperator {
    match word {
        "In" => FieldOperator::In,
        "NotIn" => FieldOperator::NotIn,
        _ => FieldOperator::Unknown,
    }
}
