//! Why a pod waits, as its `PodScheduled` condition and the message of its event.

use std::collections::BTreeMap;

use model::{Catalog, Code, Diagnosis, Outlook, Reason, Rescue, Shortfall};
use serde::Serialize;

use super::reason_text;

/// A condition of a pod.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Always `PodScheduled`.
    pub r#type: &'static str,
    /// Always `False`.
    pub status: &'static str,
    /// `Unschedulable`, [`HELD`], or `SchedulerError` where the question could not be answered.
    pub reason: &'static str,
    /// Why.
    pub message: String,
}

/// The reason of the condition of a pod that is not tried, because no node could help it. Whoever
/// adds nodes looks for `Unschedulable`.
pub const HELD: &str = "SchedulingGated";

/// Reason and message of the condition of a pod whose gates are gone and that was not tried yet.
/// Autoscalers look for another reason, and no gates are shown where there are none any more.
pub const QUEUED: (&str, &str) = ("Queued", "no scheduling gates are left; waiting for its turn");

/// The condition of a pod that no node takes, or that is not tried.
#[must_use]
pub fn condition(diagnosis: &Diagnosis, catalog: &Catalog) -> Condition {
    let is_fault = diagnosis.reasons().any(|reason| reason.code() == Code::Error);
    let reason = match &diagnosis.rejection {
        _ if is_fault => "SchedulerError",
        Some(rejection) if is_held(rejection) => HELD,
        Some(_) | None => "Unschedulable",
    };
    let message = message(diagnosis, catalog);
    Condition { r#type: "PodScheduled", status: "False", reason, message }
}

/// Whether a pod that waits for this would wait for it in any cluster.
fn is_held(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Gated(_)
            | Reason::GangFault(_)
            | Reason::NoPodGroup(_)
            | Reason::GangIncomplete { .. }
            | Reason::MemberGated(_)
            | Reason::After(_)
            | Reason::AfterCycle(_)
    )
}

/// The sentence users know: `0/5 nodes are available: 2 Insufficient cpu, 3 Too many pods.`, and
/// behind it what evicting other pods would do for the pod.
#[must_use]
pub fn message(diagnosis: &Diagnosis, catalog: &Catalog) -> String {
    let why = match &diagnosis.rejection {
        Some(
            reason @ (Reason::NoNodes
            | Reason::BrokenPreference
            | Reason::GangFault(_)
            | Reason::NoPodGroup(_)
            | Reason::GangIncomplete { .. }
            | Reason::MemberGated(_)
            | Reason::After(_)
            | Reason::AfterCycle(_)
            | Reason::ClusterShort { .. }),
        ) => {
            return reason_text(reason, catalog);
        }
        Some(reason) => reason_text(reason, catalog),
        None => histogram(diagnosis.counts.iter().map(|(r, n)| (reason_text(r, catalog), *n))),
    };
    let head = format!("0/{} nodes are available", diagnosis.nodes);
    if let Some(shortfall) = &diagnosis.shortfall {
        // A pod may find no place only because of the places that others of its gang have.
        let is_alone = diagnosis.reasons().next().is_none();
        let alone = || "it fits by itself, but not together with the others".into();
        let why = if is_alone { alone() } else { format!("{head}: {why}") };
        return shortfall_text(shortfall, &why);
    }
    match rescue_text(&diagnosis.rescue, diagnosis.nodes, catalog) {
        Some(rescue) => format!("{head}: {why}. {rescue}"),
        None => format!("{head}: {why}."),
    }
}

/// What is missing for a gang, around what its first pod without a place waits for.
fn shortfall_text(shortfall: &Shortfall, why: &str) -> String {
    let Shortfall { gang, min, fitting, member, outlook } = shortfall;
    let outlook = outlook_text(outlook);
    format!("gang {gang}: room for {fitting} of at least {min}; {member}: {why}.{outlook}")
}

fn outlook_text(outlook: &Outlook) -> String {
    let more_nodes = |count: usize, are: [&str; 2]| match count {
        1 => format!("1 more node {} free", are[0]),
        _ => format!("{count} more nodes {} free", are[1]),
    };
    match outlook {
        Outlook::Unknown => String::new(),
        Outlook::Never => " It can never fit this cluster.".into(),
        Outlook::NotFound => " How it could fit was not found within the search limit.".into(),
        Outlook::AfterPreemption => " It would fit after preemption.".into(),
        Outlook::WhenFree(nodes) => format!(" It fits when {}.", more_nodes(*nodes, ["is", "are"])),
        Outlook::WhenOpen { nodes, more, free } => {
            let names = nodes.join(", ");
            let open = match (nodes.len(), *more) {
                (1, 0) => format!("node {names} were open"),
                (_, 0) => format!("nodes {names} were open"),
                (_, more) => format!("nodes {names} and {more} more were open"),
            };
            let free = match *free {
                0 => String::new(),
                free => format!(" and {}", more_nodes(free, ["were", "were"])),
            };
            format!(" It would fit if {open}{free}.")
        }
    }
}

/// What else was tried, in kube-scheduler's words where it tries the same.
fn rescue_text(rescue: &Rescue, nodes: usize, catalog: &Catalog) -> Option<String> {
    Some(match rescue {
        Rescue::NotAsked | Rescue::Silent => return None,
        // All that kube-scheduler says when a pod is refused before its claims are looked at.
        Rescue::ClaimsUnknown => "not found".into(),
        Rescue::NotPreempting => "preemption: not eligible due to preemptionPolicy=Never.".into(),
        Rescue::NoVictims(without) => no_candidates(nodes, (*without, *without), &[], catalog),
        Rescue::NoCandidates { considered, without_victims, counts } => {
            no_candidates(nodes, (*considered, *without_victims), counts, catalog)
        }
        Rescue::VictimsLeaving => {
            "preemption: not eligible due to a terminating pod on the nominated node.".into()
        }
        Rescue::Preempts { node, victims } => format!(
            "preemption: found a potential placement for pod on node {node}, \
             preempting {victims} victims"
        ),
    })
}

/// That evicting helps nowhere, and why.
fn no_candidates(
    nodes: usize,
    (considered, without_victims): (usize, usize),
    counts: &[(Reason, usize)],
    catalog: &Catalog,
) -> String {
    let others = [
        ("No preemption victims found for incoming pod", without_victims),
        ("Preemption is not helpful for scheduling", nodes - considered),
    ];
    let others = others.into_iter().filter(|(_, count)| *count > 0);
    let others = others.map(|(text, count)| (text.into(), count));
    let reasons = counts.iter().map(|(reason, count)| (reason_text(reason, catalog), *count));
    format!("preemption: 0/{nodes} nodes are available: {}.", histogram(others.chain(reasons)))
}

/// Counts by text, sorted as texts: two reasons can read the same.
fn histogram(counts: impl Iterator<Item = (String, usize)>) -> String {
    let mut by_text: BTreeMap<String, usize> = BTreeMap::new();
    for (text, count) in counts {
        *by_text.entry(text).or_default() += count;
    }
    let mut parts: Vec<String> =
        by_text.into_iter().map(|(text, count)| format!("{count} {text}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use model::ResourceId;

    use super::*;

    #[test]
    fn the_message_reads_as_users_know_it() {
        let catalog = Catalog::default();
        let short =
            |is_beyond_node| Reason::Insufficient { resource: ResourceId::CPU, is_beyond_node };
        let counts = vec![(Reason::TooManyPods, 10), (short(false), 2), (short(true), 1)];
        let diagnosis = Diagnosis { nodes: 13, counts, ..Diagnosis::default() };
        let condition = condition(&diagnosis, &catalog);
        assert_eq!(
            condition.message,
            "0/13 nodes are available: 10 Too many pods, 3 Insufficient cpu."
        );
        assert_eq!(condition.reason, "Unschedulable");
        let rejection = Some(Reason::AffinityConflict);
        let diagnosis = Diagnosis { nodes: 2, rejection, ..Diagnosis::default() };
        let text = message(&diagnosis, &catalog);
        assert_eq!(text, "0/2 nodes are available: pod affinity terms conflict.");
        let rejection = Some(Reason::NoNodes);
        let none = Diagnosis { rejection, ..Diagnosis::default() };
        assert_eq!(message(&none, &catalog), "no nodes available to schedule pods");
    }
}
