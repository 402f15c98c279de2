//! `kubenexus simulate`: files, public traces or seeds, run in virtual time.

mod scenario;
mod swarm;
mod trace;

use std::process::ExitCode;

/// What to simulate.
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    /// How many seeds a swarm runs [default: 100]
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    #[command(flatten)]
    scenario: scenario::ScenarioArgs,
    #[command(flatten)]
    swarm: swarm::SwarmArgs,
    #[command(flatten)]
    trace: trace::TraceArgs,
}

/// Runs what the arguments name.
pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    if args.swarm.is_asked() {
        swarm::run(&args.swarm, args.seeds.as_deref())
    } else if args.trace.is_asked() {
        trace::run(&args.trace)
    } else {
        scenario::run(&args.scenario)
    }
}
