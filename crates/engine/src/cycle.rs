//! One unit, top to bottom: all of its pods are placed, or none is.

use std::sync::Arc;

use framework::Profile;
use model::{
    Attempt, ClassId, Code, Decision, Diagnosis, NodeId, Occupant, PodClaims, PodId, PodState,
    Preemption, Reason, Rescue, Time, Txn, UnitId, Waiting, hash_of,
};

use crate::evictions::Purpose;
use crate::rescue::{Plan, ends_attempt, is_own, rescue};
use crate::screen::{Refusal, Screen, screen};
use crate::tally::Instead;
use crate::trial::{Trial, view};
use crate::{Scheduler, profile_of};

/// Why a pod of a unit finds no node.
pub(crate) struct Failure {
    pub(crate) class: ClassId,
    pub(crate) diagnosis: Arc<Diagnosis>,
    pub(crate) plan: Option<Plan>,
}

impl Scheduler {
    /// Tries to place a unit; says what came of it. Gives back why there is no node for it, if that
    /// is so for all of its line.
    pub(crate) fn attempt(
        &mut self,
        unit: UnitId,
        now: Time,
        decisions: &mut Vec<Decision>,
    ) -> Option<Arc<Diagnosis>> {
        let mut pods: Vec<PodId> = self.queue.pods(unit).into();
        pods.sort_by(|one, other| {
            self.catalog.pod(*one).key.name.cmp(&self.catalog.pod(*other).key.name)
        });
        if let Some(reason) = self.refusal(unit, &pods) {
            self.refuse(unit, &pods, reason, now, decisions);
            return None;
        }
        if let Some(gang) = self.queue.gang(unit) {
            self.attempt_gang(unit, gang, &pods, now, decisions);
            return None;
        }
        let pod = pods[0];
        if let Some(gang) = self.catalog.pod(pod).gang {
            self.attempt_member(unit, pod, gang, now, decisions);
            return None;
        }
        let leads = self.leads(pod);
        match self.place(pod) {
            Ok(node) => {
                self.assume(unit, &[(pod, node)], now, decisions);
                None
            }
            Err(failure) => {
                let of_all = (leads && failure.plan.is_none()).then(|| failure.diagnosis.clone());
                self.set_aside(unit, pod, failure, now, decisions);
                of_all
            }
        }
    }

    /// Puts a pod aside that fits nowhere, and evicts others where that helps.
    pub(crate) fn set_aside(
        &mut self,
        unit: UnitId,
        pod: PodId,
        Failure { class, diagnosis, plan }: Failure,
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        // Before it is parked: what its own plan changes is no reason to try it again.
        if let Some(plan) = plan {
            decisions.extend(self.preempt(pod, plan, now).map(Decision::Preempt));
        }
        self.queue.park(unit, now, class, diagnosis.clone());
        if diagnosis.ends_nomination() {
            self.nominate(pod, None, now);
        }
        decisions.push(Decision::Wait(Waiting { pod, diagnosis }));
    }

    /// Takes in where pods of a unit go, whose places are taken already.
    pub(crate) fn assume(
        &mut self,
        unit: UnitId,
        places: &[(PodId, NodeId)],
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        let occupants: Vec<Occupant> =
            places.iter().map(|(pod, _)| self.catalog.pod(*pod).occupant(*pod)).collect();
        // The unit stays known until the API confirms: a refusal continues its backoff.
        let (tries, arrived) = self.queue.history(unit);
        let assigned = self.usage.assigned();
        let is_given = |(pod, _): &(PodId, NodeId)| assigned.of(*pod).is_some();
        let needs_more = !assigned.is_empty() && places.iter().any(is_given);
        let mut sent = Vec::new();
        for (pod, node) in places.iter().copied() {
            self.attempt = Attempt(self.attempt.0 + 1);
            let attempt = self.attempt;
            let proposed = self.catalog.nominated_node(pod);
            self.catalog.set_pod_state(pod, PodState::Assumed(node, attempt));
            match needs_more {
                true => sent.push((pod, node, attempt)),
                false => decisions.push(Decision::Bind { pod, node, attempt, tries, arrived }),
            }
            self.unpropose(proposed.filter(|proposed| *proposed != node), now);
        }
        if needs_more {
            self.begin_commit(&sent, (tries, arrived), decisions);
        }
        for occupant in occupants {
            self.wake_around(occupant, now);
        }
    }

    /// Puts a unit aside whose pods are not looked at.
    fn refuse(
        &mut self,
        unit: UnitId,
        pods: &[PodId],
        reason: Reason,
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        let nodes = self.catalog.nodes().len();
        let rejection = Some(reason);
        let diagnosis = Arc::new(Diagnosis { nodes, rejection, ..Diagnosis::default() });
        self.queue.park(unit, now, self.catalog.pod(pods[0]).class, diagnosis.clone());
        self.tell_gang(unit, pods, &diagnosis, now, decisions);
    }

    /// Proposes a node for a pod, and names those who have to go for it.
    fn preempt(&mut self, pod: PodId, plan: Plan, now: Time) -> Option<Preemption> {
        let Plan { node, victims } = plan;
        let priority = self.catalog.pod(pod).rest.priority;
        self.nominate(pod, Some(node), now);
        let goes = |victim: &PodId| {
            let victim = self.catalog.pod(*victim);
            !victim.rest.is_terminating && !victim.is_evicted
        };
        let victims: Vec<PodId> = victims.iter().copied().filter(goes).collect();
        if victims.is_empty() {
            return None;
        }
        let purpose = Arc::new(Purpose {
            pod: self.catalog.pod(pod).key.uid.clone(),
            node: self.catalog.node_name(node).into(),
        });
        for victim in &victims {
            self.catalog.set_evicted(*victim, true);
            let uid = self.catalog.pod(*victim).key.uid.clone();
            self.evictions.begin(uid, purpose.clone());
        }
        self.catalog.set_plans(pod, self.catalog.plans(pod).saturating_add(1));
        let is_lesser = |other: &PodId| self.catalog.pod(*other).rest.priority < priority;
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

    /// The node for a pod, whose place there is taken; or why it fits nowhere.
    fn place(&mut self, id: PodId) -> Result<NodeId, Failure> {
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        let pod = self.catalog.pod(id);
        let profile = profile_of(&self.profiles, &self.catalog, pod.class);
        let seed = self.seed ^ hash_of(&*pod.key.uid);
        let board = self.boards.of(pod.class, profile, &self.catalog, txn.usage());
        let mut trial = Trial::new(id, pod, board, &mut txn);
        let node = seek(&mut trial, &Within::default(), seed).map_err(|miss| {
            let (diagnosis, plan) = miss.explain(&mut trial, &Within::default(), true, seed);
            Failure { class: pod.class, diagnosis, plan }
        })?;
        txn.place(pod.occupant(id), node);
        give(&mut txn, profile, id, node);
        txn.commit();
        Ok(node)
    }
}

/// Gives the claims of a pod that goes to a node what they need.
pub(crate) fn give(txn: &mut Txn<'_>, profile: &Profile, id: PodId, node: NodeId) {
    let catalog = txn.catalog();
    let pod = catalog.pod(id);
    if profile.volume_timeout.is_none() || !catalog.class(pod.class).has_volumes() {
        return;
    }
    let Ok(claims) = PodClaims::of(catalog, pod.tags) else { return };
    if claims.are_bound() {
        return;
    }
    if let Ok(way) = claims.way(catalog, txn.usage(), node) {
        let given = way.assignments().collect();
        txn.give(id, node, given);
    }
}

/// Where a pod may go, as far as its gang has a say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Within {
    /// The only nodes that are looked at, if not all are.
    pub(crate) nodes: Option<Arc<[NodeId]>>,
    /// Nodes that are left out, in order.
    pub(crate) avoided: Vec<NodeId>,
}

impl Within {
    pub(crate) fn is_open(&self) -> bool {
        self.nodes.is_none() && self.avoided.is_empty()
    }

    pub(crate) fn allows(&self, node: NodeId) -> bool {
        let is_among = |nodes: &Arc<[NodeId]>| nodes.binary_search(&node).is_ok();
        self.nodes.as_ref().is_none_or(is_among) && self.avoided.binary_search(&node).is_err()
    }
}

/// Why there is no node for a pod.
pub(crate) enum Miss {
    /// It was turned away before any node was looked at.
    Refused(Reason, Option<usize>),
    /// All nodes turn it down.
    Nowhere(Screen),
}

/// The node for a pod.
pub(crate) fn seek(trial: &mut Trial<'_, '_>, within: &Within, seed: u64) -> Result<NodeId, Miss> {
    if trial.txn.catalog().nodes().is_empty() {
        return Err(Miss::Refused(Reason::NoNodes, None));
    }
    let screen = screen(&trial.board.before, trial.view());
    if let Screen::Refused(Refusal { reason, asked, .. }) = screen {
        return Err(Miss::Refused(reason, Some(asked)));
    }
    let Trial { pod, board, txn, .. } = trial;
    board.refresh(view(txn, pod));
    if let Some(node) = nominated(trial).filter(|node| within.allows(*node)) {
        return Ok(node);
    }
    let mut held = trial.held();
    if !within.avoided.is_empty() {
        held.extend(&within.avoided);
        held.sort_unstable();
    }
    let Trial { pod, board, txn, .. } = trial;
    let view = view(txn, pod);
    let best = match &within.nodes {
        Some(nodes) => board.best_of(view, nodes, &held, seed),
        None => board.best(view, &held, seed),
    };
    match best {
        Some(_) if board.is_broken() => Err(Miss::Refused(Reason::BrokenPreference, None)),
        Some(node) => Ok(node),
        None => Err(Miss::Nowhere(screen)),
    }
}

impl Miss {
    /// The same in full, and what to do about it if others may be evicted.
    pub(crate) fn explain(
        self,
        trial: &mut Trial<'_, '_>,
        within: &Within,
        may_evict: bool,
        seed: u64,
    ) -> (Arc<Diagnosis>, Option<Plan>) {
        match self {
            Self::Refused(reason, asked) => {
                let nodes = trial.txn.catalog().nodes().len();
                let rescue = match asked.filter(|_| may_evict && !is_own(&reason)) {
                    None => Rescue::NotAsked,
                    Some(asked) => {
                        let may_help = reason.code() == Code::Unschedulable;
                        let evictable = if may_help { nodes } else { 0 };
                        rescue(trial, (asked, evictable), within, seed).0
                    }
                };
                let rejection = Some(reason);
                (Arc::new(Diagnosis { nodes, rejection, rescue, ..Diagnosis::default() }), None)
            }
            Self::Nowhere(screen) => fail(trial, &screen, within, may_evict, seed),
        }
    }
}

/// The node that is proposed for a pod, if it takes the pod: no other is looked at then, and
/// nothing is ranked. Names that confine the pod are left to the filters, as kube-scheduler does.
fn nominated(trial: &mut Trial<'_, '_>) -> Option<NodeId> {
    let node = trial.txn.catalog().nominated_node(trial.id)?;
    trial.why_not(&Screen::Open, node).is_none().then_some(node)
}

/// Why nothing fits a pod, and whom to evict.
fn fail(
    trial: &mut Trial<'_, '_>,
    screen: &Screen,
    within: &Within,
    may_evict: bool,
    seed: u64,
) -> (Arc<Diagnosis>, Option<Plan>) {
    let mut tally = trial.take_tally(screen);
    let catalog = trial.txn.catalog();
    let mut instead = Instead::new();
    let nodes = if within.is_open() { &[][..] } else { catalog.nodes() };
    for node in nodes.iter().filter(|node| !within.allows(**node)) {
        let is_fitting = match trial.has_rivals(*node) {
            true => tally.answer(*node).is_empty(),
            false => trial.board.is_fitting(*node),
        };
        if is_fitting {
            instead.push((*node, vec![Reason::OtherDomain]));
        }
    }
    let (rescue, plan) = if !may_evict || tally.gives(&instead, ends_attempt) {
        (Rescue::NotAsked, None)
    } else {
        let asked = trial.board.before.len();
        rescue(trial, (asked, tally.evictable(&instead, within)), within, seed)
    };
    let diagnosis = tally.diagnosis(catalog.nodes().len(), &instead, rescue);
    trial.keep_tally(tally);
    (diagnosis, plan)
}
