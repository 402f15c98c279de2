//! What would help a gang for which there is no room.
//!
//! Nodes are emptied in thought, the emptiest first and twice as many each time, until the gang
//! fits: mostly a few are enough, and a large cluster is not looked through.

use std::collections::BTreeMap;

use model::{ClassId, GangId, NodeId, Occupant, Outlook, PodId};

use super::sizes::places;
use super::{Arranger, Seat, WORK_MAX, stand_in};
use crate::profile_of;
use crate::trial::view;

/// How many places are looked for before it is said that some emptied nodes are not enough.
const WORK_SOME: usize = 256;

/// Pods of a gang that need a place and are of one class.
struct Shape {
    /// One of them, or the one that makes them.
    of: PodId,
    occupant: Occupant,
    pods: usize,
}

/// What is emptied in thought.
struct Emptied<'a> {
    /// In this order.
    nodes: &'a [NodeId],
    /// Only pods of a lower priority go; all of them if there is none.
    below: Option<i32>,
    /// Room that is kept for pods of other gangs.
    seats: &'a BTreeMap<NodeId, Vec<Occupant>>,
}

impl Arranger<'_> {
    /// What would help a gang for which there is no room. `priority` is its own.
    pub(crate) fn outlook(&mut self, gang: GangId, priority: i32) -> Outlook {
        let shapes = self.shapes(gang);
        let Some(nodes) = self.candidates(gang, &shapes) else { return Outlook::Never };
        let mut seats: BTreeMap<NodeId, Vec<Occupant>> = BTreeMap::new();
        let kept = self.gangs.kept.iter().filter(|(own, _)| **own != gang);
        for Seat { occupant, node } in kept.flat_map(|(_, kept)| &kept.seats) {
            seats.entry(*node).or_default().push(*occupant);
        }
        let lowest = self.txn.catalog().lowest_placed_priority();
        if lowest.is_some_and(|lowest| lowest < priority) {
            let emptied = Emptied { nodes: &nodes, below: Some(priority), seats: &seats };
            if self.enough(gang, &emptied).is_some() {
                return Outlook::AfterPreemption;
            }
        }
        let emptied = Emptied { nodes: &nodes, below: None, seats: &seats };
        self.enough(gang, &emptied).map_or(Outlook::Never, Outlook::WhenFree)
    }

    /// The pods of a gang that need a place, by class.
    fn shapes(&self, gang: GangId) -> BTreeMap<ClassId, Shape> {
        let catalog = self.txn.catalog();
        let waiting = catalog.waiting_in(gang).into_iter();
        let waiting = waiting.map(|pod| (pod, catalog.pod(pod).occupant()));
        let mut shapes = BTreeMap::new();
        for (of, occupant) in self.expected.iter().copied().chain(waiting) {
            let shape = shapes.entry(occupant.class).or_insert(Shape { of, occupant, pods: 0 });
            shape.pods += 1;
        }
        shapes
    }

    /// Nodes that have pods and could take some of a gang if they were empty, those with the fewest
    /// pods first. Nothing if all nodes would not do, however empty they are.
    fn candidates(
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
            let board = self.boards.of(*class, profile, catalog);
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
        let row = catalog.gang(gang);
        let needed = if row.is_composite() { 0 } else { row.min().saturating_sub(row.placed) };
        let all = room.iter().fold(0usize, |sum, room| sum.saturating_add(*room));
        if fitting.min(all) < needed as usize {
            return None;
        }
        let pods_on = |node: NodeId| self.txn.usage().load(node).pods;
        let is_helpful = |(room, node): &(&usize, &NodeId)| **room > 0 && pods_on(**node) > 0;
        let nodes = room.iter().zip(nodes).filter(is_helpful).map(|(_, node)| *node);
        let mut nodes: Vec<NodeId> = nodes.collect();
        nodes.sort_by_key(|node| (pods_on(*node), *node));
        Some(nodes)
    }

    /// How many nodes have to be emptied for a gang to fit; nothing if all are not enough.
    fn enough(&mut self, gang: GangId, emptied: &Emptied<'_>) -> Option<usize> {
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
    fn empty(&mut self, gang: GangId, emptied: &Emptied<'_>, range: std::ops::Range<usize>) {
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
    fn fits(&mut self, gang: GangId, limit: usize) -> bool {
        let start = self.moment();
        let fits = self.arrange(gang, limit).is_ok();
        self.back_to(start);
        fits
    }
}
