//! The part of the account that is about gangs.

use std::collections::BTreeMap;

use model::{Event, Fact, GangClaim, PodFacts, PodKey, PodRest};

use super::super::members::makes_others;
use super::super::roster::{Gang, GangKey, Roster, SeatFacts};
use super::super::rules;
use super::super::trees::{Top, Tree, above};
use super::super::volumes;
use super::{Known, Ledger};

/// Room that is kept for pods which do not exist yet.
#[derive(Default)]
pub(super) struct Seats {
    all: Vec<SeatFacts>,
    of_gang: BTreeMap<GangKey, usize>,
}

impl Seats {
    fn of(all: Vec<SeatFacts>) -> Self {
        let mut of_gang: BTreeMap<GangKey, usize> = BTreeMap::new();
        all.iter().for_each(|seat| *of_gang.entry(seat.gang.clone()).or_default() += 1);
        Self { all, of_gang }
    }
}

impl Ledger {
    /// Takes in how far a gang is.
    pub(super) fn note_gang(&mut self, key: GangKey) {
        let gang = Gang::of(self, &key);
        let is_found = self.roster.found.contains(&key);
        let top = gang.top.clone();
        let is_gang = gang.min().is_some();
        let is_up = match (&top, is_gang) {
            (Top::Composite(_) | Top::Unclear, _) => false,
            (Top::Itself, true) => gang.is_up() || is_found && gang.seems_mended(),
            (Top::Itself, false) => gang.has_begun_one_by_one(),
        };
        let is_reached = gang.is_reached || is_up;
        let is_sure = gang.is_surely_reached || is_up;
        let is_bound = !gang.members.bound.is_empty();
        // Composites without a minimum may have one later, and have begun by then.
        let begun = if gang.placed() > 0 { above(&self.roster, &gang) } else { Vec::new() };
        self.roster.reached.extend(is_reached.then(|| key.clone()));
        if is_sure {
            self.roster.unsure.remove(&key);
        }
        if let Top::Composite(root) = top {
            return self.note_tree(root, is_found);
        }
        self.roster.blurred.extend(begun);
        if is_gang && top == Top::Itself && is_bound && !is_reached {
            self.roster.open.entry(key).or_insert(self.numbers);
        } else {
            self.roster.open.remove(&key);
        }
    }

    /// Takes in how far a gang of gangs is.
    fn note_tree(&mut self, root: GangKey, is_found: bool) {
        if is_found {
            self.roster.blurred.insert(root.clone());
        }
        let Some(tree) = Tree::of(self, &root) else { return };
        let is_reached = tree.is_up() || tree.is_started || self.roster.reached.contains(&root);
        let is_up = |gang: &&&Gang<'_>| gang.is_up() || gang.has_begun_one_by_one();
        let (gangs, has_bound) = (tree.gangs(), tree.has_bound());
        let is_certain = tree.is_up() || tree.is_started;
        let up: Vec<GangKey> = gangs.iter().filter(is_up).map(|gang| gang.key.clone()).collect();
        for key in gangs.iter().map(|gang| gang.key.clone()).collect::<Vec<_>>() {
            self.roster.open.remove(&key);
        }
        if is_certain {
            self.roster.faded.remove(&root);
        }
        let is_faded = self.roster.faded.contains(&root);
        let is_blurred = is_faded || self.roster.blurred.contains(&root);
        self.note_parts(up, is_reached && !is_faded, is_blurred);
        if is_reached {
            self.roster.open.remove(&root);
            self.roster.reached.insert(root);
        } else if has_bound {
            self.roster.open.entry(root).or_insert(self.numbers);
        } else {
            self.roster.open.remove(&root);
        }
    }

    /// Takes in that parts of a gang of gangs have enough pods on nodes. Without it they have not
    /// started: they are taken back if it does not get enough parts in time.
    fn note_parts(&mut self, up: Vec<GangKey>, is_reached: bool, is_blurred: bool) {
        let Roster { reached, unsure, .. } = &mut self.roster;
        for key in up {
            if is_reached {
                unsure.remove(&key);
                reached.insert(key);
            } else if is_blurred && reached.insert(key.clone()) {
                unsure.insert(key);
            }
        }
    }

    /// Takes in what an object says of gangs.
    pub(super) fn apply_group(&mut self, event: &Event) {
        let is_same = matches!(event, Event::Seen(Fact::PodGroup(facts))
            if self.roster.says_nothing_new(facts));
        if !is_same {
            self.blur();
        }
        self.roster.apply(event);
        if !is_same {
            self.blur();
            self.roster.fade();
        }
        let keys: Vec<GangKey> = self.roster.keys().cloned().collect();
        keys.into_iter().for_each(|key| self.note_gang(key));
    }

    /// Takes in that gangs of gangs change, as they were and as they are: of those that have pods
    /// on nodes it is not known any more how far they were.
    fn blur(&mut self) {
        if !self.roster.has_composites() {
            return;
        }
        let keys: Vec<GangKey> = self.roster.keys().cloned().collect();
        for key in keys {
            let gang = Gang::of(self, &key);
            let has_begun = gang.placed() > 0;
            let Top::Composite(root) = gang.top else { continue };
            self.roster.open.remove(&root);
            if has_begun {
                self.roster.blurred.insert(root);
            }
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
        if self.seats.all == seats {
            return;
        }
        for seat in std::mem::replace(&mut self.seats, Seats::of(seats)).all {
            self.open(&seat.node).seats.clear();
            self.tidy(&seat.node);
        }
        let mut makers: BTreeMap<GangKey, Option<PodFacts>> = BTreeMap::new();
        for seat in self.seats.all.clone() {
            // It is known by what the pod is known by that will make it.
            let maker = makers.entry(seat.gang.clone()).or_insert_with(|| {
                let gang = Gang::of(self, &seat.gang);
                let mut pods = gang.pods().map(Known::facts);
                pods.find(|facts| makes_others(facts)).cloned()
            });
            let Some(maker) = maker else { continue };
            let key = PodKey { uid: "a seat".into(), ..maker.key.clone() };
            // Nobody is important enough to take it.
            let rest = PodRest { priority: i32::MAX, gates: Box::default(), ..maker.rest.clone() };
            let facts = PodFacts { key, spec: seat.spec.clone(), rest, ..maker.clone() };
            self.place(&seat.node).seats.push(facts);
        }
    }

    /// Whether room was only taken since a gang was last tried.
    pub(crate) fn has_only_lost_room(&self, key: &GangKey) -> bool {
        let Some(tried) = self.roster.tried.get(key) else { return false };
        let is_changed = self.nodes().any(|(_, place)| place.version > *tried);
        is_changed && !self.nodes().any(|(_, place)| place.opened > *tried)
    }

    /// Whether nothing but a missing node keeps a pod from being placed.
    pub(crate) fn may_be_placed(&self, facts: &PodFacts) -> bool {
        let claim = facts.gang.as_deref();
        let is_over = |name: &str| self.is_gang_over(&facts.key.namespace, name);
        // Of a gang it counts whether it has begun.
        let is_next = |claim: &GangClaim| {
            let mut after = claim.after.iter();
            !claim.name.is_empty() || after.all(|name| is_over(name))
        };
        facts.rest.gates.is_empty()
            && rules::unsupported(&facts.spec).is_none()
            && volumes::refusal(self, facts).is_none()
            && claim.is_none_or(|claim| claim.fault.is_none() && is_next(claim))
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
        let all = self.roster.open.iter();
        let gangs = all.filter(|(key, _)| self.roster.is_gang(key));
        gangs.map(|(key, opened)| (Gang::of(self, key), *opened))
    }

    /// The same for gangs of gangs of which that is known.
    pub(crate) fn open_trees(&self) -> impl Iterator<Item = (Tree<'_>, &GangKey, u64)> {
        let is_clear =
            |key: &GangKey| !self.roster.is_gang(key) && !self.roster.blurred.contains(key);
        let all = self.roster.open.iter().filter(move |(key, _)| is_clear(key));
        all.filter_map(|(key, opened)| Some((Tree::of(self, key)?, key, *opened)))
    }

    /// Room that is kept for pods which do not exist yet.
    pub(crate) fn seats(&self) -> &[SeatFacts] {
        &self.seats.all
    }

    /// For how many pods of a gang room is kept.
    pub(crate) fn seats_of(&self, key: &GangKey) -> usize {
        self.seats.of_gang.get(key).copied().unwrap_or(0)
    }
}
