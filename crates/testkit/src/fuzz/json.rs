//! Ways to spoil JSON.

mod gentle;

use serde_json::{Value, json};

use super::dice::{Dice, WORDS};

/// A document with one to four mistakes, as text. Every second has only such as keep the types of
/// values, so that readers with strict types let some of them pass.
pub(super) fn spoiled(documents: &[Value], dice: &mut Dice<'_>) -> Vec<u8> {
    let mut document = dice.pick(documents).clone();
    let is_gentle = dice.below(2) == 0;
    for _ in 0..=dice.below(4) {
        let places = places(&document);
        let Some(place) = (!places.is_empty()).then(|| dice.pick(&places)) else { break };
        match is_gentle {
            true => gentle::spoil(&mut document, place, &places, dice),
            false => spoil(&mut document, place, documents, dice),
        }
    }
    let mut text = document.to_string().into_bytes();
    // Most stay JSON: what is behind the parser is what is looked for.
    if !is_gentle && dice.below(4) == 3 {
        dice.garble(&mut text);
    }
    text
}

/// Pointers to all values of a document but itself.
fn places(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), document)];
    while let Some((at, value)) = open.pop() {
        if !at.is_empty() {
            found.push(at.clone());
        }
        match value {
            Value::Object(fields) => open.extend(fields.iter().map(|(key, value)| {
                (format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), value)
            })),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(number, item)| (format!("{at}/{number}"), item)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    found
}

fn spoil(document: &mut Value, place: &str, documents: &[Value], dice: &mut Dice<'_>) {
    let (parent, key) = place.rsplit_once('/').expect("a pointer begins with a slash");
    match dice.below(8) {
        0 => *document.pointer_mut(place).expect("it is there") = scalar(dice),
        1 => {
            // A value of another place: the right shape where it does not belong.
            let other = dice.pick(documents);
            let places = places(other);
            let from: &String = dice.pick(&places);
            let value = other.pointer(from).expect("it is there").clone();
            *document.pointer_mut(place).expect("it is there") = value;
        }
        2 => with_parent(document, parent, |of| delete(of, key)),
        3 => {
            let times = *dice.pick(&[1, 2, 70, 700]);
            with_parent(document, parent, |of| repeat(of, key, times));
        }
        4 => {
            let word = dice.word(WORDS);
            with_parent(document, parent, |of| rename(of, key, word));
        }
        5 => {
            let value = document.pointer_mut(place).expect("it is there");
            let depth = *dice.pick(&[1, 2, 60, 120]);
            *value = (0..depth).fold(value.take(), |inner, _| json!([inner]));
        }
        6 => stretch(document.pointer_mut(place).expect("it is there"), dice),
        _ => {
            let value = document.pointer_mut(place).expect("it is there");
            *value = json!({dice.word(WORDS): value.take()});
        }
    }
}

fn scalar(dice: &mut Dice<'_>) -> Value {
    let word = dice.word(WORDS);
    match dice.below(3) {
        // As a number, a truth value or null, if it is one.
        0 => serde_json::from_str(word).unwrap_or(json!([])),
        _ => json!(word),
    }
}

fn with_parent(document: &mut Value, parent: &str, change: impl FnOnce(&mut Value)) {
    change(document.pointer_mut(parent).expect("it is there"));
}

fn unescaped(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

fn delete(parent: &mut Value, key: &str) {
    if let Value::Object(fields) = parent {
        fields.remove(&unescaped(key));
    } else if let Value::Array(items) = parent {
        items.remove(key.parse().expect("items have numbers"));
    }
}

/// An item several times, or a field under several names.
fn repeat(parent: &mut Value, key: &str, times: usize) {
    if let Value::Object(fields) = parent {
        let key = unescaped(key);
        let value = fields[&key].clone();
        fields.extend((0..times).map(|number| (format!("{key}{number}"), value.clone())));
    } else if let Value::Array(items) = parent {
        let item = items[key.parse::<usize>().expect("items have numbers")].clone();
        items.extend(std::iter::repeat_n(item, times));
    }
}

fn rename(parent: &mut Value, key: &str, word: &str) {
    if let Value::Object(fields) = parent
        && let Some(value) = fields.remove(&unescaped(key))
    {
        fields.insert(word.into(), value);
    }
}

/// A text with something in front of it, behind it, or very long; a number that is far off.
fn stretch(value: &mut Value, dice: &mut Dice<'_>) {
    if let Value::String(text) = value {
        match dice.below(3) {
            0 => text.push_str(dice.word(WORDS)),
            1 => text.insert_str(0, dice.word(WORDS)),
            _ => *text = text.repeat(1 + 300 / text.len().max(1)),
        }
    } else if let Value::Number(number) = value {
        let number = number.as_i64().unwrap_or(i64::MAX);
        let far = [number.wrapping_neg(), number.saturating_mul(1 << 40), number.saturating_sub(1)];
        *value = json!(*dice.pick(&far));
    } else {
        *value = scalar(dice);
    }
}
