//! Units that wait for a change, by what they wait for.

use std::collections::{BTreeMap, BTreeSet};

use framework::names_object;
use model::{ClassId, Diagnosis, Reason, ResourceId, Time, UnitId};

use super::index::{Index, is_idle};
use super::{ByClass, Place, Queue};
use crate::gangs::CYCLE_SHOWN;

impl Queue {
    /// Wakes the parked units that wait for a reason which may be cured, and of whose class it is
    /// said that it is.
    pub(crate) fn wake(
        &mut self,
        now: Time,
        may_be_cured: impl Fn(&Reason) -> bool,
        is_helped: impl FnMut(ClassId, &Reason) -> bool,
    ) {
        let woken = self.helped(may_be_cured, is_helped);
        self.wake_all(woken, now);
    }

    /// The same units, which stay where they are.
    pub(crate) fn helped(
        &self,
        may_be_cured: impl Fn(&Reason) -> bool,
        mut is_helped: impl FnMut(ClassId, &Reason) -> bool,
    ) -> BTreeSet<UnitId> {
        let mut helped = BTreeSet::new();
        for (reason, by_class) in &self.parked_by_reason {
            if !may_be_cured(reason) {
                continue;
            }
            for (class, units) in by_class {
                if is_helped(*class, reason) {
                    helped.extend(units);
                }
            }
        }
        helped
    }

    pub(crate) fn wake_all(&mut self, units: BTreeSet<UnitId>, now: Time) {
        units.into_iter().for_each(|id| self.unpark(id, now));
    }

    /// Brings what is known of parked classes up to date; `asked` tells what a class asks of a
    /// resource.
    pub(crate) fn catch_up(&mut self, asked: impl Fn(ClassId, ResourceId) -> i64) {
        self.index.catch_up(asked);
    }

    /// What is known of parked classes.
    pub(crate) fn parked(&self) -> &Index {
        &self.index
    }

    /// The parked units of a class that wait for a reason.
    pub(crate) fn waiting_for(
        &self,
        class: ClassId,
        reason: &Reason,
    ) -> impl Iterator<Item = UnitId> {
        let by_class = self.parked_by_reason.get(reason);
        by_class.and_then(|by_class| by_class.get(&class)).into_iter().flatten().copied()
    }

    /// Whether evictions could help a parked unit, and nobody is leaving for it already.
    pub(crate) fn is_idle(&self, id: UnitId) -> bool {
        self.unit(id).parked.as_ref().is_some_and(|(diagnosis, _)| is_idle(diagnosis))
    }

    /// Wakes the parked units of some classes that wait for a gang to end, or for each other with
    /// it among them.
    pub(crate) fn wake_after(
        &mut self,
        gang: &str,
        now: Time,
        is_theirs: impl Fn(ClassId) -> bool,
    ) {
        let mut woken = BTreeSet::new();
        let mut add = |by_class: &ByClass| {
            let theirs = by_class.iter().filter(|(class, _)| is_theirs(**class));
            theirs.for_each(|(_, units)| woken.extend(units));
        };
        self.parked_after.get(&Reason::After(gang.into())).into_iter().for_each(&mut add);
        let cycles = self.parked_after.range(Reason::AfterCycle(Box::default())..);
        for (reason, by_class) in cycles {
            let Reason::AfterCycle(gangs) = reason else { break };
            // Of long ones not all are named.
            if gangs.len() >= CYCLE_SHOWN || gangs.iter().any(|other| **other == *gang) {
                add(by_class);
            }
        }
        woken.into_iter().for_each(|id| self.unpark(id, now));
    }

    /// Wakes the parked units that wait for just this reason, which names an object.
    pub(crate) fn wake_named(&mut self, reason: &Reason, now: Time) {
        let by_class = self.parked_after.get(reason);
        let units = by_class.into_iter().flat_map(BTreeMap::values).flatten().copied();
        self.wake_all(units.collect(), now);
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

    /// Lets a parked unit have its turn again, after its backoff.
    pub(super) fn unpark(&mut self, id: UnitId, now: Time) {
        let parked = self.unit(id).parked.as_ref();
        let is_awaited = parked.is_some_and(|(diagnosis, _)| diagnosis.rescue.is_making_room());
        self.leave(id);
        // Others went for its sake, so it does not wait for longer than it takes them.
        if is_awaited { self.activate(id, now) } else { self.back_off(id, now) }
    }

    /// Lists a parked unit under its class, its rank and its reasons.
    pub(super) fn list(&mut self, id: UnitId, rank: i64, class: ClassId, diagnosis: &Diagnosis) {
        self.index.add(class, rank, diagnosis);
        for reason in diagnosis.curable() {
            let by_reason = self.by_reason(reason);
            // The map is small; most units that wait wait for the same few reasons.
            if !by_reason.contains_key(reason) {
                by_reason.insert(reason.clone(), ByClass::new());
            }
            let by_class = by_reason.get_mut(reason).expect("it was just made");
            by_class.entry(class).or_default().insert(id);
        }
    }

    pub(super) fn unlist(&mut self, reason: &Reason, class: ClassId, id: UnitId) {
        let by_reason = self.by_reason(reason);
        let by_class = by_reason.get_mut(reason);
        let by_class = by_class.expect("a parked unit is listed under its reasons");
        let units = by_class.get_mut(&class).expect("a parked unit is listed under its class");
        units.remove(&id);
        if units.is_empty() {
            by_class.remove(&class);
        }
        if by_class.is_empty() {
            by_reason.remove(reason);
        }
    }

    fn by_reason(&mut self, reason: &Reason) -> &mut BTreeMap<Reason, ByClass> {
        if names_object(reason) { &mut self.parked_after } else { &mut self.parked_by_reason }
    }
}
