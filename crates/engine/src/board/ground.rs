//! What facts alone say of every node, shared by all classes that say the same about facts.

use framework::{Narrow, Normalize, Reach, UNFIT, View, plus};
use model::NodeId;

use super::Prepared;
use super::kept::PREPARED_BYTES;
use crate::screen::{Named, Screen, screen};

/// The part of totals that follows from facts, by place.
#[derive(Default)]
pub(crate) struct Ground {
    /// The end of the log of facts when it was last brought up to date; none before the first time.
    mark: Option<u64>,
    revision: u64,
    /// Grows when all nodes are looked at anew.
    pub(super) epoch: u64,
    /// Raw scores that became others, and how many were forgotten before the first.
    changes: Vec<RawChange>,
    changes_before: u64,
    /// Scores that are ready; unfit where facts rule the node out.
    fixed: Vec<i32>,
    /// The same with raw scores, normalised by the highest of each column that were last asked for.
    sums: Vec<i32>,
    sums_by: Option<Vec<i32>>,
    /// Columns without a score above 0 are left out: all nodes score the same by them.
    pub(super) raws: Vec<Raws>,
}

/// Raw scores that are normalised by the highest among the nodes that fit.
pub(super) struct Raws {
    /// Which of the rankings that depend on facts alone they are of.
    ranking: usize,
    pub(super) weight: i32,
    pub(super) normalize: Normalize,
    pub(super) raw: Vec<i32>,
}

/// What a raw score of a node was.
#[derive(Clone, Copy)]
pub(super) struct RawChange {
    column: usize,
    node: NodeId,
    before: i32,
}

/// How many changes of raw scores are kept at most.
const CHANGES_MAX: usize = 128;

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

    /// Adds scores to the sums of nodes that fit.
    fn add(&self, highest: i32, sums: &mut [i32]) {
        // There are few raw scores, and a division costs.
        let score = |raw: i32| self.weight * self.normalize.score(raw, highest);
        let mut few = [0; 16];
        let known = 0..few.len().min(usize::try_from(highest).unwrap_or(0) + 1);
        known.for_each(|raw| few[raw] = score(i32::try_from(raw).unwrap_or(0)));
        for (sum, raw) in sums.iter_mut().zip(&self.raw).filter(|(sum, _)| **sum != UNFIT) {
            *sum += match usize::try_from(*raw).ok().filter(|raw| *raw <= 15) {
                Some(raw) if highest <= 15 => few[raw],
                _ => score(*raw),
            };
        }
    }
}

impl Ground {
    /// Whether a node would do if it were empty.
    pub(super) fn allows(&self, node: NodeId) -> bool {
        self.fixed.get(node.index()).is_some_and(|fixed| *fixed != UNFIT)
    }

    /// The parts of totals, given the highest raw score of each column.
    pub(super) fn sums(&mut self, highs: impl Iterator<Item = i32> + Clone) -> &[i32] {
        if !self.has_sums(highs.clone()) {
            self.sums.clone_from(&self.fixed);
            for (raws, highest) in self.raws.iter().zip(highs.clone()) {
                raws.add(highest, &mut self.sums);
            }
            self.sums_by = Some(highs.collect());
        }
        &self.sums
    }

    fn has_sums(&self, highs: impl Iterator<Item = i32>) -> bool {
        self.sums_by.as_ref().is_some_and(|by| by.iter().copied().eq(highs))
    }

    /// The same for some nodes.
    // Hot: once per pod, for the nodes touched since the class was last looked at.
    pub(super) fn sums_of(
        &self,
        highs: impl Iterator<Item = i32> + Clone,
        nodes: impl Iterator<Item = NodeId>,
        out: &mut Vec<i32>,
    ) {
        out.clear();
        if self.has_sums(highs.clone()) {
            out.extend(nodes.map(|node| self.sums[node.index()]));
            return;
        }
        let score = |node: usize| {
            let columns = self.raws.iter().zip(highs.clone());
            columns.map(|(raws, highest)| raws.score(node, highest)).sum::<i32>()
        };
        out.extend(nodes.map(|node| match self.fixed[node.index()] {
            UNFIT => UNFIT,
            fixed => fixed + score(node.index()),
        }));
    }

    fn set(&mut self, column: usize, node: NodeId, raw: i32) {
        let before = std::mem::replace(&mut self.raws[column].raw[node.index()], raw);
        if before != raw {
            if self.changes.len() >= CHANGES_MAX {
                self.forget_changes(CHANGES_MAX / 2);
            }
            self.changes.push(RawChange { column, node, before });
        }
    }

    fn forget_changes(&mut self, count: usize) {
        self.changes.drain(..count);
        self.changes_before += count as u64;
    }

    /// The mark of the last change of a raw score.
    pub(super) fn raw_mark(&self) -> u64 {
        self.changes_before + self.changes.len() as u64
    }

    /// Changes of raw scores since a mark, or nothing if that is too long ago.
    pub(super) fn raw_changes(&self, mark: u64) -> Option<&[RawChange]> {
        let dropped = mark.checked_sub(self.changes_before)?;
        usize::try_from(dropped).ok().and_then(|at| self.changes.get(at..))
    }

    /// The raw score of a node before some changes.
    pub(super) fn raw_before(&self, changes: &[RawChange], column: usize, node: NodeId) -> i32 {
        let mut changes = changes.iter();
        let first = changes.find(|change| (change.column, change.node) == (column, node));
        first.map_or_else(|| self.raws[column].raw[node.index()], |change| change.before)
    }

    /// Brings sums up to date for nodes of which facts say something else now.
    fn sum_up(&mut self, nodes: Vec<NodeId>) {
        let Some(highs) = self.sums_by.take() else { return };
        let mut sums = Vec::new();
        self.sums_of(highs.iter().copied(), nodes.iter().copied(), &mut sums);
        nodes.iter().zip(sums).for_each(|(node, sum)| self.sums[node.index()] = sum);
        self.sums_by = Some(highs);
    }

    /// The highest raw scores that sums were last asked for.
    pub(super) fn last_highs(&self) -> Vec<i32> {
        self.sums_by.clone().unwrap_or_else(|| vec![0; self.raws.len()])
    }

    pub(super) fn bytes(&self) -> usize {
        PREPARED_BYTES + size_of::<i32>() * self.fixed.capacity() * (2 + self.raws.len())
    }

    /// Brings it up to date, with what is prepared for any of its classes.
    pub(super) fn refresh(
        &mut self,
        view: View<'_>,
        before: &[Named<dyn Narrow>],
        filters: &[Named<dyn Narrow>],
        rankings: &[Prepared],
    ) {
        let places = view.catalog.node_places();
        if self.mark == Some(view.usage.facts_mark()) {
            // Places can be made for nodes that are not there, as pods name them.
            return self.resize(places);
        }
        let revision = revision(view, rankings);
        let known = self.mark.filter(|_| self.revision == revision);
        let changed = known.and_then(|mark| view.usage.facts_since(mark));
        let changed = changed.filter(|changed| changed.len() <= view.catalog.nodes().len());
        let is_done = changed.is_some_and(|changed| {
            let mut changed = changed.to_vec();
            changed.sort_unstable();
            changed.dedup();
            self.resize(places);
            let is_done = self.ask(view, changed.clone(), before, filters, rankings);
            self.sum_up(changed);
            is_done
        });
        if !is_done {
            self.begin(rankings);
            self.resize(places);
            self.ask(view, view.catalog.nodes().to_vec(), before, filters, rankings);
            self.raws.retain(|raws| raws.raw.iter().any(|raw| *raw > 0));
            self.forget_changes(self.changes.len());
        }
        self.mark = Some(view.usage.facts_mark());
        self.revision = revision;
    }

    /// Forgets what facts said, and has a column for each ranking.
    fn begin(&mut self, rankings: &[Prepared]) {
        let raws = |(ranking, prepared): (usize, &Prepared)| {
            let normalize = prepared.scores.normalize();
            (normalize != Normalize::Ready).then(|| Raws {
                ranking,
                weight: prepared.weight,
                normalize,
                raw: Vec::new(),
            })
        };
        self.raws = by_facts(rankings).enumerate().filter_map(raws).collect();
        self.fixed.clear();
        self.sums.clear();
        self.sums_by = None;
        self.epoch += 1;
    }

    fn resize(&mut self, places: usize) {
        if self.fixed.len() != places {
            self.sums.resize(places, UNFIT);
            self.fixed.resize(places, UNFIT);
            self.raws.iter_mut().for_each(|raws| raws.raw.resize(places, 0));
        }
    }

    /// Asks about nodes what depends on facts alone. Tells whether that is all there is to do: not
    /// if one of them has a score by which all nodes were the same before.
    fn ask(
        &mut self,
        view: View<'_>,
        mut nodes: Vec<NodeId>,
        before: &[Named<dyn Narrow>],
        filters: &[Named<dyn Narrow>],
        rankings: &[Prepared],
    ) -> bool {
        view.catalog.look(nodes.len());
        nodes.iter().for_each(|node| self.fixed[node.index()] = UNFIT);
        nodes.retain(|node| view.catalog.has_node(*node));
        // What is said of single pods is no part of the ground.
        let before = before.iter().filter(|(_, filter)| filter.reach() != Reach::Around);
        if let Screen::Only(only) = screen(before, view) {
            let is_named = |name: &str| only.iter().all(|(_, names)| names.contains(name));
            nodes.retain(|node| is_named(view.catalog.node_name(*node)));
        }
        for (_, filter) in filters.iter().filter(|(_, f)| f.reach() == Reach::Facts) {
            filter.narrow(view, &mut nodes);
        }
        nodes.iter().for_each(|node| self.fixed[node.index()] = 0);
        let mut scores = vec![0; nodes.len()];
        for (ranking, prepared) in by_facts(rankings).enumerate() {
            prepared.scores.scores(view, &nodes, &mut scores);
            let scored = nodes.iter().map(|node| node.index()).zip(&scores);
            if prepared.scores.normalize() == Normalize::Ready {
                for (node, score) in scored {
                    self.fixed[node] = plus(self.fixed[node], prepared.weight, *score);
                }
            } else if let Some(column) = self.raws.iter().position(|raws| raws.ranking == ranking) {
                nodes.iter().zip(&scores).for_each(|(node, raw)| self.set(column, *node, *raw));
            } else if scores.iter().any(|raw| *raw > 0) {
                return false;
            }
        }
        true
    }
}

fn by_facts(rankings: &[Prepared]) -> impl Iterator<Item = &Prepared> {
    rankings.iter().filter(|ranking| ranking.scores.reach() == Reach::Facts)
}

/// Changes when something beyond single nodes does on which scores depend.
fn revision(view: View<'_>, rankings: &[Prepared]) -> u64 {
    let revisions = by_facts(rankings).map(|ranking| ranking.scores.revision(view.catalog));
    revisions.fold(0, |all, one| all.rotate_left(7) ^ one)
}
