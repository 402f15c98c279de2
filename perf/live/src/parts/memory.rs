//! Peak memory of the schedulers with many pods.

use anyhow::Result;

use crate::contender::Contender;
use crate::objects::Workload;
use crate::parts::{Bench, SCHEDULERS};
use crate::run::{Arrival, Plan, run};
use crate::stage::Stage;

/// Lets each scheduler bind all pods, from its start to its last event; and ours once more, where
/// nodes tell of NUMA nodes and GPUs and the pods take them.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, pods) = bench.sizes.memory;
    let stage = Stage::start(&bench.programs, nodes).await?;
    let mut rows = Vec::new();
    for contender in bench.present(&SCHEDULERS) {
        rows.push((contender, "diverse", peak(&stage, contender, Workload::Diverse, pods).await?));
    }
    drop(stage);
    let stage = Stage::start_with_zones(&bench.programs, nodes).await?;
    for contender in bench.present(&[Contender::KubeNexus]) {
        rows.push((contender, "numa", peak(&stage, contender, Workload::Numa, pods).await?));
    }
    println!("\nPeak memory: {pods} pods bound on {nodes} nodes. Where pods are NUMA-aware, nodes");
    println!("tell of two NUMA nodes and eight GPUs each.\n");
    println!("{:<26} {:>8} {:>7}", "", "pods", "MiB");
    for (contender, workload, mib) in rows {
        println!("{:<26} {workload:>8} {mib:>7.1}", contender.title());
        let (name, is_first) = (contender.name(), workload == "diverse");
        let name = if is_first { name.into() } else { format!("{name}_{workload}") };
        bench.figures.put(format!("live_peak_mib_{name}_{nodes}_{pods}"), mib);
    }
    Ok(())
}

async fn peak(stage: &Stage, contender: Contender, workload: Workload, pods: usize) -> Result<f64> {
    let plan = Plan { workload, pods, arrival: Arrival::Before };
    Ok(run(stage, contender, plan).await?.peak_mib)
}
