//! A process with its log in a file, which does not outlive the value that stands for it.

use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How long a process may take to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(5);

/// How much of a log an error shows.
const TAIL_LINES: usize = 15;

/// What can be sent to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Please end.
    Terminate,
    /// End at once.
    Kill,
    /// Freeze.
    Stop,
    /// Thaw.
    Continue,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Terminate => "TERM",
            Self::Kill => "KILL",
            Self::Stop => "STOP",
            Self::Continue => "CONT",
        }
    }
}

/// A running program.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    /// Kills the program when this process ends without having dropped it. It waits for the end
    /// of its standard input, which only this process holds open.
    guard: Child,
    log: PathBuf,
    ended: Option<ExitStatus>,
}

impl Process {
    /// Starts a program with its output appended to a log file.
    pub fn start(name: &str, program: &Path, args: &[String], log: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(log);
        let file = file.with_context(|| format!("opening {}", log.display()))?;
        // A group of its own: an interrupt at the terminal is for the tests, which then end this
        // in order.
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let guard = Command::new("sh")
            .args(["-c", "read -r _; kill -KILL \"$0\" 2>&-", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let guard = match guard {
            Ok(guard) => guard,
            Err(error) => {
                child.kill()?;
                child.wait()?;
                return Err(error).context("starting sh");
            }
        };
        Ok(Self { name: name.into(), child, guard, log: log.into(), ended: None })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it wrote.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Sends a signal, unless the process has ended.
    pub fn signal(&mut self, signal: Signal) -> Result<()> {
        if self.ended()?.is_some() {
            return Ok(());
        }
        // The id is still its own: it is given to another only after `ended` has seen the end.
        let command = format!("kill -{} {}", signal.name(), self.pid());
        let status = Command::new("sh").args(["-c", &command]).status().context("running sh")?;
        if !status.success() {
            bail!("{}: `{command}` failed with {status}", self.name);
        }
        Ok(())
    }

    /// How it ended, if it did.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended =
                self.child.try_wait().with_context(|| format!("waiting: {}", self.name))?;
            if self.ended.is_some() {
                self.dismiss_guard();
            }
        }
        Ok(self.ended)
    }

    /// Waits for the end, but not for ever.
    pub async fn wait(&mut self, within: Duration) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if start.elapsed() > within {
                bail!("{} still runs after {within:?}", self.name);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Fails with the end of the log if the process has ended.
    pub fn must_run(&mut self) -> Result<()> {
        match self.ended()? {
            Some(status) => bail!("{} ended with {status}:\n{}", self.name, self.tail()),
            None => Ok(()),
        }
    }

    /// The last lines of the log.
    pub fn tail(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<_> = text.lines().collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    /// Ends it at once.
    pub fn kill(&mut self) -> Result<()> {
        self.signal(Signal::Kill)?;
        self.ended = Some(self.child.wait()?);
        self.dismiss_guard();
        Ok(())
    }

    /// Ends it with SIGTERM, or with SIGKILL if that takes too long.
    pub fn stop(&mut self) -> Result<ExitStatus> {
        self.signal(Signal::Terminate)?;
        // A frozen process would not see it.
        self.signal(Signal::Continue)?;
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if start.elapsed() > GRACE {
                self.kill()?;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn dismiss_guard(&mut self) {
        // It may have ended by itself; then there is nobody to dismiss.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.stop() {
            eprintln!("ending {}: {error:#}", self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(name: &str, script: &str) -> Process {
        let log = std::env::temp_dir().join(format!("kubenexus-{name}-{}", std::process::id()));
        let _ = fs::remove_file(&log);
        Process::start(name, Path::new("sh"), &["-c".into(), script.into()], &log).unwrap()
    }

    fn is_running(pid: u32) -> bool {
        let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    }

    #[test]
    fn a_process_that_ended_gives_the_tail_of_its_log() {
        let mut process = shell("tail", "echo first; echo last >&2; exit 3");
        let start = Instant::now();
        while process.ended().unwrap().is_none() && start.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(5));
        }
        let error = process.must_run().unwrap_err().to_string();
        assert_eq!(error, "tail ended with exit status: 3:\nfirst\nlast");
        fs::remove_file(process.log()).unwrap();
    }

    #[test]
    fn a_dropped_process_ends_even_if_it_is_frozen() {
        let mut process = shell("frozen", "sleep 60");
        process.signal(Signal::Stop).unwrap();
        let (pid, guard, log) = (process.pid(), process.guard.id(), process.log.clone());
        assert!(is_running(pid));
        drop(process);
        assert!(!is_running(pid) && !is_running(guard));
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn the_guard_kills_what_nobody_dropped() {
        let mut process = shell("orphan", "exec sleep 60");
        // What the end of this process would do.
        drop(process.guard.stdin.take());
        let start = Instant::now();
        while process.ended().unwrap().is_none() && start.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(process.ended().unwrap().is_some());
        fs::remove_file(process.log()).unwrap();
    }
}
