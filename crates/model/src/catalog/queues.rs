//! Queues of Kueue: to which ClusterQueues the pods of a namespace can be led.

use std::collections::BTreeMap;

use crate::catalog::Catalog;
use crate::event::{ClusterQueueFacts, LocalQueueFacts};
use crate::spec::LabelSelector;

/// The ClusterQueues that LocalQueues lead to, by namespace and name of the LocalQueue.
#[derive(Default)]
pub(super) struct LocalQueues(BTreeMap<Box<str>, BTreeMap<Box<str>, Box<str>>>);

/// The ClusterQueues that are there, each with the namespaces that may be led to it.
#[derive(Default)]
pub(super) struct ClusterQueues(BTreeMap<Box<str>, Option<LabelSelector>>);

impl ClusterQueues {
    /// Whether a ClusterQueue is known to be just so.
    pub(super) fn has(&self, facts: &ClusterQueueFacts) -> bool {
        self.0.get(&facts.name) == Some(&facts.namespaces)
    }

    /// All of them, by name.
    pub(super) fn facts(&self) -> impl Iterator<Item = ClusterQueueFacts> {
        let all = self.0.iter();
        all.map(|(name, namespaces)| ClusterQueueFacts {
            name: name.clone(),
            namespaces: namespaces.clone(),
        })
    }
}

impl LocalQueues {
    /// The namespaces from which a LocalQueue leads to a ClusterQueue.
    fn leading_to(&self, cluster_queue: &str) -> Vec<Box<str>> {
        let leads =
            |queues: &BTreeMap<_, Box<str>>| queues.values().any(|it| **it == *cluster_queue);
        let all = self.0.iter().filter(|(_, queues)| leads(queues));
        all.map(|(namespace, _)| namespace.clone()).collect()
    }

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

    /// Takes in a ClusterQueue; tells the namespaces that may be led elsewhere now.
    pub fn set_cluster_queue(&mut self, facts: &ClusterQueueFacts) -> Vec<Box<str>> {
        if self.cluster_queues.has(facts) {
            return Vec::new();
        }
        self.cluster_queues.0.insert(facts.name.clone(), facts.namespaces.clone());
        self.local_queues.leading_to(&facts.name)
    }

    /// Forgets a ClusterQueue; tells the namespaces that may be led elsewhere now.
    pub fn delete_cluster_queue(&mut self, name: &str) -> Vec<Box<str>> {
        match self.cluster_queues.0.remove(name) {
            Some(_) => self.local_queues.leading_to(name),
            None => Vec::new(),
        }
    }

    /// The ClusterQueues that the LocalQueues of a namespace lead to, by the names of the latter:
    /// nothing for one that leads to a ClusterQueue which is not there, or not for the namespace.
    pub fn cluster_queues(&self, namespace: &str) -> impl Iterator<Item = Option<&str>> {
        let queues = self.local_queues.0.get(namespace);
        let labels = self.namespace_labels(namespace);
        queues.into_iter().flat_map(BTreeMap::values).map(move |queue| {
            let meant = self.cluster_queues.0.get(queue)?.as_ref()?;
            labels.is_some_and(|labels| meant.matches(labels)).then_some(&**queue)
        })
    }
}
