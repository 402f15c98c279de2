//! The only list of all plugins: what a configuration may name, and how a profile is made of it.

use std::fmt;
use std::sync::Arc;

use framework::{
    Admit, Args, BalancedArgs, ClassifierArgs, Classify, CoschedulingArgs, FabricArgs, Feasible,
    FitArgs, FragmentationArgs, LevelArgs, Network, NodeAffinityArgs, NumaArgs, Order,
    PluginChoice, PluginInfo, PodAffinityArgs, Point, Points, Profile, ProfileSettings, Rank,
    Ranking, Rescues, SpreadArgs, TenantHardwareArgs, VolumeBindingArgs, VramArgs, WEIGHTS_MAX,
    WorkloadArgs,
};
use model::Catalog;

use crate::coscheduling::Coscheduling;
use crate::gpu_topology::GpuTopology;
use crate::guard::Guard;
use crate::image_locality::ImageLocality;
use crate::network_fabric::NetworkFabric;
use crate::node_affinity::NodeAffinity;
use crate::node_declared_features::NodeDeclaredFeatures;
use crate::node_name::NodeName;
use crate::node_ports::NodePorts;
use crate::node_resources::{NodeResourcesBalancedAllocation, NodeResourcesFit};
use crate::node_unschedulable::NodeUnschedulable;
use crate::numa_topology::NumaTopology;
use crate::pod_affinity::InterPodAffinity;
use crate::priority_sort::PrioritySort;
use crate::profile_classifier::ProfileClassifier;
use crate::resource_fragmentation::ResourceFragmentation;
use crate::scheduling_gates::SchedulingGates;
use crate::spread::TopologySpread;
use crate::taint_toleration::TaintToleration;
use crate::tenant_hardware::TenantHardware;
use crate::topology_spread::PodTopologySpread;
use crate::volumes::{NodeVolumeLimits, VolumeBinding, VolumeRestrictions, VolumeZone};
use crate::vram_scheduler::VramScheduler;
use crate::workload_aware::WorkloadAware;

use Point::{
    Bind, Filter, Permit, PlacementGenerate, PlacementScore, PodGroupPostFilter, PostFilter,
    PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve, Score,
};

const fn built(name: &'static str, points: &[Point]) -> PluginInfo {
    PluginInfo { name, aliases: &[], points: Points::of(points), is_built: true }
}

const fn planned(
    name: &'static str,
    aliases: &'static [&'static str],
    points: &[Point],
) -> PluginInfo {
    PluginInfo { name, aliases, points: Points::of(points), is_built: false }
}

/// Every name a configuration may use. A plugin that is not built can be disabled, and enabled only
/// where every profile has it anyway, as a guard.
#[must_use]
pub fn known() -> &'static [PluginInfo] {
    const FILTER: &[Point] = &[PreFilter, Filter];
    const ALL: &[Point] = &[PreFilter, Filter, PreScore, Score];
    const KNOWN: &[PluginInfo] = &[
        built("SchedulingGates", &[PreEnqueue]),
        built("PrioritySort", &[QueueSort]),
        built("NodeName", FILTER),
        built("NodeUnschedulable", FILTER),
        built("TaintToleration", ALL),
        built("NodeAffinity", ALL),
        built("NodePorts", FILTER),
        built("NodeResourcesFit", &[PreFilter, Filter, PreScore, Score, PlacementScore]),
        built("NodeResourcesBalancedAllocation", &[PreScore, Score]),
        built("ImageLocality", &[Score]),
        built("NodeDeclaredFeatures", FILTER),
        built("DefaultBinder", &[Bind]),
        built("VolumeRestrictions", FILTER),
        built("NodeVolumeLimits", FILTER),
        built("VolumeBinding", &[PreFilter, Filter, Reserve, PreBind, PreScore, Score]),
        built("VolumeZone", FILTER),
        built("PodTopologySpread", ALL),
        built("InterPodAffinity", ALL),
        planned(
            "DynamicResources",
            &[],
            &[
                PreEnqueue,
                PreFilter,
                Filter,
                PostFilter,
                PodGroupPostFilter,
                Score,
                Reserve,
                PreBind,
            ],
        ),
        built("DefaultPreemption", &[PreEnqueue, PostFilter, PodGroupPostFilter]),
        built("GangScheduling", &[PreEnqueue, Permit]),
        planned("DeferredPodScheduling", &[], &[PreFilter, Filter, Permit]),
        planned("TopologyPlacementGenerator", &[], &[PlacementGenerate]),
        planned("PodGroupPodsCount", &[], &[PlacementScore]),
        built("ProfileClassifier", &[PreFilter]),
        built(
            "Coscheduling",
            &[QueueSort, PreEnqueue, PreFilter, Filter, PostFilter, Reserve, Permit],
        ),
        planned("ResourceReservation", &[], &[PreFilter, Filter, Reserve]),
        planned("GangPreemption", &[], &[PostFilter]),
        PluginInfo { aliases: &["NetworkFabricScore"], ..built("NetworkFabric", ALL) },
        PluginInfo {
            aliases: &["NodeResourceTopology"],
            ..built("NUMATopology", &[PreFilter, Filter, PreScore, Score, Reserve, Bind])
        },
        PluginInfo {
            aliases: &["ResourceFragmentationScore"],
            ..built("ResourceFragmentation", &[PreScore, Score])
        },
        PluginInfo { aliases: &["TenantHardwareAffinityScore"], ..built("TenantHardware", ALL) },
        built("VRAMScheduler", &[PreFilter, Filter, PreScore, Score, Reserve, Bind]),
        built("GPUTopology", &[PreScore, Score]),
        built("TopologySpread", &[PreScore, Score]),
        built("WorkloadAware", &[PreScore, Score]),
        planned("BackfillScheduler", &["BackfillScoring"], &[PreEnqueue, PreFilter, Score]),
    ];
    KNOWN
}

/// Why a profile cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The profile has no plugin, or several, that order the queue.
    QueueSort {
        /// The profile.
        scheduler: String,
        /// How many there are.
        count: usize,
    },
    /// The weights of the plugins add up to more than scores can be counted in.
    Weights {
        /// The profile.
        scheduler: String,
        /// What they add up to.
        sum: i64,
    },
    /// A plugin of this name is not known, or cannot be asked at this point.
    Unknown {
        /// The profile.
        scheduler: String,
        /// The plugin.
        plugin: String,
        /// The point.
        point: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueSort { scheduler, count } => {
                write!(out, "profile {scheduler:?} has {count} queueSort plugins, expected one")
            }
            Self::Weights { scheduler, sum } => {
                write!(out, "profile {scheduler:?}: weights add up to {sum}, at most {WEIGHTS_MAX}")
            }
            Self::Unknown { scheduler, plugin, point } => {
                write!(out, "profile {scheduler:?}: plugin {plugin:?} cannot be asked at {point}")
            }
        }
    }
}

impl std::error::Error for BuildError {}

/// Makes the plugins of a profile. Plugins that are not built become guards.
///
/// # Errors
/// When the settings name a plugin that is not registered, or not at that point.
pub fn build(settings: &ProfileSettings, catalog: &mut Catalog) -> Result<Profile, BuildError> {
    let [order] = settings.at(QueueSort) else {
        let count = settings.at(QueueSort).len();
        return Err(BuildError::QueueSort { scheduler: settings.scheduler.clone(), count });
    };
    let order: Arc<dyn Order> = match order.name {
        "PrioritySort" => Arc::new(PrioritySort),
        "Coscheduling" => Arc::new(Coscheduling::new(coscheduling_args(settings))),
        _ => return Err(unknown(settings, order, QueueSort)),
    };
    let classifier = classifier(settings).map(|it| Arc::new(it) as Arc<dyn Classify>);
    let mut admit: Vec<Arc<dyn Admit>> = Vec::new();
    for choice in settings.at(PreEnqueue) {
        match choice.name {
            "SchedulingGates" => admit.push(Arc::new(SchedulingGates)),
            // Neither keeps an ordinary pod out, and pods that need them meet their guard.
            "DefaultPreemption" | "DynamicResources" => {}
            name if is_of_engine(name) => {}
            _ => return Err(unknown(settings, choice, PreEnqueue)),
        }
    }
    let before = make_all_feasible(settings, PreFilter, catalog)?;
    let filters = make_all_feasible(settings, Filter, catalog)?;
    let sum = settings.at(Score).iter().map(|choice| choice.weight.saturating_abs()).sum();
    if sum > WEIGHTS_MAX {
        return Err(BuildError::Weights { scheduler: settings.scheduler.clone(), sum });
    }
    let mut rankings = Vec::new();
    let is_scored = |name: &str| settings.at(Score).iter().any(|choice| choice.name == name);
    let prepared_only = settings.at(PreScore).iter().filter(|choice| !is_scored(choice.name));
    let scored = settings.at(Score).iter().map(|choice| (choice, choice.weight));
    for (choice, weight) in scored.chain(prepared_only.map(|choice| (choice, 0))) {
        if let Some(plugin) = make_rank(settings, choice, catalog)? {
            let weight = i32::try_from(weight).expect("weights were checked");
            rankings.push(Ranking { plugin, weight });
        }
    }
    let scheduler = settings.scheduler.clone();
    let rescues = rescues(settings);
    let binds = |choice: &PluginChoice| choice.name == "VolumeBinding";
    // What nodes were asked for is what is given.
    let is_binding = [Filter, Reserve, PreBind].iter().all(|at| settings.at(*at).iter().any(binds));
    let volume_timeout = is_binding.then(|| volume_args(settings).bind_timeout);
    let tells = |name: &str| settings.at(Bind).iter().any(|choice| choice.name == name);
    let gang_reader = reads_gang_keys(settings).then_some("Coscheduling");
    let is_network = |choice: &PluginChoice| choice.name == "NetworkFabric";
    let plans = [PreFilter, Filter].iter().any(|at| settings.at(*at).iter().any(is_network));
    let network = plans
        .then(|| Arc::new(NetworkFabric::new(&fabric_args(settings), catalog)) as Arc<dyn Network>);
    Ok(Profile {
        scheduler,
        order,
        classifier,
        admit,
        before,
        filters,
        rankings,
        network,
        gang_reader,
        rescues,
        tells_zones: tells("NUMATopology"),
        tells_gpus: tells("VRAMScheduler"),
        reads_tiers: [PreFilter, Filter, Score]
            .iter()
            .any(|at| settings.at(*at).iter().any(|choice| choice.name == "TenantHardware")),
        volume_timeout,
    })
}

/// Whether labels and annotations of pods make gangs in a profile.
#[must_use]
pub fn reads_gang_keys(settings: &ProfileSettings) -> bool {
    let has = |point| settings.at(point).iter().any(|choice| choice.name == "Coscheduling");
    [PreFilter, Filter, Permit].into_iter().any(has)
}

/// Whether a plugin stands for what the engine does by itself: gangs are planned whole.
fn is_of_engine(name: &str) -> bool {
    matches!(name, "Coscheduling" | "GangScheduling")
}

fn rescues(settings: &ProfileSettings) -> Rescues {
    let at = |point, name: &str| {
        settings.at(point).iter().filter(asked).position(|choice| choice.name == name)
    };
    let claims_after = at(PreFilter, "DynamicResources").map_or(usize::MAX, |at| at + 1);
    Rescues {
        preemption: at(PostFilter, "DefaultPreemption").is_some(),
        claims_after: at(PostFilter, "DynamicResources").map(|_| claims_after),
    }
}

/// Whether a plugin is asked about nodes at all.
fn asked(choice: &&PluginChoice) -> bool {
    !is_of_engine(choice.name) && choice.name != "ProfileClassifier"
}

fn make_all_feasible(
    settings: &ProfileSettings,
    point: Point,
    catalog: &mut Catalog,
) -> Result<Vec<Arc<dyn Feasible>>, BuildError> {
    let choices = settings.at(point).iter().filter(asked);
    choices.map(|choice| make_feasible(settings, choice, point, catalog)).collect()
}

fn make_feasible(
    settings: &ProfileSettings,
    choice: &PluginChoice,
    point: Point,
    catalog: &mut Catalog,
) -> Result<Arc<dyn Feasible>, BuildError> {
    Ok(match choice.name {
        "NodeName" => Arc::new(NodeName),
        "NodeUnschedulable" => Arc::new(NodeUnschedulable),
        "TaintToleration" => Arc::new(TaintToleration),
        "NodeAffinity" => Arc::new(NodeAffinity::new(&affinity_args(settings), catalog)),
        "NodePorts" => Arc::new(NodePorts),
        "NodeResourcesFit" => Arc::new(NodeResourcesFit::new(fit_args(settings), catalog)),
        "NodeDeclaredFeatures" => Arc::new(NodeDeclaredFeatures),
        "PodTopologySpread" => Arc::new(PodTopologySpread::new(&spread_args(settings), catalog)),
        "InterPodAffinity" => Arc::new(InterPodAffinity::new(pod_affinity_args(settings))),
        "VolumeRestrictions" => Arc::new(VolumeRestrictions),
        "NodeVolumeLimits" => Arc::new(NodeVolumeLimits),
        "VolumeBinding" => Arc::new(VolumeBinding::new(&volume_args(settings))),
        "VolumeZone" => Arc::new(VolumeZone),
        "NUMATopology" => Arc::new(NumaTopology::new(numa_args(settings), catalog)),
        "VRAMScheduler" => Arc::new(VramScheduler::new(vram_args(settings))),
        "NetworkFabric" => Arc::new(NetworkFabric::new(&fabric_args(settings), catalog)),
        "TenantHardware" => Arc::new(tenant_hardware(settings, choice)),
        name => Arc::new(Guard::of(name).ok_or_else(|| unknown(settings, choice, point))?),
    })
}

fn make_rank(
    settings: &ProfileSettings,
    choice: &PluginChoice,
    catalog: &mut Catalog,
) -> Result<Option<Arc<dyn Rank>>, BuildError> {
    Ok(Some(match choice.name {
        "TaintToleration" => Arc::new(TaintToleration),
        "NodeAffinity" => Arc::new(NodeAffinity::new(&affinity_args(settings), catalog)),
        "NodeResourcesFit" => Arc::new(NodeResourcesFit::new(fit_args(settings), catalog)),
        "NodeResourcesBalancedAllocation" => {
            Arc::new(NodeResourcesBalancedAllocation::new(&balanced_args(settings), catalog))
        }
        "ImageLocality" => Arc::new(ImageLocality),
        "PodTopologySpread" => Arc::new(PodTopologySpread::new(&spread_args(settings), catalog)),
        "InterPodAffinity" => Arc::new(InterPodAffinity::new(pod_affinity_args(settings))),
        "NUMATopology" => Arc::new(NumaTopology::new(numa_args(settings), catalog)),
        "VRAMScheduler" => Arc::new(VramScheduler::new(vram_args(settings))),
        "GPUTopology" => Arc::new(GpuTopology),
        "NetworkFabric" => Arc::new(NetworkFabric::new(&fabric_args(settings), catalog)),
        "TenantHardware" => Arc::new(tenant_hardware(settings, choice)),
        "ResourceFragmentation" => {
            Arc::new(ResourceFragmentation::new(fragmentation_args(settings), catalog))
        }
        "TopologySpread" => Arc::new(TopologySpread::new(level_args(settings), catalog)),
        "WorkloadAware" => {
            let is_other = |choice: &PluginChoice| choice.name == "ResourceFragmentation";
            let leaves_gpus = settings.at(Score).iter().any(is_other);
            Arc::new(WorkloadAware::new(workload_args(settings), leaves_gpus))
        }
        "VolumeBinding" => {
            let is_asked = settings.at(Filter).iter().any(|choice| choice.name == "VolumeBinding");
            // Only nodes that it was asked about have a score.
            return Ok(is_asked.then(|| Arc::new(VolumeBinding::new(&volume_args(settings))) as _));
        }
        // Pods that these would rank are refused by their guard.
        name if Guard::of(name).is_some() => return Ok(None),
        _ => return Err(unknown(settings, choice, Score)),
    }))
}

/// What classifies pods in a profile.
fn classifier(settings: &ProfileSettings) -> Option<ProfileClassifier> {
    let is_it = |choice: &PluginChoice| choice.name == "ProfileClassifier";
    let is_asked = settings.at(PreFilter).iter().any(is_it);
    is_asked.then(|| ProfileClassifier::new(classifier_args(settings)))
}

fn tenant_hardware(settings: &ProfileSettings, choice: &PluginChoice) -> TenantHardware {
    let args = match settings.args_of("TenantHardware") {
        Some(Args::TenantHardware(args)) => args.clone(),
        _ => TenantHardwareArgs::default(),
    };
    TenantHardware::new(args, choice.weight, classifier(settings))
}

fn affinity_args(settings: &ProfileSettings) -> NodeAffinityArgs {
    match settings.args_of("NodeAffinity") {
        Some(Args::NodeAffinity(args)) => args.clone(),
        _ => NodeAffinityArgs::default(),
    }
}

fn fit_args(settings: &ProfileSettings) -> FitArgs {
    match settings.args_of("NodeResourcesFit") {
        Some(Args::Fit(args)) => args.clone(),
        _ => FitArgs::default(),
    }
}

fn balanced_args(settings: &ProfileSettings) -> BalancedArgs {
    match settings.args_of("NodeResourcesBalancedAllocation") {
        Some(Args::Balanced(args)) => args.clone(),
        _ => BalancedArgs::default(),
    }
}

fn pod_affinity_args(settings: &ProfileSettings) -> PodAffinityArgs {
    match settings.args_of("InterPodAffinity") {
        Some(Args::PodAffinity(args)) => *args,
        _ => PodAffinityArgs::default(),
    }
}

fn spread_args(settings: &ProfileSettings) -> SpreadArgs {
    match settings.args_of("PodTopologySpread") {
        Some(Args::Spread(args)) => args.clone(),
        _ => SpreadArgs::default(),
    }
}

fn volume_args(settings: &ProfileSettings) -> VolumeBindingArgs {
    match settings.args_of("VolumeBinding") {
        Some(Args::VolumeBinding(args)) => args.clone(),
        _ => VolumeBindingArgs::default(),
    }
}

fn fragmentation_args(settings: &ProfileSettings) -> FragmentationArgs {
    match settings.args_of("ResourceFragmentation") {
        Some(Args::Fragmentation(args)) => *args,
        _ => FragmentationArgs::default(),
    }
}

fn vram_args(settings: &ProfileSettings) -> VramArgs {
    match settings.args_of("VRAMScheduler") {
        Some(Args::Vram(args)) => *args,
        _ => VramArgs::default(),
    }
}

fn fabric_args(settings: &ProfileSettings) -> FabricArgs {
    match settings.args_of("NetworkFabric") {
        Some(Args::Fabric(args)) => args.clone(),
        _ => FabricArgs::default(),
    }
}

fn numa_args(settings: &ProfileSettings) -> NumaArgs {
    match settings.args_of("NUMATopology") {
        Some(Args::Numa(args)) => args.clone(),
        _ => NumaArgs::default(),
    }
}

fn workload_args(settings: &ProfileSettings) -> WorkloadArgs {
    match settings.args_of("WorkloadAware") {
        Some(Args::Workload(args)) => args.clone(),
        _ => WorkloadArgs::default(),
    }
}

fn level_args(settings: &ProfileSettings) -> LevelArgs {
    match settings.args_of("TopologySpread") {
        Some(Args::Levels(args)) => *args,
        _ => LevelArgs::default(),
    }
}

fn coscheduling_args(settings: &ProfileSettings) -> CoschedulingArgs {
    match settings.args_of("Coscheduling") {
        Some(Args::Coscheduling(args)) => args.clone(),
        _ => CoschedulingArgs::default(),
    }
}

fn classifier_args(settings: &ProfileSettings) -> ClassifierArgs {
    match settings.args_of("ProfileClassifier") {
        Some(Args::Classifier(args)) => args.clone(),
        _ => ClassifierArgs::default(),
    }
}

fn unknown(settings: &ProfileSettings, choice: &PluginChoice, point: Point) -> BuildError {
    BuildError::Unknown {
        scheduler: settings.scheduler.clone(),
        plugin: choice.name.into(),
        point: point.word(),
    }
}
