//! Peak memory of the schedulers with many pods.

use anyhow::Result;

use crate::objects::Workload;
use crate::parts::{Bench, SCHEDULERS};
use crate::run::{Arrival, Plan, run};
use crate::stage::Stage;

/// Lets each scheduler bind all pods, from its start to its last event.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, pods) = bench.sizes.memory;
    let stage = Stage::start(&bench.programs, nodes).await?;
    let plan = Plan { workload: Workload::Diverse, pods, arrival: Arrival::Before };
    let mut rows = Vec::new();
    for contender in bench.present(&SCHEDULERS) {
        rows.push((contender, run(&stage, contender, plan).await?.peak_mib));
    }
    println!("\nPeak memory: {pods} diverse pods bound on {nodes} nodes.\n");
    println!("{:<26} {:>7}", "", "MiB");
    for (contender, mib) in rows {
        println!("{:<26} {mib:>7.1}", contender.title());
        let name = contender.name();
        bench.figures.put(format!("live_peak_mib_{name}_{nodes}_{pods}"), mib);
    }
    Ok(())
}
