//! What profiles ask about, as far as rules depend on it.

use model::{FabricLevel, NodeFacts, PodFacts};

use super::Ledger;
use crate::checkers::fabric::Networked;
use crate::checkers::gpus::{Wanted, is_certain};
use crate::checkers::hardware_tiers::{self, Law};

impl Ledger {
    /// Takes note of the profiles that ask what kubelets do with pods.
    pub(crate) fn expect_aligning(&mut self, aligning: Vec<String>) {
        self.aligning = aligning;
    }

    /// Whether it matters to a pod what is inside a node: kubelets align it, and its profile asks.
    pub(crate) fn is_aligned(&self, pod: &PodFacts, node: &NodeFacts) -> bool {
        node.hardware.is_some()
            && pod.spec.ask.as_ref().is_some_and(|ask| !ask.is_plain())
            && self.aligning.contains(&pod.spec.scheduler)
    }

    /// Takes note of what profiles say of tiers of hardware.
    pub(crate) fn expect_tiers(&mut self, laws: Vec<Law>) {
        self.laws = laws;
    }

    /// Whether tiers of hardware may have a say about a pod.
    pub(crate) fn reads_tiers(&self, pod: &PodFacts) -> bool {
        hardware_tiers::matter(self, &self.laws, pod)
    }

    /// What tiers have against a pod on a node.
    pub(crate) fn tier_objection(&self, pod: &PodFacts, node: &NodeFacts) -> Option<&'static str> {
        hardware_tiers::objection(self, &self.laws, pod, node)
    }

    /// Takes note of the profiles that ask what GPUs are.
    pub(crate) fn expect_picky(&mut self, picky: Vec<String>) {
        self.picky = picky;
    }

    /// Whether it matters to a pod which GPUs a node has: it asks for some, or says something of
    /// them that makes no sense, and its profile asks.
    pub(crate) fn is_picky(&self, pod: &PodFacts) -> bool {
        let asks = || pod.spec.gpu.is_some() || Wanted::of(&pod.spec).is_some();
        self.picky.contains(&pod.spec.scheduler) && asks()
    }

    /// Takes note of the profiles that spread services over zones.
    pub(crate) fn expect_spreading(&mut self, spreading: Vec<String>) {
        self.alike.expect(spreading);
    }

    /// Takes note of the profiles that know the network.
    pub(crate) fn expect_networked(&mut self, networked: Vec<Networked>) {
        self.networked = networked;
    }

    /// The levels of the network that a profile knows.
    pub(in crate::checkers) fn levels(&self, scheduler: &str) -> Option<&[FabricLevel]> {
        let found = self.networked.iter().find(|(name, _)| name == scheduler);
        found.map(|(_, levels)| &**levels)
    }

    /// Whether what is delivered does not tell what is left for a pod inside a node.
    pub(crate) fn is_uncertain(&self, pod: &PodFacts, node: &NodeFacts) -> bool {
        self.is_aligned(pod, node) || (self.is_picky(pod) && !is_certain(&pod.spec, node))
    }
}
