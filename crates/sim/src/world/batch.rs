//! Jobs of Kubernetes: complete some time after enough of their pods succeeded, and deleted with
//! their pods some time after that.

use model::{Fact, JobFacts, Key, Kind};

use super::World;
use super::happenings::Happening;
use super::records::{JobAt, PodAt};
use crate::plan::{BatchJob, Job};

/// How far the Job of Kubernetes behind a job is, if there is one.
#[derive(Clone, Copy)]
pub(super) struct BatchRecord {
    /// How many pods it has in all.
    pods: u64,
    /// How many of them have yet to succeed.
    left: u64,
    is_complete: bool,
}

impl BatchRecord {
    pub(super) fn new(job: &Job) -> Self {
        let pods = job.pods + job.followers;
        Self { pods, left: pods, is_complete: false }
    }
}

impl World {
    fn batch(&self, job: JobAt) -> Option<&BatchJob> {
        self.jobs[job.0].gang.as_ref()?.batch.as_ref()
    }

    /// The uid of the Job that makes the pods of a job; empty if none does.
    pub(super) fn batch_uid(&self, job: JobAt) -> Box<str> {
        let name = &self.jobs[job.0].name;
        self.batch(job).map(|_| format!("{name}.job").into()).unwrap_or_default()
    }

    /// A pod of a job succeeded.
    pub(super) fn count_success(&mut self, job: JobAt) {
        let Some(completes) = self.batch(job).map(|batch| batch.completes) else { return };
        let record = &mut self.batches[job.0];
        record.left = record.left.saturating_sub(1);
        if record.left == 0 && !record.is_complete {
            let at = self.now + self.draw(completes);
            self.agenda.add(at, Happening::BatchCompletes(job));
        }
    }

    pub(super) fn batch_completes(&mut self, job: JobAt) {
        if std::mem::replace(&mut self.batches[job.0].is_complete, true) {
            return;
        }
        self.happened.jobs_complete += 1;
        let facts = self.complete(job);
        self.publish(facts);
        if let Some(range) = self.batch(job).and_then(|batch| batch.deleted)
            && !self.is_calm
        {
            let at = self.now + self.draw(range);
            self.agenda.add(at, Happening::BatchDeleted(job));
        }
    }

    /// A Job is deleted, and its pods with it.
    pub(super) fn batch_deleted(&mut self, job: JobAt) {
        self.batches[job.0].is_complete = false;
        self.publish_gone(Key::new(Kind::Job, self.batch_uid(job)));
        for at in 0..self.pods.len() {
            if self.pods[at].job == job {
                self.remove(PodAt(at));
            }
        }
    }

    fn complete(&self, job: JobAt) -> JobFacts {
        let pods = u32::try_from(self.batches[job.0].pods).unwrap_or(u32::MAX);
        JobFacts { uid: self.batch_uid(job), pods }
    }

    pub(super) fn list_batches(&self) -> Vec<Fact> {
        let complete = self.batches.iter().enumerate().filter(|(_, batch)| batch.is_complete);
        complete.map(|(at, _)| self.complete(JobAt(at)).into()).collect()
    }
}
