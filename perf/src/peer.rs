//! kube-scheduler's own SchedulePod, or ScheduleOne for PodGroups, on the same clusters, in the
//! same run.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::metric::{Measured, Metric};
use crate::workload::{Size, Step, Workload};
use crate::world::World;

/// The program that links kube-scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) oracle: PathBuf,
    /// How long each of its runs may take.
    pub(crate) seconds: u32,
}

impl Peer {
    /// Times it with all nodes scored, as we do, and with the sampling it does by default. It uses
    /// its default parallelism; both are measured by the clock.
    pub(crate) fn measure(
        &self,
        workload: &Workload,
        size: &Size,
        ours: f64,
        measured: &mut Measured,
    ) -> Result<()> {
        let file = write_cluster(workload, size)?;
        let all = self.rate(&file, 100);
        // It takes all nodes of a domain as it is, unless there are more than 100.
        let sampled = (!workload.has_pod_groups()).then(|| self.rate(&file, 0)).transpose();
        std::fs::remove_file(&file).context("cannot remove the cluster file")?;
        let (all, sampled) = (all?, sampled?);
        measured.extend([(Metric::PeerAllScored, all), (Metric::TimesFasterAllScored, ours / all)]);
        if let Some(sampled) = sampled {
            measured.extend([
                (Metric::PeerDefaultSampling, sampled),
                (Metric::TimesFasterDefaultSampling, ours / sampled),
            ]);
        }
        Ok(())
    }

    fn rate(&self, file: &Path, percentage: u32) -> Result<f64> {
        let output = Command::new(&self.oracle)
            .args(["bench", "-percentage", &percentage.to_string()])
            .args(["-max-seconds", &self.seconds.to_string()])
            .arg(file)
            .output()
            .with_context(|| format!("cannot start {}", self.oracle.display()))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the peer failed: {errors}");
        let answer: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("the peer printed no JSON: {errors}"))?;
        answer["pods_per_second"].as_f64().context("the peer printed no rate")
    }
}

/// The cluster as JSON lines: a header, namespaces, PodGroups, nodes and pods. Those without a node
/// are in the order they are scheduled.
fn write_cluster(workload: &Workload, size: &Size) -> Result<PathBuf> {
    let mut world = World::new(workload, size);
    let (nodes, pods) = (size["nodes"], world.pods_created());
    let path = std::env::temp_dir().join(format!("kubenexus-perf-{}.jsonl", std::process::id()));
    let mut out = BufWriter::new(File::create(&path).context("cannot write the cluster file")?);
    writeln!(out, "{}", json!({"nodes": nodes, "pods": pods}))?;
    for namespace in world.namespaces() {
        writeln!(out, "{namespace}")?;
    }
    for group in world.pod_groups() {
        writeln!(out, "{group}")?;
    }
    for _ in 0..nodes {
        writeln!(out, "{}", world.join())?;
    }
    for step in &workload.steps {
        let Step::CreatePods(step) = &step.value else { continue };
        for at in world.created_by(step) {
            let pod = match step.bound {
                true => world.pod_on(at, world.node_in_turn(at)),
                false => world.pod(at),
            };
            writeln!(out, "{pod}")?;
        }
    }
    out.flush()?;
    Ok(path)
}
