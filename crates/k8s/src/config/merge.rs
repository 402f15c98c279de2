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

use framework::{PluginChoice, PluginInfo, Point, WEIGHTS_MAX};

use crate::document::{Place, Problems};

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
    /// Where it is written, if it is.
    pub(super) place: Option<Place>,
    pub(super) enabled: Vec<Enabled>,
    /// Each plugin at most once.
    pub(super) disabled: Vec<Disabled>,
}

/// The plugins of a profile as written.
#[derive(Clone, Debug)]
pub(super) struct PluginSets {
    /// Where they are written, or would be.
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

    /// Whether a section enables a plugin by name.
    pub(super) fn enables(&self, name: &str) -> bool {
        let sections = self.points.iter().map(|(_, set)| set).chain([&self.multi_point]);
        sections.flat_map(|set| &set.enabled).any(|entry| entry.info.name == name)
    }

    /// Where the section of a point stands or, if it is absent, where it belongs.
    pub(super) fn place_of(&self, point: Point) -> Place {
        let written = self.at(point).and_then(|set| set.place.clone());
        let path = || format!("{}.{}", self.place.path, point.word());
        written.unwrap_or_else(|| Place { path: path(), line: self.place.line })
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
            let is_scoring = matches!(point, Point::Score | Point::PlacementScore);
            let weights =
                if is_scoring { self.weights(point, own, &multi, problems) } else { Vec::new() };
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
        twice.sort_by(|a, b| a.place.cmp(&b.place));
        twice.dedup_by(|a, b| a.place == b.place);
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
            // kube-scheduler refuses a plugin whose predecessors add up to less than zero as well.
            let reason = match total {
                i64::MIN..0 => Some("less than zero".to_owned()),
                _ if total + weight.abs() > WEIGHTS_MAX => Some(format!("more than {WEIGHTS_MAX}")),
                _ => None,
            };
            if let Some(reason) = reason {
                let place = entry.place.as_ref().unwrap_or(&self.place);
                let message = format!(
                    "with plugin {name:?}, the weights of {} add up to {reason}",
                    point.word()
                );
                problems.report(place, message);
                break;
            }
            total += weight;
            weights.push((name, weight));
        }
        weights
    }
}

/// The defaults that stay, with what `custom` says of them instead, then what it adds.
fn merge(defaults: Vec<Enabled>, custom: &PluginSet) -> Vec<Enabled> {
    let mut used = vec![false; custom.enabled.len()];
    let mut merged = Vec::new();
    let is_kept = |entry: &Enabled| !custom.disables_all() && !custom.disables(entry.info.name);
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
        if own_names.contains(&name) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use framework::Points;

    const ALL: [(&str, &[Point]); 6] = [
        ("Sort", &[Point::QueueSort]),
        ("Sort2", &[Point::QueueSort]),
        ("Fit", &[Point::Filter, Point::Score]),
        ("Zone", &[Point::Filter, Point::Score]),
        ("Image", &[Point::Score]),
        ("Name", &[Point::Filter]),
    ];

    /// `Fit:2 Zone` as entries of an enabled list.
    fn enabled(text: &str, place: Option<&Place>) -> Vec<Enabled> {
        let entries = text.split_whitespace().enumerate().map(|(at, word)| {
            let (name, weight) = word.split_once(':').unwrap_or((word, "0"));
            let (name, points) = ALL.into_iter().find(|(other, _)| *other == name).expect("known");
            let points = Points::of(points);
            let info = PluginInfo { name, aliases: &[], points, is_built: true };
            let place =
                place.map(|place| Place { path: format!("{}[{at}]", place.path), line: None });
            Enabled { info, weight: weight.parse().expect("a number"), place }
        });
        entries.collect()
    }

    /// `-Fit -* Zone:2`: what is disabled and enabled.
    fn set(path: &str, text: &str) -> PluginSet {
        let place = Place { path: path.into(), line: None };
        let (off, on): (Vec<_>, Vec<_>) =
            text.split_whitespace().partition(|word| word.starts_with('-'));
        let which = |word: &str| match ALL.iter().find(|(name, _)| *name == &word[1..]) {
            Some((name, _)) => Which::Plugin(name),
            None => Which::All,
        };
        let disabled =
            off.into_iter().map(|word| Disabled { which: which(word), place: place.clone() });
        PluginSet {
            enabled: enabled(&on.join(" "), Some(&place)),
            disabled: disabled.collect(),
            place: Some(place),
        }
    }

    /// The plugins at `filter` and `score`, or the problems.
    fn merged(multi: &str, filter: &str, score: &str) -> String {
        let points = [(Point::Filter, set("filter", filter)), (Point::Score, set("score", score))];
        let place = Place { path: "plugins".into(), line: None };
        let sets =
            PluginSets { place, multi_point: set("multiPoint", multi), points: points.into() };
        let mut problems = Problems::default();
        let defaults = enabled("Sort Fit:3 Zone:2 Image Name", None);
        let points = sets.merged(defaults, &mut problems);
        let at =
            |point| points.iter().find(|(other, _)| *other == point).map(|(_, choices)| choices);
        let show = |choice: &PluginChoice| match choice.weight {
            1 => choice.name.to_owned(),
            weight => format!("{}:{weight}", choice.name),
        };
        let shown = |point| {
            let choices = at(point).into_iter().flatten().map(show);
            choices.collect::<Vec<_>>().join(" ")
        };
        let shown = format!("{} | {}", shown(Point::Filter), shown(Point::Score));
        problems.or_value(shown).unwrap_or_else(|error| error.to_string())
    }

    /// What it shows; multiPoint; filter; score; plugins at filter and at score.
    const MERGES: &str = "
        defaults alone;;;; Fit Zone Name | Fit:3 Zone:2 Image
        another weight keeps the place; Zone:7;;; Fit Zone Name | Fit:3 Zone:7 Image
        no weight reads as one; Zone;;; Fit Zone Name | Fit:3 Zone Image
        off everywhere; -Fit;;; Zone Name | Zone:2 Image
        off and on moves to the end; -Fit Fit:4;;; Zone Name Fit | Zone:2 Image Fit:4
        only what is on; -* Name Image:5;;; Name | Image:5
        off at one point;; -Fit;; Zone Name | Fit:3 Zone:2 Image
        on at its point goes first;; Name;; Name Fit Zone | Fit:3 Zone:2 Image
        the point's order wins;; Name Zone;; Name Zone Fit | Fit:3 Zone:2 Image
        the point's weight wins;;; Image:9; Fit Zone Name | Image:9 Fit:3 Zone:2
        the point's missing weight wins too;;; Fit; Fit Zone Name | Fit Zone:2 Image
        all off at a point;; -*; -* Zone:4; | Zone:4
        off and on at a point goes last;;; -Fit Fit:8; Fit Zone Name | Zone:2 Image Fit:8
        off everywhere and on at a point; -Fit;; Fit:8; Zone Name | Zone:2 Image Fit:8
        what multiPoint lacks goes last; -Zone; Zone;; Fit Name Zone | Fit:3 Image
        twice in multiPoint; Fit:1 Fit:2;;; multiPoint[0]: plugin \"Fit\" is enabled twice
        twice and new; -* Name Name;;; multiPoint[1]: plugin \"Name\" is enabled twice
        twice at a point;; Fit Fit;; filter[1]: plugin \"Fit\" is enabled twice
        twice but set at each of its points; -* Fit Fit; Fit; Fit:2; Fit | Fit:2
        negative and never in sum; Image:-1;;; Fit Zone Name | Fit:3 Zone:2 Image:-1
    ";

    #[test]
    fn sections_merge_by_table() {
        for row in MERGES.trim().lines() {
            let columns: Vec<_> = row.split(';').map(str::trim).collect();
            let [_, multi, filter, score, expected] = columns[..] else { panic!("{row}") };
            assert_eq!(merged(multi, filter, score).trim(), expected, "{row}");
        }
    }

    #[test]
    fn weights_below_zero_in_sum_are_refused() {
        let expected =
            "plugins: with plugin \"Fit\", the weights of score add up to less than zero";
        assert_eq!(merged("", "", "Image:-1"), expected);
    }

    #[test]
    fn weights_that_totals_cannot_hold_are_refused() {
        let expected =
            "multiPoint[1]: with plugin \"Zone\", the weights of score add up to more than 1000000";
        assert_eq!(merged("Fit:600000 Zone:600000", "", ""), expected);
    }
}
