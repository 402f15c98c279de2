//! How results look to the person who reads them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::judge::Answer;
use crate::run::Outcome;

/// Differences printed per case; the first ones tell the story.
const DIFFERENCES_MAX: usize = 12;

/// Width of the left column of [`side_by_side`].
const COLUMN: usize = 68;

/// A disagreement: what differs, and the case in a form that can be committed.
pub fn disagreement(outcome: &Outcome) -> String {
    let case = serde_json::to_string_pretty(&outcome.case).unwrap_or_default();
    format!("{}{case}\n", differing(outcome))
}

/// What differs, one difference after the other.
pub fn differing(outcome: &Outcome) -> String {
    let differences = outcome.differences();
    let mut text = String::new();
    for difference in differences.iter().take(DIFFERENCES_MAX) {
        text += &format!("  {} ({})\n", difference.path, difference.kind);
        text += &format!("    kubenexus:      {}\n", difference.ours);
        text += &format!("    kube-scheduler: {}\n", difference.theirs);
    }
    if differences.len() > DIFFERENCES_MAX {
        text += &format!("  and {} more\n", differences.len() - DIFFERENCES_MAX);
    }
    text
}

/// Both verdicts in two columns, part by part; a part on which they differ is marked.
pub fn side_by_side(outcome: &Outcome) -> String {
    let (ours, theirs) = match (&outcome.ours, &outcome.theirs) {
        (Answer::Verdict(ours), Answer::Verdict(theirs)) => (ours, theirs),
        _ => return differing(outcome),
    };
    let differences = outcome.differences();
    let mut text = format!("   {:COLUMN$}   kube-scheduler\n", "kubenexus");
    for part in parts(ours, theirs) {
        let differs = differences.iter().any(|difference| is_within(&difference.path, &part));
        let mark = if differs { '!' } else { ' ' };
        text += &format!("{mark}  {part}\n");
        text += &columns(at(ours, &part), at(theirs, &part));
    }
    text
}

/// Whether a path leads into a part of the verdict.
fn is_within(path: &str, part: &str) -> bool {
    path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The parts to show: two fields of the verdict, and every node.
fn parts(ours: &Value, theirs: &Value) -> Vec<String> {
    let names = [ours, theirs].into_iter().filter_map(|verdict| verdict["nodes"].as_object());
    let nodes: BTreeSet<String> =
        names.flat_map(|nodes| nodes.keys().map(|name| format!("nodes.{name}"))).collect();
    ["error", "prefilter"].into_iter().map(str::to_owned).chain(nodes).collect()
}

fn at<'a>(verdict: &'a Value, part: &str) -> &'a Value {
    match part.strip_prefix("nodes.") {
        Some(node) => &verdict["nodes"][node],
        None => &verdict[part],
    }
}

fn columns(left: &Value, right: &Value) -> String {
    let lines = |value: &Value| -> Vec<String> {
        let text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let (left, right) = (lines(left), lines(right));
    let mut text = String::new();
    for row in 0..left.len().max(right.len()) {
        let cell = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
        text += &format!("     {:COLUMN$} | {}\n", cell(&left), cell(&right));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{disagreement, side_by_side};
    use crate::judge::Answer;
    use crate::run::Outcome;

    fn outcome(total: u64) -> Outcome {
        let verdict = |total: u64| -> Value {
            let node = json!({"feasible": true, "scores": {}, "total": total});
            json!({"id": "x", "error": null, "prefilter": null, "nodes": {"n1": node}})
        };
        Outcome {
            case: json!({"id": "x", "pod": {}}),
            ours: Answer::Verdict(verdict(total)),
            theirs: Answer::Verdict(verdict(7)),
        }
    }

    #[test]
    fn disagreement_shows_both_values_and_the_case() {
        let text = disagreement(&outcome(3));
        assert!(text.contains("nodes.n1.total (total)\n    kubenexus:      3\n"), "{text}");
        assert!(text.contains("kube-scheduler: 7\n"), "{text}");
        assert!(text.contains("\"id\": \"x\""), "{text}");
    }

    #[test]
    fn only_parts_that_differ_are_marked() {
        assert!(side_by_side(&outcome(3)).contains("!  nodes.n1\n"));
        assert!(!side_by_side(&outcome(7)).contains('!'));
    }

    #[test]
    fn process_that_died_is_a_disagreement() {
        let outcome = Outcome { ours: Answer::Broken("ended".to_owned()), ..outcome(7) };
        let text = disagreement(&outcome);
        assert!(text.contains("(broken)\n    kubenexus:      \"ended\"\n"), "{text}");
    }
}
