//! "Which nodes could hold a pod of this class?"

use std::collections::BTreeSet;

use model::{Catalog, Class, NodeId, Occupant, Reason, TagsId, Touch, Usage};

use crate::parts::Parts;
use crate::plugin::Plugin;

/// Everything a question may look at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Facts.
    pub catalog: &'a Catalog,
    /// What is taken.
    pub usage: &'a Usage,
    /// What rules of other pods know the pod by that is asked about.
    pub tags: TagsId,
}

/// What an answer about a node depends on, and so when a kept answer is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Facts of that node alone.
    Facts,
    /// Facts of that node, and what is taken of it.
    Load,
    /// Where other pods are, and what the pod itself is known by: asked anew for every pod.
    Around,
}

/// What a plugin says of a class before any node is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Look at the nodes.
    Open,
    /// Look at the nodes with these names only.
    Only(BTreeSet<String>),
    /// Look at no node.
    Refused(Reason),
}

/// The total of a node that does not fit.
pub const UNFIT: i32 = i32::MIN;

/// Nodes whose totals are worked out together.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    /// As many as there are totals, from a place on.
    From(usize),
    /// These.
    These(&'a [NodeId]),
}

impl Rows<'_> {
    /// The node whose total is at a position.
    #[must_use]
    pub fn node(self, at: usize) -> NodeId {
        match self {
            Self::From(from) => NodeId::at(from + at),
            Self::These(nodes) => nodes[at],
        }
    }
}

/// A plugin that can rule nodes out.
pub trait Feasible: Plugin {
    /// What of a pod's spec its answers depend on that reach no further than facts.
    fn reads(&self) -> Parts {
        Parts::ALL
    }

    /// What it has worked out for a class, or nothing if it does not care about such pods.
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Narrow>>;
}

/// The prepared answer for one class. It owns what it needs and stays good while the class lives.
pub trait Narrow: Send + Sync {
    /// What the answers about nodes depend on.
    fn reach(&self) -> Reach;

    /// Whether there is anything to say of this pod as things are. Always, unless answers reach
    /// around.
    fn applies(&self, _view: View<'_>) -> bool {
        true
    }

    /// Takes in that these nodes are not what they were; all nodes if none are named. Only called
    /// where answers reach around, before questions about nodes.
    fn refresh(&mut self, _view: View<'_>, _touched: Option<&[Touch]>) {}

    /// Whether a pod that comes to a node, or leaves it, could turn a no into a yes: one that a
    /// rule is about, or that has one. Asked of every class that waits, so it must cost no more
    /// than a few comparisons. Only asked where answers reach around.
    fn is_moved_by(&self, _catalog: &Catalog, _occupant: Occupant) -> bool {
        false
    }

    /// What it says before any node is looked at.
    fn before(&self, _view: View<'_>) -> Verdict {
        Verdict::Open
    }

    /// Whether a node has too little free of something, for a reason of `why_not` of which `is_it`
    /// holds. Asked of every class that waits, so it must cost no more than a few comparisons; only
    /// plugins that compare amounts say yes.
    fn is_short(&self, _view: View<'_>, _node: NodeId, _is_it: &dyn Fn(&Reason) -> bool) -> bool {
        false
    }

    /// Hot: takes the nodes that do not fit out of `nodes`, keeping the order.
    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| self.why_not(view, *node).is_empty());
    }

    /// Hot: marks the nodes that do not fit. Odd nodes may get any total.
    fn sweep(&self, view: View<'_>, rows: Rows<'_>, totals: &mut [i32]) {
        let fit = (0..totals.len()).filter(|at| totals[*at] != UNFIT);
        let mut nodes: Vec<NodeId> = fit.map(|at| rows.node(at)).collect();
        self.narrow(view, &mut nodes);
        let mut left = nodes.iter().peekable();
        for (at, total) in totals.iter_mut().enumerate().filter(|(_, total)| **total != UNFIT) {
            if left.next_if(|node| **node == rows.node(at)).is_none() {
                *total = UNFIT;
            }
        }
    }

    /// Cold: why a node does not fit, in order; empty if it fits.
    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason>;
}
