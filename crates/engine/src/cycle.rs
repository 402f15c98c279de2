//! One unit, top to bottom: all of its pods are placed, or none is.

use std::sync::Arc;

use framework::{Profile, View};
use model::{
    Attempt, Catalog, ClassId, Decision, Diagnosis, NodeId, PodId, PodState, Reason, Time, Txn,
    UnitId, Waiting, hash_of,
};

use crate::board::Boards;
use crate::screen::{Screen, screen};
use crate::{Scheduler, profile_of};

impl Scheduler {
    /// Tries to place a unit; says what came of it.
    pub(crate) fn attempt(&mut self, unit: UnitId, now: Time, decisions: &mut Vec<Decision>) {
        let pods: Box<[PodId]> = self.queue.pods(unit).into();
        match self.place(&pods) {
            Ok(nodes) => {
                // The unit stays known until the API confirms: a refusal continues its backoff.
                for (pod, node) in pods.iter().zip(nodes) {
                    self.attempt = Attempt(self.attempt.0 + 1);
                    let attempt = self.attempt;
                    self.catalog.set_pod_state(*pod, PodState::Assumed(node, attempt));
                    decisions.push(Decision::Bind { pod: *pod, node, attempt });
                }
            }
            Err((class, diagnosis)) => {
                self.queue.park(unit, now, class, diagnosis.clone());
                let waiting = |pod: &PodId| Waiting { pod: *pod, diagnosis: diagnosis.clone() };
                decisions.extend(pods.iter().map(|pod| Decision::Wait(waiting(pod))));
            }
        }
    }

    /// Nodes for all pods, taken at once; or why one of them fits nowhere, with nothing taken.
    fn place(&mut self, pods: &[PodId]) -> Result<Vec<NodeId>, (ClassId, Arc<Diagnosis>)> {
        let mut nodes = Vec::with_capacity(pods.len());
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        for pod in pods {
            let pod = self.catalog.pod(*pod);
            let profile = profile_of(&self.profiles, &self.catalog, pod.class);
            let seed = self.seed ^ hash_of(&*pod.key.uid);
            // Leaving early drops the transaction, which takes back every placement.
            let node = pick(&mut self.boards, profile, &self.catalog, &txn, pod.class, seed)
                .map_err(|diagnosis| (pod.class, diagnosis))?;
            txn.place(pod.class, node);
            nodes.push(node);
        }
        txn.commit();
        Ok(nodes)
    }
}

/// The best node for a pod of a class, or why there is none.
fn pick(
    boards: &mut Boards,
    profile: &Profile,
    catalog: &Catalog,
    txn: &Txn<'_>,
    class: ClassId,
    seed: u64,
) -> Result<NodeId, Arc<Diagnosis>> {
    let view = View { catalog, usage: txn.usage() };
    let board = boards.of(class, profile, catalog);
    let refusal = match screen(&board.before, view) {
        Screen::Open | Screen::Only(_) if catalog.nodes().is_empty() => Some(Reason::NoNodes),
        Screen::Open | Screen::Only(_) => None,
        Screen::Refused(_, reason) => Some(reason),
    };
    let rejected = |reason: Reason| {
        let nodes = catalog.nodes().len();
        Err(Arc::new(Diagnosis { nodes, rejection: Some(reason), counts: Vec::new() }))
    };
    if let Some(reason) = refusal {
        return rejected(reason);
    }
    board.refresh(view);
    match board.best(seed) {
        Some(_) if board.is_broken() => rejected(Reason::BrokenPreference),
        Some(node) => Ok(node),
        None => Err(board.diagnosis(view)),
    }
}
