//! What facts alone say of every node, shared by all classes that say the same about facts.

use framework::{Narrow, Normalize, Reach, UNFIT, View};
use model::{NodeId, PodSpec};

use super::Prepared;
use super::kept::PREPARED_BYTES;
use crate::screen::{Named, Screen, screen};

/// The part of totals that follows from facts, by place.
#[derive(Default)]
pub(crate) struct Ground {
    /// What its classes have in common.
    pub(super) key: PodSpec,
    /// The end of the log of facts when it was last brought up to date; none before the first time.
    mark: Option<u64>,
    revision: u64,
    /// Grows when all nodes are looked at anew.
    pub(super) epoch: u64,
    /// Scores that are ready; unfit where facts rule the node out.
    pub(super) fixed: Vec<i32>,
    pub(super) raws: Vec<Raws>,
}

/// Raw scores that are normalised by the highest among the nodes that fit.
pub(super) struct Raws {
    pub(super) weight: i32,
    pub(super) normalize: Normalize,
    pub(super) raw: Vec<i32>,
}

impl Raws {
    /// The weighted score of a node, given the highest raw score.
    pub(super) fn score(&self, node: usize, highest: i32) -> i32 {
        self.weight * self.normalize.score(self.raw[node], highest)
    }

    /// The highest raw score among the nodes that fit, and at least 0.
    pub(super) fn highest(&self, totals: &[i32]) -> i32 {
        let rows = self.raw.iter().zip(totals);
        rows.fold(0, |best, (raw, total)| best.max(if *total == UNFIT { 0 } else { *raw }))
    }

    /// Adds scores to the totals, from a place on, of nodes that fit.
    // Hot for pods of a class that was not seen before.
    pub(super) fn add(&self, highest: i32, from: usize, totals: &mut [i32]) {
        let raws = &self.raw[from..from + totals.len()];
        let score = |raw: i32| self.weight * self.normalize.score(raw, highest);
        if highest == 0 {
            let same = score(0);
            for total in totals {
                *total = if *total == UNFIT { UNFIT } else { *total + same };
            }
            return;
        }
        // There are few raw scores, and a division costs.
        let mut few = [0; 16];
        let known = 0..few.len().min(usize::try_from(highest).unwrap_or(0) + 1);
        known.for_each(|raw| few[raw] = score(i32::try_from(raw).unwrap_or(0)));
        for (total, raw) in totals.iter_mut().zip(raws).filter(|(total, _)| **total != UNFIT) {
            *total += match usize::try_from(*raw).ok().filter(|raw| *raw <= 15) {
                Some(raw) if highest <= 15 => few[raw],
                _ => score(*raw),
            };
        }
    }
}

impl Ground {
    pub(super) fn new(key: PodSpec) -> Self {
        Self { key, ..Self::default() }
    }

    pub(super) fn bytes(&self) -> usize {
        PREPARED_BYTES + size_of::<i32>() * self.fixed.capacity() * (1 + self.raws.len())
    }

    /// Brings it up to date, with what is prepared for any of its classes.
    pub(super) fn refresh(
        &mut self,
        view: View<'_>,
        before: &[Named<dyn Narrow>],
        filters: &[Named<dyn Narrow>],
        rankings: &[Prepared],
    ) {
        let revision = revision(view, rankings);
        let places = view.catalog.node_places();
        if self.mark == Some(view.usage.facts_mark()) && self.revision == revision {
            // Places can be made for nodes that are not there, as pods name them.
            return self.resize(places);
        }
        let known = self.mark.filter(|_| self.revision == revision);
        let changed = known.and_then(|mark| view.usage.facts_since(mark));
        let nodes = match changed {
            Some(changed) if changed.len() <= view.catalog.nodes().len() => {
                let mut changed = changed.to_vec();
                changed.sort_unstable();
                changed.dedup();
                changed
            }
            _ => {
                let is_raw = |prepared: &&Prepared| {
                    prepared.scores.reach() == Reach::Facts
                        && prepared.scores.normalize() != Normalize::Ready
                };
                let raws = |prepared: &Prepared| Raws {
                    weight: prepared.weight,
                    normalize: prepared.scores.normalize(),
                    raw: Vec::new(),
                };
                self.raws = rankings.iter().filter(is_raw).map(raws).collect();
                self.fixed.clear();
                self.epoch += 1;
                view.catalog.nodes().to_vec()
            }
        };
        self.resize(places);
        self.ask(view, nodes, before, filters, rankings);
        self.mark = Some(view.usage.facts_mark());
        self.revision = revision;
    }

    fn resize(&mut self, places: usize) {
        if self.fixed.len() != places {
            self.fixed.resize(places, UNFIT);
            self.raws.iter_mut().for_each(|raws| raws.raw.resize(places, 0));
        }
    }

    /// Asks about nodes what depends on facts alone.
    fn ask(
        &mut self,
        view: View<'_>,
        mut nodes: Vec<NodeId>,
        before: &[Named<dyn Narrow>],
        filters: &[Named<dyn Narrow>],
        rankings: &[Prepared],
    ) {
        view.catalog.look(nodes.len());
        nodes.iter().for_each(|node| self.fixed[node.index()] = UNFIT);
        nodes.retain(|node| view.catalog.has_node(*node));
        if let Screen::Only(only) = screen(before, view) {
            let is_named = |name: &str| only.iter().all(|(_, names)| names.contains(name));
            nodes.retain(|node| is_named(view.catalog.node_name(*node)));
        }
        for (_, filter) in filters.iter().filter(|(_, f)| f.reach() == Reach::Facts) {
            filter.narrow(view, &mut nodes);
        }
        nodes.iter().for_each(|node| self.fixed[node.index()] = 0);
        let mut columns = self.raws.iter_mut();
        let mut scores = vec![0; nodes.len()];
        for prepared in rankings.iter().filter(|r| r.scores.reach() == Reach::Facts) {
            prepared.scores.scores(view, &nodes, &mut scores);
            let scored = nodes.iter().map(|node| node.index()).zip(&scores);
            if prepared.scores.normalize() == Normalize::Ready {
                scored.for_each(|(node, score)| self.fixed[node] += prepared.weight * score);
            } else {
                let raws = columns.next().expect("one column per normalised ranking");
                scored.for_each(|(node, raw)| raws.raw[node] = *raw);
            }
        }
    }
}

/// Changes when something beyond single nodes does on which scores depend.
fn revision(view: View<'_>, rankings: &[Prepared]) -> u64 {
    let facts = rankings.iter().filter(|ranking| ranking.scores.reach() == Reach::Facts);
    let revisions = facts.map(|ranking| ranking.scores.revision(view.catalog));
    revisions.fold(0, |all, one| all.rotate_left(7) ^ one)
}
