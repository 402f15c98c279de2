//! The whole of our own profile, with pods that every part of it speaks about, beside null binders.

use anyhow::Result;

use crate::contender::Contender;
use crate::objects::Workload;
use crate::parts::numa::{NODES, in_turns, show};
use crate::parts::{Bench, throughput};
use crate::run::{Arrival, Plan, run};
use crate::stage::Stage;

/// Null binders do not know what is asked for.
const CONTENDERS: [Contender; 3] =
    [Contender::NullBinder, Contender::WatchingNullBinder, Contender::KubeNexus];

/// How long pods take one at a time, how fast those are bound that wait, and peak memory.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let stage = Stage::start_whole(&bench.programs, NODES).await?;
    let rows = in_turns(bench, &stage, Workload::Whole).await?;
    let pods = bench.sizes.single_pods;
    println!("\nWhole profile: {pods} pods one at a time, gangs of four at once, {NODES} nodes.");
    show(bench, &rows, Workload::Whole);
    throughput::waiting(bench, &stage, &CONTENDERS, Workload::Whole, NODES).await?;
    let (_, pods) = bench.sizes.memory;
    for contender in bench.present(&[Contender::KubeNexus]) {
        let plan = Plan { workload: Workload::Whole, pods, arrival: Arrival::Before };
        let mib = run(&stage, contender, plan).await?.peak_mib;
        println!("\nPeak memory with {pods} of these pods bound: {mib:.1} MiB; 50 are wanted.");
        bench.figures.put(format!("live_whole_peak_mib_{NODES}_{pods}"), mib);
    }
    Ok(())
}
