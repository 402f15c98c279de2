//! Objects that tell of zones and devices, and count more than labels.

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::{POLICY, annotated, create, delete, exclusive, goes_to, machine, waits};
use crate::check::{self, Expected};
use crate::objects::Election;
use crate::scenarios::agent::{TOPOLOGIES, define, undefine};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World};

/// A NodeResourceTopology counts more than labels, and whoever wrote these is told once what they
/// say in vain. Without it, they count.
pub(crate) fn topology(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        define(world).await?;
        // Events of nodes outlive scenarios, so the node has a name of its own.
        let node = format!("{}-0", world.namespace);
        world.create_nodes(1, &machine(&world.namespace, 16, 32, &[0, 0])).await?;
        let told = json!({
            "apiVersion": "topology.node.k8s.io/v1alpha2",
            "kind": "NodeResourceTopology",
            "metadata": {"name": node},
            "zones": (0..4).map(zone).collect::<Vec<_>>(),
        });
        world.plane.create(TOPOLOGIES, [told].into_iter()).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        let asked = |pod| annotated(pod, POLICY, "single-numa");
        create(world, asked(exclusive("wide", 12, 1, 0))).await?;
        let why = "1 node(s) had no NUMA nodes free that satisfy single-numa (estimated)";
        waits(world, "wide", 1, why).await?;
        let preferred = "scheduling.kubenexus.io/numa-affinity-node-id";
        create(world, annotated(asked(exclusive("last", 6, 1, 0)), preferred, "3")).await?;
        goes_to(world, "last", &node, Some("3")).await?;

        let says = "as the node's NodeResourceTopology says";
        let expected =
            [("count", "2", "4"), ("0-cpus", "16 CPUs", "8"), ("1-cpus", "16 CPUs", "8")].map(
                |(key, value, expected)| {
                    let key = format!("numa.kubenexus.io/node-{key}");
                    format!("{key} is {value:?}; expected {expected}, {says}")
                },
            );
        let notes = ignored(world, &node).await?;
        ensure!(notes == [expected.join("; ")], "{notes:#?}");

        world.delete_all(TOPOLOGIES).await?;
        // Labels have no zone 3: the other pod is where it fits best.
        goes_to(world, "wide", &node, Some("1")).await?;
        ensure!(ignored(world, &node).await?.len() == 1, "told again");
        delete(world, "last").await?;
        let deleted = ["last".to_owned()].into();
        check::settled(world, &Expected { deleted, ..Expected::bound(1) }).await?;
        undefine(world).await
    })
}

/// A zone with eight CPUs of which no pod has any, as an updater tells of it.
fn zone(id: u32) -> Value {
    let amount = |name: &str, amount: &str| json!({"name": name, "capacity": amount, "allocatable": amount, "available": amount});
    json!({
        "name": format!("node-{id}"), "type": "Node",
        "resources": [amount("cpu", "8"), amount("memory", "16Gi")],
    })
}

/// Waits until a node has an event that something it says is ignored. The notes of all.
async fn ignored(world: &World, node: &str) -> Result<Vec<String>> {
    let events: Api<Event> = Api::namespaced(world.client.clone(), "default");
    let what = format!("an event about {node}");
    until(&what, Duration::from_secs(30), || async {
        let all = events.list(&ListParams::default()).await?.items.into_iter();
        let own = all.filter(|event| {
            let about = event.regarding.as_ref().and_then(|it| it.name.as_deref());
            about == Some(node) && event.reason.as_deref() == Some("HardwareIgnored")
        });
        let notes: Vec<_> = own.filter_map(|event| event.note).collect();
        Ok(if notes.is_empty() { Err("there is none".into()) } else { Ok(notes) })
    })
    .await
}
