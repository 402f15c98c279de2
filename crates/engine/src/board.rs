//! Kept results: for every class in use, which nodes fit and how good each is.
//!
//! A placement changes one node, so a board is brought up to date by looking at the nodes that
//! were touched since it was last used, not at all of them; and the best total is found without
//! reading every total (see `peaks`). Both together make the cost of a pod nearly independent of
//! the number of nodes, while every node counts.

mod alone;
mod around;
mod ground;
mod kept;

use std::sync::Arc;

use framework::{
    Feasible, Narrow, Parts, Profile, Ranking, Reach, Rescues, Rows, Scores, UNFIT, View,
};
use model::{Catalog, Class, NodeId, Occupant, hash_of};

use crate::peaks::Peaks;
use crate::preempt::Contest;
use crate::screen::Named;
use crate::tally::Tally;
pub(crate) use alone::{Answers, NodeAlone};
use ground::{Ground, Raws};
pub(crate) use kept::Boards;

/// Marks a total that is being worked out, so that a node touched twice is looked at once.
const STALE: i32 = UNFIT + 1;

/// For how many priorities it is kept what evicting would do for pods of a class.
const CONTESTS_MAX: usize = 4;

/// Beyond this part of the nodes, all of them in order are quicker than some at random.
const TOUCHED_PART: usize = 8;

/// How many nodes all plugins are asked about before the next ones: their rows stay in the cache.
const AT_ONCE: usize = 256;

/// What was worked out for a class, and the results for every node.
pub(crate) struct Board {
    generation: u32,
    pub(crate) before: Vec<Named<dyn Narrow>>,
    pub(crate) filters: Vec<Named<dyn Narrow>>,
    pub(crate) rankings: Vec<Prepared>,
    /// Who is asked when nothing fits. Plugins are counted among those that are prepared.
    pub(crate) rescues: Rescues,
    is_broken: bool,
    /// What facts say; only as long as the board is in use, as it is shared.
    ground: Box<Ground>,
    ground_hash: u64,
    totals: Totals,
    /// The log's end, and the nodes, when what reaches around was last brought up to date.
    mark_around: Option<u64>,
    node_revision_around: u64,
    /// Why nothing fits, and what evicting would do about it.
    pub(crate) tally: Tally,
    contests: Vec<Contest>,
    /// Lent by the boards to the one in use.
    scratch: Scratch,
    use_: kept::Use,
}

/// The totals of all nodes.
#[derive(Default)]
struct Totals {
    /// The log's end when they were last brought up to date; none before the first time.
    mark: Option<u64>,
    /// The epoch of the ground they stand on.
    epoch: u64,
    peaks: Peaks,
    highs: Vec<High>,
}

/// Nodes that are being looked at, and their scores: kept so that a pod allocates nothing.
#[derive(Default)]
struct Scratch {
    nodes: Vec<NodeId>,
    totals_before: Vec<i32>,
    fitting: Vec<NodeId>,
    scores: Vec<i32>,
    sums: Vec<i32>,
}

/// A ranking prepared for the class.
pub(crate) struct Prepared {
    pub(crate) plugin: &'static str,
    pub(crate) weight: i32,
    pub(crate) scores: Box<dyn Scores>,
}

/// The highest raw score of one column of the ground among the nodes that fit.
#[derive(Default)]
struct High {
    /// How many nodes that fit have each raw score, in no order: there are few scores. Nothing
    /// until it is needed.
    counts: Vec<(i32, usize)>,
    /// The highest raw score that totals were worked out with.
    highest: i32,
}

impl High {
    fn current_highest(&self) -> i32 {
        self.counts.iter().map(|(raw, _)| *raw).max().unwrap_or(0)
    }

    fn count(&mut self, raw: i32, is_fit: bool) {
        let at = self.counts.iter().position(|(other, _)| *other == raw);
        match (at, is_fit) {
            (Some(at), true) => self.counts[at].1 += 1,
            (None, true) => self.counts.push((raw, 1)),
            (at, false) => {
                let at = at.expect("a node that fitted was counted");
                self.counts[at].1 -= 1;
                if self.counts[at].1 == 0 {
                    self.counts.swap_remove(at);
                }
            }
        }
    }

    /// Counts all nodes that fit anew.
    fn recount(&mut self, raws: &Raws, totals: &[i32]) {
        self.counts.clear();
        for (raw, _) in raws.raw.iter().zip(totals).filter(|(_, total)| **total != UNFIT) {
            self.count(*raw, true);
        }
    }
}

impl Board {
    pub(crate) fn new(profile: &Profile, catalog: &Catalog, class: &Class) -> Self {
        let mut parts = Parts::default();
        let mut prepare = |plugins: &[Arc<dyn Feasible>]| -> Vec<Named<dyn Narrow>> {
            let prepared = |plugin: &Arc<dyn Feasible>| {
                let prepared = plugin.prepare(catalog, class)?;
                if prepared.reach() == Reach::Facts {
                    parts = parts | plugin.reads();
                }
                Some((plugin.name(), prepared))
            };
            plugins.iter().filter_map(prepared).collect()
        };
        let claims_after = profile.rescues.claims_after.map(|after| {
            let asked = profile.before.get(..after);
            asked.map_or(usize::MAX, |asked| prepare(asked).len())
        });
        let (before, filters) = (prepare(&profile.before), prepare(&profile.filters));
        let ranking = |ranking: &Ranking| {
            let scores = ranking.plugin.prepare(catalog, class)?;
            // Without weight a ranking still has a say: it can find the question broken.
            if ranking.weight == 0 && !scores.is_broken() {
                return None;
            }
            if scores.reach() == Reach::Facts {
                parts = parts | ranking.plugin.reads();
            }
            Some(Prepared { plugin: ranking.plugin.name(), weight: ranking.weight, scores })
        };
        let rankings: Vec<_> = profile.rankings.iter().filter_map(ranking).collect();
        let key = parts.of(&class.spec);
        Self {
            generation: class.generation(),
            before,
            rescues: Rescues { claims_after, ..profile.rescues },
            filters,
            is_broken: rankings.iter().any(|ranking| ranking.scores.is_broken()),
            rankings,
            ground_hash: hash_of(&key),
            ground: Box::new(Ground::new(key)),
            totals: Totals::default(),
            mark_around: None,
            node_revision_around: 0,
            tally: Tally::default(),
            contests: Vec::new(),
            scratch: Scratch::default(),
            use_: kept::Use::default(),
        }
    }

    /// Whether a pod that comes to a node or leaves it could help pods of the class.
    pub(crate) fn is_moved_by(&self, catalog: &Catalog, occupant: Occupant) -> bool {
        self.filters.iter().any(|(_, filter)| filter.is_moved_by(catalog, occupant))
    }

    /// Whether what reaches around has anything to say of a pod.
    pub(crate) fn is_around(&self, view: View<'_>) -> bool {
        let is_around = |filter: &dyn Narrow| filter.reach() == Reach::Around;
        let mut filters = self.filters.iter().filter(|(_, filter)| is_around(&**filter));
        let mut rankings =
            self.rankings.iter().filter(|ranking| ranking.scores.reach() == Reach::Around);
        filters.any(|(_, filter)| filter.applies(view))
            || rankings.any(|ranking| ranking.scores.applies(view))
    }

    /// Whether nodes cannot be ranked for this class at all.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Brings the results up to date.
    pub(crate) fn refresh(&mut self, view: View<'_>) {
        let mark = self.totals.mark.filter(|_| self.totals.epoch == self.ground.epoch);
        let touched = mark.and_then(|mark| view.usage.touched_since(mark));
        let few = view.catalog.nodes().len() / TOUCHED_PART;
        match touched.filter(|touched| touched.len() <= few) {
            Some([]) => {}
            Some(touched) => {
                self.totals.peaks.grow(view.catalog.node_places());
                self.scratch.nodes.clear();
                self.scratch.nodes.extend(touched.iter().map(|touch| touch.node));
                let is_facts = touched.iter().any(|touch| touch.is_facts);
                self.refresh_nodes(view, is_facts);
            }
            None => self.rebuild(view),
        }
        self.totals.mark = Some(view.usage.mark());
        if self.is_around(view) {
            self.refresh_around(view);
        }
    }

    /// Brings up to date what reaches around.
    pub(crate) fn refresh_around(&mut self, view: View<'_>) {
        let is_current = self.node_revision_around == view.catalog.node_revision();
        let mark = self.mark_around.filter(|_| is_current);
        let touched = mark.and_then(|mark| view.usage.touched_since(mark));
        let touched = touched.filter(|touched| touched.len() <= view.catalog.nodes().len());
        for (_, filter) in &mut self.filters {
            filter.refresh(view, touched);
        }
        for ranking in &mut self.rankings {
            ranking.scores.refresh(view, touched);
        }
        self.mark_around = Some(view.usage.mark());
        self.node_revision_around = view.catalog.node_revision();
    }

    /// Brings up to date what reaches around, if it was looked at since a mark of the log that is
    /// about to be the log's end again.
    pub(crate) fn catch_up_around(&mut self, view: View<'_>, mark: u64) {
        if self.mark_around > Some(mark) {
            self.refresh_around(view);
            self.mark_around = Some(mark);
        }
    }

    /// What evicting would do for pods of a priority; to be given back.
    pub(crate) fn take_contest(&mut self, priority: i32) -> Contest {
        let kept = self.contests.iter().position(|contest| contest.priority == priority);
        kept.map_or_else(|| Contest::new(priority), |at| self.contests.remove(at))
    }

    pub(crate) fn keep_contest(&mut self, contest: Contest) {
        if self.contests.len() >= CONTESTS_MAX {
            self.contests.remove(0);
        }
        self.contests.push(contest);
    }

    /// How many bytes it takes, about.
    fn bytes(&self) -> usize {
        let contests = self.contests.iter().map(Contest::bytes).sum::<usize>();
        kept::PREPARED_BYTES + self.totals.peaks.bytes() + self.tally.bytes() + contests
    }

    /// Whether a node fits as far as the node alone tells.
    pub(crate) fn is_fitting(&self, node: NodeId) -> bool {
        let peaks = &self.totals.peaks;
        node.index() < peaks.count() && peaks.total(node.index()) != UNFIT
    }

    /// Whether a node would do if it were empty, as far as its facts tell.
    pub(crate) fn is_allowed(&self, node: NodeId) -> bool {
        self.ground.fixed.get(node.index()).is_some_and(|fixed| *fixed != UNFIT)
    }

    /// Works out the totals of all nodes.
    // Hot for pods of a class that was not seen before.
    fn rebuild(&mut self, view: View<'_>) {
        let places = view.catalog.node_places();
        view.catalog.look(places);
        let Totals { peaks, highs, epoch, .. } = &mut self.totals;
        peaks.reset(places);
        *epoch = self.ground.epoch;
        highs.clear();
        highs.resize_with(self.ground.raws.len(), High::default);
        let totals = &mut peaks.totals_mut()[..places];
        totals.copy_from_slice(&self.ground.fixed);
        let odd = view.usage.columns().odd();
        for (at, totals) in totals.chunks_mut(AT_ONCE).enumerate() {
            for (_, filter) in self.filters.iter().filter(|(_, f)| f.reach() == Reach::Load) {
                filter.sweep(view, Rows::From(at * AT_ONCE), totals);
            }
        }
        for node in odd {
            totals[node.index()] = self.ground.fixed[node.index()];
            for (_, filter) in self.filters.iter().filter(|(_, f)| f.reach() == Reach::Load) {
                if totals[node.index()] != UNFIT && !filter.why_not(view, *node).is_empty() {
                    totals[node.index()] = UNFIT;
                }
            }
        }
        for (high, raws) in highs.iter_mut().zip(&self.ground.raws) {
            high.highest = raws.highest(totals);
        }
        for (at, totals) in totals.chunks_mut(AT_ONCE).enumerate() {
            let from = at * AT_ONCE;
            for (high, raws) in highs.iter().zip(&self.ground.raws) {
                raws.add(high.highest, from, totals);
            }
            for prepared in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Load) {
                prepared.scores.sweep(view, Rows::From(from), prepared.weight, totals);
            }
        }
        for node in odd {
            *self.totals.peaks.total_mut(node.index()) = self.exact(view, *node);
        }
        self.totals.peaks.lift_all();
    }

    /// The part of a node's total that follows from facts.
    fn fixed(&self, node: NodeId) -> i32 {
        let Self { ground, totals, .. } = self;
        let fixed = ground.fixed[node.index()];
        if fixed == UNFIT {
            return UNFIT;
        }
        let columns = ground.raws.iter().zip(&totals.highs);
        fixed + columns.map(|(raws, high)| raws.score(node.index(), high.highest)).sum::<i32>()
    }

    /// Works out the totals of the nodes at hand.
    // Hot: once per pod, for the nodes touched since the class was last looked at.
    fn refresh_nodes(&mut self, view: View<'_>, is_facts: bool) {
        for (high, raws) in self.totals.highs.iter_mut().zip(&self.ground.raws) {
            if high.counts.is_empty() && !is_facts {
                high.recount(raws, self.totals.peaks.totals());
            }
        }
        self.take_totals();
        let Scratch { nodes, totals_before, sums, .. } = &mut self.scratch;
        let mut nodes = std::mem::take(nodes);
        let mut sums = std::mem::take(sums);
        let totals_before = std::mem::take(totals_before);
        view.catalog.look(nodes.len());
        sums.clear();
        sums.extend(nodes.iter().map(|node| self.fixed(*node)));
        for (_, filter) in self.filters.iter().filter(|(_, f)| f.reach() == Reach::Load) {
            filter.sweep(view, Rows::These(&nodes), &mut sums);
        }
        for prepared in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Load) {
            prepared.scores.sweep(view, Rows::These(&nodes), prepared.weight, &mut sums);
        }
        let columns = view.usage.columns();
        if !columns.odd().is_empty() {
            for (node, sum) in
                nodes.iter().zip(&mut sums).filter(|(node, _)| columns.is_odd(**node))
            {
                *sum = self.exact(view, *node);
            }
        }
        for ((node, total), before) in nodes.iter().zip(&sums).zip(&totals_before) {
            *self.totals.peaks.total_mut(node.index()) = *total;
            let is_fit = *total != UNFIT;
            if is_fit != (*before != UNFIT) && !is_facts {
                let columns = self.totals.highs.iter_mut().zip(&self.ground.raws);
                columns.for_each(|(high, raws)| high.count(raws.raw[node.index()], is_fit));
            }
        }
        if is_facts {
            // Raw scores may have changed.
            for (high, raws) in self.totals.highs.iter_mut().zip(&self.ground.raws) {
                high.recount(raws, self.totals.peaks.totals());
            }
        }
        let peaks = &mut self.totals.peaks;
        let is_many = nodes.len() > peaks.count() / 16;
        if renormalize(peaks, &mut self.totals.highs, &self.ground) || is_many {
            peaks.lift_all();
        } else {
            for (node, before) in nodes.iter().zip(&totals_before) {
                peaks.lift(node.index(), *before);
            }
        }
        nodes.clear();
        let Scratch { nodes: hand, totals_before: befores, sums: hand_sums, .. } =
            &mut self.scratch;
        (*hand, *befores, *hand_sums) = (nodes, totals_before, sums);
    }

    /// The total of one node, asked by itself.
    fn exact(&self, view: View<'_>, node: NodeId) -> i32 {
        let mut loads = self.filters.iter().filter(|(_, f)| f.reach() == Reach::Load);
        match self.fixed(node) {
            UNFIT => UNFIT,
            _ if loads.any(|(_, filter)| !filter.why_not(view, node).is_empty()) => UNFIT,
            fixed => fixed + load_scores(&self.rankings, view, node),
        }
    }

    /// Makes the totals of the nodes at hand stale, keeps each of these nodes at hand once, and
    /// notes what its total was.
    fn take_totals(&mut self) {
        let Scratch { nodes, totals_before, .. } = &mut self.scratch;
        totals_before.clear();
        nodes.retain(|node| {
            let total = std::mem::replace(self.totals.peaks.total_mut(node.index()), STALE);
            if total != STALE {
                totals_before.push(total);
            }
            total != STALE
        });
    }

    /// The best node that is not held for others. Of several that are equally good, `seed` decides.
    pub(crate) fn best(&mut self, view: View<'_>, held: &[NodeId], seed: u64) -> Option<NodeId> {
        if self.is_around(view) || !held.is_empty() {
            return self.best_around(view, held, seed);
        }
        self.totals.peaks.best(seed).map(NodeId::at)
    }

    /// The given nodes that take a pod and are not held for others.
    pub(crate) fn fitting_among(
        &mut self,
        view: View<'_>,
        nodes: &[NodeId],
        held: &[NodeId],
    ) -> Vec<NodeId> {
        self.narrow_to(view, nodes, held);
        self.scratch.fitting.clone()
    }
}

/// The scores of a node by its load.
fn load_scores(rankings: &[Prepared], view: View<'_>, node: NodeId) -> i32 {
    let by_load = rankings.iter().filter(|ranking| ranking.scores.reach() == Reach::Load);
    let score = |prepared: &Prepared| {
        let mut score = [0];
        prepared.scores.scores(view, &[node], &mut score);
        prepared.weight * score[0]
    };
    by_load.map(score).sum()
}

/// Works totals out anew where the highest raw score among the nodes that fit is another one.
fn renormalize(peaks: &mut Peaks, highs: &mut [High], ground: &Ground) -> bool {
    let mut is_changed = false;
    for (high, raws) in highs.iter_mut().zip(&ground.raws) {
        let (before, highest) = (high.highest, high.current_highest());
        if before == highest {
            continue;
        }
        is_changed = true;
        high.highest = highest;
        for (at, total) in peaks.totals_mut().iter_mut().enumerate() {
            if *total != UNFIT {
                *total += raws.score(at, highest) - raws.score(at, before);
            }
        }
    }
    is_changed
}
