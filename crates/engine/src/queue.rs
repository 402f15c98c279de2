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

mod boosts;
mod crew;
mod gangs;
mod index;
mod lines;
mod parked;
mod unit;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use model::{
    ClassId, Diagnosis, GangId, Map, Millis, Moved, Outlook, PodId, Reason, Tenant, Time, UnitId,
};
use serde::{Deserialize, Serialize};

pub(crate) use crew::{Crew, Own};
use index::Index;
pub(crate) use index::{Room, Waits};
pub(crate) use lines::Alike;
use lines::Lines;
pub(crate) use unit::{Clock, Past, Share, Standing, Unit};

use crate::lanes::{Lanes, Urgency};

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

/// Where a unit begins, or goes on.
pub(crate) enum Start {
    Active,
    Gated,
    /// Its pods are told at this time.
    Gathering(Time),
}

impl Start {
    /// Of a pod by itself.
    pub(crate) fn of(is_gated: bool) -> Self {
        if is_gated { Self::Gated } else { Self::Active }
    }
}

/// Parked units by the class that found no node.
type ByClass = BTreeMap<ClassId, BTreeSet<UnitId>>;

/// Where a pod is listed: the unit, and the place among its pods.
#[derive(Clone, Copy)]
struct Listed {
    unit: UnitId,
    at: usize,
}

/// All waiting units.
pub(crate) struct Queue {
    backoff: Backoff,
    pub(crate) clock: Clock,
    units: Vec<Option<Unit>>,
    free: Vec<UnitId>,
    by_pod: Map<PodId, Listed>,
    by_gang: Map<GangId, UnitId>,
    arrivals: u64,
    active: Lanes,
    lines: Lines,
    /// When active units begin to starve. Entries of units that moved on are skipped, here and
    /// below.
    ripening: BinaryHeap<Reverse<(Time, UnitId)>>,
    backing_off: BinaryHeap<Reverse<(Time, UnitId)>>,
    parked: BTreeSet<(Time, UnitId)>,
    parked_by_reason: BTreeMap<Reason, ByClass>,
    /// Those that wait for gangs to end: nothing else helps them.
    parked_after: BTreeMap<Reason, ByClass>,
    index: Index,
    /// Gangs that found no room, by the classes of their pods.
    gangs_by_class: ByClass,
    /// Those of them that need room for pods which do not exist yet: any room may help.
    expecting: BTreeSet<UnitId>,
    /// Of gangs that were placed, so that the next ones allocate nothing.
    #[expect(clippy::vec_box, reason = "units have them in boxes, which are not moved")]
    spare_crews: Vec<Box<Crew>>,
    counts: QueueCounts,
}

impl Queue {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self {
            backoff,
            clock: Clock::default(),
            units: Vec::new(),
            free: Vec::new(),
            by_pod: Map::default(),
            by_gang: Map::default(),
            arrivals: 0,
            active: Lanes::default(),
            lines: Lines::default(),
            ripening: BinaryHeap::new(),
            backing_off: BinaryHeap::new(),
            parked: BTreeSet::new(),
            parked_by_reason: BTreeMap::new(),
            parked_after: BTreeMap::new(),
            index: Index::default(),
            gangs_by_class: ByClass::new(),
            expecting: BTreeSet::new(),
            spare_crews: Vec::new(),
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
            crew: None,
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
            is_expecting: false,
            short: 0,
            outlook: Outlook::Unknown,
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.units.push(None);
            UnitId::at(self.units.len() - 1)
        });
        for (at, pod) in unit.pods.iter().enumerate() {
            self.by_pod.insert(*pod, Listed { unit: id, at });
        }
        if let Some(gang) = gang {
            self.by_gang.insert(gang, id);
        }
        self.units[id.index()] = Some(unit);
        self.begin(id, now, start);
        id
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
        self.by_pod.get(&pod).map(|listed| listed.unit)
    }

    /// Where a unit is.
    pub(crate) fn place(&self, unit: UnitId) -> Place {
        self.unit(unit).place
    }

    /// When it was last made active.
    pub(crate) fn active_since(&self, unit: UnitId) -> Time {
        self.unit(unit).since
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

    /// Takes in what tenants have of the cluster.
    pub(crate) fn set_shares(&mut self, moved: Moved, share: impl Fn(Tenant) -> u64) {
        self.active.set_shares(moved, share);
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
        self.put_aside(id, now, class, diagnosis);
    }

    /// Notes that a unit that is listed waits for a change.
    fn put_aside(&mut self, id: UnitId, now: Time, class: ClassId, diagnosis: Arc<Diagnosis>) {
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
        self.ripen(now);
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
        for (at, pod) in unit.pods.iter().enumerate() {
            self.by_pod.insert(*pod, Listed { unit: id, at });
        }
        if let Some(gang) = unit.gang {
            self.by_gang.insert(gang, id);
        }
        match unit.place {
            Place::Active => {
                self.active.insert(unit.spot(), id);
                unit.standing.alike.into_iter().for_each(|alike| self.lines.insert(alike, id));
                let starves_at = unit.starves_at(self.clock);
                self.ripening.extend(starves_at.map(|at| Reverse((at, id))));
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
        let clock = self.clock;
        let unit = self.unit_mut(id);
        unit.since = now;
        unit.arrived.get_or_insert(now);
        unit.place = Place::Active;
        unit.urgency = unit.urgency_at(now, clock);
        let (spot, urgency) = (unit.spot(), unit.urgency);
        let starves_at = unit.starves_at(clock).filter(|_| urgency == Urgency::Waits);
        self.active.insert(spot, id);
        self.enter_line(id);
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

    /// Takes a unit from where it is.
    fn leave(&mut self, id: UnitId) {
        let unit = self.unit_mut(id);
        match std::mem::replace(&mut unit.place, Place::Tried) {
            Place::Active => {
                let (spot, alike) = (unit.spot(), unit.standing.alike);
                self.active.remove(spot);
                self.counts.active -= 1;
                alike.into_iter().for_each(|alike| self.leave_line(alike));
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
                self.index.remove(class, rank, &diagnosis);
            }
        }
    }
}
