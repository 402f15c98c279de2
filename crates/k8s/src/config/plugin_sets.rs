//! The `plugins` section of a profile: names become registered plugins.

use framework::{PluginInfo, Point};

use super::defaults;
use super::merge::{Disabled, Enabled, PluginSet, PluginSets, Which};
use crate::document::{Fields, Place, Problems, Spot, quoted, suggestion};

/// Reads the `plugins` section of a profile. What cannot be read is reported and left out.
pub(super) fn read(
    profile: &Fields<'_>,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> PluginSets {
    let mut sets = PluginSets::none(profile.place_at("plugins"));
    let words: Vec<&str> = Point::ALL.iter().map(|(_, word)| *word).chain(["multiPoint"]).collect();
    let Some(spot) = profile.get("plugins") else { return sets };
    let Some(fields) = spot.fields(&words, problems) else { return sets };
    sets.multi_point = plugin_set(&fields, "multiPoint", None, known, problems);
    for (point, word) in Point::ALL {
        if fields.get(word).is_some() {
            sets.points.push((point, plugin_set(&fields, word, Some(point), known, problems)));
        }
    }
    sets
}

/// The plugin that a name or an alias stands for; an unknown one is reported.
pub(super) fn find(
    spot: &Spot<'_>,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> Option<PluginInfo> {
    let name = spot.text(problems)?;
    let is_named = |info: &&PluginInfo| info.name == name || info.aliases.contains(&name);
    let found = known.iter().find(is_named).copied();
    if found.is_none() {
        let names = known.iter().flat_map(|info| info.aliases.iter().copied().chain([info.name]));
        let hint = suggestion(name, names);
        problems.report(&spot.place, format!("unknown plugin {}{hint}", quoted(name)));
    }
    found
}

fn plugin_set(
    fields: &Fields<'_>,
    word: &str,
    point: Option<Point>,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> PluginSet {
    let mut set = PluginSet::default();
    let Some(spot) = fields.get(word) else { return set };
    set.place = Some(spot.place.clone());
    let Some(fields) = spot.fields(&["enabled", "disabled"], problems) else { return set };
    for item in fields.items("enabled", problems) {
        set.enabled.extend(enabled(item, point, known, problems));
    }
    for item in fields.items("disabled", problems) {
        let entry = disabled(item, known, problems);
        let is_new = |entry: &Disabled| set.disabled.iter().all(|other| other.which != entry.which);
        set.disabled.extend(entry.filter(is_new));
    }
    set
}

fn enabled(
    item: Spot<'_>,
    point: Option<Point>,
    known: &[PluginInfo],
    problems: &mut Problems,
) -> Option<Enabled> {
    let (name, weight) = entry(item, problems)?;
    let zero = weight.as_ref().filter(|(_, weight)| *weight == 0).map(|(place, _)| place.clone());
    let weight = weight.map_or(0, |(_, weight)| weight);
    if name.text(problems)? == "*" {
        problems.report(&name.place, "\"*\" means all plugins, and can only be disabled");
        return None;
    }
    let info = find(&name, known, problems)?;
    if !is_accepted(&info) {
        problems.report(&name.place, not_built(&info));
        return None;
    }
    if let Some(point) = point.filter(|point| !info.points.has(*point)) {
        let points: Vec<_> =
            Point::ALL.iter().filter(|(point, _)| info.points.has(*point)).collect();
        let points: Vec<_> = points.iter().map(|(_, word)| *word).collect();
        let message = format!(
            "plugin {:?} cannot be enabled at {}, only at {}",
            info.name,
            point.word(),
            points.join(", ")
        );
        problems.report(&name.place, message);
        return None;
    }
    if let Some(place) = zero.filter(|_| is_ranked(&info, point)) {
        let message = format!(
            "a weight of 0 reads as 1, as in kube-scheduler; if {:?} shall not score, disable it \
             at score",
            info.name
        );
        problems.warn(&place, message);
    }
    Some(Enabled { info, weight, place: Some(name.place) })
}

/// Whether a weight of the plugin counts where it is written. One that kube-scheduler itself writes
/// down without a weight is meant to count for 1.
fn is_ranked(info: &PluginInfo, point: Option<Point>) -> bool {
    let scores = |at: Point| info.points.has(at) && point.is_none_or(|point| point == at);
    let is_plain = defaults::weighs_nothing(info.name);
    info.is_built && !is_plain && (scores(Point::Score) || scores(Point::PlacementScore))
}

fn disabled(item: Spot<'_>, known: &[PluginInfo], problems: &mut Problems) -> Option<Disabled> {
    let (name, _) = entry(item, problems)?;
    let which = match name.text(problems)? {
        "*" => Which::All,
        _ => Which::Plugin(find(&name, known, problems)?.name),
    };
    Some(Disabled { which, place: name.place })
}

/// The name of an entry and, if it has one, its weight and where that stands.
fn entry<'a>(item: Spot<'a>, problems: &mut Problems) -> Option<(Spot<'a>, Option<(Place, i64)>)> {
    let fields = item.fields(&["name", "weight"], problems)?;
    let range = i64::from(i32::MIN)..=i64::from(i32::MAX);
    let weight = fields.integer("weight", range, problems);
    let weight = weight.map(|weight| (fields.place_at("weight"), weight));
    Some((fields.required("name", problems)?, weight))
}

/// Whether a configuration may name a plugin. One that is not built may be named where every
/// profile has it anyway: it stays a guard that refuses the pods that need it.
pub(super) fn is_accepted(info: &PluginInfo) -> bool {
    info.is_built || defaults::has(info.name)
}

/// Why a plugin cannot be used yet.
pub(super) fn not_built(info: &PluginInfo) -> String {
    format!("plugin {:?} is not built yet", info.name)
}
