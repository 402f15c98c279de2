//! What is there from the start: pods as they are, and of what makes pods the ones that are
//! missing. A cluster that was saved with its Deployments, ReplicaSets and pods has each pod once.

use std::collections::BTreeMap;

use super::arrivals::{self, sized};
use super::draft::Draft;
use super::length::Length;
use super::mounts;
use super::script::Script;
use crate::dice::{Dice, Stream};
use crate::plan::{ClaimPlan, Job, NodePlan};

/// Namespace, kind and name.
type Key<'a> = (&'a str, &'a str, &'a str);

/// How many pods of an owner are among the manifests.
#[derive(Clone, Copy, Default)]
struct Owned {
    all: u64,
    unfinished: u64,
}

/// Jobs for everything that is there from the start.
pub(super) fn jobs(
    drafts: &[Draft<'_>],
    script: &Script,
    nodes: &[NodePlan],
    made: &mut Vec<ClaimPlan>,
    notes: &mut Vec<String>,
) -> Vec<Job> {
    let index: BTreeMap<Key<'_>, usize> =
        drafts.iter().enumerate().map(|(at, draft)| (key(draft), at)).collect();
    let mut owned: BTreeMap<usize, Owned> = BTreeMap::new();
    for pod in drafts.iter().filter(|draft| draft.kind == "Pod") {
        if let Some(root) = root(pod, drafts, &index) {
            let owned = owned.entry(root).or_default();
            owned.all += 1;
            owned.unfinished += u64::from(!pod.facts.is_finished);
        }
    }
    let joined: BTreeMap<&str, bool> = nodes
        .iter()
        .map(|node| (&*node.facts.name, node.joins == model::Time::default()))
        .collect();
    let mut stray = 0;
    let mut jobs = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        let is_made_later = script.arrivals.iter().any(|one| one.names(draft));
        // A ReplicaSet of a Deployment that is there as well makes nothing of its own.
        let is_part = draft.kind != "Pod" && root(draft, drafts, &index).is_some();
        if is_made_later || is_part {
            continue;
        }
        let (pods, followers) = missing(draft, owned.get(&at).copied().unwrap_or_default());
        let mut job = draft.job(draft.name.clone(), pods, followers);
        if let Some(node) = &draft.facts.node {
            if joined.get(&**node) != Some(&true) {
                stray += u64::from(pods > 0);
                continue;
            }
            job.node = Some(node.clone());
        }
        let mut dice = Dice::new(arrivals::seed(script.seed, &draft.name), Stream::Workload);
        let length = draft.length.unwrap_or(Length::Forever);
        if draft.claims.is_empty() {
            sized(job, length, &mut dice, &mut jobs);
            continue;
        }
        let is_there = |ordinal: &u64| {
            let name = format!("{}-{ordinal}", draft.name);
            let pod = index.get(&(&*draft.namespace, "Pod", &*name));
            pod.is_some_and(|at| !drafts[*at].facts.is_finished)
        };
        let ordinals = (0..draft.pods).filter(|ordinal| !is_there(ordinal));
        let count = usize::try_from(pods).unwrap_or(usize::MAX);
        for job in mounts::apart(&job, &draft.claims, ordinals.take(count), made) {
            sized(job, length, &mut dice, &mut jobs);
        }
    }
    if stray > 0 {
        notes.push(format!("{stray} pods are on nodes that are not there; they do not count"));
    }
    jobs
}

fn key<'a>(draft: &'a Draft<'_>) -> Key<'a> {
    (&draft.namespace, &draft.kind, &draft.name)
}

/// The last owner of an owner that is among the manifests.
fn root(
    draft: &Draft<'_>,
    drafts: &[Draft<'_>],
    index: &BTreeMap<Key<'_>, usize>,
) -> Option<usize> {
    let mut found = None;
    let mut owner = draft.owner.as_ref();
    // Two steps lead from a pod to its Deployment; more would be a circle.
    for _ in 0..2 {
        let Some((kind, name)) = owner else { break };
        let Some(at) = index.get(&(&*draft.namespace, &**kind, &**name)) else { break };
        found = Some(*at);
        owner = drafts[*at].owner.as_ref();
    }
    found
}

/// The pods that a manifest still brings, and how many follow them.
fn missing(draft: &Draft<'_>, owned: Owned) -> (u64, u64) {
    match &*draft.kind {
        "Pod" => {
            let is_over = draft.facts.is_finished
                || (draft.facts.rest.is_terminating && draft.facts.node.is_none());
            (u64::from(!is_over), 0)
        }
        "Job" => {
            let left = (draft.pods + draft.followers).saturating_sub(owned.all);
            let room = draft.pods.saturating_sub(owned.unfinished).max(1).min(draft.pods);
            (left.min(room), left.saturating_sub(room))
        }
        _ => (draft.pods.saturating_sub(owned.unfinished), 0),
    }
}
