//! The only list of all plugins: what a configuration may name, and how a profile is made of it.

use framework::{Point, PluginInfo, Points};
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

/// Every name a configuration may use. A plugin that is not built can be disabled, not enabled.
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
        built("NodeResourcesFit", ALL),
        built("NodeResourcesBalancedAllocation", &[PreScore, Score]),
        built("ImageLocality", &[Score]),
        built("NodeDeclaredFeatures", FILTER),
        built("DefaultBinder", &[Bind]),
        planned("VolumeRestrictions", &[], FILTER),
        planned("NodeVolumeLimits", &[], FILTER),
        planned("VolumeBinding", &[], &[PreFilter, Filter, Reserve, PreBind, PreScore, Score]),
        planned("VolumeZone", &[], FILTER),
        planned("PodTopologySpread", &[], ALL),
        planned("InterPodAffinity", &[], ALL),
        planned(
            "DynamicResources",
            &[],
            &[PreEnqueue, PreFilter, Filter, PostFilter, PodGroupPostFilter, Score, Reserve, PreBind],
        ),
        planned("DefaultPreemption", &[], &[PreEnqueue, PostFilter]),
        planned("GangScheduling", &[], &[PreEnqueue, Permit]),
        planned("DeferredPodScheduling", &[], &[PreFilter, Filter, Permit]),
        planned("TopologyPlacementGenerator", &[], &[PlacementGenerate]),
        planned("PodGroupPodsCount", &[], &[PlacementScore]),
        planned("ProfileClassifier", &[], &[PreFilter]),
        planned(
            "Coscheduling",
            &[],
            &[QueueSort, PreEnqueue, PreFilter, Filter, PostFilter, Reserve, Permit],
        ),
        planned("ResourceReservation", &[], &[PreFilter, Filter, Reserve]),
        planned("GangPreemption", &[], &[PostFilter]),
        planned("NetworkFabric", &["NetworkFabricScore"], ALL),
        planned(
            "NUMATopology",
            &["NodeResourceTopology"],
            &[PreFilter, Filter, PreScore, Score, Reserve, Bind],
        ),
        planned("ResourceFragmentation", &["ResourceFragmentationScore"], &[PreScore, Score]),
        planned("TenantHardware", &["TenantHardwareAffinityScore"], ALL),
        planned("VRAMScheduler", &[], &[PreFilter, Filter, PreScore, Score, Reserve]),
        planned("GPUTopology", &[], &[PreFilter, Filter, PreScore, Score, Reserve]),
        planned("TopologySpread", &[], &[PreScore, Score]),
        planned("WorkloadAware", &[], &[PreScore, Score]),
        planned("BackfillScheduler", &["BackfillScoring"], &[PreEnqueue, PreFilter, Score]),
    ];
    KNOWN
}
