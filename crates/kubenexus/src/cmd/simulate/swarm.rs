//! `kubenexus simulate --swarm`: many seeds, each a world of its own.

use std::process::ExitCode;

/// Which seeds.
#[derive(clap::Args)]
pub(crate) struct SwarmArgs {
    /// Draw worlds with faults from seeds, and check every step
    #[arg(long)]
    swarm: bool,
}

impl SwarmArgs {
    /// Whether a swarm is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.swarm
    }
}

/// Runs the swarm.
pub(crate) fn run(_: &SwarmArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("the swarm is not there")
}
