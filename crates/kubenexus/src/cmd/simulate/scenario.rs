//! `kubenexus simulate FILE...`: manifests and a scenario.

use std::path::PathBuf;
use std::process::ExitCode;

/// Which files.
#[derive(clap::Args)]
pub(crate) struct ScenarioArgs {
    /// Manifests of nodes, pods and their owners, and scenario files
    files: Vec<PathBuf>,
}

/// Runs the files.
pub(crate) fn run(args: &ScenarioArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("{} files: scenarios are not there", args.files.len())
}
