//! Tiers: what an administrator says counts, and what means nothing is told.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::check::{self, Expected, all_events};
use crate::objects::{Election, config, many, node, pod};
use crate::suite::Run;
use crate::wait::until;
use crate::world::{Start, World};

/// A word that is no tier: the pods are placed as bronze, and one event says so.
pub(crate) fn unknown(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        world.create_nodes(1, &node("node", "4", "16Gi", 110)).await?;
        let labels = json!({"metadata": {"labels": {"tenant.kubenexus.io/tier": "platinum"}}});
        world.patch(&format!("/api/v1/namespaces/{}", world.namespace), &labels).await?;
        world.run_scheduler(Start::plain(Election::Quick)).await?;
        world.create_pods(many(&pod("web", "1", "64Mi"), 2)).await?;
        world.wait_bound(2, 30).await?;
        check::settled(world, &Expected::bound(2)).await?;
        let why = "label tenant.kubenexus.io/tier of the namespace is \"platinum\", expected gold, \
                   silver or bronze, so the lowest";
        until("an event about the tier", Duration::from_secs(30), || async {
            let events = all_events(world).await?.into_iter();
            let own = events.filter(|event| event.reason.as_deref() == Some("TierUnknown"));
            let notes: Vec<_> =
                own.map(|event| (event.type_.unwrap_or_default(), event.note)).collect();
            let expected = ("Warning".into(), Some(format!("tier bronze: {why}")));
            Ok((notes == [expected]).then_some(()).ok_or(format!("{notes:?}")))
        })
        .await?;
        let profile = profile_of(world, "web-0", &config(Election::Off)).await?;
        let expected = json!({"value": "bronze", "source": why});
        ensure!(profile["tier"] == expected, "by the verdict: {profile}");
        Ok(())
    })
}

/// What one of the scenario's pods is, by `kubenexus verdict --profile` on what the API has.
async fn profile_of(world: &World, name: &str, config: &Value) -> Result<Value> {
    let namespace = &world.namespace;
    let get = |path: String| async move {
        let text = world.plane.kubectl(&["get", "--raw", &path]).await?;
        anyhow::Ok(serde_json::from_str::<Value>(&text)?)
    };
    let own = get(format!("/api/v1/namespaces/{namespace}")).await?;
    let mut pod = get(format!("/api/v1/namespaces/{namespace}/pods/{name}")).await?;
    pod["spec"].as_object_mut().context("a pod has a spec")?.remove("nodeName");
    let case = json!({"config": config, "objects": [own], "pod": pod});
    let file = world.plane.folder().join("tier.jsonl");
    fs::write(&file, case.to_string())?;
    let output = world.command(&["verdict", "--profile", &file.display().to_string()]).await?;
    let verdict: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(verdict["error"].is_null(), "{verdict}");
    Ok(verdict["profile"].clone())
}
