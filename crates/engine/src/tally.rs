//! Why no node takes pods of a class, kept up to date by the nodes that were touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use framework::View;
use model::{Catalog, Code, Diagnosis, NodeId, Reason, Rescue};

use crate::board::Board;
use crate::cycle::Within;
use crate::explain::why_not;
use crate::screen::screen;

/// How many nodes give which reasons.
#[derive(Default)]
pub(crate) struct Tally {
    /// The log's end when the tally was last brought up to date; none before the first time.
    mark: Option<u64>,
    node_revision: u64,
    /// By node, where its answer is among the answers; none for nodes that are not there.
    answer_of: Vec<Option<usize>>,
    /// Distinct answers and how many nodes give them: few, as most nodes are alike.
    answers: Vec<(Vec<Reason>, usize)>,
    /// Diagnoses as of now, by what else was done for a pod.
    diagnoses: Vec<Arc<Diagnosis>>,
}

/// Whether room could help on a node. The worst code speaks for all its reasons.
fn is_evictable(reasons: &[Reason]) -> bool {
    Code::worst(reasons) == Some(Code::Unschedulable)
}

/// What nodes say of one pod alone, instead of what they say of its class.
pub(crate) type Instead = Vec<(NodeId, Vec<Reason>)>;

impl Tally {
    /// How many bytes it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.answer_of.capacity() * size_of::<Option<usize>>()
    }

    /// Brings the answers up to date.
    pub(crate) fn refresh(&mut self, board: &Board, view: View<'_>) {
        let is_around = board.is_around(view);
        let is_current = self.node_revision == view.catalog.node_revision() && !is_around;
        let touched = self.mark.filter(|_| is_current);
        let touched = touched.and_then(|mark| view.usage.touched_since(mark));
        let touched = touched.map(|touched| {
            let mut nodes: Vec<NodeId> = touched.iter().map(|touch| touch.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        });
        let screen = screen(&board.before, view);
        self.update(view.catalog, touched.as_deref(), |node| {
            why_not(board, &screen, view, node).unwrap_or_default().1
        });
        // Answers that reach around hold for this pod at this moment alone.
        self.mark = Some(view.usage.mark()).filter(|_| !is_around);
        self.node_revision = view.catalog.node_revision();
    }

    /// Asks nodes anew, or all of them.
    pub(crate) fn update(
        &mut self,
        catalog: &Catalog,
        nodes: Option<&[NodeId]>,
        mut ask: impl FnMut(NodeId) -> Vec<Reason>,
    ) {
        let mut is_changed = nodes.is_none();
        if is_changed {
            self.answers.clear();
            self.answer_of.clear();
            self.answer_of.resize(catalog.node_places(), None);
            let empty = self.find(Vec::new());
            catalog.nodes().iter().for_each(|node| self.answer_of[node.index()] = Some(empty));
            self.answers[empty].1 = catalog.nodes().len();
        }
        for node in nodes.unwrap_or(catalog.nodes()) {
            // Places without a node are touched too, by pods that name it.
            if let Some(Some(before)) = self.answer_of.get(node.index()).copied() {
                is_changed |= self.change(*node, before, ask(*node));
            }
        }
        if is_changed {
            self.diagnoses.clear();
        }
    }

    /// What a node says.
    pub(crate) fn answer(&self, node: NodeId) -> &[Reason] {
        let answer = self.answer_of.get(node.index()).copied().flatten();
        answer.map_or(&[], |answer| &self.answers[answer].0)
    }

    /// Whether a node gives a reason of some sort.
    pub(crate) fn gives(&self, instead: &Instead, is_it: fn(&Reason) -> bool) -> bool {
        self.answers_with(instead).any(|(reasons, _)| reasons.iter().any(is_it))
    }

    /// How many nodes give which reason.
    fn counts(&self, instead: &Instead) -> BTreeMap<Reason, usize> {
        let mut counts: BTreeMap<Reason, usize> = BTreeMap::new();
        for (reasons, count) in self.answers_with(instead) {
            for reason in reasons {
                *counts.entry(reason.clone()).or_default() += count;
            }
        }
        counts
    }

    /// On how many nodes that a pod may go to room could help.
    pub(crate) fn evictable(&self, instead: &Instead, within: &Within) -> usize {
        let evictable = self.answers_with(instead).filter(|(reasons, _)| is_evictable(reasons));
        let evictable: usize = evictable.map(|(_, count)| count).sum();
        if within.is_open() {
            return evictable;
        }
        let is_outside = |(at, answer): &(usize, &Option<usize>)| {
            let node = NodeId::at(*at);
            let is_replaced = instead.iter().any(|(other, _)| *other == node);
            let reasons = answer.map(|answer| &*self.answers[answer].0);
            !within.allows(node) && !is_replaced && reasons.is_some_and(is_evictable)
        };
        evictable - self.answer_of.iter().enumerate().filter(is_outside).count()
    }

    /// Distinct answers, and how many nodes give them.
    fn answers_with<'a>(
        &'a self,
        instead: &'a Instead,
    ) -> impl Iterator<Item = (&'a [Reason], usize)> {
        let answer_of = |node: &NodeId| self.answer_of.get(node.index()).copied().flatten();
        let common = self.answers.iter().enumerate().map(move |(at, (reasons, count))| {
            let replaced = instead.iter().filter(|(node, _)| answer_of(node) == Some(at)).count();
            (&**reasons, count - replaced)
        });
        let own = instead.iter().map(|(_, reasons)| (&**reasons, 1));
        common.chain(own).filter(|(_, count)| *count > 0)
    }

    /// The diagnosis of a pod.
    pub(crate) fn diagnosis(
        &mut self,
        nodes: usize,
        instead: &Instead,
        rescue: Rescue,
    ) -> Arc<Diagnosis> {
        let is_kept = |diagnosis: &&Arc<Diagnosis>| diagnosis.rescue == rescue;
        let kept = self.diagnoses.iter().find(is_kept).filter(|_| instead.is_empty());
        if let Some(kept) = kept {
            return kept.clone();
        }
        let counts = self.counts(instead).into_iter().collect();
        let is_common = instead.is_empty() && !matches!(rescue, Rescue::Preempts { .. });
        let diagnosis = Arc::new(Diagnosis { nodes, counts, rescue, ..Diagnosis::default() });
        if is_common {
            self.diagnoses.push(diagnosis.clone());
        }
        diagnosis
    }

    /// Takes in the answer of a node; tells whether it is another one than before.
    fn change(&mut self, node: NodeId, before: usize, reasons: Vec<Reason>) -> bool {
        if self.answers[before].0 == reasons {
            return false;
        }
        let after = self.find(reasons);
        self.answers[before].1 -= 1;
        self.answers[after].1 += 1;
        self.answer_of[node.index()] = Some(after);
        true
    }

    fn find(&mut self, reasons: Vec<Reason>) -> usize {
        let found = self.answers.iter().position(|(other, _)| *other == reasons);
        found.unwrap_or_else(|| {
            self.answers.push((reasons, 0));
            self.answers.len() - 1
        })
    }
}
