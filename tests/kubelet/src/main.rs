//! `kubelet`: compares predictions of what a kubelet does with the kubelet's own code, on random
//! machines.

use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use kubenexus_kubelet::case::{Case, Verdict};
use kubenexus_kubelet::tally::Tally;
use kubenexus_kubelet::{compare, generate, shrink};
use parity::judge::{Answer, Judge};

/// Cases on their way to an oracle, so that it never waits.
const IN_FLIGHT: u64 = 8;

/// Differences that are made smaller and printed.
const PRINTED_MAX: usize = 5;

/// Questions asked to make one case smaller.
const SHRINK_ATTEMPTS: usize = 1_000;

/// Fewer cases need not meet everything.
const CASES_TO_MEET_ALL: u64 = 1_500;

/// Compares predictions of what a kubelet does with the kubelet's own code.
///
/// Exits with 1 on a difference and with 2 if the comparison itself does not work.
#[derive(Debug, Parser)]
struct Args {
    /// How many machines to draw.
    #[arg(long, default_value_t = 2_500)]
    cases: u64,
    /// What to draw them from; the same seed gives the same cases. Today's date if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// The program built from tests/kubelet/oracle.
    #[arg(long)]
    oracle: PathBuf,
    /// How many oracles share the cases.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Play the case in this file only, one line of JSON; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    case: Option<PathBuf>,
}

/// A case that differs, and how.
struct Failure {
    case: Case,
    text: String,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let agreed = match &args.case {
        Some(file) => replay(&args, file),
        None => run(&args),
    };
    match agreed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("kubelet: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn replay(args: &Args, file: &PathBuf) -> Result<bool> {
    let mut text = String::new();
    if file.as_os_str() == "-" {
        io::stdin().read_to_string(&mut text).context("reading the case")?;
    } else {
        text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    }
    let case: Case = serde_json::from_str(&text).context("reading the case")?;
    let mut oracle = start(args)?;
    send(&oracle, &case)?;
    match judge(&mut oracle, &case, &mut Tally::default())? {
        None => println!("the same"),
        Some(text) => {
            println!("{text}");
            return Ok(false);
        }
    }
    Ok(true)
}

fn start(args: &Args) -> Result<Judge> {
    Judge::start(&args.oracle).context("starting the oracle")
}

fn send(oracle: &Judge, case: &Case) -> Result<()> {
    oracle.send(&serde_json::to_string(case).context("writing a case")?);
    Ok(())
}

/// How the answer to a case that was sent differs from ours.
fn judge(oracle: &mut Judge, case: &Case, tally: &mut Tally) -> Result<Option<String>> {
    let answer = match oracle.receive() {
        Answer::Verdict(answer) => answer,
        Answer::Broken(how) => bail!("case {}: the oracle broke: {how}", case.id),
        Answer::Late => bail!("case {}: the oracle gives no answer", case.id),
    };
    let verdict: Verdict = serde_json::from_value(answer).context("reading a verdict")?;
    Ok(compare::compare(case, &verdict, tally).err())
}

fn run(args: &Args) -> Result<bool> {
    let seed = args.seed.unwrap_or_else(day);
    let (failures, tally) = thread::scope(|scope| {
        let workers: Vec<_> =
            (0..args.jobs).map(|job| scope.spawn(move || work(args, seed, job))).collect();
        let (mut failures, mut total) = (Vec::new(), Tally::default());
        for worker in workers {
            let (failed, tally) = worker.join().map_err(|_| anyhow!("a worker panicked"))??;
            failures.extend(failed);
            total.merge(tally);
        }
        anyhow::Ok((failures, total))
    })?;
    print!("{tally}");
    let missing: Vec<_> = tally.missing().collect();
    let misses = args.cases >= CASES_TO_MEET_ALL && !missing.is_empty();
    if misses {
        println!("\nnot met: {}", missing.join(", "));
    }
    for failure in failures.iter().take(PRINTED_MAX) {
        print_small(args, failure)?;
    }
    println!("\nRepeat with --seed {seed}.");
    println!("{} machines, {} differ", args.cases, failures.len());
    Ok(failures.is_empty() && !misses)
}

fn work(args: &Args, seed: u64, job: u64) -> Result<(Vec<Failure>, Tally)> {
    let mut oracle = start(args)?;
    let (mut failures, mut tally) = (Vec::new(), Tally::default());
    let numbers = || (job..args.cases).step_by(args.jobs as usize);
    let mut ahead = numbers();
    for number in ahead.by_ref().take(IN_FLIGHT as usize) {
        send(&oracle, &generate::case(seed, number))?;
    }
    for number in numbers() {
        let case = generate::case(seed, number);
        if let Some(text) = judge(&mut oracle, &case, &mut tally)? {
            failures.push(Failure { case, text });
        }
        if let Some(next) = ahead.next() {
            send(&oracle, &generate::case(seed, next))?;
        }
    }
    Ok((failures, tally))
}

fn print_small(args: &Args, failure: &Failure) -> Result<()> {
    println!("\ncase {} differs: {}", failure.case.id, failure.text);
    let mut oracle = start(args)?;
    let small = shrink::smaller(failure.case.clone(), SHRINK_ATTEMPTS, |case| {
        let difference =
            send(&oracle, case).and_then(|()| judge(&mut oracle, case, &mut Tally::default()));
        // A kubelet that breaks on a smaller machine says nothing of this difference.
        matches!(difference, Ok(Some(text)) if !text.contains("the kubelet"))
    });
    send(&oracle, &small)?;
    let text = judge(&mut oracle, &small, &mut Tally::default())?;
    println!("made small: {}", text.unwrap_or_default());
    println!("{}", serde_json::to_string(&small).context("writing a case")?);
    Ok(())
}

/// Days since 1970: new cases every day, and the same ones on every machine.
fn day() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / 86_400
}
