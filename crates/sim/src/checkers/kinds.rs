//! Pods that nothing tells apart: what holds for one of them holds for all, so that a question
//! about thousands of pods costs no more than one about a few.

use std::collections::VecDeque;

use model::PodFacts;

use super::ledger::Ledger;

/// How many kinds are kept: each costs a comparison per question, and those who are alike are
/// mostly asked about one after another.
const KINDS_MAX: usize = 8;

/// What was found for the kinds of pods that were last asked about.
pub(crate) struct Kinds<'a, T> {
    ledger: &'a Ledger,
    recent: VecDeque<(&'a PodFacts, T)>,
}

impl<'a, T> Kinds<'a, T> {
    pub(crate) fn new(ledger: &'a Ledger) -> Self {
        Self { ledger, recent: VecDeque::new() }
    }

    /// What was found for a pod like this one.
    pub(crate) fn find(&self, pod: &PodFacts) -> Option<&T> {
        let mut recent = self.recent.iter().filter(|_| self.is_common(pod));
        recent.find(|(one, _)| is_alike(one, pod)).map(|(_, found)| found)
    }

    /// Keeps what was found for a pod.
    pub(crate) fn set(&mut self, pod: &'a PodFacts, found: T) {
        if !self.is_common(pod) {
            return;
        }
        match self.recent.iter_mut().find(|(one, _)| is_alike(one, pod)) {
            Some(known) => known.1 = found,
            None => {
                self.recent.push_front((pod, found));
                self.recent.truncate(KINDS_MAX);
            }
        }
    }

    /// Whether nothing is proposed for a pod: it yields to all others then that do not yield to it.
    fn is_common(&self, pod: &PodFacts) -> bool {
        self.ledger.pod(&pod.key.uid).is_some_and(|known| known.proposed.is_none())
    }
}

/// Whether nothing that decides about nodes tells two pods apart.
pub(super) fn is_alike(one: &PodFacts, other: &PodFacts) -> bool {
    (&one.spec, &one.labels, &one.owner) == (&other.spec, &other.labels, &other.owner)
        && (&one.key.namespace, &one.volumes) == (&other.key.namespace, &other.volumes)
        && (one.rest.priority, one.rest.is_preempting)
            == (other.rest.priority, other.rest.is_preempting)
        && (&one.rest.gates, &one.gang) == (&other.rest.gates, &other.gang)
}
