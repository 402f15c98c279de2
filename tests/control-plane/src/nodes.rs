//! Many objects at once.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use http::Request;
use kube::Client;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::plane::ControlPlane;

/// How many requests are under way at once. More only wait in the API server.
const AT_ONCE: usize = 16;

impl ControlPlane {
    /// Creates `count` nodes from a template, named after it: `NAME-0`, `NAME-1`, ... Where kwok
    /// runs it makes them ready.
    pub async fn create_nodes(&self, count: usize, template: &Value) -> Result<()> {
        let name = template["metadata"]["name"].as_str().unwrap_or("node").to_owned();
        let nodes = (0..count).map(|number| {
            let mut node = template.clone();
            let name = format!("{name}-{number}");
            node["metadata"]["labels"]["kubernetes.io/hostname"] = name.clone().into();
            node["metadata"]["name"] = name.into();
            node
        });
        self.create("/api/v1/nodes", nodes).await
    }

    /// Creates objects with parallel requests to one path, such as `/api/v1/namespaces/N/pods`.
    pub async fn create(&self, path: &str, objects: impl Iterator<Item = Value>) -> Result<()> {
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let mut tasks = JoinSet::new();
        for object in objects {
            let permit = permits.clone().acquire_owned().await?;
            let (client, path) = (self.client(), path.to_owned());
            tasks.spawn(async move {
                let created = create_one(client, &path, &object).await;
                drop(permit);
                created
                    .with_context(|| format!("creating {} at {path}", object["metadata"]["name"]))
            });
        }
        while let Some(created) = tasks.join_next().await {
            created??;
        }
        Ok(())
    }
}

async fn create_one(client: Client, path: &str, object: &Value) -> Result<()> {
    let request = Request::post(path).header("content-type", "application/json");
    client.request_text(request.body(object.to_string().into_bytes())?).await?;
    Ok(())
}
