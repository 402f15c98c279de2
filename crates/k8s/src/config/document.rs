//! A configuration as a tree that remembers its lines, made from YAML or JSON.
//!
//! The tree is bounded in depth and size and holds text exactly as written: what a scalar means is
//! decided by whoever reads it. Anchors, aliases and tags are refused, because a configuration
//! that is short on paper must not be large in memory.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::Value as Json;

use super::error::{Place, Problem};

/// Configurations are a few kilobytes; a megabyte is a mistake.
const SIZE_MAX: usize = 1 << 20;
/// The deepest field there is lies a dozen levels down.
const DEPTH_MAX: usize = 64;

/// A value with the line it starts on. JSON objects have no lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) line: Option<usize>,
    pub(super) value: Value,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Map(Vec<Entry>),
    List(Vec<Node>),
    Scalar(Scalar),
    Null,
}

/// A key with its value. A key may occur twice: the reader of the map says so, with its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) line: Option<usize>,
    pub(super) node: Node,
}

/// Text, a number or a truth value, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) text: String,
    /// Without quotes, so that `5` is a number and `true` a truth value.
    pub(super) is_plain: bool,
}

impl Node {
    /// Reads the only document of a YAML text.
    pub(super) fn from_yaml(text: &str) -> Result<Self, Problem> {
        if text.len() > SIZE_MAX {
            let message = format!("{} bytes are too many; at most {SIZE_MAX} are read", text.len());
            return Err(Place::file().problem(message));
        }
        let mut builder = Builder::default();
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let line = error.marker().line().max(1);
                at_line(line).problem(format!("not valid YAML: {}", error.info()))
            })?;
            builder.take(event, span)?;
        }
        builder.root.ok_or_else(|| Place::file().problem("the file is empty".into()))
    }

    /// Converts a JSON value.
    pub(super) fn from_json(json: &Json) -> Result<Self, Problem> {
        convert(json, DEPTH_MAX)
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
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
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
            Event::DocumentStart(_) if self.root.is_some() => {
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
            None => self.root = Some(node),
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
