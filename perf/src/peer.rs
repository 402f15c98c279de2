//! kube-scheduler's own SchedulePod on the same clusters, in the same run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cluster::{mixed_pod, node};
use crate::{SHAPES, SIZES};

/// Times the peer with all nodes scored, as we do, and with the sampling it does by default.
pub(crate) fn compare(
    oracle: &Path,
    seconds: u32,
    ours: &[f64],
    figures: &mut Vec<(String, f64)>,
) -> Result<()> {
    println!("\nBeside us, in process: kube-scheduler's SchedulePod and assume, its default");
    println!("parallelism; with every node scored, and with its default sampling of nodes.\n");
    println!(
        "{:>8} {:>12} {:>14} {:>8} {:>16} {:>8}",
        "nodes", "ours/s", "all scored/s", "times", "default/s", "times"
    );
    for ((nodes, pods), ours) in SIZES.into_iter().zip(ours) {
        let file = write_cluster(nodes, pods)?;
        let all = peer_rate(oracle, &file, 100, seconds);
        let sampled = peer_rate(oracle, &file, 0, seconds);
        std::fs::remove_file(&file).context("cannot remove the cluster file")?;
        let (all, sampled) = (all?, sampled?);
        let (times_all, times) = (ours / all, ours / sampled);
        println!(
            "{nodes:>8} {ours:>12.0} {all:>14.0} {times_all:>8.0} {sampled:>16.0} {times:>8.0}"
        );
        figures.push((format!("times_faster_all_scored_{nodes}_nodes"), times_all));
        figures.push((format!("times_faster_default_sampling_{nodes}_nodes"), times));
    }
    Ok(())
}

/// The cluster as JSON lines: a header, the nodes, the pods in the order they are scheduled.
fn write_cluster(nodes: usize, pods: usize) -> Result<PathBuf> {
    let path = std::env::temp_dir().join(format!("kubenexus-perf-{}.jsonl", std::process::id()));
    let mut out = BufWriter::new(File::create(&path).context("cannot write the cluster file")?);
    writeln!(out, "{}", json!({"nodes": nodes, "pods": pods}))?;
    for at in 0..nodes {
        writeln!(out, "{}", node(at))?;
    }
    for at in 0..pods {
        writeln!(out, "{}", mixed_pod(at, at % SHAPES))?;
    }
    out.flush()?;
    Ok(path)
}

fn peer_rate(oracle: &Path, file: &Path, percentage: u32, seconds: u32) -> Result<f64> {
    let output = Command::new(oracle)
        .args(["bench", "-percentage", &percentage.to_string()])
        .args(["-max-seconds", &seconds.to_string()])
        .arg(file)
        .output()
        .with_context(|| format!("cannot start {}", oracle.display()))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the peer failed: {errors}");
    let answer: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("the peer printed no JSON: {errors}"))?;
    answer["pods_per_second"].as_f64().context("the peer printed no rate")
}
