//! What the world does when the time of something has come.

use model::Millis;

use super::World;
use super::records::{JobAt, NodeAt, PodAt};
use super::storage::StorageHappening;
use crate::plan::{Fate, Job};

/// Something that happens by itself when its time comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Happening {
    NodeJoins(NodeAt),
    /// One of its fates, by its place in the plan.
    NodeMeets(NodeAt, usize),
    JobArrives(JobAt),
    /// One pod of a job whose pods come one by one.
    MemberArrives(JobAt),
    /// An object about a gang is made, or deleted.
    GroupMade(usize),
    GroupDeleted(usize),
    /// It says something else, or is gone: by its place in the plan, and that of what it says.
    GroupChanges(usize, usize),
    /// A namespace gets other labels, or is gone: by its place in the plan, and that of its state.
    NamespaceChanges(usize, usize),
    /// A pod makes others.
    WorkersMade(PodAt),
    /// A pod that made others is gone, and they have to go as well.
    MakerEnded(PodAt),
    GateLifted(PodAt),
    /// Its node takes a look at it.
    PodReachesNode(PodAt),
    PodResizes(PodAt),
    /// Its owner lets it tolerate every taint.
    PodTolerates(PodAt),
    /// Its owner writes on it that it is of a tier.
    PodWishes(PodAt),
    PodEnds(PodAt),
    /// Its owner does not want it any more.
    OwnerDeletes(PodAt),
    /// The grace of a pod that is being deleted is over.
    PodGone(PodAt),
    /// The owner of a pod that was evicted for another one makes another.
    OwnerReplaces(PodAt),
    /// Pods of nodes that are gone are removed.
    PodCollected(PodAt),
    SecondSchedulerBinds(PodAt),
    /// The owner of a pod that its kubelet refused makes another.
    RefusedReplaced(PodAt),
    /// The agent of a node tells what pods hold there.
    AgentReports(NodeAt),
    /// Enough pods of a Job of Kubernetes succeeded.
    BatchCompletes(JobAt),
    BatchDeleted(JobAt),
    /// Something about storage.
    Storage(StorageHappening),
}

impl Happening {
    /// Whether it goes on when the world has calmed down: what was begun, but nothing else.
    pub(super) fn goes_on(&self) -> bool {
        match self {
            Self::Storage(happening) => happening.goes_on(),
            Self::PodReachesNode(_)
            | Self::WorkersMade(_)
            | Self::MakerEnded(_)
            | Self::PodGone(_)
            | Self::PodCollected(_)
            | Self::RefusedReplaced(_)
            | Self::AgentReports(_)
            | Self::BatchCompletes(_)
            | Self::GateLifted(_) => true,
            Self::NodeJoins(_)
            | Self::NodeMeets(..)
            | Self::JobArrives(_)
            | Self::MemberArrives(_)
            | Self::GroupMade(_)
            | Self::GroupDeleted(_)
            | Self::GroupChanges(..)
            | Self::NamespaceChanges(..)
            | Self::PodResizes(_)
            | Self::PodTolerates(_)
            | Self::PodWishes(_)
            | Self::PodEnds(_)
            | Self::OwnerDeletes(_)
            | Self::OwnerReplaces(_)
            | Self::BatchDeleted(_)
            | Self::SecondSchedulerBinds(_) => false,
        }
    }
}

impl World {
    pub(super) fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::NodeJoins(node) => self.node_joins(node),
            Happening::NodeMeets(node, fate) => self.node_meets(node, fate),
            Happening::JobArrives(job) => self.job_arrives(job),
            Happening::MemberArrives(job) => self.pod_arrives(job, None),
            Happening::GroupMade(group) => self.group_made(group),
            Happening::GroupDeleted(group) => self.group_deleted(group),
            Happening::GroupChanges(group, state) => self.group_changes(group, state),
            Happening::NamespaceChanges(at, state) => self.namespace_changes(at, state),
            Happening::WorkersMade(pod) => self.workers_made(pod),
            Happening::MakerEnded(pod) => self.delete_workers(pod),
            Happening::GateLifted(pod) => self.lift_gate(pod),
            Happening::PodReachesNode(pod) => self.pod_reaches_node(pod),
            Happening::PodResizes(pod) => self.pod_resizes(pod),
            Happening::PodTolerates(pod) => self.pod_tolerates(pod),
            Happening::PodWishes(pod) => self.pod_wishes(pod),
            Happening::PodEnds(pod) => self.pod_ends(pod),
            Happening::OwnerDeletes(pod) => self.owner_deletes(pod),
            Happening::PodGone(pod) => self.remove(pod),
            Happening::OwnerReplaces(pod) | Happening::RefusedReplaced(pod) => self.replace(pod),
            Happening::AgentReports(node) => self.agent_reports(node),
            Happening::PodCollected(pod) => self.collect(pod),
            Happening::SecondSchedulerBinds(pod) => self.second_scheduler_binds(pod),
            Happening::BatchCompletes(job) => self.batch_completes(job),
            Happening::BatchDeleted(job) => self.batch_deleted(job),
            Happening::Storage(happening) => self.storage_happens(happening),
        }
    }

    fn node_meets(&mut self, node: NodeAt, fate: usize) {
        match self.nodes[node.0].fates[fate].clone() {
            Fate::Closes => self.change_node(node, |facts| facts.is_closed = true),
            Fate::Opens => self.change_node(node, |facts| facts.is_closed = false),
            Fate::Taints(taints) => self.change_node(node, |facts| facts.taints = taints),
            Fate::Labels(labels) => self.change_node(node, |facts| facts.labels = labels),
            Fate::Resizes { allocatable, pods_max } => {
                self.change_node(node, |facts| {
                    facts.allocatable = allocatable;
                    facts.pods_max = pods_max;
                });
            }
            Fate::Drains => self.drain(node),
            Fate::Leaves => self.node_leaves(node),
            Fate::Dies => self.node_dies(node),
            Fate::Returns => self.node_joins(node),
            Fate::Hardware(hardware) => {
                self.change_node(node, |facts| facts.hardware = hardware);
            }
            Fate::AgentVanishes { is_cleaned } => self.agent_vanishes(node, is_cleaned),
        }
    }

    fn job_arrives(&mut self, job: JobAt) {
        self.count_expected(job);
        let Job { pods, gang, .. } = self.jobs[job.0].clone();
        let every = gang.as_ref().map_or(Millis(0), |gang| gang.every);
        for number in 0..pods {
            if every == Millis(0) {
                self.pod_arrives(job, None);
            } else {
                let at = self.now + Millis(every.0 * number);
                self.agenda.add(at, Happening::MemberArrives(job));
            }
        }
    }

    /// A pod of a job arrives, which another one may have made.
    pub(super) fn pod_arrives(&mut self, job: JobAt, maker: Option<PodAt>) {
        let Job { node, gates, life, .. } = self.jobs[job.0].clone();
        let node = node.and_then(|name| self.find_node(&name));
        let pod = self.create(job, gates.is_some() && node.is_none());
        self.pods[pod.0].maker = maker;
        self.pods[pod.0].is_given = node.is_some();
        match node {
            Some(node) => self.start(pod, node),
            None => self.welcome(pod),
        }
        if let Some(span) = gates.as_ref().and_then(|gates| gates.lifted_after) {
            self.agenda.add(self.now + span, Happening::GateLifted(pod));
        }
        if self.is_calm {
            return;
        }
        if let Some(span) = life.tolerant_after {
            self.agenda.add(self.now + span, Happening::PodTolerates(pod));
        }
        if let Some((span, _)) = life.wishes {
            self.agenda.add(self.now + span, Happening::PodWishes(pod));
        }
        if let Some(range) = life.deleted_after {
            let at = self.now + self.draw(range);
            self.agenda.add(at, Happening::OwnerDeletes(pod));
        }
    }

    /// Shows a pod that waits for a node to those who might give it one.
    pub(super) fn welcome(&mut self, pod: PodAt) {
        self.publish_pod(pod);
        if self.is_ours(self.pods[pod.0].job) {
            return;
        }
        if let Some(range) = self.faults.second_scheduler {
            let at = self.now + self.draw(range);
            self.agenda.add(at, Happening::SecondSchedulerBinds(pod));
        }
    }

    fn lift_gate(&mut self, pod: PodAt) {
        let record = &mut self.pods[pod.0];
        if record.is_gone || !record.is_gated {
            return;
        }
        record.is_gated = false;
        record.since = self.now;
        self.publish_pod(pod);
    }
}
