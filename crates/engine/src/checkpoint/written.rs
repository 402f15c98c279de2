//! How a checkpoint is written down: as it is, and as journals of before have it.

use model::{
    Attempt, BudgetFacts, Diagnosis, Fact, GroupingFacts, Learnt, LocalQueueFacts, NamespaceFacts,
    PodGroupFacts, PodGroupKind, PodSpec, SucceededFacts,
};
use serde::Deserialize;

use super::{
    Checkpoint, CommitEntry, GangEntry, GpusEntry, InsideEntry, NodePlace, PodEntry, UnitEntry,
};
use crate::evictions::Purpose;

/// A checkpoint, or a part of one, in a journal of any format.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Written {
    attempt: Attempt,
    arrivals: u64,
    clock: i64,
    resources: Vec<String>,
    facts: Vec<Fact>,
    pod_group_kinds: Vec<PodGroupKind>,
    nodes: Vec<Option<NodePlace>>,
    specs: Vec<PodSpec>,
    pods: Vec<PodEntry>,
    diagnoses: Vec<Diagnosis>,
    gangs: Vec<GangEntry>,
    units: Vec<UnitEntry>,
    commits: Vec<CommitEntry>,
    evictions: Vec<(Box<str>, Purpose)>,
    insides: Vec<InsideEntry>,
    gpus: Vec<GpusEntry>,
    gpu_demand: Option<Box<Learnt>>,
    // Format 1 has a list for every kind there was.
    namespaces: Vec<NamespaceFacts>,
    budgets: Vec<BudgetFacts>,
    groupings: Vec<GroupingFacts>,
    pod_groups: Vec<PodGroupFacts>,
    succeeded: Vec<SucceededFacts>,
    local_queues: Vec<LocalQueueFacts>,
}

impl From<Written> for Checkpoint {
    fn from(written: Written) -> Self {
        let Written { attempt, arrivals, clock, resources, mut facts, .. } = written;
        facts.extend(written.namespaces.into_iter().map(Fact::from));
        facts.extend(written.budgets.into_iter().map(Fact::from));
        facts.extend(written.groupings.into_iter().map(Fact::from));
        facts.extend(written.pod_groups.into_iter().map(Fact::from));
        facts.extend(written.succeeded.into_iter().map(Fact::from));
        facts.extend(written.local_queues.into_iter().map(Fact::from));
        Self {
            attempt,
            arrivals,
            clock,
            resources,
            facts,
            pod_group_kinds: written.pod_group_kinds,
            nodes: written.nodes,
            specs: written.specs,
            pods: written.pods,
            diagnoses: written.diagnoses,
            gangs: written.gangs,
            units: written.units,
            commits: written.commits,
            evictions: written.evictions,
            insides: written.insides,
            gpus: written.gpus,
            gpu_demand: written.gpu_demand,
        }
    }
}
