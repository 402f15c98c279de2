//! Log lines on standard error, written by a thread of their own.
//!
//! Whoever collects them may die or stop reading. Neither ends the scheduler or holds it up: what
//! cannot be written is lost, and counted.

use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::flags::LogFormat;

/// Lines that may wait to be written.
const WAITING_MAX: usize = 4096;

/// The way to the thread that writes.
#[derive(Clone)]
pub(super) struct Log {
    sender: SyncSender<Piece>,
    lost: Arc<AtomicU64>,
}

enum Piece {
    Line(Vec<u8>),
    /// Says so when everything before it is written.
    End(SyncSender<()>),
}

/// Starts logging for the whole process.
pub(super) fn start(verbosity: u8, format: LogFormat) -> Result<Log> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(directives) if !directives.is_empty() => EnvFilter::try_new(&directives)
            .map_err(|error| anyhow!("RUST_LOG {directives:?}: expected levels: {error}"))?,
        Ok(_) | Err(_) => EnvFilter::new(level(verbosity)),
    };
    let log = Log::to(io::stderr())?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(log.clone())
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => lines.init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(log)
}

/// The libraries below us speak up only where everything is asked for.
fn level(verbosity: u8) -> &'static str {
    match verbosity {
        0..=3 => "info",
        4..=5 => "info,kubenexus_live=debug",
        6.. => "trace",
    }
}

impl Log {
    fn to(output: impl Write + Send + 'static) -> Result<Self> {
        let (sender, receiver) = sync_channel(WAITING_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        let thread = std::thread::Builder::new().name("log".into());
        let spawned = thread.spawn(move || write_all(output, &receiver, &counted));
        spawned.context("starting the thread for log lines")?;
        Ok(Self { sender, lost })
    }

    /// How many lines were lost.
    pub(super) fn lost(&self) -> Arc<AtomicU64> {
        self.lost.clone()
    }

    /// Waits until everything is written, but not for ever.
    pub(super) fn finish(&self, patience: Duration) {
        let (sender, written) = sync_channel(1);
        if self.sender.try_send(Piece::End(sender)).is_ok() {
            let _ = written.recv_timeout(patience);
        }
    }
}

fn write_all(mut output: impl Write, pieces: &Receiver<Piece>, lost: &AtomicU64) {
    for piece in pieces {
        match piece {
            Piece::Line(line) => {
                if output.write_all(&line).is_err() {
                    lost.fetch_add(1, Ordering::Relaxed);
                }
            }
            Piece::End(written) => {
                let _ = written.send(());
            }
        }
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Write for Log {
    /// Takes a whole line, and never fails.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(Piece::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{self, Sender};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// What a test wants of an output: what it takes is sent on, and nothing else.
    enum Output {
        Open(Sender<Vec<u8>>),
        Closed,
        /// Takes nothing as long as the other end is there.
        Stuck(Receiver<()>),
    }

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self {
                Self::Open(sender) => sender.send(bytes.to_vec()).expect("the test reads"),
                Self::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
                Self::Stuck(end) => {
                    let _ = end.recv();
                }
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(output: Output, lines: usize) -> Log {
        let mut log = Log::to(output).expect("there are threads");
        for at in 0..lines {
            log.write_all(format!("line {at}\n").as_bytes()).expect("it never fails");
        }
        log
    }

    #[test]
    fn lines_are_written_in_order_before_the_end() {
        let (sender, receiver) = mpsc::channel();
        let log = logged(Output::Open(sender), 3);
        log.finish(PATIENCE);
        let written: Vec<u8> = receiver.try_iter().flatten().collect();
        assert_eq!(String::from_utf8(written).unwrap(), "line 0\nline 1\nline 2\n");
        assert_eq!(log.lost().load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_nobody_takes_is_counted() {
        let log = logged(Output::Closed, 5);
        log.finish(PATIENCE);
        assert_eq!(log.lost().load(Ordering::Relaxed), 5);
    }

    #[test]
    fn who_does_not_read_holds_nobody_up() {
        let (end, stuck) = mpsc::channel();
        let log = logged(Output::Stuck(stuck), WAITING_MAX + 100);
        // One line may be on its way out.
        assert!((99..=100).contains(&log.lost().load(Ordering::Relaxed)));
        drop(end);
    }
}
