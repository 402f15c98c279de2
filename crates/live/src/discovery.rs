//! Which optional APIs the server has. They can come and go while we run: an operator is installed,
//! the cluster is upgraded. None of them is needed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde::Deserialize;
use tracing::{debug, info};

use crate::client::{ask, request, status_message};
use crate::metrics::Metrics;

/// Groups and versions that tell us more about a cluster where they are served.
const OPTIONAL: [(&str, &str); 6] = [
    ("resource.k8s.io", "v1"),
    ("scheduling.k8s.io", "v1beta1"),
    ("scheduling.k8s.io", "v1alpha3"),
    ("scheduling.x-k8s.io", "v1alpha1"),
    ("topology.node.k8s.io", "v1alpha2"),
    ("kueue.x-k8s.io", "v1beta2"),
];

/// How often the server is asked, and how soon again when it did not answer.
const PERIOD: Duration = Duration::from_secs(300);
const RETRY: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(15);

/// Asks for as long as the process runs.
pub(crate) async fn run(client: kube::Client, metrics: Arc<Metrics>) {
    let mut known: Option<BTreeSet<(&str, &str)>> = None;
    loop {
        match served(&client).await {
            Ok(found) => {
                metrics.optional_apis(OPTIONAL.map(|api| (api.0, api.1, found.contains(&api))));
                if known.as_ref() != Some(&found) {
                    let names = found.iter().map(|(group, version)| format!("{group}/{version}"));
                    info!(served = names.collect::<Vec<_>>().join(" "), "optional APIs");
                    known = Some(found);
                }
                tokio::time::sleep(PERIOD).await;
            }
            Err(message) => {
                debug!(message, "the API groups cannot be read");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// The optional APIs that are served.
async fn served(client: &kube::Client) -> Result<BTreeSet<(&'static str, &'static str)>, String> {
    let request = request(Method::GET, "/apis", "application/json", Vec::new());
    let answer = ask(client, request, PATIENCE).await.map_err(|error| error.to_string())?;
    if !answer.status.is_success() {
        return Err(format!("{}: {}", answer.status, status_message(&answer.body)));
    }
    among(&answer.body)
}

fn among(body: &[u8]) -> Result<BTreeSet<(&'static str, &'static str)>, String> {
    #[derive(Deserialize)]
    struct GroupList {
        groups: Vec<Group>,
    }
    #[derive(Deserialize)]
    struct Group {
        versions: Vec<Version>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        group_version: String,
    }
    let list: GroupList = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let served: BTreeSet<String> = list
        .groups
        .into_iter()
        .flat_map(|group| group.versions)
        .map(|version| version.group_version)
        .collect();
    let is_served = |api: &(&str, &str)| served.contains(&format!("{}/{}", api.0, api.1));
    Ok(OPTIONAL.into_iter().filter(is_served).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_served_is_found() {
        let body = br#"{"kind":"APIGroupList","groups":[
            {"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},
            {"name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1"}]},
            {"name":"scheduling.k8s.io","versions":[{"groupVersion":"scheduling.k8s.io/v1"}]}]}"#;
        let found: Vec<_> = among(body).unwrap().into_iter().collect();
        assert_eq!(found, [("resource.k8s.io", "v1")]);
        assert!(among(b"{}").is_err());
    }
}
