//! Islands of GPUs that are left whole for the pods that need all of one.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::{asking, create, machine};
use crate::check::{self, Expected};
use crate::objects::{Election, SCHEDULER, many};
use crate::suite::Run;
use crate::world::{Start, World, name_of, node_of};

const SMALL: usize = 8;
const LARGE: usize = 2;

/// Pods with one GPU come before those with eight. By us they go where islands are broken already
/// or small, and both large pods start. kube-scheduler spreads the same pods over what is most
/// empty, which is the islands, and the large pods wait while eighteen GPUs are free.
pub(crate) fn islands(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let mut island = machine("island", 8, ("NVIDIA-H100-80GB-HBM3", 81559));
        island["metadata"]["labels"]["nvidia.com/gpu.topology"] = "nvswitch".into();
        world.create_nodes(3, &island).await?;
        world.create_nodes(1, &machine("few", 4, ("NVIDIA-H100-PCIe", 81559))).await?;
        world.run_scheduler(Start::plain(Election::Off)).await?;
        let broken = arrive(world, SCHEDULER).await?;
        ensure!(broken.is_empty(), "single GPUs were taken of {broken:?}");
        world.wait_bound(1 + SMALL + LARGE, 30).await?;
        let by_others = ["early".to_owned()].into();
        let all = Expected { by_others, ..Expected::bound(1 + SMALL + LARGE) };
        check::settled(world, &all).await?;
        world.delete_pods().await?;
        world.wait_no_pods().await?;

        world.run_kube_scheduler().await?;
        let broken = arrive(world, "default-scheduler").await?;
        let both = ["island-0", "island-1"].map(str::to_owned);
        ensure!(broken == both.into(), "kube-scheduler took single GPUs of {broken:?} only");
        for number in 0..LARGE {
            let why = "4 Insufficient nvidia.com/gpu";
            world.wait_waiting(&format!("large-{number}"), "Unschedulable", why).await?;
        }
        Ok(())
    })
}

/// One pod is there, small ones come, then large ones. Gives the islands that were whole and that
/// small ones took GPUs of.
async fn arrive(world: &World, scheduler: &str) -> Result<BTreeSet<String>> {
    let named = |mut pod: Value| {
        pod["spec"]["schedulerName"] = scheduler.into();
        pod
    };
    let mut early = named(asking("early", 2));
    early["spec"]["nodeName"] = json!("island-2");
    create(world, early).await?;
    world.create_pods(many(&named(asking("small", 1)), SMALL)).await?;
    let pods = world.wait_bound(1 + SMALL, 30).await?;
    world.create_pods(many(&named(asking("large", 8)), LARGE)).await?;
    let small = pods.iter().filter(|pod| name_of(pod).starts_with("small"));
    let taken = small.filter_map(node_of).filter(|node| ["island-0", "island-1"].contains(node));
    Ok(taken.map(str::to_owned).collect())
}
