//! What would help a gang for which there is no room.
//!
//! Nodes are emptied in thought, the emptiest first and twice as many each time, until the gang
//! fits: mostly a few are enough, and a large cluster is not looked through. That it can never fit
//! is said only where it is certain: by counting, or because every way was tried.

use std::collections::{BTreeMap, BTreeSet};

use model::{ClassId, GangId, NodeId, Occupant, Outlook, PodId, ResourceId, Seat};

use super::sizes::{amounts, places};
use super::{Arranger, WORK_MAX, stand_in};
use crate::profile_of;
use crate::trial::view;

/// How many places are looked for before it is said that some emptied nodes are not enough.
pub(super) const WORK_SOME: usize = 256;

/// Pods of a gang that need a place and are of one class.
pub(super) struct Shape {
    /// One of them, or the one that makes them.
    pub(super) of: PodId,
    pub(super) occupant: Occupant,
    pods: usize,
}

/// What is emptied in thought.
pub(super) struct Emptied<'a> {
    /// In this order.
    pub(super) nodes: &'a [NodeId],
    /// Only pods of a lower priority go; all of them if there is none.
    pub(super) below: Option<i32>,
    /// Room that is kept for pods of other gangs.
    pub(super) seats: &'a BTreeMap<NodeId, Vec<Occupant>>,
}

impl Arranger<'_> {
    /// What would help a gang for which there is no room. `priority` is its own.
    pub(crate) fn outlook(&mut self, gang: GangId, priority: i32) -> Outlook {
        let shapes = self.shapes(gang);
        let Some(nodes) = self.candidates(gang, &shapes) else { return Outlook::Never };
        let seats = self.seats_of_others(gang);
        let lowest = self.txn.catalog().lowest_placed_priority();
        if lowest.is_some_and(|lowest| lowest < priority) {
            let emptied = Emptied { nodes: &nodes, below: Some(priority), seats: &seats };
            if self.enough(gang, &emptied).is_some() {
                return Outlook::AfterPreemption;
            }
        }
        let emptied = Emptied { nodes: &nodes, below: None, seats: &seats };
        let enough = self.enough(gang, &emptied);
        enough.map_or_else(|| self.hopeless(&shapes), Outlook::WhenFree)
    }

    /// What to say of a gang that did not fit when all nodes were emptied last.
    pub(super) fn hopeless(&self, shapes: &BTreeMap<ClassId, Shape>) -> Outlook {
        let catalog = self.txn.catalog();
        // Room that is proposed for others was left to them.
        if self.txn.usage().holds().count() > 0 {
            return Outlook::Unknown;
        }
        // Pods that must be with others may need pods that were taken away.
        let needs_others = |class: &ClassId| {
            let spec = &catalog.class(*class).spec;
            !spec.near.is_empty() || spec.spread.iter().any(|spread| spread.is_required)
        };
        let is_open = self.is_cut || shapes.keys().any(needs_others);
        if is_open { Outlook::NotFound } else { Outlook::Never }
    }

    /// Room that is kept for pods of other gangs.
    pub(super) fn seats_of_others(&self, gang: GangId) -> BTreeMap<NodeId, Vec<Occupant>> {
        let mut seats: BTreeMap<NodeId, Vec<Occupant>> = BTreeMap::new();
        let catalog = self.txn.catalog();
        let others = catalog.gangs().filter(|own| *own != gang);
        let kept = others.filter_map(|own| catalog.gang(own).progress.kept.as_ref());
        for Seat { occupant, node } in kept.flat_map(|kept| &kept.seats) {
            seats.entry(*node).or_default().push(*occupant);
        }
        seats
    }

    /// The pods of a gang that need a place, by the class they are taken for.
    pub(super) fn shapes(&self, gang: GangId) -> BTreeMap<ClassId, Shape> {
        let catalog = self.txn.catalog();
        let waiting = catalog.waiting_in(gang);
        let waiting = waiting.map(|pod| (pod, self.occupant(pod)));
        let mut shapes = BTreeMap::new();
        for (of, occupant) in self.expected.iter().copied().chain(waiting) {
            let shape = shapes.entry(occupant.class).or_insert(Shape { of, occupant, pods: 0 });
            shape.pods += 1;
        }
        shapes
    }

    /// Nodes that have pods and could take some of a gang if they were empty, those with the fewest
    /// pods first. Nothing if all nodes would not do, however empty they are.
    pub(super) fn candidates(
        &mut self,
        gang: GangId,
        shapes: &BTreeMap<ClassId, Shape>,
    ) -> Option<Vec<NodeId>> {
        let catalog = self.txn.catalog();
        let nodes = catalog.nodes();
        let mut room = vec![0; nodes.len()];
        let mut fitting = 0;
        for (class, shape) in shapes {
            let pod = stand_in(catalog.pod(shape.of), shape.occupant);
            let profile = profile_of(self.profiles, catalog, *class);
            let board = self.boards.of(*class, profile, catalog, self.txn.usage());
            board.refresh(view(&self.txn, &pod));
            let mut most = 0;
            for (room, node) in room.iter_mut().zip(nodes) {
                if board.is_allowed(*node) {
                    let places = places(catalog, *class, *node);
                    most = places.max(most);
                    *room = places.max(*room);
                }
            }
            fitting += if most > 0 { shape.pods } else { 0 };
        }
        let needed = self.needed(gang);
        let all = room.iter().fold(0usize, |sum, room| sum.saturating_add(*room));
        let allowed = room.iter().zip(nodes).filter(|(room, _)| **room > 0).map(|(_, node)| *node);
        let allowed: Vec<NodeId> = allowed.collect();
        if fitting.min(all) < needed || !self.is_enough_in_all(shapes, needed, &allowed) {
            return None;
        }
        let pods_on = |node: NodeId| self.txn.usage().load(node).pods;
        let is_helpful = |(room, node): &(&usize, &NodeId)| **room > 0 && pods_on(**node) > 0;
        let nodes = room.iter().zip(nodes).filter(is_helpful).map(|(_, node)| *node);
        let mut nodes: Vec<NodeId> = nodes.collect();
        nodes.sort_by_key(|node| (pods_on(*node), *node));
        Some(nodes)
    }

    /// How many more pods of a gang need a place at least.
    fn needed(&self, gang: GangId) -> usize {
        let row = self.txn.catalog().gang(gang);
        if !row.is_composite() {
            return row.min().saturating_sub(row.placed) as usize;
        }
        let mut parts: Vec<usize> = row.parts.iter().map(|part| self.needed(*part)).collect();
        parts.sort_unstable();
        parts.iter().take(row.min() as usize).sum()
    }

    /// Whether nodes together have as much of every resource as the smallest pods of a gang ask
    /// for, of which `needed` need a place.
    fn is_enough_in_all(
        &self,
        shapes: &BTreeMap<ClassId, Shape>,
        needed: usize,
        nodes: &[NodeId],
    ) -> bool {
        let catalog = self.txn.catalog();
        let asked = |class: &ClassId| amounts(&catalog.class(*class).requests.fit);
        let resources: BTreeSet<ResourceId> =
            shapes.keys().flat_map(asked).map(|(resource, _)| resource).collect();
        resources.into_iter().all(|resource| {
            let of = |class: &ClassId| catalog.class(*class).requests.fit.of(resource).max(0);
            let mut sizes: Vec<(i64, usize)> =
                shapes.iter().map(|(class, shape)| (of(class), shape.pods)).collect();
            sizes.sort_unstable();
            let (mut left, mut least) = (needed, 0i64);
            for (size, pods) in sizes {
                let count = i64::try_from(pods.min(left)).unwrap_or(i64::MAX);
                least = least.saturating_add(size.saturating_mul(count));
                left -= pods.min(left);
            }
            let offers = nodes.iter().map(|node| catalog.offer(*node).amounts.of(resource));
            offers.fold(0, i64::saturating_add) >= least
        })
    }

    /// How many nodes have to be emptied for a gang to fit; nothing if all are not enough.
    pub(super) fn enough(&mut self, gang: GangId, emptied: &Emptied<'_>) -> Option<usize> {
        let all = emptied.nodes.len();
        let start = self.moment();
        let (mut too_few, mut enough, mut before) = (0, all.min(1), start);
        loop {
            self.empty(gang, emptied, too_few..enough);
            let is_all = enough == all;
            let fits = self.fits(gang, WORK_SOME) || is_all && self.fits(gang, WORK_MAX);
            if !fits && is_all {
                self.back_to(start);
                return None;
            }
            if fits {
                break;
            }
            (too_few, before) = (enough, self.moment());
            enough = (enough * 2).min(all);
        }
        self.back_to(before);
        while too_few + 1 < enough {
            let middle = too_few.midpoint(enough);
            self.empty(gang, emptied, too_few..middle);
            if self.fits(gang, WORK_SOME) {
                enough = middle;
                self.back_to(before);
            } else {
                (too_few, before) = (middle, self.moment());
            }
        }
        self.back_to(start);
        Some(enough)
    }

    /// Takes what is not the gang's own from some of the nodes.
    pub(super) fn empty(
        &mut self,
        gang: GangId,
        emptied: &Emptied<'_>,
        range: std::ops::Range<usize>,
    ) {
        let catalog = self.txn.catalog();
        for node in &emptied.nodes[range] {
            for pod in catalog.pods_on(*node) {
                let pod = catalog.pod(*pod);
                let is_own = pod.gang.is_some_and(|own| catalog.root_of(own) == gang);
                if !is_own && emptied.below.is_none_or(|below| pod.priority < below) {
                    self.txn.evict(pod.occupant(), *node);
                }
            }
            // Room that is kept is nobody's.
            let seats = emptied.seats.get(node).filter(|_| emptied.below.is_none());
            for occupant in seats.into_iter().flatten() {
                self.txn.evict(*occupant, *node);
            }
        }
    }

    /// Whether a gang fits, found out with so much work.
    pub(super) fn fits(&mut self, gang: GangId, limit: usize) -> bool {
        let start = self.moment();
        let fits = self.arrange(gang, limit).is_ok();
        self.back_to(start);
        fits
    }
}
