//! Units that go sooner or later than before, because of what is known of them now or because they
//! have waited for too long.

use std::cmp::Reverse;

use model::{Time, UnitId};

use super::{Place, Queue, Unit};
use crate::lanes::Urgency;

impl Queue {
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

    /// Moves active units that begin to starve.
    pub(super) fn ripen(&mut self, now: Time) {
        let clock = self.clock;
        while let Some(&Reverse((at, id))) = self.ripening.peek() {
            if at > now {
                break;
            }
            self.ripening.pop();
            let is_waiting =
                |unit: &&Unit| unit.place == Place::Active && unit.urgency == Urgency::Waits;
            let unit = self.units[id.index()].as_ref().filter(is_waiting);
            match unit.and_then(|unit| unit.starves_at(clock)) {
                Some(at) if at <= now => {
                    self.leave(id);
                    self.activate(id, now);
                }
                // The clock on the wall was set back.
                Some(at) => self.ripening.push(Reverse((at, id))),
                None => {}
            }
        }
    }
}
