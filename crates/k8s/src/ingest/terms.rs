//! Node selector terms as facts.

use model::{FieldOperator, LabelOperator, NodeTerm, Preference, RequirementSpec};

use super::view::{Expression, PreferredTerm, SelectorTerm};

pub(super) fn term(view: SelectorTerm) -> NodeTerm {
    NodeTerm {
        expressions: requirements(
            view.match_expressions,
            &LabelOperator::WORDS,
            LabelOperator::Unknown,
        ),
        fields: requirements(view.match_fields, &FieldOperator::WORDS, FieldOperator::Unknown),
    }
}

pub(super) fn preference(view: PreferredTerm) -> Preference {
    Preference { weight: view.weight.0, term: term(view.preference) }
}

/// Requirements on labels.
pub(super) fn label_requirements(
    views: &[Expression],
) -> impl Iterator<Item = RequirementSpec<LabelOperator>> {
    views.iter().map(|view| {
        let operator = operator(&view.operator, &LabelOperator::WORDS, LabelOperator::Unknown);
        RequirementSpec { key: view.key.clone(), operator, values: view.values.clone() }
    })
}

/// Requirements whose operators are among `words`; any other word is the `unknown` operator.
fn requirements<O: Copy>(
    views: Vec<Expression>,
    words: &[(&str, O)],
    unknown: O,
) -> Vec<RequirementSpec<O>> {
    let requirement = |view: Expression| {
        let operator = operator(&view.operator, words, unknown);
        RequirementSpec { key: view.key, operator, values: view.values }
    };
    views.into_iter().map(requirement).collect()
}

fn operator<O: Copy>(text: &str, words: &[(&str, O)], unknown: O) -> O {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map_or(unknown, |(_, operator)| *operator)
}
