//! The scenarios in their order, and what is printed about each.

use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use tokio::time::timeout;

use crate::Args;
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
pub(crate) fn list() {
    for scenario in ALL {
        println!("{}", scenario.name);
    }
}

/// Runs what was chosen; true if all passed.
pub(crate) async fn run(args: &Args) -> Result<bool> {
    let is_meant = |scenario: &&Scenario| {
        let is_named = |text: &String| scenario.name.contains(text);
        let is_suited = scenario.suits_reference || !args.reference;
        is_suited && (args.only.is_empty() || args.only.iter().any(is_named))
    };
    let chosen: Vec<_> = ALL.iter().filter(is_meant).collect();
    let start = Instant::now();
    let mut failed = Vec::new();
    let mut earlier = Vec::new();
    for group in chosen.chunk_by(|a, b| a.apiserver_flags == b.apiserver_flags) {
        let beginning = Instant::now();
        let flags = group[0].apiserver_flags;
        let mut world = World::start(args, flags).await.context("starting a control plane")?;
        println!("{:<30} {:>5.1} s", "(control plane)", beginning.elapsed().as_secs_f64());
        world.earlier = std::mem::take(&mut earlier);
        for scenario in group {
            if !run_one(&mut world, scenario).await? {
                failed.push(scenario.name);
                world.plane.keep_folder();
            }
        }
        earlier = world.calls()?;
    }
    let seconds = start.elapsed().as_secs();
    println!("{} passed, {} failed, {seconds} s", chosen.len() - failed.len(), failed.len());
    failed.iter().for_each(|name| println!("failed: {name}"));
    Ok(failed.is_empty())
}

async fn run_one(world: &mut World, scenario: &Scenario) -> Result<bool> {
    let start = Instant::now();
    world.enter(scenario.name).await?;
    let ended = timeout(SCENARIO_WITHIN, (scenario.run)(world)).await;
    let mut ended = ended.unwrap_or_else(|_| Err(anyhow!("still at it after {SCENARIO_WITHIN:?}")));
    let tails: Vec<_> = world.replicas.iter().map(|it| it.scheduler.tail()).collect();
    let left = world.leave().await;
    if ended.is_ok() {
        ended = left;
    }
    let seconds = start.elapsed().as_secs_f64();
    let Err(error) = ended else {
        println!("{:<30} {seconds:>5.1} s  ok", scenario.name);
        return Ok(true);
    };
    println!("{:<30} {seconds:>5.1} s  FAILED: {error:#}", scenario.name);
    for (number, tail) in tails.iter().enumerate() {
        println!("  end of the log of scheduler {number}:");
        tail.lines().for_each(|line| println!("    {line}"));
    }
    println!("  logs and data: {}", world.plane.folder().display());
    Ok(false)
}
