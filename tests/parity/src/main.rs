//! `parity`: compares KubeNexus with kube-scheduler on the committed cases and on random ones.

mod progress;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use kubenexus_parity::run::{self, Outcome, Pair, Progress, Tally};
use kubenexus_parity::{generate, report};
use serde_json::Value;

/// Disagreements that are made smaller and printed. Further ones are mostly of the same causes.
const PRINTED_MAX: usize = 10;

/// Compares the verdicts of KubeNexus with those of kube-scheduler's own plugins.
///
/// Exits with 1 on a disagreement and with 2 if the comparison itself does not work.
#[derive(Debug, Parser)]
struct Args {
    /// How many random cases to draw of the theme.
    #[arg(long, default_value_t = 3_000)]
    cases: u64,
    /// What to draw them from; the same seed gives the same cases. Today's date if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// The `kubenexus` program.
    #[arg(long)]
    kubenexus: PathBuf,
    /// The program built from tests/parity/oracle.
    #[arg(long)]
    oracle: PathBuf,
    /// Where disagreements are written to, one file each.
    #[arg(long, default_value = "target/parity")]
    save: PathBuf,
    /// Committed cases, one per file, that come before the random ones.
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/cases"))]
    cases_dir: PathBuf,
    /// How many pairs of processes share the random cases.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Judge the case in this file only, and print both verdicts.
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
    /// What the random cases are about.
    #[arg(long, value_enum, default_value_t = Theme::All)]
    theme: Theme,
    /// Print the random cases, one a line, instead of judging them.
    #[arg(long)]
    print: bool,
}

/// What cases are about.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Theme {
    /// Everything but volumes.
    Ordinary,
    /// Claims, persistent volumes and disks.
    Volumes,
    /// Ordinary cases, and an eighth as many about volumes behind them.
    All,
}

/// The random cases of a run, by number.
#[derive(Debug, Clone, Copy)]
struct Cases {
    seed: u64,
    ordinary: u64,
    volumes: u64,
}

impl Cases {
    fn of(args: &Args) -> Cases {
        let (ordinary, volumes) = match args.theme {
            Theme::Ordinary => (args.cases, 0),
            Theme::Volumes => (0, args.cases),
            Theme::All => (args.cases, args.cases.div_ceil(8)),
        };
        Cases { seed: args.seed.unwrap_or_else(day), ordinary, volumes }
    }

    /// A case about volumes is put twice, with its objects in two orders.
    fn count(self) -> u64 {
        self.ordinary + 2 * self.volumes
    }

    fn case(self, number: u64) -> Value {
        match number.checked_sub(self.ordinary) {
            None => generate::case(self.seed, number),
            Some(number) if number < self.volumes => generate::volume_case(self.seed, number),
            Some(number) => generate::turned_volume_case(self.seed, number - self.volumes),
        }
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let agreed = match &args.explain {
        Some(file) => explain(&args, file),
        None if args.print => print_cases(&args),
        None => compare(&args),
    };
    match agreed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("parity: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn explain(args: &Args, file: &Path) -> Result<bool> {
    let case = read_case(file)?;
    let outcome = Pair::start(&args.kubenexus, &args.oracle)?.judge(case)?;
    print!("{}{}", report::side_by_side(&outcome), report::differing(&outcome));
    Ok(outcome.differences().is_empty())
}

fn print_cases(args: &Args) -> Result<bool> {
    let cases = Cases::of(args);
    let mut out = BufWriter::new(io::stdout().lock());
    for number in 0..cases.count() {
        writeln!(out, "{}", cases.case(number)).context("printing cases")?;
    }
    out.flush().context("printing cases")?;
    Ok(true)
}

fn compare(args: &Args) -> Result<bool> {
    let cases = Cases::of(args);
    let seed = cases.seed;
    let committed = committed_cases(&args.cases_dir)?;
    let mut pairs = Vec::new();
    for _ in 0..args.jobs {
        pairs.push(Pair::start(&args.kubenexus, &args.oracle)?);
    }
    let known = judge_committed(&mut pairs[0], committed)?;
    println!(
        "{} committed cases, {} random cases and {} about volumes of seed {seed}",
        known.0, cases.ordinary, cases.volumes
    );
    let (mut pairs, random) = judge_random(pairs, cases)?;

    print!("{}", random.coverage);
    let missing = random.coverage.missing();
    for fact in &missing {
        println!("\nno case about volumes met: {fact}");
    }
    for failure in &known.1.failures {
        println!("\ncommitted case {} disagrees:", failure.case["id"]);
        print!("{}", report::differing(failure));
    }
    print_failures(&mut pairs[0], &random, &args.save)?;
    println!("\nRepeat with --seed {seed}.");
    let (passed, failed) = (known.1.passed + random.passed, known.1.failed + random.failed);
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0 && missing.is_empty())
}

/// How many committed cases there are, and what came of them.
fn judge_committed(pair: &mut Pair, cases: Vec<Value>) -> Result<(usize, Tally)> {
    let count = cases.len();
    let mut tally = Tally::default();
    let progress = Progress::default();
    pair.judge_all(cases.into_iter(), |outcome| tally.add(outcome, &progress))?;
    Ok((count, tally))
}

/// Shares the random cases among the pairs, and gives the pairs back.
fn judge_random(pairs: Vec<Pair>, cases: Cases) -> Result<(Vec<Pair>, Tally)> {
    let progress = Progress::default();
    let jobs = pairs.len();
    thread::scope(|scope| {
        let meter = progress::show(scope, &progress, cases.count());
        let workers: Vec<_> = pairs
            .into_iter()
            .enumerate()
            .map(|(job, mut pair)| {
                let progress = &progress;
                scope.spawn(move || -> Result<(Pair, Tally)> {
                    let mut tally = Tally::default();
                    let numbers = (job as u64..cases.count()).step_by(jobs);
                    let drawn = numbers.map(|number| cases.case(number));
                    pair.judge_all(drawn, |outcome| tally.add(outcome, progress))?;
                    Ok((pair, tally))
                })
            })
            .collect();
        let mut pairs = Vec::new();
        let mut total = Tally::default();
        for worker in workers {
            let (pair, tally) = worker.join().map_err(|_| anyhow!("a worker panicked"))??;
            pairs.push(pair);
            total.merge(tally);
        }
        drop(meter);
        Ok((pairs, total))
    })
}

/// Prints one minimal case for each kind of difference, and saves every failure that was kept.
fn print_failures(pair: &mut Pair, tally: &Tally, save: &Path) -> Result<()> {
    let mut printed = BTreeSet::new();
    for failure in &tally.failures {
        let kind = failure.differences().into_iter().next().map(|difference| difference.kind);
        if printed.len() == PRINTED_MAX || !printed.insert(kind) {
            save_case(save, failure)?;
            continue;
        }
        let smallest = run::minimal(pair, failure)?;
        let file = save_case(save, &smallest)?;
        println!("\ncase {} disagrees; made small, {}:", failure.case["id"], file.display());
        print!("{}", report::disagreement(&smallest));
    }
    if !tally.kinds.is_empty() {
        println!("\nDisagreements by their first difference:");
    }
    for (kind, count) in &tally.kinds {
        println!("  {count:>8}  {kind}");
    }
    Ok(())
}

fn save_case(folder: &Path, outcome: &Outcome) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    let id = outcome.case["id"].as_str().unwrap_or("unnamed");
    let file = folder.join(format!("{id}.json"));
    let text = serde_json::to_string_pretty(&outcome.case)?;
    fs::write(&file, text + "\n").with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

fn committed_cases(folder: &Path) -> Result<Vec<Value>> {
    let reading = || format!("reading the committed cases in {}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(reading)? {
        let file = entry.with_context(reading)?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            files.push(file);
        }
    }
    files.sort();
    files.iter().map(|file| read_case(file)).collect()
}

fn read_case(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("reading {}", file.display()))
}

/// Days since 1970: new cases every day, and the same ones on every machine.
fn day() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / 86_400
}
