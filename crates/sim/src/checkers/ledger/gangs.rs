//! The part of the account that is about gangs.

use model::{PodFacts, PodKey};

use super::super::roster::{Gang, GangKey, Roster, SeatFacts, is_maker};
use super::Ledger;

impl Ledger {
    /// Takes in how far a gang is.
    pub(super) fn note_gang(&mut self, key: GangKey) {
        let gang = Gang::of(self, &key);
        let is_found = self.roster.found.contains(&key);
        let is_gang = gang.min().is_some();
        let is_open = is_gang && !gang.is_reached && gang.bound().next().is_some();
        if is_gang && (gang.is_up() || is_found && gang.seems_mended()) {
            self.roster.open.remove(&key);
            self.roster.reached.insert(key);
        } else if is_open {
            self.roster.open.entry(key).or_insert(self.numbers);
        } else {
            self.roster.open.remove(&key);
        }
    }

    /// Takes in that pods are asked to go.
    pub(crate) fn ask(&mut self, uids: &[Box<str>]) {
        for uid in uids {
            self.pods.get_mut(uid).into_iter().for_each(|pod| pod.is_asked = true);
        }
    }

    /// Takes in for which pods room is kept that do not exist yet.
    pub(crate) fn set_seats(&mut self, seats: Vec<SeatFacts>) {
        if self.seats == seats {
            return;
        }
        for seat in std::mem::replace(&mut self.seats, seats) {
            self.place(&seat.node).seats.clear();
            self.tidy(&seat.node);
        }
        for seat in self.seats.clone() {
            // It is known by what the pod is known by that will make it.
            let gang = Gang::of(self, &seat.gang);
            let maker = gang.members.iter().find(|known| is_maker(known));
            let Some(maker) = maker.map(|known| known.facts()) else { continue };
            let key = PodKey { uid: "a seat".into(), ..maker.key.clone() };
            // Nobody is important enough to take it.
            let (spec, priority) = (seat.spec.clone(), i32::MAX);
            let facts = PodFacts { key, spec, priority, gates: Box::default(), ..maker.clone() };
            self.place(&seat.node).seats.push(facts);
        }
    }

    pub(crate) fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Whether a gang ran to a good end.
    pub(crate) fn is_gang_over(&self, namespace: &str, name: &str) -> bool {
        self.roster.is_over(&(namespace.into(), name.into()))
    }

    /// Gangs that have pods on nodes, and never had enough; with a number that is another one
    /// each time the first of them comes to a node.
    pub(crate) fn open_gangs(&self) -> impl Iterator<Item = (Gang<'_>, u64)> {
        self.roster.open.iter().map(|(key, opened)| (Gang::of(self, key), *opened))
    }

    /// Room that is kept for pods which do not exist yet.
    pub(crate) fn seats(&self) -> &[SeatFacts] {
        &self.seats
    }
}
