//! Why no node takes pods of a class, kept up to date by the nodes that were touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use framework::View;
use model::{Code, Diagnosis, NodeId, Reason, Rescue};

use crate::board::Board;
use crate::explain::why_not;
use crate::rescue::{Appeal, is_own};
use crate::screen::{Screen, screen};

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
    /// The diagnosis as of now, by what else could be done for a pod.
    diagnoses: Vec<(Appeal, Arc<Diagnosis>)>,
}

impl Tally {
    /// The diagnosis as of now.
    pub(crate) fn refresh(
        &mut self,
        board: &Board,
        view: View<'_>,
        appeal: Appeal,
    ) -> Arc<Diagnosis> {
        let is_around = board.is_around(view);
        let is_current = self.node_revision == view.catalog.node_revision() && !is_around;
        let touched = self.mark.filter(|_| is_current);
        let touched = touched.and_then(|mark| view.usage.touched_since(mark));
        let screen = screen(&board.before, view);
        let is_changed = match touched {
            Some(touched) => {
                let mut is_changed = false;
                for touch in touched {
                    is_changed |= self.ask(board, &screen, view, touch.node);
                }
                is_changed
            }
            None => {
                self.answers.clear();
                self.answer_of.clear();
                self.answer_of.resize(view.catalog.node_places(), None);
                for node in view.catalog.nodes() {
                    self.answer_of[node.index()] = Some(self.find(Vec::new()));
                    self.answers[0].1 += 1;
                    self.ask(board, &screen, view, *node);
                }
                true
            }
        };
        // Answers that reach around hold for this pod at this moment alone.
        self.mark = Some(view.usage.mark()).filter(|_| !is_around);
        self.node_revision = view.catalog.node_revision();
        if is_changed {
            self.diagnoses.clear();
        }
        if let Some((_, kept)) = self.diagnoses.iter().find(|(other, _)| *other == appeal) {
            return kept.clone();
        }
        let diagnosis = Arc::new(self.diagnose(board, view.catalog.nodes().len(), appeal));
        self.diagnoses.push((appeal, diagnosis.clone()));
        diagnosis
    }

    /// Asks a node anew; tells whether its answer is another one.
    fn ask(&mut self, board: &Board, screen: &Screen, view: View<'_>, node: NodeId) -> bool {
        // Places without a node are touched too, by pods that name it.
        let Some(Some(before)) = self.answer_of.get(node.index()).copied() else { return false };
        let (_, reasons) = why_not(board, screen, view, node).unwrap_or_default();
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

    fn diagnose(&self, board: &Board, nodes: usize, appeal: Appeal) -> Diagnosis {
        let mut counts: BTreeMap<&Reason, usize> = BTreeMap::new();
        let mut evictable = 0;
        for (reasons, count) in self.answers.iter().filter(|(_, count)| *count > 0) {
            // The worst code speaks for all reasons of a node.
            if reasons.iter().map(Reason::code).max() == Some(Code::Unschedulable) {
                evictable += count;
            }
            reasons.iter().for_each(|reason| *counts.entry(reason).or_default() += count);
        }
        let rescue = if counts.keys().any(|reason| is_own(reason)) {
            Rescue::NotAsked
        } else {
            appeal.rescue(board.rescues, board.before.len(), evictable)
        };
        let counts = counts.into_iter().map(|(reason, count)| (reason.clone(), count)).collect();
        Diagnosis { nodes, rejection: None, counts, rescue }
    }
}
