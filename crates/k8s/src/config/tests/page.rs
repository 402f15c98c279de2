//! docs/plugins.md says what is registered, where it runs, and what its arguments are.

use std::collections::{BTreeMap, BTreeSet};

use framework::{PluginInfo, Point, ProfileSettings};
use serde_json::Value;

use super::{HEAD, gangs};
use crate::config::{Settings, defaults, load, write};
use crate::document::Node;

const PAGE: &str = include_str!("../../../../../docs/plugins.md");
const COMPARISON: &str = include_str!("../../../../../docs/PLUGIN_COMPARISON.md");
const KUBE: &str = include_str!("kube-scheduler-1.37.1.yaml");

/// The columns that say where a plugin runs.
const PROFILES: [&str; 2] = ["`default-scheduler`", "`kubenexus-scheduler`"];

/// Sets every argument that is not written where nothing is given, besides those of gangs.
const FILLED: &str = "
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio: {shape: [{utilization: 1, score: 2}]}
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 1, preference: {matchExpressions: [{key: a, operator: Exists}]}}
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
      - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 2}
";

/// A row of a table, by the heads of its columns.
type Row = BTreeMap<&'static str, &'static str>;

/// The part of the page below a heading, up to the next one that is not below it.
fn part(heading: &str) -> &'static str {
    let begin = format!("\n{heading}\n");
    let (_, rest) = PAGE.split_once(&*begin).unwrap_or_else(|| panic!("no {heading:?}"));
    let level = heading.find(' ').expect("a heading");
    let ends = |line: &&str| line.starts_with('#') && line.find(' ').is_some_and(|at| at <= level);
    let end = rest.lines().find(ends).and_then(|line| rest.find(&format!("\n{line}\n")));
    &rest[..end.unwrap_or(rest.len())]
}

fn cells(line: &'static str) -> Vec<&'static str> {
    let inner = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
    inner.unwrap_or_else(|| panic!("not a row: {line}")).split(" | ").collect()
}

/// The rows of the table whose first columns have these heads, with none if there is no such table.
fn table(text: &'static str, heads: &[&str]) -> Vec<Row> {
    let mut lines = text.lines();
    let begin = format!("| {} |", heads.join(" | "));
    let Some(head) = lines.find(|line| line.starts_with(&begin)) else { return Vec::new() };
    let head = cells(head);
    let rows = lines.skip(1).take_while(|line| line.starts_with('|')).map(cells);
    rows.map(|row| {
        assert_eq!(row.len(), head.len(), "{row:?}");
        head.iter().copied().zip(row).collect()
    })
    .collect()
}

/// What a cell has between its backticks.
fn code(cell: &'static str) -> Vec<&'static str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn name(row: &Row) -> &'static str {
    code(row["Plugin"])[0]
}

fn in_tree() -> Vec<Row> {
    table(part("## Plugins of kube-scheduler"), &["Plugin", "Points"])
}

fn ours() -> Vec<Row> {
    table(part("## Ours"), &["Plugin", "Other name", "Points"])
}

fn planned() -> Vec<Row> {
    table(part("## Planned"), &["Plugin", "Other name", "Points"])
}

#[test]
fn every_plugin_is_listed_once_and_nothing_else_is() {
    let names = |rows: &[Row]| rows.iter().map(name).collect::<Vec<_>>();
    let sorted = |mut names: Vec<&'static str>| {
        names.sort_unstable();
        names
    };
    let known = |is_built: bool| {
        let chosen = plugins::known().iter().filter(|info| info.is_built == is_built);
        sorted(chosen.map(|info| info.name).collect())
    };
    assert_eq!(sorted([names(&in_tree()), names(&ours())].concat()), known(true));
    assert_eq!(sorted(names(&planned())), known(false));
    let sections = part("## Ours").lines().filter_map(|line| line.strip_prefix("### "));
    assert_eq!(sections.collect::<Vec<_>>(), names(&ours()), "a section for each, in this order");
}

/// How a column of a profile says that a plugin is there.
fn shown(profile: &ProfileSettings, info: &PluginInfo) -> String {
    let at = |point| profile.at(point).iter().find(|choice| choice.name == info.name);
    match at(Point::Score) {
        Some(choice) => choice.weight.to_string(),
        None if Point::ALL.iter().all(|(point, _)| at(*point).is_none()) => "off".into(),
        None if info.points.has(Point::Score) => "no score".into(),
        None => "on".into(),
    }
}

#[test]
fn names_points_and_weights_are_those_of_the_code() {
    let settings = defaults(plugins::known());
    let of_kube: BTreeSet<_> = in_tree().iter().map(name).collect();
    for row in [in_tree(), ours(), planned()].concat() {
        let found = plugins::known().iter().find(|info| info.name == name(&row));
        let info = found.unwrap_or_else(|| panic!("{row:?}"));
        let at = Point::ALL.iter().filter(|(point, _)| info.points.has(*point));
        assert_eq!(code(row["Points"]), at.map(|(_, word)| *word).collect::<Vec<_>>(), "{row:?}");
        let aliases = row.get("Other name").map(|cell| code(cell)).unwrap_or_default();
        assert_eq!(aliases, info.aliases, "{row:?}");
        for (head, profile) in PROFILES.iter().zip(&settings.profiles) {
            if let Some(cell) = row.get(head) {
                assert_eq!(*cell, shown(profile, info), "{head} of {}", info.name);
            }
        }
        // What is ours is in kube-scheduler's profile nowhere, however the page sorts it.
        let is_theirs = of_kube.contains(info.name) || !info.is_built;
        assert!(is_theirs || shown(&settings.profiles[0], info) == "off", "{}", info.name);
    }
}

#[test]
fn each_of_ours_has_its_what_why_and_cost_and_is_compared() {
    for row in ours() {
        let text = part(&format!("### {}", name(&row)));
        for word in ["**What.** ", "**Why.** ", "**Cost.** "] {
            assert!(text.lines().any(|line| line.starts_with(word)), "{word}of {}", name(&row));
        }
        let is_compared = COMPARISON.contains(&format!("`{}`", name(&row)));
        assert!(is_compared, "docs/PLUGIN_COMPARISON.md does not name {}", name(&row));
    }
}

/// Arguments with their values, and what is within a list or has no default as it is.
fn flat(args: &Value, path: &str, found: &mut BTreeMap<String, Value>) {
    for (key, value) in args.as_object().expect("a map") {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        match (value, &*path) {
            (_, "apiVersion" | "kind") => {}
            (Value::Object(_), path) if !WITHOUT_DEFAULT.contains(&path) => {
                flat(value, path, found);
            }
            _ => {
                found.insert(path, value.clone());
            }
        }
    }
}

/// Arguments that are maps, and are not there unless they are given.
const WITHOUT_DEFAULT: [&str; 2] = ["addedAffinity", "scoringStrategy.requestedToCapacityRatio"];

/// The arguments of every plugin of our own profile, as they are written.
fn written(settings: &Settings) -> BTreeMap<String, BTreeMap<String, Value>> {
    let config = write(settings, plugins::known());
    let profiles = config["profiles"].as_array().expect("a list");
    let ours = profiles.iter().find(|it| it["schedulerName"] == "kubenexus-scheduler");
    let entries = ours.expect("our own")["pluginConfig"].as_array().expect("a list");
    let entry = |entry: &Value| {
        let mut found = BTreeMap::new();
        flat(&entry["args"], "", &mut found);
        (entry["name"].as_str().expect("a name").to_owned(), found)
    };
    entries.iter().map(entry).collect()
}

/// The keys of a map, or of all maps of a list.
fn keys(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Object(fields) => fields.keys().map(|key| &**key).collect(),
        Value::Array(items) => items.iter().flat_map(keys).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => BTreeSet::new(),
    }
}

/// The rows of the page about arguments of a plugin, by argument.
fn arguments(plugin: &str) -> BTreeMap<String, Row> {
    let heads = ["Plugin", "Argument", "Default"];
    let of_kube = table(part("## Plugins of kube-scheduler"), &heads);
    assert_ne!(of_kube.len(), 0, "no table of arguments");
    let mut rows: Vec<Row> = of_kube.into_iter().filter(|row| name(row) == plugin).collect();
    if ours().iter().any(|row| name(row) == plugin) {
        rows.extend(table(part(&format!("### {plugin}")), &heads[1..]));
    }
    let count = rows.len();
    let by_name: BTreeMap<_, _> =
        rows.into_iter().map(|row| (code(row["Argument"])[0].to_owned(), row)).collect();
    assert_eq!(by_name.len(), count, "an argument of {plugin} is listed twice");
    by_name
}

#[test]
fn arguments_and_their_defaults_are_those_that_are_written() {
    let given = written(&defaults(plugins::known()));
    let filled = format!("{HEAD}{}{FILLED}", gangs::ARGS.trim_end());
    let filled = load(&filled, plugins::known()).unwrap_or_else(|error| panic!("{error}"));
    let filled = written(&filled);
    for info in plugins::known().iter().filter(|info| info.is_built) {
        let rows = arguments(info.name);
        let none = BTreeMap::new();
        let given = given.get(info.name).unwrap_or(&none);
        let filled = filled.get(info.name).unwrap_or(&none);
        let all: BTreeSet<_> = given.keys().chain(filled.keys()).collect();
        assert_eq!(rows.keys().collect::<BTreeSet<_>>(), all, "arguments of {}", info.name);
        for (argument, row) in &rows {
            let about = format!("{argument} of {}", info.name);
            match given.get(argument) {
                Some(value) => {
                    let text = code(row["Default"]).concat();
                    let node =
                        Node::from_yaml(&text).unwrap_or_else(|it| panic!("{about}: {it:?}"));
                    assert_eq!(node.to_json(), *value, "{about}");
                }
                None => assert_eq!(row["Default"], "none", "{about}"),
            }
            let meaning = code(row["Meaning"]);
            for key in filled.get(argument).map(keys).unwrap_or_default() {
                assert!(meaning.contains(&key), "{key} in {about}");
            }
        }
    }
}

#[test]
fn arguments_of_planned_plugins_are_named() {
    let file = Node::from_yaml(KUBE).expect("valid").to_json();
    let entries = file["profiles"][0]["pluginConfig"].as_array().expect("a list");
    for row in planned() {
        let entry = entries.iter().find(|entry| entry["name"] == name(&row));
        let mut named = BTreeMap::new();
        if let Some(entry) = entry {
            flat(&entry["args"], "", &mut named);
        }
        let cells = row.values().flat_map(|cell| code(cell)).collect::<Vec<_>>();
        for key in named.keys() {
            assert!(cells.contains(&&**key), "{key} of {}", name(&row));
        }
    }
}
