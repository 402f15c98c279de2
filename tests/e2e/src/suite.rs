//! The cases, then the scenarios in their order, and what is printed about each.

use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use control_plane::Call;
use tokio::time::timeout;

use crate::Args;
use crate::beside;
use crate::check;
use crate::scenarios::ALL;
use crate::world::World;

/// Longer than any scenario takes: whatever hangs is reported and left.
const SCENARIO_WITHIN: Duration = Duration::from_secs(180);

/// A scenario under way.
pub(crate) type Run<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// What can be run on its own.
pub(crate) struct Scenario {
    /// Its name, also of its namespace.
    pub(crate) name: &'static str,
    /// What happens.
    pub(crate) run: for<'a> fn(&'a mut World) -> Run<'a>,
    /// Flags of the API server it needs; those with the same flags share a control plane.
    pub(crate) apiserver_flags: &'static [&'static str],
    /// Whether kube-scheduler would pass as well.
    pub(crate) suits_reference: bool,
}

/// Prints the names.
pub(crate) fn list(args: &Args) -> Result<()> {
    for name in beside::names(args)? {
        println!("{name}");
    }
    for scenario in ALL {
        println!("{}", scenario.name);
    }
    Ok(())
}

/// Runs what was chosen; true if all passed.
pub(crate) async fn run(args: &Args) -> Result<bool> {
    let is_meant = |scenario: &&Scenario| {
        (scenario.suits_reference || !args.reference) && args.is_meant(scenario.name)
    };
    let chosen: Vec<_> = ALL.iter().filter(is_meant).collect();
    let start = Instant::now();
    let mut tally = Tally::default();
    // First: the last scenario looks at the rights that were used.
    beside::run(args, &mut tally).await?;
    for group in chosen.chunk_by(|a, b| a.apiserver_flags == b.apiserver_flags) {
        run_group(args, group, &mut tally).await?;
    }
    let seconds = start.elapsed().as_secs();
    println!("{} passed, {} failed, {seconds} s", tally.passed, tally.failed.len());
    tally.failed.iter().for_each(|name| println!("failed: {name}"));
    Ok(tally.failed.is_empty())
}

/// What came of the cases and scenarios so far.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: Vec<String>,
    /// What the scheduler asked the control planes that have ended.
    pub(crate) calls: Vec<Call>,
}

/// Runs scenarios that share a control plane.
async fn run_group(args: &Args, group: &[&Scenario], tally: &mut Tally) -> Result<()> {
    let mut world = start_world(args, group[0], tally).await?;
    for scenario in group {
        for round in 0..args.repeat {
            let name = match args.repeat {
                1 => scenario.name.to_owned(),
                _ => format!("{}-{round}", scenario.name),
            };
            let passed = run_one(&mut world, scenario, &name).await?;
            if passed {
                tally.passed += 1;
                continue;
            }
            tally.failed.push(name);
            world.plane.keep_folder();
            // Who knows what is left of it.
            tally.calls = world.calls()?;
            drop(world);
            world = start_world(args, scenario, tally).await?;
        }
    }
    tally.calls = world.calls()?;
    Ok(())
}

async fn start_world(args: &Args, scenario: &Scenario, tally: &mut Tally) -> Result<World> {
    let start = Instant::now();
    let world = World::start(args, scenario.apiserver_flags).await;
    let mut world = world.context("starting a control plane")?;
    world.earlier = std::mem::take(&mut tally.calls);
    println!("{:<30} {:>5.1} s", "(control plane)", start.elapsed().as_secs_f64());
    Ok(world)
}

async fn run_one(world: &mut World, scenario: &Scenario, name: &str) -> Result<bool> {
    let start = Instant::now();
    world.enter(name).await?;
    let ended = timeout(SCENARIO_WITHIN, (scenario.run)(world)).await;
    let mut ended = ended.unwrap_or_else(|_| Err(anyhow!("still at it after {SCENARIO_WITHIN:?}")));
    let tails: Vec<_> = world.replicas.iter().map(|it| it.scheduler.tail()).collect();
    if ended.is_ok() {
        ended = check::versions(world).await;
    }
    if ended.is_ok() {
        ended = world.leave().await;
    }
    let seconds = start.elapsed().as_secs_f64();
    let Err(error) = ended else {
        println!("{name:<30} {seconds:>5.1} s  ok");
        return Ok(true);
    };
    println!("{name:<30} {seconds:>5.1} s  FAILED: {error:#}");
    for (number, tail) in tails.iter().enumerate() {
        println!("  end of the log of scheduler {number}:");
        tail.lines().for_each(|line| println!("    {line}"));
    }
    println!("  logs and data: {}", world.plane.folder().display());
    Ok(false)
}
