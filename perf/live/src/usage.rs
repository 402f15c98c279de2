//! CPU time and memory of processes, from the kernel.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// The kernel counts CPU time for `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// CPU time that a process has used so far, in user and kernel mode, in all its threads.
pub(crate) fn cpu(pid: u32) -> Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = read(&path)?;
    ticks(&text, 2).map(|ticks| TICK * ticks).with_context(|| format!("{path} says {text:?}"))
}

/// The most memory that a process has had resident so far, in MiB.
pub(crate) fn peak_mib(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = read(&path)?;
    peak_kib(&text).map(|kib| kib / 1024.0).with_context(|| format!("{path} has no VmHWM"))
}

/// Tells how busy the machine was with what is no part of the benchmark. Figures of a run next to
/// busy neighbours say little.
pub(crate) struct Neighbours {
    began: Instant,
    before: Duration,
}

impl Neighbours {
    /// Starts to count. `pids` are those of the control plane that runs, if one does.
    pub(crate) fn watch(pids: &[u32]) -> Result<Self> {
        Ok(Self { began: Instant::now(), before: others(pids)? })
    }

    /// Cores that others used since then, this machine's host included.
    pub(crate) fn cores(&self, pids: &[u32]) -> Result<f64> {
        let used = others(pids)?.saturating_sub(self.before);
        Ok(used.as_secs_f64() / self.began.elapsed().as_secs_f64())
    }
}

/// CPU time of the machine without this process, those it has waited for, and `pids`.
fn others(pids: &[u32]) -> Result<Duration> {
    let stat = read("/proc/stat")?;
    let all = machine_ticks(&stat).with_context(|| format!("/proc/stat says {stat:?}"))?;
    let own = read("/proc/self/stat")?;
    let own = ticks(&own, 4).with_context(|| format!("/proc/self/stat says {own:?}"))?;
    let mut used = (TICK * all).saturating_sub(TICK * own);
    for pid in pids {
        used = used.saturating_sub(cpu(*pid)?);
    }
    Ok(used)
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {path}"))
}

/// The first `count` of: user and kernel time, and the same of children that were waited for.
fn ticks(stat: &str, count: usize) -> Option<u32> {
    // The name is in brackets and may have anything in it.
    let (_, fields) = stat.rsplit_once(") ")?;
    let times: Vec<&str> = fields.split(' ').skip(11).take(count).collect();
    if times.len() < count {
        return None;
    }
    times.iter().map(|time| time.parse::<u32>().ok()).sum()
}

/// All time that was not idle, what the host took away included.
fn machine_ticks(stat: &str) -> Option<u32> {
    let fields = stat.lines().next()?.strip_prefix("cpu ")?;
    let times: Option<Vec<u32>> =
        fields.split_whitespace().take(8).map(|time| time.parse().ok()).collect();
    let times = times.filter(|times| times.len() == 8)?;
    // The fourth and the fifth are idle, and waiting for a disk.
    Some(times[..3].iter().chain(&times[5..]).sum())
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
        assert_eq!(ticks(stat, 2), Some(280));
        assert_eq!(ticks(stat, 4), Some(298));
        assert_eq!(ticks("7 (a", 2), None);
        assert_eq!(ticks("7 (a) S 1 7", 2), None);
    }

    #[test]
    fn the_peak_is_not_the_present_size() {
        assert_eq!(peak_kib("VmPeak:\t 9 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 7 kB\n"), Some(2048.0));
        assert_eq!(peak_kib("VmRSS:\t 7 kB\n"), None);
    }

    #[test]
    fn a_machine_that_waits_is_idle() {
        let stat = "cpu  1 2 3 1000 1000 4 5 6 0 0\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(machine_ticks(stat), Some(21));
        assert_eq!(machine_ticks("cpu  1 2 3"), None);
    }

    #[test]
    fn this_process_has_used_something() {
        assert!(peak_mib(std::process::id()).unwrap() > 1.0);
        assert!(cpu(std::process::id()).is_ok());
        assert!(Neighbours::watch(&[]).and_then(|found| found.cores(&[])).is_ok());
    }
}
