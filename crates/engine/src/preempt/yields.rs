//! What nodes say of pods of one class and priority that must respect holds, kept up to date by
//! the nodes that were touched: where somebody came or left, and where room is held or was.

use model::NodeId;

use super::fresh::Freshness;
use crate::screen::Screen;
use crate::tally::Tally;
use crate::trial::Trial;

/// So many touched nodes are asked about, however few holds there are.
const TOUCHED_SOME: usize = 64;

/// Nodes that would take the pods if nothing were held.
#[derive(Default)]
pub(crate) struct Held {
    fresh: Freshness,
    /// In order.
    nodes: Vec<NodeId>,
}

impl Held {
    /// The nodes, in order.
    pub(crate) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// How many bytes it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<NodeId>()
    }

    /// Brings the nodes up to date for a pod, whose board is.
    pub(crate) fn refresh(&mut self, trial: &mut Trial<'_, '_>) {
        let touched_max = TOUCHED_SOME.max(trial.txn.usage().holds().count());
        // What a node says with holds depends on no other node.
        match self.fresh.renew(trial, (0, 0), own(trial), touched_max) {
            Some(nodes) => {
                for node in nodes {
                    let is_held = is_held(trial, node);
                    match (self.nodes.binary_search(&node), is_held) {
                        (Ok(at), false) => drop(self.nodes.remove(at)),
                        (Err(at), true) => self.nodes.insert(at, node),
                        (Ok(_), true) | (Err(_), false) => {}
                    }
                }
            }
            None => {
                self.nodes = trial.contested();
                self.nodes.retain(|node| is_held(trial, *node));
            }
        }
    }
}

/// What all nodes say.
#[derive(Default)]
pub(crate) struct Answers {
    fresh: Freshness,
    pub(crate) tally: Tally,
}

impl Answers {
    /// Brings the answers up to date for a pod.
    pub(crate) fn refresh(&mut self, trial: &mut Trial<'_, '_>, screen: &Screen) {
        let catalog = trial.txn.catalog();
        let revisions = (catalog.node_revision(), 0);
        let nodes = self.fresh.renew(trial, revisions, own(trial), catalog.nodes().len());
        self.tally.update(catalog, nodes.as_deref(), |node| {
            trial.why_not(screen, node).unwrap_or_default().1
        });
    }
}

/// Nodes on which the pod holds room itself: it need not respect that, and its like must.
fn own(trial: &Trial<'_, '_>) -> Vec<NodeId> {
    trial.txn.catalog().nominated_node(trial.id).into_iter().collect()
}

/// Whether a node takes the pod as it is, as far as the node alone tells, but not beside the pods
/// it must yield to.
// Hot for such pods: asked of every touched node.
fn is_held(trial: &mut Trial<'_, '_>, node: NodeId) -> bool {
    trial.board.is_fitting(node) && trial.why_not_beside_rivals(&Screen::Open, node).is_some()
}
