//! `kubenexus simulate --swarm`: many seeds, each a world of its own.

mod crash;
mod only;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use sim::Happened;
use sim::swarm::{self, Case, Failure, Passed};

use crate::cmd::out;
use only::OnlyArgs;

/// How many seeds are run if nothing is said.
const SEEDS: &str = "100";
/// Seeds that run at the same time.
const THREADS: usize = 2;
/// One seed of so many is run twice, and must decide the same.
const TWICE_EVERY: u64 = 10;
/// How often a failing case is run, at most, to make it smaller.
const SHRINK_RUNS: usize = 400;

/// Which seeds.
#[derive(clap::Args)]
#[command(next_help_heading = "Swarm")]
pub(crate) struct SwarmArgs {
    /// Draw worlds with faults from seeds, and check every step
    ///
    /// Each seed draws a small cluster, a workload and faults: slow, refused and lost requests,
    /// late and cut watches, lost leaders, nodes that change and die, a second scheduler. One seed
    /// in four adds shapes that are rare, one in a hundred adds one of them in a large size: trees
    /// of gangs, gangs of thousands, pods that fit nowhere, chains, names that are used once, many
    /// namespaces. Their nodes and jobs have the numbers after all others. The scheduler that runs
    /// in it is the real one. After every step all rules are checked; in the
    /// end faults are switched off, and what fits must be placed and the rest must say why.
    ///
    /// A failing seed is made smaller, and the command that repeats it is printed. The exit code
    /// is 20 for a crash, 21 for a broken rule and 22 when something is stuck.
    #[arg(long)]
    swarm: bool,
    /// The first of the seeds [default: 1]
    #[arg(long, value_name = "SEED", requires = "swarm", conflicts_with = "seed")]
    first: Option<u64>,
    /// Run this seed alone, and say what it consists of
    #[arg(long, value_name = "SEED", requires = "swarm", conflicts_with = "seeds")]
    seed: Option<u64>,
    #[command(flatten)]
    only: OnlyArgs,
    /// Panic in the middle of it, to show what a crash looks like
    #[arg(long, hide = true, requires = "swarm")]
    crash: bool,
}

impl SwarmArgs {
    /// Whether a swarm is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.swarm
    }
}

/// Runs the swarm: one seed, or `seeds` of them.
pub(crate) fn run(args: &SwarmArgs, seeds: Option<&str>) -> anyhow::Result<ExitCode> {
    crash::watch();
    let Some(seed) = args.seed else {
        let count = seeds.unwrap_or(SEEDS);
        let count = count.parse().map_err(|_| anyhow!("--seeds {count}: not a number of seeds"))?;
        return run_many(args.first.unwrap_or(1), count, args.crash);
    };
    let case = Case { seed, only: args.only.parse()? };
    if args.only.is_shrunk() {
        return shrink_apart(&case);
    }
    out::print(format_args!("seed {seed}: {}", case.describe()))?;
    crash::note(&case);
    assert!(!args.crash, "this crash was asked for");
    match swarm::run_twice(&case) {
        Ok(passed) => {
            out::print(format_args!("decisions: {:016x}\n", passed.hash))?;
            summarise(&[passed])?;
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => {
            out::finish(tell(&case, &failure), ExitCode::from(failure.kind.exit_code()))
        }
    }
}

fn run_many(first: u64, seeds: u64, crash: bool) -> anyhow::Result<ExitCode> {
    let start = Instant::now();
    let bar = if std::io::stderr().is_terminal() { bar(seeds) } else { ProgressBar::hidden() };
    let next = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let results = Mutex::new((Vec::new(), Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= seeds {
                        return;
                    }
                    let case = Case::whole(first.wrapping_add(number));
                    crash::note(&case);
                    assert!(!crash, "this crash was asked for");
                    let is_twice = number.is_multiple_of(TWICE_EVERY);
                    let result = if is_twice { swarm::run_twice(&case) } else { swarm::run(&case) };
                    let mut results = results.lock().expect("nobody panics and goes on");
                    match result {
                        Ok(passed) => results.0.push(passed),
                        Err(failure) => {
                            results.1.push((case, failure));
                            is_over.store(true, Ordering::Relaxed);
                        }
                    }
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let (passed, mut failed) = results.into_inner().expect("nobody panics and goes on");
    failed.sort_by_key(|(case, _)| case.seed);
    let seconds = start.elapsed().as_secs_f64();
    let count = passed.len() + failed.len();
    let summarised = summarise(&passed)
        .and_then(|()| out::print(format_args!("{count} seeds in {seconds:.1} s\n")));
    let Some((case, failure)) = failed.into_iter().next() else {
        return out::finish(summarised, ExitCode::SUCCESS);
    };
    let told = summarised
        .and_then(|()| tell(&case, &failure))
        .and_then(|()| tell_smaller(&case, &failure));
    out::finish(told, ExitCode::from(failure.kind.exit_code()))
}

fn bar(seeds: u64) -> ProgressBar {
    let template = "{pos} of {len} seeds  {bar:30}  {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    ProgressBar::new(seeds).with_style(style.progress_chars("█▌░"))
}

/// What happened, so that one sees that it did.
fn summarise(passed: &[Passed]) -> anyhow::Result<()> {
    let mut all = Happened::default();
    passed.iter().for_each(|one| all.add(&one.happened));
    let bindings: u64 = passed.iter().map(|one| one.bindings).sum();
    let waits: u64 = passed.iter().map(|one| one.waits).sum();
    let hours = passed.iter().map(|one| one.span.0).sum::<u64>() / 3_600_000;
    out::print(format_args!("{hours:>10} hours of virtual time\n"))?;
    let decisions = bindings + waits;
    out::print(format_args!("{decisions:>10} decisions: {bindings} bindings, {waits} waits\n"))?;
    let mut rows = all.rows().into_iter();
    rows.try_for_each(|(name, count)| out::print(format_args!("{count:>10} {name}\n")))
}

fn tell(case: &Case, failure: &Failure) -> anyhow::Result<()> {
    let Failure { kind, text } = failure;
    out::print(format_args!("\nseed {} is {kind}: {text}\n", case.seed))?;
    out::print(format_args!("repeat it with: {}\n", command(case)))
}

/// Makes a failing case smaller and says what is left of it.
fn tell_smaller(case: &Case, failure: &Failure) -> anyhow::Result<()> {
    out::print(format_args!("\nmaking it smaller, in at most {SHRINK_RUNS} runs\n"))?;
    let mut fails = |case: &Case| {
        crash::note(case);
        swarm::run(case).err().map(|failure| failure.kind)
    };
    let small = swarm::shrink(case, failure.kind, SHRINK_RUNS, &mut fails);
    tell_small(&small, swarm::run(&small).err())
}

fn tell_small(small: &Case, failure: Option<Failure>) -> anyhow::Result<()> {
    out::print(format_args!("{}", small.describe()))?;
    if let Some(failure) = failure {
        out::print(format_args!("{}: {}\n", failure.kind, failure.text))?;
    }
    out::print(format_args!("repeat it with: {}\n", command(small)))
}

/// Makes a case smaller by running each attempt in a process of its own, so that crashes can be
/// followed too.
fn shrink_apart(case: &Case) -> anyhow::Result<ExitCode> {
    let Some(kind) = crash::run_apart(case) else {
        out::print(format_args!("seed {} does not fail\n", case.seed))?;
        return Ok(ExitCode::SUCCESS);
    };
    let small = swarm::shrink(case, kind, SHRINK_RUNS, &mut crash::run_apart);
    out::finish(tell_small(&small, None), ExitCode::from(kind.exit_code()))
}

fn command(case: &Case) -> String {
    format!("kubenexus simulate {}", case.arguments())
}
