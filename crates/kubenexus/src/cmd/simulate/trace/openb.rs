//! The openb trace: how much of the GPUs is allocated, by policy and seed.

mod departures;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, bail};
use clap::ValueEnum;
use indicatif::ProgressBar;
use serde::Serialize;
use sim::trace::openb::{self, Baseline, Demand, Misplaced, Policy, Trace};

use super::{TraceArgs, seeds, text_of};
use crate::cmd::out;
use crate::cmd::table::{Align, Table, grouped};
pub(super) use departures::load;

/// The seeds of the published results.
const SEEDS: &str = "42..51";

/// Pods arrive until they ask for this percentage of all GPUs.
const ARRIVALS: u32 = 130;

/// Who places the pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PolicyName {
    /// The scheduler as it is shipped
    Kubenexus,
    /// Fragmentation gradient descent, as published
    Fgd,
    /// The node with least left
    Bestfit,
    /// Any node that fits
    Random,
}

impl PolicyName {
    fn name(self) -> &'static str {
        match self {
            Self::Kubenexus => "kubenexus",
            Self::Fgd => "fgd",
            Self::Bestfit => "bestfit",
            Self::Random => "random",
        }
    }

    fn policy(self, demand: Option<DemandName>) -> anyhow::Result<Policy> {
        let baseline = match self {
            Self::Fgd => Baseline::Fgd,
            Self::Bestfit => Baseline::BestFit,
            Self::Random => Baseline::Random,
            Self::Kubenexus => return Ok(Policy::Kubenexus(known(demand))),
        };
        match demand {
            Some(_) => bail!("--demand: only --policy kubenexus has it"),
            None => Ok(Policy::Published(baseline)),
        }
    }
}

/// What the scheduler knows of the pods that are yet to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DemandName {
    /// All of them, before the first arrives
    Known,
    /// What it learns from those that came
    Learnt,
}

/// The demand that is asked for.
fn known(name: Option<DemandName>) -> Demand {
    match name {
        None | Some(DemandName::Learnt) => Demand::Learnt,
        Some(DemandName::Known) => Demand::Known,
    }
}

/// The result, for machines.
#[derive(Serialize)]
struct Output {
    policy: &'static str,
    seeds: BTreeMap<u64, SeedOutput>,
    mean: Vec<f64>,
}

#[derive(Serialize)]
struct SeedOutput {
    allocation: Vec<f64>,
}

/// Runs all seeds and prints their allocation.
pub(super) fn run(args: &TraceArgs, seeds: Option<&str>, json: bool) -> anyhow::Result<()> {
    let name = args.policy.unwrap_or(PolicyName::Kubenexus);
    let policy = name.policy(args.demand)?;
    let seeds = seeds::parse(seeds.unwrap_or(SEEDS))?;
    let (nodes_name, nodes) = text_of(args.nodes.as_deref())?;
    let (pods_name, pods) = text_of(args.pods.as_deref())?;
    let trace = openb::read((&nodes_name, &nodes), (&pods_name, &pods))?;
    if args.departures {
        let text = departures::run(&trace, (name, policy), &seeds, args.load, json)?;
        return out::print(format_args!("{text}"));
    }
    let arrivals = args.arrivals.unwrap_or(ARRIVALS);
    let allocations = all(&seeds, |seed| trace.allocation(policy, seed, arrivals))?;
    let mean = openb::mean(&allocations);
    let allocations = allocations.into_iter().map(|allocation| SeedOutput { allocation });
    let seeds = seeds.into_iter().zip(allocations).collect();
    let output = Output { policy: name.name(), seeds, mean };
    let text = if json { serde_json::to_string(&output)? + "\n" } else { text(&trace, &output) };
    out::print(format_args!("{text}"))
}

/// What comes of every seed, in their order. Each core takes the next seed when it is done.
fn all<T: Send>(
    seeds: &[u64],
    run: impl Fn(u64) -> Result<T, Misplaced> + Sync,
) -> anyhow::Result<Vec<T>> {
    let bar = if std::io::stderr().is_terminal() {
        ProgressBar::new(seeds.len() as u64)
    } else {
        ProgressBar::hidden()
    };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = run(*seed);
            done.lock().expect("no thread has panicked").insert(*seed, result);
            bar.inc(1);
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores.min(seeds.len()) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let done = done.into_inner().expect("no thread has panicked");
    let named = |(seed, result): (u64, Result<T, Misplaced>)| {
        result.with_context(|| format!("the scheduler broke a rule with seed {seed}"))
    };
    done.into_iter().map(named).collect()
}

/// Every tenth arrival percentage, then every seed at 100 % and at the end.
fn text(trace: &Trace, output: &Output) -> String {
    let (nodes, gpus, pods) = trace.counts();
    let end = output.mean.len() - 1;
    let head = format!(
        "openb, policy {}: {} nodes, {} GPUs, {} pods in the trace, {} seeds\n",
        output.policy,
        grouped(nodes as u64),
        grouped(gpus),
        grouped(pods as u64),
        output.seeds.len(),
    );
    let number = |percent: &f64| format!("{percent:.2}");
    let mut steps = Table::new(&[("arrived %", Align::Right), ("allocated %", Align::Right)]);
    for (at, mean) in output.mean.iter().enumerate() {
        if at.is_multiple_of(10) || at == end {
            steps.row([at.to_string(), number(mean)]);
        }
    }
    let whole = end.min(100);
    let columns = ["seed", "at 100 % arrived", "at the end"].map(|head| (head, Align::Right));
    let mut seeds = Table::new(&columns);
    let mut row = |name: String, allocation: &[f64]| {
        seeds.row([name, number(&allocation[whole]), number(&allocation[end])]);
    };
    for (seed, SeedOutput { allocation }) in &output.seeds {
        row(seed.to_string(), allocation);
    }
    row("mean".to_owned(), &output.mean);
    seeds.last_is_total();
    [
        head,
        format!("Allocated GPUs, in percent of all, mean of the seeds\n{}", steps.text()),
        format!("Allocated GPUs by seed\n{}", seeds.text()),
    ]
    .join("\n")
}
