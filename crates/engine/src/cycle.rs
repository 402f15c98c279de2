//! One unit, top to bottom: all of its pods are placed, or none is.

use std::sync::Arc;

use model::{
    Attempt, ClassId, Code, Decision, Diagnosis, NodeId, Occupant, PodId, PodState, Preemption,
    Reason, Rescue, Time, Txn, UnitId, Waiting, hash_of,
};

use crate::rescue::{Plan, is_own, rescue};
use crate::screen::{Refusal, Screen, screen};
use crate::tally::Instead;
use crate::trial::{Trial, view};
use crate::{Scheduler, profile_of};

/// Why a pod of a unit finds no node.
struct Failure {
    class: ClassId,
    diagnosis: Arc<Diagnosis>,
    plan: Option<(PodId, Plan)>,
}

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
                    let proposed = self.catalog.nominated_node(*pod);
                    self.catalog.set_pod_state(*pod, PodState::Assumed(node, attempt));
                    let pod = *pod;
                    decisions.push(Decision::Bind { pod, node, attempt, tries, arrived });
                    self.unpropose(proposed.filter(|proposed| *proposed != node), now);
                }
                for occupant in occupants {
                    self.wake_around(occupant, now);
                }
            }
            Err(Failure { class, diagnosis, plan }) => {
                let ends_nomination = diagnosis.ends_nomination();
                // Before it is parked: what its own plan changes is no reason to try it again.
                if let Some((pod, plan)) = plan {
                    decisions.extend(self.preempt(pod, plan, now).map(Decision::Preempt));
                }
                self.queue.park(unit, now, class, diagnosis.clone());
                for pod in &pods {
                    if ends_nomination {
                        self.nominate(*pod, None, now);
                    }
                    let diagnosis = diagnosis.clone();
                    decisions.push(Decision::Wait(Waiting { pod: *pod, diagnosis }));
                }
            }
        }
    }

    /// Proposes a node for a pod, and names those who have to go for it.
    fn preempt(&mut self, pod: PodId, plan: Plan, now: Time) -> Option<Preemption> {
        let Plan { node, victims } = plan;
        let priority = self.catalog.pod(pod).priority;
        self.nominate(pod, Some(node), now);
        let goes = |victim: &PodId| {
            let victim = self.catalog.pod(*victim);
            !victim.is_terminating && !victim.is_evicted
        };
        let victims: Vec<PodId> = victims.iter().copied().filter(goes).collect();
        if victims.is_empty() {
            return None;
        }
        victims.iter().for_each(|victim| self.catalog.set_evicted(*victim, true));
        let is_lesser = |other: &PodId| self.catalog.pod(*other).priority < priority;
        let outranked = self.catalog.nominated_to(node).iter().copied().filter(is_lesser);
        let mut outranked: Vec<PodId> = outranked.collect();
        outranked.sort_unstable_by_key(|pod| &self.catalog.pod(*pod).key);
        for other in &outranked {
            self.nominate(*other, None, now);
            if let Some(unit) = self.queue.unit_of(*other) {
                self.queue.hurry(unit, now);
            }
        }
        Some(Preemption { pod, node, victims, outranked })
    }

    /// Nodes for all pods, taken at once; or why one of them fits nowhere, with nothing taken.
    fn place(&mut self, pods: &[PodId]) -> Result<Vec<NodeId>, Failure> {
        let mut nodes = Vec::with_capacity(pods.len());
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        for id in pods {
            let pod = self.catalog.pod(*id);
            let profile = profile_of(&self.profiles, &self.catalog, pod.class);
            let seed = self.seed ^ hash_of(&*pod.key.uid);
            let board = self.boards.of(pod.class, profile, &self.catalog);
            let mut trial = Trial { id: *id, pod, board, txn: &mut txn };
            // Leaving early drops the transaction, which takes back every placement.
            let node = pick(&mut trial, seed).map_err(|(diagnosis, plan)| Failure {
                class: pod.class,
                diagnosis,
                plan: plan.map(|plan| (*id, plan)),
            })?;
            txn.place(pod.occupant(), node);
            nodes.push(node);
        }
        txn.commit();
        Ok(nodes)
    }
}

/// The node for a pod; or why there is none, and what to do about it.
fn pick(trial: &mut Trial<'_, '_>, seed: u64) -> Result<NodeId, (Arc<Diagnosis>, Option<Plan>)> {
    let nodes = trial.txn.catalog().nodes().len();
    let rejected = |reason: Reason, rescue: Rescue| {
        let rejection = Some(reason);
        Err((Arc::new(Diagnosis { nodes, rejection, rescue, ..Diagnosis::default() }), None))
    };
    if nodes == 0 {
        return rejected(Reason::NoNodes, Rescue::NotAsked);
    }
    let screen = screen(&trial.board.before, trial.view());
    if let Screen::Refused(Refusal { reason, asked, .. }) = screen {
        let evictable = if reason.code() == Code::Unschedulable { nodes } else { 0 };
        let rescue = if is_own(&reason) {
            Rescue::NotAsked
        } else {
            rescue(trial, (asked, evictable), seed).0
        };
        return rejected(reason, rescue);
    }
    let Trial { pod, board, txn, .. } = trial;
    board.refresh(view(txn, pod));
    if let Some(node) = nominated(trial) {
        return Ok(node);
    }
    let held = trial.held();
    let Trial { pod, board, txn, .. } = trial;
    let view = view(txn, pod);
    match board.best(view, &held, seed) {
        Some(_) if board.is_broken() => rejected(Reason::BrokenPreference, Rescue::NotAsked),
        Some(node) => Ok(node),
        None => Err(fail(trial, &screen, seed)),
    }
}

/// The node that is proposed for a pod, if it takes the pod: no other is looked at then, and
/// nothing is ranked. Names that confine the pod are left to the filters, as kube-scheduler does.
fn nominated(trial: &mut Trial<'_, '_>) -> Option<NodeId> {
    let node = trial.txn.catalog().nominated_node(trial.id)?;
    trial.why_not(&Screen::Open, node).is_none().then_some(node)
}

/// Why nothing fits a pod, and whom to evict.
fn fail(trial: &mut Trial<'_, '_>, screen: &Screen, seed: u64) -> (Arc<Diagnosis>, Option<Plan>) {
    let mut tally = std::mem::take(&mut trial.board.tally);
    tally.refresh(trial.board, trial.view());
    let catalog = trial.txn.catalog();
    let mut instead = Instead::new();
    for (node, _) in catalog.nominations() {
        if !trial.rivals(node).is_empty() {
            let (_, reasons) = trial.why_not(screen, node).unwrap_or_default();
            instead.push((node, reasons));
        }
    }
    let (rescue, plan) = if tally.gives(&instead, is_own) {
        (Rescue::NotAsked, None)
    } else {
        let asked = trial.board.before.len();
        rescue(trial, (asked, tally.evictable(&instead)), seed)
    };
    let diagnosis = tally.diagnosis(catalog.nodes().len(), &instead, rescue);
    trial.board.tally = tally;
    (diagnosis, plan)
}
