//! Which nodes have to be asked anew, so that what is kept of all nodes for pods of one class and
//! priority holds for one of them.

use model::NodeId;

use crate::trial::Trial;

/// For whom, and since when, kept results hold.
#[derive(Default)]
pub(crate) struct Freshness {
    /// The log's end when they were last brought up to date; none before the first time, and where
    /// they hold for one pod at one moment alone.
    mark: Option<u64>,
    revisions: (u64, u64),
    /// Nodes whose result holds only for the pod that was asked about last.
    stale: Vec<NodeId>,
}

impl Freshness {
    /// Nodes to be asked anew, in order; none if that is all of them, which is so when `revisions`
    /// are others, or more than `touched_max` nodes were touched. To the pod, `own` nodes can be
    /// others than to its like. Results count as up to date from now on.
    pub(crate) fn renew(
        &mut self,
        trial: &Trial<'_, '_>,
        revisions: (u64, u64),
        own: Vec<NodeId>,
        touched_max: usize,
    ) -> Option<Vec<NodeId>> {
        let is_like_others = trial.is_like_others();
        let usage = trial.txn.usage();
        let mark = self.mark.filter(|_| is_like_others && self.revisions == revisions);
        let touched = mark.and_then(|mark| usage.touched_since(mark));
        let touched = touched.filter(|touched| touched.len() < touched_max);
        let nodes = touched.map(|touched| {
            let touched = touched.iter().map(|touch| touch.node);
            let others = self.stale.iter().chain(&own).copied();
            let mut nodes: Vec<NodeId> = touched.chain(others).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        });
        self.mark = Some(usage.mark()).filter(|_| is_like_others);
        (self.revisions, self.stale) = (revisions, own);
        nodes
    }
}
