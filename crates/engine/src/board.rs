//! Kept results: for every class in use, which nodes fit and how good each is.
//!
//! A placement changes one node, so a board is brought up to date by looking at the nodes that
//! were touched since it was last used, not at all of them; and the best total is found without
//! reading every total (see `peaks`). Both together make the cost of a pod nearly independent of
//! the number of nodes, while every node counts.

mod alone;
mod around;

use std::sync::Arc;

use framework::{Feasible, Narrow, Normalize, Profile, Ranking, Reach, Rescues, Scores, View};
use model::{Catalog, Class, ClassId, NodeId, Occupant};

use crate::peaks::{Peaks, UNFIT};
use crate::preempt::Contest;
use crate::screen::{Named, Screen, screen};
use crate::tally::Tally;
pub(crate) use alone::{Answers, NodeAlone};

/// Marks a total that is being worked out, so that a node touched twice is looked at once.
const STALE: i32 = UNFIT + 1;

/// For how many priorities it is kept what evicting would do for pods of a class.
const CONTESTS_MAX: usize = 4;

/// What was worked out for a class, and the results for every node.
pub(crate) struct Board {
    generation: u32,
    pub(crate) before: Vec<Named<dyn Narrow>>,
    pub(crate) filters: Vec<Named<dyn Narrow>>,
    pub(crate) rankings: Vec<Prepared>,
    /// Who is asked when nothing fits. Plugins are counted among those that are prepared.
    pub(crate) rescues: Rescues,
    /// The log's end when the board was last brought up to date; none before the first time.
    mark: Option<u64>,
    node_revision: u64,
    revision: u64,
    /// The same two for what reaches around.
    mark_around: Option<u64>,
    node_revision_around: u64,
    columns: Vec<Column>,
    peaks: Peaks,
    is_broken: bool,
    last_used: u64,
    /// Why nothing fits, and what evicting would do about it.
    pub(crate) tally: Tally,
    contests: Vec<Contest>,
    /// Nodes that are being looked at, and their scores: kept so that a pod allocates nothing.
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

/// Raw scores from facts that are normalised by the highest among the nodes that fit.
struct Column {
    weight: i32,
    normalize: Normalize,
    raw: Vec<i32>,
    /// How many nodes that fit have each raw score, in no order: there are few scores.
    counts: Vec<(i32, usize)>,
    /// The highest raw score that totals were worked out with.
    highest: i32,
}

impl Column {
    fn score(&self, node: usize) -> i32 {
        self.weight * self.normalize.score(self.raw[node], self.highest)
    }

    fn current_highest(&self) -> i32 {
        self.counts.iter().map(|(raw, _)| *raw).max().unwrap_or(0)
    }

    fn count(&mut self, node: usize, is_fit: bool) {
        let raw = self.raw[node];
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
}

impl Board {
    pub(crate) fn new(profile: &Profile, catalog: &Catalog, class: &Class) -> Self {
        let prepare = |plugins: &[Arc<dyn Feasible>]| -> Vec<Named<dyn Narrow>> {
            let prepared =
                |plugin: &Arc<dyn Feasible>| Some((plugin.name(), plugin.prepare(catalog, class)?));
            plugins.iter().filter_map(prepared).collect()
        };
        let ranking = |ranking: &Ranking| {
            let scores = ranking.plugin.prepare(catalog, class)?;
            // Without weight a ranking still has a say: it can find the question broken.
            if ranking.weight == 0 && !scores.is_broken() {
                return None;
            }
            Some(Prepared { plugin: ranking.plugin.name(), weight: ranking.weight, scores })
        };
        let rankings: Vec<_> = profile.rankings.iter().filter_map(ranking).collect();
        let claims_after = profile.rescues.claims_after.map(|after| {
            let asked = profile.before.get(..after);
            asked.map_or(usize::MAX, |asked| prepare(asked).len())
        });
        Self {
            generation: class.generation(),
            before: prepare(&profile.before),
            rescues: Rescues { claims_after, ..profile.rescues },
            filters: prepare(&profile.filters),
            is_broken: rankings.iter().any(|ranking| ranking.scores.is_broken()),
            rankings,
            mark: None,
            node_revision: 0,
            revision: 0,
            mark_around: None,
            node_revision_around: 0,
            columns: Vec::new(),
            peaks: Peaks::default(),
            last_used: 0,
            tally: Tally::default(),
            contests: Vec::new(),
            nodes: Vec::new(),
            totals_before: Vec::new(),
            fitting: Vec::new(),
            scores: Vec::new(),
            sums: Vec::new(),
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
        let revision = self.rankings.iter().map(|r| r.scores.revision(view.catalog)).max();
        let revision = revision.unwrap_or(0);
        let is_current =
            self.node_revision == view.catalog.node_revision() && self.revision == revision;
        let touched = self.mark.and_then(|mark| view.usage.touched_since(mark));
        match touched {
            // Beyond a part of the nodes, all of them in order are quicker than some at random.
            Some(touched) if is_current && touched.len() <= view.catalog.nodes().len() / 4 => {
                self.nodes.clear();
                // Places made since are of nodes that are not there: else all would be rebuilt.
                let is_known = |node: &NodeId| node.index() < self.peaks.count();
                self.nodes.extend(touched.iter().map(|touch| touch.node).filter(is_known));
                if touched.iter().any(|touch| touch.is_facts) {
                    self.refresh_facts(view);
                }
                self.refresh_loads(view);
            }
            _ => self.rebuild(view),
        }
        self.node_revision = view.catalog.node_revision();
        self.revision = revision;
        self.mark = Some(view.usage.mark());
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

    /// Whether a node fits as far as the node alone tells.
    pub(crate) fn is_fitting(&self, node: NodeId) -> bool {
        node.index() < self.peaks.count() && self.peaks.total(node.index()) != UNFIT
    }

    /// Whether a node would do if it were empty, as far as its facts tell.
    pub(crate) fn is_allowed(&self, node: NodeId) -> bool {
        node.index() < self.peaks.count() && self.peaks.fixed(node.index()) != UNFIT
    }

    fn rebuild(&mut self, view: View<'_>) {
        let places = view.catalog.node_places();
        self.peaks = Peaks::new(places);
        let is_column = |prepared: &&Prepared| {
            prepared.scores.reach() == Reach::Facts
                && prepared.scores.normalize() != Normalize::Ready
        };
        let column = |prepared: &Prepared| Column {
            weight: prepared.weight,
            normalize: prepared.scores.normalize(),
            raw: vec![0; places],
            counts: Vec::new(),
            highest: 0,
        };
        self.columns = self.rankings.iter().filter(is_column).map(column).collect();
        self.nodes.clear();
        self.nodes.extend_from_slice(view.catalog.nodes());
        self.refresh_facts(view);
        self.refresh_loads(view);
    }

    /// Asks about the nodes at hand what depends on facts alone.
    fn refresh_facts(&mut self, view: View<'_>) {
        // Raw scores change: nodes are counted anew when their loads are looked at.
        self.take_totals();
        for (node, before) in self.nodes.iter().zip(&self.totals_before) {
            *self.peaks.total_mut(node.index()) = UNFIT;
            if *before != UNFIT {
                self.columns.iter_mut().for_each(|column| column.count(node.index(), false));
                self.peaks.lift(node.index(), *before);
            }
        }
        self.nodes.iter().for_each(|node| *self.peaks.fixed_mut(node.index()) = UNFIT);
        view.catalog.look(self.nodes.len());
        let mut nodes = self.nodes.clone();
        nodes.retain(|node| view.catalog.has_node(*node));
        if let Screen::Only(only) = screen(&self.before, view) {
            let is_named = |name: &str| only.iter().all(|(_, names)| names.contains(name));
            nodes.retain(|node| is_named(view.catalog.node_name(*node)));
        }
        for (_, filter) in self.filters.iter().filter(|(_, f)| f.reach() == Reach::Facts) {
            filter.narrow(view, &mut nodes);
        }
        nodes.iter().for_each(|node| *self.peaks.fixed_mut(node.index()) = 0);
        let mut columns = self.columns.iter_mut();
        self.scores.resize(nodes.len(), 0);
        for prepared in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Facts) {
            prepared.scores.scores(view, &nodes, &mut self.scores);
            let raws = nodes.iter().map(|node| node.index()).zip(&self.scores);
            if prepared.scores.normalize() == Normalize::Ready {
                raws.for_each(|(node, raw)| *self.peaks.fixed_mut(node) += prepared.weight * raw);
            } else {
                let column = columns.next().expect("one column per normalised ranking");
                for (node, raw) in raws {
                    column.raw[node] = *raw;
                    *self.peaks.fixed_mut(node) += column.score(node);
                }
            }
        }
    }

    /// Asks about the nodes at hand what depends on their load, and works out their totals.
    // Hot: once per pod, for the nodes touched since the class was last looked at.
    fn refresh_loads(&mut self, view: View<'_>) {
        self.take_totals();
        self.fitting.clear();
        let is_allowed = |node: &&NodeId| self.peaks.fixed(node.index()) != UNFIT;
        self.fitting.extend(self.nodes.iter().filter(is_allowed));
        view.catalog.look(self.fitting.len());
        for (_, filter) in self.filters.iter().filter(|(_, f)| f.reach() == Reach::Load) {
            filter.narrow(view, &mut self.fitting);
        }
        let fixed = |node: &NodeId| self.peaks.fixed(node.index());
        self.sums.clear();
        self.sums.extend(self.fitting.iter().map(fixed));
        self.scores.resize(self.fitting.len(), 0);
        for prepared in self.rankings.iter().filter(|r| r.scores.reach() == Reach::Load) {
            assert_eq!(prepared.scores.normalize(), Normalize::Ready, "loads are not normalised");
            prepared.scores.scores(view, &self.fitting, &mut self.scores);
            for (sum, score) in self.sums.iter_mut().zip(&self.scores) {
                *sum += prepared.weight * score;
            }
        }
        for (node, sum) in self.fitting.iter().zip(&self.sums) {
            *self.peaks.total_mut(node.index()) = *sum;
        }
        for (node, before) in self.nodes.iter().zip(&self.totals_before) {
            let total = self.peaks.total_mut(node.index());
            let is_fit = *total != STALE;
            if !is_fit {
                *total = UNFIT;
            }
            if is_fit != (*before != UNFIT) {
                self.columns.iter_mut().for_each(|column| column.count(node.index(), is_fit));
            }
        }
        if self.renormalize() || self.nodes.len() > self.peaks.count() / 16 {
            self.peaks.lift_all();
        } else {
            for (node, before) in self.nodes.iter().zip(&self.totals_before) {
                self.peaks.lift(node.index(), *before);
            }
        }
    }

    /// Makes the totals of the nodes at hand stale, keeps each of these nodes at hand once, and
    /// notes what its total was.
    fn take_totals(&mut self) {
        self.totals_before.clear();
        self.nodes.retain(|node| {
            let total = std::mem::replace(self.peaks.total_mut(node.index()), STALE);
            if total != STALE {
                self.totals_before.push(total);
            }
            total != STALE
        });
    }

    /// Works totals out anew where the highest raw score among the nodes that fit is another one.
    fn renormalize(&mut self) -> bool {
        let mut is_changed = false;
        for column in &mut self.columns {
            let before = column.highest;
            let highest = column.current_highest();
            if before == highest {
                continue;
            }
            is_changed = true;
            for node in 0..self.peaks.count() {
                if self.peaks.fixed(node) == UNFIT {
                    continue;
                }
                column.highest = before;
                let old = column.score(node);
                column.highest = highest;
                let change = column.score(node) - old;
                *self.peaks.fixed_mut(node) += change;
                let total = self.peaks.total_mut(node);
                if *total != UNFIT {
                    *total += change;
                }
            }
            column.highest = highest;
        }
        is_changed
    }

    /// The best node that is not held for others. Of several that are equally good, `seed` decides.
    pub(crate) fn best(&mut self, view: View<'_>, held: &[NodeId], seed: u64) -> Option<NodeId> {
        if self.is_around(view) || !held.is_empty() {
            return self.best_around(view, held, seed);
        }
        self.peaks.best(seed).map(NodeId::at)
    }

    /// The given nodes that take a pod and are not held for others.
    pub(crate) fn fitting_among(
        &mut self,
        view: View<'_>,
        nodes: &[NodeId],
        held: &[NodeId],
    ) -> Vec<NodeId> {
        self.narrow_to(view, nodes, held);
        self.fitting.clone()
    }
}

/// The boards of all classes in use.
pub(crate) struct Boards {
    boards: Vec<Option<Box<Board>>>,
    kept: usize,
    uses: u64,
    totals_max: usize,
}

impl Boards {
    pub(crate) fn new(totals_max: usize) -> Self {
        Self { boards: Vec::new(), kept: 0, uses: 0, totals_max }
    }

    /// The board of a class, made if there is none.
    pub(crate) fn of(
        &mut self,
        class: ClassId,
        profile: &Profile,
        catalog: &Catalog,
    ) -> &mut Board {
        if self.boards.len() <= class.index() {
            self.boards.resize_with(class.index() + 1, || None);
        }
        self.uses += 1;
        let facts = catalog.class(class);
        let kept = self.boards[class.index()].as_ref();
        if kept.is_none_or(|board| board.generation != facts.generation()) {
            if kept.is_none() {
                self.make_room(catalog.node_places());
                self.kept += 1;
            }
            self.boards[class.index()] = Some(Box::new(Board::new(profile, catalog, facts)));
            catalog.look(1);
        }
        let board = self.boards[class.index()].as_mut().expect("the board was just made");
        board.last_used = self.uses;
        board
    }

    fn make_room(&mut self, places: usize) {
        if self.kept < (self.totals_max / places.max(1)).max(1) {
            return;
        }
        let used = |board: &Option<Box<Board>>| board.as_ref().map_or(u64::MAX, |b| b.last_used);
        if let Some(oldest) = self.boards.iter_mut().min_by_key(|board| used(board)) {
            *oldest = None;
            self.kept -= 1;
        }
    }
}
