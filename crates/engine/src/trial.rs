//! What if: changes that are made to see what comes of them, and taken back.

use framework::View;
use model::{NodeId, Occupant, Pod, PodId, Reason, Savepoint, Txn};

use crate::board::Board;
use crate::explain::why_not;
use crate::screen::Screen;

/// A pod, what is kept for its class, and a transaction to try things on.
pub(crate) struct Trial<'a, 't> {
    pub(crate) id: PodId,
    pub(crate) pod: &'a Pod,
    pub(crate) board: &'a mut Board,
    pub(crate) txn: &'a mut Txn<'t>,
}

impl Trial<'_, '_> {
    pub(crate) fn view(&self) -> View<'_> {
        view(self.txn, self.pod)
    }

    /// Who turns the pod away from a node, and why. The pods for which the node is proposed are
    /// counted there if this one must yield to them, and those that insist where they want to be;
    /// it must fit with them and without.
    pub(crate) fn why_not(
        &mut self,
        screen: &Screen,
        node: NodeId,
    ) -> Option<(&'static str, Vec<Reason>)> {
        let rivals = self.rivals(node);
        if !rivals.is_empty() {
            let start = self.txn.savepoint();
            rivals.into_iter().for_each(|(rival, at)| self.txn.place(rival, at));
            let answer = self.ask(screen, node);
            self.take_back(start);
            if answer.is_some() {
                return answer;
            }
        }
        self.ask(screen, node)
    }

    /// Takes back what was tried since a moment.
    pub(crate) fn take_back(&mut self, to: Savepoint) {
        let Self { pod, board, txn, .. } = self;
        let catalog = txn.catalog();
        txn.rewind(to, |usage| {
            board.catch_up_around(View { catalog, usage, tags: pod.tags }, to.mark());
        });
    }

    /// Pods to which the pod must yield on a node, each with the node that is proposed for it: this
    /// one, or any for pods that insist and are more important.
    pub(crate) fn rivals(&self, node: NodeId) -> Vec<(Occupant, NodeId)> {
        let catalog = self.txn.catalog();
        let rivals = catalog.nominated_to(node).iter().filter(|rival| **rival != self.id);
        let rivals = rivals.map(|rival| catalog.pod(*rival));
        let rivals = rivals.filter(|rival| rival.priority >= self.pod.priority);
        let rivals = rivals.map(|rival| (rival.occupant(), node));
        rivals.chain(self.insisting().filter(|(_, at)| *at != node)).collect()
    }

    /// Nodes on which there may be pods to which the pod must yield.
    pub(crate) fn contested(&self) -> Vec<NodeId> {
        let catalog = self.txn.catalog();
        match self.has_insisting() {
            true => catalog.nodes().into(),
            false => catalog.nominations().map(|(node, _)| node).collect(),
        }
    }

    /// Whether pods insist to which the pod must yield wherever it goes.
    pub(crate) fn has_insisting(&self) -> bool {
        self.insisting().next().is_some()
    }

    /// More important pods for which others were evicted in vain. A pod that only stayed away from
    /// the node that is proposed for them could go where their rules about others, or its own,
    /// keep them from that node, and be evicted in its turn: for ever, as it makes way for its
    /// like. kube-scheduler does that.
    fn insisting(&self) -> impl Iterator<Item = (Occupant, NodeId)> {
        let catalog = self.txn.catalog();
        let insisting = catalog.insisting().map(|(rival, at)| (catalog.pod(rival), at));
        // Elsewhere they are in nobody's way but by rules about pods.
        let matters = |rival: &Pod| {
            !catalog.class(rival.class).company.far.is_empty() || self.board.is_around(self.view())
        };
        let insisting = insisting
            .filter(move |(rival, _)| rival.priority > self.pod.priority && matters(rival));
        insisting.map(|(rival, at)| (rival.occupant(), at))
    }

    /// Nodes that take the pod as they are, but not with the pods it must yield to.
    pub(crate) fn held(&mut self) -> Vec<NodeId> {
        let mut held = Vec::new();
        for node in self.contested() {
            if self.board.is_fitting(node) && !self.rivals(node).is_empty() {
                let is_held = self.why_not(&Screen::Open, node).is_some();
                held.extend(is_held.then_some(node));
            }
        }
        held
    }

    fn ask(&mut self, screen: &Screen, node: NodeId) -> Option<(&'static str, Vec<Reason>)> {
        let Self { pod, board, txn, .. } = self;
        let view = view(txn, pod);
        if board.is_around(view) {
            board.refresh_around(view);
        }
        why_not(board, screen, view, node)
    }
}

/// What a pod is asked about, as it is with the changes so far.
pub(crate) fn view<'a>(txn: &'a Txn<'_>, pod: &Pod) -> View<'a> {
    View { catalog: txn.catalog(), usage: txn.usage(), tags: pod.tags }
}
