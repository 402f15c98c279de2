//! What kwok may not do: it deletes pods by name, and a pod of that name may be a new one by then.
//!
//! The API server refuses that, by a policy: kwok deletes only what is being deleted. A kubelet
//! names the uid and has no need for it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use http::Request;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::kubeconfig;
use crate::plane::{ControlPlane, User};

const PATH: &str = "/apis/admissionregistration.k8s.io/v1";
const NAME: &str = "kwok-spares-the-living";

/// The API server looks for new policies once a second.
const IN_FORCE_WITHIN: Duration = Duration::from_secs(30);

impl ControlPlane {
    /// Installs the policy. It is in force a second or two later, before there are pods that kwok
    /// could mistake for others.
    pub(crate) async fn restrain_kwok(&self) -> Result<()> {
        for (kind, object) in [
            ("validatingadmissionpolicies", policy()),
            ("validatingadmissionpolicybindings", binding()),
        ] {
            self.create(&format!("{PATH}/{kind}"), [object].into_iter()).await?;
        }
        Ok(())
    }

    /// Waits until kwok cannot delete this pod, which nobody else deletes: `/api/v1/namespaces/..`.
    pub async fn wait_kwok_is_restrained(&self, pod: &str) -> Result<()> {
        let kwok = kubeconfig::client(&self.kubeconfig(User::Kwok)).await?;
        let start = Instant::now();
        loop {
            let request = Request::delete(format!("{pod}?dryRun=All")).body(Vec::new())?;
            match kwok.request_text(request).await {
                Err(error) if error.to_string().contains(NAME) => return Ok(()),
                other if start.elapsed() > IN_FORCE_WITHIN => {
                    bail!("kwok could delete {pod}, which nobody deletes: {other:?}")
                }
                _ => sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

fn policy() -> Value {
    json!({
        "metadata": {"name": NAME},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "resources": ["pods"],
                "operations": ["DELETE"],
            }]},
            "matchConditions": [{
                "name": "asked-by-kwok",
                "expression": format!("request.userInfo.username == '{}'", User::Kwok.name()),
            }],
            "validations": [{
                "expression": "has(oldObject.metadata.deletionTimestamp)",
                "message": "this pod is not being deleted: another one of its name was",
            }],
        },
    })
}

fn binding() -> Value {
    json!({
        "metadata": {"name": NAME},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    })
}
