//! `kubenexus simulate`: files, public traces or seeds, run in virtual time.

mod scenario;
mod swarm;
mod trace;

use std::process::ExitCode;

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
    if args.swarm.is_asked() {
        swarm::run(&args.swarm, args.seeds.as_deref())
    } else if args.trace.is_asked() {
        trace::run(&args.trace, args.seeds.as_deref(), args.json)
    } else {
        scenario::run(&args.scenario, args.json)
    }
}
