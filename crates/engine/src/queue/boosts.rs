//! Units that go sooner or later than before, because of what is known of them now.

use model::UnitId;

use super::{Place, Queue};

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
}
