//! Kubeconfig files.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

/// Writes a kubeconfig for a token. A server without TLS has no authority to be checked against.
pub(crate) fn write(file: &Path, server: &str, ca: Option<&Path>, token: &str) -> Result<()> {
    let mut cluster = json!({"server": server});
    if let Some(ca) = ca {
        cluster["certificate-authority"] = json!(ca);
    }
    // JSON is YAML.
    let text = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
        "current-context": "test",
    });
    fs::write(file, text.to_string()).with_context(|| format!("writing {}", file.display()))
}

/// A client as a kubeconfig file describes it.
pub(crate) async fn client(file: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(file)?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    Ok(Client::try_from(config)?)
}
