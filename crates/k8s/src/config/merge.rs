//! From default plugins and what a file changes to the plugins at each extension point.
//!
//! The rules are kube-scheduler's. First the `multiPoint` section is merged with the defaults, then
//! each point is filled from three sources, in this order:
//!
//! 1. plugins of `multiPoint` that the point's own section enables too, in the section's order;
//! 2. the other plugins of `multiPoint` that know the point and are not disabled there;
//! 3. what is left of the point's own section.
//!
//! A point whose section disables `*` has its own section only.

use framework::{MAX_SCORE, PluginChoice, PluginInfo, Point};

use super::error::{Place, Problems};

/// An entry of an `enabled` list.
#[derive(Clone, Debug)]
pub(super) struct Enabled {
    pub(super) info: PluginInfo,
    /// As written; zero when absent.
    pub(super) weight: i64,
    /// Where it is written; none for a default.
    pub(super) place: Option<Place>,
}

/// An entry of a `disabled` list.
#[derive(Clone, Debug)]
pub(super) struct Disabled {
    pub(super) which: Which,
    pub(super) place: Place,
}

/// What an entry of a `disabled` list speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Plugin(&'static str),
}

/// The section of an extension point, or of `multiPoint`.
#[derive(Clone, Debug, Default)]
pub(super) struct PluginSet {
    pub(super) enabled: Vec<Enabled>,
    pub(super) disabled: Vec<Disabled>,
}

/// The plugins of a profile as written.
#[derive(Clone, Debug)]
pub(super) struct PluginSets {
    /// Where they are written.
    pub(super) place: Place,
    pub(super) multi_point: PluginSet,
    pub(super) points: Vec<(Point, PluginSet)>,
}

impl PluginSet {
    /// Whether a plugin is disabled by name.
    fn disables(&self, name: &'static str) -> bool {
        self.disabled.iter().any(|entry| entry.which == Which::Plugin(name))
    }

    fn disables_all(&self) -> bool {
        self.disabled.iter().any(|entry| entry.which == Which::All)
    }

    fn enables(&self, name: &str) -> bool {
        self.enabled.iter().any(|entry| entry.info.name == name)
    }
}

impl PluginSets {
    /// Nothing written at all.
    pub(super) fn none(place: Place) -> Self {
        Self { place, multi_point: PluginSet::default(), points: Vec::new() }
    }

    /// The section of a point, if there is one.
    pub(super) fn at(&self, point: Point) -> Option<&PluginSet> {
        self.points.iter().find(|(other, _)| *other == point).map(|(_, set)| set)
    }

    /// The plugins at each point that has any, in the order they are asked.
    pub(super) fn merged(
        &self,
        defaults: Vec<Enabled>,
        problems: &mut Problems,
    ) -> Vec<(Point, Vec<PluginChoice>)> {
        let nothing = PluginSet::default();
        let multi = merge(defaults, &self.multi_point);
        let mut twice = Vec::new();
        let mut points = Vec::new();
        for (point, _) in Point::ALL {
            let own = self.at(point).unwrap_or(&nothing);
            let names = expand(point, own, &multi, &mut twice);
            let weights = match point {
                Point::Score | Point::PlacementScore => self.weights(point, own, &multi, problems),
                _ => Vec::new(),
            };
            let weight = |name| weights.iter().find(|(other, _)| *other == name).map(|(_, w)| *w);
            let choices = names.into_iter();
            let choices: Vec<_> = choices
                .map(|name| PluginChoice { name, weight: weight(name).unwrap_or(1) })
                .collect();
            if !choices.is_empty() {
                points.push((point, choices));
            }
        }
        // A plugin that is written twice in multiPoint is met at each of its points.
        twice.dedup_by_key(|entry| (entry.info.name, entry.place.clone()));
        for entry in twice {
            let place = entry.place.as_ref().unwrap_or(&self.place);
            problems.report(place, format!("plugin {:?} is enabled twice", entry.info.name));
        }
        points
    }

    /// The weight of each plugin that scores. A point's own section speaks first, and a weight of
    /// zero reads as one: what shall not score is disabled instead.
    fn weights(
        &self,
        point: Point,
        own: &PluginSet,
        multi: &[Enabled],
        problems: &mut Problems,
    ) -> Vec<(&'static str, i64)> {
        let mut weights: Vec<(&'static str, i64)> = Vec::new();
        let mut total: i64 = 0;
        for entry in own.enabled.iter().chain(multi) {
            let name = entry.info.name;
            if !entry.info.points.has(point) || weights.iter().any(|(other, _)| *other == name) {
                continue;
            }
            let weight = if entry.weight == 0 { 1 } else { entry.weight };
            // The subtraction wraps as kube-scheduler's does, which refuses a plugin whose
            // predecessors' weights add up to less than zero.
            if weight * MAX_SCORE > i64::MAX.wrapping_sub(total) {
                let place = entry.place.as_ref().unwrap_or(&self.place);
                let reason = if total < 0 { "less than zero" } else { "more than a score can hold" };
                let message =
                    format!("with plugin {name:?}, the weights of {} add up to {reason}", point.word());
                problems.report(place, message);
                break;
            }
            total += weight * MAX_SCORE;
            weights.push((name, weight));
        }
        weights
    }
}

/// The defaults that stay, with what `custom` says of them instead, then what it adds.
fn merge(defaults: Vec<Enabled>, custom: &PluginSet) -> Vec<Enabled> {
    let mut used = vec![false; custom.enabled.len()];
    let mut merged = Vec::new();
    let is_kept =
        |entry: &Enabled| !custom.disables_all() && !custom.disables(entry.info.name);
    for entry in defaults.into_iter().filter(is_kept) {
        // Of several, the last replaces the default; the others will be enabled twice.
        match custom.enabled.iter().rposition(|other| other.info.name == entry.info.name) {
            Some(at) => {
                used[at] = true;
                merged.push(custom.enabled[at].clone());
            }
            None => merged.push(entry),
        }
    }
    let added = custom.enabled.iter().zip(used).filter(|(_, is_used)| !is_used);
    merged.extend(added.map(|(entry, _)| entry.clone()));
    merged
}

/// The plugins at a point, in order. Entries that repeat an earlier one are added to `twice`.
fn expand<'a>(
    point: Point,
    own: &'a PluginSet,
    multi: &'a [Enabled],
    twice: &mut Vec<&'a Enabled>,
) -> Vec<&'static str> {
    let mut own_names: Vec<&'static str> = Vec::new();
    for entry in &own.enabled {
        let name = entry.info.name;
        if own_names.contains(&name) { twice.push(entry) } else { own_names.push(name) }
    }
    if own.disables_all() {
        return own_names;
    }
    let mut overridden = Vec::new();
    let mut spread: Vec<&'static str> = Vec::new();
    for entry in multi {
        let name = entry.info.name;
        if !entry.info.points.has(point) || own.disables(name) {
            continue;
        }
        if own.enables(name) {
            overridden.push(name);
        } else if spread.contains(&name) {
            twice.push(entry);
        } else {
            spread.push(name);
        }
    }
    let (mut names, rest): (Vec<_>, Vec<_>) =
        own_names.into_iter().partition(|name| overridden.contains(name));
    names.extend(spread);
    names.extend(rest);
    names
}
