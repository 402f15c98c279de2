//! Log lines on standard error.

use std::io::{self, IsTerminal as _};

use anyhow::{Result, anyhow};
use tracing_subscriber::EnvFilter;

use super::flags::LogFormat;

/// Starts logging for the whole process.
pub(super) fn start(verbosity: u8, format: LogFormat) -> Result<()> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(&directives)
            .map_err(|error| anyhow!("RUST_LOG {directives:?}: expected levels: {error}"))?,
        Ok(_) | Err(_) => EnvFilter::new(level(verbosity)),
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

/// The libraries below us speak up only where everything is asked for.
fn level(verbosity: u8) -> &'static str {
    match verbosity {
        0..=3 => "info",
        4..=5 => "info,kubenexus_live=debug",
        6.. => "trace",
    }
}
