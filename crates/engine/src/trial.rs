//! What if: changes that are made to see what comes of them, and taken back.

use framework::View;
use model::{NodeId, Occupant, Pod, PodId, Reason, Savepoint, Txn};

use crate::board::Board;
use crate::explain::why_not;
use crate::screen::Screen;
use crate::tally::Tally;

/// A pod, what is kept for its class, and a transaction to try things on.
pub(crate) struct Trial<'a, 't> {
    pub(crate) id: PodId,
    pub(crate) pod: &'a Pod,
    pub(crate) board: &'a mut Board,
    pub(crate) txn: &'a mut Txn<'t>,
    /// More important pods for which others were evicted in vain, with the nodes that are proposed
    /// for them.
    insisting: Vec<(Occupant, NodeId)>,
}

impl<'a, 't> Trial<'a, 't> {
    pub(crate) fn new(id: PodId, pod: &'a Pod, board: &'a mut Board, txn: &'a mut Txn<'t>) -> Self {
        let insisting = insisting(pod, board, txn);
        Self { id, pod, board, txn, insisting }
    }

    pub(crate) fn view(&self) -> View<'_> {
        view(self.txn, self.pod)
    }

    /// Who turns the pod away from a node, and why. The pods for which room is held there are
    /// counted there if this one must respect that, and those that insist where they want to be;
    /// it must fit with them and without.
    pub(crate) fn why_not(
        &mut self,
        screen: &Screen,
        node: NodeId,
    ) -> Option<(&'static str, Vec<Reason>)> {
        let answer = self.why_not_beside_rivals(screen, node);
        if answer.is_some() { answer } else { self.ask(screen, node) }
    }

    /// The same, as if all pods to which the pod must yield were there; nothing if there are none.
    pub(crate) fn why_not_beside_rivals(
        &mut self,
        screen: &Screen,
        node: NodeId,
    ) -> Option<(&'static str, Vec<Reason>)> {
        if !self.has_rivals(node) {
            return None;
        }
        let start = self.txn.savepoint();
        self.place_rivals(node);
        let answer = self.ask(screen, node);
        self.take_back(start);
        answer
    }

    /// Takes back what was tried since a moment.
    pub(crate) fn take_back(&mut self, to: Savepoint) {
        let Self { pod, board, txn, .. } = self;
        let catalog = txn.catalog();
        txn.rewind(to, |usage| {
            board.catch_up_around(
                View { catalog, usage, tags: pod.tags, gang: pod.gang },
                to.mark(),
            );
        });
    }

    /// Whether there may be rivals on some node.
    pub(crate) fn has_rivals_somewhere(&self) -> bool {
        let highest = self.txn.usage().holds().highest();
        highest.is_some_and(|highest| highest >= self.pod.rest.priority)
            || !self.insisting.is_empty()
    }

    /// Whether there are pods to which the pod must yield on a node.
    pub(crate) fn has_rivals(&self, node: NodeId) -> bool {
        let holds = self.txn.usage().holds();
        holds.against(self.id, self.pod.rest.priority, node).next().is_some()
            || self.insisting.iter().any(|(_, at)| *at != node)
    }

    /// Counts pods to which the pod must yield on a node where they want to be: there, or anywhere
    /// for pods that insist.
    fn place_rivals(&mut self, node: NodeId) {
        let Self { id, pod, txn, insisting, .. } = self;
        let against = txn.usage().holds().against(*id, pod.rest.priority, node);
        let against: Vec<Occupant> = against.map(|hold| hold.occupant).collect();
        against.into_iter().for_each(|rival| txn.place(rival, node));
        let elsewhere = insisting.iter().filter(|(_, at)| *at != node);
        elsewhere.for_each(|(rival, at)| txn.place(*rival, *at));
    }

    /// Nodes on which there may be pods to which the pod must yield.
    pub(crate) fn contested(&self) -> Vec<NodeId> {
        match self.insisting.is_empty() {
            true => self.txn.usage().holds().nodes_from(self.pod.rest.priority),
            false => self.txn.catalog().nodes().into(),
        }
    }

    /// Whether what nodes say of the pod, but for those that are its own, they say of all pods of
    /// its class and priority, and until they are touched.
    pub(crate) fn is_like_others(&self) -> bool {
        let view = self.view();
        // Beside pods that rules are about, or that have some, it matters who else is where.
        let mut kinds = view.usage.holds().kinds();
        self.insisting.is_empty()
            && !self.board.is_around(view)
            && kinds.all(|(class, tags)| view.catalog.has_no_rules(class, tags))
    }

    /// Nodes that take the pod as they are, but not with the pods it must yield to; in order.
    pub(crate) fn held(&mut self) -> Vec<NodeId> {
        if !self.has_rivals_somewhere() {
            return Vec::new();
        }
        let mut contest = self.board.take_contest(self.pod.rest.priority);
        contest.held.refresh(self);
        let held = contest.held.nodes().to_vec();
        self.board.keep_contest(contest);
        held
    }

    /// What all nodes say of the pod; to be given back.
    pub(crate) fn take_tally(&mut self, screen: &Screen) -> Tally {
        if !self.has_rivals_somewhere() {
            let mut tally = std::mem::take(&mut self.board.tally);
            tally.refresh(self.board, self.view());
            return tally;
        }
        let mut contest = self.board.take_contest(self.pod.rest.priority);
        contest.answers.refresh(self, screen);
        let tally = std::mem::take(&mut contest.answers.tally);
        self.board.keep_contest(contest);
        tally
    }

    pub(crate) fn keep_tally(&mut self, tally: Tally) {
        if !self.has_rivals_somewhere() {
            self.board.tally = tally;
            return;
        }
        let mut contest = self.board.take_contest(self.pod.rest.priority);
        contest.answers.tally = tally;
        self.board.keep_contest(contest);
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
    View { catalog: txn.catalog(), usage: txn.usage(), tags: pod.tags, gang: pod.gang }
}

/// More important pods for which others were evicted in vain. A pod that only stayed away from the
/// node that is proposed for them could go where their rules about others, or its own, keep them
/// from that node, and be evicted in its turn: for ever, as it makes way for its like.
/// kube-scheduler does that.
fn insisting(pod: &Pod, board: &Board, txn: &Txn<'_>) -> Vec<(Occupant, NodeId)> {
    let catalog = txn.catalog();
    // Elsewhere they are in nobody's way but by rules about pods.
    let matters = |rival: &Pod| {
        !catalog.class(rival.class).company.far.is_empty() || board.is_around(view(txn, pod))
    };
    let insisting = catalog.insisting().filter_map(|(id, at)| {
        let rival = catalog.pod(id);
        let is_above = rival.rest.priority > pod.rest.priority;
        (is_above && matters(rival)).then(|| (rival.occupant(id), at))
    });
    insisting.collect()
}
