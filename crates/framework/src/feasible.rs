//! "Which nodes could hold a pod of this class?"

use std::collections::BTreeSet;

use model::{
    Catalog, Class, Columns, GangId, NodeId, Occupant, Reason, TagsId, Touch, Touched, Usage,
};

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
    /// The gang it belongs to. Only answers that reach around may depend on it.
    pub gang: Option<GangId>,
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

/// Nodes whose totals are worked out together, with a row of columns for each.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// Has a row for every node, and others.
    pub columns: &'a Columns,
    /// The row of the first.
    pub from: usize,
    /// Whose rows they are, if not those of nodes in the order of places.
    touches: Option<&'a [Touch]>,
}

impl<'a> Rows<'a> {
    /// All nodes from a place on.
    #[must_use]
    pub fn places(usage: &'a Usage, from: usize) -> Self {
        Self { columns: usage.columns(), from, touches: None }
    }

    /// Nodes that were touched; the same may be among them more than once.
    #[must_use]
    pub fn touched(Touched { touches, columns, from }: Touched<'a>) -> Self {
        Self { columns, from, touches: Some(touches) }
    }

    /// The node whose total is at a position.
    #[must_use]
    pub fn node(self, at: usize) -> NodeId {
        self.touches.map_or_else(|| NodeId::at(self.from + at), |touches| touches[at].node)
    }

    /// So many rows of a column.
    #[must_use]
    pub fn of(self, column: &'a [f64], count: usize) -> &'a [f64] {
        &column[self.from..self.from + count]
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

    /// Told apart from the answers for other classes of which the plugin reads the same; 0 if there
    /// are no others. Where answers reach no further than facts, classes share those that have the
    /// same number.
    fn variant(&self) -> u64 {
        0
    }

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

    /// How many pods of the class a node takes one after the other, as far as this filter tells:
    /// never too few. Only asked where answers reach as far as the load.
    fn room(&self, view: View<'_>, node: NodeId) -> u32 {
        if self.why_not(view, node).is_empty() { u32::MAX } else { 0 }
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
