//! A line on the terminal that says how far a run is.

use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::Scope;
use std::time::{Duration, Instant};

use kubenexus_parity::run::Progress;

/// Shows the progress of `total` cases every second until the returned sender is dropped. Writes
/// nothing unless somebody watches.
pub(crate) fn show<'scope>(
    scope: &'scope Scope<'scope, '_>,
    progress: &'scope Progress,
    total: u64,
) -> Sender<()> {
    let (meter, stopped) = mpsc::channel();
    if !std::io::stderr().is_terminal() {
        return meter;
    }
    scope.spawn(move || {
        let start = Instant::now();
        while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(Duration::from_secs(1)) {
            let done = progress.done.load(Ordering::Relaxed);
            let failed = progress.failed.load(Ordering::Relaxed);
            let rate = done as f64 / start.elapsed().as_secs_f64();
            eprint!("\r{done}/{total} cases, {rate:.0} per second, {failed} disagreements  ");
            // A line that appears late is no worse than none.
            let _ = std::io::stderr().flush();
        }
        eprintln!();
    });
    meter
}
