//! The plugins a profile starts from, before a file changes them.

use framework::{PluginInfo, ProfileSettings};

use super::merge::{Enabled, PluginSets};
use super::settings::Settings;
use crate::document::{Place, Problems};

/// The profile a file has when it names none: kube-scheduler's own.
pub(super) const KUBE: &str = "default-scheduler";
/// Our own profile.
const OURS: &str = "kubenexus-scheduler";

/// kube-scheduler 1.37's plugins in its order, feature gates at their defaults. Weights matter for
/// those that score; zero stands for none given.
///
/// Every profile starts from these. `kubenexus-scheduler` will leave ranking by free resources to
/// WorkloadAware and TopologySpread, which NodeResourcesFit and NodeResourcesBalancedAllocation
/// would cancel out; until those two are built, the in-tree plugins rank there as well.
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
    let points = PluginSets::none(Place::file()).merged(starting_set(known), &mut problems);
    problems.or_value(()).expect("the default plugins are a valid profile");
    ProfileSettings { scheduler: scheduler.into(), points, args: Vec::new() }
}

/// The plugins that a profile has at every point they know.
pub(super) fn starting_set(known: &[PluginInfo]) -> Vec<Enabled> {
    let enabled = IN_TREE.iter().map(|&(name, weight)| {
        let info = known.iter().find(|info| info.name == name);
        let info = *info.expect("every default plugin is registered");
        Enabled { info, weight, place: None }
    });
    enabled.collect()
}
