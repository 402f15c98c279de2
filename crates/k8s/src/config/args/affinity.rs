//! Arguments of `NodeAffinity`: affinity that a profile adds to every pod.

use framework::{Args, NodeAffinityArgs};
use model::{
    FieldOperator, LabelOperator, NodeTerm, Preference, RequirementSpec, is_label_value,
    is_qualified_name,
};

use crate::config::sections::check_args_type;
use crate::document::{Fields, Place, Problems, Spot};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// `NodeAffinityArgs`, if they differ from the defaults.
pub(in crate::config) fn node_affinity(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    let fields = spot.fields(&["apiVersion", "kind", "addedAffinity"], problems)?;
    check_args_type(&fields, "NodeAffinity", problems);
    let fields = fields.get("addedAffinity")?.fields(&[REQUIRED, PREFERRED], problems)?;
    let args = NodeAffinityArgs {
        required: required(&fields, problems),
        preferred: preferred(&fields, problems),
    };
    (args != NodeAffinityArgs::default()).then_some(Args::NodeAffinity(args))
}

/// Terms of which one must match. An empty list is not the same as none: no node matches it.
fn required(affinity: &Fields<'_>, problems: &mut Problems) -> Option<Vec<NodeTerm>> {
    let fields = affinity.get(REQUIRED)?.fields(&["nodeSelectorTerms"], problems)?;
    let items = fields.items("nodeSelectorTerms", problems);
    Some(items.into_iter().filter_map(|item| term(item, problems)).collect())
}

fn preferred(affinity: &Fields<'_>, problems: &mut Problems) -> Vec<Preference> {
    let mut preferences = Vec::new();
    for item in affinity.items(PREFERRED, problems) {
        let Some(fields) = item.fields(&["weight", "preference"], problems) else { continue };
        let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
        let weight = fields.integer("weight", range, problems).unwrap_or(0);
        let term = fields.get("preference").and_then(|spot| term(spot, problems));
        // A term that weighs or demands nothing says nothing.
        let term = term.filter(|term| weight != 0 && *term != NodeTerm::default());
        let weight = i32::try_from(weight).expect("read within the range");
        preferences.extend(term.map(|term| Preference { weight, term }));
    }
    preferences
}

fn term(item: Spot<'_>, problems: &mut Problems) -> Option<NodeTerm> {
    let fields = item.fields(&["matchExpressions", "matchFields"], problems)?;
    let expressions = fields.items("matchExpressions", problems).into_iter();
    let expressions = expressions.filter_map(|item| expression(item, problems)).collect();
    let matches = fields.items("matchFields", problems).into_iter();
    let fields = matches.filter_map(|item| field(item, problems)).collect();
    Some(NodeTerm { expressions, fields })
}

fn expression(item: Spot<'_>, problems: &mut Problems) -> Option<RequirementSpec<LabelOperator>> {
    label_requirement(item, &LabelOperator::WORDS, problems)
}

/// A requirement on a label, with one of the operators.
pub(super) fn label_requirement(
    item: Spot<'_>,
    operators: &[(&str, LabelOperator)],
    problems: &mut Problems,
) -> Option<RequirementSpec<LabelOperator>> {
    let (place, found) = requirement(item, operators, label_faults, problems)?;
    let values = &found.values;
    let wanted = match found.operator {
        LabelOperator::In | LabelOperator::NotIn => {
            values.is_empty().then_some("expected at least one value for In and NotIn")
        }
        LabelOperator::Exists | LabelOperator::DoesNotExist => {
            (!values.is_empty()).then_some("expected no values for Exists and DoesNotExist")
        }
        LabelOperator::Gt | LabelOperator::Lt => {
            let is_number = matches!(&values[..], [value] if value.parse::<i64>().is_ok());
            (!is_number).then_some("expected one value, an integer in quotes, for Gt and Lt")
        }
        LabelOperator::Unknown => None,
    };
    if let Some(wanted) = wanted {
        problems.report(&place, wanted);
    }
    Some(found)
}

/// A requirement on a field of the node.
fn field(item: Spot<'_>, problems: &mut Problems) -> Option<RequirementSpec<FieldOperator>> {
    let (place, found) = requirement(item, &FieldOperator::WORDS, |_, _| None, problems)?;
    if found.values.len() != 1 {
        problems.report(&place, "expected exactly one value for a field");
    }
    Some(found)
}

/// The parts of a requirement.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
}

/// What a key or a value of a label should have been.
fn label_faults(part: Part, text: &str) -> Option<&'static str> {
    match part {
        Part::Key => {
            (!is_qualified_name(text)).then_some("the name of a label, such as example.com/zone")
        }
        Part::Value => (!is_label_value(text)).then_some("the value of a label"),
    }
}

/// A requirement, and where its values stand. `fault` says what a part should have been.
fn requirement<O: Copy>(
    item: Spot<'_>,
    operators: &[(&str, O)],
    fault: impl Fn(Part, &str) -> Option<&'static str>,
    problems: &mut Problems,
) -> Option<(Place, RequirementSpec<O>)> {
    let fields = item.fields(&["key", "operator", "values"], problems)?;
    let checked = |part, spot: Spot<'_>, problems: &mut Problems| {
        let text = spot.text(problems)?;
        if let Some(wanted) = fault(part, text) {
            spot.expected(wanted, problems);
        }
        Some(text.to_owned())
    };
    let key = fields.required("key", problems);
    let key = key.and_then(|spot| checked(Part::Key, spot, problems));
    let operator = fields.required("operator", problems);
    let operator = operator.and_then(|spot| spot.word(operators, problems));
    let items = fields.items("values", problems).into_iter();
    let values = items.filter_map(|item| checked(Part::Value, item, problems)).collect();
    let found = RequirementSpec { key: key?, operator: operator?, values };
    Some((fields.place_at("values"), found))
}
