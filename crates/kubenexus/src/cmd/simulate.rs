//! `kubenexus simulate`: files, public traces or seeds, run in virtual time.

mod scenario;
mod swarm;
mod trace;

use std::process::ExitCode;

use anyhow::bail;

/// What to simulate.
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    /// How many seeds a swarm runs, 100 by default; for a trace which seeds, such as 42, 42..51
    /// (both ends included, the default) or 42,44..46
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    scenario: scenario::ScenarioArgs,
    #[command(flatten)]
    swarm: swarm::SwarmArgs,
    #[command(flatten)]
    trace: trace::TraceArgs,
}

/// Runs what the arguments name.
pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    // Not left to clap: it takes no offence at `requires` where the other is in conflict.
    let given = args.scenario.given();
    match given {
        Some(name) if args.swarm.is_asked() => bail!("{name}: cannot be used with --swarm"),
        Some(name) if args.trace.is_asked() => bail!("{name}: cannot be used with --trace"),
        None if args.swarm.is_asked() && args.json => bail!("--json: cannot be used with --swarm"),
        Some(_) | None => {}
    }
    if args.swarm.is_asked() {
        swarm::run(&args.swarm, args.seeds.as_deref())
    } else if args.trace.is_asked() {
        trace::run(&args.trace, args.seeds.as_deref(), args.json)
    } else if let Some(seeds) = &args.seeds {
        bail!("--seeds {seeds}: expected --swarm or --trace beside it; a Scenario has a seed")
    } else {
        scenario::run(&args.scenario, args.json)
    }
}
