//! What the kernel tells about this process, read from `/proc/self` when somebody asks.
//!
//! What cannot be read is left out: on a system without `/proc` there are simply fewer metrics.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Clock ticks per second in `/proc`: the same on every Linux, whatever the kernel's own clock.
const TICKS: f64 = 100.0;

/// Metrics of the process, with the names every client library uses.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mut put = |name, help, value: Option<f64>, is_counter| {
            let Some(value) = value else { return Ok(()) };
            if is_counter {
                write(&mut encoder, name, help, &ConstCounter::new(value))
            } else {
                write(&mut encoder, name, help, &ConstGauge::new(value))
            }
        };
        let cpu = ticks(&stat, 14).zip(ticks(&stat, 15)).map(|(user, system)| user + system);
        put("process_cpu_seconds", "Total user and system CPU time spent in seconds.", cpu, true)?;
        let help = "Start time of the process since unix epoch in seconds.";
        let start = ticks(&stat, 22).zip(boot_seconds()).map(|(start, boot)| start + boot);
        put("process_start_time_seconds", help, start, false)?;
        let help = "Resident memory size in bytes.";
        put("process_resident_memory_bytes", help, bytes(&status, "VmRSS:"), false)?;
        let help = "Virtual memory size in bytes.";
        put("process_virtual_memory_bytes", help, bytes(&status, "VmSize:"), false)?;
        put("process_open_fds", "Number of open file descriptors.", open_files(), false)?;
        put("process_max_fds", "Maximum number of open file descriptors.", files_max(), false)?;
        put("process_threads", "Number of threads.", number(&status, "Threads:"), false)
    }
}

fn write(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> Result<(), fmt::Error> {
    let metric_encoder = encoder.encode_descriptor(name, help, None, metric.metric_type())?;
    metric.encode(metric_encoder)
}

/// Seconds in a field of `/proc/self/stat`, counted from one as its manual does.
fn ticks(stat: &str, field: usize) -> Option<f64> {
    // The second field is the name in parentheses, which may have spaces and parentheses in it.
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks: f64 = rest.split_whitespace().nth(field - 3)?.parse().ok()?;
    Some(ticks / TICKS)
}

fn boot_seconds() -> Option<f64> {
    number(&fs::read_to_string("/proc/stat").ok()?, "btime")
}

/// The first number after a word at the start of a line.
fn number(text: &str, word: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(word))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// A line of `/proc/self/status`, which counts in units of 1024 bytes.
fn bytes(status: &str, word: &str) -> Option<f64> {
    number(status, word).map(|kibibytes| kibibytes * 1024.0)
}

fn open_files() -> Option<f64> {
    // Without the one that this look opens.
    let count = fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1);
    u32::try_from(count).ok().map(f64::from)
}

fn files_max() -> Option<f64> {
    number(&fs::read_to_string("/proc/self/limits").ok()?, "Max open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 150 250 0 0 20 0 1 0 9000 1 1";
        assert_eq!((ticks(stat, 14), ticks(stat, 15)), (Some(1.5), Some(2.5)));
        assert_eq!(ticks(stat, 22), Some(90.0));
        assert_eq!(ticks("", 14), None);
    }

    #[test]
    fn lines_are_found_by_their_word() {
        let status = "Name:\tx\nVmRSS:\t     2 kB\nThreads:\t3\n";
        assert_eq!(bytes(status, "VmRSS:"), Some(2048.0));
        assert_eq!(number(status, "Threads:"), Some(3.0));
        assert_eq!(number(status, "VmSize:"), None);
        let limits = "Max open files            1024                 4096                 files\n";
        assert_eq!(number(limits, "Max open files"), Some(1024.0));
    }
}
