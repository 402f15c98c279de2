//! What the API server says to a binding, to a read and to a list.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{BudgetFacts, Event, PodGroupKind, Present};

use super::records::{NodeAt, Phase, PodAt};
use super::{Kind, World};

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
        let (mut events, present) = match kind {
            Kind::Nodes => self.list_nodes(),
            Kind::Pods => self.list_pods(),
            Kind::Budgets => self.list_budgets(),
            Kind::NativeGroups => self.list_groups(PodGroupKind::Native),
            Kind::Composites => self.list_groups(PodGroupKind::Composite),
            Kind::PluginGroups => self.list_groups(PodGroupKind::Coscheduling),
            Kind::Succeeded => self.list_succeeded(),
            Kind::Namespaces => self.list_namespaces(),
        };
        events.push(Arc::new(Event::Reset(present)));
        events
    }

    fn list_nodes(&self) -> (Vec<Arc<Event>>, Present) {
        let there = || self.nodes.iter().filter(|node| node.is_there).map(|node| &node.facts);
        let events = there().map(|facts| Arc::new(Event::NodeApplied(Box::new(facts.clone()))));
        let names: BTreeSet<Box<str>> = there().map(|facts| facts.name.as_str().into()).collect();
        (events.collect(), Present::Nodes(names))
    }

    fn list_budgets(&self) -> (Vec<Arc<Event>>, Present) {
        let object = |facts: &BudgetFacts| Event::BudgetApplied(Box::new(facts.clone()));
        let events = self.budgets().map(|facts| Arc::new(object(facts))).collect();
        (events, Present::Budgets(self.budgets().map(BudgetFacts::key).collect()))
    }

    fn list_pods(&self) -> (Vec<Arc<Event>>, Present) {
        let there = || self.pods().filter(|(_, pod)| !pod.is_gone);
        let object = |at| Arc::new(Event::PodApplied(Box::new(self.facts(at))));
        let events = there().map(|(at, _)| object(at)).collect();
        let uids: BTreeSet<Box<str>> = there().map(|(_, pod)| pod.key.uid.clone()).collect();
        (events, Present::Pods(uids))
    }
}
