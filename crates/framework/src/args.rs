//! Arguments of plugins, as plain data. Whoever reads a configuration checks the values.

use model::{NodeTerm, Preference, SpreadSpec};

/// The arguments of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Args {
    /// Of `NodeAffinity`.
    NodeAffinity(NodeAffinityArgs),
    /// Of `NodeResourcesFit`.
    Fit(FitArgs),
    /// Of `NodeResourcesBalancedAllocation`.
    Balanced(BalancedArgs),
    /// Of `InterPodAffinity`.
    PodAffinity(PodAffinityArgs),
    /// Of `PodTopologySpread`.
    Spread(SpreadArgs),
}

/// How much the rules of pods that are already there count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodAffinityArgs {
    /// How welcome a pod is where another one must have it near, 0 to 100.
    pub near_weight: i32,
    /// Whether preferences of other pods count only for pods that have some themselves.
    pub ignores_preferences_of_others: bool,
}

impl Default for PodAffinityArgs {
    fn default() -> Self {
        Self { near_weight: 1, ignores_preferences_of_others: false }
    }
}

/// How pods are spread that say nothing of it themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpreadArgs {
    /// Over hosts and zones, softly.
    #[default]
    System,
    /// As listed; the pods that count follow from who owns the pod.
    List(Vec<SpreadSpec>),
}

/// Affinity that a profile adds to every pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeAffinityArgs {
    /// Terms of which every node must match one.
    pub required: Option<Vec<NodeTerm>>,
    /// Terms that make a node better.
    pub preferred: Vec<Preference>,
}

/// What counts when a pod is fitted onto a node, and how full nodes are scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FitArgs {
    /// Extended resources that are not checked.
    pub ignored_resources: Vec<String>,
    /// Domains of extended resources that are not checked.
    pub ignored_groups: Vec<String>,
    /// How nodes are scored.
    pub strategy: Strategy,
    /// Which resources are scored.
    pub resources: Vec<ResourceWeight>,
}

impl Default for FitArgs {
    fn default() -> Self {
        Self {
            ignored_resources: Vec::new(),
            ignored_groups: Vec::new(),
            strategy: Strategy::LeastAllocated,
            resources: ResourceWeight::cpu_and_memory(),
        }
    }
}

/// Which resources should be used evenly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalancedArgs {
    /// The resources; their weights do not matter.
    pub resources: Vec<ResourceWeight>,
}

impl Default for BalancedArgs {
    fn default() -> Self {
        Self { resources: ResourceWeight::cpu_and_memory() }
    }
}

/// A resource and how much it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceWeight {
    /// Its name.
    pub name: String,
    /// 1 to 100.
    pub weight: i64,
}

impl ResourceWeight {
    /// CPU and memory, counting the same.
    #[must_use]
    pub fn cpu_and_memory() -> Vec<Self> {
        ["cpu", "memory"].map(|name| Self { name: name.into(), weight: 1 }).into()
    }
}

/// How full nodes are scored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Emptier nodes are better.
    LeastAllocated,
    /// Fuller nodes are better.
    MostAllocated,
    /// A line through these points, by utilisation.
    RequestedToCapacityRatio(Vec<ShapePoint>),
}

/// A point of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePoint {
    /// 0 to 100.
    pub utilization: i64,
    /// 0 to 10.
    pub score: i64,
}
