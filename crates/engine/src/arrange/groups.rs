//! Gangs of gangs: as many parts as fit, if they are enough.

use model::GangId;

use super::{Arranger, Moment, Short};
use crate::cycle::Within;

impl Arranger<'_> {
    /// Places as many parts of a gang of gangs as fit, if they are enough.
    pub(super) fn groups(
        &mut self,
        gang: GangId,
        within: &Within,
        limit: usize,
    ) -> Result<(), Short> {
        let row = self.txn.catalog().gang(gang);
        let (min, parts) = (row.min() as usize, row.parts.clone());
        let (is_started, start) = (row.is_started(), self.places.len());
        let (mut placed, mut failed) = (0, None);
        // Parts that fit by themselves, or may do so: another order could fit them.
        let mut possible = 0;
        for part in parts {
            if !self.is_complete(part) {
                continue;
            }
            let before = self.places.len();
            let result = self.part(part, within, limit);
            match result.and_then(|()| self.has_begun(part, before, within)) {
                Ok(()) => (placed, possible) = (placed + 1, possible + 1),
                Err(short) => {
                    possible += usize::from(placed > 0);
                    failed.get_or_insert(short);
                }
            }
        }
        match failed {
            // What takes the place of pods that are gone does not wait for others.
            Some(short) if placed < min && !(is_started && self.places.len() > start) => {
                self.is_cut |= possible >= min;
                Err(short)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether a part has a pod on a node, by what was placed since: where pods go one by one, none
    /// may have found a place.
    fn has_begun(&self, part: GangId, before: usize, within: &Within) -> Result<(), Short> {
        let catalog = self.txn.catalog();
        let row = catalog.gang(part);
        if row.is_composite() || row.placed > 0 || self.places.len() > before {
            return Ok(());
        }
        let first = row.members.first().copied();
        let short = |pod| Short { gang: part, pod, within: within.clone(), expected: None };
        first.map_or(Ok(()), |pod| Err(short(pod)))
    }

    /// Whether all pods of a gang that have to start together are there, or are made by one of it.
    fn is_complete(&self, gang: GangId) -> bool {
        let row = self.txn.catalog().gang(gang);
        if row.is_started() {
            return true;
        }
        if row.is_composite() {
            let complete = row.parts.iter().filter(|part| self.is_complete(**part));
            return complete.count() >= row.min() as usize;
        }
        row.members.len() + self.expected_of(row) >= row.min() as usize
    }

    /// Whether anything was placed of a gang of gangs: nobody would try it again if not.
    pub(super) fn has_moved(&self, gang: GangId, start: Moment) -> Result<(), Short> {
        let catalog = self.txn.catalog();
        if !catalog.gang(gang).is_composite() || self.places.len() > start.places {
            return Ok(());
        }
        let Some(pod) = catalog.waiting_in(gang).next() else { return Ok(()) };
        let gang = catalog.pod(pod).gang.unwrap_or(gang);
        Err(Short { gang, pod, within: self.within.clone(), expected: None })
    }
}
