//! Profiles: their names, plugins and arguments.

use framework::{Args, PluginInfo, ProfileSettings, SpreadArgs};

use super::args;
use super::checks;
use super::defaults;
use super::merge::PluginSets;
use super::plugin_sets;
use super::sections;
use crate::document::{Fields, Problems, Spot, quoted};

/// Each profile has plugins of its own, which cost memory; nobody needs as many as these.
const PROFILES_MAX: usize = 100;

/// Reads the profiles of a configuration; without any there is one, kube-scheduler's.
pub(super) fn read(
    top: &Fields<'_>,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> Vec<ProfileSettings> {
    let items = top.items("profiles", problems);
    if items.is_empty() {
        let message = "no profiles are given, so pods of default-scheduler are scheduled, as by \
                       kube-scheduler; without any file it would be those of kubenexus-scheduler";
        problems.warn(&top.place_at("profiles"), message);
        return vec![defaults::profile(defaults::KUBE, known)];
    }
    if items.len() > PROFILES_MAX {
        let message = format!("expected at most {PROFILES_MAX} profiles, found {}", items.len());
        problems.report(&top.place_at("profiles"), message);
    }
    let is_only = items.len() == 1;
    let mut profiles: Vec<(PluginSets, ProfileSettings)> = Vec::new();
    for item in items.into_iter().take(PROFILES_MAX) {
        const FIELDS: [&str; 4] =
            ["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"];
        let Some(fields) = item.fields(&FIELDS, problems) else { continue };
        let scheduler = scheduler_name(&fields, is_only, problems);
        if profiles.iter().any(|(_, other)| !scheduler.is_empty() && other.scheduler == scheduler) {
            let message = format!("another profile is named {} already", quoted(scheduler));
            problems.report(&fields.place_at("schedulerName"), message);
        }
        sections::check_percentage(&fields, problems);
        profiles.push(profile(&fields, scheduler, known, problems));
    }
    checks::check_common_order(&profiles, problems);
    checks::check_common_gangs(&profiles, problems);
    checks::check_common_drivers(&profiles, problems);
    profiles.into_iter().map(|(_, profile)| profile).collect()
}

fn scheduler_name<'a>(fields: &Fields<'a>, is_only: bool, problems: &mut Problems) -> &'a str {
    if is_only && fields.get("schedulerName").is_none() {
        return defaults::KUBE;
    }
    let Some(spot) = fields.required("schedulerName", problems) else { return "" };
    let name = spot.text(problems).unwrap_or("?");
    if name.is_empty() {
        spot.expected("a name", problems);
    }
    name
}

fn profile(
    fields: &Fields<'_>,
    scheduler: &str,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> (PluginSets, ProfileSettings) {
    let problems_before = problems.count();
    let sets = plugin_sets::read(fields, known, problems);
    let is_read = problems.count() == problems_before;
    let points = sets.merged(defaults::starting_set(scheduler, &sets, known), problems);
    let mut args = plugin_config(fields, scheduler, known, problems);
    if !args.iter().any(|(name, _)| *name == "PodTopologySpread") {
        let spread = defaults::default_spread(scheduler);
        args.push(("PodTopologySpread", Args::Spread(spread)));
    }
    args.retain(|(_, args)| *args != Args::Spread(SpreadArgs::default()));
    let profile = ProfileSettings { scheduler: scheduler.to_owned(), points, args };
    // A name that could not be read would only be reported again, as missing.
    if is_read {
        checks::check(&sets, &profile, problems);
    }
    (sets, profile)
}

/// The arguments that differ from the defaults.
fn plugin_config(
    profile: &Fields<'_>,
    scheduler: &str,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> Vec<(&'static str, Args)> {
    let mut found = Vec::new();
    let mut seen = Vec::new();
    for item in profile.items("pluginConfig", problems) {
        let Some(fields) = item.fields(&["name", "args"], problems) else { continue };
        let Some(name) = fields.required("name", problems) else { continue };
        let Some(info) = plugin_sets::find(&name, known, problems) else { continue };
        if seen.contains(&info.name) {
            let message = format!("arguments for plugin {:?} are given twice", info.name);
            problems.report(&name.place, message);
            continue;
        }
        seen.push(info.name);
        if !plugin_sets::is_accepted(&info) {
            problems.report(&name.place, plugin_sets::not_built(&info));
            continue;
        }
        let Some(spot) = fields.get("args") else { continue };
        let path = format!("{}.pluginConfig[{}].args", profile.place.path, info.name);
        let args = plugin_args(&info, scheduler, spot.renamed(path), problems);
        found.extend(args.map(|args| (info.name, args)));
    }
    found
}

/// The arguments of a plugin, if they are valid and differ from its defaults.
fn plugin_args(
    info: &PluginInfo,
    scheduler: &str,
    spot: Spot<'_>,
    problems: &mut Problems,
) -> Option<Args> {
    match info.name {
        "NodeAffinity" => args::node_affinity(spot, problems),
        "InterPodAffinity" => args::pod_affinity(spot, problems),
        "PodTopologySpread" => args::spread(spot, defaults::default_spread(scheduler), problems),
        "DefaultPreemption" => args::preemption(spot, problems),
        "VolumeBinding" => args::volume_binding(spot, problems),
        "NUMATopology" => args::numa(spot, problems),
        "VRAMScheduler" => args::vram(spot, problems),
        "ResourceFragmentation" => args::fragmentation(spot, problems),
        "WorkloadAware" => args::workload(spot, problems),
        "NetworkFabric" => args::fabric(spot, problems),
        "TopologySpread" => args::levels(spot, problems),
        "TenantHardware" => args::tenant_hardware(spot, problems),
        "DynamicResources" => {
            args::dynamic_resources(spot, problems);
            None
        }
        "NodeResourcesFit" => args::fit(spot, problems),
        "NodeResourcesBalancedAllocation" => args::balanced(spot, problems),
        "Coscheduling" => args::coscheduling(spot, problems),
        "ProfileClassifier" => args::classifier(spot, problems),
        name => {
            if !spot.is_empty() {
                problems.report(&spot.place, format!("plugin {name:?} takes no arguments"));
            }
            None
        }
    }
}
