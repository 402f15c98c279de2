//! Cases beside kube-scheduler: the same manifests for both schedulers, each on a control plane of
//! its own and under the same name; then everything a user can see must be the same.
//!
//! `--reference` puts kube-scheduler on both sides: a case that fails then is left to chance.

mod case;
mod ledger;
mod seen;
mod side;
mod volumes;

use std::iter;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use futures::future::{join, try_join};

use crate::Args;
use crate::suite::Tally;
use case::{Case, Step};
use side::Side;

/// Cases, by how their names begin, that KubeNexus cannot pass yet: run with `--reference`, or if
/// `--only` names them.
const AHEAD: &[&str] = &[];

/// What was done last is seen in events a little later.
const SAME_WITHIN: Duration = Duration::from_secs(5);

/// The names of all cases.
pub(crate) fn names(args: &Args) -> Result<Vec<String>> {
    Ok(chosen(args)?.into_iter().map(|case| case.name).collect())
}

/// Runs the cases that were chosen.
pub(crate) async fn run(args: &Args, tally: &mut Tally) -> Result<()> {
    let cases = chosen(args)?;
    if cases.is_empty() {
        return Ok(());
    }
    let mut pair = Pair::start(args).await?;
    for case in cases.iter().flat_map(|case| iter::repeat_n(case, args.repeat)) {
        let start = Instant::now();
        let ended = pair.run(case, args.show).await;
        let cleared = pair.clear().await;
        let is_clear = cleared.is_ok();
        let seconds = start.elapsed().as_secs_f64();
        match ended.and(cleared) {
            Ok(()) => {
                println!("{:<42} {seconds:>5.1} s  ok", case.name);
                tally.passed += 1;
            }
            Err(error) => {
                println!("{:<42} {seconds:>5.1} s  FAILED: {error:#}", case.name);
                pair.print_logs();
                tally.failed.push(case.name.clone());
            }
        }
        if !is_clear {
            tally.calls.extend(pair.ours.world.plane.audit()?);
            drop(pair);
            pair = Pair::start(args).await?;
        }
    }
    tally.calls.extend(pair.ours.world.plane.audit()?);
    Ok(())
}

fn chosen(args: &Args) -> Result<Vec<Case>> {
    let mut cases = case::read_all(&args.repository.join("tests/e2e/cases"))?;
    let is_named = |start: &&&str| args.only.iter().any(|text| text.starts_with(**start));
    let ahead: Vec<_> = AHEAD.iter().filter(|start| !args.reference && !is_named(start)).collect();
    let is_ahead = |name: &str| ahead.iter().any(|start| name.starts_with(**start));
    cases.retain(|it| args.is_meant(&it.name) && !is_ahead(&it.name));
    Ok(cases)
}

/// Two control planes, so that both schedulers can be given the same names at the same time.
struct Pair {
    theirs: Side,
    ours: Side,
}

impl Pair {
    async fn start(args: &Args) -> Result<Self> {
        let start = Instant::now();
        let reference = Args { reference: true, kubenexus: None, ..args.clone() };
        let (theirs, ours) = try_join(
            Side::start("kube-scheduler", &reference),
            Side::start(if args.reference { "kube-scheduler 2" } else { "KubeNexus" }, args),
        )
        .await?;
        println!("{:<42} {:>5.1} s", "(two control planes)", start.elapsed().as_secs_f64());
        Ok(Self { theirs, ours })
    }

    async fn run(&mut self, case: &Case, shows: bool) -> Result<()> {
        for step in &case.steps {
            let place = || format!("in the step that begins at line {}", step.line);
            let seen = self.step(step).await.with_context(place)?;
            if shows {
                println!("{}, line {}:", case.name, step.line);
                seen.iter().for_each(|line| println!("    {line}"));
            }
        }
        Ok(())
    }

    async fn clear(&mut self) -> Result<()> {
        let (theirs, ours) = join(self.theirs.clear(), self.ours.clear()).await;
        theirs.and(ours).context("clearing up")
    }

    /// Takes a step on both sides, and gives what is seen then on both.
    async fn step(&mut self, step: &Step) -> Result<Vec<String>> {
        let (theirs, ours) = join(self.theirs.play(step), self.ours.play(step)).await;
        for (side, ended) in [(&self.theirs, theirs), (&self.ours, ours)] {
            if let Err(error) = ended {
                let difference = self.difference().await?.unwrap_or_default();
                bail!("{}: {error:#}{difference}", side.name);
            }
        }
        let start = Instant::now();
        loop {
            match self.difference().await? {
                None => return self.theirs.seen().await,
                Some(difference) if start.elapsed() > SAME_WITHIN => {
                    bail!("what is seen differs{difference}")
                }
                Some(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// The lines of both sides, if they are not the same.
    async fn difference(&self) -> Result<Option<String>> {
        let (theirs, ours) = try_join(self.theirs.seen(), self.ours.seen()).await?;
        if theirs == ours {
            return Ok(None);
        }
        let mut lines: Vec<_> = theirs.iter().chain(&ours).collect();
        lines.sort();
        lines.dedup();
        let mark = |line: &String| match (theirs.contains(line), ours.contains(line)) {
            (true, true) => "both",
            (true, false) => self.theirs.name,
            (false, _) => self.ours.name,
        };
        let lines = lines.into_iter().map(|line| format!("\n    {:<16} {line}", mark(line)));
        Ok(Some(lines.collect()))
    }

    fn print_logs(&mut self) {
        for side in [&mut self.theirs, &mut self.ours] {
            side.world.plane.keep_folder();
            println!("  logs of {}: {}", side.name, side.world.plane.folder().display());
        }
    }
}
