//! Memory that pods ask of their GPUs.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use journal::{Decided, Segment, What};
use serde_json::Value;

use super::{
    annotated, asking, codes, counted, create, delete, goes_to, gpus_of, machine, notes, offering,
    waits,
};
use crate::cards::MEMORY;
use crate::check::{self, Expected};
use crate::objects::Election;
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World, condition_of};

const T4: (&str, u32) = ("Tesla-T4", 15360);
const H100: (&str, u32) = ("NVIDIA-H100-80GB-HBM3", 81559);
const TOTAL: &str = "scheduling.kubenexus.io/vram-request-total";
const WORD: &str = "InvalidVRAMRequest";

/// Memory of each GPU, or of all together, rules out cards that are too small and those of which
/// nothing is known; what fits a small card leaves the large ones alone. A pod that finds no such
/// card free starts when one is.
pub(crate) fn memory(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &machine("t4", 6, T4)).await?;
        world.create_nodes(1, &machine("h100", 8, H100)).await?;
        world.create_nodes(1, &offering("bare", 8)).await?;
        let scheduler = world.run_scheduler(Start::plain(Election::Quick)).await?;
        create(world, annotated(asking("large", 1), MEMORY, "40Gi")).await?;
        goes_to(world, "large", "h100-0", None).await?;
        gpus_of(world, "large").await?;
        create(world, annotated(asking("small", 1), MEMORY, "12Gi")).await?;
        goes_to(world, "small", "t4-0", None).await?;
        create(world, annotated(asking("wide", 4), TOTAL, "160Gi")).await?;
        goes_to(world, "wide", "h100-0", None).await?;
        let gpus = gpus_of(world, "wide").await?;
        ensure!(gpus.split(',').count() == 4, "wide has the GPUs {gpus}");

        let unknown = "1 node(s) had GPUs of unknown memory";
        let huge = annotated(asking("huge", 1), MEMORY, "90Gi");
        create(world, huge.clone()).await?;
        let why = format!("{unknown}, 2 node(s) had too few GPUs with the requested memory");
        waits(world, "huge", 3, &why).await?;
        let found = codes(world, &huge).await?;
        ensure!(found.iter().any(|code| code == "GpuMemoryTooSmall"), "{found:?}");
        counted(world, scheduler, "GpuMemoryTooSmall").await?;

        create(world, annotated(asking("next", 4), MEMORY, "40Gi")).await?;
        let small = "1 node(s) had too few GPUs with the requested memory";
        let why = format!("1 Insufficient nvidia.com/gpu, {unknown}, {small}");
        waits(world, "next", 3, &why).await?;
        check::settled(world, &Expected { bound: 3, waiting: 2, ..Expected::default() }).await?;
        delete(world, "wide").await?;
        goes_to(world, "next", "h100-0", None).await?;
        let deleted = ["wide".to_owned()].into();
        let settled = Expected { bound: 3, waiting: 1, deleted, ..Expected::default() };
        check::settled(world, &settled).await
    })
}

/// A pod whose request means nothing waits on an empty cluster, and is told which annotation says
/// what and what was expected; machines are told a word. Made anew with a request that means
/// something, it starts.
pub(crate) fn invalid(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &machine("h100", 8, H100)).await?;
        let folder = world.plane.folder().join(format!("{}-journal", world.namespace));
        let mut start = Start::plain(Election::Off);
        start.flags.push(format!("--journal={}", folder.display()));
        let scheduler = world.run_scheduler(start).await?;
        let wrong = annotated(asking("pod", 1), MEMORY, "40 GB");
        create(world, wrong.clone()).await?;
        let expected = "a quantity of bytes above 0 and up to 1Pi, such as 40Gi";
        let fault = format!("annotation {MEMORY} is \"40 GB\": expected {expected}");
        let pod = world.wait_waiting("pod", "Unschedulable", &fault).await?;
        let start = format!("0/1 nodes are available: GPU memory request: {fault}.");
        let condition = condition_of(&pod, "PodScheduled");
        let message = condition["message"].as_str().unwrap_or_default();
        ensure!(condition["status"] == "False" && message.starts_with(&start), "{condition}");
        let told = notes(world, "FailedScheduling", "pod").await?;
        ensure!(told[0].starts_with(&start), "{told:?}");
        let found = codes(world, &wrong).await?;
        ensure!(found == [WORD], "the verdict is {found:?}");
        counted(world, scheduler, WORD).await?;
        simulated(world).await?;
        until("the wait to be in the journal", Duration::from_secs(10), || async {
            let codes = journalled(&folder)?;
            Ok((codes == [WORD]).then_some(()).ok_or(format!("{codes:?}")))
        })
        .await?;

        delete(world, "pod").await?;
        create(world, annotated(asking("pod", 1), MEMORY, "40Gi")).await?;
        goes_to(world, "pod", "h100-0", None).await?;
        check::settled(world, &Expected::bound(1)).await
    })
}

/// Takes a snapshot and fails unless its pod waits for the same reason in a simulation.
async fn simulated(world: &World) -> Result<()> {
    let file = world.plane.folder().join(format!("{}-snapshot.json", world.namespace));
    let file = file.display().to_string();
    let taken = world.command(&["snapshot", "--output", &file]).await?;
    ensure!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
    let output = world.command(&["simulate", &file, "--json"]).await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let codes = &report["waiting"][0]["reason_codes"];
    ensure!(*codes == serde_json::json!([WORD]), "a simulation says {}", report["waiting"]);
    Ok(())
}

/// The codes of all waits in a journal, each once.
fn journalled(folder: &Path) -> Result<Vec<String>> {
    let mut codes = Vec::new();
    for file in journal::list(folder)? {
        let Some(mut segment) = Segment::open(&file.path)? else { continue };
        while let Some(record) = segment.next_record()? {
            let What::Stepped(decisions) = record.what else { continue };
            for decided in decisions {
                if let Decided::Wait { codes: of, .. } = decided {
                    codes.extend(of.into_iter().map(String::from));
                }
            }
        }
    }
    codes.dedup();
    Ok(codes)
}
