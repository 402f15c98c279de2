//! Gangs that say how they want to be spread over zones.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};

use super::{annotated, exclusive, machine, zones_of};
use crate::check::{self, Expected};
use crate::objects::{Election, many};
use crate::suite::Run;
use crate::world::{Start, World, name_of, node_of};

const SPREAD: &str = "scheduling.kubenexus.io/gang-numa-spread";

/// A packed gang is in one zone of one of three nodes, a balanced one has as many pods in every
/// zone, and of an isolated one no two share a zone.
pub(crate) fn gang(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(3, &machine("host", 10, 40, &[0, 0])).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let mut deleted = BTreeSet::new();
        // By how full zones get, without a word about the gang, the first would leave a zone that
        // is almost full, and the others would fill one.
        let gangs = [
            ("packed", (3, 12), 3, vec![3]),
            ("balanced", (2, 1), 4, vec![2, 2]),
            ("isolated", (2, 1), 2, vec![1, 1]),
        ];
        for (spread, (cpus, gib), size, expected) in gangs {
            let mut template = annotated(exclusive(spread, cpus, gib, 0), SPREAD, spread);
            let labels = &mut template["metadata"]["labels"];
            labels["pod-group.scheduling.kubenexus.io/name"] = spread.into();
            labels["pod-group.scheduling.kubenexus.io/min-available"] = size.to_string().into();
            if spread != "packed" {
                // They say how to use the zones of a node, and nothing of which nodes.
                template["spec"]["nodeSelector"]["kubernetes.io/hostname"] = "host-2".into();
            }
            world.create_pods(many(&template, size)).await?;
            spread_as(world, spread, size, &expected).await?;
            let expected = Expected { deleted: deleted.clone(), ..Expected::bound(size) };
            check::settled(world, &expected).await?;
            deleted.extend((0..size).map(|at| format!("{spread}-{at}")));
            world.delete_pods().await?;
            world.wait_no_pods().await?;
        }
        Ok(())
    })
}

/// Waits until a gang is bound, and counts its pods by node and zone.
async fn spread_as(world: &World, gang: &str, size: usize, expected: &[usize]) -> Result<()> {
    let pods = world.wait_bound(size, 30).await?;
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| name_of(pod).starts_with(gang)) {
        *counts.entry((node_of(pod), zones_of(pod))).or_default() += 1;
    }
    let found: Vec<usize> = counts.values().copied().collect();
    let is_told = counts.keys().all(|(_, zones)| zones.is_some());
    ensure!(is_told && found == expected, "the {gang} gang is spread {counts:?}");
    Ok(())
}
