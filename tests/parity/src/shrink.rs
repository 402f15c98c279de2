//! Makes a case that shows a disagreement as small as possible, by taking away whatever is not
//! needed for it. Greedy and bounded: a good small case now beats the smallest one later.

use serde_json::{Value, json};

/// Fields that stay: without them an object would not be one that an API server serves.
const IDENTITY: [&str; 12] = [
    "id",
    "objects",
    "pod",
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "uid",
    "spec",
    "containers",
    "schedulerName",
];

/// Objects whose values are quantities.
const QUANTITIES: [&str; 6] =
    ["requests", "limits", "allocatable", "capacity", "overhead", "allocatedResources"];

/// The smallest case found in at most `attempts` questions to `still_fails`.
///
/// # Errors
///
/// The first error of `still_fails`.
pub fn shrink<E>(
    case: Value,
    attempts: usize,
    mut still_fails: impl FnMut(&Value) -> Result<bool, E>,
) -> Result<Value, E> {
    let mut smallest = case;
    let mut next = 0;
    let mut has_progressed = false;
    for _ in 0..attempts {
        let edits = edits(&smallest);
        if next >= edits.len() {
            // An edit that failed may succeed after later ones did.
            if !has_progressed || edits.is_empty() {
                break;
            }
            (next, has_progressed) = (0, false);
        }
        let candidate = apply(&smallest, &edits[next]);
        if still_fails(&candidate)? {
            // What follows has moved up to this position.
            smallest = candidate;
            has_progressed = true;
        } else {
            next += 1;
        }
    }
    Ok(smallest)
}

/// One way to make a case smaller.
#[derive(Debug, Clone)]
struct Edit {
    /// The array, object or value to change, as a JSON pointer.
    at: String,
    change: Change,
}

#[derive(Debug, Clone)]
enum Change {
    /// Takes elements out of an array.
    Cut { from: usize, count: usize },
    /// Takes a field out of an object.
    Drop(String),
    /// Puts something simpler in place.
    Replace(Value),
}

/// Every edit of a case, those that take away most first.
fn edits(case: &Value) -> Vec<Edit> {
    let mut found = Vec::new();
    collect(case, "", &mut found);
    found
}

fn collect(value: &Value, at: &str, found: &mut Vec<Edit>) {
    match value {
        Value::Array(items) => {
            cuts(items.len(), at, found);
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            let droppable = fields.keys().filter(|key| !IDENTITY.contains(&key.as_str()));
            for key in droppable {
                let change = Change::Drop(key.clone());
                found.push(Edit { at: at.to_owned(), change });
            }
            for (key, field) in fields {
                collect(field, &format!("{at}/{}", escape(key)), found);
            }
        }
        Value::Number(_) | Value::String(_) => {
            for simpler in simpler(value, at) {
                found.push(Edit { at: at.to_owned(), change: Change::Replace(simpler) });
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Halves of an array, then quarters, down to single elements.
fn cuts(length: usize, at: &str, found: &mut Vec<Edit>) {
    // A pod without containers is none.
    let kept = usize::from(at.ends_with("/containers"));
    let mut count = length - kept.min(length);
    while count > 0 {
        for from in (0..length).step_by(count) {
            let count = count.min(length - from);
            found.push(Edit { at: at.to_owned(), change: Change::Cut { from, count } });
        }
        count /= 2;
    }
}

/// Plainer values that are smaller than this one, so that shrinking ends.
fn simpler(value: &Value, at: &str) -> Vec<Value> {
    let mut parts = at.rsplit('/').skip(1);
    let is_quantity = parts.next().is_some_and(|parent| QUANTITIES.contains(&parent));
    let plain = if is_quantity {
        vec![json!("0"), json!("1"), json!("2"), json!("1Gi")]
    } else if value.is_number() {
        vec![json!(0), json!(1), json!(10)]
    } else {
        Vec::new()
    };
    plain.into_iter().take_while(|plain| plain != value).collect()
}

fn apply(case: &Value, edit: &Edit) -> Value {
    let mut case = case.clone();
    let target = case.pointer_mut(&edit.at).expect("edits are collected from this very case");
    match (&edit.change, target) {
        (Change::Cut { from, count }, Value::Array(items)) => {
            items.drain(*from..from + count);
        }
        (Change::Drop(key), Value::Object(fields)) => {
            fields.remove(key);
        }
        (Change::Replace(simpler), target) => *target = simpler.clone(),
        (Change::Cut { .. } | Change::Drop(_), _) => unreachable!("an edit fits its target"),
    }
    case
}

/// A key as JSON pointers spell it.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::{Value, json};

    use super::shrink;

    /// Shrinks with a predicate that cannot fail, and counts the questions.
    fn check(case: Value, fails: impl Fn(&Value) -> bool) -> (Value, usize) {
        let mut questions = 0;
        let result = shrink(case, 2_000, |candidate| {
            questions += 1;
            Ok::<bool, Infallible>(fails(candidate))
        });
        let Ok(smallest) = result;
        (smallest, questions)
    }

    #[test]
    fn keeps_only_what_the_disagreement_needs() {
        let mut case = crate::generate::case(7, 3);
        case["pod"]["spec"]["tolerations"] = json!([{"key": "a"}, {"key": "b", "value": "c"}]);
        let (smallest, _) = check(case, |case| {
            let tolerations = case["pod"]["spec"]["tolerations"].as_array();
            tolerations.is_some_and(|list| list.iter().any(|one| one["key"] == "b"))
        });
        assert_eq!(smallest["objects"], json!([]));
        assert_eq!(smallest["pod"]["spec"]["tolerations"], json!([{"key": "b"}]));
        let spec = smallest["pod"]["spec"].as_object().expect("a spec is kept");
        assert_eq!(spec.keys().collect::<Vec<_>>(), ["containers", "schedulerName", "tolerations"]);
        assert_eq!(smallest["pod"]["metadata"]["name"], "judged");
    }

    #[test]
    fn simplifies_quantities_under_keys_with_slashes() {
        let case = json!({"requests": {"nvidia.com/gpu": "1500m", "cpu": "700m"}});
        let (smallest, _) = check(case, |case| {
            let gpu = &case["requests"]["nvidia.com/gpu"];
            gpu.is_string() && gpu != "0"
        });
        assert_eq!(smallest, json!({"requests": {"nvidia.com/gpu": "1"}}));
    }

    #[test]
    fn pair_that_belongs_together_survives() {
        let objects: Vec<Value> = (0..20).map(|index| json!({"name": index})).collect();
        let (smallest, _) = check(json!({"objects": objects}), |case| {
            let names: Vec<&Value> =
                case["objects"].as_array().into_iter().flatten().map(|one| &one["name"]).collect();
            names.contains(&&json!(3)) && names.contains(&&json!(17))
        });
        assert_eq!(smallest, json!({"objects": [{"name": 3}, {"name": 17}]}));
    }

    #[test]
    fn questions_are_bounded() {
        let (_, questions) = check(json!({"a": vec![7; 500]}), |_| false);
        assert_eq!(questions, 2_000);
    }

    #[test]
    fn stops_when_nothing_is_left() {
        let (smallest, questions) = check(json!({"a": {"b": [1, 2, 3]}}), |_| true);
        assert_eq!(smallest, json!({}));
        assert!(questions < 5, "{questions}");
    }
}
