//! What is known of objects, whatever their kind.

use std::collections::BTreeSet;

use super::Catalog;
use crate::event::BudgetFacts;
use crate::gang::PodGroupKey;
use crate::grouping::GroupingKey;
use crate::kinds::{Fact, Kind};

impl Catalog {
    /// Whether an object is known to be just so. Only told of objects that are often written
    /// without a change of what is read of them.
    #[must_use]
    pub fn has(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Grouping(facts) => self.crowds.groupings.has(facts),
            Fact::LocalQueue(facts) => self.local_queues.has(facts),
            Fact::ClusterQueue(facts) => self.cluster_queues.has(facts),
            Fact::Storage(facts) => self.storage.has(facts),
            Fact::NodeResourceTopology(facts) => self.topologies.has(facts),
            Fact::ResourceSlice(facts) => self.slices.has_slice(facts),
            Fact::ResourceClaim(facts) => self.slices.has_claim(facts),
            Fact::Node(_)
            | Fact::Pod(_)
            | Fact::Namespace(_)
            | Fact::Budget(_)
            | Fact::PodGroup(_)
            | Fact::Succeeded(_)
            | Fact::Job(_) => false,
        }
    }

    /// All objects but nodes and pods.
    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        let namespaces = self.crowds.namespace_facts().map(Fact::from);
        namespaces
            .chain(self.budgets().cloned().map(Fact::from))
            .chain(self.crowds.groupings.facts().map(Fact::from))
            .chain(self.pod_groups().cloned().map(Fact::from))
            .chain(self.succeeded().map(Fact::from))
            .chain(self.local_queues().map(Fact::from))
            .chain(self.cluster_queues.facts().map(Fact::from))
            .chain(self.storage.facts().map(Fact::from))
            .chain(self.jobs().map(Fact::from))
            .chain(self.topologies.facts().cloned().map(Fact::from))
            .chain(self.slices.slices().cloned().map(Fact::from))
            .chain(self.slices.claims().map(Fact::from))
    }

    /// Takes in an object that was known before, and tells whether it is one: nodes and pods have
    /// places that are restored with them.
    pub fn restore(&mut self, fact: &Fact) -> bool {
        match fact {
            Fact::Node(_) | Fact::Pod(_) => return false,
            Fact::Namespace(facts) => _ = self.set_namespace(&facts.name, Some(&facts.labels)),
            Fact::Budget(facts) => self.set_budget(facts),
            Fact::Grouping(facts) => _ = self.set_grouping(&facts.key, Some(&facts.selector)),
            Fact::PodGroup(facts) => _ = self.set_pod_group(facts),
            Fact::Succeeded(facts) => self.set_succeeded(facts),
            Fact::LocalQueue(facts) => _ = self.set_local_queue(facts),
            Fact::ClusterQueue(facts) => _ = self.set_cluster_queue(facts),
            Fact::Storage(facts) => _ = self.set_storage(facts),
            Fact::Job(facts) => _ = self.set_job(facts),
            Fact::NodeResourceTopology(facts) => _ = self.set_node_resource_topology(facts),
            Fact::ResourceSlice(facts) => _ = self.set_resource_slice(facts),
            Fact::ResourceClaim(facts) => _ = self.set_resource_claim(facts),
        }
        true
    }

    /// What is known of a kind and not among names, by its names.
    #[must_use]
    pub fn not_among(&self, kind: Kind, names: &BTreeSet<Box<str>>) -> Vec<Box<str>> {
        let is_gone = |name: &str| !names.contains(name);
        let gone = |known: Vec<Box<str>>| known.into_iter().filter(|name| is_gone(name)).collect();
        match kind {
            Kind::Node => {
                let known = self.nodes().iter().map(|node| self.node_name(*node));
                known.filter(|name| is_gone(name)).map(Into::into).collect()
            }
            Kind::Pod => {
                let known = self.pods().map(|pod| &self.pod(pod).key.uid);
                known.filter(|uid| is_gone(uid)).cloned().collect()
            }
            Kind::Namespace => {
                self.namespaces().filter(|name| is_gone(name)).map(Into::into).collect()
            }
            Kind::Budget => gone(self.budgets().map(BudgetFacts::key).collect()),
            Kind::Grouping(sort) => {
                let known = self.groupings().filter(|key| key.kind == sort);
                gone(known.map(GroupingKey::listed_by).collect())
            }
            Kind::PodGroup(sort) => {
                let known = self.pod_groups().map(|facts| &facts.key);
                gone(known.filter(|key| key.kind == sort).map(PodGroupKey::listed_by).collect())
            }
            Kind::Succeeded => gone(self.succeeded().map(|facts| facts.uid).collect()),
            Kind::LocalQueue => gone(self.local_queues().map(|facts| facts.key()).collect()),
            Kind::ClusterQueue => gone(self.cluster_queues.facts().map(|it| it.name).collect()),
            Kind::Storage(sort) => gone(self.storage.names(sort)),
            Kind::Job => gone(self.jobs().map(|facts| facts.uid).collect()),
            Kind::NodeResourceTopology => {
                gone(self.topologies.facts().map(|facts| facts.node.clone()).collect())
            }
            Kind::ResourceSlice => gone(self.slices.slices().map(|it| it.name.clone()).collect()),
            Kind::ResourceClaim => gone(self.slices.claims().map(|facts| facts.key()).collect()),
        }
    }
}
