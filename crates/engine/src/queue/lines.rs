//! Active units that are alike, so that what was found for one of them can be said of all.

use std::sync::Arc;

use model::{ClassId, Diagnosis, Map, TagsId, Time, UnitId};

use super::{Place, Queue, Standing};

/// What pods have in common of which the same is found, if they are as important as each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Alike {
    pub(crate) class: ClassId,
    pub(crate) tags: TagsId,
}

/// Units of a line that moved on are left in the list until so many more of them are there.
const STALE_MAX: usize = 32;

/// All lines with active units.
#[derive(Default)]
pub(super) struct Lines(Map<Alike, Line>);

#[derive(Default)]
struct Line {
    active: usize,
    /// Those that are active, some more than once, and some that moved on.
    units: Vec<UnitId>,
}

impl Lines {
    // Hot: twice per pod.
    pub(super) fn insert(&mut self, alike: Alike, unit: UnitId) {
        let line = self.0.entry(alike).or_default();
        line.active += 1;
        line.units.push(unit);
    }

    /// Takes in that a unit is not active any more; gives the list back if it should be looked
    /// through.
    pub(super) fn remove(&mut self, alike: Alike) -> Option<&mut Vec<UnitId>> {
        let line = self.0.get_mut(&alike).expect("an active unit stands in its line");
        line.active -= 1;
        if line.active == 0 {
            self.0.remove(&alike);
            return None;
        }
        let Line { active, units } = self.0.get_mut(&alike)?;
        (units.len() > 2 * *active + STALE_MAX).then_some(units)
    }
}

impl Queue {
    /// The first active units that are alike with one that was tried and are as important, in the
    /// order of their turns: `most` of them.
    pub(crate) fn line_behind(&self, head: UnitId, most: usize) -> Vec<UnitId> {
        let standing = self.unit(head).standing;
        let line = standing.alike.and_then(|alike| self.lines.0.get(&alike));
        let units = line.into_iter().flat_map(|line| &line.units).copied();
        let is_behind = |id: &UnitId| {
            let unit = self.units[id.index()].as_ref();
            unit.is_some_and(|unit| {
                let Standing { rank, alike, .. } = unit.standing;
                unit.place == Place::Active && (rank, alike) == (standing.rank, standing.alike)
            })
        };
        let mut units: Vec<_> =
            units.filter(is_behind).map(|id| (self.unit(id).spot(), id)).collect();
        units.sort_unstable();
        units.dedup();
        units.truncate(most);
        units.into_iter().map(|(_, id)| id).collect()
    }

    /// Puts an active unit aside as if it had been tried just now, because of what was found for
    /// one that is alike.
    pub(crate) fn settle(
        &mut self,
        id: UnitId,
        now: Time,
        class: ClassId,
        diagnosis: Arc<Diagnosis>,
    ) {
        self.leave(id);
        self.park(id, now, class, diagnosis);
    }

    pub(super) fn enter_line(&mut self, id: UnitId) {
        if let Some(alike) = self.unit(id).standing.alike {
            self.lines.insert(alike, id);
        }
    }

    pub(super) fn leave_line(&mut self, alike: Alike) {
        let Self { lines, units, .. } = self;
        let Some(line) = lines.remove(alike) else { return };
        line.retain(|id| {
            let unit = units[id.index()].as_ref();
            unit.is_some_and(|unit| {
                unit.place == Place::Active && unit.standing.alike == Some(alike)
            })
        });
        line.sort_unstable();
        line.dedup();
    }
}
