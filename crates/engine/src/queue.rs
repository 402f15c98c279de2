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
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use framework::OrderKey;
use model::{ClassId, Diagnosis, Map, Millis, PodId, Reason, Time, UnitId};
use serde::{Deserialize, Serialize};

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
    /// It had its turn, and what came of it is not known yet.
    Tried,
}

/// What is scheduled as a whole.
pub(crate) struct Unit {
    pub(crate) pods: Box<[PodId]>,
    pub(crate) rank: i64,
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
}

/// Parked units by the class that found no node.
type ByClass = BTreeMap<ClassId, BTreeSet<UnitId>>;

/// All waiting units.
pub(crate) struct Queue {
    backoff: Backoff,
    units: Vec<Option<Unit>>,
    free: Vec<UnitId>,
    by_pod: Map<PodId, UnitId>,
    arrivals: u64,
    /// Entries of units that moved on are skipped when they come up.
    active: BinaryHeap<Reverse<(OrderKey, UnitId)>>,
    backing_off: BinaryHeap<Reverse<(Time, UnitId)>>,
    parked: BTreeSet<(Time, UnitId)>,
    parked_by_reason: BTreeMap<Reason, ByClass>,
    /// How many of each class, by rank.
    parked_by_class: BTreeMap<ClassId, BTreeMap<i64, usize>>,
    counts: QueueCounts,
}

impl Queue {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            units: Vec::new(),
            free: Vec::new(),
            by_pod: Map::default(),
            arrivals: 0,
            active: BinaryHeap::new(),
            backing_off: BinaryHeap::new(),
            parked: BTreeSet::new(),
            parked_by_reason: BTreeMap::new(),
            parked_by_class: BTreeMap::new(),
            counts: QueueCounts::default(),
        }
    }

    /// Takes in a unit of one pod, which waits for its turn, or for its gates.
    pub(crate) fn add(&mut self, pod: PodId, rank: i64, now: Time, is_gated: bool) {
        self.arrivals += 1;
        let unit = Unit {
            pods: Box::new([pod]),
            rank,
            arrival: self.arrivals,
            arrived: None,
            since: now,
            failures: 0,
            last_failure: now,
            place: Place::Tried,
            parked: None,
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.units.push(None);
            UnitId::at(self.units.len() - 1)
        });
        self.units[id.index()] = Some(unit);
        self.by_pod.insert(pod, id);
        if is_gated { self.gate(id) } else { self.activate(id, now) }
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
        self.free.push(id);
    }

    /// Gives a unit its turn anew because its pod is another one now.
    pub(crate) fn renew(&mut self, id: UnitId, rank: i64, now: Time, is_gated: bool) {
        self.leave(id);
        self.unit_mut(id).rank = rank;
        if is_gated { self.gate(id) } else { self.activate(id, now) }
    }

    /// The unit whose turn it is. Its outcome must be reported: remove, park or retry.
    pub(crate) fn pop(&mut self) -> Option<UnitId> {
        while let Some(Reverse((key, id))) = self.active.pop() {
            let is_current = |unit: &Unit| unit.place == Place::Active && unit.key() == key;
            if self.units[id.index()].as_ref().is_some_and(is_current) {
                self.leave(id);
                return Some(id);
            }
        }
        None
    }

    /// Puts a tried unit aside until something could help its class, which found no node.
    pub(crate) fn park(
        &mut self,
        id: UnitId,
        now: Time,
        class: ClassId,
        diagnosis: Arc<Diagnosis>,
    ) {
        self.list(id, self.unit(id).rank, class, &diagnosis);
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
            let ends =
                |unit: &Unit| unit.place == Place::Backoff && self.backoff_end(unit) == until;
            if self.units[id.index()].as_ref().is_some_and(ends) {
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
        match unit.place {
            Place::Active => {
                self.active.push(Reverse((unit.key(), id)));
                self.counts.active += 1;
            }
            Place::Backoff => {
                self.backing_off.push(Reverse((self.backoff_end(&unit), id)));
                self.counts.backoff += 1;
            }
            Place::Parked(since) => {
                let (diagnosis, class) = unit.parked.clone().expect("a parked unit says why");
                self.list(id, unit.rank, class, &diagnosis);
                self.parked.insert((since, id));
                self.counts.parked += 1;
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
        let key = unit.key();
        self.active.push(Reverse((key, id)));
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
            Place::Active => self.counts.active -= 1,
            Place::Backoff => self.counts.backoff -= 1,
            Place::Gated => self.counts.gated -= 1,
            Place::Tried => {}
            Place::Parked(since) => {
                let (diagnosis, class) = unit.parked.take().expect("a parked unit is listed");
                let rank = unit.rank;
                self.parked.remove(&(since, id));
                self.counts.parked -= 1;
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

    fn key(&self) -> OrderKey {
        OrderKey { rank: self.rank, since: self.since, arrival: self.arrival }
    }
}
