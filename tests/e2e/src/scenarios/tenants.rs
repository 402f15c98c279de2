//! Tenants and the hardware of their tier: gold, silver and bronze namespaces on H100, A100 and
//! L40S nodes, as GPU feature discovery labels them.

use anyhow::Result;
use serde_json::{Value, json};

use super::gpus::{asking, machine};
use super::numa::{annotated, create, delete, goes_to, waits};
use crate::check::{self, Expected};
use crate::objects::{Election, node, pod};
use crate::suite::Run;
use crate::world::{Start, World};

const TIER: &str = "tenant.kubenexus.io/tier";
const TIERS: [&str; 3] = ["gold", "silver", "bronze"];
const DENIED: &str = "1 Insufficient nvidia.com/gpu, 2 node(s) were of a hardware tier that the \
                      tenant may not use";

/// By default L40S are standard, as A100 are; here they are economy. Each pod takes a whole node.
pub(crate) fn tenants(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        for (name, product, mib) in [
            ("h100", "NVIDIA-H100-80GB-HBM3", 81559),
            ("a100", "NVIDIA-A100-SXM4-80GB", 81920),
            ("l40s", "NVIDIA-L40S", 46068),
        ] {
            world.create_nodes(1, &machine(name, 8, (product, mib))).await?;
        }
        let base = world.namespace.clone();
        for tier in TIERS {
            let name = format!("{base}-{tier}");
            let namespace = json!({"metadata": {"name": name, "labels": {TIER: tier}}});
            world.plane.create("/api/v1/namespaces", [namespace].into_iter()).await?;
            world.plane.wait_for_service_account(&name).await?;
        }
        let first = world.run_scheduler(with(&json!({}))).await?;
        overflowing(world, &base).await?;
        world.kill(first)?;
        let deny = json!({"silver": {"overflow": "deny"}, "bronze": {"overflow": "deny"}});
        world.run_scheduler(with(&deny)).await?;
        denied(world, &base).await?;
        reserved(world, &base).await?;
        for tier in TIERS {
            enter(world, &base, tier);
            world.delete_pods().await?;
            // It would have a say in the next scenario.
            label(world, &Value::Null).await?;
        }
        world.namespace = base;
        Ok(())
    })
}

/// Everybody gets the hardware of his tier whoever comes first; who finds it taken gets another.
async fn overflowing(world: &mut World, base: &str) -> Result<()> {
    for (tier, node) in [("bronze", "l40s-0"), ("silver", "a100-0"), ("gold", "h100-0")] {
        enter(world, base, tier);
        create(world, asking("first", 8)).await?;
        goes_to(world, "first", node, None).await?;
    }
    enter(world, base, "bronze");
    create(world, asking("second", 8)).await?;
    waits(world, "second", 3, "3 Insufficient nvidia.com/gpu").await?;
    enter(world, base, "gold");
    delete(world, "first").await?;
    enter(world, base, "bronze");
    goes_to(world, "second", "h100-0", None).await?;
    check::settled(world, &Expected::bound(2)).await?;
    for tier in TIERS {
        enter(world, base, tier);
        world.delete_pods().await?;
        world.wait_no_pods().await?;
    }
    Ok(())
}

/// The same where nobody but gold may use what is not his. What a pod writes on itself changes
/// nothing; what an administrator writes on the namespace does.
async fn denied(world: &mut World, base: &str) -> Result<()> {
    enter(world, base, "bronze");
    create(world, asking("one", 8)).await?;
    goes_to(world, "one", "l40s-0", None).await?;
    let mut boast = annotated(asking("boast", 8), TIER, "gold");
    boast["metadata"]["labels"][TIER] = "gold".into();
    create(world, boast).await?;
    waits(world, "boast", 3, DENIED).await?;
    enter(world, base, "silver");
    create(world, asking("one", 8)).await?;
    goes_to(world, "one", "a100-0", None).await?;
    enter(world, base, "bronze");
    label(world, &"gold".into()).await?;
    goes_to(world, "boast", "h100-0", None).await?;
    label(world, &"bronze".into()).await?;
    delete(world, "boast").await
}

/// A node that is reserved for gold takes nobody else, whatever is asked for.
async fn reserved(world: &mut World, base: &str) -> Result<()> {
    let labels = json!({"metadata": {"labels": {"tenant.kubenexus.io/reserved-tier": "gold"}}});
    world.patch("/api/v1/nodes/h100-0", &labels).await?;
    let plain = |name: &str| {
        let mut pod = pod(name, "1", "64Mi");
        pod["spec"]["nodeSelector"] = json!({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"});
        pod
    };
    enter(world, base, "silver");
    create(world, plain("kept-out")).await?;
    let why = "1 node(s) were reserved for another tenant tier, 2 node(s) didn't match Pod's node \
               affinity/selector";
    waits(world, "kept-out", 3, why).await?;
    enter(world, base, "gold");
    create(world, plain("let-in")).await?;
    goes_to(world, "let-in", "h100-0", None).await
}

/// As it is installed, nobody has a tier: a pod with a GPU goes to the only node that has some,
/// which is premium, and a pod without one leaves it alone.
pub(crate) fn untiered(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let island = machine("h100", 8, ("NVIDIA-H100-80GB-HBM3", 81559));
        world.create_nodes(1, &island).await?;
        world.create_nodes(1, &node("plain", "16", "64Gi", 110)).await?;
        world.run_scheduler(Start::plain(Election::Off)).await?;
        create(world, asking("one", 1)).await?;
        goes_to(world, "one", "h100-0", None).await?;
        create(world, pod("web", "1", "64Mi")).await?;
        goes_to(world, "web", "plain-0", None).await?;
        check::settled(world, &Expected::bound(2)).await
    })
}

/// Our profile with these rules for tenants, and L40S for economy.
fn with(tiers: &Value) -> Start<'static> {
    let models = json!({
        "standard": ["A100", "A40", "MI250"],
        "economy": ["L40S", "L40", "L4", "A10", "T4", "V100"],
    });
    let args = json!({"tiers": tiers, "models": models});
    let mut start = Start::plain(Election::Off);
    let config = json!([{"name": "TenantHardwareAffinityScore", "args": args}]);
    start.config["profiles"][0]["pluginConfig"] = config;
    start
}

/// Pods are those of a tenant from here on.
fn enter(world: &mut World, base: &str, tier: &str) {
    world.namespace = format!("{base}-{tier}");
}

async fn label(world: &World, tier: &Value) -> Result<()> {
    let labels = json!({"metadata": {"labels": {TIER: tier}}});
    world.patch(&format!("/api/v1/namespaces/{}", world.namespace), &labels).await
}
