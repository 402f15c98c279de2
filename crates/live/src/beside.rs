//! Looks whether the cluster's own scheduler serves the same pods. Two schedulers under one name do
//! not know of each other: both place the same pods, and count on the same room.

use std::time::Duration;

use http::{Method, StatusCode};
use jiff::Timestamp;
use k8s::config::Settings;
use k8s_openapi::api::coordination::v1::Lease;
use tracing::{info, warn};

use crate::client::{ask, request, status_message};

/// The name that pods have which name no scheduler, and which kube-scheduler serves.
const DEFAULT: &str = "default-scheduler";
/// Where and under which name kube-scheduler has its lease.
const LEASE: [&str; 2] = ["kube-system", "kube-scheduler"];
const PATIENCE: Duration = Duration::from_secs(15);

/// Warns if a kube-scheduler is seen that serves the same pods as we do.
pub(crate) async fn look(client: kube::Client, settings: Settings) {
    if !settings.profiles.iter().any(|profile| profile.scheduler == DEFAULT) {
        return;
    }
    let election = &settings.leader_election;
    let [namespace, name] = LEASE;
    if election.leader_elect && [&*election.resource_namespace, &*election.resource_name] == LEASE {
        info!("{DEFAULT} is served under the lease of kube-scheduler: one of the two schedules");
        return;
    }
    match held_by(&client).await {
        Ok(Some(holder)) => warn!(
            holder,
            lease = format!("{namespace}/{name}"),
            "{DEFAULT} is served here and by the kube-scheduler that holds this lease: both place \
             its pods and count on the same room; stop that one, or serve another schedulerName"
        ),
        Ok(None) => info!(
            "{DEFAULT} is served here, and nobody holds the lease {namespace}/{name}: the \
             cluster's own scheduler must not run beside this one"
        ),
        Err(message) => warn!(
            message,
            "{DEFAULT} is served here; whether kube-scheduler runs beside cannot be read from its \
             lease {namespace}/{name}"
        ),
    }
}

/// Who holds the lease of kube-scheduler, if anybody renews it.
async fn held_by(client: &kube::Client) -> Result<Option<String>, String> {
    let [namespace, name] = LEASE;
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}");
    let request = request(Method::GET, &path, "application/json", Vec::new());
    let answer = ask(client, request, PATIENCE).await.map_err(|error| error.to_string())?;
    match answer.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        status => return Err(format!("{status}: {}", status_message(&answer.body))),
    }
    let lease: Lease = serde_json::from_slice(&answer.body).map_err(|error| error.to_string())?;
    let Some(spec) = lease.spec else { return Ok(None) };
    // Clocks differ: a lease counts for twice as long as its holder says.
    let renewed = spec.renew_time.map(|time| Timestamp::now().duration_since(time.0).as_secs());
    let seconds = i64::from(spec.lease_duration_seconds.unwrap_or_default());
    let is_held = renewed.is_some_and(|age| age <= 2 * seconds);
    Ok(spec.holder_identity.filter(|holder| is_held && !holder.is_empty()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Reply, log_lines, server};

    fn settings(scheduler: &str, lease: &str) -> Settings {
        let text = format!(
            "{{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, \
             leaderElection: {{resourceName: {lease}, resourceNamespace: kube-system}}, \
             profiles: [{{schedulerName: {scheduler}}}]}}"
        );
        k8s::config::load(&text, plugins::known()).expect("valid")
    }

    fn lease(holder: &str, age_seconds: i64) -> Reply {
        let renewed = Timestamp::now() - jiff::SignedDuration::from_secs(age_seconds);
        let renewed = renewed.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15,
            "renewTime": renewed});
        Some((200, json!({"metadata": {"name": "kube-scheduler"}, "spec": spec}).to_string()))
    }

    /// What is logged, and how often the server was asked.
    async fn check(settings: Settings, reply: Reply) -> (Vec<String>, usize) {
        let (client, log) = server(move |_| {
            let reply = reply.clone();
            async move { reply }
        });
        let lines = log_lines();
        look(client, settings).await;
        let asked = log.lock().unwrap().len();
        (lines.take(), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn two_schedulers_of_one_name_are_warned_about() {
        let ours = || settings(DEFAULT, "kubenexus-scheduler");
        let table = [
            (lease("node-1_x", 3), " WARN ", "holder=\"node-1_x\""),
            (lease("node-1_x", 3600), " INFO ", "nobody holds the lease"),
            (lease("", 1), " INFO ", "nobody holds the lease"),
            (Some((404, "{}".into())), " INFO ", "nobody holds the lease"),
            (Some((403, "{\"message\": \"not yours\"}".into())), " WARN ", "not yours"),
        ];
        for (reply, level, text) in table {
            let (lines, asked) = check(ours(), reply).await;
            assert_eq!((lines.len(), asked), (1, 1), "{lines:?}");
            assert!(lines[0].contains(level) && lines[0].contains(text), "{lines:?}");
            assert!(lines[0].contains("default-scheduler is served here"), "{lines:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_shares_the_lease_or_serves_another_name_need_not_ask() {
        let (lines, asked) = check(settings("other", "a"), None).await;
        assert_eq!((lines.len(), asked), (0, 0));
        let (lines, asked) = check(settings(DEFAULT, "kube-scheduler"), None).await;
        assert_eq!(asked, 0);
        assert!(lines.len() == 1 && lines[0].contains("one of the two"), "{lines:?}");
    }
}
