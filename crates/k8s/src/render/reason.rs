//! Reasons in kube-scheduler's words, which users, dashboards and alerts already know.

use model::{Catalog, Code, Need, Reason};

/// The text of a reason.
#[must_use]
pub fn reason_text(reason: &Reason, catalog: &Catalog) -> String {
    match reason {
        Reason::NoNodes => "no nodes available to schedule pods".into(),
        Reason::Gated(gates) => format!("waiting for scheduling gates: [{}]", gates.join(" ")),
        Reason::OtherNode => "node(s) didn't match the requested node name".into(),
        Reason::Closed => "node(s) were unschedulable".into(),
        Reason::UntoleratedTaint => "node(s) had untolerated taint(s)".into(),
        Reason::NodeAffinity => "node(s) didn't match Pod's node affinity/selector".into(),
        Reason::AddedAffinity => "node(s) didn't match scheduler-enforced node affinity".into(),
        Reason::AffinityConflict => "pod affinity terms conflict".into(),
        Reason::NotNamed(plugins) => {
            format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "))
        }
        Reason::NoneNamed(plugins) => match &**plugins {
            [plugin] => format!("node(s) didn't satisfy plugin {plugin}"),
            _ => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", plugins.join(" ")),
        },
        Reason::HostPort => "node(s) didn't have free ports for the requested pod ports".into(),
        Reason::TooManyPods => "Too many pods".into(),
        Reason::Insufficient { resource, .. } => {
            format!("Insufficient {}", catalog.resource_name(*resource))
        }
        Reason::MissingFeature => "node(s) didn't match Pod's required features".into(),
        Reason::SpreadLabel => {
            "node(s) didn't match pod topology spread constraints (missing required label)".into()
        }
        Reason::SpreadSkew => "node(s) didn't match pod topology spread constraints".into(),
        Reason::NotNear => "node(s) didn't match pod affinity rules".into(),
        Reason::NotFar => "node(s) didn't match pod anti-affinity rules".into(),
        Reason::Unwelcome => "node(s) didn't satisfy existing pods anti-affinity rules".into(),
        Reason::BrokenSpread => "the label selector of a spread constraint is invalid".into(),
        Reason::BrokenTerm => "a label selector of a pod affinity term is invalid".into(),
        Reason::NotSupported(need) => format!("{} not supported yet", need_text(*need)),
        Reason::BrokenPreference => {
            "a preferred node affinity term is invalid, so nodes cannot be ranked".into()
        }
        Reason::GangFault(fault) => format!("gang: {fault}"),
        Reason::NoPodGroup(name) => format!("waiting for PodGroup {name:?}, which is not there"),
        Reason::GangIncomplete { there, min } => {
            format!("waiting for the gang: {there} of at least {min} are there")
        }
        Reason::MemberGated(pod) => format!("waiting for the scheduling gates of {pod:?}"),
        Reason::After(gang) => format!("waiting for gang {gang:?} to succeed"),
        Reason::AfterCycle(gangs) => format!("gangs wait for each other: {}", gangs.join(" -> ")),
        Reason::OtherDomain => "node(s) were outside the topology domain of the gang".into(),
    }
}

fn need_text(need: Need) -> &'static str {
    match need {
        Need::Volumes => "volumes that tie a pod to nodes (claims and disks) are",
        Need::ResourceClaims => "resource claims (DRA) are",
    }
}

/// The word for a code.
#[must_use]
pub fn code_word(code: Code) -> &'static str {
    match code {
        Code::Unschedulable => "Unschedulable",
        Code::Unresolvable => "UnschedulableAndUnresolvable",
        Code::Error => "Error",
    }
}
