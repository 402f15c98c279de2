//! LocalQueues of Kueue: to which ClusterQueues the pods of a namespace can be led.

use std::collections::BTreeMap;

use crate::catalog::Catalog;
use crate::event::LocalQueueFacts;

/// The ClusterQueues that LocalQueues lead to, by namespace and name of the LocalQueue.
#[derive(Default)]
pub(super) struct LocalQueues(BTreeMap<Box<str>, BTreeMap<Box<str>, Box<str>>>);

impl LocalQueues {
    /// Whether a LocalQueue is known to be just so.
    pub(super) fn has(&self, facts: &LocalQueueFacts) -> bool {
        let queues = self.0.get(&facts.namespace);
        queues.and_then(|queues| queues.get(&facts.name)) == Some(&facts.cluster_queue)
    }
}

impl Catalog {
    /// Takes in a LocalQueue; tells whether anything is different now.
    pub fn set_local_queue(&mut self, facts: &LocalQueueFacts) -> bool {
        let LocalQueueFacts { namespace, name, cluster_queue } = facts;
        let queues = self.local_queues.0.entry(namespace.clone()).or_default();
        queues.insert(name.clone(), cluster_queue.clone()).as_ref() != Some(cluster_queue)
    }

    /// Forgets the LocalQueue with this [`LocalQueueFacts::key`]; tells its namespace if it was
    /// known.
    pub fn delete_local_queue<'a>(&mut self, key: &'a str) -> Option<&'a str> {
        let (namespace, name) = key.split_once('/')?;
        let queues = self.local_queues.0.get_mut(namespace)?;
        queues.remove(name)?;
        if queues.is_empty() {
            self.local_queues.0.remove(namespace);
        }
        Some(namespace)
    }

    /// All LocalQueues, by namespace and name.
    pub fn local_queues(&self) -> impl Iterator<Item = LocalQueueFacts> {
        self.local_queues.0.iter().flat_map(|(namespace, queues)| {
            queues.iter().map(|(name, cluster_queue)| LocalQueueFacts {
                namespace: namespace.clone(),
                name: name.clone(),
                cluster_queue: cluster_queue.clone(),
            })
        })
    }

    /// The ClusterQueues that the LocalQueues of a namespace lead to, by the names of the latter.
    pub fn cluster_queues(&self, namespace: &str) -> impl Iterator<Item = &str> {
        let queues = self.local_queues.0.get(namespace);
        queues.into_iter().flat_map(BTreeMap::values).map(|queue| &**queue)
    }
}
