//! What must hold of the plugins of a profile together, and of profiles side by side.

use framework::{Args, CoschedulingArgs, NumaArgs, Point, ProfileSettings};
use model::Millis;

use super::defaults::{OURS, OWN_ORDER};
use super::merge::{PluginSets, Which};
use crate::document::{Place, Problems};

/// What knows zones. At bind, it tells pods of theirs, and binds nobody.
const NUMA: &str = "NUMATopology";

/// Plugins that answer every pod with an error at a point unless they were asked at another first.
const PREPARATIONS: [(&str, Point, Point); 4] = [
    ("NodePorts", Point::Filter, Point::PreFilter),
    ("NodeResourcesFit", Point::Filter, Point::PreFilter),
    ("NodeDeclaredFeatures", Point::Filter, Point::PreFilter),
    ("TaintToleration", Point::Score, Point::PreScore),
];

/// Checks the plugins of one profile.
pub(super) fn check(sets: &PluginSets, profile: &ProfileSettings, problems: &mut Problems) {
    let names = |point| {
        let choices = profile.at(point).iter().map(|choice| choice.name);
        choices.collect::<Vec<_>>().join(", ")
    };
    match profile.at(Point::QueueSort).len() {
        0 => problems.report(
            &sets.place_of(Point::QueueSort),
            "expected exactly one plugin, found none; enable \"PrioritySort\"",
        ),
        1 => (),
        _ => problems.report(
            &sets.place_of(Point::QueueSort),
            format!("expected exactly one plugin, found {}", names(Point::QueueSort)),
        ),
    }
    if profile.at(Point::Bind).iter().all(|choice| choice.name == NUMA) {
        problems.report(
            &sets.place_of(Point::Bind),
            "expected at least one plugin, found none; enable \"DefaultBinder\"",
        );
    }
    if profile.at(Point::PlacementGenerate).len() > 1 {
        let found = names(Point::PlacementGenerate);
        let message = format!("expected at most one plugin, found {found}");
        problems.report(&sets.place_of(Point::PlacementGenerate), message);
    }
    for (name, point, before) in PREPARATIONS {
        let has = |point| profile.at(point).iter().any(|choice| choice.name == name);
        if has(point) && !has(before) {
            let (point_word, before_word) = (point.word(), before.word());
            let message = format!(
                "plugin {name:?} is enabled at {point_word} but not at {before_word}, where it \
                 prepares; every pod would fail; enable it at {before_word} or disable it at \
                 {point_word}"
            );
            problems.report(&cause(sets, name, point, before), message);
        }
    }
}

/// Checks that profiles order the one queue they share in the same way. Ours may order it its own
/// way beside kube-scheduler's: both put priority first, and differ only inside a priority.
pub(super) fn check_common_order(
    profiles: &[(PluginSets, ProfileSettings)],
    problems: &mut Problems,
) {
    let is_own = |profile: &ProfileSettings| {
        profile.scheduler == OURS
            || profile.at(Point::QueueSort).iter().any(|choice| choice.name == OWN_ORDER)
    };
    let mut others = profiles.iter().filter(|(_, profile)| !is_own(profile));
    let Some((first_sets, first)) = others.next() else { return };
    for (sets, profile) in others {
        let (order, first_order) = (profile.at(Point::QueueSort), first.at(Point::QueueSort));
        if written_order(sets) == written_order(first_sets) && order == first_order {
            continue;
        }
        let message = format!("must be the same as in profile {:?}", first.scheduler);
        problems.report(&sets.place_of(Point::QueueSort), message);
    }
}

/// Checks that gangs of all profiles are treated alike, since the queue is one.
pub(super) fn check_common_gangs(
    profiles: &[(PluginSets, ProfileSettings)],
    problems: &mut Problems,
) {
    let mut gangs = profiles.iter().filter(|(_, profile)| runs_gangs(profile));
    let Some((_, first)) = gangs.next() else { return };
    for (sets, profile) in gangs {
        let common = common(&gang_args(first)).into_iter().zip(common(&gang_args(profile)));
        for ((name, expected), (_, found)) in common.filter(|(one, other)| one != other) {
            let profile_path = sets.place.path.trim_end_matches(".plugins");
            let path = format!("{profile_path}.pluginConfig[Coscheduling].args.{name}");
            let message = format!(
                "must be the same as in profile {:?}: expected {expected}, found {found}",
                first.scheduler,
            );
            problems.report(&Place { path, line: sets.place.line }, message);
        }
    }
}

/// Checks that drivers of devices mean the same in all profiles, since what nodes have is one.
pub(super) fn check_common_drivers(
    profiles: &[(PluginSets, ProfileSettings)],
    problems: &mut Problems,
) {
    let is_on = |profile: &ProfileSettings| {
        profile.points.iter().flat_map(|(_, all)| all).any(|choice| choice.name == NUMA)
    };
    let drivers = |profile: &ProfileSettings| match profile.args_of(NUMA) {
        Some(Args::Numa(args)) => args.drivers.clone(),
        _ => NumaArgs::default().drivers,
    };
    let mut others = profiles.iter().filter(|(_, profile)| is_on(profile));
    let Some((_, first)) = others.next() else { return };
    for (sets, profile) in others.filter(|(_, other)| drivers(other) != drivers(first)) {
        let profile_path = sets.place.path.trim_end_matches(".plugins");
        let path = format!("{profile_path}.pluginConfig[{NUMA}].args.deviceDrivers");
        let message = format!(
            "must be the same as in profile {:?}, found other drivers in profile {:?}",
            first.scheduler, profile.scheduler
        );
        problems.report(&Place { path, line: sets.place.line }, message);
    }
}

/// What has to be the same in all profiles, as it is written.
fn common(args: &CoschedulingArgs) -> [(&'static str, String); 4] {
    let seconds = |span: Millis| (span.0 / 1000).to_string();
    [
        ("permitWaitingTimeSeconds", seconds(args.permit_timeout)),
        ("bindRetries", args.bind_retries.to_string()),
        ("onPartialFailure", args.on_partial_failure.word().into()),
        ("keepRoomSeconds", seconds(args.room_kept)),
    ]
}

/// Whether a profile says anything of gangs.
pub(super) fn runs_gangs(profile: &ProfileSettings) -> bool {
    let mut choices = profile.points.iter().flat_map(|(_, choices)| choices);
    choices.any(|choice| choice.name == OWN_ORDER)
}

/// What a profile says of gangs.
pub(super) fn gang_args(profile: &ProfileSettings) -> CoschedulingArgs {
    match profile.args_of(OWN_ORDER) {
        Some(Args::Coscheduling(args)) => args.clone(),
        _ => CoschedulingArgs::default(),
    }
}

/// What a profile writes about the order, which must be equal even where it comes to the same.
fn written_order(sets: &PluginSets) -> (Vec<(&'static str, i64)>, Vec<Which>) {
    let Some(set) = sets.at(Point::QueueSort) else { return (Vec::new(), Vec::new()) };
    let enabled = set.enabled.iter().map(|entry| (entry.info.name, entry.weight));
    (enabled.collect(), set.disabled.iter().map(|entry| entry.which).collect())
}

/// The entry that took a plugin's preparation away, or else the one that enabled the plugin.
fn cause(sets: &PluginSets, name: &'static str, point: Point, before: Point) -> Place {
    let disabled = sets.at(before).into_iter().flat_map(|set| &set.disabled);
    let mut disabled = disabled
        .filter(|entry| matches!(entry.which, Which::All) || entry.which == Which::Plugin(name));
    let enabled = sets.at(point).into_iter().flat_map(|set| &set.enabled);
    let mut enabled = enabled.filter(|entry| entry.info.name == name);
    let place = disabled.next().map(|entry| entry.place.clone());
    let place = place.or_else(|| enabled.next().and_then(|entry| entry.place.clone()));
    place.unwrap_or_else(|| sets.place.clone())
}
