//! What is known of one node.

use std::sync::Arc;

use model::{Event, Fact, NodeFacts, PodFacts};

use super::super::rules::Taken;
use super::{Objects, facts_of};

/// A node as it was last delivered, and the pods on it.
#[derive(Default)]
pub(crate) struct Place {
    pub(super) object: Option<Arc<Event>>,
    pub(super) pods: Objects,
    /// Stand-ins for pods that do not exist yet.
    pub(super) seats: Vec<PodFacts>,
    /// Grows with every change of any of these.
    pub(crate) version: u64,
    /// The same, but not if pods or stand-ins only come to it.
    pub(crate) opened: u64,
}

impl Place {
    /// The node's facts, if it is there.
    pub(crate) fn facts(&self) -> Option<&NodeFacts> {
        match &**self.object.as_ref()? {
            Event::Seen(Fact::Node(facts)) => Some(facts),
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => None,
        }
    }

    /// The pods on it.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &PodFacts> {
        self.pods.values().map(|object| facts_of(object))
    }

    /// Stand-ins for pods that room is kept for. Rules about others do not mean them.
    pub(crate) fn seats(&self) -> impl Iterator<Item = &PodFacts> {
        self.seats.iter()
    }

    /// What the pods on it take, and those that room is kept for.
    pub(crate) fn taken(&self) -> Taken<'_> {
        Taken::by(self.pods().chain(self.seats()).map(|facts| &facts.spec))
    }

    /// What the pods on it take.
    pub(crate) fn taken_by_pods(&self) -> Taken<'_> {
        Taken::by(self.pods().map(|facts| &facts.spec))
    }
}
