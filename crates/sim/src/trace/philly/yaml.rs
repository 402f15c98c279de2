//! Objects of a YAML text with any number of documents and lists in it.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};

/// No manifest is deeper.
const DEPTH_MAX: usize = 64;

/// A line, and what is wrong there.
pub(super) type Fault = (usize, String);

/// The objects of a text, each with the line its document starts on. Those of a List are told one
/// by one.
pub(super) fn split(text: &str) -> Result<Vec<(usize, Value)>, Fault> {
    let mut objects = Vec::new();
    for (line, mut document) in documents(text)? {
        if !matches!(document["kind"].as_str(), Some("List" | "NodeList")) {
            objects.push((line, document));
        } else if let Value::Array(items) = document["items"].take() {
            objects.extend(items.into_iter().map(|item| (line, item)));
        }
    }
    Ok(objects)
}

/// A list or a map that is not complete yet.
enum Open {
    List(Vec<Value>),
    Map(Map<String, Value>, Option<String>),
}

/// The documents of a text, each with the line it starts on; empty ones are left out.
fn documents(text: &str) -> Result<Vec<(usize, Value)>, Fault> {
    let mut documents = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut start = 1;
    let mut parser = Parser::new_from_str(text);
    while let Some(token) = parser.next_event() {
        let (token, span) = token.map_err(|error| {
            (error.marker().line().max(1), format!("not valid YAML: {}", error.info()))
        })?;
        let line = span.start.line();
        if open.is_empty() {
            start = line;
        }
        let value = match token {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => continue,
            Event::Alias(_) => return Err((line, "YAML aliases are not supported".to_owned())),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= DEPTH_MAX => {
                return Err((line, format!("nested more than {DEPTH_MAX} levels deep")));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Map(Map::new(), None));
                continue;
            }
            Event::Scalar(text, style, ..) => match open.last_mut() {
                Some(Open::Map(fields, key @ None)) => {
                    if fields.contains_key(&*text) {
                        return Err((line, format!("the key {text:?} is there twice")));
                    }
                    *key = Some(text.into_owned());
                    continue;
                }
                _ => scalar(&text, style == ScalarStyle::Plain),
            },
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::Array(items),
                Some(Open::Map(fields, _)) => Value::Object(fields),
                None => return Err((line, "not valid YAML: an end without a start".to_owned())),
            },
        };
        match open.last_mut() {
            None if value.is_null() => {}
            None => documents.push((start, value)),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(fields, key)) => {
                let key = key.take().ok_or_else(|| (line, "a key must be text".to_owned()))?;
                fields.insert(key, value);
            }
        }
    }
    Ok(documents)
}

/// What a scalar means; quoted ones are text.
fn scalar(text: &str, is_plain: bool) -> Value {
    match text {
        _ if !is_plain => Value::from(text),
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => text.parse::<i64>().map_or_else(|_| Value::from(text), Value::from),
    }
}
