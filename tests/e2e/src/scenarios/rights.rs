//! The rights of `deploy/kubenexus-scheduler.yaml`: all that is needed, and no more.

use anyhow::{Result, ensure};
use control_plane::Call;
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, Subject,
};
use kube::Api;
use kube::api::ListParams;

use crate::suite::Run;
use crate::world::World;

/// One thing a rule allows.
#[derive(Clone, Debug)]
struct Right {
    role: String,
    verb: String,
    group: String,
    resource: String,
    /// Names it is limited to.
    names: Vec<String>,
    /// The namespace it is limited to.
    namespace: Option<String>,
}

impl Right {
    fn covers(&self, call: &Call) -> bool {
        call.verb == self.verb
            && call.group == self.group
            && (call.resource == self.resource || path_of(call) == self.resource)
            && (self.names.is_empty() || self.names.contains(&call.name))
            && self.namespace.as_ref().is_none_or(|namespace| *namespace == call.namespace)
    }
}

/// Groups of kinds that are asked for only where they are served, or once they matter.
const OPTIONAL: [&str; 7] = [
    "batch",
    "scheduling.k8s.io",
    "scheduling.x-k8s.io",
    "scheduling.volcano.sh",
    "scheduling.run.ai",
    "kueue.x-k8s.io",
    "topology.node.k8s.io",
];

impl Right {
    /// Whether there was anything to use it for.
    fn is_wanted(&self, calls: &[Call]) -> bool {
        let base = |resource: &str| resource.split('/').next().unwrap_or_default().to_owned();
        let is_same =
            |call: &Call| call.group == self.group && base(&call.resource) == base(&self.resource);
        !OPTIONAL.contains(&&*self.group) || calls.iter().any(is_same)
    }

    /// Whether a call used it. A server lists by a watch where it can.
    fn is_used(&self, calls: &[Call]) -> bool {
        let is_list = OPTIONAL.contains(&&*self.group) && self.verb == "list";
        let watch = Self { verb: "watch".into(), ..self.clone() };
        calls.iter().any(|call| self.covers(call) || is_list && watch.covers(call))
    }
}

fn path_of(call: &Call) -> &str {
    call.uri.split('?').next().unwrap_or_default()
}

/// Whether it is what `snapshot` asks for and leaves out where it may not read it, as with the
/// rights of the scheduler, which has no use for it.
fn is_left_out(call: &Call) -> bool {
    call.verb == "list" && call.resource == "priorityclasses"
}

/// No request of the whole suite was refused, and each right was used by one that was not.
pub(crate) fn rights(world: &mut World) -> Run<'_> {
    Box::pin(async move {
        let calls = world.calls()?;
        let is_refused = |call: &&Call| call.code == 403 && !call.is_early && !is_left_out(call);
        let refused: Vec<_> = calls.iter().filter(is_refused).collect();
        ensure!(
            refused.is_empty(),
            "{} requests were refused, such as {} {}",
            refused.len(),
            refused[0].verb,
            refused[0].uri
        );
        let rights = rights_of_account(world).await?;
        ensure!(!rights.is_empty(), "the service account has no rights");
        let is_unused = |right: &&Right| right.is_wanted(&calls) && !right.is_used(&calls);
        let unused: Vec<_> = rights.iter().filter(is_unused).map(describe).collect();
        let is_right = unused.is_empty() || !world.is_complete;
        ensure!(is_right, "rights that were not used:\n  {}", unused.join("\n  "));
        Ok(())
    })
}

fn describe(right: &Right) -> String {
    let Right { role, verb, group, resource, .. } = right;
    let group = if group.is_empty() { "the core group" } else { group };
    format!("{verb} {resource} in {group}, of {role}")
}

/// What the roles bound to the service account allow.
async fn rights_of_account(world: &World) -> Result<Vec<Right>> {
    let everything = ListParams::default();
    let client = &world.client;
    let mut rights = Vec::new();
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let roles: Api<ClusterRole> = Api::all(client.clone());
    for binding in bindings.list(&everything).await?.items {
        if is_ours(binding.subjects.as_deref()) {
            let role = roles.get(&binding.role_ref.name).await?;
            rights.extend(expand(&binding.role_ref.name, None, role.rules));
        }
    }
    let bindings: Api<RoleBinding> = Api::all(client.clone());
    for binding in bindings.list(&everything).await?.items {
        if !is_ours(binding.subjects.as_deref()) {
            continue;
        }
        let namespace = binding.metadata.namespace.clone().unwrap_or_default();
        let name = &binding.role_ref.name;
        let rules = if binding.role_ref.kind == "ClusterRole" {
            roles.get(name).await?.rules
        } else {
            Api::<Role>::namespaced(client.clone(), &namespace).get(name).await?.rules
        };
        rights.extend(expand(name, Some(&namespace), rules));
    }
    Ok(rights)
}

fn is_ours(subjects: Option<&[Subject]>) -> bool {
    subjects.unwrap_or_default().iter().any(|subject| {
        subject.kind == "ServiceAccount"
            && subject.name == "kubenexus-scheduler"
            && subject.namespace.as_deref() == Some("kube-system")
    })
}

/// A wildcard is a right nobody uses: no request is for `*`.
fn expand(role: &str, namespace: Option<&str>, rules: Option<Vec<PolicyRule>>) -> Vec<Right> {
    let mut rights = Vec::new();
    for rule in rules.unwrap_or_default() {
        let urls = rule.non_resource_urls.unwrap_or_default();
        // A path belongs to no group.
        let groups = rule.api_groups.unwrap_or_else(|| vec![String::new()]);
        for resource in rule.resources.iter().flatten().chain(&urls) {
            for group in &groups {
                rights.extend(rule.verbs.iter().map(|verb| Right {
                    role: role.into(),
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    names: rule.resource_names.clone().unwrap_or_default(),
                    namespace: namespace.map(str::to_owned),
                }));
            }
        }
    }
    rights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn right(names: &[&str], namespace: Option<&str>) -> Right {
        let rule = PolicyRule {
            api_groups: Some(vec!["".into()]),
            resources: Some(vec!["pods/binding".into()]),
            resource_names: Some(names.iter().map(|name| (*name).into()).collect()),
            verbs: vec!["create".into()],
            ..PolicyRule::default()
        };
        expand("role", namespace, Some(vec![rule])).remove(0)
    }

    #[test]
    fn a_right_is_used_by_the_calls_it_allows() {
        let call = Call {
            user: "user".into(),
            verb: "create".into(),
            group: "".into(),
            resource: "pods/binding".into(),
            namespace: "here".into(),
            name: "pod".into(),
            uri: "/".into(),
            code: 201,
            is_early: false,
        };
        assert!(right(&[], None).covers(&call));
        assert!(right(&["pod"], Some("here")).covers(&call));
        assert!(!right(&["other"], None).covers(&call));
        assert!(!right(&[], Some("elsewhere")).covers(&call));
        assert!(!right(&[], None).covers(&Call { verb: "get".into(), ..call.clone() }));
        assert!(!right(&[], None).covers(&Call { resource: "pods".into(), ..call.clone() }));
        assert!(!right(&[], None).covers(&Call { group: "apps".into(), ..call }));
    }

    #[test]
    fn rights_on_kinds_that_are_not_served_are_not_asked_for() {
        let rule = |resource: &str, verb: &str| PolicyRule {
            api_groups: Some(vec!["scheduling.k8s.io".into()]),
            resources: Some(vec![resource.into()]),
            verbs: vec![verb.into()],
            ..PolicyRule::default()
        };
        let right = |resource: &str, verb: &str| {
            expand("role", None, Some(vec![rule(resource, verb)])).remove(0)
        };
        let call = Call {
            user: "user".into(),
            verb: "watch".into(),
            group: "scheduling.k8s.io".into(),
            resource: "podgroups".into(),
            namespace: "".into(),
            name: "".into(),
            uri: "/".into(),
            code: 200,
            is_early: false,
        };
        assert!(!right("podgroups", "list").is_wanted(&[]));
        let calls = [call];
        assert!(!right("workloads", "list").is_wanted(&calls));
        assert!(right("podgroups", "list").is_used(&calls));
        let status = right("podgroups/status", "patch");
        assert!(status.is_wanted(&calls) && !status.is_used(&calls));
    }
}
