//! What the API server says to a binding, to a read and to a list.

use std::sync::Arc;

use model::{Event, Fact, Kind, Present};

use super::World;
use super::records::{NodeAt, Phase, PodAt};

/// What the API server answers to a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 201: it is bound.
    Bound,
    /// 404: there is no such pod.
    NotFound,
    /// 409: it is bound already, has ended, or is being deleted.
    Conflict,
    /// 400: it may not be bound yet.
    Gated,
    /// 500: something broke, before the pod was bound or after.
    Broken,
    /// 429: not now; nothing was done.
    Busy,
}

/// Where a read finds a pod that was to be on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    There,
    Nowhere,
    /// On another node, or gone.
    Elsewhere,
}

impl World {
    /// Binds a pod to a node, whether that node is there or not.
    pub(crate) fn post_binding(&mut self, pod: PodAt, node: NodeAt) -> Answer {
        let record = &self.pods[pod.0];
        if record.is_gone {
            return Answer::NotFound;
        }
        let is_free = matches!(record.phase, Phase::Waiting | Phase::Ordered(_));
        if !is_free || record.is_terminating {
            return Answer::Conflict;
        }
        if record.is_gated {
            return Answer::Gated;
        }
        if self.is_ours(record.job) {
            self.happened.bound += 1;
        } else {
            self.happened.stolen += 1;
        }
        self.start(pod, node);
        Answer::Bound
    }

    /// Reads a pod that was to be on a node.
    pub(crate) fn read(&self, pod: PodAt, node: NodeAt) -> Whereabouts {
        let record = &self.pods[pod.0];
        if record.is_gone {
            return Whereabouts::Elsewhere;
        }
        match record.bound {
            Some(on) if on == node => Whereabouts::There,
            Some(_) => Whereabouts::Elsewhere,
            None => Whereabouts::Nowhere,
        }
    }

    /// Everything of a kind, and that this is everything.
    pub(crate) fn list(&self, kind: Kind) -> Vec<Arc<Event>> {
        let mut facts = match kind {
            Kind::Node => self.list_nodes(),
            Kind::Pod => self.list_pods(),
            Kind::Budget => self.budgets().cloned().map(Fact::from).collect(),
            Kind::PodGroup(sort) => self.list_groups(sort),
            Kind::Succeeded => self.list_succeeded(),
            Kind::Namespace => self.list_namespaces(),
            Kind::Job => self.list_batches(),
            Kind::Storage(sort) => self.list_storage(sort),
            Kind::Grouping(_)
            | Kind::LocalQueue
            | Kind::ClusterQueue
            | Kind::NodeResourceTopology
            | Kind::ResourceSlice
            | Kind::ResourceClaim => Vec::new(),
        };
        facts.extend(self.fixed.iter().filter(|fact| fact.kind() == kind).cloned());
        let names = facts.iter().map(|fact| fact.key().name).collect();
        let seen = facts.into_iter().map(Event::Seen);
        seen.chain([Event::Listed(kind, Present::Names(names))]).map(Arc::new).collect()
    }

    fn list_nodes(&self) -> Vec<Fact> {
        let there = self.nodes.iter().filter(|node| node.is_there);
        there.map(|node| node.facts.clone().into()).collect()
    }

    fn list_pods(&self) -> Vec<Fact> {
        let there = self.pods().filter(|(_, pod)| !pod.is_gone);
        there.map(|(at, _)| self.facts(at).into()).collect()
    }
}
