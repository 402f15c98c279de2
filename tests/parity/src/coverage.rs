//! What the cases of a run exercised, counted from kube-scheduler's verdicts. A parity run that
//! never met a reason proves nothing about it, so the counts are printed with the result.

mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};

use serde_json::Value;

/// Counts over the verdicts that were added.
#[derive(Debug, Default)]
pub struct Coverage {
    cases: u64,
    errors: u64,
    crashes: u64,
    mixed: u64,
    tied: u64,
    spread_by_default: u64,
    prefilter: BTreeMap<String, u64>,
    preemption: BTreeMap<String, u64>,
    reasons: BTreeMap<String, u64>,
    scores: BTreeMap<String, u64>,
    volumes: volumes::Volumes,
}

impl Coverage {
    /// Counts one verdict.
    pub fn add(&mut self, case: &Value, verdict: &Value) {
        self.cases += 1;
        self.volumes.add(case, verdict);
        if !verdict["error"].is_null() {
            self.crashes += u64::from(crate::compare::is_crash(verdict));
            self.errors += 1;
            return;
        }
        if !verdict["prefilter"].is_null() {
            count(&mut self.prefilter, texts(&verdict["prefilter"]));
        }
        count(&mut self.preemption, candidates(&verdict["preemption"]));
        let Some(nodes) = verdict["nodes"].as_object() else { return };
        let feasible: Vec<&Value> =
            nodes.values().filter(|node| node["feasible"] == true).collect();
        let totals: BTreeSet<Option<i64>> =
            feasible.iter().map(|node| node["total"].as_i64()).collect();
        let is_split = !feasible.is_empty() && feasible.len() < nodes.len();
        self.mixed += u64::from(is_split || totals.len() > 1);
        self.tied += u64::from(crate::compare::winners(verdict).len() > 1);
        let has_say = |node: &Value| {
            let is_scored = node["scores"].get("PodTopologySpread").is_some();
            is_scored || node["plugin"] == "PodTopologySpread"
        };
        let is_default = case["pod"]["spec"]["topologySpreadConstraints"].is_null();
        self.spread_by_default += u64::from(is_default && nodes.values().any(has_say));
        count(&mut self.reasons, nodes.values().flat_map(texts).collect());
        let scored = feasible.iter().filter_map(|node| node["scores"].as_object()).flatten();
        let scored = scored.filter(|(_, score)| score.as_i64() != Some(0));
        count(&mut self.scores, scored.map(|(plugin, _)| plugin.clone()).collect());
    }

    /// Adds what another part of the run counted.
    pub fn merge(&mut self, other: Coverage) {
        self.cases += other.cases;
        self.errors += other.errors;
        self.crashes += other.crashes;
        self.mixed += other.mixed;
        self.tied += other.tied;
        self.spread_by_default += other.spread_by_default;
        self.volumes.merge(other.volumes);
        for (mine, theirs) in [
            (&mut self.prefilter, other.prefilter),
            (&mut self.preemption, other.preemption),
            (&mut self.reasons, other.reasons),
            (&mut self.scores, other.scores),
        ] {
            for (text, cases) in theirs {
                *mine.entry(text).or_default() += cases;
            }
        }
    }

    /// What cases about volumes should have met and did not; nothing if there were only a few.
    pub fn missing(&self) -> Vec<&'static str> {
        self.volumes.missing()
    }

    fn percent(&self, cases: u64) -> f64 {
        100.0 * cases as f64 / self.cases.max(1) as f64
    }
}

/// The texts of a rejection, each with the plugin that said it.
fn texts(rejection: &Value) -> BTreeSet<String> {
    let of_volumes = volumes::facts(rejection);
    if !of_volumes.is_empty() {
        return of_volumes;
    }
    let plugin = rejection["plugin"].as_str().unwrap_or_default();
    let reasons = rejection["reasons"].as_array().into_iter().flatten();
    reasons
        .filter_map(Value::as_str)
        .map(|reason| format!("{plugin}: {}", general(reason)))
        .collect()
}

/// A reason without the taint that it quotes, of which there are too many to list.
fn general(reason: &str) -> &str {
    reason.split_once(" {").map_or(reason, |(start, _)| start)
}

/// What is remarkable about the candidates of a preemption.
fn candidates(preemption: &Value) -> BTreeSet<String> {
    let Some(candidates) = preemption["candidates"].as_object() else { return BTreeSet::new() };
    let victims = |candidate: &Value| candidate["victims"].as_array().map_or(0, Vec::len);
    let is_violating = |candidate: &&Value| candidate["pdbViolations"] != 0;
    let violating = candidates.values().filter(is_violating).count();
    let facts = [
        (true, "some candidate"),
        (candidates.len() > 1, "several candidates"),
        (candidates.values().any(|candidate| victims(candidate) > 1), "several victims"),
        (violating > 0, "a budget is violated"),
        (violating > 0 && violating < candidates.len(), "a budget is violated on some nodes"),
    ];
    facts.into_iter().filter(|(is_met, _)| *is_met).map(|(_, text)| text.into()).collect()
}

fn count(counts: &mut BTreeMap<String, u64>, seen: BTreeSet<String>) {
    for text in seen {
        *counts.entry(text).or_default() += 1;
    }
}

impl Display for Coverage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shares = [
            ("nodes differ in feasibility or total", self.mixed),
            ("several winners", self.tied),
            ("spread by default", self.spread_by_default),
            ("rejected before any node", self.prefilter.values().sum()),
            ("error", self.errors),
            ("kube-scheduler crashes, not compared", self.crashes),
        ];
        writeln!(out, "What {} cases met:", self.cases)?;
        for (text, cases) in shares {
            writeln!(out, "  {cases:>8}  {:>5.1}%  {text}", self.percent(cases))?;
        }
        for (title, counts) in [
            ("Rejections before any node", &self.prefilter),
            ("Preemption", &self.preemption),
            ("Reasons of nodes", &self.reasons),
            ("Scores above zero", &self.scores),
        ] {
            writeln!(out, "{title}:")?;
            for (text, cases) in counts {
                writeln!(out, "  {cases:>8}  {:>5.1}%  {text}", self.percent(*cases))?;
            }
        }
        let (volume_cases, met) = self.volumes.counts();
        if volume_cases > 0 {
            writeln!(out, "What {volume_cases} cases about volumes met:")?;
        }
        for (text, cases) in met {
            let percent = 100.0 * *cases as f64 / volume_cases as f64;
            writeln!(out, "  {cases:>8}  {percent:>5.1}%  {text}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Coverage;

    #[test]
    fn counts_cases_not_nodes() {
        let no = json!({"feasible": false, "plugin": "P", "reasons": ["full"]});
        let yes = json!({"feasible": true, "scores": {"S": 3, "Z": 0}, "total": 3});
        let mut coverage = Coverage::default();
        let case = json!({"pod": {"spec": {}}});
        coverage.add(&case, &json!({"error": null, "nodes": {"a": no, "b": no, "c": yes}}));
        let mut other = Coverage::default();
        other.add(&case, &json!({"error": "unreadable"}));
        coverage.merge(other);
        let text = coverage.to_string();
        assert!(text.contains("What 2 cases met"), "{text}");
        assert!(text.contains("1   50.0%  P: full"), "{text}");
        assert!(text.contains("1   50.0%  S\n"), "{text}");
        assert!(text.contains("1   50.0%  error"), "{text}");
        assert!(!text.contains("  Z"), "{text}");
    }

    #[test]
    fn only_pods_without_constraints_are_spread_by_default() {
        let no = json!({"feasible": false, "plugin": "PodTopologySpread", "reasons": ["skew"]});
        let yes = json!({"feasible": true, "scores": {"PodTopologySpread": 0}, "total": 0});
        let mut coverage = Coverage::default();
        for (constraints, node) in [(json!(null), &no), (json!(null), &yes), (json!([{}]), &yes)] {
            let case = json!({"pod": {"spec": {"topologySpreadConstraints": constraints}}});
            coverage.add(&case, &json!({"error": null, "nodes": {"a": node, "b": node}}));
        }
        let text = coverage.to_string();
        assert!(text.contains("2   66.7%  spread by default"), "{text}");
    }
}
