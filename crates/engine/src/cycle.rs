//! One unit, top to bottom: all of its pods are placed, or none is.

use std::sync::Arc;

use framework::{Profile, View};
use model::{
    Attempt, Catalog, ClassId, Code, Decision, Diagnosis, NodeId, Occupant, Pod, PodId, PodState,
    Reason, Rescue, Time, Txn, UnitId, Waiting, hash_of,
};

use crate::board::{Board, Boards};
use crate::explain::why_not;
use crate::rescue::{Appeal, is_own};
use crate::screen::{Refusal, Screen, screen};
use crate::{Scheduler, profile_of};

impl Scheduler {
    /// Tries to place a unit; says what came of it.
    pub(crate) fn attempt(&mut self, unit: UnitId, now: Time, decisions: &mut Vec<Decision>) {
        let pods: Box<[PodId]> = self.queue.pods(unit).into();
        match self.place(&pods) {
            Ok(nodes) => {
                let occupants: Box<[Occupant]> =
                    pods.iter().map(|pod| self.catalog.pod(*pod).occupant()).collect();
                // The unit stays known until the API confirms: a refusal continues its backoff.
                let (tries, arrived) = self.queue.history(unit);
                for (pod, node) in pods.iter().zip(nodes) {
                    self.attempt = Attempt(self.attempt.0 + 1);
                    let attempt = self.attempt;
                    self.catalog.set_pod_state(*pod, PodState::Assumed(node, attempt));
                    let pod = *pod;
                    decisions.push(Decision::Bind { pod, node, attempt, tries, arrived });
                }
                for occupant in occupants {
                    self.wake_around(occupant, now);
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
            let node = pick(&mut self.boards, profile, &self.catalog, &txn, pod, seed)
                .map_err(|diagnosis| (pod.class, diagnosis))?;
            txn.place(pod.occupant(), node);
            nodes.push(node);
        }
        txn.commit();
        Ok(nodes)
    }
}

/// The node for a pod, or why there is none.
fn pick(
    boards: &mut Boards,
    profile: &Profile,
    catalog: &Catalog,
    txn: &Txn<'_>,
    pod: &Pod,
    seed: u64,
) -> Result<NodeId, Arc<Diagnosis>> {
    let view = View { catalog, usage: txn.usage(), tags: pod.tags };
    let nodes = catalog.nodes().len();
    let rejected = |reason: Reason, rescue: Rescue| {
        Err(Arc::new(Diagnosis { nodes, rejection: Some(reason), rescue, ..Diagnosis::default() }))
    };
    if nodes == 0 {
        return rejected(Reason::NoNodes, Rescue::NotAsked);
    }
    let board = boards.of(pod.class, profile, catalog);
    if let Screen::Refused(Refusal { reason, asked, .. }) = screen(&board.before, view) {
        let evictable = if reason.code() == Code::Unschedulable { nodes } else { 0 };
        let rescue = if is_own(&reason) {
            Rescue::NotAsked
        } else {
            Appeal::of(pod, catalog).rescue(board.rescues, asked, evictable)
        };
        return rejected(reason, rescue);
    }
    board.refresh(view);
    if let Some(node) = nominated(board, view, pod) {
        return Ok(node);
    }
    match board.best(view, seed) {
        Some(_) if board.is_broken() => rejected(Reason::BrokenPreference, Rescue::NotAsked),
        Some(node) => Ok(node),
        None => Err(board.diagnosis(view, pod)),
    }
}

/// The node that is proposed for a pod, if it takes the pod: no other is looked at then, and
/// nothing is ranked. Names that confine the pod are left to the filters, as kube-scheduler does.
fn nominated(board: &Board, view: View<'_>, pod: &Pod) -> Option<NodeId> {
    let node = view.catalog.find_node(pod.nominated.as_deref()?)?;
    why_not(board, &Screen::Open, view, node).is_none().then_some(node)
}
