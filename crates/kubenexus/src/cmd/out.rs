//! Standard output and standard error, which a reader may close at any time.
//!
//! `println!` panics then. Here a closed pipe ends the command without a word: whoever reads has
//! what it wanted. Any other fault, such as a full disk, is an error with a message.

use std::fmt::{self, Arguments};
use std::io::{self, ErrorKind, Write as _};
use std::process::ExitCode;

use anyhow::Result;

/// The reader of standard output is gone.
#[derive(Debug)]
pub(crate) struct Closed;

impl fmt::Display for Closed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("standard output is closed")
    }
}

impl std::error::Error for Closed {}

/// Prints a result, or a part of it.
///
/// # Errors
/// [`Closed`] if nobody reads any more; any other fault as it is.
pub(crate) fn print(text: Arguments<'_>) -> Result<()> {
    let mut output = io::stdout().lock();
    output.write_fmt(text).and_then(|()| output.flush()).map_err(unwritten)
}

/// Says something on standard error, if anybody listens.
pub(crate) fn remark(text: Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// Why a result could not be written.
pub(crate) fn unwritten(error: io::Error) -> anyhow::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        return Closed.into();
    }
    anyhow::Error::new(error).context("writing the result")
}

/// The exit code of a result that was printed, which holds also if nobody read it to its end.
pub(crate) fn finish(printed: Result<()>, code: ExitCode) -> Result<ExitCode> {
    match printed {
        Err(error) if error.is::<Closed>() => Ok(code),
        printed => printed.map(|()| code),
    }
}
