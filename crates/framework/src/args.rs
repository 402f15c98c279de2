//! Arguments of plugins, as plain data. Whoever reads a configuration checks the values.

mod tenant_hardware;

use model::{
    FabricLevel, LabelSelector, Labels, Millis, NodeTerm, OnPartialFailure, Preference, SpreadSpec,
    Tier,
};

pub use tenant_hardware::{CostTiers, TenantHardwareArgs, TierRule, TierRules, TierScores};

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
    /// Of `DefaultPreemption`.
    Preemption(PreemptionArgs),
    /// Of `Coscheduling`.
    Coscheduling(CoschedulingArgs),
    /// Of `ProfileClassifier`.
    Classifier(ClassifierArgs),
    /// Of `VolumeBinding`.
    VolumeBinding(VolumeBindingArgs),
    /// Of `NUMATopology`.
    Numa(NumaArgs),
    /// Of `VRAMScheduler`.
    Vram(VramArgs),
    /// Of `ResourceFragmentation`.
    Fragmentation(FragmentationArgs),
    /// Of `WorkloadAware`.
    Workload(WorkloadArgs),
    /// Of `NetworkFabric`.
    Fabric(FabricArgs),
    /// Of `TopologySpread`.
    Levels(LevelArgs),
    /// Of `TenantHardware`.
    TenantHardware(TenantHardwareArgs),
}

/// How gangs wait, and who goes first among units of the same priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoschedulingArgs {
    /// For how long a gang may have some of its pods on nodes without the others, unless it says
    /// so itself; the same for all profiles.
    pub permit_timeout: Millis,
    /// How often a pod of a gang whose binding is refused is tried elsewhere at once; the same for
    /// all profiles, as what follows.
    pub bind_retries: u32,
    /// What becomes of a gang that is not whole by then.
    pub on_partial_failure: OnPartialFailure,
    /// How long room is kept for pods that another one is to make.
    pub room_kept: Millis,
    /// Accepted without effect: gangs wait after a failure as other pods do.
    pub group_backoff: Millis,
    /// A unit that has waited for this long goes before the others of its priority.
    pub starving_after: Millis,
    /// How much sooner units of a tier go.
    pub tier_boosts: TierBoosts,
    /// How much sooner, or later, units of namespaces go; of several, the first counts.
    pub offsets: Vec<NamespaceOffset>,
}

impl Default for CoschedulingArgs {
    fn default() -> Self {
        Self {
            permit_timeout: Millis::seconds(10),
            bind_retries: 3,
            on_partial_failure: OnPartialFailure::EvictBound,
            room_kept: Millis::seconds(300),
            group_backoff: Millis(0),
            starving_after: Millis::seconds(60),
            tier_boosts: TierBoosts::default(),
            offsets: Vec::new(),
        }
    }
}

/// How much sooner units of a tier go than others of the same priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierBoosts {
    /// Of the highest tier.
    pub gold: i32,
    /// Of the middle one.
    pub silver: i32,
    /// Of the lowest one.
    pub bronze: i32,
}

impl Default for TierBoosts {
    fn default() -> Self {
        Self { gold: 20, silver: 10, bronze: 0 }
    }
}

/// How much sooner, or later if below zero, units of some namespaces go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceOffset {
    /// Which namespaces.
    pub namespaces: Namespaces,
    /// By how much.
    pub offset: i32,
}

/// Namespaces by name or by their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// By name.
    pub names: Vec<String>,
    /// By labels.
    pub selector: Option<LabelSelector>,
}

impl Namespaces {
    /// Whether a namespace is meant. One that is not known has no labels that could be selected.
    #[must_use]
    pub fn contains(&self, name: &str, labels: Option<&Labels>) -> bool {
        let is_selected = match (&self.selector, labels) {
            (Some(selector), Some(labels)) => selector.matches(labels),
            (None, _) | (_, None) => false,
        };
        is_selected || self.names.iter().any(|other| other == name)
    }
}

/// Who belongs to whom, as an administrator says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassifierArgs {
    /// Tenants; of several that have a namespace, the first counts.
    pub tenants: Vec<Tenant>,
    /// Tiers by the name of a priority class, for namespaces that have none.
    pub tiers_by_class: Vec<(String, Tier)>,
    /// Priority classes whose pods are evicted for others before anyone else.
    pub preemptible_classes: Vec<String>,
}

/// A tenant and its namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Its namespaces.
    pub namespaces: Namespaces,
    /// Its ClusterQueues of Kueue: a namespace whose LocalQueues all lead to some of them is its
    /// own as well.
    pub cluster_queues: Vec<String>,
    /// How it is served; none leaves that to labels and priority classes.
    pub tier: Option<Tier>,
    /// Whether its pods may say that they are not evicted before anyone else.
    pub may_refuse_preemption: bool,
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

/// How many nodes kube-scheduler would look at for preemption. Accepted without effect: all are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreemptionArgs {
    /// In per cent of all nodes.
    pub candidates_percentage: i32,
    /// At least so many.
    pub candidates_min: i32,
}

impl Default for PreemptionArgs {
    fn default() -> Self {
        Self { candidates_percentage: 10, candidates_min: 100 }
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

/// Arguments of `VolumeBinding`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeBindingArgs {
    /// For how long a pod that is on its way waits for its volumes.
    pub bind_timeout: Millis,
    /// How good it is if storage is so full, by utilisation.
    pub shape: Vec<ShapePoint>,
}

impl Default for VolumeBindingArgs {
    fn default() -> Self {
        let point = |utilization, score| ShapePoint { utilization, score };
        Self { bind_timeout: Millis::seconds(600), shape: vec![point(0, 10), point(100, 0)] }
    }
}

/// What is taken for granted of NUMA zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaArgs {
    /// Whether a pod that insists on zones may go to a node of which no zones are known.
    pub allows_unknown: bool,
    /// Drivers of devices, and the resources as which nodes count the same devices.
    pub drivers: Vec<(String, String)>,
}

impl Default for NumaArgs {
    fn default() -> Self {
        let drivers = vec![("gpu.nvidia.com".to_owned(), "nvidia.com/gpu".to_owned())];
        Self { allows_unknown: false, drivers }
    }
}

/// What GPUs have to have for pods that ask for memory of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VramArgs {
    /// How much of the memory of every GPU is kept free, in thousandths, 0 to 500.
    pub headroom_milli: u16,
    /// Whether the GPUs of a pod may be of several models.
    pub allows_mixed: bool,
}

/// Which sets of GPUs are kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentationArgs {
    /// How many GPUs that reach each other well, and are all free, are kept from small requests.
    pub pristine_min: u32,
    /// How many GPUs a small request asks for at most; less than `pristine_min`.
    pub small_max: u32,
    /// Over how much time it is learnt what pods ask for.
    pub window: Millis,
}

impl Default for FragmentationArgs {
    fn default() -> Self {
        Self { pristine_min: 8, small_max: 2, window: Millis::seconds(86_400) }
    }
}

/// How much it counts that pods are apart, by level: 0 to 100 each, and not all of them 0. A level
/// of weight 0 is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelArgs {
    /// In other zones.
    pub zone: u8,
    /// In other racks.
    pub rack: u8,
    /// On other nodes.
    pub host: u8,
}

impl Default for LevelArgs {
    fn default() -> Self {
        Self { zone: 60, rack: 25, host: 15 }
    }
}

/// How full nodes are for pods that are packed or spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadArgs {
    /// How much each resource counts, 0 to 100. Of those that a pod asks for and a node has, a
    /// mean is taken; resources that are not listed do not count.
    pub weights: Vec<ResourceWeight>,
}

impl WorkloadArgs {
    /// Stands for all resources that are GPUs, or are used like them.
    pub const GPUS: &str = "gpu";
}

impl Default for WorkloadArgs {
    fn default() -> Self {
        let weights = [("cpu", 6), ("memory", 4), (Self::GPUS, 80)];
        let weight = |(name, weight): (&str, i64)| ResourceWeight { name: name.into(), weight };
        Self { weights: weights.map(weight).into() }
    }
}

/// The network between nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FabricArgs {
    /// Its levels, the tightest first. The node itself is not one.
    pub levels: Vec<FabricLevel>,
}

impl FabricArgs {
    const LEVELS: [(&str, &[&str]); 7] = [
        ("clique", &["nvidia.com/gpu.clique", "gpu.kubenexus.io/clique"]),
        ("fabric", &["network.kubenexus.io/fabric-id"]),
        ("switch", &["topology.kubernetes.io/switch", "network.kubenexus.io/switch-id"]),
        ("rack", &["topology.kubernetes.io/rack", "network.kubenexus.io/rack-id"]),
        ("spine", &["topology.kubernetes.io/spine", "network.kubenexus.io/spine-id"]),
        ("zone", &["topology.kubernetes.io/zone", "network.kubenexus.io/az"]),
        ("region", &["topology.kubernetes.io/region"]),
    ];
}

impl Default for FabricArgs {
    fn default() -> Self {
        let level = |(name, labels): &(&str, &[&str])| FabricLevel {
            name: (*name).into(),
            labels: labels.iter().map(|label| (*label).into()).collect(),
        };
        Self { levels: Self::LEVELS.iter().map(level).collect() }
    }
}
