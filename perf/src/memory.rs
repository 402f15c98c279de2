//! Memory held by the engine: what a fresh process grows by when nodes and pods are put in.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::metric::{Measured, Metric};
use crate::run;
use crate::workload::{Size, Workload};

/// Starts this program once more, so that nothing else it did counts.
pub(crate) fn measure(workload: &Workload, size: &Size, measured: &mut Measured) -> Result<()> {
    let output = Command::new(std::env::current_exe()?)
        .args(["memory", &workload.file, &serde_json::to_string(size)?])
        .output()
        .context("cannot start the memory run")?;
    let text = String::from_utf8(output.stdout)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let Ok([per_node, per_pod, mebibytes]) = numbers.as_deref() else {
        bail!("the memory run printed {text:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    measured.insert(Metric::BytesPerNode, *per_node);
    measured.insert(Metric::BytesPerPod, *per_pod);
    measured.insert(Metric::Mebibytes, *mebibytes);
    Ok(())
}

/// Runs a workload once and prints what nodes and pods took, and all there is in the end.
pub(crate) fn print(workload: &Workload, size: &Size) -> Result<()> {
    let empty = resident()?;
    let sample = run::run(workload, size, None)?;
    let for_nodes = sample.resident_with_nodes.saturating_sub(empty) as f64;
    let for_pods = sample.resident.saturating_sub(sample.resident_with_nodes) as f64;
    let per = |bytes: f64, count: usize| bytes / count.max(1) as f64;
    println!(
        "{} {} {}",
        per(for_nodes, sample.nodes_known),
        per(for_pods, sample.pods_known),
        sample.resident as f64 / f64::from(1 << 20)
    );
    Ok(())
}

/// Resident memory of this process in bytes.
pub(crate) fn resident() -> Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").context("needs Linux")?;
    let pages = statm.split_whitespace().nth(1).context("statm has a second number")?;
    Ok(pages.parse::<u64>()? * 4096)
}
