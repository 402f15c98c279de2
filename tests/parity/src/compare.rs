//! Finds where two verdicts on one case differ.
//!
//! Allocation is left out. Error texts are free, so an error agrees with any other
//! error. kube-scheduler names missing scalar resources in the order of a hash map, so these are
//! sorted before they are compared; every other reason keeps its place.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// One disagreement.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What kind it is, without names of nodes: differences of one kind tend to have one cause.
    pub kind: String,
    /// Where in the verdict.
    pub path: String,
    /// What KubeNexus says.
    pub ours: Value,
    /// What kube-scheduler says.
    pub theirs: Value,
}

/// Every difference between the verdict of KubeNexus and that of kube-scheduler; none if they
/// agree.
pub fn differences(ours: &Value, theirs: &Value) -> Vec<Difference> {
    let mut found = Found::default();
    if is_crash(theirs) {
        return found.0;
    }
    found.compare("id", "id", &ours["id"], &theirs["id"]);
    match (ours["error"].is_null(), theirs["error"].is_null()) {
        (true, true) => {}
        (false, false) => return found.0,
        _ => {
            found.add("error", "error", &ours["error"], &theirs["error"]);
            return found.0;
        }
    }
    match (ours["prefilter"].is_null(), theirs["prefilter"].is_null()) {
        (true, true) => {}
        (false, false) => {
            rejection(&mut found, "prefilter", &ours["prefilter"], &theirs["prefilter"]);
        }
        _ => found.add("prefilter", "prefilter", &ours["prefilter"], &theirs["prefilter"]),
    }
    nodes(&mut found, &ours["nodes"], &theirs["nodes"]);
    found.compare("winners", "winners", &json!(winners(ours)), &json!(winners(theirs)));
    preemption(&mut found, &ours["preemption"], &theirs["preemption"]);
    found.0
}

/// Whether kube-scheduler crashes on the case, so that there is nothing to compare with. It does
/// when it scores a node by a storage capacity that has no capacity, or by a claim that names its
/// class in an annotation only; see docs/parity.md.
pub fn is_crash(theirs: &Value) -> bool {
    let nil = "panic in a plugin: runtime error: invalid memory address or nil pointer dereference";
    theirs["error"] == nil
}

/// The nodes with the highest total, any of which may be chosen.
pub fn winners(verdict: &Value) -> BTreeSet<&str> {
    let feasible = || {
        let nodes = verdict["nodes"].as_object().into_iter().flatten();
        nodes.filter(|(_, node)| node["feasible"] == true)
    };
    let best = feasible().filter_map(|(_, node)| node["total"].as_i64()).max();
    feasible()
        .filter(|(_, node)| node["total"].as_i64() == best)
        .map(|(name, _)| name.as_str())
        .collect()
}

#[derive(Default)]
struct Found(Vec<Difference>);

impl Found {
    fn add(&mut self, kind: &str, path: &str, ours: &Value, theirs: &Value) {
        self.0.push(Difference {
            kind: kind.to_owned(),
            path: path.to_owned(),
            ours: ours.clone(),
            theirs: theirs.clone(),
        });
    }

    fn compare(&mut self, kind: &str, path: &str, ours: &Value, theirs: &Value) {
        if ours != theirs {
            self.add(kind, path, ours, theirs);
        }
    }
}

fn nodes(found: &mut Found, ours: &Value, theirs: &Value) {
    let none = Map::new();
    let ours = ours.as_object().unwrap_or(&none);
    let theirs = theirs.as_object().unwrap_or(&none);
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    for name in names {
        let path = format!("nodes.{name}");
        match (ours.get(name), theirs.get(name)) {
            (Some(ours), Some(theirs)) => node(found, &path, ours, theirs),
            (ours, theirs) => found.add("nodes", &path, &json!(ours), &json!(theirs)),
        }
    }
}

/// Of several nodes on which evicting does the same harm, both name the first by name.
fn preemption(found: &mut Found, ours: &Value, theirs: &Value) {
    let none = Map::new();
    let of = |verdict: &Value| verdict["candidates"].as_object().unwrap_or(&none).clone();
    let (our, their) = (of(ours), of(theirs));
    let names: BTreeSet<&String> = our.keys().chain(their.keys()).collect();
    for name in names {
        let (ours, theirs) = (json!(our.get(name)), json!(their.get(name)));
        let kind = if ours.is_null() || theirs.is_null() { "candidates" } else { "victims" };
        found.compare(kind, &format!("preemption.candidates.{name}"), &ours, &theirs);
    }
    found.compare("preemption node", "preemption.node", &ours["node"], &theirs["node"]);
}

fn node(found: &mut Found, path: &str, ours: &Value, theirs: &Value) {
    match (ours["feasible"].as_bool(), theirs["feasible"].as_bool()) {
        (Some(true), Some(true)) => scores(found, path, ours, theirs),
        (Some(false), Some(false)) => rejection(found, path, ours, theirs),
        _ => {
            // The plugin that only one side heard tells causes apart.
            let speaker = [ours, theirs].iter().find_map(|node| node["plugin"].as_str());
            let kind = format!("feasible {}", speaker.unwrap_or_default());
            found.add(kind.trim_end(), path, ours, theirs);
        }
    }
}

fn rejection(found: &mut Found, path: &str, ours: &Value, theirs: &Value) {
    let plugin = theirs["plugin"].as_str().unwrap_or_default();
    for field in ["plugin", "code"] {
        let kind = format!("{field} {plugin}");
        found.compare(&kind, &format!("{path}.{field}"), &ours[field], &theirs[field]);
    }
    if theirs["code"] != "Error" {
        let (ours, theirs) = (in_order(&ours["reasons"]), in_order(&theirs["reasons"]));
        let kind = format!("reasons {plugin}");
        found.compare(&kind, &format!("{path}.reasons"), &ours, &theirs);
    }
}

/// Reasons in an order that does not depend on hashing.
fn in_order(reasons: &Value) -> Value {
    let Some(list) = reasons.as_array() else { return reasons.clone() };
    let mut scalars: Vec<&Value> = list.iter().filter(|reason| is_scalar(reason)).collect();
    scalars.sort_by_key(|reason| reason.as_str());
    let mut scalars = scalars.into_iter();
    let in_place = |reason| if is_scalar(reason) { scalars.next() } else { Some(reason) };
    list.iter().filter_map(in_place).cloned().collect()
}

fn is_scalar(reason: &Value) -> bool {
    let missing = reason.as_str().and_then(|text| text.strip_prefix("Insufficient "));
    missing.is_some_and(|name| !["cpu", "memory", "ephemeral-storage"].contains(&name))
}

fn scores(found: &mut Found, path: &str, ours: &Value, theirs: &Value) {
    let plugins: BTreeSet<&String> = [ours, theirs]
        .iter()
        .filter_map(|node| node["scores"].as_object())
        .flat_map(Map::keys)
        .collect();
    for plugin in plugins {
        // A plugin that skipped the pod is absent.
        let score = |node: &Value| {
            let score = &node["scores"][plugin];
            if score.is_null() { json!(0) } else { score.clone() }
        };
        let kind = format!("scores {plugin}");
        found.compare(&kind, &format!("{path}.scores.{plugin}"), &score(ours), &score(theirs));
    }
    found.compare("total", &format!("{path}.total"), &ours["total"], &theirs["total"]);
}

#[cfg(test)]
mod tests;
