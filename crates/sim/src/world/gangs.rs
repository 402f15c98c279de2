//! Gangs: objects that say how many start together, pods that make others, pods that succeeded.

use std::sync::Arc;

use model::{Fact, GangClaim, PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts, Workers};

use super::World;
use super::happenings::Happening;
use super::records::{JobAt, Phase, PodAt};
use crate::plan::{Job, Keeper, PodGroupPlan};

/// An object about a gang.
pub(super) struct GroupRecord {
    facts: PodGroupFacts,
    is_there: bool,
    /// What becomes of it, in the order of the plan.
    later: Box<[Option<PodGroupFacts>]>,
}

/// Whether the pods of a job are made by a pod of another one.
pub(super) fn is_made(job: &Job) -> bool {
    job.gang.as_ref().is_some_and(|gang| gang.made_by.is_some())
}

/// What the pods of each job say of their gang.
pub(super) fn claims(jobs: &[Job]) -> Vec<Option<Arc<GangClaim>>> {
    let claim = |job: &Job| {
        let gang = job.gang.as_ref()?;
        if let Some(claim) = &gang.claim {
            return Some(Arc::new(GangClaim { name: gang.gang.clone(), ..(**claim).clone() }));
        }
        let object = gang.object.map(|kind| (kind, gang.gang.clone(), "".into()));
        let workers = jobs.iter().filter(|other| is_maker_of(job, other)).map(|other| {
            let count = u32::try_from(other.pods).unwrap_or(u32::MAX);
            Workers { count, requests: other.spec.requests.clone() }
        });
        Some(Arc::new(GangClaim {
            name: gang.gang.clone(),
            min: gang.min,
            objects: object.into_iter().collect(),
            workers: workers.collect(),
            after: gang.after.clone(),
            priority: (gang.object == Some(PodGroupKind::Native)).then_some(job.priority),
            ..GangClaim::default()
        }))
    };
    jobs.iter().map(claim).collect()
}

fn is_maker_of(job: &Job, other: &Job) -> bool {
    let made_by = other.gang.as_ref().and_then(|gang| gang.made_by.as_ref());
    made_by.is_some_and(|(maker, _)| *maker == job.name)
}

// === Objects ===

impl World {
    pub(super) fn expect_group(&mut self, plan: PodGroupPlan) {
        let at = self.groups.len();
        self.agenda.add(plan.at, Happening::GroupMade(at));
        if let Some(deleted) = plan.deleted {
            self.agenda.add(deleted, Happening::GroupDeleted(at));
        }
        for (number, (time, _)) in plan.later.iter().enumerate() {
            self.agenda.add(*time, Happening::GroupChanges(at, number));
        }
        let later = plan.later.into_iter().map(|(_, facts)| facts).collect();
        self.groups.push(GroupRecord { facts: plan.facts, is_there: false, later });
    }

    pub(super) fn group_made(&mut self, at: usize) {
        self.groups[at].is_there = true;
        self.publish_group(at);
    }

    pub(super) fn group_deleted(&mut self, at: usize) {
        let group = &mut self.groups[at];
        if std::mem::take(&mut group.is_there) {
            let key = group.facts.key.clone();
            self.publish_gone(key.into());
        }
    }

    /// An object says something else, is gone, or is made anew.
    pub(super) fn group_changes(&mut self, at: usize, state: usize) {
        let group = &mut self.groups[at];
        let Some(facts) = group.later[state].clone() else { return self.group_deleted(at) };
        let is_started = group.is_there && group.facts.is_started;
        group.facts = PodGroupFacts { is_started, ..facts };
        group.is_there = true;
        self.happened.groups_changed += 1;
        self.publish_group(at);
    }

    fn publish_group(&mut self, at: usize) {
        let facts = self.groups[at].facts.clone();
        self.publish(facts);
    }

    /// Writes down that enough pods of a gang are on nodes.
    pub(crate) fn gang_started(&mut self, key: &PodGroupKey) {
        let is_meant = |group: &GroupRecord| group.is_there && group.facts.key == *key;
        let Some(at) = self.groups.iter().position(is_meant) else { return };
        if !std::mem::replace(&mut self.groups[at].facts.is_started, true) {
            self.publish_group(at);
        }
    }

    pub(super) fn list_groups(&self, kind: PodGroupKind) -> Vec<Fact> {
        let is_meant = |group: &&GroupRecord| group.is_there && group.facts.key.kind == kind;
        self.groups.iter().filter(is_meant).map(|group| group.facts.clone().into()).collect()
    }
}

// === Pods that succeeded ===

impl World {
    fn success(&self, pod: PodAt) -> Option<SucceededFacts> {
        let record = &self.pods[pod.0];
        let claim = self.claims[record.job.0].as_ref().filter(|claim| !claim.name.is_empty())?;
        let is_there = record.phase == Phase::Finished && !record.is_gone;
        is_there.then(|| SucceededFacts {
            uid: record.key.uid.clone(),
            namespace: record.key.namespace.clone(),
            gang: claim.name.clone(),
            min: claim.min,
            job: self.batch_uid(record.job),
            ..SucceededFacts::default()
        })
    }

    pub(super) fn publish_success(&mut self, pod: PodAt) {
        if let Some(facts) = self.success(pod) {
            self.publish(facts);
        }
    }

    pub(super) fn list_succeeded(&self) -> Vec<Fact> {
        let all = (0..self.pods.len()).filter_map(|at| self.success(PodAt(at)));
        all.map(Fact::from).collect()
    }
}

// === Pods that make others ===

impl World {
    /// Whether nobody makes another pod in the place of one of a job.
    pub(super) fn is_bare(&self, job: JobAt) -> bool {
        let Job { gang, life, .. } = &self.jobs[job.0];
        life.keeper == Keeper::Nobody || gang.as_ref().is_some_and(|gang| gang.is_bare)
    }

    fn made_by(&self, pod: PodAt) -> Vec<JobAt> {
        let job = &self.jobs[self.pods[pod.0].job.0];
        let all = self.jobs.iter().enumerate();
        all.filter(|(_, other)| is_maker_of(job, other)).map(|(at, _)| JobAt(at)).collect()
    }

    /// A pod that runs makes others some time later.
    pub(super) fn expect_workers(&mut self, pod: PodAt) {
        if self.claims[self.pods[pod.0].job.0].as_ref().is_none_or(|one| one.workers.is_empty()) {
            return;
        }
        let first = self.made_by(pod).first().map(|job| &self.jobs[job.0]);
        let gang = first.and_then(|job| job.gang.as_ref());
        let made_by = gang.and_then(|gang| gang.made_by.clone());
        if let Some((_, range)) = made_by {
            let at = self.now + self.draw(range);
            self.agenda.add(at, Happening::WorkersMade(pod));
        }
    }

    pub(super) fn workers_made(&mut self, pod: PodAt) {
        if self.pods[pod.0].is_terminating || !matches!(self.pods[pod.0].phase, Phase::Running(_)) {
            return;
        }
        for job in self.made_by(pod) {
            for _ in 0..self.jobs[job.0].pods {
                self.pod_arrives(job, Some(pod));
            }
        }
    }

    /// What a pod made is not left behind.
    pub(super) fn maker_ended(&mut self, pod: PodAt) {
        if self.claims[self.pods[pod.0].job.0].as_ref().is_some_and(|one| !one.workers.is_empty()) {
            self.agenda.add(self.now, Happening::MakerEnded(pod));
        }
    }

    pub(super) fn delete_workers(&mut self, maker: PodAt) {
        for at in 0..self.pods.len() {
            let record = &self.pods[at];
            let is_left = record.maker == Some(maker) && !record.phase.is_over();
            if is_left && !record.is_terminating {
                self.terminate(PodAt(at));
            }
        }
    }
}
