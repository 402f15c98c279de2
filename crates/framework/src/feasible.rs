//! "Which nodes could hold a pod of this class?"

use std::collections::BTreeSet;

use model::{Catalog, Class, NodeId, Reason, Usage};

use crate::plugin::Plugin;

/// Everything a question may look at.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Facts.
    pub catalog: &'a Catalog,
    /// What is taken.
    pub usage: &'a Usage,
}

/// What an answer about a node depends on, and so when a kept answer is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Facts of that node alone.
    Facts,
    /// Facts of that node, and what is taken of it.
    Load,
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

/// A plugin that can rule nodes out.
pub trait Feasible: Plugin {
    /// What it has worked out for a class, or nothing if it does not care about such pods.
    fn prepare(&self, catalog: &Catalog, class: &Class) -> Option<Box<dyn Narrow>>;
}

/// The prepared answer for one class. It owns what it needs and stays good while the class lives.
pub trait Narrow: Send + Sync {
    /// What the answers about nodes depend on.
    fn reach(&self) -> Reach;

    /// What it says before any node is looked at.
    fn before(&self, _view: View<'_>) -> Verdict {
        Verdict::Open
    }

    /// Hot: takes the nodes that do not fit out of `nodes`, keeping the order.
    fn narrow(&self, view: View<'_>, nodes: &mut Vec<NodeId>) {
        nodes.retain(|node| self.why_not(view, *node).is_empty());
    }

    /// Cold: why a node does not fit, in order; empty if it fits.
    fn why_not(&self, view: View<'_>, node: NodeId) -> Vec<Reason>;
}
