//! What goes out: bindings, and why a pod has to wait.

use std::sync::Arc;

use crate::ids::{NodeId, PodId};
use crate::reason::Reason;

/// Numbers the attempts of a scheduler, so that late answers are recognised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(pub u64);

/// Something the shell has to carry out.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Bind the pod to the node. The engine already counts it there.
    Bind {
        /// Which pod.
        pod: PodId,
        /// To which node.
        node: NodeId,
        /// To be given back with the outcome.
        attempt: Attempt,
    },
    /// The pod has to wait; tell its owner why.
    Wait(Waiting),
}

/// A pod that has to wait.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which pod.
    pub pod: PodId,
    /// Why.
    pub diagnosis: Arc<Diagnosis>,
}

/// Why no node would take a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// How many nodes there are.
    pub nodes: usize,
    /// The reason that speaks for all nodes, if the pod was turned away before any was looked at.
    pub rejection: Option<Reason>,
    /// How many nodes gave which reason, each reason once.
    pub counts: Vec<(Reason, usize)>,
}

impl Diagnosis {
    /// All reasons that keep the pod waiting.
    pub fn reasons(&self) -> impl Iterator<Item = &Reason> {
        self.rejection.iter().chain(self.counts.iter().map(|(reason, _)| reason))
    }
}
