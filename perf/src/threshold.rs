//! Whether what was measured is what was asked for.

use crate::measure::Outcome;
use crate::metric::Measured;
use crate::workload::{Threshold, Workload};

/// What came of a threshold at one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Met,
    /// Met, though short of what we would like.
    ShortOfGoal,
    Missed,
    /// Nothing was measured, since there was nobody to compare with.
    NotMeasured,
}

/// A verdict with the line that tells of it.
#[derive(Debug)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) text: String,
}

/// Holds a workload's outcomes against its thresholds.
pub(crate) fn judge(workload: &Workload, outcomes: &[Outcome]) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    for spanned in &workload.thresholds {
        let threshold = &spanned.value;
        let place = format!("{}:{}", workload.file, spanned.referenced.line());
        let is_asked = |outcome: &&Outcome| threshold.nodes.is_none_or(|n| n == outcome.nodes);
        for outcome in outcomes.iter().filter(is_asked) {
            let (verdict, found) = verdict(threshold, &outcome.measured);
            let word = match verdict {
                Verdict::Met => "met",
                Verdict::ShortOfGoal => "met, short of its goal",
                Verdict::Missed => "MISSED",
                Verdict::NotMeasured => "not measured",
            };
            let because = match verdict {
                Verdict::Met | Verdict::NotMeasured => "",
                Verdict::ShortOfGoal | Verdict::Missed => threshold.because.trim(),
            };
            let colon = if because.is_empty() { "" } else { ": " };
            let text = format!(
                "{word}: {} at {} nodes: {} is {found}, {} ({place}){colon}{because}",
                workload.name.value,
                outcome.nodes,
                threshold.metric.word(),
                asked(threshold),
            );
            judgements.push(Judgement { verdict, text });
        }
    }
    judgements
}

fn verdict(threshold: &Threshold, measured: &Measured) -> (Verdict, String) {
    let Some(value) = measured.get(&threshold.metric).copied() else {
        return (Verdict::NotMeasured, "unknown".into());
    };
    let is_least = threshold.at_least.is_some();
    // What is not a number reaches nothing.
    let reaches = |limit: f64| if is_least { value >= limit } else { value <= limit };
    let limits = [threshold.at_least, threshold.at_most];
    let verdict = if !limits.into_iter().flatten().all(reaches) {
        Verdict::Missed
    } else if threshold.goal.is_none_or(reaches) {
        Verdict::Met
    } else {
        Verdict::ShortOfGoal
    };
    (verdict, threshold.metric.show(value))
}

fn asked(threshold: &Threshold) -> String {
    let limit = match (threshold.at_least, threshold.at_most) {
        (Some(least), _) => format!("at least {least} is asked"),
        (None, Some(most)) => format!("at most {most} is asked"),
        (None, None) => String::new(),
    };
    match threshold.goal {
        Some(goal) => format!("{limit}, {goal} is the goal"),
        None => limit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;

    fn check(value: Option<f64>, limits: (Option<f64>, Option<f64>), goal: Option<f64>) -> Verdict {
        let threshold = Threshold {
            metric: Metric::RateOverBaseline,
            at_least: limits.0,
            at_most: limits.1,
            goal,
            nodes: None,
            because: "a reason".into(),
        };
        let measured = value.map(|value| (Metric::RateOverBaseline, value));
        verdict(&threshold, &measured.into_iter().collect()).0
    }

    #[test]
    fn values_are_held_against_limits_by_table() {
        let table = [
            (Some(0.9), (Some(0.9), None), None, Verdict::Met),
            (Some(0.89), (Some(0.9), None), None, Verdict::Missed),
            (Some(f64::NAN), (Some(0.9), None), None, Verdict::Missed),
            (Some(0.5), (Some(0.4), None), Some(0.9), Verdict::ShortOfGoal),
            (Some(0.95), (Some(0.4), None), Some(0.9), Verdict::Met),
            (Some(1.2), (None, Some(1.2)), None, Verdict::Met),
            (Some(1.3), (None, Some(1.2)), None, Verdict::Missed),
            (Some(1.1), (None, Some(1.2)), Some(1.0), Verdict::ShortOfGoal),
            (None, (Some(0.9), None), None, Verdict::NotMeasured),
        ];
        for (value, limits, goal, expected) in table {
            assert_eq!(check(value, limits, goal), expected, "{value:?} {limits:?} {goal:?}");
        }
    }
}
