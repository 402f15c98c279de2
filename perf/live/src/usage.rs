//! CPU time and memory of a process, from the kernel.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// The kernel counts CPU time for `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// CPU time that a process has used so far, in user and kernel mode, in all its threads.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    ticks(&text).map(|ticks| TICK * ticks).with_context(|| format!("{path} says {text:?}"))
}

/// The most memory that a process has had resident so far, in MiB.
pub(crate) fn peak_mib(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    peak_kib(&text).map(|kib| kib / 1024.0).with_context(|| format!("{path} has no VmHWM"))
}

fn ticks(stat: &str) -> Option<u32> {
    // The name is in brackets and may have anything in it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let kernel: u32 = fields.next()?.parse().ok()?;
    Some(user + kernel)
}

fn peak_kib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_a_name_with_brackets() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 100 0 0 0 250 30 9 9 20 0 4 0 100 1 1";
        assert_eq!(ticks(stat), Some(280));
        assert_eq!(ticks("7 (a"), None);
    }

    #[test]
    fn the_peak_is_not_the_present_size() {
        assert_eq!(peak_kib("VmPeak:\t 9 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 7 kB\n"), Some(2048.0));
        assert_eq!(peak_kib("VmRSS:\t 7 kB\n"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        assert!(peak_mib(std::process::id()).unwrap() > 1.0);
        assert!(cpu(std::process::id()).is_ok());
    }
}
