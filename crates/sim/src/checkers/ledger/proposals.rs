//! Whom a pod must leave room that it does not have yet.

use std::collections::BTreeMap;

use model::{Diagnosis, NodeFacts, PodFacts, Rescue};

use super::super::roster::gang_of;
use super::{Ledger, Spot, facts_of};

impl Ledger {
    /// A pod is told why it waits, which may end what was proposed for it, or propose another node.
    pub(crate) fn told(&mut self, uid: &str, why: &Diagnosis) {
        self.tried(uid);
        match &why.rescue {
            Rescue::Preempts { node, .. } => self.propose(uid, Some(node.clone())),
            Rescue::NotAsked | Rescue::NoVictims(_) | Rescue::NoCandidates { .. } => {
                self.propose(uid, None);
            }
            Rescue::Silent
            | Rescue::ClaimsUnknown
            | Rescue::NotPreempting
            | Rescue::VictimsLeaving => {}
        }
        let gang = self.pods.get(uid).and_then(|known| gang_of(known.facts()));
        gang.into_iter().for_each(|key| _ = self.roster.tried.insert(key, self.versions));
    }

    /// Pods for which a node is proposed, and to which another pod must yield there.
    pub(crate) fn rivals(&self, node: &str, pod: &PodFacts) -> impl Iterator<Item = &PodFacts> {
        let proposals = self.proposals.get(node).into_iter().flat_map(BTreeMap::values);
        let proposals = proposals.map(|object| facts_of(object));
        let (uid, priority) = (pod.key.uid.clone(), pod.rest.priority);
        proposals.filter(move |rival| rival.rest.priority >= priority && rival.key.uid != uid)
    }

    /// More important pods for which others were evicted in vain, with the nodes that are proposed
    /// for them: a pod must leave them their nodes wherever it goes.
    pub(crate) fn insisting(
        &self,
        pod: &PodFacts,
    ) -> impl Iterator<Item = (&NodeFacts, &PodFacts)> {
        let vain = self.all_plans.iter().filter(|(_, plans)| **plans > 1);
        let vain = vain.filter_map(|(uid, _)| self.pods.get(uid));
        let priority = pod.rest.priority;
        let waiting = vain.filter(move |known| {
            known.spot == Spot::Waiting && known.facts().rest.priority > priority
        });
        waiting.filter_map(|known| Some((self.node(known.proposed.as_ref()?)?.0, known.facts())))
    }
}
