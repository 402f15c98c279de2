//! Kept results: for every class in use, which nodes fit and how good each is.
//!
//! A placement changes one node, so a board is brought up to date by looking at the nodes that
//! were touched since it was last used, not at all of them; and the best total is found without
//! reading every total (see `peaks`). Both together make the cost of a pod nearly independent of
//! the number of nodes, while every node counts.

mod alone;
mod around;
mod ground;
mod grounds;
mod kept;
mod ranked;
mod room;
mod seen;

use std::sync::Arc;

use framework::{Feasible, Narrow, Parts, Profile, Reach, Rescues, Rows, UNFIT, View, plus};
use model::{Catalog, Class, NodeId, Occupant, Touch, Touched};

use crate::peaks::Peaks;
use crate::preempt::Contest;
use crate::screen::Named;
use crate::tally::Tally;
pub(crate) use alone::{Answers, NodeAlone};
use ground::{Ground, Raws};
use grounds::{GroundId, GroundKey};
pub(crate) use kept::Boards;
pub(crate) use ranked::Prepared;
use ranked::{Ranked, load_revision, rank};
use room::Room;
use seen::Seen;

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
    /// How many units of totals make a point.
    pub(crate) per_point: i32,
    /// Who is asked when nothing fits. Plugins are counted among those that are prepared.
    pub(crate) rescues: Rescues,
    is_broken: bool,
    /// What facts say; only as long as the board is in use, as it is shared.
    ground: Box<Ground>,
    ground_id: GroundId,
    totals: Totals,
    room: Room,
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
    /// The epoch of the ground they stand on, and the mark of its last change of a raw score.
    epoch: u64,
    raw_mark: u64,
    /// The revision of the rankings by load that they were worked out with.
    revision: u64,
    peaks: Peaks,
    highs: Vec<High>,
}

/// Nodes that are being looked at, and their scores: kept so that a pod allocates nothing.
#[derive(Default)]
struct Scratch {
    /// Nodes whose raw scores count for more or less than before, and their totals before.
    moved: Vec<(NodeId, i32)>,
    seen: Seen,
    fitting: Vec<NodeId>,
    scores: Vec<i32>,
    sums: Vec<i32>,
}

/// The highest raw score of one column of the ground among the nodes that fit.
#[derive(Default)]
struct High {
    /// How many nodes that fit have each raw score, in no order: there are few scores.
    counts: Vec<(i32, usize)>,
    /// Whether they were counted, which is not done before it is needed.
    is_counted: bool,
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
        self.is_counted = true;
        for (raw, _) in raws.raw.iter().zip(totals).filter(|(_, total)| **total != UNFIT) {
            self.count(*raw, true);
        }
    }
}

impl Board {
    /// What is prepared for a class, and by what it shares what facts say with others.
    pub(crate) fn new(profile: &Profile, catalog: &Catalog, class: &Class) -> (Self, GroundKey) {
        let (mut parts, mut variants) = (Parts::default(), Vec::new());
        let mut prepare = |plugins: &[Arc<dyn Feasible>]| -> Vec<Named<dyn Narrow>> {
            let prepared = |plugin: &Arc<dyn Feasible>| {
                let prepared = plugin.prepare(catalog, class)?;
                if prepared.reach() == Reach::Facts {
                    parts = parts | plugin.reads();
                    let variant = Some(prepared.variant()).filter(|variant| *variant != 0);
                    variants.extend(variant.map(|variant| (plugin.name(), variant)));
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
        let Ranked { rankings, per_point, parts: of_rankings, variants: more } =
            rank(profile, catalog, class);
        let parts = parts | of_rankings;
        variants.extend(more);
        let board = Self {
            generation: class.generation(),
            before,
            rescues: Rescues { claims_after, ..profile.rescues },
            filters,
            is_broken: rankings.iter().any(|ranking| ranking.scores.is_broken()),
            rankings,
            per_point,
            ground_id: GroundId::default(),
            ground: Box::default(),
            totals: Totals::default(),
            room: Room::default(),
            mark_around: None,
            node_revision_around: 0,
            tally: Tally::default(),
            contests: Vec::new(),
            scratch: Scratch::default(),
            use_: kept::Use::default(),
        };
        (board, GroundKey { spec: parts.of(&class.spec), per_point, variants })
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

    /// Whether filters that reach around have anything to say of a pod.
    pub(crate) fn is_filtered_around(&self, view: View<'_>) -> bool {
        let mut filters = self.filters.iter().filter(|(_, filter)| filter.reach() == Reach::Around);
        filters.any(|(_, filter)| filter.applies(view))
    }

    /// Whether nodes cannot be ranked for this class at all.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Brings the results up to date.
    pub(crate) fn refresh(&mut self, view: View<'_>) {
        let revision = load_revision(&self.rankings, view.catalog);
        let is_current = (self.totals.epoch, self.totals.revision) == (self.ground.epoch, revision);
        let mark = self.totals.mark.filter(|_| is_current);
        let touched = mark.and_then(|mark| view.usage.rows_since(mark));
        let few = view.catalog.nodes().len() / TOUCHED_PART;
        match touched.filter(|touched| touched.touches.len() <= few) {
            Some(touched) if touched.touches.is_empty() => {}
            Some(touched) => self.refresh_touched(view, touched),
            None => self.rebuild(view),
        }
        self.totals.mark = Some(view.usage.mark());
        self.totals.revision = revision;
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
        let totals = self.totals.peaks.bytes() + self.room.bytes();
        kept::PREPARED_BYTES + totals + self.tally.bytes() + contests
    }

    /// Whether a node fits as far as the node alone tells.
    pub(crate) fn is_fitting(&self, node: NodeId) -> bool {
        let peaks = &self.totals.peaks;
        node.index() < peaks.count() && peaks.total(node.index()) != UNFIT
    }

    /// Whether a node would do if it were empty, as far as its facts tell.
    pub(crate) fn is_allowed(&self, node: NodeId) -> bool {
        self.ground.allows(node)
    }

    /// Works out the totals of all nodes.
    // Hot for pods of a class that was not seen before.
    fn rebuild(&mut self, view: View<'_>) {
        let places = view.catalog.node_places();
        view.catalog.look(places);
        let Totals { peaks, highs, epoch, raw_mark, .. } = &mut self.totals;
        peaks.reset(places);
        (*epoch, *raw_mark) = (self.ground.epoch, self.ground.raw_mark());
        highs.clear();
        let guess = self.ground.last_highs();
        highs.extend(guess.iter().map(|highest| High { highest: *highest, ..High::default() }));
        let totals = &mut peaks.totals_mut()[..places];
        let sums = self.ground.sums(guess.iter().copied());
        totals.copy_from_slice(sums);
        for (at, totals) in totals.chunks_mut(AT_ONCE).enumerate() {
            for filter in by_load(&self.filters) {
                filter.sweep(view, Rows::places(view.usage, at * AT_ONCE), totals);
            }
        }
        for node in view.usage.odd() {
            let is_fit = takes(&self.filters, view, *node);
            totals[node.index()] = if is_fit { sums[node.index()] } else { UNFIT };
        }
        for (high, raws) in highs.iter_mut().zip(&self.ground.raws) {
            high.highest = raws.highest(totals);
        }
        if highs.iter().map(|high| high.highest).ne(guess) {
            let sums = self.ground.sums(highs.iter().map(|high| high.highest));
            for (total, sum) in totals.iter_mut().zip(sums) {
                *total = if *total == UNFIT { UNFIT } else { *sum };
            }
        }
        for (at, totals) in totals.chunks_mut(AT_ONCE).enumerate() {
            for prepared in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Load) {
                let rows = Rows::places(view.usage, at * AT_ONCE);
                prepared.scores.sweep(view, rows, prepared.weight, totals);
            }
        }
        for node in view.usage.odd() {
            let exact = self.exact(view, *node);
            *self.totals.peaks.total_mut(node.index()) = exact;
        }
        self.totals.peaks.lift_all();
    }

    /// Works out the totals of nodes that were touched.
    // Hot: once per pod, for the nodes touched since the class was last looked at.
    fn refresh_touched(&mut self, view: View<'_>, touched: Touched<'_>) {
        let touches = touched.touches;
        view.catalog.look(touches.len());
        self.totals.peaks.grow(view.catalog.node_places());
        let mut sums = std::mem::take(&mut self.scratch.sums);
        self.sum_touched(view, touched, &mut sums);
        let is_many = touches.len() > self.totals.peaks.count() / 16;
        self.set_totals(touches, &sums, !is_many);
        self.scratch.sums = sums;
        self.count_raws();
        let Totals { peaks, highs, .. } = &mut self.totals;
        if renormalize(peaks, highs, &self.ground) || is_many {
            peaks.lift_all();
        }
    }

    /// Takes in the totals of touched nodes, of each the last.
    fn set_totals(&mut self, touches: &[Touch], sums: &[i32], is_lifted: bool) {
        let Scratch { moved, seen, .. } = &mut self.scratch;
        let Totals { peaks, raw_mark, .. } = &mut self.totals;
        // Where raw scores are others it counts for all nodes whether they fit.
        let are_raws_same = self.ground.raw_mark() == *raw_mark;
        moved.clear();
        seen.begin(peaks.count());
        for (touch, sum) in touches.iter().zip(sums).rev() {
            if !seen.insert(touch.node) {
                continue;
            }
            let before = match is_lifted {
                true => peaks.set(touch.node.index(), *sum),
                false => std::mem::replace(peaks.total_mut(touch.node.index()), *sum),
            };
            if (before == UNFIT) != (*sum == UNFIT) || !are_raws_same {
                moved.push((touch.node, before));
            }
        }
    }

    /// Counts which raw scores nodes have that fit, after some were touched.
    fn count_raws(&mut self) {
        let Totals { peaks, highs, raw_mark, .. } = &mut self.totals;
        let changes = self.ground.raw_changes(*raw_mark);
        *raw_mark = self.ground.raw_mark();
        for (column, high) in highs.iter_mut().enumerate() {
            let raws = &self.ground.raws[column];
            let Some(changes) = changes.filter(|_| high.is_counted) else {
                high.recount(raws, peaks.totals());
                continue;
            };
            for (node, before) in &self.scratch.moved {
                if *before != UNFIT {
                    high.count(self.ground.raw_before(changes, column, *node), false);
                }
                if peaks.total(node.index()) != UNFIT {
                    high.count(raws.raw[node.index()], true);
                }
            }
        }
    }

    /// The total of each touched node.
    fn sum_touched(&self, view: View<'_>, touched: Touched<'_>, sums: &mut Vec<i32>) {
        let rows = Rows::touched(touched);
        self.fixed(touched.touches.iter().map(|touch| touch.node), sums);
        for filter in by_load(&self.filters) {
            filter.sweep(view, rows, sums);
        }
        for prepared in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Load) {
            prepared.scores.sweep(view, rows, prepared.weight, sums);
        }
        if !view.usage.odd().is_empty() {
            let sums = touched.touches.iter().map(|touch| touch.node).zip(sums);
            for (node, sum) in sums.filter(|(node, _)| view.usage.is_odd(*node)) {
                *sum = self.exact(view, node);
            }
        }
    }

    /// The parts of totals of nodes that follow from facts.
    fn fixed(&self, nodes: impl Iterator<Item = NodeId>, out: &mut Vec<i32>) {
        let highs = self.totals.highs.iter().map(|high| high.highest);
        self.ground.sums_of(highs, nodes, out);
    }

    /// The total of one node, asked by itself.
    fn exact(&self, view: View<'_>, node: NodeId) -> i32 {
        let mut fixed = Vec::new();
        self.fixed(std::iter::once(node), &mut fixed);
        match fixed[0] {
            UNFIT => UNFIT,
            fixed if takes(&self.filters, view, node) => {
                plus_load_scores(fixed, &self.rankings, view, node)
            }
            _ => UNFIT,
        }
    }

    /// The best node that is not held for others. Of several that are equally good, `seed` decides.
    pub(crate) fn best(&mut self, view: View<'_>, held: &[NodeId], seed: u64) -> Option<NodeId> {
        if self.is_around(view) || !held.is_empty() {
            return self.best_around(view, held, seed);
        }
        self.totals.peaks.best(seed).map(NodeId::at)
    }

    /// The given nodes that take a pod and are not held for others, in order; of all if none are
    /// given.
    pub(crate) fn fitting_among(
        &mut self,
        view: View<'_>,
        nodes: Option<&[NodeId]>,
        held: &[NodeId],
    ) -> Vec<NodeId> {
        match nodes {
            Some(nodes) => self.narrow_to(view, nodes, held),
            None => self.narrow_all(view, held),
        }
        self.scratch.fitting.clone()
    }
}

/// The filters that look at loads.
fn by_load(filters: &[Named<dyn Narrow>]) -> impl Iterator<Item = &dyn Narrow> {
    let filters = filters.iter().map(|(_, filter)| &**filter);
    filters.filter(|filter| filter.reach() == Reach::Load)
}

/// Whether a node's load lets a pod in.
fn takes(filters: &[Named<dyn Narrow>], view: View<'_>, node: NodeId) -> bool {
    by_load(filters).all(|filter| filter.why_not(view, node).is_empty())
}

/// A total with the scores of the node by its load.
fn plus_load_scores(total: i32, rankings: &[Prepared], view: View<'_>, node: NodeId) -> i32 {
    let by_load = rankings.iter().filter(|ranking| ranking.scores.reach() == Reach::Load);
    by_load.fold(total, |total, prepared| {
        let mut score = [0];
        prepared.scores.scores(view, &[node], &mut score);
        plus(total, prepared.weight, score[0])
    })
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
