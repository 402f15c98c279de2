//! A profile, ready to be asked.

use std::sync::Arc;

use crate::admit::Admit;
use crate::feasible::Feasible;
use crate::order::Order;
use crate::rank::Rank;

/// The plugins of one scheduler name.
pub struct Profile {
    /// Pods that name this scheduler are scheduled by this profile.
    pub scheduler: String,
    /// Who goes first.
    pub order: Arc<dyn Order>,
    /// Who may be tried.
    pub admit: Vec<Arc<dyn Admit>>,
    /// Who may refuse a pod or name its nodes, in the order they are asked.
    pub before: Vec<Arc<dyn Feasible>>,
    /// Who may rule nodes out, in the order they are asked.
    pub filters: Vec<Arc<dyn Feasible>>,
    /// Who ranks nodes.
    pub rankings: Vec<Ranking>,
}

/// A plugin that ranks nodes.
pub struct Ranking {
    /// The plugin.
    pub plugin: Arc<dyn Rank>,
    /// How much its score counts; 0 if it only prepares scores that nobody asks for.
    pub weight: i32,
}
