//! Objects that tell of zones and devices, and count more than labels.

use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::{GPU, POLICY, annotated, create, delete, exclusive, goes_to, machine, waits};
use crate::check::{self, Expected};
use crate::objects::Election;
use crate::scenarios::agent::{TOPOLOGIES, define, undefine};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World};

const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
const DRIVER: &str = "gpu.nvidia.com";

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

/// A ResourceSlice tells in which zones devices are, and those of a ResourceClaim are taken: a pod
/// goes to the zone that has two left, a second one waits until the claim is gone.
pub(crate) fn slices(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let node = format!("{}-0", world.namespace);
        let mut template = machine(&world.namespace, 8, 32, &[0, 0]);
        for amounts in ["capacity", "allocatable"] {
            template["status"][amounts][GPU] = "4".into();
        }
        world.create_nodes(1, &template).await?;
        world.plane.create(SLICES, [slice(&node, &[0, 0, 1, 1])].into_iter()).await?;
        allocate(world, &node, "gpu-1").await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        for name in ["first", "second"] {
            let pod = annotated(exclusive(name, 2, 1, 2), POLICY, "single-numa");
            create(world, pod).await?;
            if name == "first" {
                goes_to(world, name, &node, Some("1")).await?;
            }
        }
        let why = "1 node(s) had no NUMA nodes free that satisfy single-numa (estimated)";
        waits(world, "second", 1, why).await?;
        world.delete_all(&format!("{}/taken", claims(world))).await?;
        goes_to(world, "second", &node, Some("0")).await?;
        check::settled(world, &Expected::bound(2)).await?;
        world.delete_all(SLICES).await
    })
}

/// The devices of a node's pool, by their zones.
fn slice(node: &str, zones: &[u32]) -> Value {
    let device = |(at, zone): (usize, &u32)| {
        let attributes = json!({"resource.kubernetes.io/numaNode": {"int": zone}});
        json!({"name": format!("gpu-{at}"), "attributes": attributes})
    };
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": DRIVER, "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": zones.iter().enumerate().map(device).collect::<Vec<_>>(),
        },
    })
}

/// Makes a claim that a device is allocated to, as by another scheduler.
async fn allocate(world: &World, pool: &str, device: &str) -> Result<()> {
    let request = json!({"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}});
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "taken"},
        "spec": {"devices": {"requests": [request]}},
    });
    let path = claims(world);
    world.plane.create(&path, [claim].into_iter()).await?;
    let result = json!({"request": "gpu", "driver": DRIVER, "pool": pool, "device": device});
    let status = json!({"status": {"allocation": {"devices": {"results": [result]}}}});
    world.patch(&format!("{path}/taken/status"), &status).await
}

fn claims(world: &World) -> String {
    format!("/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims", world.namespace)
}

/// A zone with eight CPUs of which no pod has any, as an updater tells of it.
fn zone(id: u32) -> Value {
    let amount = |name: &str, amount: &str| {
        let [capacity, allocatable, available] = [amount; 3];
        json!({
            "name": name, "capacity": capacity, "allocatable": allocatable,
            "available": available,
        })
    };
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
