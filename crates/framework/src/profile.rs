//! A profile, ready to be asked.

use std::sync::Arc;

use model::Millis;

use crate::admit::Admit;
use crate::classify::Classify;
use crate::feasible::Feasible;
use crate::network::Network;
use crate::order::Order;
use crate::rank::Rank;

/// The plugins of one scheduler name.
pub struct Profile {
    /// Pods that name this scheduler are scheduled by this profile.
    pub scheduler: String,
    /// Who goes first.
    pub order: Arc<dyn Order>,
    /// Who says what a pod is, if anybody does.
    pub classifier: Option<Arc<dyn Classify>>,
    /// Who may be tried.
    pub admit: Vec<Arc<dyn Admit>>,
    /// Who may refuse a pod or name its nodes, in the order they are asked.
    pub before: Vec<Arc<dyn Feasible>>,
    /// Who may rule nodes out, in the order they are asked.
    pub filters: Vec<Arc<dyn Feasible>>,
    /// Who ranks nodes.
    pub rankings: Vec<Ranking>,
    /// Who knows the network that gangs are planned by, if anybody does.
    pub network: Option<Arc<dyn Network>>,
    /// Who reads the labels and annotations of pods that make gangs, if anybody does. A PodGroup of
    /// Kubernetes that the pod's spec names counts in every profile, as an API server that keeps
    /// the field promises.
    pub gang_reader: Option<&'static str>,
    /// Who is asked about a pod that fits nowhere.
    pub rescues: Rescues,
    /// Whether pods are told the zones of their nodes that they are thought to be in.
    pub tells_zones: bool,
    /// Whether pods are told the GPUs that they are thought to have.
    pub tells_gpus: bool,
    /// Whether what plugins prepare for a class depends on the tiers that tenants have.
    pub reads_tiers: bool,
    /// For how long a pod that is on its way waits for its volumes; none if claims are not given
    /// volumes.
    pub volume_timeout: Option<Millis>,
}

/// What is tried for pods that fit nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rescues {
    /// Whether less important pods may be evicted.
    pub preemption: bool,
    /// Whether claims may be given up, and how many plugins before any node is looked at come up
    /// to and including the one that looks at the claims; beyond all if none does.
    pub claims_after: Option<usize>,
}

/// A plugin that ranks nodes.
pub struct Ranking {
    /// The plugin.
    pub plugin: Arc<dyn Rank>,
    /// How much its score counts; 0 if it only prepares scores that nobody asks for.
    pub weight: i32,
}
