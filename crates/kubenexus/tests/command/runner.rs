//! Starts the command, feeds it and collects what it says.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

/// The command with arguments, not started yet.
pub(crate) fn kubenexus(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubenexus"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What the command did, as text.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs the command to its end.
pub(crate) fn run(args: &[&str]) -> Ran {
    read(kubenexus(args).output().expect("the command starts"))
}

/// Runs `kubenexus verdict` on what is written to its standard input.
pub(crate) fn judge(input: Vec<u8>) -> Ran {
    let mut child = kubenexus(&["verdict"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A thread of its own: the command answers while cases are still being written. If it dies,
    // writing fails; its exit code tells.
    let writer = thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().expect("it ends");
    let _ = writer.join().expect("the writer does not panic");
    read(output)
}

fn read(output: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).expect("the command prints UTF-8");
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// A file of the repository.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A file made for one test, whose name no other test uses.
pub(crate) fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("the scratch folder can be written");
    path
}

/// A path as an argument.
pub(crate) fn arg(path: &Path) -> &str {
    path.to_str().expect("paths of the repository are UTF-8")
}
