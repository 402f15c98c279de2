//! Nodes: as manifests describe them, and pools of nodes that are alike; and what becomes of them.

use std::collections::BTreeSet;

use k8s::document::{Place, Problems, Spot, quoted, suggestion};
use k8s::ingest;
use k8s::manifest::Manifest;
use model::{Amounts, Catalog, Event, Fact, Millis, NodeFacts, Time};
use serde_json::Value as Json;

use super::Origin;
use super::complete;
use super::machines::{self, Machine};
use super::mistakes::Mistakes;
use super::script::{Script, millis};
use super::trouble::Whom;
use crate::plan::NodePlan;

/// More nodes than a cluster has.
const NODES_MAX: i64 = 100_000;
/// More of any resource than a node has; what is summed over all nodes must not overflow.
const AMOUNT_MAX: i64 = 1 << 46;
pub(super) const TOO_MUCH: &str = "expected at most 70368744177664 (64 Ti) of each resource";

/// Labels by which the clusters of large providers name pools of nodes.
const POOL_LABELS: [&str; 5] = [
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
];
/// The pool of nodes that no label puts into one.
const POOL: &str = "nodes";

/// An annotation that traces read, and what to write here.
const COUNT_POINTER: &str = "/metadata/annotations/simulate.kubenexus.io~1count";
const COUNT_PATH: &str = "metadata.annotations.simulate.kubenexus.io/count";
const COUNT_ELSEWHERE: &str =
    "only --trace philly reads it; put the Node under pools of a Scenario, with count";

/// Nodes that are alike.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    pub(super) place: Place,
    pub(super) name: String,
    count: u64,
    pub(super) joins: Time,
    model: Model,
}

/// What a node of a pool is made after.
#[derive(Clone, Debug)]
enum Model {
    Template(Manifest),
    /// The node of that name.
    Like(String),
    /// A machine of a type, and what a Node says beyond it.
    Machine(Box<Machine>, Option<Manifest>),
}

impl Pool {
    pub(super) fn read(spot: Spot<'_>, problems: &mut Problems) -> Option<Self> {
        let own = ["name", "count", "template", "like", "machine", "joins"];
        let known: Vec<&str> = own.into_iter().chain(machines::KEYS).collect();
        let fields = spot.fields(&known, problems)?;
        let name = fields.required("name", problems).and_then(|spot| spot.text(problems));
        let count = fields.required("count", problems);
        let count = count.and_then(|spot| spot.integer(0..=NODES_MAX, problems));
        let joins = fields.get("joins").map(|spot| millis(&spot, problems));
        let like = fields.get("like").and_then(|spot| spot.text(problems));
        let template = fields.get("template").map(|spot| Manifest::from_tree(spot.node()));
        let is_machine = fields.get("machine").is_some();
        let model = match (template, like) {
            (template, None) if is_machine => {
                Model::Machine(Box::new(Machine::read(&fields, problems)?), template)
            }
            (Some(template), None) => Model::Template(template),
            (None, Some(like)) if !is_machine => Model::Like(like.to_owned()),
            (None, None) | (Some(_) | None, Some(_)) => {
                problems.report(&fields.place, "expected one of template, like and machine");
                return None;
            }
        };
        let is_said = |key: &&&str| fields.get(key).is_some();
        if let Some(key) = machines::KEYS.iter().find(is_said).filter(|_| !is_machine) {
            problems.report(&fields.place_at(key), "only a pool with machine has it");
        }
        let joins = joins.unwrap_or(Some(Millis(0)))?;
        Some(Self {
            place: fields.place,
            name: name?.to_owned(),
            count: count?.unsigned_abs(),
            joins: Time(joins.0),
            model,
        })
    }

    /// The name of one of its nodes, counted from 1.
    fn node_name(&self, number: u64) -> String {
        let width = self.count.to_string().len().max(3);
        format!("{}-{number:0width$}", self.name)
    }

    /// The Node that stands in the scenario, if one does.
    pub(super) fn template(&self) -> Option<&Manifest> {
        match &self.model {
            Model::Template(template) => Some(template),
            Model::Machine(_, template) => template.as_ref(),
            Model::Like(_) => None,
        }
    }
}

/// All nodes.
pub(super) fn nodes(
    manifests: &[(&str, Manifest)],
    script: &Script,
    mistakes: &mut Mistakes,
) -> Vec<NodePlan> {
    let mut nodes = Vec::new();
    for (file, manifest) in manifests {
        match facts(manifest, None) {
            Ok(facts) => nodes.push(NodePlan::new(&pool_of(&facts, script), facts)),
            Err((path, message)) => {
                mistakes.add(Origin { file, line: manifest.line_at(&path) }, &path, message);
            }
        }
    }
    for pool in &script.pools {
        let model = match &pool.model {
            Model::Template(template) => Some(template),
            Model::Machine(machine, template) => {
                nodes.extend(machines_of(pool, (machine, template.as_ref()), script, mistakes));
                None
            }
            Model::Like(name) => {
                let found = manifests.iter().find(|(_, one)| has_name(one, name));
                let found = found.map(|(_, manifest)| manifest);
                if found.is_none() {
                    let message = format!("there is no Node {}", quoted(name));
                    let path = format!("{}.like", pool.place.path);
                    mistakes.add(script.at(&pool.place), &path, message);
                }
                found
            }
        };
        nodes.extend(model.into_iter().flat_map(|model| pool_nodes(pool, model, script, mistakes)));
    }
    if let Some((file, line, name)) = repeated(manifests, &nodes) {
        let message = format!("node {} is there twice", quoted(&name));
        mistakes.add(Origin { file, line }, "metadata.name", message);
    }
    befall(&mut nodes, script, mistakes);
    nodes
}

fn pool_nodes(
    pool: &Pool,
    model: &Manifest,
    script: &Script,
    mistakes: &mut Mistakes,
) -> Vec<NodePlan> {
    match facts(model, Some(&pool.node_name(1))) {
        Ok(first) => copies(pool, &first),
        Err(wrong) => {
            mistake_in(pool, Some(model), wrong, script, mistakes);
            Vec::new()
        }
    }
}

/// The nodes of a pool of machines.
fn machines_of(
    pool: &Pool,
    (machine, template): (&Machine, Option<&Manifest>),
    script: &Script,
    mistakes: &mut Mistakes,
) -> Vec<NodePlan> {
    let mut object = machine.node();
    if let Some(template) = template {
        machines::lay_over(&mut object, &template.json());
    }
    let first = match facts_of(object, Some(&pool.node_name(1))) {
        Ok(first) => first,
        Err(wrong) => {
            mistake_in(pool, template, wrong, script, mistakes);
            return Vec::new();
        }
    };
    if let Some(message) = no_machine(&first) {
        let path = format!("{}.machine", pool.place.path);
        mistakes.add(script.at(&pool.place), &path, message);
    }
    copies(pool, &first)
}

/// Why it is not known what is inside a node that is to be a machine.
fn no_machine(facts: &NodeFacts) -> Option<String> {
    let mut unread = facts.hardware.iter().flat_map(|hardware| &hardware.unread);
    if let Some(unread) = unread.next() {
        let (key, value) = (&unread.key, quoted(&unread.value));
        return Some(format!("{key}: expected {}, found {value}", unread.expected));
    }
    let mut catalog = Catalog::default();
    let (node, _) = catalog.apply_node(facts);
    let message = "a kubelet with these settings does not start on this machine";
    catalog.machine(node).is_none().then(|| message.to_owned())
}

/// Notes what is wrong with the Node of a pool.
fn mistake_in(
    pool: &Pool,
    template: Option<&Manifest>,
    (path, message): (String, String),
    script: &Script,
    mistakes: &mut Mistakes,
) {
    let line = template.map(|template| template.line_at(&path));
    let line = line.unwrap_or(script.at(&pool.place).line);
    let path = format!("{}.template.{path}", pool.place.path);
    let path = path.trim_end_matches('.');
    mistakes.add(Origin { line, ..script.origin() }, path, message);
}

/// As many nodes as a pool has, all like the first.
fn copies(pool: &Pool, first: &NodeFacts) -> Vec<NodePlan> {
    let node = |number: u64| {
        let mut facts = first.clone();
        facts.name = pool.node_name(number);
        for (key, value) in &mut facts.labels {
            if key == "kubernetes.io/hostname" && *value == first.name {
                value.clone_from(&facts.name);
            }
        }
        NodePlan { joins: pool.joins, ..NodePlan::new(&pool.name, facts) }
    };
    (1..=pool.count).map(node).collect()
}

/// The facts of a node, under its own name or another.
fn facts(manifest: &Manifest, name: Option<&str>) -> Result<NodeFacts, (String, String)> {
    facts_of(manifest.json().into_owned(), name)
}

pub(super) fn facts_of(
    mut object: Json,
    name: Option<&str>,
) -> Result<NodeFacts, (String, String)> {
    if object.pointer(COUNT_POINTER).is_some() {
        return Err((COUNT_PATH.to_owned(), COUNT_ELSEWHERE.to_owned()));
    }
    complete::node(&mut object, name);
    let event = ingest::node(&object);
    let event = event.map_err(|error| (error.path().to_owned(), error.message().to_owned()))?;
    let Event::Seen(Fact::Node(facts)) = event else { unreachable!("a node is read as a node") };
    if facts.name.is_empty() {
        return Err(("metadata.name".to_owned(), "required, but missing".to_owned()));
    }
    if !is_bounded(&facts.allocatable) {
        return Err(("status.allocatable".to_owned(), TOO_MUCH.to_owned()));
    }
    Ok(*facts)
}

/// Whether amounts can be added up over everything there is.
pub(super) fn is_bounded(amounts: &Amounts<String>) -> bool {
    let Amounts { cpu, memory, ephemeral, scalars } = amounts;
    let scalars = scalars.iter().map(|(_, amount)| *amount);
    [*cpu, *memory, *ephemeral].into_iter().chain(scalars).all(|amount| amount <= AMOUNT_MAX)
}

fn pool_of(facts: &NodeFacts, script: &Script) -> String {
    let own = script.pool_label.iter().map(String::as_str);
    let mut labels = own.chain(POOL_LABELS);
    let value = |key: &str| facts.labels.iter().find(|(label, _)| label == key);
    let found = labels.find_map(value).map(|(_, value)| value.clone());
    found.unwrap_or_else(|| POOL.to_owned())
}

/// The first name that two nodes have, and where it stands if it stands in a manifest.
fn repeated<'a>(
    manifests: &[(&'a str, Manifest)],
    nodes: &[NodePlan],
) -> Option<(&'a str, usize, String)> {
    let mut seen = BTreeSet::new();
    let name = nodes.iter().map(|node| &node.facts.name).find(|name| !seen.insert(*name))?;
    let place = manifests.iter().rfind(|(_, one)| has_name(one, name));
    let (file, line) = place.map_or(("", 0), |(file, one)| (*file, one.line_at("metadata.name")));
    Some((file, line, name.clone()))
}

fn has_name(manifest: &Manifest, name: &str) -> bool {
    manifest.json().pointer("/metadata/name").and_then(|found| found.as_str()) == Some(name)
}

/// Lets happen to nodes what the scenario says, in the order of time.
fn befall(nodes: &mut [NodePlan], script: &Script, mistakes: &mut Mistakes) {
    let mut events: Vec<_> = script.events.iter().collect();
    events.sort_by_key(|event| event.at);
    for event in events {
        let (mut found, mut is_carried_out) = (0, true);
        let meant = nodes.iter_mut().filter(|node| event.whom.means(node));
        for node in meant.take(event.whom.count_max()) {
            found += 1;
            if let Err(message) = event.befall(node) {
                mistakes.add(script.at(&event.place), &event.place.path, message);
                is_carried_out = false;
                break;
            }
        }
        if found == 0 {
            let (key, name, known) = match &event.whom {
                Whom::Node(name) => ("node", name, suggestion(name, nodes.iter().map(node_name))),
                Whom::Pool(name, _) => {
                    ("pool", name, suggestion(name, nodes.iter().map(pool_name)))
                }
            };
            let message = format!("there is no {key} {}{known}", quoted(name));
            let path = format!("{}.{key}", event.place.path);
            mistakes.add(script.at(&event.place), &path, message);
        } else if let Whom::Pool(name, Some(count)) = &event.whom
            && is_carried_out
            && *count > found
        {
            let pool = quoted(name);
            let message =
                format!("expected at most {found}, the nodes of pool {pool}, found {count}");
            let path = format!("{}.count", event.place.path);
            mistakes.add(script.at(&event.place), &path, message);
        }
    }
}

fn node_name(node: &NodePlan) -> &str {
    &node.facts.name
}

fn pool_name(node: &NodePlan) -> &str {
    &node.pool
}
