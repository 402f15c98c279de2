//! Units that wait for a node.
//!
//! ```text
//!                    pop                       nothing fits
//!  new ──▶ Active ────────▶ (being tried) ──────────────────▶ Parked
//!            ▲  ▲                │ refused by the API            │ a change could cure a reason,
//!            │  │  time is up    ▼                               │ or five minutes passed
//!            │  └──────────── Backoff ◀──────────────────────────┤
//!            │                                                   │ its backoff is over already
//!            └───────────────────────────────────────────────────┘
//!  Gated: kept out until the pod itself changes.
//!  Gathering: a gang that is not complete; its pods are told so if it takes long.
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use model::{
    ClassId, Diagnosis, GangId, Map, Millis, Outlook, PodId, Reason, Symbol, Time, UnitId,
};
use serde::{Deserialize, Serialize};

use crate::lanes::{Lane, Lanes, Spot, Turn, Urgency};

/// How long units wait after failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backoff {
    /// After the first failure.
    pub initial: Millis,
    /// After many.
    pub max: Millis,
    /// A parked unit is tried again after this, whatever happened.
    pub flush: Millis,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { initial: Millis::seconds(1), max: Millis::seconds(10), flush: Millis::seconds(300) }
    }
}

impl Backoff {
    /// How long to wait after the given number of failures: doubling, up to the maximum.
    fn after(&self, failures: u32) -> Millis {
        let doublings = failures.saturating_sub(1).min(32);
        Millis(self.initial.0.saturating_mul(1 << doublings).min(self.max.0))
    }
}

/// How many units wait, and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Their turn comes in order.
    pub active: usize,
    /// They wait for a time.
    pub backoff: usize,
    /// They wait for a change.
    pub parked: usize,
    /// They wait for their gates to be removed.
    pub gated: usize,
}

/// Where a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Its turn comes in order.
    Active,
    /// It waits for a time.
    Backoff,
    /// It waits for a change, since then.
    Parked(Time),
    /// It waits for its gates to be removed.
    Gated,
    /// It waits for pods of its gang that are not there yet, and is told so then.
    Gathering(Time),
    /// It had its turn, and what came of it is not known yet.
    Tried,
}

/// What is scheduled as a whole.
pub(crate) struct Unit {
    pub(crate) pods: Vec<PodId>,
    /// The gang all of whose waiting pods these are.
    pub(crate) gang: Option<GangId>,
    /// Why its gang cannot be tried, if it cannot.
    pub(crate) refusal: Option<Reason>,
    pub(crate) standing: Standing,
    pub(crate) urgency: Urgency,
    pub(crate) arrival: u64,
    /// When it could first be tried; none as long as it is gated.
    pub(crate) arrived: Option<Time>,
    /// Since when it waits for its turn.
    pub(crate) since: Time,
    pub(crate) failures: u32,
    pub(crate) last_failure: Time,
    pub(crate) place: Place,
    /// Under which reasons and class a parked unit is listed.
    pub(crate) parked: Option<(Arc<Diagnosis>, ClassId)>,
    /// Under which classes a gang is listed that found no room.
    pub(crate) classes: Box<[ClassId]>,
    /// What would help a gang, as it was last found.
    pub(crate) outlook: Outlook,
}

/// What gives a unit its place among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) rank: i64,
    pub(crate) boost: i32,
    /// Whether it completes what runs already.
    pub(crate) is_mending: bool,
    /// For units that take turns with those of other namespaces.
    pub(crate) sharing: Option<Share>,
}

impl Standing {
    /// Stands no better than another one.
    pub(crate) fn join(&mut self, other: Self) {
        self.rank = self.rank.max(other.rank);
        self.boost = self.boost.min(other.boost);
        if let (Some(share), Some(other)) = (&mut self.sharing, other.sharing) {
            share.age = share.age.min(other.age);
        }
    }
}

/// How a unit takes turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) tenant: Symbol,
    /// When its oldest pod was made.
    pub(crate) age: i64,
    pub(crate) starving_after: Millis,
}

/// Where a unit begins, or goes on.
pub(crate) enum Start {
    Active,
    Gated,
    /// Its pods are told at this time.
    Gathering(Time),
}

/// Parked units by the class that found no node.
type ByClass = BTreeMap<ClassId, BTreeSet<UnitId>>;

/// All waiting units.
pub(crate) struct Queue {
    backoff: Backoff,
    units: Vec<Option<Unit>>,
    free: Vec<UnitId>,
    by_pod: Map<PodId, UnitId>,
    by_gang: Map<GangId, UnitId>,
    arrivals: u64,
    active: Lanes,
    /// When active units begin to starve. Entries of units that moved on are skipped, here and
    /// below.
    ripening: BinaryHeap<Reverse<(Time, UnitId)>>,
    backing_off: BinaryHeap<Reverse<(Time, UnitId)>>,
    parked: BTreeSet<(Time, UnitId)>,
    parked_by_reason: BTreeMap<Reason, ByClass>,
    /// How many of each class, by rank.
    parked_by_class: BTreeMap<ClassId, BTreeMap<i64, usize>>,
    /// Gangs that found no room, by the classes of their pods.
    gangs_by_class: ByClass,
    counts: QueueCounts,
}

impl Queue {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            units: Vec::new(),
            free: Vec::new(),
            by_pod: Map::default(),
            by_gang: Map::default(),
            arrivals: 0,
            active: Lanes::default(),
            ripening: BinaryHeap::new(),
            backing_off: BinaryHeap::new(),
            parked: BTreeSet::new(),
            parked_by_reason: BTreeMap::new(),
            parked_by_class: BTreeMap::new(),
            gangs_by_class: ByClass::new(),
            counts: QueueCounts::default(),
        }
    }

    /// Takes in a unit of one pod, or the waiting pods of a gang.
    pub(crate) fn add(
        &mut self,
        pods: Vec<PodId>,
        gang: Option<GangId>,
        standing: Standing,
        now: Time,
        start: &Start,
    ) -> UnitId {
        self.arrivals += 1;
        let unit = Unit {
            pods,
            gang,
            refusal: None,
            standing,
            urgency: Urgency::Waits,
            arrival: self.arrivals,
            arrived: None,
            since: now,
            failures: 0,
            last_failure: now,
            place: Place::Tried,
            parked: None,
            classes: Box::default(),
            outlook: Outlook::Unknown,
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.units.push(None);
            UnitId::at(self.units.len() - 1)
        });
        for pod in &unit.pods {
            self.by_pod.insert(*pod, id);
        }
        if let Some(gang) = gang {
            self.by_gang.insert(gang, id);
        }
        self.units[id.index()] = Some(unit);
        self.begin(id, now, start);
        id
    }

    /// The unit of the waiting pods of a gang.
    pub(crate) fn unit_of_gang(&self, gang: GangId) -> Option<UnitId> {
        self.by_gang.get(&gang).copied()
    }

    /// Why the gang of a unit cannot be tried, if it cannot.
    pub(crate) fn refusal(&self, unit: UnitId) -> Option<&Reason> {
        self.unit(unit).refusal.as_ref()
    }

    /// Gives a unit of a gang other pods, another standing and another start.
    pub(crate) fn refill(
        &mut self,
        id: UnitId,
        pods: Vec<PodId>,
        standing: Standing,
        now: Time,
        start: &Start,
    ) {
        self.leave(id);
        for pod in std::mem::take(&mut self.unit_mut(id).pods) {
            if self.by_pod.get(&pod) == Some(&id) {
                self.by_pod.remove(&pod);
            }
        }
        for pod in &pods {
            self.by_pod.insert(*pod, id);
        }
        let unit = self.unit_mut(id);
        (unit.pods, unit.standing) = (pods, standing);
        self.begin(id, now, start);
    }

    /// Takes a pod out of its unit, which is forgotten once it has none.
    pub(crate) fn take_out(&mut self, pod: PodId) {
        let Some(id) = self.unit_of(pod) else { return };
        if self.unit(id).pods.len() == 1 {
            return self.remove(id);
        }
        self.unit_mut(id).pods.retain(|other| *other != pod);
        self.by_pod.remove(&pod);
    }

    pub(crate) fn set_refusal(&mut self, id: UnitId, refusal: Option<Reason>) {
        self.unit_mut(id).refusal = refusal;
    }

    /// The gang all of whose waiting pods a unit has.
    pub(crate) fn gang(&self, id: UnitId) -> Option<GangId> {
        self.unit(id).gang
    }

    pub(crate) fn standing(&self, id: UnitId) -> Standing {
        self.unit(id).standing
    }

    /// Lets a unit go on from where another one was.
    pub(crate) fn inherit(
        &mut self,
        id: UnitId,
        (failures, last_failure, arrived): (u32, Time, Option<Time>),
    ) {
        let unit = self.unit_mut(id);
        (unit.failures, unit.last_failure) = (failures, last_failure);
        unit.arrived = arrived.or(unit.arrived);
    }

    /// All units, in the order of their ids.
    pub(crate) fn ids(&self) -> Vec<UnitId> {
        let is_there = |at: &usize| self.units[*at].is_some();
        (0..self.units.len()).filter(is_there).map(UnitId::at).collect()
    }

    /// Lets a unit go sooner or later than before among those of its rank.
    pub(crate) fn set_boost(&mut self, id: UnitId, boost: i32) {
        let unit = self.unit_mut(id);
        let before = unit.spot();
        if std::mem::replace(&mut unit.standing.boost, boost) == boost {
            return;
        }
        let (after, place) = (unit.spot(), unit.place);
        if place == Place::Active {
            self.active.remove(before);
            self.active.insert(after, id);
        }
    }

    /// What a unit has behind it.
    pub(crate) fn past(&self, id: UnitId) -> (u32, Time, Option<Time>) {
        let unit = self.unit(id);
        (unit.failures, unit.last_failure, unit.arrived)
    }

    /// How often a gang failed, and what would help it as far as that was found out.
    pub(crate) fn outlook(&self, id: UnitId) -> (u32, Outlook) {
        (self.unit(id).failures, self.unit(id).outlook)
    }

    pub(crate) fn set_outlook(&mut self, id: UnitId, outlook: Outlook) {
        self.unit_mut(id).outlook = outlook;
    }

    /// Takes in a pod that was sent to a node, as a unit of its own with the past of another.
    pub(crate) fn add_tried(
        &mut self,
        pod: PodId,
        standing: Standing,
        past: (u32, Time, Option<Time>),
        now: Time,
    ) {
        let unit = self.add(vec![pod], None, standing, now, &Start::Gated);
        self.leave(unit);
        self.inherit(unit, past);
    }

    /// Gives a unit its turn at once, wherever it is.
    pub(crate) fn activate_now(&mut self, id: UnitId, now: Time) {
        self.leave(id);
        self.activate(id, now);
    }

    fn begin(&mut self, id: UnitId, now: Time, start: &Start) {
        match start {
            Start::Active => self.activate(id, now),
            Start::Gated => self.gate(id),
            Start::Gathering(until) => {
                self.unit_mut(id).place = Place::Gathering(*until);
                self.backing_off.push(Reverse((*until, id)));
                self.counts.gated += 1;
            }
        }
    }

    /// The unit of a waiting pod.
    pub(crate) fn unit_of(&self, pod: PodId) -> Option<UnitId> {
        self.by_pod.get(&pod).copied()
    }

    /// Where a unit is.
    pub(crate) fn place(&self, unit: UnitId) -> Place {
        self.unit(unit).place
    }

    /// The pods of a unit.
    pub(crate) fn pods(&self, unit: UnitId) -> &[PodId] {
        &self.unit(unit).pods
    }

    /// How often a unit was tried, and when it first could be.
    pub(crate) fn history(&self, unit: UnitId) -> (u32, Time) {
        let unit = self.unit(unit);
        // Every try before this one failed.
        let tries = unit.failures.saturating_add(1);
        (tries, unit.arrived.expect("a unit that was tried had its turn"))
    }

    /// Forgets a unit.
    pub(crate) fn remove(&mut self, id: UnitId) {
        self.leave(id);
        let unit = self.units[id.index()].take().expect("a unit that is named is there");
        unit.pods.iter().for_each(|pod| {
            self.by_pod.remove(pod);
        });
        if let Some(gang) = unit.gang {
            self.by_gang.remove(&gang);
        }
        self.free.push(id);
    }

    /// Gives a unit its turn anew because its pod is another one now.
    pub(crate) fn renew(&mut self, id: UnitId, standing: Standing, now: Time, start: &Start) {
        self.leave(id);
        self.unit_mut(id).standing = standing;
        self.begin(id, now, start);
    }

    /// The unit whose turn it is. Its outcome must be reported: remove, park or retry.
    pub(crate) fn pop(&mut self) -> Option<UnitId> {
        let id = self.active.first()?;
        self.leave(id);
        Some(id)
    }

    /// Takes in what namespaces have of the cluster: those named, or all that matter.
    pub(crate) fn set_shares(
        &mut self,
        moved: Option<BTreeSet<Symbol>>,
        share: impl Fn(Symbol) -> u64,
    ) {
        let moved = moved.unwrap_or_else(|| self.active.known_tenants());
        moved.into_iter().for_each(|tenant| self.active.set_share(tenant, share(tenant)));
    }

    /// Wakes the gangs that found no room, if a pod of a class of theirs is said to be helped.
    pub(crate) fn wake_gangs(&mut self, now: Time, mut is_helped: impl FnMut(ClassId) -> bool) {
        let mut woken = BTreeSet::new();
        for (class, units) in &self.gangs_by_class {
            if is_helped(*class) {
                woken.extend(units);
            }
        }
        woken.into_iter().for_each(|id| self.unpark(id, now));
    }

    /// Puts a gang aside until something could help a class of its pods.
    pub(crate) fn park_gang(
        &mut self,
        id: UnitId,
        now: Time,
        classes: Box<[ClassId]>,
        diagnosis: Arc<Diagnosis>,
    ) {
        let first = classes[0];
        self.list_gang(id, classes);
        self.parked.insert((now, id));
        self.counts.parked += 1;
        let unit = self.unit_mut(id);
        unit.fail(now);
        unit.place = Place::Parked(now);
        unit.parked = Some((diagnosis, first));
    }

    fn list_gang(&mut self, id: UnitId, classes: Box<[ClassId]>) {
        for class in &classes {
            self.gangs_by_class.entry(*class).or_default().insert(id);
        }
        self.unit_mut(id).classes = classes;
    }

    fn unlist_gang(&mut self, id: UnitId, classes: &[ClassId]) {
        for class in classes {
            let units = self.gangs_by_class.get_mut(class).expect("a gang is listed");
            units.remove(&id);
            if units.is_empty() {
                self.gangs_by_class.remove(class);
            }
        }
    }

    /// Puts a tried unit aside until something could help its class, which found no node.
    pub(crate) fn park(
        &mut self,
        id: UnitId,
        now: Time,
        class: ClassId,
        diagnosis: Arc<Diagnosis>,
    ) {
        self.list(id, self.unit(id).standing.rank, class, &diagnosis);
        self.parked.insert((now, id));
        self.counts.parked += 1;
        let unit = self.unit_mut(id);
        unit.fail(now);
        unit.place = Place::Parked(now);
        unit.parked = Some((diagnosis, class));
    }

    /// Tries a unit again after its backoff.
    pub(crate) fn retry(&mut self, id: UnitId, now: Time) {
        self.leave(id);
        self.unit_mut(id).fail(now);
        self.back_off(id, now);
    }

    /// Wakes the parked units that wait for a reason which may be cured, and of whose class it is
    /// said that it is. It may be asked of any reason whether all units of the class wait for it,
    /// and what the first rank among them is.
    pub(crate) fn wake(
        &mut self,
        now: Time,
        may_be_cured: impl Fn(&Reason) -> bool,
        mut is_cured: impl FnMut(ClassId, &Reason, &Parked<'_>) -> bool,
    ) {
        let mut woken = BTreeSet::new();
        for (reason, by_class) in &self.parked_by_reason {
            if !may_be_cured(reason) {
                continue;
            }
            for (class, units) in by_class {
                if is_cured(*class, reason, &Parked { queue: self, class: *class }) {
                    woken.extend(units);
                }
            }
        }
        woken.into_iter().for_each(|id| self.unpark(id, now));
    }

    /// Moves units whose time has come.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(&Reverse((until, id))) = self.backing_off.peek() {
            if until > now {
                break;
            }
            self.backing_off.pop();
            let ends = |unit: &Unit| match unit.place {
                Place::Backoff => self.backoff_end(unit) == until,
                Place::Gathering(told_at) => told_at == until,
                Place::Active | Place::Parked(_) | Place::Gated | Place::Tried => false,
            };
            if self.units[id.index()].as_ref().is_some_and(ends) {
                self.leave(id);
                self.activate(id, now);
            }
        }
        while let Some(&Reverse((at, id))) = self.ripening.peek() {
            if at > now {
                break;
            }
            self.ripening.pop();
            let is_ripe = |unit: &Unit| {
                unit.place == Place::Active && unit.urgency == Urgency::Waits && unit.starves(now)
            };
            if self.units[id.index()].as_ref().is_some_and(is_ripe) {
                self.leave(id);
                self.activate(id, now);
            }
        }
        while let Some(&(since, id)) = self.parked.first() {
            if since + self.backoff.flush > now {
                break;
            }
            self.unpark(id, now);
        }
    }

    pub(crate) fn next_wakeup(&self) -> Option<Time> {
        if self.counts.active > 0 {
            return Some(Time::default());
        }
        let backoff = self.backing_off.peek().map(|Reverse((until, _))| *until);
        let flush = self.parked.first().map(|(since, _)| *since + self.backoff.flush);
        backoff.into_iter().chain(flush).min()
    }

    pub(crate) fn counts(&self) -> QueueCounts {
        self.counts
    }

    /// All units.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit> {
        self.units.iter().flatten()
    }

    /// How many units ever came.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Puts a unit back as it was.
    pub(crate) fn restore(&mut self, unit: Unit) {
        let id = UnitId::at(self.units.len());
        unit.pods.iter().for_each(|pod| {
            self.by_pod.insert(*pod, id);
        });
        if let Some(gang) = unit.gang {
            self.by_gang.insert(gang, id);
        }
        match unit.place {
            Place::Active => {
                self.active.insert(unit.spot(), id);
                self.ripening.extend(unit.starves_at().map(|at| Reverse((at, id))));
                self.counts.active += 1;
            }
            Place::Backoff => {
                self.backing_off.push(Reverse((self.backoff_end(&unit), id)));
                self.counts.backoff += 1;
            }
            Place::Parked(since) => {
                let (diagnosis, class) = unit.parked.clone().expect("a parked unit says why");
                let (rank, classes) = (unit.standing.rank, unit.classes.clone());
                self.units.push(Some(unit));
                if classes.is_empty() {
                    self.list(id, rank, class, &diagnosis);
                } else {
                    self.list_gang(id, classes);
                }
                self.parked.insert((since, id));
                self.counts.parked += 1;
                return;
            }
            Place::Gathering(until) => {
                self.backing_off.push(Reverse((until, id)));
                self.counts.gated += 1;
            }
            Place::Gated => self.counts.gated += 1,
            Place::Tried => {}
        }
        self.units.push(Some(unit));
    }

    /// Goes on counting arrivals from here.
    pub(crate) fn restore_arrivals(&mut self, arrivals: u64) {
        self.arrivals = arrivals;
    }

    fn unit(&self, id: UnitId) -> &Unit {
        self.units[id.index()].as_ref().expect("a unit that is named is there")
    }

    fn unit_mut(&mut self, id: UnitId) -> &mut Unit {
        self.units[id.index()].as_mut().expect("a unit that is named is there")
    }

    fn backoff_end(&self, unit: &Unit) -> Time {
        unit.last_failure + self.backoff.after(unit.failures)
    }

    fn activate(&mut self, id: UnitId, now: Time) {
        let unit = self.unit_mut(id);
        unit.since = now;
        unit.arrived.get_or_insert(now);
        unit.place = Place::Active;
        unit.urgency = unit.urgency_at(now);
        let (spot, starves_at) = (unit.spot(), unit.starves_at());
        self.active.insert(spot, id);
        self.ripening.extend(starves_at.map(|at| Reverse((at, id))));
        self.counts.active += 1;
    }

    fn gate(&mut self, id: UnitId) {
        self.unit_mut(id).place = Place::Gated;
        self.counts.gated += 1;
    }

    /// To the backoff, or straight to the active units if it is over.
    fn back_off(&mut self, id: UnitId, now: Time) {
        let until = self.backoff_end(self.unit(id));
        if until <= now {
            return self.activate(id, now);
        }
        self.unit_mut(id).place = Place::Backoff;
        self.backing_off.push(Reverse((until, id)));
        self.counts.backoff += 1;
    }

    /// Wakes a unit if it is parked.
    pub(crate) fn wake_unit(&mut self, id: UnitId, now: Time) {
        if matches!(self.unit(id).place, Place::Parked(_)) {
            self.unpark(id, now);
        }
    }

    /// Tries a unit as soon as its turn comes.
    pub(crate) fn hurry(&mut self, id: UnitId, now: Time) {
        if matches!(self.unit(id).place, Place::Parked(_) | Place::Backoff) {
            self.leave(id);
            self.activate(id, now);
        }
    }

    fn unpark(&mut self, id: UnitId, now: Time) {
        let parked = self.unit(id).parked.as_ref();
        let is_awaited = parked.is_some_and(|(diagnosis, _)| diagnosis.rescue.is_making_room());
        self.leave(id);
        // Others went for its sake, so it does not wait for longer than it takes them.
        if is_awaited { self.activate(id, now) } else { self.back_off(id, now) }
    }

    /// Takes a unit from where it is.
    fn leave(&mut self, id: UnitId) {
        let unit = self.unit_mut(id);
        match std::mem::replace(&mut unit.place, Place::Tried) {
            Place::Active => {
                let spot = unit.spot();
                self.active.remove(spot);
                self.counts.active -= 1;
            }
            Place::Backoff => self.counts.backoff -= 1,
            Place::Gated | Place::Gathering(_) => self.counts.gated -= 1,
            Place::Tried => {}
            Place::Parked(since) => {
                let (diagnosis, class) = unit.parked.take().expect("a parked unit is listed");
                let (rank, classes) = (unit.standing.rank, std::mem::take(&mut unit.classes));
                self.parked.remove(&(since, id));
                self.counts.parked -= 1;
                if !classes.is_empty() {
                    return self.unlist_gang(id, &classes);
                }
                diagnosis.curable().into_iter().for_each(|reason| self.unlist(reason, class, id));
                self.uncount(class, rank);
            }
        }
    }

    fn uncount(&mut self, class: ClassId, rank: i64) {
        let ranks = self.parked_by_class.get_mut(&class);
        let ranks = ranks.expect("a parked unit is counted under its class");
        let parked = ranks.get_mut(&rank).expect("a parked unit is counted under its rank");
        *parked -= 1;
        if *parked == 0 {
            ranks.remove(&rank);
        }
        if ranks.is_empty() {
            self.parked_by_class.remove(&class);
        }
    }

    /// Lists a parked unit under its class, its rank and its reasons.
    fn list(&mut self, id: UnitId, rank: i64, class: ClassId, diagnosis: &Diagnosis) {
        *self.parked_by_class.entry(class).or_default().entry(rank).or_default() += 1;
        for reason in diagnosis.curable() {
            // The map is small; most units that wait wait for the same few reasons.
            if !self.parked_by_reason.contains_key(reason) {
                self.parked_by_reason.insert(reason.clone(), ByClass::new());
            }
            let by_class = self.parked_by_reason.get_mut(reason).expect("it was just made");
            by_class.entry(class).or_default().insert(id);
        }
    }

    fn unlist(&mut self, reason: &Reason, class: ClassId, id: UnitId) {
        let by_class = self.parked_by_reason.get_mut(reason);
        let by_class = by_class.expect("a parked unit is listed under its reasons");
        let units = by_class.get_mut(&class).expect("a parked unit is listed under its class");
        units.remove(&id);
        if units.is_empty() {
            by_class.remove(&class);
        }
        if by_class.is_empty() {
            self.parked_by_reason.remove(reason);
        }
    }
}

/// The parked units of a class.
pub(crate) struct Parked<'a> {
    queue: &'a Queue,
    class: ClassId,
}

impl Parked<'_> {
    /// Whether all of them wait for a reason.
    pub(crate) fn all_wait_for(&self, reason: &Reason) -> bool {
        let listed = self.queue.parked_by_reason.get(reason);
        let listed = listed.and_then(|by_class| by_class.get(&self.class)).map_or(0, BTreeSet::len);
        listed == self.ranks().map(|(_, count)| count).sum()
    }

    /// The rank of the first.
    pub(crate) fn first_rank(&self) -> Option<i64> {
        self.ranks().next().map(|(rank, _)| rank)
    }

    fn ranks(&self) -> impl Iterator<Item = (i64, usize)> {
        let ranks = self.queue.parked_by_class.get(&self.class);
        ranks.into_iter().flatten().map(|(rank, count)| (*rank, *count))
    }
}

impl Unit {
    fn fail(&mut self, now: Time) {
        self.failures = self.failures.saturating_add(1);
        self.last_failure = now;
    }

    /// Where it stands among the active units.
    fn spot(&self) -> Spot {
        let Standing { rank, boost, sharing, .. } = self.standing;
        let lane = Lane { rank, urgency: self.urgency, handicap: -i64::from(boost) };
        let (age, since) = sharing.map_or((0, self.since), |share| (share.age, Time::default()));
        (lane, sharing.map(|share| share.tenant), Turn { age, since, arrival: self.arrival })
    }

    /// When it begins to starve, if it can.
    fn starves_at(&self) -> Option<Time> {
        let share = self.standing.sharing.filter(|_| self.urgency == Urgency::Waits)?;
        Some(self.arrived? + share.starving_after)
    }

    fn starves(&self, now: Time) -> bool {
        let share = self.standing.sharing;
        let at = share.zip(self.arrived).map(|(share, arrived)| arrived + share.starving_after);
        at.is_some_and(|at| at <= now)
    }

    fn urgency_at(&self, now: Time) -> Urgency {
        if self.standing.is_mending {
            Urgency::Mends
        } else if self.starves(now) {
            Urgency::Starves
        } else {
            Urgency::Waits
        }
    }
}
