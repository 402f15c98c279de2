//! `kubenexus simulate --trace`: public traces.

use std::process::ExitCode;

/// Which trace.
#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    /// Read a public trace: openb or philly
    #[arg(long, value_name = "NAME")]
    trace: Option<String>,
}

impl TraceArgs {
    /// Whether a trace is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.trace.is_some()
    }
}

/// Runs the trace.
pub(crate) fn run(_: &TraceArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("traces are not there")
}
