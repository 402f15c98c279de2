//! Measures a workload at its sizes: repeated runs, each beside its baseline.

use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};

use crate::memory;
use crate::metric::{Measured, Metric, median};
use crate::peer::Peer;
use crate::run::{Sample, Stock, run};
use crate::workload::{Size, Workload};

/// How to measure.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// One run of the quick size: shows that a workload runs.
    pub(crate) is_quick: bool,
    /// Only sizes with this many nodes.
    pub(crate) nodes: Option<usize>,
    pub(crate) peer: Option<Peer>,
}

/// A size, and what was measured at it.
pub(crate) struct Outcome {
    pub(crate) nodes: usize,
    pub(crate) measured: Measured,
}

/// Measures every size; `show` is told of each when it is done.
pub(crate) fn measure(
    workload: &Workload,
    options: &Options,
    mut show: impl FnMut(&Outcome),
) -> Result<Vec<Outcome>> {
    let sizes = workload.sizes.iter().map(|size| &size.value);
    let sizes: Vec<&Size> = match options.is_quick {
        true => vec![&workload.quick.value],
        false => sizes.filter(|size| options.nodes.is_none_or(|n| size["nodes"] == n)).collect(),
    };
    let mut outcomes: Vec<Outcome> = Vec::new();
    for size in sizes {
        let mut measured = measure_size(workload, size, options)
            .with_context(|| format!("{} at {} nodes", workload.file, size["nodes"]))?;
        if workload.sizes.len() > 1 && options.nodes.is_none() {
            let first = outcomes.first().map_or(&measured, |outcome| &outcome.measured);
            let cost = measured[&Metric::UsPerPod] / first[&Metric::UsPerPod];
            measured.insert(Metric::CostOverFirstSize, cost);
        }
        let outcome = Outcome { nodes: size["nodes"], measured };
        show(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn measure_size(workload: &Workload, size: &Size, options: &Options) -> Result<Measured> {
    let runs = if options.is_quick { 1 } else { workload.runs };
    let bar = progress(workload, size, runs);
    let stock = Stock::new(workload, size)?;
    let baseline = workload.baseline_of(size);
    let baseline_stock = baseline.as_ref().map(|size| Stock::new(workload, size)).transpose()?;
    let mut samples = Vec::new();
    for at in 0..runs {
        let ours = || run(workload, size, Some(&stock));
        let theirs = || {
            let baseline = baseline.as_ref().zip(baseline_stock.as_ref());
            baseline.map(|(size, stock)| run(workload, size, Some(stock))).transpose()
        };
        // In turns, so that a machine that gets slower or faster does not favour one of them.
        let (ours, theirs) = if at % 2 == 0 {
            let ours = ours()?;
            (ours, theirs()?)
        } else {
            let theirs = theirs()?;
            (ours()?, theirs)
        };
        samples.push((Figures::of(ours), theirs.map(Figures::of)));
        bar.inc(1);
    }
    drop((stock, baseline_stock));
    let mut measured = summary(workload, &samples);
    if !options.is_quick {
        bar.set_message("memory");
        memory::measure(workload, size, &mut measured)?;
        if let Some(peer) = options.peer.as_ref().filter(|_| workload.peer) {
            bar.set_message("kube-scheduler");
            let by_clock = median(samples.iter().map(|(ours, _)| ours.rate_by_clock));
            peer.measure(workload, size, by_clock, &mut measured)?;
        }
    }
    bar.finish_and_clear();
    Ok(measured)
}

/// What is kept of a run.
struct Figures {
    sample: Sample,
    rate: f64,
    rate_by_clock: f64,
    p50: f64,
    p99: f64,
    core_p99: Option<f64>,
}

impl Figures {
    fn of(mut sample: Sample) -> Self {
        let gaps = &mut sample.gaps;
        let (p50, p99) = (gap(gaps, 50).unwrap_or(0.0), gap(gaps, 99).unwrap_or(0.0));
        let core_p99 = gap(&mut sample.core_gaps, 99);
        (sample.gaps, sample.core_gaps) = (Vec::new(), Vec::new());
        let rate = per_second(sample.pods, sample.taken.on_core);
        let rate_by_clock = per_second(sample.pods, sample.taken.by_clock);
        Self { rate, rate_by_clock, p50, p99, core_p99, sample }
    }
}

/// The time in microseconds that so many of a hundred gaps do not exceed.
fn gap(gaps: &mut [u32], share: usize) -> Option<f64> {
    gaps.sort_unstable();
    let at = (gaps.len() * share / 100).min(gaps.len().saturating_sub(1));
    gaps.get(at).map(|gap| f64::from(*gap) / 1000.0)
}

fn per_second(count: usize, taken: Duration) -> f64 {
    count as f64 / taken.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Medians over all runs.
fn summary(workload: &Workload, samples: &[(Figures, Option<Figures>)]) -> Measured {
    let of = |value: &dyn Fn(&Figures) -> f64| median(samples.iter().map(|(ours, _)| value(ours)));
    let ratio = |value: &dyn Fn(&Figures) -> f64| {
        let pairs = samples.iter().filter_map(|(ours, theirs)| Some((ours, theirs.as_ref()?)));
        median(pairs.map(|(ours, theirs)| value(ours) / value(theirs)))
    };
    let decisions = |f: &Figures| per_second(f.sample.decisions, f.sample.taken.on_core);
    let rate = of(&|figures| figures.rate);
    let mut measured =
        Measured::from([(Metric::PodsPerSecond, rate), (Metric::UsPerPod, 1e6 / rate)]);
    if workload.is_restart() {
        measured.insert(Metric::Seconds, of(&|f| f.sample.taken.on_core.as_secs_f64()));
        let over = |f: &Figures| {
            f.sample.taken.on_core.as_secs_f64() / f.sample.bare_read.on_core.as_secs_f64()
        };
        measured.insert(Metric::OverBareRead, of(&over));
    } else {
        measured.insert(Metric::DecisionsPerSecond, of(&decisions));
        measured.insert(Metric::UsP50, of(&|f| f.p50));
        measured.insert(Metric::UsP99, of(&|f| f.p99));
        if workload.asks_for(Metric::CoreUsP99) {
            measured.insert(Metric::CoreUsP99, of(&|f| f.core_p99.unwrap_or(f64::NAN)));
        }
        if workload.asks_for(Metric::LongestMs) {
            let longest = of(&|f| f.sample.longest.as_secs_f64() * 1e3);
            measured.insert(Metric::LongestMs, longest);
        }
        let retries = |f: &Figures| f.sample.retries as f64 / f.sample.pods.max(1) as f64;
        measured.insert(Metric::RetriesPerPod, of(&retries));
        let tries = |f: &Figures| f.sample.retried as f64 / f.sample.cured as f64;
        if samples.iter().all(|(ours, _)| ours.sample.cured > 0) {
            measured.insert(Metric::TriesPerCure, of(&tries));
        }
    }
    if workload.baseline.is_some() {
        measured.insert(Metric::RateOverBaseline, ratio(&|f| f.rate));
        if !workload.is_restart() {
            measured.insert(Metric::P99OverBaseline, ratio(&|f| f.p99));
            measured.insert(Metric::DecisionsOverBaseline, ratio(&decisions));
        }
    }
    measured
}

fn progress(workload: &Workload, size: &Size, runs: usize) -> ProgressBar {
    let bar = ProgressBar::new(runs as u64);
    let style = ProgressStyle::with_template("{prefix} {bar:20} {pos}/{len} {msg}");
    bar.set_style(style.expect("the template has no mistake"));
    bar.set_prefix(format!("{}, {} nodes", workload.name.value, size["nodes"]));
    bar.set_message("runs");
    bar.tick();
    bar
}
