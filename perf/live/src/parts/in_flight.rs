//! How many bindings in flight suit the null binder best.

use anyhow::Result;

use crate::contender::Contender;
use crate::objects::Workload;
use crate::parts::Bench;
use crate::run::{Arrival, Plan, run};
use crate::stage::Stage;

/// Runs the null binder with several numbers.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let mut stage = Stage::start(&bench.programs, bench.sizes.nodes[0]).await?;
    let (workload, arrival) = (Workload::Plain, Arrival::Before);
    let plan = Plan { workload, pods: bench.sizes.pods, arrival };
    println!("\nNull binder, by bindings in flight:\n");
    println!("{:>10} {:>10}", "in flight", "pods/s");
    for in_flight in [8, 16, 32, 64, 128] {
        stage.programs.in_flight = in_flight;
        let rate = run(&stage, Contender::NullBinder, plan).await?.rate;
        println!("{in_flight:>10} {rate:>10.0}");
    }
    Ok(())
}
