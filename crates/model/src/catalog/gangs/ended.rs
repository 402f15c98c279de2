//! Pods of gangs that ran to their end, and whether that was a good end of their gang.
//!
//! A gang succeeded if none of its pods lives, at least its minimum succeeded, and every pod that
//! failed was replaced: another one of the same controller that was made later succeeded. A Job may
//! make more pods when all it made have ended, so its pods count only where the gang says that
//! several start together.

use std::collections::BTreeMap;

use super::{Gangs, Name};
use crate::gang::{PodGroupKey, SucceededFacts};

/// The pods of a gang that ended.
#[derive(Default)]
pub(super) struct Ended {
    /// By uid.
    pods: BTreeMap<Box<str>, SucceededFacts>,
    failed: usize,
}

impl Ended {
    fn remove(&mut self, uid: &str) {
        let gone = self.pods.remove(uid);
        self.failed -= usize::from(gone.is_some_and(|facts| facts.is_failed));
    }

    /// Whether another pod of the same controller succeeded in the place of every one that failed.
    fn is_replaced(&self) -> bool {
        let mut times: BTreeMap<&str, [Vec<i64>; 2]> = BTreeMap::new();
        for facts in self.pods.values().filter(|_| self.failed > 0) {
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

impl Gangs {
    /// Notes that a pod of a gang ended, or that it is not known any more.
    pub(in crate::catalog) fn set_ended(&mut self, uid: &str, facts: Option<&SucceededFacts>) {
        if let Some(key) = self.gang_of_ended.remove(uid)
            && let Some(ended) = self.ended_pods.get_mut(&key)
        {
            ended.remove(uid);
            if ended.pods.is_empty() {
                self.ended_pods.remove(&key);
            }
        }
        if let Some(facts) = facts {
            let key: Name = (facts.namespace.clone(), facts.gang.clone());
            let ended = self.ended_pods.entry(key.clone()).or_default();
            ended.failed += usize::from(facts.is_failed);
            ended.pods.insert(uid.into(), facts.clone());
            self.gang_of_ended.insert(uid.into(), key);
        }
    }

    /// Pods of gangs that ended, by the gang.
    pub(in crate::catalog) fn ended_pods(&self) -> impl Iterator<Item = &SucceededFacts> {
        self.ended_pods.values().flat_map(|ended| ended.pods.values())
    }

    /// Whether a gang ran to a good end.
    pub(in crate::catalog) fn is_over(&self, namespace: &str, name: &str) -> bool {
        let Some(ended) = self.ended_pods.get(&(namespace.into(), name.into())) else {
            return false;
        };
        let succeeded = ended.pods.len() - ended.failed;
        if succeeded == 0 || self.find(namespace, name, false).is_some() {
            return false;
        }
        let mut min = 1;
        self.looks.add(ended.pods.len());
        for facts in ended.pods.values() {
            let objects = facts.objects.iter().filter_map(|(kind, name, part)| {
                let (namespace, name) = (namespace.into(), name.clone());
                let object = self.objects.get(&PodGroupKey { kind: *kind, namespace, name })?;
                object.mins.iter().find(|(of, _)| of == part).map(|(_, min)| *min)
            });
            min = objects.chain(facts.min).fold(min, u32::max);
            // What one pod says holds for all of them, unless they contradict each other.
            if succeeded < min as usize {
                return false;
            }
        }
        let is_of_job = || ended.pods.values().any(|facts| facts.is_of_job);
        (min > 1 || !is_of_job()) && ended.is_replaced()
    }
}
