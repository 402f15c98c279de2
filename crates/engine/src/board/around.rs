//! The best node for pods to which it matters where other pods are, or which nodes are held.
//!
//! Plugins that reach around answer anew for every pod. If all they do is to rule nodes out, they
//! are asked about few nodes: those whose total is better than that of a node that is left.
//! Otherwise all nodes that fit are looked at.

use framework::{Narrow, Reach, View, plus};
use model::NodeId;

use super::{Board, High, Raws, Scratch};
use crate::peaks::tie;
use crate::screen::Named;

/// How many nodes are asked at a time, at least.
const AT_ONCE: usize = 32;
/// Nodes with the highest raw score that are asked, to see whether one is left.
const WITNESSES: usize = 48;

impl Board {
    /// The best node. Of several that are equally good, `seed` decides.
    // Hot for such pods.
    pub(super) fn best_around(
        &mut self,
        view: View<'_>,
        held: &[NodeId],
        seed: u64,
    ) -> Option<NodeId> {
        let mut rankings = self.rankings.iter().filter(|r| r.scores.reach() == Reach::Around);
        if rankings.any(|ranking| ranking.scores.applies(view)) {
            return self.best_of(view, view.catalog.nodes(), held, seed);
        }
        let best = self.best_by_total(view, held, seed)?;
        let mut fitting = std::mem::take(&mut self.scratch.fitting);
        let mut columns = self.ground.raws.iter().zip(&self.totals.highs);
        let is_certain =
            columns.all(|column| self.stands(view, held, column, (best, seed), &mut fitting));
        self.scratch.fitting = fitting;
        if is_certain { Some(best) } else { self.best_of(view, view.catalog.nodes(), held, seed) }
    }

    /// The best node by the totals that are kept. Only nodes are asked that are better than the
    /// best found so far.
    fn best_by_total(&mut self, view: View<'_>, held: &[NodeId], seed: u64) -> Option<NodeId> {
        let (mut best, mut next) = (None, Some(0));
        while let Some(from) = next {
            let (peaks, fitting) = (&self.totals.peaks, &mut self.scratch.fitting);
            fitting.clear();
            let key = best.map(|(total, tie, _)| (total, tie));
            next = peaks.above(key, seed, from, AT_ONCE, fitting);
            narrow(&self.filters, view, held, fitting);
            let key = |node: &NodeId| (peaks.total(node.index()), tie(seed, node.index()), *node);
            best = best.max(fitting.iter().map(key).max());
        }
        best.map(|(_, _, node)| node)
    }

    /// Whether a node that is left has the highest raw score of a column, so that totals stand. No,
    /// if none is found soon.
    fn stands(
        &self,
        view: View<'_>,
        held: &[NodeId],
        (raws, high): (&Raws, &High),
        (best, seed): (NodeId, u64),
        fitting: &mut Vec<NodeId>,
    ) -> bool {
        // Without a positive raw score all nodes score the same, whichever are left.
        if high.highest <= 0 || raws.raw[best.index()] == high.highest {
            return true;
        }
        let nodes = view.catalog.nodes();
        let start = usize::try_from(tie(seed, 0) % nodes.len() as u64).expect("a place in a list");
        let is_witness =
            |node: &&NodeId| raws.raw[node.index()] == high.highest && self.is_fitting(**node);
        let (before, after) = nodes.split_at(start);
        let witnesses = after.iter().chain(before).filter(is_witness).take(WITNESSES);
        fitting.clear();
        fitting.extend(witnesses);
        narrow(&self.filters, view, held, fitting);
        !fitting.is_empty()
    }

    /// Has at hand which of the nodes fit.
    pub(super) fn narrow_to(&mut self, view: View<'_>, nodes: &[NodeId], held: &[NodeId]) {
        let mut fitting = std::mem::take(&mut self.scratch.fitting);
        fitting.clear();
        fitting.extend(nodes.iter().filter(|node| self.is_fitting(**node)));
        narrow(&self.filters, view, held, &mut fitting);
        self.scratch.fitting = fitting;
    }

    /// Has at hand which of all nodes fit.
    pub(super) fn narrow_all(&mut self, view: View<'_>, held: &[NodeId]) {
        let mut fitting = std::mem::take(&mut self.scratch.fitting);
        fitting.clear();
        self.totals.peaks.above(None, 0, 0, usize::MAX, &mut fitting);
        narrow(&self.filters, view, held, &mut fitting);
        self.scratch.fitting = fitting;
    }

    /// The best of the given nodes that is not held for others.
    pub(crate) fn best_of(
        &mut self,
        view: View<'_>,
        nodes: &[NodeId],
        held: &[NodeId],
        seed: u64,
    ) -> Option<NodeId> {
        self.narrow_to(view, nodes, held);
        let Scratch { fitting, scores, sums, .. } = &mut self.scratch;
        sums.clear();
        sums.extend(fitting.iter().map(|node| self.totals.peaks.total(node.index())));
        // Some totals were worked out with a highest raw score of a node that is out.
        let columns = self.ground.raws.iter().zip(&self.totals.highs);
        for (raws, high) in columns.filter(|(_, high)| high.highest > 0) {
            let highest = fitting.iter().map(|node| raws.raw[node.index()]).max().unwrap_or(0);
            if highest != high.highest {
                for (node, sum) in fitting.iter().zip(&mut *sums) {
                    let at = node.index();
                    *sum += raws.score(at, highest) - raws.score(at, high.highest);
                }
            }
        }
        scores.resize(fitting.len(), 0);
        for ranking in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Around) {
            if ranking.scores.applies(view) {
                ranking.scores.scores(view, fitting, scores);
                for (sum, score) in sums.iter_mut().zip(&*scores) {
                    *sum = plus(*sum, ranking.weight, *score);
                }
            }
        }
        let best = sums.iter().copied().max()?;
        let totals = fitting.iter().zip(&*sums);
        let equals = totals.filter(|(_, total)| **total == best).map(|(node, _)| *node);
        equals.max_by_key(|node| tie(seed, node.index()))
    }
}

/// Takes nodes out that are held, which are in order, or that filters which reach around turn down.
fn narrow(filters: &[Named<dyn Narrow>], view: View<'_>, held: &[NodeId], nodes: &mut Vec<NodeId>) {
    if !held.is_empty() {
        nodes.retain(|node| held.binary_search(node).is_err());
    }
    view.catalog.look(nodes.len());
    for (_, filter) in filters.iter().filter(|(_, f)| f.reach() == Reach::Around) {
        if filter.applies(view) {
            filter.narrow(view, nodes);
        }
    }
}
