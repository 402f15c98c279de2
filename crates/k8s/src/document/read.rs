//! Typed reading of a document. A value of the wrong kind is reported with its path and line and
//! reads as absent, so that reading goes on and one run names every problem.

use std::ops::RangeInclusive;

use serde_json::{Number, Value as Json};

use super::problem::{Place, Problems, suggestion};
use super::{Entry, Node, Scalar, Value};

/// A value and where it stands.
#[derive(Clone)]
pub struct Spot<'a> {
    /// Where.
    pub place: Place,
    node: &'a Node,
}

/// The fields of a map.
pub struct Fields<'a> {
    /// Where the map stands.
    pub place: Place,
    entries: &'a [Entry],
}

impl<'a> Spot<'a> {
    /// The whole document.
    pub fn root(node: &'a Node) -> Self {
        Self { place: Place { path: String::new(), line: node.line.map(|_| 1) }, node }
    }

    /// One of several documents: what is wrong with it as a whole is wrong where it starts.
    #[must_use]
    pub fn document(node: &'a Node) -> Self {
        Self { place: Place { path: String::new(), line: node.line }, node }
    }

    /// The value itself.
    #[must_use]
    pub fn node(&self) -> &'a Node {
        self.node
    }

    /// The same value under another path, where a name says more than a position.
    pub fn renamed(mut self, path: String) -> Self {
        self.place.path = path;
        self
    }

    /// Whether nothing is written here, or an empty map or list.
    pub fn is_empty(&self) -> bool {
        match &self.node.value {
            Value::Map(entries) => entries.is_empty(),
            Value::List(items) => items.is_empty(),
            Value::Scalar(_) => false,
            Value::Null => true,
        }
    }

    /// A map that may have the `known` fields. Others, and repeated ones, are reported.
    pub fn fields(self, known: &[&str], problems: &mut Problems) -> Option<Fields<'a>> {
        let Value::Map(entries) = &self.node.value else {
            self.expected("a map", problems);
            return None;
        };
        let fields = Fields { place: self.place, entries };
        let mut seen: Vec<&str> = Vec::new();
        for entry in entries {
            let key = &*entry.key;
            if !known.contains(&key) {
                let hint = suggestion(key, known.iter().copied());
                problems.report(
                    &fields.place_of(entry),
                    format!("unknown field {}{hint}", quoted(key)),
                );
            } else if seen.contains(&key) {
                let message = format!("field {} is given twice", quoted(key));
                problems.report(&fields.place_of(entry), message);
            } else {
                seen.push(key);
            }
        }
        Some(fields)
    }

    /// The keys and values of a map that may have any keys. Repeated ones are reported.
    pub fn entries(self, problems: &mut Problems) -> Vec<(&'a str, Spot<'a>)> {
        let Value::Map(entries) = &self.node.value else {
            self.expected("a map", problems);
            return Vec::new();
        };
        let keys: Vec<&str> = entries.iter().map(|entry| &*entry.key).collect();
        let Some(fields) = self.fields(&keys, problems) else { return Vec::new() };
        let spot = |entry: &'a Entry| Spot { place: fields.place_of(entry), node: &entry.node };
        entries.iter().map(|entry| (&*entry.key, spot(entry))).collect()
    }

    /// The items of a list. Items that are null are reported.
    pub fn items(self, problems: &mut Problems) -> Vec<Spot<'a>> {
        let Value::List(items) = &self.node.value else {
            self.expected("a list", problems);
            return Vec::new();
        };
        let items = items.iter().enumerate().map(|(at, node)| {
            let place = Place { path: format!("{}[{at}]", self.place.path), line: node.line };
            Spot { place, node }
        });
        let (empty, items): (Vec<_>, Vec<_>) =
            items.partition(|spot| matches!(spot.node.value, Value::Null));
        empty.iter().for_each(|spot| spot.expected("a value", problems));
        items
    }

    /// A text.
    pub fn text(&self, problems: &mut Problems) -> Option<&'a str> {
        match &self.node.value {
            Value::Scalar(scalar) if scalar.is_text() => Some(&scalar.text),
            Value::Scalar(_) => {
                self.expected("text (put it in quotes)", problems);
                None
            }
            Value::Map(_) | Value::List(_) | Value::Null => {
                self.expected("text", problems);
                None
            }
        }
    }

    /// One of the `known` words.
    pub fn word<T: Copy>(&self, known: &[(&str, T)], problems: &mut Problems) -> Option<T> {
        let text = self.text(problems)?;
        if let Some((_, value)) = known.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        match known {
            [(only, _)] => self.expected(&quoted(only), problems),
            _ => {
                let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
                let hint = suggestion(text, words.iter().copied());
                let (words, found) = (words.join(", "), quoted(text));
                let message = format!("expected one of {words}, found {found}{hint}");
                problems.report(&self.place, message);
            }
        }
        None
    }

    /// A truth value.
    pub fn boolean(&self, problems: &mut Problems) -> Option<bool> {
        let found = match self.plain() {
            Some("true" | "True" | "TRUE") => Some(true),
            Some("false" | "False" | "FALSE") => Some(false),
            _ => None,
        };
        if found.is_none() {
            self.expected("true or false", problems);
        }
        found
    }

    /// An integer within a range.
    pub fn integer(&self, range: RangeInclusive<i64>, problems: &mut Problems) -> Option<i64> {
        let found = self.plain().filter(|text| is_integer(text));
        let found = found.and_then(|text| text.parse().ok()).filter(|found| range.contains(found));
        if found.is_none() {
            let wanted = match (*range.start(), *range.end()) {
                (i64::MIN, i64::MAX) => "an integer".to_owned(),
                (start, i64::MAX) => format!("an integer of at least {start}"),
                (start, end) => format!("an integer from {start} to {end}"),
            };
            self.expected(&wanted, problems);
        }
        found
    }

    /// A number that may have a fraction.
    pub fn number(&self, problems: &mut Problems) -> Option<f64> {
        let found = self.plain().filter(|text| is_number(text));
        let found = found.and_then(|text| text.parse::<f64>().ok()).filter(|n| n.is_finite());
        if found.is_none() {
            self.expected("a number", problems);
        }
        found
    }

    /// Reports that something else was expected.
    pub fn expected(&self, wanted: &str, problems: &mut Problems) {
        problems.report(&self.place, format!("expected {wanted}, found {}", self.describe()));
    }

    /// The value in a message, cut to a readable length.
    pub fn describe(&self) -> String {
        match &self.node.value {
            Value::Map(_) => "a map".into(),
            Value::List(_) => "a list".into(),
            Value::Null => "nothing".into(),
            Value::Scalar(scalar) if scalar.is_text() => quoted(&scalar.text),
            Value::Scalar(scalar) => shortened(&scalar.text),
        }
    }

    fn plain(&self) -> Option<&'a str> {
        match &self.node.value {
            Value::Scalar(scalar) if scalar.is_plain => Some(&scalar.text),
            Value::Scalar(_) | Value::Map(_) | Value::List(_) | Value::Null => None,
        }
    }
}

impl<'a> Fields<'a> {
    /// The value of a field. A field that is null counts as absent, as in the API.
    pub fn get(&self, name: &str) -> Option<Spot<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        let is_null = matches!(entry.node.value, Value::Null);
        (!is_null).then(|| Spot { place: self.place_of(entry), node: &entry.node })
    }

    /// The value of a field that must be there.
    pub fn required(&self, name: &str, problems: &mut Problems) -> Option<Spot<'a>> {
        let found = self.get(name);
        if found.is_none() {
            problems.report(&self.place_at(name), "required, but missing");
        }
        found
    }

    /// Where a field stands or, if it is absent, where it belongs.
    pub fn place_at(&self, name: &str) -> Place {
        match self.entries.iter().find(|entry| entry.key == name) {
            Some(entry) => self.place_of(entry),
            None => Place { path: joined(&self.place.path, name), line: self.place.line },
        }
    }

    /// A text; absent reads as empty.
    pub fn text(&self, name: &str, problems: &mut Problems) -> &'a str {
        self.get(name).and_then(|spot| spot.text(problems)).unwrap_or_default()
    }

    /// A truth value, if the field is there.
    pub fn boolean(&self, name: &str, problems: &mut Problems) -> Option<bool> {
        self.get(name)?.boolean(problems)
    }

    /// An integer within a range, if the field is there.
    pub fn integer(
        &self,
        name: &str,
        range: RangeInclusive<i64>,
        problems: &mut Problems,
    ) -> Option<i64> {
        self.get(name)?.integer(range, problems)
    }

    /// The items of a list; absent reads as empty.
    pub fn items(&self, name: &str, problems: &mut Problems) -> Vec<Spot<'a>> {
        self.get(name).map_or_else(Vec::new, |spot| spot.items(problems))
    }

    fn place_of(&self, entry: &Entry) -> Place {
        Place { path: joined(&self.place.path, &entry.key), line: entry.line }
    }
}

impl Scalar {
    pub(super) fn to_json(&self) -> Json {
        if self.is_text() {
            return Json::String(self.text.clone());
        }
        let text = &*self.text;
        let integer = || text.parse::<i64>().map(Json::from).ok();
        let natural = || text.parse::<u64>().map(Json::from).ok();
        let integer = is_integer(text).then(|| integer().or_else(natural)).flatten();
        let number = || text.parse::<f64>().ok().and_then(Number::from_f64).map(Json::Number);
        integer.or_else(number).unwrap_or_else(|| match &*text.to_ascii_lowercase() {
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            _ => Json::String(self.text.clone()),
        })
    }

    /// Neither a number nor a truth value.
    fn is_text(&self) -> bool {
        let is_boolean = || matches!(&*self.text.to_ascii_lowercase(), "true" | "false");
        !self.is_plain || !(is_boolean() || is_number(&self.text))
    }
}

/// A value in a message: in quotes, with what cannot be seen escaped, and not too long.
pub fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 60;
    match text.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn joined(path: &str, key: &str) -> String {
    let is_simple = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match (path.is_empty(), is_simple && key.len() <= 60) {
        (true, true) => key.to_owned(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{}]", quoted(key)),
    }
}

/// Decimal. A leading zero is refused, because one YAML reads it as octal and another does not.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !is_padded && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number in YAML, which is never a text: `5`, `-0.5`, `1e3`, `.5`.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    let has_digit = unsigned.bytes().any(|byte| byte.is_ascii_digit());
    unsigned.bytes().next().is_some_and(starts) && has_digit && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(yaml: &str, read: impl Fn(&Fields<'_>, &mut Problems)) -> String {
        let node = Node::from_yaml(yaml).expect("valid YAML");
        let mut problems = Problems::default();
        let fields = Spot::root(&node).fields(&["field", "other"], &mut problems);
        read(&fields.expect("a map"), &mut problems);
        problems.or_value(()).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn scalars_are_read_by_table() {
        type Read = fn(&Fields<'_>, &mut Problems);
        let text: Read = |fields, problems| {
            fields.text("field", problems);
        };
        let boolean: Read = |fields, problems| {
            fields.boolean("field", problems);
        };
        let integer: Read = |fields, problems| {
            fields.integer("field", 0..=9, problems);
        };
        let number: Read = |fields, problems| {
            fields.get("field").and_then(|spot| spot.number(problems));
        };
        let list: Read = |fields, problems| {
            fields.items("field", problems);
        };
        // (value, how it is read, problem)
        let table = [
            ("word", text, ""),
            ("\"5\"", text, ""),
            ("1.2.3", text, ""),
            ("null", text, ""),
            ("5", text, "expected text (put it in quotes), found 5"),
            ("true", text, "expected text (put it in quotes), found true"),
            ("[]", text, "expected text, found a list"),
            ("true", boolean, ""),
            ("yes", boolean, "expected true or false, found \"yes\""),
            ("\"true\"", boolean, "expected true or false, found \"true\""),
            ("9", integer, ""),
            ("10", integer, "expected an integer from 0 to 9, found 10"),
            ("\"9\"", integer, "expected an integer from 0 to 9, found \"9\""),
            ("1.0", integer, "expected an integer from 0 to 9, found 1.0"),
            ("07", integer, "expected an integer from 0 to 9, found 07"),
            (
                "99999999999999999999",
                integer,
                "expected an integer from 0 to 9, found 99999999999999999999",
            ),
            ("0.5", number, ""),
            (".inf", number, "expected a number, found \".inf\""),
            ("{}", list, "expected a list, found a map"),
            ("[~]", list, "expected a value, found nothing"),
        ];
        for (value, read, expected) in table {
            let found = problems_of(&format!("field: {value}\n"), read);
            let prefix = if value == "[~]" { "line 1: field[0]: " } else { "line 1: field: " };
            let expected =
                if expected.is_empty() { String::new() } else { prefix.to_owned() + expected };
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn unknown_and_repeated_fields_are_named() {
        let found = problems_of("filed: 1\nother: 1\nother: 2\n\"\": 3\n", |_, _| ());
        let expected = "line 1: filed: unknown field \"filed\"; did you mean \"field\"?\n\
                        line 3: other: field \"other\" is given twice\n\
                        line 4: [\"\"]: unknown field \"\"";
        assert_eq!(found, expected);
    }

    #[test]
    fn a_word_must_be_one_of_those_known() {
        let found = problems_of("field: Mostallocated\n", |fields, problems| {
            let spot = fields.get("field").expect("there");
            spot.word(&[("LeastAllocated", 0), ("MostAllocated", 1)], problems);
        });
        let expected = "line 1: field: expected one of LeastAllocated, MostAllocated, \
                        found \"Mostallocated\"; did you mean \"MostAllocated\"?";
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_missing_is_reported_at_the_map() {
        let found = problems_of("\nother: 1\n", |fields, problems| {
            fields.required("field", problems);
        });
        assert_eq!(found, "line 1: field: required, but missing");
    }
}
