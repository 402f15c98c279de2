//! Ways to spoil JSON that keep the types of values: other names, other numbers, lists that are
//! shorter, longer or in another order, fields that are missing.

use serde_json::{Value, json};

use crate::fuzz::dice::Dice;

/// Changes the value at a place, one of all the places of the document.
pub(super) fn spoil(document: &mut Value, place: &str, places: &[String], dice: &mut Dice<'_>) {
    let other = dice.pick(places);
    let other = document.pointer(other).expect("it is there").clone();
    let value = document.pointer_mut(place).expect("it is there");
    if let Value::String(text) = value {
        // A name of something else: what refers to things is what goes wrong.
        if let Value::String(other) = other {
            *text = other;
        } else {
            text.push_str(dice.word(&["", "x", "/", "-0"]));
        }
    } else if let Value::Number(number) = value {
        let number = number.as_i64().unwrap_or(i64::MAX);
        let near = [0, 1, number.saturating_add(1), number.saturating_sub(1), number / 2];
        let far = [-1, i64::from(u32::MAX), i64::from(i32::MAX), i64::MAX, i64::MIN];
        *value = match (other, dice.below(3)) {
            (Value::Number(other), _) => Value::Number(other),
            (_, 0 | 1) => json!(dice.pick(&near)),
            _ => json!(dice.pick(&far)),
        };
    } else if let Value::Bool(is_so) = value {
        *is_so = !*is_so;
    } else if let Value::Array(items) = value {
        shuffle(items, dice);
    } else if let Value::Object(fields) = value
        && !fields.is_empty()
    {
        let keys: Vec<String> = fields.keys().cloned().collect();
        fields.remove(dice.pick(&keys).as_str());
    }
}

fn shuffle(items: &mut Vec<Value>, dice: &mut Dice<'_>) {
    if items.is_empty() {
        return;
    }
    let (from, to) = (dice.below(items.len()), dice.below(items.len()));
    match dice.below(4) {
        0 => drop(items.remove(from)),
        1 => items.insert(to, items[from].clone()),
        2 => items.swap(from, to),
        _ => items.truncate(from),
    }
}
