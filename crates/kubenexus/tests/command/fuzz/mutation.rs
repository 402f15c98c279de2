//! Ways to spoil a case.

use serde_json::{Value, json};

use super::answer::Asked;

/// The places of all values in a case, the case itself left out.
pub(super) fn pointers(case: &Value) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    walk(case, "", &mut found);
    found.into_iter()
}

fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut enter = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        let inner = format!("{at}/{key}");
        found.push(inner.clone());
        walk(value, &inner, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| enter(key, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| enter(&at.to_string(), item));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The case with every mistake at every place, one at a time.
pub(super) fn spoiled(case: &Value) -> Vec<Asked> {
    pointers(case).flat_map(|pointer| spoiled_at(case, &pointer)).collect()
}

/// The case with every mistake at one place, one at a time.
pub(super) fn spoiled_at(case: &Value, pointer: &str) -> Vec<Asked> {
    let original = case.pointer(pointer).expect("the pointer comes from this case");
    let replaced = replacements(original).into_iter().map(|value| {
        let mut copy = case.clone();
        *copy.pointer_mut(pointer).expect("the pointer comes from this case") = value;
        copy.to_string().into_bytes()
    });
    let others = [
        changed(case, pointer, delete),
        changed(case, pointer, double),
        with_raw(case, pointer, b"123456789012345678901234567890"),
    ];
    let lines = others.into_iter().chain(replaced);
    lines.map(|line| Asked { line, spoiled: Some(pointer.into()) }).collect()
}

fn replacements(original: &Value) -> Vec<Value> {
    let deep = (0..60).fold(original.clone(), |inner, _| Value::Array(vec![inner]));
    vec![
        json!(null),
        json!(true),
        json!(""),
        json!("5"),
        json!("text \u{0}\u{202e}\u{1F600}"),
        json!("x".repeat(5_000)),
        json!(-1),
        json!(1.5),
        json!(i64::MAX),
        json!(i64::MIN),
        json!([]),
        json!({}),
        json!([original]),
        json!({"unknown": original}),
        deep,
    ]
}

fn changed(case: &Value, pointer: &str, change: fn(&mut Value, &str)) -> Vec<u8> {
    let mut copy = case.clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer starts with a slash");
    let parent = copy.pointer_mut(parent).expect("the pointer comes from this case");
    change(parent, &key.replace("~1", "/").replace("~0", "~"));
    copy.to_string().into_bytes()
}

fn delete(parent: &mut Value, key: &str) {
    match parent {
        Value::Object(fields) => {
            fields.remove(key);
        }
        Value::Array(items) => {
            items.remove(key.parse().expect("items have numbers"));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An item twice, or a field under a second name that nobody knows.
fn double(parent: &mut Value, key: &str) {
    match parent {
        Value::Object(fields) => {
            let value = fields[key].clone();
            fields.insert(format!("{key}Two"), value);
        }
        Value::Array(items) => {
            let item = items[key.parse::<usize>().expect("items have numbers")].clone();
            items.push(item);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The case with bytes in place of a value, whether they are JSON or not.
pub(super) fn with_raw(case: &Value, pointer: &str, raw: &[u8]) -> Vec<u8> {
    const MARK: &str = "the value that is replaced";
    let mut copy = case.clone();
    *copy.pointer_mut(pointer).expect("the pointer comes from this case") = json!(MARK);
    let text = copy.to_string();
    let (before, after) = text.split_once(&format!("\"{MARK}\"")).expect("it was just put there");
    [before.as_bytes(), raw, after.as_bytes()].concat()
}
