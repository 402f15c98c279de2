//! Units that wait for a change, by what they wait for.

use std::collections::{BTreeMap, BTreeSet};

use model::{ClassId, Diagnosis, Reason, Time, UnitId};

use super::{ByClass, Place, Queue};
use crate::gangs::CYCLE_SHOWN;

/// Which units of a class a change could help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helped {
    /// None of them.
    None,
    /// Those for whom nobody is leaving already.
    Idle,
    /// All of them.
    All,
}

impl From<bool> for Helped {
    fn from(is_helped: bool) -> Self {
        if is_helped { Self::All } else { Self::None }
    }
}

impl Queue {
    /// Wakes the parked units that wait for a reason which may be cured, and of whose class it is
    /// said that it is. It may be asked of any reason whether all units of the class wait for it,
    /// and what the first rank among them is.
    pub(crate) fn wake(
        &mut self,
        now: Time,
        may_be_cured: impl Fn(&Reason) -> bool,
        mut whom_it_helps: impl FnMut(ClassId, &Reason, &Parked<'_>) -> Helped,
    ) {
        let mut woken = BTreeSet::new();
        for (reason, by_class) in &self.parked_by_reason {
            if !may_be_cured(reason) {
                continue;
            }
            for (class, units) in by_class {
                let is_idle = |id: &&UnitId| {
                    let parked = self.unit(**id).parked.as_ref();
                    !parked.is_some_and(|(diagnosis, _)| diagnosis.rescue.is_making_room())
                };
                match whom_it_helps(*class, reason, &Parked { queue: self, class: *class }) {
                    Helped::None => {}
                    Helped::Idle => woken.extend(units.iter().filter(is_idle)),
                    Helped::All => woken.extend(units),
                }
            }
        }
        woken.into_iter().for_each(|id| self.unpark(id, now));
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

    pub(super) fn uncount(&mut self, class: ClassId, rank: i64) {
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
    pub(super) fn list(&mut self, id: UnitId, rank: i64, class: ClassId, diagnosis: &Diagnosis) {
        *self.parked_by_class.entry(class).or_default().entry(rank).or_default() += 1;
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
        let is_after = matches!(reason, Reason::After(_) | Reason::AfterCycle(_));
        if is_after { &mut self.parked_after } else { &mut self.parked_by_reason }
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
