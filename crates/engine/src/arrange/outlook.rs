//! What would help a gang for which there is no room.
//!
//! Nodes are emptied in thought, the emptiest first and twice as many each time, until the gang
//! fits: mostly a few are enough, and a large cluster is not looked through. That it can never fit
//! is said only where it is certain: by counting, or because every way was tried.

use std::collections::{BTreeMap, BTreeSet};

use framework::View;
use model::{ClassId, GangId, Hold, HoldOwner, NodeId, Occupant, Outlook, PodId, ResourceId};

use super::sizes::amounts;
use super::{Arranger, WORK_MAX};
use crate::profile_of;

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
    pub(super) nodes: &'a mut Order,
    /// Only pods of a lower priority go; all of them if there is none.
    pub(super) below: Option<i32>,
}

/// How many nodes are put in order at a time.
const ORDERED_MIN: usize = 256;

/// Nodes with the fewest pods first; in order only as far as somebody asked, since mostly a few are
/// enough.
pub(super) struct Order {
    nodes: Vec<(i64, NodeId)>,
    sorted: usize,
}

impl Order {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The first so many of them.
    fn first(&mut self, count: usize) -> &[(i64, NodeId)] {
        if count > self.sorted {
            let rest = &mut self.nodes[self.sorted..];
            let more = (count - self.sorted).max(ORDERED_MIN).min(rest.len());
            if more < rest.len() {
                rest.select_nth_unstable(more);
            }
            rest[..more].sort_unstable();
            self.sorted += more;
        }
        &self.nodes[..count]
    }
}

impl Arranger<'_> {
    /// What would help a gang for which there is no room. `priority` is its own.
    pub(crate) fn outlook(&mut self, gang: GangId, priority: i32) -> Outlook {
        let shapes = self.shapes(gang);
        let Some(mut nodes) = self.candidates(gang, &shapes) else { return Outlook::Never };
        let lowest = self.txn.catalog().lowest_placed_priority();
        if lowest.is_some_and(|lowest| lowest < priority) {
            let mut emptied = Emptied { nodes: &mut nodes, below: Some(priority) };
            if self.enough(gang, &mut emptied).is_some() {
                return Outlook::AfterPreemption;
            }
        }
        let mut emptied = Emptied { nodes: &mut nodes, below: None };
        let enough = self.enough(gang, &mut emptied);
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
    ) -> Option<Order> {
        let catalog = self.txn.catalog();
        let mut room = vec![0; catalog.node_places()];
        let mut fitting = 0;
        for (class, shape) in shapes {
            let profile = profile_of(self.profiles, catalog, *class);
            let board = self.boards.of(*class, profile, catalog, self.txn.usage());
            let tags = shape.occupant.tags;
            let view = View { catalog, usage: self.txn.usage(), tags, gang: Some(gang) };
            let mut most = 0;
            for (room, places) in room.iter_mut().zip(board.capacities(view, *class)) {
                most = most.max(*places);
                *room = (*places).max(*room);
            }
            fitting += if most > 0 { shape.pods } else { 0 };
        }
        let needed = self.needed(gang);
        let all = room.iter().fold(0usize, |sum, room| sum.saturating_add(*room as usize));
        let allowed = || (0..).map(NodeId::at).zip(&room).filter(|(_, room)| **room > 0);
        let allowed = || allowed().map(|(node, _)| node);
        if fitting.min(all) < needed || !self.is_enough_in_all(shapes, needed, allowed) {
            return None;
        }
        let pods_on = |node: NodeId| (self.txn.usage().load(node).pods, node);
        let nodes = allowed().map(pods_on).filter(|(pods, _)| *pods > 0);
        Some(Order { nodes: nodes.collect(), sorted: 0 })
    }

    /// How many more pods of a gang need a place at least. One that runs may lack more than wait.
    pub(super) fn needed(&self, gang: GangId) -> usize {
        let row = self.txn.catalog().gang(gang);
        if !row.is_composite() {
            return row.lacking().min(row.waiting() + self.expected.len());
        }
        let mut parts: Vec<usize> = row.parts.iter().map(|part| self.needed(*part)).collect();
        parts.sort_unstable();
        parts.iter().take(row.min() as usize).sum()
    }

    /// Whether nodes together have as much of every resource as the smallest pods of a gang ask
    /// for, of which `needed` need a place.
    fn is_enough_in_all<I: Iterator<Item = NodeId>>(
        &self,
        shapes: &BTreeMap<ClassId, Shape>,
        needed: usize,
        nodes: impl Fn() -> I,
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
            // Mostly a few nodes have as much.
            let mut sum = 0i64;
            let mut offers = nodes().map(|node| catalog.offer(node).amounts.of(resource).max(0));
            least <= 0
                || offers.any(|offer| {
                    sum = sum.saturating_add(offer);
                    sum >= least
                })
        })
    }

    /// How many nodes have to be emptied for a gang to fit; nothing if all are not enough.
    pub(super) fn enough(&mut self, gang: GangId, emptied: &mut Emptied<'_>) -> Option<usize> {
        let all = emptied.nodes.len();
        let start = self.moment();
        let (mut too_few, mut enough, mut before) = (0, all.min(1), start);
        loop {
            self.empty(gang, emptied, too_few..enough);
            let is_all = enough == all;
            // What is said of a gang that does not fit then depends on how it was searched for.
            self.is_thorough = is_all;
            let fits = self.fits(gang, WORK_SOME) || is_all && self.fits(gang, WORK_MAX);
            self.is_thorough = false;
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
        emptied: &mut Emptied<'_>,
        range: std::ops::Range<usize>,
    ) {
        let catalog = self.txn.catalog();
        for (_, node) in &emptied.nodes.first(range.end)[range.start..] {
            for id in catalog.pods_on(*node) {
                let pod = catalog.pod(*id);
                let is_own = pod.gang.is_some_and(|own| catalog.root_of(own) == gang);
                if !is_own && emptied.below.is_none_or(|below| pod.rest.priority < below) {
                    self.txn.evict(pod.occupant(*id), *node);
                }
            }
            // Room that is kept for other gangs is nobody's.
            if emptied.below.is_none() {
                let kept = self.txn.usage().holds().charged_on(*node).iter().copied();
                let of_others = kept.filter(|hold| hold.owner != HoldOwner::Gang(gang));
                let of_others: Vec<Hold> = of_others.collect();
                of_others.into_iter().for_each(|hold| self.txn.release(hold));
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
