//! What every answer must be, whatever was asked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// A line that was put to the command.
pub(super) struct Asked {
    pub(super) line: Vec<u8>,
    /// The one place of a sound case that was changed, if that is known.
    pub(super) spoiled: Option<String>,
}

/// Longer messages are not read; a configuration can have many problems at once.
const MESSAGE_MAX: usize = 4000;

pub(super) fn check(asked: &Asked, answer: &str) {
    let shown = || {
        let line = String::from_utf8_lossy(&asked.line);
        let line: String = line.chars().take(6000).collect();
        let answer: String = answer.chars().take(2000).collect();
        format!("\nspoiled: {:?}\ncase: {line}\nanswer: {answer}", asked.spoiled)
    };
    let value: Value = serde_json::from_str(answer).unwrap_or_else(|e| panic!("{e}{}", shown()));
    let fields = value.as_object().unwrap_or_else(|| panic!("no object{}", shown()));
    let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
    let expected = ["allocation", "error", "id", "nodes", "preemption", "prefilter"];
    assert_eq!(keys, expected, "{}", shown());
    let case = serde_json::from_slice::<Value>(&asked.line).ok();
    let id = case.as_ref().and_then(|case| case.get("id")).cloned().unwrap_or_default();
    assert_eq!(value["id"], id, "{}", shown());
    let problem = match (&value["error"], case) {
        (Value::Null, None) => Err("text that is not JSON was judged".into()),
        (Value::Null, Some(case)) => check_verdict(&case, fields),
        (Value::String(error), _) => check_error(error, asked.spoiled.as_deref(), fields),
        (other, _) => Err(format!("the error is {other}")),
    };
    problem.unwrap_or_else(|problem| panic!("{problem}{}", shown()));
}

type Checked = Result<(), String>;

fn ensure(holds: bool, otherwise: &str) -> Checked {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}

fn check_verdict(case: &Value, answer: &Map<String, Value>) -> Checked {
    let nodes = answer["nodes"].as_object().ok_or("nodes are no object")?;
    let names: BTreeSet<&str> = nodes.keys().map(String::as_str).collect();
    let refusal = &answer["prefilter"];
    if refusal.is_null() {
        ensure(names == node_names(case), "other nodes than those of the case")?;
    } else {
        ensure(names.is_empty(), "nodes of a pod that was turned away")?;
        check_refusal(refusal)?;
    }
    for node in nodes.values() {
        match node["feasible"].as_bool() {
            Some(false) => check_refusal(node)?,
            Some(true) => {
                let scores = node["scores"].as_object().ok_or("a node without scores")?;
                let thousandths = |score: &Value| Some((score.as_f64()? * 1000.0).round());
                let sum: Option<f64> = scores.values().map(thousandths).sum();
                ensure(sum.is_some() && thousandths(&node["total"]) == sum, "no sum")?;
            }
            None => return Err("neither feasible nor infeasible".into()),
        }
    }
    Ok(())
}

/// The names of the nodes of a case.
fn node_names(case: &Value) -> BTreeSet<&str> {
    let objects = case["objects"].as_array().map(Vec::as_slice).unwrap_or_default();
    let nodes = objects.iter().filter(|object| object["kind"] == "Node");
    nodes.map(|node| node["metadata"]["name"].as_str().unwrap_or_default()).collect()
}

fn check_refusal(refusal: &Value) -> Checked {
    let codes = ["Unschedulable", "UnschedulableAndUnresolvable", "Error"];
    let is_code = refusal["code"].as_str().is_some_and(|code| codes.contains(&code));
    let reasons = refusal["reasons"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_text = |reason: &Value| reason.as_str().is_some_and(|text| !text.is_empty());
    ensure(refusal["plugin"].is_string(), "a refusal by nobody")?;
    ensure(is_code, "an unknown code")?;
    ensure(!reasons.is_empty() && reasons.iter().all(is_text), "a refusal without reasons")
}

/// Where a message can start.
const HEADS: &[&str] = &[
    "a case: expected ",
    "unknown field ",
    "objects: expected a list",
    "objects[",
    "pod: ",
    "pod.spec.schedulerName: no profile is named ",
    "config: ",
];

/// One of these is in every message about objects: it says what was wanted.
const WANTED: &[&str] = &["expected", "required", "known", "no profile is named"];

fn check_error(error: &str, spoiled: Option<&str>, answer: &Map<String, Value>) -> Checked {
    for key in ["prefilter", "nodes", "preemption", "allocation"] {
        ensure(answer[key].is_null(), "an error beside a verdict")?;
    }
    ensure(error.len() <= MESSAGE_MAX, "a message of more than 4000 bytes")?;
    // The one message about values that can be read but make no sense together.
    if error == "a preferred node affinity term is invalid, so nodes cannot be ranked" {
        return Ok(());
    }
    ensure(HEADS.iter().any(|head| error.starts_with(head)), "a message without a place")?;
    let is_wanted = error.starts_with("config: ") || WANTED.iter().any(|w| error.contains(w));
    ensure(is_wanted, "a message without expectation")?;
    ensure(!error.contains("View") && !error.contains("struct"), "a message about our code")?;
    match spoiled {
        // How deep a configuration is becomes known before what it says.
        Some(_) if error == "config: nested more than 64 levels deep" => Ok(()),
        Some(pointer) => ensure(leads_to(error, pointer), "a message about another place"),
        None => Ok(()),
    }
}

/// Whether a message names the field that was changed, or the one around it.
fn leads_to(error: &str, pointer: &str) -> bool {
    let is_number = |key: &&str| key.bytes().all(|b| b.is_ascii_digit());
    let keys = pointer.rsplit('/').filter(|key| !key.is_empty());
    let near: Vec<&str> = keys.filter(|key| !is_number(key)).take(2).collect();
    near.iter().any(|key| error.contains(&key.replace("~1", "/")))
}
