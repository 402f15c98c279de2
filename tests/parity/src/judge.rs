//! A process that answers cases: `PROGRAM verdict`, JSON lines in, one JSON line out for each.
//!
//! Reading and writing have a thread each: a process that writes an answer while we write the next
//! case to it would otherwise wait for us while we wait for it.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// Longer than any sound case takes, by far.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waiting for a process that hangs again and again shows nothing new.
const HANGS_MAX: u32 = 3;

/// Lines of a dying process's complaint that are worth keeping.
const COMPLAINT_LINES: usize = 12;

/// What a process makes of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// One line of JSON.
    Verdict(Value),
    /// Something else, or the process died: how.
    Broken(String),
    /// Nothing, for longer than anyone should wait.
    Late,
}

/// A running process.
#[derive(Debug)]
pub struct Judge {
    program: PathBuf,
    process: Process,
    hangs: u32,
}

#[derive(Debug)]
struct Process {
    child: Child,
    lines: Sender<String>,
    answers: Receiver<io::Result<String>>,
    complaint: Option<JoinHandle<String>>,
}

impl Judge {
    /// Starts `program verdict`.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub fn start(program: &Path) -> io::Result<Judge> {
        Ok(Judge { program: program.to_owned(), process: Process::start(program)?, hangs: 0 })
    }

    /// Hands over a case, without waiting. A process that is gone says so in [`Judge::receive`].
    pub fn send(&self, line: &str) {
        let _ = self.process.lines.send(format!("{line}\n"));
    }

    /// Waits for the answer to the oldest case that has none.
    pub fn receive(&mut self) -> Answer {
        match self.process.answers.recv_timeout(PATIENCE) {
            Ok(Ok(line)) => match serde_json::from_str(&line) {
                Ok(verdict) => Answer::Verdict(verdict),
                Err(error) => Answer::Broken(format!("not JSON ({error}): {line}")),
            },
            Ok(Err(error)) => Answer::Broken(format!("cannot read its answer: {error}")),
            Err(RecvTimeoutError::Timeout) => {
                self.hangs += 1;
                Answer::Late
            }
            Err(RecvTimeoutError::Disconnected) => Answer::Broken(self.process.last_words()),
        }
    }

    /// Starts afresh; cases that have no answer yet are forgotten.
    ///
    /// # Errors
    ///
    /// If it cannot be started, or hung too often.
    pub fn restart(&mut self) -> io::Result<()> {
        if self.hangs >= HANGS_MAX {
            let program = self.program.display();
            return Err(io::Error::other(format!("{program} hung {HANGS_MAX} times")));
        }
        self.process = Process::start(&self.program)?;
        Ok(())
    }
}

impl Process {
    fn start(program: &Path) -> io::Result<Process> {
        let mut child = Command::new(program)
            .arg("verdict")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| {
                io::Error::new(error.kind(), format!("cannot start {}: {error}", program.display()))
            })?;
        let (lines, lines_out) = mpsc::channel();
        let (answers_in, answers) = mpsc::channel();
        if let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) {
            thread::spawn(move || write(stdin, lines_out));
            thread::spawn(move || read(stdout, answers_in));
        }
        let complaint = child.stderr.take().map(|stderr| thread::spawn(move || tail(stderr)));
        Ok(Process { child, lines, answers, complaint })
    }

    /// How a process ended that will give no more answers.
    fn last_words(&mut self) -> String {
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let complaint = self.complaint.take().and_then(|thread| thread.join().ok());
        let text = format!("ended without an answer ({status})\n{}", complaint.unwrap_or_default());
        text.trim_end().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Either fails only if the process is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(mut stdin: ChildStdin, lines: Receiver<String>) {
    for line in lines {
        if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

fn read(stdout: ChildStdout, answers: Sender<io::Result<String>>) {
    for line in BufReader::new(stdout).lines() {
        if answers.send(line).is_err() {
            return;
        }
    }
}

/// The last lines of what a process complains of, once it has ended.
fn tail(stderr: ChildStderr) -> String {
    let mut last = VecDeque::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if last.len() == COMPLAINT_LINES {
            last.pop_front();
        }
        last.push_back(line);
    }
    Vec::from(last).join("\n")
}
