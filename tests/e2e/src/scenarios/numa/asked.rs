//! What pods ask for by annotation: one zone, one zone alone, or no more zones than they need.

use anyhow::ensure;
use serde_json::json;

use super::{
    KUBELET, POLICY, annotated, bound_and_no_more, create, delete, example, exclusive, goes_to,
    kubelet_of, machine, notes, placed, waits, with_kubelet,
};
use crate::check::{self, Expected};
use crate::objects::{Election, pod};
use crate::suite::Run;
use crate::world::{Start, World};

/// The example goes where one zone has all of it, though another node has more free, and its
/// zone is written on it by the binding itself. A second one is told why it waits while there is
/// room on both nodes and in no zone, and starts when a zone is freed.
pub(crate) fn single(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        // `wide` has the most of everything, but in zones that are too small.
        world.create_nodes(1, &machine("wide", 12, 48, &[1, 1, 1, 1, 1])).await?;
        world.create_nodes(1, &machine("host", 24, 96, &[2, 2])).await?;
        create(world, placed(exclusive("filler", 10, 8, 0), "host-0", "1")).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.apply_example("numa-pod.yaml").await?;
        goes_to(world, "numa-pod", "host-0", Some("0")).await?;

        let mut second = example(world, "numa-pod.yaml").await?;
        second["metadata"]["name"] = "second".into();
        create(world, second).await?;
        let why = "2 node(s) had no NUMA nodes free that satisfy single-numa (estimated)";
        waits(world, "second", 2, why).await?;
        let told = notes(world, "FailedScheduling", "second").await?;
        ensure!(told[0].starts_with(&format!("0/2 nodes are available: {why}. ")), "{told:?}");
        bound_and_no_more(world, &["numa-pod"])?;
        let by_others = ["filler".to_owned()].into();
        let waiting = Expected { bound: 2, waiting: 1, by_others, ..Expected::default() };
        check::settled(world, &waiting).await?;

        delete(world, "filler").await?;
        goes_to(world, "second", "host-0", Some("1")).await?;
        check::settled(world, &Expected::bound(2)).await
    })
}

/// GPUs of two zones with CPUs that fit one are refused to a pod that is restricted, and given
/// with CPUs that need both. A kubelet that insists on less does not count, until it does.
pub(crate) fn restricted(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &machine("host", 8, 32, &[2, 2])).await?;
        let weak = with_kubelet(machine("weak", 8, 32, &[2, 2]), "best-effort");
        world.create_nodes(1, &weak).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let asked = |pod| annotated(pod, POLICY, "restricted");
        create(world, asked(exclusive("uneven", 2, 4, 4))).await?;
        let weaker =
            "1 node(s) had a kubelet whose topologyManagerPolicy does not guarantee restricted";
        let no_zones = "1 node(s) had no NUMA nodes free that satisfy restricted (estimated)";
        waits(world, "uneven", 2, &format!("{weaker}, {no_zones}")).await?;
        create(world, asked(exclusive("even", 10, 40, 4))).await?;
        goes_to(world, "even", "host-0", Some("0,1")).await?;

        let stronger = json!({"metadata": {"annotations": {KUBELET: kubelet_of("restricted")}}});
        world.patch("/api/v1/nodes/weak-0", &stronger).await?;
        let refused =
            "1 node(s) had a kubelet that would reject the pod with TopologyAffinityError";
        waits(world, "uneven", 2, &format!("1 Insufficient {}, {refused}", super::GPU)).await?;
        create(world, asked(exclusive("narrow", 2, 4, 2))).await?;
        goes_to(world, "narrow", "weak-0", Some("0")).await?;
        check::settled(world, &Expected { bound: 2, waiting: 1, ..Expected::default() }).await
    })
}

/// An isolated pod goes where no pod has CPUs of its own. Later ones that want some are kept off
/// its zone, even if they say nothing of zones; pods that share CPUs are not, and once it is gone
/// nobody is.
pub(crate) fn isolated(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &machine("host", 4, 16, &[0, 0])).await?;
        create(world, placed(exclusive("first", 1, 1, 0), "host-0", "0")).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        create(world, annotated(exclusive("alone", 2, 1, 0), POLICY, "isolated")).await?;
        goes_to(world, "alone", "host-0", Some("1")).await?;
        create(world, exclusive("beside", 3, 1, 0)).await?;
        goes_to(world, "beside", "host-0", Some("0")).await?;

        create(world, annotated(exclusive("other", 1, 1, 0), POLICY, "isolated")).await?;
        create(world, exclusive("late", 1, 1, 0)).await?;
        let kept = "1 node(s) had room only in NUMA nodes of isolated pods";
        waits(world, "late", 1, kept).await?;
        waits(world, "other", 1, kept).await?;
        create(world, pod("shared", "1", "64Mi")).await?;
        goes_to(world, "shared", "host-0", None).await?;
        delete(world, "other").await?;
        delete(world, "alone").await?;
        goes_to(world, "late", "host-0", Some("1")).await?;
        let by_others = ["first".to_owned()].into();
        let deleted = ["alone".to_owned()].into();
        check::settled(world, &Expected { by_others, deleted, ..Expected::bound(4) }).await
    })
}
