//! Pods of gangs that ran to their end, and whether that was a good end of their gang.
//!
//! A gang succeeded if none of its pods lives, every Job that made some of them is complete, at
//! least its minimum succeeded, and every other pod that failed was replaced: another one of the
//! same controller that was made later succeeded. A Job that is complete counts for all pods that
//! it runs at a time: which of them have to succeed is its own affair. A controller that may make
//! more pods when all it made have ended, and does not say when it is through, counts only where
//! the gang says that several start together.

use std::collections::{BTreeMap, BTreeSet};

use super::{Gangs, Name};
use crate::gang::{JobFacts, PodGroupKey, SucceededFacts};

/// The pods of a gang that ended.
#[derive(Default)]
pub(super) struct Ended {
    /// By uid.
    pods: BTreeMap<Box<str>, SucceededFacts>,
    /// How many of them failed and were made by no Job.
    failed: usize,
}

/// Jobs that made pods of gangs, or may have.
#[derive(Default)]
pub(super) struct Jobs {
    /// Those that are complete, by uid, with how many pods of a gang they stood for.
    complete: BTreeMap<Box<str>, u32>,
    /// The gangs of pods that ended, by the uid of their Job, each with how many such pods it has.
    gangs: BTreeMap<Box<str>, BTreeMap<Name, u32>>,
}

impl Jobs {
    /// Notes that a Job made a pod of a gang that ended.
    fn add(&mut self, job: &str, gang: &Name) {
        *self.gangs.entry(job.into()).or_default().entry(gang.clone()).or_default() += 1;
    }

    fn remove(&mut self, job: &str, gang: &Name) {
        let Some(gangs) = self.gangs.get_mut(job) else { return };
        let Some(count) = gangs.get_mut(gang) else { return };
        *count -= 1;
        if *count == 0 {
            gangs.remove(gang);
        }
        if gangs.is_empty() {
            self.gangs.remove(job);
        }
    }
}

impl Ended {
    fn remove(&mut self, uid: &str) -> Option<SucceededFacts> {
        let gone = self.pods.remove(uid)?;
        self.failed -= usize::from(is_failure(&gone));
        Some(gone)
    }

    /// Whether another pod of the same controller succeeded in the place of every one that failed.
    fn is_replaced(&self) -> bool {
        let mut times: BTreeMap<&str, [Vec<i64>; 2]> = BTreeMap::new();
        let counts = |facts: &&SucceededFacts| self.failed > 0 && facts.job.is_empty();
        for facts in self.pods.values().filter(counts) {
            let times = times.entry(&facts.owner).or_default();
            times[usize::from(facts.is_failed)].push(facts.created);
        }
        times.into_iter().all(|(owner, [mut succeeded, mut failed])| {
            succeeded.sort_unstable();
            failed.sort_unstable();
            let mut later = succeeded.into_iter();
            let mut is_replaced = |failed: i64| later.by_ref().any(|made| made > failed);
            failed.is_empty() || !owner.is_empty() && failed.into_iter().all(&mut is_replaced)
        })
    }
}

/// Whether a pod has to be replaced by its controller.
fn is_failure(facts: &SucceededFacts) -> bool {
    facts.is_failed && facts.job.is_empty()
}

impl Gangs {
    /// Notes that a pod of a gang ended, or that it is not known any more; returns what was known
    /// of it.
    pub(in crate::catalog) fn set_ended(
        &mut self,
        uid: &str,
        facts: Option<&SucceededFacts>,
    ) -> Option<SucceededFacts> {
        let mut before = None;
        if let Some(key) = self.gang_of_ended.remove(uid)
            && let Some(ended) = self.ended_pods.get_mut(&key)
        {
            before = ended.remove(uid);
            if ended.pods.is_empty() {
                self.ended_pods.remove(&key);
            }
            before.iter().for_each(|facts| self.jobs.remove(&facts.job, &key));
        }
        if let Some(facts) = facts {
            let key: Name = (facts.namespace.clone(), facts.gang.clone());
            let ended = self.ended_pods.entry(key.clone()).or_default();
            ended.failed += usize::from(is_failure(facts));
            ended.pods.insert(uid.into(), facts.clone());
            if !facts.job.is_empty() {
                self.jobs.add(&facts.job, &key);
            }
            self.gang_of_ended.insert(uid.into(), key);
        }
        before
    }

    /// Pods of gangs that ended, by the gang.
    pub(in crate::catalog) fn ended_pods(&self) -> impl Iterator<Item = &SucceededFacts> {
        self.ended_pods.values().flat_map(|ended| ended.pods.values())
    }

    /// Notes that a Job is complete; tells the gangs of its pods that ended.
    pub(in crate::catalog) fn set_job(&mut self, facts: &JobFacts) -> Vec<Name> {
        self.jobs.complete.insert(facts.uid.clone(), facts.pods);
        let gangs = self.jobs.gangs.get(&facts.uid);
        gangs.into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// Forgets a Job, by uid.
    pub(in crate::catalog) fn delete_job(&mut self, uid: &str) {
        self.jobs.complete.remove(uid);
    }

    /// The Jobs that are complete, by uid.
    pub(in crate::catalog) fn jobs(&self) -> impl Iterator<Item = JobFacts> {
        let all = self.jobs.complete.iter();
        all.map(|(uid, pods)| JobFacts { uid: uid.clone(), pods: *pods })
    }

    /// Whether a gang ran to a good end.
    pub(in crate::catalog) fn is_over(&self, namespace: &str, name: &str) -> bool {
        let Some(ended) = self.ended_pods.get(&(namespace.into(), name.into())) else {
            return false;
        };
        if self.find(namespace, name, false).is_some() {
            return false;
        }
        let (mut min, mut succeeded, mut is_endless) = (1, 0, false);
        let mut jobs: BTreeSet<&str> = BTreeSet::new();
        self.looks.add(ended.pods.len());
        for facts in ended.pods.values() {
            let objects = facts.objects.iter().filter_map(|(kind, name, part)| {
                let (namespace, name) = (namespace.into(), name.clone());
                let object = self.objects.get(&PodGroupKey { kind: *kind, namespace, name })?;
                object.mins.iter().find(|(of, _)| of == part).map(|(_, min)| *min)
            });
            min = objects.chain(facts.min).fold(min, u32::max);
            is_endless |= facts.is_of_job;
            if facts.job.is_empty() {
                succeeded += u64::from(!facts.is_failed);
            } else if jobs.insert(&facts.job) {
                let Some(pods) = self.jobs.complete.get(&facts.job) else { return false };
                succeeded += u64::from(*pods);
            }
        }
        succeeded >= min.into() && (min > 1 || !is_endless) && ended.is_replaced()
    }
}
