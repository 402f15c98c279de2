//! A document as a tree that remembers its lines, made from YAML or JSON.
//!
//! The tree is bounded in depth and holds text exactly as written: what a scalar means is decided
//! by whoever reads it. Anchors, aliases and tags are refused, because a file that is short on
//! paper must not be large in memory.

mod problem;
mod read;

use std::collections::BTreeSet;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::Value as Json;

pub(crate) use problem::distance;
pub use problem::{DocumentError, Notes, Place, Problem, Problems, suggestion};
pub(crate) use read::joined;
pub use read::{Fields, Spot, quoted};

/// Configurations are a few kilobytes; a megabyte is a mistake.
const SIZE_MAX: usize = 1 << 20;
/// The deepest field there is lies a dozen levels down.
const DEPTH_MAX: usize = 64;

/// A value with the line it starts on. JSON objects have no lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Counted from 1.
    pub line: Option<usize>,
    /// What stands there.
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Keys with values, in the order of the text.
    Map(Vec<Entry>),
    /// Values in a row.
    List(Vec<Node>),
    /// A single one.
    Scalar(Scalar),
    /// None at all.
    Null,
}

/// A key with its value. A key may occur twice: the reader of the map says so, with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The line of the key.
    pub line: Option<usize>,
    /// Its value.
    pub node: Node,
}

/// Text, a number or a truth value, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// As written, without its quotes.
    pub text: String,
    /// Without quotes, so that `5` is a number and `true` a truth value.
    pub is_plain: bool,
}

impl Node {
    /// Reads the only document of a short YAML text.
    ///
    /// # Errors
    /// When the text is not YAML, holds anything but one document, or is longer than a megabyte.
    pub fn from_yaml(text: &str) -> Result<Self, Problem> {
        if text.len() > SIZE_MAX {
            let message = format!("{} bytes are too many; at most {SIZE_MAX} are read", text.len());
            return Err(Place::file().problem(message));
        }
        let only = Self::documents(text, 1)?.pop();
        only.ok_or_else(|| Place::file().problem("the file is empty".into()))
    }

    /// Reads all documents of a YAML text.
    ///
    /// # Errors
    /// When the text is not YAML.
    pub fn all_from_yaml(text: &str) -> Result<Vec<Self>, Problem> {
        Self::documents(text, usize::MAX)
    }

    fn documents(text: &str, count_max: usize) -> Result<Vec<Self>, Problem> {
        let mut builder = Builder { open: Vec::new(), documents: Vec::new(), count_max };
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let line = error.marker().line().max(1);
                at_line(line).problem(format!("not valid YAML: {}", error.info()))
            })?;
            builder.take(event, span)?;
        }
        Ok(builder.documents)
    }

    /// Converts a JSON value.
    ///
    /// # Errors
    /// When it is nested too deep.
    pub fn from_json(json: &Json) -> Result<Self, Problem> {
        convert(json, DEPTH_MAX)
    }

    /// The same value without lines. Scalars mean what they mean to Kubernetes' own tools.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Map(entries) => {
                let fields = entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json()));
                Json::Object(fields.collect())
            }
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Scalar(scalar) => scalar.to_json(),
            Value::Null => Json::Null,
        }
    }

    /// The value of a key, if this is a map that has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    /// The line of the value that a path such as `spec.containers[0].image` leads to, or of the
    /// last value on the way that is there.
    #[must_use]
    pub fn line_at(&self, path: &str) -> Option<usize> {
        let path = path.strip_prefix('.').unwrap_or(path);
        let inner = match &self.value {
            Value::List(items) => path.strip_prefix('[').and_then(|rest| {
                let (number, rest) = rest.split_once(']')?;
                items.get(number.parse::<usize>().ok()?)?.line_at(rest)
            }),
            Value::Map(entries) => {
                // Keys have dots of their own; the longest that the path starts with is meant.
                let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
                let starts = |entry: &&Entry| path.strip_prefix(&*entry.key).is_some_and(ends);
                let found = entries.iter().filter(starts).max_by_key(|entry| entry.key.len());
                found.and_then(|entry| {
                    let rest = &path[entry.key.len()..];
                    if rest.is_empty() { entry.line } else { entry.node.line_at(rest) }
                })
            }
            Value::Scalar(_) | Value::Null => None,
        };
        inner.or(self.line)
    }

    /// A key that one map has twice, at any depth.
    #[must_use]
    pub fn repeated_key(&self) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => {
                let mut seen = BTreeSet::new();
                let repeated = entries.iter().find(|entry| !seen.insert(&*entry.key));
                repeated.or_else(|| entries.iter().find_map(|entry| entry.node.repeated_key()))
            }
            Value::List(items) => items.iter().find_map(Self::repeated_key),
            Value::Scalar(_) | Value::Null => None,
        }
    }
}

fn convert(json: &Json, depth_left: usize) -> Result<Node, Problem> {
    if depth_left == 0 {
        return Err(too_deep(Place::file()));
    }
    let scalar = |text: String, is_plain| Value::Scalar(Scalar { text, is_plain });
    let value = match json {
        Json::Null => Value::Null,
        Json::Bool(is_true) => scalar(is_true.to_string(), true),
        Json::Number(number) => scalar(number.to_string(), true),
        Json::String(text) => scalar(text.clone(), false),
        Json::Array(items) => {
            let items = items.iter().map(|item| convert(item, depth_left - 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => {
            let entries = fields.iter().map(|(key, value)| {
                let node = convert(value, depth_left - 1)?;
                Ok(Entry { key: key.clone(), line: None, node })
            });
            Value::Map(entries.collect::<Result<_, _>>()?)
        }
    };
    Ok(Node { line: None, value })
}

/// Puts events together. The stack holds the containers that are still open.
struct Builder {
    open: Vec<Open>,
    documents: Vec<Node>,
    count_max: usize,
}

enum Open {
    List { line: usize, items: Vec<Node> },
    Map { line: usize, entries: Vec<Entry>, key: Option<(String, usize)> },
}

impl Builder {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let line = span.start.line();
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) if self.documents.len() == self.count_max => {
                Err(at_line(line).problem("expected one document, found a second one".into()))
            }
            Event::DocumentStart(_) => Ok(()),
            Event::Alias(_) => Err(no_anchors(line)),
            Event::Scalar(text, style, anchor, tag) => {
                refuse_extras(line, anchor, tag.is_some())?;
                self.scalar(line, text.into_owned(), style == ScalarStyle::Plain)
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_extras(line, anchor, tag.is_some())?;
                self.enter(line, Open::List { line, items: Vec::new() })
            }
            Event::MappingStart(anchor, tag) => {
                refuse_extras(line, anchor, tag.is_some())?;
                self.enter(line, Open::Map { line, entries: Vec::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(),
        }
    }

    fn scalar(&mut self, line: usize, text: String, is_plain: bool) -> Result<(), Problem> {
        if let Some(Open::Map { key: key @ None, .. }) = self.open.last_mut() {
            *key = Some((text, line));
            return Ok(());
        }
        let is_null = is_plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
        let scalar = Value::Scalar(Scalar { text, is_plain });
        let value = if is_null { Value::Null } else { scalar };
        self.add(Node { line: Some(line), value });
        Ok(())
    }

    fn enter(&mut self, line: usize, container: Open) -> Result<(), Problem> {
        if self.open.len() >= DEPTH_MAX {
            return Err(too_deep(at_line(line)));
        }
        if matches!(self.open.last(), Some(Open::Map { key: None, .. })) {
            let message = "a key must be text, not a list or a map";
            return Err(at_line(line).problem(message.into()));
        }
        self.open.push(container);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Problem> {
        let (line, value) = match self.open.pop().expect("the parser balances starts and ends") {
            Open::List { line, items } => (line, Value::List(items)),
            Open::Map { line, entries, .. } => (line, Value::Map(entries)),
        };
        self.add(Node { line: Some(line), value });
        Ok(())
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => {
                let (key, line) = key.take().expect("a value follows its key");
                entries.push(Entry { key, line: Some(line), node });
            }
            None => self.documents.push(node),
        }
    }
}

fn refuse_extras(line: usize, anchor: usize, is_tagged: bool) -> Result<(), Problem> {
    if anchor != 0 {
        return Err(no_anchors(line));
    }
    if is_tagged {
        return Err(at_line(line).problem("YAML tags are not supported".into()));
    }
    Ok(())
}

fn no_anchors(line: usize) -> Problem {
    at_line(line).problem("YAML anchors and aliases are not supported; write the value out".into())
}

fn too_deep(place: Place) -> Problem {
    place.problem(format!("nested more than {DEPTH_MAX} levels deep"))
}

fn at_line(line: usize) -> Place {
    Place { path: String::new(), line: Some(line) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Node::from_yaml(text).expect_err("must be refused").to_string()
    }

    #[test]
    fn values_keep_their_lines() {
        let root = Node::from_yaml("a: 1\n\nb:\n  - \"2\"\n  - ~\n").expect("valid");
        let Value::Map(entries) = &root.value else { panic!("a map") };
        assert_eq!((entries[0].line, entries[1].line), (Some(1), Some(3)));
        let Value::List(items) = &entries[1].node.value else { panic!("a list") };
        assert_eq!(items[0].line, Some(4));
        assert_eq!(items[0].value, Value::Scalar(Scalar { text: "2".into(), is_plain: false }));
        assert_eq!(items[1].value, Value::Null);
    }

    #[test]
    fn several_documents_keep_their_lines_and_become_json() {
        let text = "a: 1\n---\nb: {c: [x, \"5\", 0.5, true, ~, 007]}\n";
        let [first, second] = Node::all_from_yaml(text).expect("valid").try_into().expect("two");
        assert_eq!((first.line, second.line), (Some(1), Some(3)));
        let expected = serde_json::json!({"b": {"c": ["x", "5", 0.5, true, null, 7.0]}});
        assert_eq!(second.to_json(), expected);
    }

    #[test]
    fn a_path_leads_to_a_line() {
        let text = "spec:\n  list:\n    - a: 1\n      b.c/d: 2\n    - ~\n";
        let node = Node::from_yaml(text).expect("valid");
        // (path, line)
        let table = [
            ("spec.list[0].a", 3),
            ("spec.list[0].b.c/d", 4),
            ("spec.list[1]", 5),
            ("spec.list[7].a", 3),
            ("spec.absent", 2),
            ("", 1),
        ];
        for (path, line) in table {
            assert_eq!(node.line_at(path), Some(line), "{path}");
        }
    }

    #[test]
    fn a_key_given_twice_is_found_at_any_depth() {
        let node = Node::from_yaml("a:\n  - b: 1\n    c: 2\n    b: 3\n").expect("valid");
        let found = node.repeated_key().expect("b is there twice");
        assert_eq!((&*found.key, found.line), ("b", Some(4)));
        assert_eq!(Node::from_yaml("a: {b: 1}\nb: 1\n").expect("valid").repeated_key(), None);
    }

    #[test]
    fn json_reads_like_the_same_yaml_without_lines() {
        let json = serde_json::json!({"a": [1, true, null, "x"]});
        let root = Node::from_json(&json).expect("shallow");
        let Value::Map(entries) = &root.value else { panic!("a map") };
        assert_eq!((root.line, entries[0].line), (None, None));
        let plain = |text: &str| Value::Scalar(Scalar { text: text.into(), is_plain: true });
        let Value::List(items) = &entries[0].node.value else { panic!("a list") };
        let values: Vec<_> = items.iter().map(|item| item.value.clone()).collect();
        let quoted = Value::Scalar(Scalar { text: "x".into(), is_plain: false });
        assert_eq!(values, [plain("1"), plain("true"), Value::Null, quoted]);
    }

    #[test]
    fn what_is_not_a_plain_document_is_refused_with_its_line() {
        // (text, refusal)
        let table = [
            ("", "the file is empty"),
            (
                "a: &x 1\nb: *x\n",
                "line 1: YAML anchors and aliases are not supported; write the value out",
            ),
            ("a: 1\nb: !!str 2\n", "line 2: YAML tags are not supported"),
            ("a: 1\n---\nb: 2\n", "line 2: expected one document, found a second one"),
            ("a: 1\n? [b]\n: 2\n", "line 2: a key must be text, not a list or a map"),
        ];
        for (text, expected) in table {
            assert_eq!(refusal(text), expected, "{text:?}");
        }
        assert!(refusal("a: 1\nb: [1, 2\n").starts_with("line 3: not valid YAML: "));
        assert!(refusal("a:\n\t- 1\n").contains("not valid YAML"));
    }

    #[test]
    fn depth_and_size_are_bounded() {
        assert!(Node::from_yaml(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
        assert!(refusal(&"[".repeat(65)).ends_with("nested more than 64 levels deep"));
        assert!(refusal(&"- ".repeat(100_000)).ends_with("nested more than 64 levels deep"));
        assert!(refusal(&" ".repeat(SIZE_MAX + 1)).contains("too many"));
        let deep = (0..100).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        assert!(Node::from_json(&deep).is_err());
    }
}
