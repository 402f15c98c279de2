//! Fields of objects that Kubernetes does not know, and keys under `kubenexus.io` that nobody
//! reads. Most of them are typing errors, and without a word the object would read as if they were
//! not there.
//!
//! Which fields there are is a table in the repository, written by `cargo xtask fields` from the
//! OpenAPI document of Kubernetes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value as Json;

use super::{Body, Manifest};
use crate::document::{Node, Place, Problem, Value, distance, joined, suggestion};
use crate::ingest::{is_hardware_key, own_keys};

/// Read once, whoever asks first.
static TABLE: LazyLock<Table> = LazyLock::new(|| Table::read(include_str!("fields.txt")));
/// The type of `metadata`.
const METADATA: &str = "meta.v1.ObjectMeta";
/// The most that is told of one object.
const TOLD_MAX: usize = 20;
/// Our part of the names of labels and annotations.
const DOMAIN: &str = "kubenexus.io";
/// As many letters of a key may be wrong.
const EDITS_MAX: usize = 3;

/// A type of the table.
#[derive(Clone, Copy, PartialEq, Eq)]
struct TypeAt(usize);

struct Table {
    /// An API version and a kind, with the type of its objects.
    kinds: Vec<(&'static str, &'static str, TypeAt)>,
    /// The fields of each type, with the type of what stands there if it has fields as well.
    types: Vec<BTreeMap<&'static str, Option<TypeAt>>>,
    metadata: TypeAt,
}

impl Table {
    fn read(text: &'static str) -> Self {
        let lines = || text.lines().filter(|line| !line.starts_with('#'));
        let names = lines().filter_map(|line| line.strip_prefix("type "));
        let names: BTreeMap<&str, TypeAt> =
            names.enumerate().map(|(at, name)| (name, TypeAt(at))).collect();
        let mut known = Self { kinds: Vec::new(), types: Vec::new(), metadata: names[METADATA] };
        for line in lines() {
            let words: Vec<&'static str> = line.split_whitespace().collect();
            match (&words[..], known.types.last_mut()) {
                (["kind", version, kind, of], _) => known.kinds.push((version, kind, names[of])),
                (["type", _], _) => known.types.push(BTreeMap::new()),
                ([field], Some(fields)) => _ = fields.insert(field, None),
                ([field, of], Some(fields)) => _ = fields.insert(field, Some(names[of])),
                _ => unreachable!("the table has no other lines: {line}"),
            }
        }
        known
    }

    /// An object without a version is of the first one that has its kind.
    fn type_of(&self, version: &str, kind: &str) -> Option<TypeAt> {
        let is_meant = |known: &(&str, &str, TypeAt)| {
            known.1 == kind && (version.is_empty() || known.0 == version)
        };
        self.kinds.iter().find(|known| is_meant(known)).map(|(.., of)| *of)
    }
}

/// The fields that objects of Kubernetes may have, and the keys that are read under our domain.
pub struct KnownFields {
    table: &'static Table,
    keys: Vec<&'static str>,
}

impl KnownFields {
    /// `keys` are read from labels and annotations beside those that scheduling reads.
    #[must_use]
    pub fn new(keys: &[&'static str]) -> Self {
        Self { table: &TABLE, keys: own_keys().chain(keys.iter().copied()).collect() }
    }

    /// What stands in a manifest and is unknown, in the order of its lines. Lines are those of the
    /// text, and none for JSON. It is of the kind `kind` unless it names one.
    #[must_use]
    pub fn unknown(&self, manifest: &Manifest, kind: &str) -> Vec<Problem> {
        let object = match &manifest.body {
            Body::Tree(node) => Part::Tree(node),
            Body::Json(json) => Part::Json(json),
        };
        let kind = if manifest.kind.is_empty() { kind } else { &manifest.kind };
        self.unknown_of(&manifest.api_version, kind, object)
    }

    /// What stands in an object and is unknown; it is of the kind `kind` unless it names one.
    #[must_use]
    pub fn unknown_in(&self, object: &Json, kind: &str) -> Vec<Problem> {
        let word = |key: &str| object.get(key).and_then(Json::as_str);
        let (version, kind) = (word("apiVersion").unwrap_or(""), word("kind").unwrap_or(kind));
        self.unknown_of(version, kind, Part::Json(object))
    }

    fn unknown_of(&self, version: &str, kind: &str, object: Part<'_>) -> Vec<Problem> {
        let Some(of) = self.table.type_of(version, kind) else { return Vec::new() };
        let mut found = Vec::new();
        let mut way = Vec::new();
        let mut open = vec![(object, of, None)];
        while let Some((part, of, at)) = open.pop() {
            if found.len() >= TOLD_MAX {
                break;
            }
            match part.children() {
                Children::None => {}
                Children::Items(items) => {
                    for (number, item) in items.into_iter().enumerate() {
                        way.push(Step { before: at, name: Name::Item(number) });
                        open.push((item, of, Some(way.len() - 1)));
                    }
                }
                Children::Entries(entries) => {
                    for (key, line, value) in entries {
                        match self.table.types[of.0].get(key) {
                            Some(None) if of == self.table.metadata && is_keyed(key) => {
                                let path = path(&way, at, key);
                                found.extend(self.unknown_keys(&path, value));
                            }
                            Some(None) => {}
                            Some(Some(inner)) => {
                                way.push(Step { before: at, name: Name::Key(key) });
                                open.push((value, *inner, Some(way.len() - 1)));
                            }
                            None => {
                                let fields = self.table.types[of.0].keys().copied();
                                let message = format!("unknown field{}", suggestion(key, fields));
                                let place = Place { path: path(&way, at, key), line };
                                found.push(place.problem(message));
                            }
                        }
                    }
                }
            }
        }
        found.sort_by(|one, other| (one.line, &one.path).cmp(&(other.line, &other.path)));
        found.truncate(TOLD_MAX);
        found
    }

    /// Keys under our domain, or one that is spelt almost like it, that nobody reads.
    fn unknown_keys(&self, path: &str, map: Part<'_>) -> Vec<Problem> {
        let Children::Entries(entries) = map.children() else { return Vec::new() };
        let is_unknown = |(key, ..): &(&str, Option<usize>, Part<'_>)| {
            is_almost_ours(key) && !self.keys.contains(key) && !is_hardware_key(key)
        };
        let problem = |(key, line, _): (&str, Option<usize>, Part<'_>)| {
            let letters: Vec<char> = key.chars().take(200).collect();
            let near = self.keys.iter().map(|known| (distance(&letters, known), *known));
            let near =
                near.min_by_key(|(edits, _)| *edits).filter(|(edits, _)| *edits <= EDITS_MAX);
            let hint = near.map(|(_, known)| format!("; did you mean {known:?}?"));
            let message = format!("unknown key{}", hint.unwrap_or_default());
            Place { path: joined(path, key), line }.problem(message)
        };
        entries.into_iter().filter(is_unknown).take(TOLD_MAX).map(problem).collect()
    }
}

/// Whether a field of `metadata` holds keys of users.
fn is_keyed(field: &str) -> bool {
    matches!(field, "labels" | "annotations")
}

/// Whether a key ends in our domain, give or take two letters.
fn is_almost_ours(key: &str) -> bool {
    let Some((prefix, _)) = key.split_once('/') else { return false };
    let domain = prefix.rmatch_indices('.').nth(1).map_or(prefix, |(at, _)| &prefix[at + 1..]);
    let letters: Vec<char> = domain.chars().take(2 * DOMAIN.len()).collect();
    distance(&letters, DOMAIN) <= 2
}

/// A part of an object.
#[derive(Clone, Copy)]
enum Part<'a> {
    Tree(&'a Node),
    Json(&'a Json),
}

enum Children<'a> {
    None,
    Items(Vec<Part<'a>>),
    Entries(Vec<(&'a str, Option<usize>, Part<'a>)>),
}

impl<'a> Part<'a> {
    fn children(self) -> Children<'a> {
        match self {
            Part::Tree(node) => match &node.value {
                Value::Map(entries) => Children::Entries(
                    entries
                        .iter()
                        .map(|entry| (&*entry.key, entry.line, Part::Tree(&entry.node)))
                        .collect(),
                ),
                Value::List(items) => Children::Items(items.iter().map(Part::Tree).collect()),
                Value::Scalar(_) | Value::Null => Children::None,
            },
            Part::Json(json) => match json {
                Json::Object(fields) => Children::Entries(
                    fields.iter().map(|(key, value)| (&**key, None, Part::Json(value))).collect(),
                ),
                Json::Array(items) => Children::Items(items.iter().map(Part::Json).collect()),
                Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Children::None,
            },
        }
    }
}

/// A step into an object, and the one before it.
struct Step<'a> {
    before: Option<usize>,
    name: Name<'a>,
}

enum Name<'a> {
    Key(&'a str),
    Item(usize),
}

/// The path of a field, such as `spec.containers[0].image`.
fn path(way: &[Step<'_>], at: Option<usize>, field: &str) -> String {
    let mut steps = Vec::new();
    let mut next = at;
    while let Some(at) = next {
        steps.push(&way[at].name);
        next = way[at].before;
    }
    let path = steps.iter().rev().fold(String::new(), |path, name| match name {
        Name::Key(key) => joined(&path, key),
        Name::Item(number) => format!("{path}[{number}]"),
    });
    joined(&path, field)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::split;

    fn told(text: &str) -> Vec<String> {
        let known = KnownFields::new(&["simulate.kubenexus.io/duration"]);
        let manifests = split(text).expect("valid").into_iter();
        manifests
            .flat_map(|one| known.unknown(&one, ""))
            .map(|problem| problem.to_string())
            .collect()
    }

    #[test]
    fn unknown_fields_are_told_with_line_path_and_nearest_name() {
        let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  lables: {a: b}\nspec:\n  \
                   nodeSelectr: {x: y}\n  containers:\n  - name: c\n    resources:\n      \
                   requets: {cpu: 1}\n";
        let expected = [
            "line 5: metadata.lables: unknown field; did you mean \"labels\"?",
            "line 7: spec.nodeSelectr: unknown field; did you mean \"nodeSelector\"?",
            "line 11: spec.containers[0].resources.requets: unknown field; did you mean \
             \"requests\"?",
        ];
        assert_eq!(told(pod), expected);
        let job = "kind: Job\nspec:\n  template:\n    sepc: {}\n";
        assert_eq!(
            told(job),
            ["line 4: spec.template.sepc: unknown field; did you mean \"spec\"?"]
        );
        let json = r#"{"apiVersion": "v1", "kind": "Node", "status": {"allocatble": {"cpu": 1}}}"#;
        assert_eq!(told(json), ["status.allocatble: unknown field; did you mean \"allocatable\"?"]);
    }

    #[test]
    fn what_kubernetes_knows_and_what_nobody_can_know_is_not_told() {
        let table = [
            "apiVersion: v1\nkind: Pod\nmetadata: {labels: {a: b}, annotations: {x/y: z}}\n\
             spec: {nodeSelector: {any: thing}, overhead: {cpu: 1}, tolerations: [{key: a}]}\n",
            "apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {hostPID: true}}}\n",
            "apiVersion: v1\nkind: Node\nstatus: {capacity: {example.com/x: 1}}\n",
            // A kind of others, and a version that this Kubernetes does not have.
            "apiVersion: example.com/v1\nkind: Pod\nspec: {anything: 1}\n",
            "kind: Whatever\nspec: {anything: 1}\n",
            // What is no object is somebody else's business.
            "kind: Pod\nspec: 1\nmetadata: [a]\n",
        ];
        for text in table {
            assert_eq!(told(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn keys_under_our_domain_are_told_if_nobody_reads_them() {
        let message = |key: &str| told(&format!("kind: Pod\nmetadata:\n  labels:\n    {key}: x\n"));
        // (key, message)
        let table = [
            ("gang.scheduling.kubenexus.io/name", ""),
            ("simulate.kubenexus.io/duration", ""),
            ("tenant.kubenexus.io/tier", ""),
            ("tenant.kubenexus.io/reserved-tier", ""),
            ("hardware.kubenexus.io/tier", ""),
            ("hardware.kubenexus.io/cost", ""),
            ("hardware.kubenexus.io/tiers", "unknown key"),
            ("example.com/tier", ""),
            ("kubernetes.io/tier", ""),
            ("tenant.kubenexus.io/teir", "unknown key; did you mean \"tenant.kubenexus.io/tier\"?"),
            ("tenant.kubenxus.io/tier", "unknown key; did you mean \"tenant.kubenexus.io/tier\"?"),
            ("simulate.kubenexus.io/colour", "unknown key"),
        ];
        for (key, expected) in table {
            let expected: Vec<String> = match expected {
                "" => Vec::new(),
                text => vec![format!("line 4: metadata.labels[{key:?}]: {text}")],
            };
            assert_eq!(message(key), expected, "{key}");
        }
    }

    #[test]
    fn little_is_told_of_an_object_that_is_wrong_throughout() {
        let fields: String = (0..1000).map(|number| format!("  field{number}: 1\n")).collect();
        assert_eq!(told(&format!("kind: Pod\nspec:\n{fields}")).len(), TOLD_MAX);
    }
}
