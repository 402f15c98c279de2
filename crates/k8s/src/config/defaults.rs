//! The plugins a profile starts from, before a file changes them.

use framework::{Args, PluginInfo, Point, ProfileSettings, SpreadArgs};

use super::merge::{Enabled, PluginSets};
use super::settings::Settings;
use crate::document::{Place, Problems};

/// The profile a file has when it names none: kube-scheduler's own.
pub(super) const KUBE: &str = "default-scheduler";
/// Our own profile.
pub(super) const OURS: &str = "kubenexus-scheduler";

/// kube-scheduler 1.37's plugins in its order, feature gates at their defaults. Weights matter for
/// those that score; zero stands for none given.
///
/// Every profile starts from these, and `kubenexus-scheduler` has [`OWN`] besides. It leaves
/// ranking by free resources to WorkloadAware, which those in [`UNSCORED`] would cancel out.
const IN_TREE: [(&str, i64); 20] = [
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeName", 0),
    ("NodeUnschedulable", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    // Before preemption: freeing an unused claim is better than evicting a pod.
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
];

/// What orders the queue of every other profile.
const ORDER: &str = "PrioritySort";
/// What orders the queue of our own profile.
pub(super) const OWN_ORDER: &str = "Coscheduling";
/// Our plugins with their weights, which come after those of kube-scheduler.
const OWN: [(&str, i64); 10] = [
    ("ProfileClassifier", 0),
    (OWN_ORDER, 0),
    ("NetworkFabric", 10),
    ("NUMATopology", 10),
    ("ResourceFragmentation", 10),
    ("TenantHardware", 8),
    ("VRAMScheduler", 8),
    ("GPUTopology", 8),
    ("TopologySpread", 6),
    ("WorkloadAware", 5),
];
/// Plugins of kube-scheduler that do not score in our own profile, unless a file says so.
const UNSCORED: [&str; 2] = ["NodeResourcesFit", "NodeResourcesBalancedAllocation"];

/// Whether every profile starts with a plugin.
pub(super) fn has(name: &str) -> bool {
    IN_TREE.iter().any(|(other, _)| *other == name)
}

/// Whether kube-scheduler names a plugin without a weight by default.
pub(super) fn weighs_nothing(name: &str) -> bool {
    IN_TREE.iter().any(|(other, weight)| *other == name && *weight == 0)
}

/// What the scheduler starts with when there is no file: kube-scheduler's profile and ours.
///
/// # Panics
/// When `known` lacks a plugin of the default profiles.
#[must_use]
pub fn defaults(known: &[PluginInfo]) -> Settings {
    Settings::around([KUBE, OURS].map(|scheduler| profile(scheduler, known)).into())
}

/// The profile of a name when a file says nothing about its plugins.
pub(super) fn profile(scheduler: &str, known: &[PluginInfo]) -> ProfileSettings {
    let mut problems = Problems::default();
    let nothing = PluginSets::none(Place::file());
    let points = nothing.merged(starting_set(scheduler, &nothing, known), &mut problems);
    problems.or_value(()).expect("the default plugins are a valid profile");
    let args = default_spread(scheduler);
    let is_own = args != SpreadArgs::default();
    let args = is_own.then_some(("PodTopologySpread", Args::Spread(args)));
    ProfileSettings { scheduler: scheduler.into(), points, args: args.into_iter().collect() }
}

/// How PodTopologySpread spreads pods without constraints of their own in a profile where a file
/// says nothing of it. In ours that is TopologySpread's to do, which it would vote beside.
#[must_use]
pub fn default_spread(scheduler: &str) -> SpreadArgs {
    if scheduler == OURS { SpreadArgs::List(Vec::new()) } else { SpreadArgs::System }
}

/// The plugins that a profile has at every point they know. In ours, the order yields to another
/// one that a file asks for, as it would have to ask in a file for kube-scheduler.
pub(super) fn starting_set(
    scheduler: &str,
    written: &PluginSets,
    known: &[PluginInfo],
) -> Vec<Enabled> {
    let find = |name: &str| {
        let info = known.iter().find(|info| info.name == name);
        *info.expect("every default plugin is registered")
    };
    let in_tree = IN_TREE.iter().map(|&(name, weight)| (find(name), weight));
    let mut all: Vec<(PluginInfo, i64)> = in_tree.collect();
    if scheduler == OURS {
        all.retain(|(info, _)| info.name != ORDER);
        let unscored = all.iter_mut().filter(|(info, _)| UNSCORED.contains(&info.name));
        unscored.for_each(|(info, _)| info.points = info.points.without(Point::Score));
        all.extend(OWN.map(|(name, weight)| (find(name), weight)));
        if written.enables(ORDER) && !written.enables(OWN_ORDER) {
            let own = all.iter_mut().filter(|(info, _)| info.name == OWN_ORDER);
            own.for_each(|(info, _)| info.points = info.points.without(Point::QueueSort));
        }
    }
    all.into_iter().map(|(info, weight)| Enabled { info, weight, place: None }).collect()
}
