//! Gangs: which pods are tried together, when, and what becomes of gangs that are not whole.
//!
//! As long as a gang has fewer pods on nodes than it needs, all that wait are one unit. Once it has
//! enough, every other pod is a unit of its own.

mod after;
pub(crate) mod minimum;
mod progress;
mod seats;
mod turn;

use std::collections::{BTreeMap, BTreeSet};

use model::{ClassId, GangId, GangReport, Millis, NodeId, PodId, Reason, Time};

use crate::arrange::Seat;
use crate::queue::{Place, Share, Standing, Start};
use crate::{Scheduler, profile_of};

/// How long a gang may be incomplete before its pods are told.
const GATHERS: Millis = Millis::seconds(1);

/// What is known of gangs beyond the facts.
#[derive(Default)]
pub(crate) struct Gangs {
    /// Gangs that have some pods on nodes and never had enough, and when that has to end.
    pub(crate) partial: BTreeMap<GangId, Time>,
    /// Gangs some of whose pods were on nodes when they were first heard of, so that it is not
    /// known whether they ever had enough.
    pub(crate) found: BTreeSet<GangId>,
    /// Gangs that had enough pods on nodes once, and have not now.
    pub(crate) degraded: BTreeSet<GangId>,
    /// Gangs of which pods were sent to nodes, before it is known that they are up.
    sent: BTreeSet<GangId>,
    /// Nodes that refused pods of gangs.
    pub(crate) refused: BTreeMap<PodId, Vec<NodeId>>,
    /// Room that is kept for pods which do not exist yet.
    pub(crate) kept: BTreeMap<GangId, Kept>,
    /// Gangs for which room is to be kept, and is not.
    unkept: BTreeSet<GangId>,
    /// What is to be told.
    reports: Vec<GangReport>,
}

/// Room that is kept.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) until: Time,
    pub(crate) seats: Vec<Seat>,
    /// Classes that are held for it.
    pub(crate) classes: Vec<ClassId>,
}

impl Kept {
    /// Adds a seat whose class is held.
    pub(crate) fn add(&mut self, seat: Seat) {
        self.seats.push(seat);
        self.classes.push(seat.occupant.class);
    }
}

impl Gangs {
    /// Forgets that a node refused pods, because its place may become that of another node.
    pub(crate) fn forget_node(&mut self, node: NodeId) {
        self.refused.values_mut().for_each(|nodes| nodes.retain(|other| *other != node));
    }
}

impl Scheduler {
    /// Takes in which gangs ended by an event, and which have other parts.
    pub(crate) fn settle_gangs(&mut self, now: Time) {
        for gang in self.catalog.take_ended_gangs() {
            self.release_seats(gang, now);
            self.gangs.partial.remove(&gang);
            self.gangs.found.remove(&gang);
            self.gangs.degraded.remove(&gang);
            self.gangs.sent.remove(&gang);
            self.queue.forget_gang(gang);
        }
        for gang in self.catalog.take_moved_gangs() {
            self.regroup(gang, now);
        }
    }

    /// Brings the units of a gang in line with the pods it has.
    pub(crate) fn regroup(&mut self, gang: GangId, now: Time) {
        self.regroup_with(gang, None, now);
    }

    /// The same, where all that may be new is a pod that waits.
    pub(crate) fn regroup_with(&mut self, gang: GangId, arrived: Option<PodId>, now: Time) {
        if !self.catalog.has_gang(gang) {
            return;
        }
        let root = self.catalog.root_of(gang);
        if arrived.is_some_and(|pod| self.joins(root, pod)) {
            return;
        }
        self.note_progress(root, now);
        self.note_start(gang, root);
        self.divide(root, now);
        // Another pod may decide now where the others have to be.
        if self.is_close(root) {
            for pod in self.waiting_in(root) {
                self.queue
                    .unit_of(pod)
                    .into_iter()
                    .for_each(|unit| self.queue.wake_unit(unit, now));
            }
        }
        // Whoever would evict one of it on a node would evict all of it now.
        let row = self.catalog.gang(gang);
        if row.terms.as_ref().is_ok_and(|terms| terms.is_evicted_whole) {
            for pod in &row.members {
                let node = self.catalog.pod(*pod).state.node();
                node.into_iter().for_each(|node| self.usage.touch_guests(node));
            }
        }
    }

    /// Adds a pod to a gang that is told soon that it is not complete, and still is not.
    fn joins(&mut self, gang: GangId, pod: PodId) -> bool {
        let Some(unit) = self.queue.unit_of_gang(gang) else { return false };
        let mut refusal = None;
        let is_gathering = matches!(self.queue.place(unit), Place::Gathering(_));
        // What comes to pods that were found on nodes may tell that they were enough once.
        let is_told_by_it = self.gangs.found.contains(&gang);
        if !is_gathering || is_told_by_it || self.is_ready(gang, &mut refusal) {
            return false;
        }
        self.queue.push(unit, pod, refusal);
        true
    }

    fn divide(&mut self, gang: GangId, now: Time) {
        let row = self.catalog.gang(gang);
        if self.is_fault(gang) || !self.is_satisfied(gang) {
            return self.gather(gang, now);
        }
        if row.is_composite() {
            let parts = row.parts.clone();
            return parts.into_iter().for_each(|part| self.divide(part, now));
        }
        self.gangs.degraded.remove(&gang);
        for pod in self.waiting_in(gang) {
            let unit = self.queue.unit_of(pod);
            if let Some(unit) = unit.filter(|unit| self.queue.gang(*unit).is_none()) {
                self.wake_from_all(unit, now);
                continue;
            }
            let past = unit.map(|unit| self.queue.past(unit));
            self.queue.take_out(pod);
            let (standing, is_gated) = self.standing(pod);
            let unit = self.queue.add(vec![pod], None, standing, now, &Start::of(is_gated));
            if let Some((_, last_failure, arrived)) = past {
                self.queue.inherit(unit, (0, last_failure, arrived));
            }
        }
    }

    /// Makes one unit of the waiting pods of a gang.
    fn gather(&mut self, gang: GangId, now: Time) {
        let pods = self.waiting_in(gang);
        let Some(first) = pods.first() else { return };
        let mut refusal = None;
        self.is_ready(gang, &mut refusal);
        let mut joined = None;
        let mut is_gated = true;
        for pod in &pods {
            let (own, is_own_gated) = self.standing(*pod);
            joined.get_or_insert(own).join(own);
            is_gated &= is_own_gated;
            if is_own_gated {
                let name = &self.catalog.pod(*pod).key.name;
                refusal.get_or_insert_with(|| Reason::MemberGated(name.clone()));
            }
        }
        let mut standing = joined.expect("a gang with a pod that waits");
        let row = self.catalog.gang(gang);
        if let Some(priority) = row.terms.as_ref().ok().and_then(|terms| terms.priority) {
            let class = self.catalog.pod(*first).class;
            standing.rank = profile_of(&self.profiles, &self.catalog, class).order.rank(priority);
        }
        standing.is_mending = row.is_started;
        let known = self.queue.unit_of_gang(gang);
        if let Some(unit) = known
            && self.queue.place(unit) != Place::Tried
            && self.queue.pods(unit) == pods
            && self.queue.refusal(unit) == refusal.as_ref()
            && self.queue.standing(unit) == standing
            && (self.queue.place(unit) == Place::Gated) == (is_gated && refusal.is_some())
        {
            return self.wake_from_all(unit, now);
        }
        let start = match &refusal {
            None => Start::Active,
            Some(_) if is_gated => Start::Gated,
            Some(_) => Start::Gathering(now + GATHERS),
        };
        let mut past = None;
        for pod in &pods {
            let unit = self.queue.unit_of(*pod);
            if let Some(unit) = unit.filter(|unit| Some(*unit) != known) {
                past = past.max(Some(self.queue.past(unit)));
                self.queue.take_out(*pod);
            }
        }
        let unit = match known {
            Some(unit) => {
                self.queue.refill(unit, pods, standing, now, &start);
                unit
            }
            None => {
                let unit = self.queue.add(pods, Some(gang), standing, now, &start);
                past.into_iter().for_each(|past| self.queue.inherit(unit, past));
                unit
            }
        };
        self.queue.set_refusal(unit, refusal);
    }

    /// The waiting pods of a gang and of its parts, by name.
    pub(super) fn waiting_in(&self, gang: GangId) -> Vec<PodId> {
        let mut pods = self.catalog.waiting_in(gang);
        pods.sort_by(|one, other| {
            self.catalog.pod(*one).key.name.cmp(&self.catalog.pod(*other).key.name)
        });
        pods
    }

    fn collect(&self, gang: GangId, visit: &mut impl FnMut(PodId)) {
        let row = self.catalog.gang(gang);
        row.members.iter().for_each(|pod| visit(*pod));
        row.parts.iter().for_each(|part| self.collect(*part, visit));
    }

    /// Whether pods of a gang, or of a part of it, have to be close to each other.
    fn is_close(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        let is_own = row.terms.as_ref().is_ok_and(|terms| !terms.topology.is_empty());
        is_own || row.parts.iter().any(|part| self.is_close(*part))
    }

    /// Whether a gang, or a part of it, makes no sense.
    fn is_fault(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        row.terms.is_err() || row.parts.iter().any(|part| self.is_fault(*part))
    }

    /// Whether a gang has enough pods on nodes, or room that is kept for them.
    fn is_satisfied(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        if row.is_composite() {
            let satisfied = row.parts.iter().filter(|part| self.is_satisfied(**part));
            return satisfied.count() >= row.min() as usize;
        }
        if row.min() <= 1 || row.placed >= row.min() {
            return true;
        }
        let Some(kept) = self.gangs.kept.get(&gang) else { return false };
        if !self.has_placed_maker(gang) {
            return false;
        }
        let waiting = row.members.len() - row.placed as usize;
        let kept = kept.seats.len().min(self.missing(gang) + waiting);
        row.placed as usize + kept >= row.min() as usize
    }

    /// Whether enough pods of a gang are known to be on nodes.
    fn is_up(&self, gang: GangId) -> bool {
        let row = self.catalog.gang(gang);
        if row.is_composite() {
            let up = row.parts.iter().filter(|part| self.is_up(**part)).count();
            return up > 0 && up >= row.min() as usize;
        }
        row.bound > 0 && row.bound as usize + self.missing(gang) >= row.min() as usize
    }

    /// How many pods of a gang are still to be made by another one of it.
    pub(crate) fn missing(&self, gang: GangId) -> usize {
        let row = self.catalog.gang(gang);
        let Ok(terms) = &row.terms else { return 0 };
        if terms.workers == 0 {
            return 0;
        }
        let made = row.members.iter().filter(|pod| !self.catalog.pod(**pod).makes_others()).count();
        let has_maker = made < row.members.len();
        if has_maker { (terms.workers as usize).saturating_sub(made) } else { 0 }
    }

    /// Whether a gang has all it needs to be tried; tells why not.
    fn is_ready(&self, gang: GangId, refusal: &mut Option<Reason>) -> bool {
        let row = self.catalog.gang(gang);
        let terms = match &row.terms {
            Ok(terms) => terms,
            Err(reason) => {
                refusal.get_or_insert_with(|| reason.clone());
                return false;
            }
        };
        let count = if row.is_composite() {
            let mut of_parts = None;
            let ready = row.parts.iter().filter(|part| self.is_ready(**part, &mut of_parts));
            let count = ready.count();
            if let Some(fault) = of_parts.filter(|reason| !is_passing(reason)) {
                refusal.get_or_insert(fault);
                return false;
            }
            count
        } else {
            row.members.len() + self.missing(gang)
        };
        let there = u32::try_from(count).unwrap_or(u32::MAX);
        // What takes the place of a pod that is gone does not wait for others.
        if row.is_started {
            return true;
        }
        if there < terms.min {
            refusal.get_or_insert(Reason::GangIncomplete { there, min: terms.min });
        }
        there >= terms.min
    }

    /// Where the unit of a pod stands, and whether it is kept out.
    pub(crate) fn standing(&self, id: PodId) -> (Standing, bool) {
        let pod = self.catalog.pod(id);
        let profile = profile_of(&self.profiles, &self.catalog, pod.class);
        let is_gated = profile.admit.iter().any(|plugin| plugin.refuses(pod).is_some());
        let sharing = profile.order.sharing().map(|sharing| Share {
            tenant: self.catalog.class(pod.class).namespace,
            age: pod.created,
            eligible: pod.eligible_since(),
            starving_after: sharing.starving_after,
        });
        let standing = Standing {
            rank: profile.order.rank(pod.priority),
            boost: self.boost(pod),
            is_mending: false,
            sharing,
        };
        (standing, is_gated)
    }
}

/// Whether a reason ends by itself, when more pods come.
fn is_passing(reason: &Reason) -> bool {
    matches!(reason, Reason::GangIncomplete { .. })
}
