//! Reads the nodes of a cluster: Node manifests in one or several YAML documents, or in a List.
//!
//! A manifest with the annotation [`COUNT`] stands for so many nodes of its kind.

use std::collections::BTreeSet;

use k8s::{ingest, manifest};
use model::{Event, Fact, NodeFacts};
use serde_json::Value;

use crate::plan::NodePlan;
use crate::trace::csv::TraceError;

/// How many nodes a manifest stands for.
const COUNT: &str = "simulate.kubenexus.io/count";
/// More nodes than any cluster has.
const COUNT_MAX: u64 = 100_000;

/// Reads nodes. The name of the file is for messages.
///
/// # Errors
/// When the file is not YAML, has anything but Nodes in it, or a Node is not as expected.
pub fn read_nodes(file: &str, text: &str) -> Result<Vec<NodePlan>, TraceError> {
    let fail = |line: usize, message: String| TraceError::new(file, Some(line), message);
    let objects = manifest::split(text)
        .map_err(|problem| TraceError::new(file, problem.line, problem.message))?;
    let mut nodes = Vec::new();
    let mut names = BTreeSet::new();
    for object in objects {
        let line = object.line;
        let (facts, count) = node(&object.json()).map_err(|message| fail(line, message))?;
        for plan in plans(facts, count) {
            if !names.insert(plan.facts.name.clone()) {
                return Err(fail(line, format!("two nodes named {:?}", plan.facts.name)));
            }
            nodes.push(plan);
        }
    }
    if nodes.is_empty() {
        return Err(TraceError::new(file, None, "expected Nodes, found none"));
    }
    Ok(nodes)
}

/// A node, and how often it is there if its manifest says so.
fn node(object: &Value) -> Result<(NodeFacts, Option<u64>), String> {
    let kind = &object["kind"];
    if *kind != "Node" {
        return Err(format!("kind: expected Node, found {kind}"));
    }
    let event = ingest::node(object).map_err(|error| error.to_string())?;
    let Event::Seen(Fact::Node(facts)) = event else {
        return Err("expected a Node that is there".to_owned());
    };
    if facts.name.is_empty() {
        return Err("metadata.name: expected a name, found none".to_owned());
    }
    if facts.pods_max < 1 {
        return Err(format!("Node {}: status.allocatable.pods: expected 1 or more", facts.name));
    }
    let count = count(&object["metadata"]["annotations"][COUNT])
        .map_err(|expected| format!("Node {}: {COUNT}: {expected}", facts.name))?;
    Ok((*facts, count))
}

/// The number in an annotation, if it is there.
fn count(annotation: &Value) -> Result<Option<u64>, String> {
    if annotation.is_null() {
        return Ok(None);
    }
    let number = annotation.as_str().and_then(|text| text.parse().ok());
    let number = number.filter(|count| (1..=COUNT_MAX).contains(count));
    let expected = || format!("expected a quoted number from 1 to {COUNT_MAX}, found {annotation}");
    number.map(Some).ok_or_else(expected)
}

/// The nodes a manifest stands for, numbered if it has a count.
fn plans(facts: NodeFacts, count: Option<u64>) -> Vec<NodePlan> {
    let Some(count) = count else { return vec![NodePlan::new("nodes", facts)] };
    let pool = facts.name.clone();
    let plan = |number| {
        let name = format!("{pool}-{number:04}");
        NodePlan::new(&pool, NodeFacts { name, ..facts.clone() })
    };
    (1..=count).map(plan).collect()
}
