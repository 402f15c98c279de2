//! Evictions that are decided: whom each makes room for, and whether that is still wanted.
//!
//! A shell carries an eviction out in two requests that may take a while. The pod it is for may
//! find room elsewhere meanwhile, or be gone: then whoever was to go for it and is still there
//! stays. Pods and nodes are known by name here, because they may go before that is asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::PodState;
use serde::{Deserialize, Serialize};

use crate::Scheduler;

/// The evictions for the sake of other pods, by the uid of the pod that is to go.
#[derive(Debug, Default)]
pub(crate) struct Evictions {
    by_victim: BTreeMap<Box<str>, Arc<Purpose>>,
}

/// What a pod is evicted for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purpose {
    /// The uid of the pod that finds room then.
    pub pod: Box<str>,
    /// On which node.
    pub node: Box<str>,
}

impl Evictions {
    /// Notes that a pod is to go.
    pub(crate) fn begin(&mut self, victim: Box<str>, purpose: Arc<Purpose>) {
        self.by_victim.insert(victim, purpose);
    }

    /// Notes that a pod could not be evicted.
    pub(crate) fn end(&mut self, victim: &str) {
        self.by_victim.remove(victim);
    }

    /// Who is to go, and for whom.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &Arc<Purpose>)> {
        self.by_victim.iter().map(|(victim, purpose)| (&**victim, purpose))
    }
}

impl Scheduler {
    /// The uids of pods whose evictions for the sake of others are not wanted any more: those
    /// others found room elsewhere, wait for another node, or are gone; or the pods are gone
    /// themselves. Each is told once. What was sent cannot be taken back, and what became of it is
    /// to be told as ever.
    pub fn spared(&mut self) -> Vec<Box<str>> {
        let mut spared = Vec::new();
        let mut evictions = std::mem::take(&mut self.evictions);
        evictions.by_victim.retain(|victim, purpose| {
            let is_wanted = self.catalog.find_pod(victim).is_some() && self.is_awaited(purpose);
            if !is_wanted {
                spared.push(victim.clone());
            }
            is_wanted
        });
        self.evictions = evictions;
        spared
    }

    /// Whether a pod waits and the node is proposed for it.
    fn is_awaited(&self, Purpose { pod, node }: &Purpose) -> bool {
        let catalog = &self.catalog;
        let pod = catalog.find_pod(pod);
        let pod = pod.filter(|pod| catalog.pod(*pod).state == PodState::Waiting);
        let proposed = pod.and_then(|pod| catalog.nominated_node(pod));
        proposed.is_some_and(|proposed| catalog.node_name(proposed) == &**node)
    }
}
