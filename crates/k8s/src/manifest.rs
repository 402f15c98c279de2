//! Texts with any number of objects in them, as people and `kubectl` write them: YAML with several
//! documents, JSON values one after the other, and lists of either.
//!
//! JSON is cut into objects without building a tree, because that is what a large cluster is saved
//! as. An object of it has the line it starts on; one of YAML knows the line of every value.

mod fields;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::document::{Node, Place, Problem, Value};

pub use fields::KnownFields;

/// An object of a text.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its kind; empty if it has none.
    pub kind: String,
    /// Its version; empty if it has none.
    pub api_version: String,
    /// The line it starts on.
    pub line: usize,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    Tree(Node),
    Json(Json),
}

impl Manifest {
    /// An object that stands inside another document, such as a template.
    #[must_use]
    pub fn from_tree(node: &Node) -> Self {
        let (kind, api_version) = completed(word(node, "kind"), word(node, "apiVersion"), None);
        Self { kind, api_version, line: node.line.unwrap_or(1), body: Body::Tree(node.clone()) }
    }

    /// The object.
    #[must_use]
    pub fn json(&self) -> Cow<'_, Json> {
        match &self.body {
            Body::Tree(node) => Cow::Owned(node.to_json()),
            Body::Json(json) => Cow::Borrowed(json),
        }
    }

    /// The object as a tree, with lines if it was written as YAML.
    ///
    /// # Errors
    /// When it is nested too deep.
    pub fn tree(&self) -> Result<Cow<'_, Node>, Problem> {
        match &self.body {
            Body::Tree(node) => Ok(Cow::Borrowed(node)),
            Body::Json(json) => Node::from_json(json).map(Cow::Owned),
        }
    }

    /// The line of a value, or the nearest that is known.
    #[must_use]
    pub fn line_at(&self, path: &str) -> usize {
        match &self.body {
            Body::Tree(node) => node.line_at(path).unwrap_or(self.line),
            Body::Json(_) => self.line,
        }
    }
}

/// All objects of a text, in its order.
///
/// # Errors
/// When the text is neither YAML nor JSON, or holds something that is no object.
pub fn split(text: &str) -> Result<Vec<Manifest>, Problem> {
    if text.trim_start().starts_with('{') { split_json(text) } else { split_yaml(text) }
}

fn split_yaml(text: &str) -> Result<Vec<Manifest>, Problem> {
    let mut found = Vec::new();
    for node in Node::all_from_yaml(text)? {
        if node.value != Value::Null {
            add_tree(node, None, &mut found)?;
        }
    }
    Ok(found)
}

/// What the items of a list lack because the list says it for all of them.
type Default<'a> = Option<(&'a str, &'a str)>;

fn add_tree(node: Node, default: Default<'_>, found: &mut Vec<Manifest>) -> Result<(), Problem> {
    let line = node.line.unwrap_or(1);
    if !matches!(node.value, Value::Map(_)) {
        return Err(at(line, "expected an object"));
    }
    if let Some(entry) = node.repeated_key() {
        let message = format!("key {:?} is given twice", entry.key);
        return Err(at(entry.line.unwrap_or(line), &message));
    }
    let (kind, api_version) = completed(word(&node, "kind"), word(&node, "apiVersion"), default);
    let Some(items_kind) = kind.strip_suffix("List") else {
        found.push(Manifest { kind, api_version, line, body: Body::Tree(node) });
        return Ok(());
    };
    match node.get("items").map(|items| items.value.clone()) {
        Some(Value::List(items)) => {
            let default = (!items_kind.is_empty()).then_some((items_kind, &*api_version));
            items.into_iter().try_for_each(|item| add_tree(item, default, found))
        }
        None | Some(Value::Null) => Ok(()),
        Some(Value::Map(_) | Value::Scalar(_)) => {
            let line = node.line_at("items").unwrap_or(line);
            Err(at(line, "items: expected a list"))
        }
    }
}

/// A text, or nothing if there is something else.
fn word(node: &Node, key: &str) -> String {
    match node.get(key).map(|node| &node.value) {
        Some(Value::Scalar(scalar)) => scalar.text.clone(),
        Some(Value::Map(_) | Value::List(_) | Value::Null) | None => String::new(),
    }
}

fn completed(kind: String, version: String, default: Default<'_>) -> (String, String) {
    match default {
        Some((default, default_version)) if kind.is_empty() => {
            (default.to_owned(), default_version.to_owned())
        }
        Some(_) | None => (kind, version),
    }
}

/// The part of a JSON object that says what it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(default)]
    kind: Option<Cow<'a, str>>,
    #[serde(default)]
    api_version: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

fn split_json(text: &str) -> Result<Vec<Manifest>, Problem> {
    let mut found = Vec::new();
    let mut lines = Lines { text, offset: 0, line: 1 };
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = value.map_err(|error| not_json(0, &error))?;
        add_json(value, None, &mut lines, &mut found)?;
    }
    Ok(found)
}

fn add_json<'a>(
    value: &'a RawValue,
    default: Default<'_>,
    lines: &mut Lines<'a>,
    found: &mut Vec<Manifest>,
) -> Result<(), Problem> {
    let line = lines.of(value.get());
    if !value.get().starts_with('{') {
        return Err(at(line, "expected an object"));
    }
    let head: Head<'a> =
        serde_json::from_str(value.get()).map_err(|error| not_json(line - 1, &error))?;
    let word = |text: Option<Cow<'a, str>>| text.map(Cow::into_owned).unwrap_or_default();
    let (kind, api_version) = completed(word(head.kind), word(head.api_version), default);
    let Some(items_kind) = kind.strip_suffix("List") else {
        let json = serde_json::from_str(value.get()).map_err(|error| not_json(line - 1, &error))?;
        found.push(Manifest { kind, api_version, line, body: Body::Json(json) });
        return Ok(());
    };
    let default = (!items_kind.is_empty()).then_some((items_kind, &*api_version));
    let mut items = head.items.unwrap_or_default().into_iter();
    items.try_for_each(|item| add_json(item, default, lines, found))
}

/// Counts lines up to parts of a text that are asked for in its order.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    /// The line on which a part starts.
    fn of(&mut self, part: &'a str) -> usize {
        // Parts are slices of the text, so their distance is an offset into it.
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let between = self.text.as_bytes().get(self.offset..offset).unwrap_or_default();
        self.line += between.iter().filter(|byte| **byte == b'\n').count();
        self.offset = self.offset.max(offset);
        self.line
    }
}

fn not_json(lines_before: usize, error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    at(lines_before + error.line().max(1), &format!("not valid JSON: {message}"))
}

fn at(line: usize, message: &str) -> Problem {
    Place { path: String::new(), line: Some(line) }.problem(message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(String, String, usize)> {
        let objects = split(text).expect("valid").into_iter();
        objects.map(|object| (object.kind, object.api_version, object.line)).collect()
    }

    fn row(kind: &str, version: &str, line: usize) -> (String, String, usize) {
        (kind.into(), version.into(), line)
    }

    #[test]
    fn documents_lists_and_json_are_cut_into_objects_with_lines() {
        let yaml = "# nothing\n---\napiVersion: v1\nkind: Node\n---\n---\nkind: List\nitems:\n\
                    - kind: Pod\n  apiVersion: v1\n- {kind: Job}\n";
        let expected = [row("Node", "v1", 3), row("Pod", "v1", 9), row("Job", "", 11)];
        assert_eq!(kinds(yaml), expected);
        let json = "{\"kind\": \"PodList\", \"apiVersion\": \"v1\",\n\"items\": [\n{},\n \
                    {\"kind\": \"Node\"}]}\n{\"kind\":\"Job\"}";
        let expected = [row("Pod", "v1", 3), row("Node", "", 4), row("Job", "", 5)];
        assert_eq!(kinds(json), expected);
        assert_eq!(kinds(""), []);
        assert_eq!(kinds("kind: List\n"), []);
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_line() {
        // (text, refusal)
        let table = [
            ("- a\n", "line 1: expected an object"),
            ("a: 1\n---\njust text\n", "line 3: expected an object"),
            ("kind: List\nitems:\n  a: 1\n", "line 2: items: expected a list"),
            ("kind: Pod\nspec:\n  a: 1\n  a: 2\n", "line 4: key \"a\" is given twice"),
            ("{\"a\": 1}\n\n[]", "line 3: expected an object"),
            ("{\"a\":\n}", "line 2: not valid JSON: expected value"),
        ];
        for (text, expected) in table {
            assert_eq!(split(text).expect_err(text).to_string(), expected, "{text}");
        }
    }
}
