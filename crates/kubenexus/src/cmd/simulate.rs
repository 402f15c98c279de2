//! `kubenexus simulate`: files, public traces or seeds, run in virtual time.

mod scenario;
mod swarm;
mod trace;

use std::process::ExitCode;

/// What to simulate.
#[derive(clap::Args)]
pub(crate) struct SimulateArgs {
    #[command(flatten)]
    scenario: scenario::ScenarioArgs,
    #[command(flatten)]
    swarm: swarm::SwarmArgs,
    #[command(flatten)]
    trace: trace::TraceArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Runs what the arguments name.
pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<ExitCode> {
    if args.swarm.is_asked() {
        swarm::run(&args.swarm)
    } else if args.trace.is_asked() {
        trace::run(&args.trace)
    } else {
        scenario::run(&args.scenario, args.json)
    }
}
