//! Namespaces that an argument speaks of: by name, by labels, or by both.

use framework::Namespaces;
use model::{LabelOperator, LabelSelector, RequirementSpec, is_label_value, is_qualified_name};

use super::affinity::label_requirement;
use crate::document::{Fields, Problems, Spot};

pub(super) const NAMES: &str = "namespaces";
pub(super) const SELECTOR: &str = "namespaceSelector";

/// The namespaces of an entry.
pub(super) fn namespaces(fields: &Fields<'_>, problems: &mut Problems) -> Namespaces {
    let mut names = Vec::new();
    for item in fields.items(NAMES, problems) {
        let Some(name) = item.text(problems) else { continue };
        if name.is_empty() || !is_label_value(name) {
            item.expected("the name of a namespace", problems);
        }
        names.push(name.to_owned());
    }
    let selector = fields.get(SELECTOR).and_then(|spot| selector(spot, problems));
    Namespaces { names, selector }
}

/// Requirements on the labels of a namespace; an empty one means every namespace.
fn selector(spot: Spot<'_>, problems: &mut Problems) -> Option<LabelSelector> {
    const LABELS: &str = "matchLabels";
    const EXPRESSIONS: &str = "matchExpressions";
    let fields = spot.fields(&[LABELS, EXPRESSIONS], problems)?;
    let mut requirements = Vec::new();
    let labels = fields.get(LABELS).map(|spot| spot.entries(problems)).unwrap_or_default();
    for (key, value) in labels {
        if !is_qualified_name(key) {
            problems.report(&value.place, "expected the name of a label, such as example.com/team");
        }
        let Some(text) = value.text(problems) else { continue };
        if !is_label_value(text) {
            value.expected("the value of a label", problems);
        }
        let (operator, values) = (LabelOperator::In, vec![text.to_owned()]);
        requirements.push(RequirementSpec { key: key.to_owned(), operator, values });
    }
    for item in fields.items(EXPRESSIONS, problems) {
        requirements.extend(label_requirement(item, &operators(), problems));
    }
    Some(LabelSelector { requirements })
}

/// Labels of objects are not compared as numbers.
pub(in crate::config) fn operators() -> Vec<(&'static str, LabelOperator)> {
    let is_kept = |(_, operator): &(&str, LabelOperator)| match operator {
        LabelOperator::In
        | LabelOperator::NotIn
        | LabelOperator::Exists
        | LabelOperator::DoesNotExist => true,
        LabelOperator::Gt | LabelOperator::Lt | LabelOperator::Unknown => false,
    };
    LabelOperator::WORDS.into_iter().filter(is_kept).collect()
}
