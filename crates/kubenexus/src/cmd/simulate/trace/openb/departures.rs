//! Pods that come and leave: how much of all GPU time is allocated, and how long pods wait.

use std::collections::BTreeMap;

use serde::Serialize;
use sim::trace::openb::departures::Outcome;
use sim::trace::openb::{Policy, Trace};

use super::{PolicyName, all};
use crate::cmd::table::{Align, Table, grouped, span};

/// So much GPU time arrives, in thousandths of what there is.
const LOAD_PERMILLE: u64 = 1200;

/// The least and the most that can be asked for, in thousandths.
const LOADS_PERMILLE: std::ops::RangeInclusive<u64> = 10..=100_000;

/// The result, for machines.
#[derive(Serialize)]
struct Output {
    policy: &'static str,
    load: f64,
    pods: usize,
    horizon_ms: u64,
    seeds: BTreeMap<u64, Outcome>,
    mean: Outcome,
}

/// A load as it is written on the command line, in thousandths.
pub(in crate::cmd::simulate::trace) fn load(text: &str) -> Result<u64, String> {
    let permille = text.parse::<f64>().ok().map(|load| (load * 1000.0).round());
    let (least, most) = LOADS_PERMILLE.into_inner();
    let permille = permille.filter(|load| (least as f64..=most as f64).contains(load));
    permille.map(|load| load as u64).ok_or_else(|| {
        format!("expected a number from {} to {}", least as f64 / 1000.0, most / 1000)
    })
}

/// Runs all seeds, or one if the policy draws nothing, and tells what came of it.
pub(super) fn run(
    trace: &Trace,
    (name, policy): (PolicyName, Policy),
    seeds: &[u64],
    load: Option<u64>,
    json: bool,
) -> anyhow::Result<String> {
    let load = load.unwrap_or(LOAD_PERMILLE);
    let schedule = trace.schedule(load)?;
    let seeds = if policy.draws() { seeds } else { &seeds[..1] };
    let outcomes = all(seeds, |seed| trace.outcome(&schedule, policy, seed))?;
    let output = Output {
        policy: name.name(),
        load: load as f64 / 1000.0,
        pods: schedule.pods(),
        horizon_ms: schedule.horizon().0,
        mean: Outcome::mean(&outcomes),
        seeds: seeds.iter().copied().zip(outcomes).collect(),
    };
    Ok(if json { serde_json::to_string(&output)? + "\n" } else { text(trace, &output) })
}

fn text(trace: &Trace, output: &Output) -> String {
    let (nodes, gpus, _) = trace.counts();
    let head = format!(
        "openb with departures, policy {}, load {}: {} nodes, {} GPUs, {} pods over {}\n",
        output.policy,
        output.load,
        grouped(nodes as u64),
        grouped(gpus),
        grouped(output.pods as u64),
        span(output.horizon_ms),
    );
    let columns = ["seed", "allocated %", "started", "mean wait", "p99 wait"];
    let mut table = Table::new(&columns.map(|head| (head, Align::Right)));
    let mut row = |name: String, outcome: &Outcome| {
        table.row([
            name,
            format!("{:.2}", outcome.allocated),
            grouped(outcome.started.round() as u64),
            span(outcome.wait_mean_ms.round() as u64),
            span(outcome.wait_p99_ms.round() as u64),
        ]);
    };
    for (seed, outcome) in &output.seeds {
        row(seed.to_string(), outcome);
    }
    row("mean".to_owned(), &output.mean);
    table.last_is_total();
    let title = "GPU time that was allocated until the last arrival, in percent of all";
    [head, format!("{title}\n{}", table.text())].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_by_table() {
        let refusal = || Err("expected a number from 0.01 to 100".to_owned());
        let table = [
            ("1.2", Ok(1200)),
            ("1", Ok(1000)),
            ("0.01", Ok(10)),
            ("100", Ok(100_000)),
            ("0", refusal()),
            ("101", refusal()),
            ("-1", refusal()),
            ("NaN", refusal()),
            ("much", refusal()),
        ];
        for (text, expected) in table {
            assert_eq!(load(text), expected, "{text}");
        }
    }
}
