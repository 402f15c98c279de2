//! Unlike pods of a gang that have places, closer to each other: moved one by one as long as that
//! helps, then placed in every way that may be better, as far as the work allows.

use model::{FabricId, NodeId, PodId};

use crate::arrange::{Arranger, DEEP_MAX};
use crate::cycle::Within;

/// How much work each of the two ways is worth.
const WORK_CLOSER: usize = 256;

/// The sum of the distances of all pairs, and the places.
type Best = (usize, Vec<(PodId, NodeId)>);

/// What a search is about.
struct Search<'a> {
    fabric: FabricId,
    /// The first of the places that count.
    since: usize,
    within: &'a Within,
    /// How much work may be done by its end.
    end: usize,
}

impl Arranger<'_> {
    /// How far two nodes are from each other: 0 for the same, 1 if they share a domain of the
    /// tightest level, and so on.
    fn distance(&self, fabric: FabricId, one: NodeId, other: NodeId) -> usize {
        if one == other {
            return 0;
        }
        let fabric = self.txn.catalog().fabric(fabric);
        let mut levels = fabric.path(one).iter().zip(fabric.path(other));
        let shared = levels.position(|(one, other)| one.is_some() && one == other);
        shared.unwrap_or(fabric.levels().len()) + 1
    }

    /// How far a node is from all pods that were placed since, but for one of them.
    fn distances(&self, fabric: FabricId, since: usize, but: Option<usize>, node: NodeId) -> usize {
        let others = self.places.iter().enumerate().skip(since);
        let others = others.filter(|(at, _)| Some(*at) != but);
        others.map(|(_, (_, other))| self.distance(fabric, node, *other)).sum()
    }

    /// The sum of the distances of all pairs of pods that were placed since.
    pub(super) fn spread(&self, fabric: FabricId, since: usize) -> usize {
        let all = since..self.places.len();
        let sums = all.map(|at| self.distances(fabric, at, Some(at), self.places[at].1));
        sums.sum()
    }

    /// Moves pods that were placed since closer to each other within a set of nodes.
    pub(super) fn bring_closer(&mut self, fabric: FabricId, since: usize, within: &Within) {
        let catalog = self.txn.catalog();
        // What is given to claims of pods is given for their nodes.
        let has_volumes = |pod: PodId| catalog.class(catalog.pod(pod).class).has_volumes();
        let places = &self.places[since..];
        if places.len() > DEEP_MAX || places.iter().any(|(pod, _)| has_volumes(*pod)) {
            return;
        }
        let end = self.work + WORK_CLOSER;
        let mut has_moved = true;
        while has_moved && self.work <= end {
            has_moved = false;
            for at in since..self.places.len() {
                has_moved |= self.work <= end && self.move_one(fabric, since, at, within);
            }
        }
        let mut best = (self.spread(fabric, since), self.places[since..].to_vec());
        let pods: Vec<PodId> = best.1.iter().map(|(pod, _)| *pod).collect();
        for (pod, node) in self.places.split_off(since) {
            self.txn.evict(self.occupant(pod), node);
        }
        let start = self.txn.savepoint();
        let search = Search { fabric, since, within, end: self.work + WORK_CLOSER };
        self.closest(&search, &pods, 0, &mut best);
        self.txn.back_to(start);
        for (pod, node) in best.1 {
            self.txn.place(self.occupant(pod), node);
            self.places.push((pod, node));
        }
    }

    /// Moves a pod to where it is closest to the others.
    fn move_one(&mut self, fabric: FabricId, since: usize, at: usize, within: &Within) -> bool {
        let (pod, from) = self.places[at];
        self.txn.evict(self.occupant(pod), from);
        let nodes = self.fitting(pod, within);
        let far = |node: &NodeId| self.distances(fabric, since, Some(at), *node);
        let best = nodes.into_iter().min_by_key(|node| (far(node), *node));
        let to = best.filter(|best| far(best) < far(&from)).unwrap_or(from);
        self.txn.place(self.occupant(pod), to);
        self.places[at].1 = to;
        to != from
    }

    /// Places pods in every way that may be better than the best that is known, as far as the work
    /// allows; nothing of it stays.
    fn closest(&mut self, search: &Search<'_>, pods: &[PodId], sum: usize, best: &mut Best) {
        let Some((pod, rest)) = pods.split_first() else {
            *best = (sum, self.places[search.since..].to_vec());
            return;
        };
        let class = |pod: PodId| self.txn.catalog().pod(pod).class;
        // Of two alike pods the second is not tried before the first.
        let last = self.places[search.since..].last().copied();
        let from = last.filter(|(last, _)| class(*last) == class(*pod)).map(|(_, node)| node);
        let nodes = self.fitting(*pod, search.within).into_iter();
        let nodes = nodes.filter(|node| from.is_none_or(|from| *node >= from));
        let far = |node: NodeId| self.distances(search.fabric, search.since, None, node);
        let mut nodes: Vec<(usize, NodeId)> = nodes.map(|node| (far(node), node)).collect();
        nodes.sort_unstable();
        for (far, node) in nodes {
            if sum + far >= best.0 || self.work > search.end {
                return;
            }
            let start = self.moment();
            self.txn.place(self.occupant(*pod), node);
            self.places.push((*pod, node));
            self.closest(search, rest, sum + far, best);
            self.back_to(start);
        }
    }
}
