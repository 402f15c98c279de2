//! Gangs: which pods are tried together, when, and what becomes of gangs that are not whole.
//!
//! As long as a gang has fewer pods on nodes than it needs, all that wait are one unit. Once it has
//! enough, every other pod is a unit of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{
    Change, ClassId, Decision, Diagnosis, Disband, GangId, GangReport, GangState, Millis, NodeId,
    Occupant, PodId, PodSpec, PodState, Reason, Shortfall, Time, Txn, UnitId, Waiting,
};

use crate::arrange::{Arranger, Seat};
use crate::queue::{Place, Share, Standing, Start};
use crate::{Scheduler, profile_of};

/// How long a gang may be incomplete before its pods are told.
const GATHERS: Millis = Millis::seconds(1);
/// How often a pod whose binding is refused is tried elsewhere at once.
const BIND_RETRIES: usize = 3;
/// How long room is kept for pods that another one is to make.
const SEATS_KEPT: Millis = Millis::seconds(300);

/// What is known of gangs beyond the facts.
#[derive(Default)]
pub(crate) struct Gangs {
    /// Gangs that have some pods on nodes and never had enough, and when that has to end.
    pub(crate) partial: BTreeMap<GangId, Time>,
    /// Gangs that had enough pods on nodes once, and have not now.
    pub(crate) degraded: BTreeSet<GangId>,
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

// === Units ===

impl Scheduler {
    /// Brings the units of a gang in line with the pods it has.
    pub(crate) fn regroup(&mut self, gang: GangId, now: Time) {
        if !self.catalog.has_gang(gang) {
            self.release_seats(gang, now);
            self.gangs.partial.remove(&gang);
            self.gangs.degraded.remove(&gang);
            return;
        }
        let root = self.catalog.root_of(gang);
        self.note_progress(root, now);
        self.divide(root, now);
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
            if unit.is_some_and(|unit| self.queue.gang(unit).is_none()) {
                continue;
            }
            let past = unit.map(|unit| self.queue.past(unit));
            self.queue.take_out(pod);
            let (standing, is_gated) = self.standing(pod);
            let start = if is_gated { Start::Gated } else { Start::Active };
            let unit = self.queue.add(vec![pod], None, standing, now, &start);
            if let Some((_, last_failure, arrived)) = past {
                self.queue.inherit(unit, (0, last_failure, arrived));
            }
        }
    }

    /// Makes one unit of the waiting pods of a gang.
    fn gather(&mut self, gang: GangId, now: Time) {
        let pods = self.waiting_in(gang);
        let Some(first) = pods.first() else { return };
        let refusal = self.why_not_yet(gang, &pods);
        let mut standing = self.standing(*first).0;
        for pod in &pods[1..] {
            standing.join(self.standing(*pod).0);
        }
        let row = self.catalog.gang(gang);
        if let Some(priority) = row.terms.as_ref().ok().and_then(|terms| terms.priority) {
            let class = self.catalog.pod(*first).class;
            standing.rank = profile_of(&self.profiles, &self.catalog, class).order.rank(priority);
        }
        standing.is_mending = row.is_started;
        let known = self.queue.unit_of_gang(gang);
        if let Some(unit) = known
            && self.queue.pods(unit) == pods
            && self.queue.refusal(unit) == refusal.as_ref()
            && self.queue.standing(unit) == standing
        {
            return;
        }
        let is_gated = pods.iter().all(|pod| self.standing(*pod).1);
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
    fn waiting_in(&self, gang: GangId) -> Vec<PodId> {
        let mut pods = Vec::new();
        self.collect(gang, &mut |pod| {
            if self.catalog.pod(pod).state == PodState::Waiting {
                pods.push(pod);
            }
        });
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
        let kept = self.gangs.kept.get(&gang).map_or(0, |kept| kept.seats.len());
        row.min() <= 1 || row.placed as usize + kept.min(self.missing(gang)) >= row.min() as usize
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
    fn missing(&self, gang: GangId) -> usize {
        let row = self.catalog.gang(gang);
        let Ok(terms) = &row.terms else { return 0 };
        if terms.workers == 0 {
            return 0;
        }
        let made = row.members.iter().filter(|pod| !self.is_maker(**pod)).count();
        let has_maker = made < row.members.len();
        if has_maker { (terms.workers as usize).saturating_sub(made) } else { 0 }
    }

    /// Why a gang cannot be tried yet.
    fn why_not_yet(&self, gang: GangId, waiting: &[PodId]) -> Option<Reason> {
        let mut refusal = None;
        self.is_ready(gang, &mut refusal);
        let gated = waiting.iter().find(|pod| self.standing(**pod).1);
        let gated = gated.map(|pod| Reason::MemberGated(self.catalog.pod(*pod).key.name.clone()));
        refusal.or(gated)
    }

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

// === What becomes of them ===

impl Scheduler {
    /// Takes in how many pods of a gang are on nodes.
    fn note_progress(&mut self, gang: GangId, now: Time) {
        let row = self.catalog.gang(gang);
        if row.terms.is_err() || (!row.is_composite() && row.min() <= 1) {
            return;
        }
        let is_started = row.is_started || self.is_replaced(gang);
        if row.bound > 0 && self.missing(gang) > 0 && !self.gangs.kept.contains_key(&gang) {
            self.gangs.unkept.insert(gang);
        }
        if self.is_up(gang) {
            self.gangs.partial.remove(&gang);
            self.gangs.degraded.remove(&gang);
            if !self.catalog.gang(gang).is_started {
                self.start(gang);
            }
            return;
        }
        if is_started {
            self.gangs.partial.remove(&gang);
            self.catalog.set_gang_started(gang);
            if !self.is_satisfied(gang) && self.gangs.degraded.insert(gang) {
                self.gangs.reports.push(GangReport { gang, state: GangState::Degraded });
            }
            return;
        }
        let mut bound = 0;
        self.collect(gang, &mut |pod| {
            bound += usize::from(matches!(self.catalog.pod(pod).state, PodState::Bound(_)));
        });
        if bound == 0 || self.is_satisfied(gang) {
            self.gangs.partial.remove(&gang);
        } else {
            let patience = self.patience(gang);
            self.gangs.partial.entry(gang).or_insert(now + patience);
        }
    }

    /// Notes that a gang, with all its parts that are up, has started.
    fn start(&mut self, gang: GangId) {
        self.catalog.set_gang_started(gang);
        self.gangs.reports.push(GangReport { gang, state: GangState::Started });
        for part in self.catalog.gang(gang).parts.clone() {
            if self.is_up(part) && !self.catalog.gang(part).is_started {
                self.start(part);
            }
        }
    }

    /// How long a gang may have some of its pods on nodes without the others.
    fn patience(&self, gang: GangId) -> Millis {
        let timeout = self.catalog.gang(gang).terms.as_ref().ok().and_then(|terms| terms.timeout);
        timeout.map_or(self.permit_timeout, |seconds| Millis::seconds(u64::from(seconds)))
    }

    /// Whether a waiting pod was made after another one of the gang began to run: so it takes the
    /// place of one that is gone, or came on top.
    fn is_replaced(&self, gang: GangId) -> bool {
        let (mut started, mut newest) = (None, None);
        self.collect(gang, &mut |pod| {
            let pod = self.catalog.pod(pod);
            match (pod.state, pod.started) {
                (PodState::Waiting, _) => newest = newest.max(Some(pod.created)),
                (_, Some(at)) => started = Some(started.map_or(at, |first: i64| first.min(at))),
                (_, None) => {}
            }
        });
        started.is_some_and(|started| newest > Some(started))
    }

    /// Takes back gangs that were not completed in time, and tells what is to be told.
    pub(crate) fn review_gangs(&mut self, now: Time, decisions: &mut Vec<Decision>) {
        let due = |(gang, at): (&GangId, &Time)| (*at <= now).then_some(*gang);
        let due: Vec<GangId> = self.gangs.partial.iter().filter_map(due).collect();
        for gang in due {
            let unit = self.queue.unit_of_gang(gang);
            // It is given its turn before it is given up.
            let is_next = unit.is_some_and(|unit| self.queue.place(unit) == Place::Active);
            if !is_next {
                decisions.extend(self.disband(gang, now));
            }
        }
        let expired = |(gang, kept): (&GangId, &Kept)| {
            (!kept.seats.is_empty() && kept.until <= now).then_some(*gang)
        };
        let expired: Vec<GangId> = self.gangs.kept.iter().filter_map(expired).collect();
        for gang in expired {
            self.release_seats(gang, now);
            // It is not tried again.
            self.gangs.kept.insert(gang, Kept::default());
            self.gangs.reports.push(GangReport { gang, state: GangState::Room(0) });
        }
        for gang in std::mem::take(&mut self.gangs.unkept) {
            self.keep_room(gang, now);
        }
        for report in std::mem::take(&mut self.gangs.reports) {
            if self.catalog.has_gang(report.gang) {
                decisions.push(Decision::Report(report));
            }
        }
    }

    /// When gangs are next to be looked at.
    pub(crate) fn next_review(&self) -> Option<Time> {
        if !self.gangs.reports.is_empty() || !self.gangs.unkept.is_empty() {
            return Some(Time::default());
        }
        let partial = self.gangs.partial.values().copied();
        let kept = self.gangs.kept.values().filter(|kept| !kept.seats.is_empty());
        partial.chain(kept.map(|kept| kept.until)).min()
    }

    /// Takes back the pods of a gang that cannot be completed.
    fn disband(&mut self, gang: GangId, now: Time) -> Option<Decision> {
        let patience = self.patience(gang);
        self.gangs.partial.insert(gang, now + patience);
        let (mut evicted, mut bare) = (Vec::new(), Vec::new());
        self.collect(gang, &mut |id| {
            let pod = self.catalog.pod(id);
            if matches!(pod.state, PodState::Bound(_)) && !pod.is_evicted {
                if pod.is_remade { evicted.push(id) } else { bare.push(id) }
            }
        });
        evicted.iter().for_each(|pod| self.catalog.set_evicted(*pod, true));
        let is_known = self.gangs.degraded.contains(&gang);
        if evicted.is_empty() && (bare.is_empty() || is_known) {
            return None;
        }
        // What stays on its nodes is said once.
        self.gangs.degraded.insert(gang);
        Some(Decision::Disband(Disband { gang, evicted, bare }))
    }

    /// A binding of a pod of a gang was refused: it is tried on another node at once, a few times.
    pub(crate) fn refused_in_gang(&mut self, pod: PodId, node: NodeId, now: Time) {
        let nodes = self.gangs.refused.entry(pod).or_default();
        nodes.push(node);
        let is_over = nodes.len() > BIND_RETRIES;
        if is_over {
            self.gangs.refused.remove(&pod);
        }
        if let Some(gang) = self.catalog.pod(pod).gang {
            self.regroup(gang, now);
        }
        let Some(unit) = self.queue.unit_of(pod) else { return };
        if is_over {
            self.queue.retry(unit, now);
        } else {
            self.queue.activate_now(unit, now);
        }
    }
}

// === Their turn ===

impl Scheduler {
    /// Why a unit is not looked at, if it is not.
    pub(crate) fn refusal(&self, unit: UnitId, pods: &[PodId]) -> Option<Reason> {
        if let Some(reason) = self.queue.refusal(unit) {
            return Some(reason.clone());
        }
        let pod = self.catalog.pod(pods[0]);
        let claim = pod.claim.as_ref()?;
        if let Some(fault) = &claim.fault {
            return Some(Reason::GangFault(fault.clone()));
        }
        let is_started = pod.gang.is_some_and(|gang| self.catalog.gang(gang).placed > 0);
        if is_started {
            return None;
        }
        let is_open = |name: &&Box<str>| !self.catalog.is_gang_over(&pod.key.namespace, name);
        let awaited = claim.after.iter().find(is_open)?;
        let cycle = self.cycle(&pod.key.namespace, &claim.name, awaited);
        Some(cycle.unwrap_or_else(|| Reason::After(awaited.clone())))
    }

    /// The way from a gang back to itself, by what its pods wait for.
    fn cycle(&self, namespace: &str, from: &str, to: &str) -> Option<Reason> {
        let mut path: Vec<Box<str>> = vec![from.into()];
        let mut seen = BTreeSet::new();
        self.follow(namespace, from, to, &mut path, &mut seen)
            .then(|| Reason::AfterCycle(path.into()))
    }

    fn follow(
        &self,
        namespace: &str,
        from: &str,
        at: &str,
        path: &mut Vec<Box<str>>,
        seen: &mut BTreeSet<Box<str>>,
    ) -> bool {
        path.push(at.into());
        if at == from {
            return true;
        }
        let gang = self.catalog.find_gang(namespace, at).filter(|_| seen.insert(at.into()));
        let terms = gang.and_then(|gang| self.catalog.gang(gang).terms.as_ref().ok());
        let next = terms.map_or(&[][..], |terms| &terms.after);
        if next.iter().any(|next| self.follow(namespace, from, next, path, seen)) {
            return true;
        }
        path.pop();
        false
    }

    /// Tries to place a gang, or a pod of a gang that has enough already.
    pub(crate) fn attempt_gang(
        &mut self,
        unit: UnitId,
        pods: &[PodId],
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        let own = self.catalog.pod(pods[0]).gang.expect("a pod of a gang");
        let whole = self.queue.gang(unit);
        let gang = whole.unwrap_or(own);
        let (expected, classes) =
            if whole.is_some() { self.expected(gang) } else { Default::default() };
        let kept = self.give_up_seats(own, pods[0], whole.is_some());
        let priority = pods.iter().map(|pod| self.catalog.pod(*pod).priority).min().unwrap_or(0);
        let (failures, outlook) = self.queue.outlook(unit);
        let txn = Txn::begin(&self.catalog, &mut self.usage);
        let mut arranger =
            Arranger::new(&self.profiles, &mut self.boards, self.seed, txn, &self.gangs.refused);
        arranger.expected = expected;
        kept.iter().for_each(|seat| arranger.txn.evict(seat.occupant, seat.node));
        let result = match whole {
            Some(gang) => arranger.arrange(gang),
            None => arranger.add(gang, pods[0]),
        };
        let short = match result {
            Ok(()) => None,
            Err(short) => Some(short),
        };
        let Some(short) = short else {
            let (places, seats) = arranger.commit();
            if whole.is_some() {
                self.release_classes(own);
                if !seats.is_empty() {
                    let state = GangState::Room(seats.len());
                    self.gangs.reports.push(GangReport { gang: own, state });
                    self.gangs.kept.insert(own, Kept { until: now + SEATS_KEPT, seats, classes });
                }
            }
            return self.seat(unit, &places, now, decisions);
        };
        let (diagnosis, fitting) = arranger.explain(gang, &short);
        let mut known = outlook;
        if whole.is_some() && (failures + 1).is_power_of_two() {
            known = arranger.outlook(gang, priority);
        }
        drop(arranger);
        if let Some(own) = self.gangs.kept.get_mut(&own) {
            own.seats.extend(kept);
        }
        classes.into_iter().for_each(|class| self.catalog.release_class(class));
        let row = self.catalog.gang(short.gang);
        let shortfall = whole.is_some().then(|| Shortfall {
            gang: row.name.clone(),
            min: row.min(),
            fitting: fitting + row.placed,
            member: self.catalog.pod(short.pod).key.name.clone(),
            outlook: known,
        });
        let diagnosis = Arc::new(Diagnosis { shortfall, ..(*diagnosis).clone() });
        let classes: BTreeSet<ClassId> =
            pods.iter().map(|pod| self.catalog.pod(*pod).class).collect();
        self.queue.set_outlook(unit, known);
        self.queue.park_gang(unit, now, classes.into_iter().collect(), diagnosis.clone());
        self.tell_gang(unit, pods, &diagnosis, decisions);
    }

    /// Tells the pods of a unit why they wait, and their gang.
    pub(crate) fn tell_gang(
        &mut self,
        unit: UnitId,
        pods: &[PodId],
        diagnosis: &Arc<Diagnosis>,
        decisions: &mut Vec<Decision>,
    ) {
        for pod in pods {
            // Gates are told by whoever set them.
            if !self.standing(*pod).1 {
                let diagnosis = diagnosis.clone();
                decisions.push(Decision::Wait(Waiting { pod: *pod, diagnosis }));
            }
        }
        if let Some(gang) = self.queue.gang(unit) {
            let state = GangState::Waiting(diagnosis.clone());
            decisions.push(Decision::Report(GangReport { gang, state }));
        }
    }

    /// Takes in the places that were found for a unit.
    fn seat(
        &mut self,
        unit: UnitId,
        places: &[(PodId, NodeId)],
        now: Time,
        decisions: &mut Vec<Decision>,
    ) {
        for (pod, _) in places {
            self.gangs.refused.remove(pod);
        }
        self.assume(unit, places, now, decisions);
        self.regroup_tried(unit, places, now);
    }

    /// After a unit had its turn: those that were placed are units of their own, and so are those
    /// that were not.
    fn regroup_tried(&mut self, unit: UnitId, places: &[(PodId, NodeId)], now: Time) {
        let gang = self.catalog.pod(places[0].0).gang.expect("a pod of a gang");
        if self.queue.gang(unit).is_some() {
            let past = self.queue.past(unit);
            for (pod, _) in places {
                let standing = self.standing(*pod).0;
                self.queue.take_out(*pod);
                self.queue.add_tried(*pod, standing, past, now);
            }
        }
        self.regroup(gang, now);
    }

    /// Pods of a gang that do not exist yet, and classes that are held for them.
    fn expected(&mut self, gang: GangId) -> (Vec<(PodId, Occupant)>, Vec<ClassId>) {
        let (mut expected, mut classes) = (Vec::new(), Vec::new());
        let missing = self.missing(gang);
        let row = self.catalog.gang(gang);
        let maker = row.members.iter().find(|pod| self.is_maker(**pod)).copied();
        let Some(maker) = maker.filter(|_| missing > 0) else { return (expected, classes) };
        let pod = self.catalog.pod(maker);
        let (claim, tags) = (pod.claim.clone(), pod.tags);
        let spec = self.catalog.class(pod.class).spec.clone();
        for shape in claim.iter().flat_map(|claim| &claim.workers) {
            // Of the one that makes them they have what says where to go, not whom to be with.
            let class = self.catalog.class_of(&PodSpec {
                requests: shape.requests.clone(),
                scheduler: spec.scheduler.clone(),
                namespace: spec.namespace.clone(),
                node_selector: spec.node_selector.clone(),
                required: spec.required.clone(),
                tolerations: spec.tolerations.clone(),
                ..PodSpec::default()
            });
            classes.push(class);
            let occupant = Occupant { class, tags, is_leaving: false };
            expected.extend((0..shape.count).map(|_| (maker, occupant)));
        }
        self.usage.count_crowds(&mut self.catalog);
        expected.truncate(missing);
        (expected, classes)
    }

    /// Whether a pod makes others of its gang when it runs.
    pub(crate) fn is_maker(&self, pod: PodId) -> bool {
        let claim = self.catalog.pod(pod).claim.as_ref();
        claim.is_some_and(|claim| !claim.workers.is_empty())
    }

    /// Keeps room for pods of a gang that do not exist yet, as far as there is any.
    fn keep_room(&mut self, gang: GangId, now: Time) {
        if !self.catalog.has_gang(gang) || self.gangs.kept.contains_key(&gang) {
            return;
        }
        let (expected, classes) = self.expected(gang);
        let txn = Txn::begin(&self.catalog, &mut self.usage);
        let mut arranger =
            Arranger::new(&self.profiles, &mut self.boards, self.seed, txn, &self.gangs.refused);
        arranger.expected = expected;
        let seats = arranger.keep_what_fits();
        let state = GangState::Room(seats.len());
        self.gangs.reports.push(GangReport { gang, state });
        self.gangs.kept.insert(gang, Kept { until: now + SEATS_KEPT, seats, classes });
    }

    /// Gives up the room that is kept for a pod which is there now, or all room of a gang that is
    /// placed anew.
    fn give_up_seats(&mut self, gang: GangId, pod: PodId, is_all: bool) -> Vec<Seat> {
        let Some(kept) = self.gangs.kept.get_mut(&gang) else { return Vec::new() };
        if is_all || kept.seats.is_empty() {
            return std::mem::take(&mut kept.seats);
        }
        let class = self.catalog.pod(pod).class;
        let at = kept.seats.iter().position(|seat| seat.occupant.class == class).unwrap_or(0);
        vec![kept.seats.remove(at)]
    }

    /// Gives up all room that is kept for pods of a gang.
    pub(crate) fn release_seats(&mut self, gang: GangId, now: Time) {
        let Some(Kept { seats, .. }) = self.gangs.kept.get(&gang) else { return };
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        seats.iter().for_each(|seat| txn.evict(seat.occupant, seat.node));
        txn.commit();
        let nodes: BTreeSet<NodeId> = seats.iter().map(|seat| seat.node).collect();
        self.release_classes(gang);
        nodes.into_iter().for_each(|node| self.wake(Change::Freed, node, now));
    }

    /// Forgets what is kept for a gang, whose seats are given up already.
    fn release_classes(&mut self, gang: GangId) {
        let kept = self.gangs.kept.remove(&gang);
        for class in kept.into_iter().flat_map(|kept| kept.classes) {
            self.catalog.release_class(class);
        }
    }
}
