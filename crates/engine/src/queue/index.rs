//! Parked classes by what they wait for and by what they ask, so that a node that changed is
//! compared with those it could help and with nobody else. No plugin is asked here, and nothing
//! has to be prepared.
//!
//! Classes that wait for the same reasons are a group. In a group there is one list per resource of
//! which all units of its classes find too little, sorted by what a class asks of it: those that a
//! node has enough for are the first of the list. `Reason::Insufficient` always speaks of what the
//! class asks, `Requests::fit`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use framework::{cures, names_object};
use model::{Change, ClassId, Diagnosis, Reason, Rescue, ResourceId};

/// What a node has, as far as amounts go.
pub(crate) struct Room<'a> {
    /// Whether it has as many pods as it may.
    pub(crate) is_full: bool,
    /// What is free of a resource, and what there is of it in all.
    pub(crate) of: &'a dyn Fn(ResourceId) -> (i64, i64),
}

/// The reasons that units of a class wait for and that a node could end, each with whether it is
/// a shortage, or labels, that all of them wait for.
pub(crate) type Waits = Arc<[(Reason, bool)]>;

/// All parked classes.
#[derive(Default)]
pub(crate) struct Index {
    classes: BTreeMap<ClassId, Row>,
    groups: BTreeMap<Waits, Group>,
    /// Classes whose units are others since groups were last brought up to date.
    changed: BTreeSet<ClassId>,
}

/// The parked units of a class.
#[derive(Default)]
struct Row {
    /// How many there are, by rank.
    ranks: BTreeMap<i64, usize>,
    /// How many wait for each reason.
    reasons: BTreeMap<Reason, usize>,
    /// How many could be helped by evictions for which nobody is leaving already.
    idle: usize,
    spot: Option<Spot>,
}

/// Where a class is listed.
#[derive(PartialEq, Eq)]
struct Spot {
    waits: Waits,
    /// The first rank among its units, and the last.
    ranks: (i64, i64),
    /// Whether some could be helped by evictions.
    is_idle: bool,
    /// What it asks, one amount per list of its group.
    asked: Box<[i64]>,
}

/// Classes that wait for the same reasons.
struct Group {
    is_full: bool,
    shortages: Vec<Shortage>,
    /// One list per shortage.
    by_asked: Vec<BTreeSet<(i64, ClassId)>>,
    by_first_rank: BTreeSet<(i64, ClassId)>,
    /// Those with units that could be helped by evictions.
    idle_by_last_rank: BTreeSet<(i64, ClassId)>,
}

/// A resource of which all units of a class find too little.
#[derive(Clone, Copy)]
struct Shortage {
    resource: ResourceId,
    /// Whether they do on nodes that would have enough if they were empty.
    is_within: bool,
    /// Whether they do on nodes that never have enough.
    is_beyond: bool,
}

impl Index {
    pub(super) fn add(&mut self, class: ClassId, rank: i64, diagnosis: &Diagnosis) {
        let row = self.classes.entry(class).or_default();
        *row.ranks.entry(rank).or_default() += 1;
        row.idle += usize::from(is_idle(diagnosis));
        for reason in diagnosis.curable().into_iter().filter(|reason| !names_object(reason)) {
            match row.reasons.get_mut(reason) {
                Some(count) => *count += 1,
                None => _ = row.reasons.insert(reason.clone(), 1),
            }
        }
        self.changed.insert(class);
    }

    pub(super) fn remove(&mut self, class: ClassId, rank: i64, diagnosis: &Diagnosis) {
        let row = self.classes.get_mut(&class).expect("a parked unit is counted under its class");
        row.idle -= usize::from(is_idle(diagnosis));
        uncount(&mut row.ranks, &rank);
        let reasons = diagnosis.curable().into_iter().filter(|reason| !names_object(reason));
        reasons.for_each(|reason| uncount(&mut row.reasons, reason));
        self.changed.insert(class);
    }

    /// Whether all parked units of a class wait for a reason.
    pub(crate) fn all_wait_for(&self, class: ClassId, reason: &Reason) -> bool {
        let count = |row: &Row| row.reasons.get(reason).copied().unwrap_or_default();
        self.classes.get(&class).is_some_and(|row| count(row) == row.units())
    }

    /// The first rank among the parked units of a class.
    pub(crate) fn first_rank(&self, class: ClassId) -> Option<i64> {
        self.classes.get(&class)?.ranks.keys().next().copied()
    }

    /// Lists classes where they belong whose units are others than before; `asked` tells what a
    /// class asks of a resource.
    pub(super) fn catch_up(&mut self, asked: impl Fn(ClassId, ResourceId) -> i64) {
        for class in std::mem::take(&mut self.changed) {
            let Some(row) = self.classes.get_mut(&class) else { continue };
            let (first, last) = (row.ranks.keys().next(), row.ranks.keys().next_back());
            let spot = first.zip(last).map(|(first, last)| {
                let waits = row.waits();
                let asked = shortages(&waits).iter().map(|it| asked(class, it.resource)).collect();
                Spot { waits, ranks: (*first, *last), is_idle: row.idle > 0, asked }
            });
            if row.spot == spot {
                continue;
            }
            if let Some(before) = row.spot.take() {
                let group = self.groups.get_mut(&before.waits);
                let group = group.expect("a class that is listed is in a group");
                group.remove(class, &before);
                if group.by_first_rank.is_empty() {
                    self.groups.remove(&before.waits);
                }
            }
            match spot {
                Some(spot) => {
                    let group = self.groups.entry(spot.waits.clone());
                    group.or_insert_with(|| Group::new(&spot.waits)).insert(class, &spot);
                    row.spot = Some(spot);
                }
                None => _ = self.classes.remove(&class),
            }
        }
    }

    /// The classes that wait for a reason which may be cured, and that find nothing too short of
    /// what all their units find too short elsewhere; with what they wait for.
    pub(crate) fn covered(
        &self,
        may_be_cured: impl Fn(&Reason) -> bool,
        room: &Room<'_>,
    ) -> Vec<(ClassId, &Waits)> {
        let mut covered = Vec::new();
        for (waits, group) in &self.groups {
            if !waits.iter().any(|(reason, _)| may_be_cured(reason)) {
                continue;
            }
            let has_enough = |class: &ClassId| {
                let asked = self.spot(*class).asked.iter();
                let mut shortages = group.shortages.iter().zip(asked);
                shortages.all(|(shortage, asked)| !shortage.is_short(*asked, room))
            };
            let classes = group.candidates(room).into_iter();
            let classes = classes.filter(|class| group.shortages.is_empty() || has_enough(class));
            covered.extend(classes.map(|class| (class, waits)));
        }
        covered
    }

    /// The classes that wait for a reason which may be cured, and that have units for which others
    /// could be evicted from a node, which would have enough for them if it were empty. `last` is
    /// the last rank among the pods that are there: those units are of a better one. It is only
    /// asked for if it matters. `left` is the rank of the pod that left, if one did: whoever is of
    /// a better one could have evicted it, so that its leaving is no news.
    pub(crate) fn outranking(
        &self,
        may_be_cured: impl Fn(&Reason) -> bool,
        room: &Room<'_>,
        left: Option<i64>,
        last: impl Fn() -> Option<i64>,
    ) -> Vec<(ClassId, &Waits)> {
        let mut outranking = Vec::new();
        let first = (left.unwrap_or(i64::MIN), ClassId::at(0));
        for (waits, group) in &self.groups {
            if !waits.iter().any(|(reason, _)| may_be_cured(reason)) {
                continue;
            }
            let would_help = |class: &ClassId| {
                let Spot { ranks: (first, _), asked, .. } = self.spot(*class);
                let mut shortages = group.shortages.iter().zip(asked);
                shortages.all(|(it, asked)| *asked <= (room.of)(it.resource).1.max(0))
                    && last().is_some_and(|last| *first < last)
            };
            let classes = group.idle_by_last_rank.range(first..).map(|(_, class)| *class);
            outranking.extend(classes.filter(would_help).map(|class| (class, waits)));
        }
        outranking
    }

    fn spot(&self, class: ClassId) -> &Spot {
        self.classes[&class].spot.as_ref().expect("a class of a group is listed")
    }
}

impl Row {
    fn units(&self) -> usize {
        self.ranks.values().sum()
    }

    fn waits(&self) -> Waits {
        let units = self.units();
        let of_nodes = self.reasons.iter().filter(|(reason, _)| cures(reason, Change::Added));
        let wait = |(reason, count): (&Reason, &usize)| {
            let is_compared = matches!(
                reason,
                Reason::TooManyPods | Reason::Insufficient { .. } | Reason::NodeAffinity
            );
            (reason.clone(), is_compared && *count == units)
        };
        of_nodes.map(wait).collect()
    }
}

impl Group {
    fn new(waits: &Waits) -> Self {
        let shortages = shortages(waits);
        Self {
            is_full: waits.contains(&(Reason::TooManyPods, true)),
            by_asked: shortages.iter().map(|_| BTreeSet::new()).collect(),
            shortages,
            by_first_rank: BTreeSet::new(),
            idle_by_last_rank: BTreeSet::new(),
        }
    }

    fn insert(&mut self, class: ClassId, spot: &Spot) {
        self.by_first_rank.insert((spot.ranks.0, class));
        if spot.is_idle {
            self.idle_by_last_rank.insert((spot.ranks.1, class));
        }
        for (list, asked) in self.by_asked.iter_mut().zip(&spot.asked) {
            list.insert((*asked, class));
        }
    }

    fn remove(&mut self, class: ClassId, spot: &Spot) {
        self.by_first_rank.remove(&(spot.ranks.0, class));
        self.idle_by_last_rank.remove(&(spot.ranks.1, class));
        for (list, asked) in self.by_asked.iter_mut().zip(&spot.asked) {
            list.remove(&(*asked, class));
        }
    }

    /// The classes for which a node is not too short of one of the resources: of the one that
    /// leaves the fewest. All lists are walked side by side until one of them ends.
    fn candidates(&self, room: &Room<'_>) -> Vec<ClassId> {
        if self.is_full && room.is_full {
            return Vec::new();
        }
        if self.shortages.is_empty() {
            return self.by_first_rank.iter().map(|(_, class)| *class).collect();
        }
        let lists = || self.shortages.iter().zip(&self.by_asked);
        if lists().any(|(shortage, list)| shortage.is_for_all(list, room)) {
            return Vec::new();
        }
        let mut walks: Vec<_> =
            lists().map(|(shortage, list)| (shortage.enough(list, room), Vec::new())).collect();
        loop {
            for (walk, met) in &mut walks {
                match walk.next() {
                    Some(class) => met.push(class),
                    None => return std::mem::take(met),
                }
            }
        }
    }
}

impl Shortage {
    /// Whether a node is too short for a class that asks so much.
    fn is_short(self, asked: i64, room: &Room<'_>) -> bool {
        let (free, offered) = (room.of)(self.resource);
        let is_known = if asked > offered { self.is_beyond } else { self.is_within };
        asked > 0 && asked > free && is_known
    }

    /// Whether a node is too short for all classes of a list; not always found.
    fn is_for_all(self, list: &BTreeSet<(i64, ClassId)>, room: &Room<'_>) -> bool {
        let least = list.first().map_or(0, |(asked, _)| *asked);
        self.is_within && self.is_beyond && self.is_short(least, room)
    }

    /// The classes of a list for which a node is not too short.
    fn enough<'a>(
        self,
        list: &'a BTreeSet<(i64, ClassId)>,
        room: &Room<'_>,
    ) -> impl Iterator<Item = ClassId> + use<'a> {
        let last = ClassId::at(u32::MAX as usize);
        let (free, offered) = (room.of)(self.resource);
        // Whoever asks for nothing is content with less than nothing.
        let free = (free.max(0), last);
        let offered = (offered.max(0), last).max(free);
        let within = (!self.is_within).then(|| list.range((above(free), upto(offered))));
        let beyond = (!self.is_beyond).then(|| list.range((above(offered), Bound::Unbounded)));
        let enough = list.range(..=free).chain(within.into_iter().flatten());
        enough.chain(beyond.into_iter().flatten()).map(|(_, class)| *class)
    }
}

/// The resources of which all units find too little.
fn shortages(waits: &Waits) -> Vec<Shortage> {
    let mut shortages: Vec<Shortage> = Vec::new();
    for (reason, is_short) in waits.iter() {
        let Reason::Insufficient { resource, is_beyond_node } = *reason else { continue };
        if !is_short {
            continue;
        }
        let (is_within, is_beyond) = (!is_beyond_node, is_beyond_node);
        match shortages.iter_mut().find(|other| other.resource == resource) {
            Some(other) => {
                other.is_within |= is_within;
                other.is_beyond |= is_beyond;
            }
            None => shortages.push(Shortage { resource, is_within, is_beyond }),
        }
    }
    shortages
}

/// Whether a unit could be helped by evictions, and nobody is leaving for it already.
pub(super) fn is_idle(diagnosis: &Diagnosis) -> bool {
    !diagnosis.rescue.is_making_room() && diagnosis.rescue != Rescue::NotPreempting
}

fn above(bound: (i64, ClassId)) -> Bound<(i64, ClassId)> {
    Bound::Excluded(bound)
}

fn upto(bound: (i64, ClassId)) -> Bound<(i64, ClassId)> {
    Bound::Included(bound)
}

/// Counts one less.
fn uncount<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    let count = counts.get_mut(key).expect("a parked unit is counted");
    *count -= 1;
    if *count == 0 {
        counts.remove(key);
    }
}
