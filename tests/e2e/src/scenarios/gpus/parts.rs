//! Parts of GPUs, where something lets pods share one.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::{
    GPU, annotated, asking, codes, counted, create, delete, goes_to, gpus_of, machine, waits,
};
use crate::cards::FRACTION;
use crate::check::{self, Expected};
use crate::objects::Election;
use crate::suite::Run;
use crate::world::{Start, World};

const A100: (&str, u32) = ("NVIDIA-A100-SXM4-40GB", 40960);

/// A fraction is refused where nothing shares GPUs, and given where each is offered four times by
/// time-slicing, as far as one GPU has it, however many replicas are left. A scheduler that starts
/// anew counts by the GPUs that are written on pods: by their fractions alone, those that are left
/// would fit on one GPU.
pub(crate) fn fractions(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &machine("whole", 2, A100)).await?;
        let first = world.run_scheduler(Start::plain(Election::Off)).await?;
        create(world, part("wide-0", "0.6")).await?;
        let nothing = "1 node(s) had nothing that lets pods share a GPU";
        waits(world, "wide-0", 1, nothing).await?;
        let found = codes(world, &part("wide-0", "0.6")).await?;
        ensure!(found == ["NoGpuSharing"], "the verdict is {found:?}");
        counted(world, first, "NoGpuSharing").await?;

        world.create_nodes(1, &shared("shared", 2)).await?;
        goes_to(world, "wide-0", "shared-0", None).await?;
        for (name, of) in [("wide-1", "0.6"), ("narrow-0", "0.4"), ("narrow-1", "0.4")] {
            create(world, part(name, of)).await?;
            goes_to(world, name, "shared-0", None).await?;
        }
        create(world, part("late", "0.7")).await?;
        let full = "1 node(s) had too little left of their shared GPUs";
        waits(world, "late", 2, &format!("{nothing}, {full}")).await?;
        check::settled(world, &Expected { bound: 4, waiting: 1, ..Expected::default() }).await?;

        // One wide and one narrow pod are left, each on a GPU of its own.
        let kept = gpus_of(world, "wide-0").await?;
        let beside = if gpus_of(world, "narrow-0").await? == kept { 0 } else { 1 };
        world.kill(first)?;
        delete(world, "wide-1").await?;
        delete(world, &format!("narrow-{beside}")).await?;
        again(world, &kept).await?;
        let deleted = ["wide-1".to_owned(), format!("narrow-{beside}")].into();
        let settled = Expected { bound: 4, waiting: 1, deleted, ..Expected::default() };
        check::settled(world, &settled).await
    })
}

/// Goes on with another scheduler, when 0.6 of the GPU `wide` and 0.4 of the other are taken.
async fn again(world: &mut World, wide: &str) -> Result<()> {
    world.run_scheduler(Start::plain(Election::Off)).await?;
    // Last in the queue, so that `late` was looked at before.
    create(world, part("rest", "0.4")).await?;
    goes_to(world, "rest", "shared-0", None).await?;
    create(world, part("half", "0.6")).await?;
    goes_to(world, "half", "shared-0", None).await?;
    let found = (gpus_of(world, "rest").await?, gpus_of(world, "half").await?);
    ensure!(found.0 == wide && found.1 != wide, "rest and half are on {found:?}, 0.6 on {wide}");
    Ok(())
}

/// A pod that uses a part of one GPU.
fn part(name: &str, of: &str) -> Value {
    annotated(asking(name, 1), FRACTION, of)
}

/// A node that offers each of its GPUs four times.
fn shared(name: &str, gpus: u32) -> Value {
    let mut node = machine(name, gpus, A100);
    let labels = &mut node["metadata"]["labels"];
    labels["nvidia.com/gpu.replicas"] = "4".into();
    labels["nvidia.com/gpu.sharing-strategy"] = "time-slicing".into();
    labels["nvidia.com/gpu.product"] = format!("{}-SHARED", A100.0).into();
    for amounts in ["capacity", "allocatable"] {
        node["status"][amounts][GPU] = (gpus * 4).to_string().into();
    }
    node
}
