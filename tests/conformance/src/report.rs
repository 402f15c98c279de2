//! What the suite says about its specs, and whether that is as expected.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::expected::Expected;

/// How much of a failure is shown; all of it is in the log of the suite.
const MESSAGE_CHARS_MAX: usize = 400;

/// A spec that was run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spec {
    /// What describes it, from the outermost container to the spec itself.
    pub(crate) name: String,
    pub(crate) seconds: f64,
    /// Why it did not pass; none if it did. A spec that skips itself did not pass.
    pub(crate) failure: Option<String>,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// For people: a line for each spec, and what was unexpected.
    pub(crate) text: String,
    pub(crate) is_as_expected: bool,
}

/// A report as ginkgo writes it; only what is read here.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    #[serde(default)]
    spec_reports: Option<Vec<SpecReport>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SpecReport {
    #[serde(default)]
    container_hierarchy_texts: Option<Vec<String>>,
    leaf_node_type: String,
    #[serde(default)]
    leaf_node_text: String,
    state: String,
    /// In nanoseconds.
    #[serde(default)]
    run_time: f64,
    #[serde(default)]
    failure: Failure,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Failure {
    #[serde(default)]
    message: String,
}

/// Reads the specs that were run, by name.
pub(crate) fn read(file: &Path) -> Result<Vec<Spec>> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("reading {}: the suite wrote no report", file.display()))?;
    parse(&text).with_context(|| format!("parsing {}", file.display()))
}

fn parse(text: &str) -> Result<Vec<Spec>> {
    let reports: Vec<Report> = serde_json::from_str(text)?;
    let reports = reports.into_iter().flat_map(|report| report.spec_reports.unwrap_or_default());
    let mut specs: Vec<_> = reports.filter_map(spec).collect();
    specs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(specs)
}

/// What was run of a report: not what the focus leaves out, which is skipped without a message, and
/// of what stands around the specs only what failed.
fn spec(report: SpecReport) -> Option<Spec> {
    let SpecReport { container_hierarchy_texts, leaf_node_text, state, run_time, .. } = report;
    let message = report.failure.message;
    let has_passed = state == "passed";
    let is_left_out = state == "pending" || (state == "skipped" && message.is_empty());
    let is_spec = report.leaf_node_type == "It";
    if is_left_out || (!is_spec && has_passed) {
        return None;
    }
    let mut texts = container_hierarchy_texts.unwrap_or_default();
    texts.push(if is_spec { leaf_node_text } else { report.leaf_node_type });
    let message: String = message.trim().chars().take(MESSAGE_CHARS_MAX).collect();
    Some(Spec {
        name: texts.join(" "),
        seconds: run_time / 1e9,
        failure: (!has_passed).then(|| format!("{state}: {message}")),
    })
}

/// Compares what was run with what is expected. A run of a part need not contain what is expected
/// to fail.
pub(crate) fn judge(specs: &[Spec], expected: &Expected, is_part: bool) -> Verdict {
    let mut text = String::new();
    let (mut passed, mut known, mut unexpected) = (0, 0, Vec::new());
    for Spec { name, seconds, failure } in specs {
        let word = match (failure, expected.contains(name)) {
            (None, false) => {
                passed += 1;
                "passed"
            }
            (Some(_), true) => {
                known += 1;
                "failed, as expected"
            }
            (Some(failure), false) => {
                unexpected.push(format!("{name}\n    {}", failure.replace('\n', "\n    ")));
                "FAILED"
            }
            (None, true) => {
                unexpected.push(format!("{name}\n    passed: take it off the expected failures"));
                "PASSED, but was expected to fail"
            }
        };
        let _ = writeln!(text, "{seconds:>6.1} s  {word:<20} {name}");
    }
    let seen: BTreeSet<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    for name in expected.names().filter(|name| !is_part && !seen.contains(name)) {
        unexpected.push(format!("{name}\n    is expected to fail, but there is no such spec"));
    }
    let count = specs.len();
    let _ = writeln!(
        text,
        "{count} specs: {passed} passed, {known} failed as expected, {} unexpected",
        unexpected.len()
    );
    for line in &unexpected {
        let _ = writeln!(text, "unexpected: {line}");
    }
    Verdict { text, is_as_expected: unexpected.is_empty() }
}

/// How many specs have ended, by the log of a suite that runs.
pub(crate) fn count_done(log: &str) -> usize {
    log.lines().filter(|line| line.starts_with("• [")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"[{"SpecReports": [
        {"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed",
         "ContainerHierarchyTexts": null},
        {"LeafNodeType": "It", "LeafNodeText": "binds", "State": "passed", "RunTime": 1500000000,
         "ContainerHierarchyTexts": ["[sig-scheduling] B"]},
        {"LeafNodeType": "It", "LeafNodeText": "evicts", "State": "failed", "RunTime": 2000000000,
         "ContainerHierarchyTexts": ["[sig-scheduling] A", "path"],
         "Failure": {"Message": "Timed out after 60s."}},
        {"LeafNodeType": "It", "LeafNodeText": "spreads", "State": "skipped",
         "ContainerHierarchyTexts": ["[sig-scheduling] A"], "Failure": {"Message": "one zone"}},
        {"LeafNodeType": "It", "LeafNodeText": "mounts", "State": "skipped",
         "ContainerHierarchyTexts": ["[sig-storage] A"], "Failure": {}}
    ]}]"#;

    fn judged(expected: &str, is_part: bool) -> (String, bool) {
        let verdict = judge(&parse(REPORT).unwrap(), &Expected::parse(expected), is_part);
        let last = verdict.text.lines().find(|line| line.contains(" specs: ")).unwrap().to_owned();
        (last, verdict.is_as_expected)
    }

    #[test]
    fn specs_that_were_run_are_read_and_others_are_not() {
        let specs = parse(REPORT).unwrap();
        let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let expected = [
            "[sig-scheduling] A path evicts",
            "[sig-scheduling] A spreads",
            "[sig-scheduling] B binds",
        ];
        assert_eq!(names, expected);
        assert_eq!(specs[0].failure.as_deref(), Some("failed: Timed out after 60s."));
        assert_eq!(specs[1].failure.as_deref(), Some("skipped: one zone"));
        assert_eq!((specs[2].failure.as_deref(), specs[2].seconds), (None, 1.5));
    }

    #[test]
    fn a_set_up_that_fails_is_a_failure() {
        let text = r#"[{"SpecReports": [{"LeafNodeType": "SynchronizedBeforeSuite",
            "State": "failed", "Failure": {"Message": "no nodes"}}]}]"#;
        let specs = parse(text).unwrap();
        assert_eq!(specs[0].name, "SynchronizedBeforeSuite");
        assert_eq!(specs[0].failure.as_deref(), Some("failed: no nodes"));
    }

    #[test]
    fn only_what_is_listed_may_fail_and_it_must() {
        let both = "# no eviction\n[sig-scheduling] A path evicts\n[sig-scheduling] A spreads\n";
        let counts = "3 specs: 1 passed, 2 failed as expected, 0 unexpected";
        assert_eq!(judged(both, false), (counts.into(), true));

        let one = "[sig-scheduling] A spreads";
        let counts = "3 specs: 1 passed, 1 failed as expected, 1 unexpected";
        assert_eq!(judged(one, false), (counts.into(), false));

        let passes = format!("{both}[sig-scheduling] B binds");
        let counts = "3 specs: 0 passed, 2 failed as expected, 1 unexpected";
        assert_eq!(judged(&passes, false), (counts.into(), false));
    }

    #[test]
    fn a_listed_name_that_no_spec_has_is_noticed_unless_a_part_is_run() {
        let gone = "[sig-scheduling] A path evicts\n[sig-scheduling] A spreads\nrenamed";
        assert!(!judged(gone, false).1);
        assert!(judged(gone, true).1);
    }

    #[test]
    fn specs_that_ended_are_counted_in_the_log() {
        assert_eq!(count_done("a\n• [5.2 seconds]\n• [FAILED] [60.0 seconds]\n  • [x\n"), 2);
    }
}
