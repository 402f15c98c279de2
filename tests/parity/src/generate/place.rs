//! Where a pod may or would rather run: node labels, node selectors and node affinity.

use serde_json::{Map, Value, json};

use super::theme::World;
use crate::draw::Draw;

const KEYS: [&str; 4] = ["zone", "disk", "rank", "example.com/rack"];
const NUMBERS: [&str; 5] = ["0", "1", "2", "5", "010"];
const NODE_NAME: &str = "metadata.name";

/// The labels of a node, without those that carry its name.
pub(super) fn labels(draw: &mut Draw) -> Map<String, Value> {
    let mut labels = Map::new();
    for key in draw.subset(&KEYS, 85) {
        labels.insert((*key).to_owned(), json!(value(draw, key)));
    }
    labels
}

fn value(draw: &mut Draw, key: &str) -> &'static str {
    let values: &[&'static str] = match key {
        "zone" => &["a", "a", "b"],
        "disk" => &["ssd", "ssd", "hdd", ""],
        "rank" => &["2", "3", "3", "7", "007", "many", "1.5"],
        _ => &["r1", "r2"],
    };
    draw.pick::<&str>(values)
}

/// A node selector of one or two labels; rarely one without any, or with a value no label has.
pub(super) fn selector(draw: &mut Draw, world: &World) -> Value {
    let mut selector = Map::new();
    let count = *draw.pick(&[0, 1, 1, 1, 1, 1, 2]);
    for _ in 0..count {
        let key = if draw.chance(60) { "zone" } else { *draw.pick(&KEYS) };
        selector.insert(key.to_owned(), json!(value(draw, key)));
    }
    if draw.chance(5) {
        selector.insert("kubernetes.io/hostname".to_owned(), json!(draw.pick(&world.nodes)));
    }
    if world.theme.invalid_selectors && draw.chance(30) {
        selector.insert("zone".to_owned(), json!("not a label value!"));
    }
    Value::Object(selector)
}

/// The terms of a required node affinity: any of them is enough.
pub(super) fn required(draw: &mut Draw, world: &World) -> Value {
    if world.theme.match_fields && draw.chance(10) {
        // Two names at once: a conflict that is seen before any node is looked at.
        let names = [named("In", draw.pick(&world.nodes).as_str()), named("In", "n-absent")];
        return json!({"nodeSelectorTerms": [{"matchFields": names}]});
    }
    // No term at all fits no node.
    let count = if draw.chance(4) { 0 } else { *draw.pick(&[1, 2, 3, 3]) };
    let invalid = world.theme.invalid_selectors;
    let terms: Vec<Value> = (0..count).map(|_| term(draw, world, invalid)).collect();
    json!({"nodeSelectorTerms": terms})
}

/// The terms of a preferred node affinity.
pub(super) fn preferred(draw: &mut Draw, world: &World, invalid: bool) -> Vec<Value> {
    let count = draw.between(0, 4);
    (0..count)
        .map(|_| {
            let weight = *draw.pick(&[0, 1, 2, 10, 50, 99, 100]);
            json!({"weight": weight, "preference": term(draw, world, invalid)})
        })
        .collect()
}

/// A profile's affinity for all its pods. A mistake in it is an error of the configuration.
pub(super) fn added(draw: &mut Draw, world: &World) -> Value {
    let mut affinity = json!({});
    if draw.chance(35) {
        let count = draw.between(1, 3);
        let terms: Vec<Value> = (0..count).map(|_| term(draw, world, false)).collect();
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
            json!({"nodeSelectorTerms": terms});
    }
    if draw.chance(60) {
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] =
            json!(preferred(draw, world, false));
    }
    affinity
}

fn term(draw: &mut Draw, world: &World, invalid: bool) -> Value {
    let mut term = json!({});
    let fields = if world.theme.match_fields && draw.chance(70) { draw.between(1, 2) } else { 0 };
    if fields > 0 {
        term["matchFields"] = (0..fields).map(|_| field(draw, world, invalid)).collect();
    }
    let labels = match (fields, draw.chance(6)) {
        (0, true) => 0,
        (0, false) => *draw.pick(&[1, 1, 1, 1, 2]),
        _ => *draw.pick(&[0, 0, 0, 1]),
    };
    if labels > 0 || draw.chance(10) {
        term["matchExpressions"] = (0..labels).map(|_| expression(draw, invalid)).collect();
    }
    term
}

fn expression(draw: &mut Draw, invalid: bool) -> Value {
    if invalid && draw.chance(40) {
        return invalid_expression(draw);
    }
    let key = if draw.chance(5) { "nowhere" } else { *draw.pick(&KEYS) };
    match draw.between(0, 9) {
        0..=2 => json!({"key": key, "operator": "In", "values": values(draw, key)}),
        3..=4 => json!({"key": key, "operator": "NotIn", "values": values(draw, key)}),
        5 => json!({"key": key, "operator": "Exists"}),
        6 => json!({"key": key, "operator": "DoesNotExist", "values": []}),
        7 => json!({"key": "rank", "operator": "Gt", "values": [draw.pick(&NUMBERS)]}),
        8 => json!({"key": "rank", "operator": "Lt", "values": [draw.pick(&NUMBERS)]}),
        _ => json!({"key": key, "operator": "Gt", "values": [draw.pick(&NUMBERS)]}),
    }
}

fn values(draw: &mut Draw, key: &str) -> Vec<&'static str> {
    let count = draw.between(1, 3);
    (0..count).map(|_| value(draw, key)).collect()
}

fn invalid_expression(draw: &mut Draw) -> Value {
    let choices = [
        json!({"key": "zone", "operator": "In", "values": []}),
        json!({"key": "zone", "operator": "NotIn"}),
        json!({"key": "zone", "operator": "Exists", "values": ["a"]}),
        json!({"key": "rank", "operator": "Gt", "values": ["many"]}),
        json!({"key": "rank", "operator": "Gt", "values": ["-3"]}),
        json!({"key": "rank", "operator": "Lt", "values": ["1", "2"]}),
        json!({"key": "rank", "operator": "Gt", "values": ["9223372036854775808"]}),
        json!({"key": "zone", "operator": "In", "values": ["not a label value!"]}),
        json!({"key": "zone", "operator": "NotIn", "values": ["-a"]}),
        json!({"key": "not a key!", "operator": "Exists"}),
        json!({"key": "", "operator": "Exists"}),
        json!({"key": "zone", "operator": "Near", "values": ["a"]}),
        json!({"key": "zone", "operator": "", "values": ["a"]}),
    ];
    draw.pick(&choices).clone()
}

fn field(draw: &mut Draw, world: &World, invalid: bool) -> Value {
    let name = if draw.chance(6) { "n-absent" } else { draw.pick(&world.nodes).as_str() };
    if invalid && draw.chance(40) {
        let other = draw.pick(&world.nodes);
        let choices = [
            json!({"key": NODE_NAME, "operator": "In", "values": [name, other]}),
            json!({"key": NODE_NAME, "operator": "NotIn", "values": [name, other]}),
            json!({"key": NODE_NAME, "operator": "In", "values": []}),
            json!({"key": NODE_NAME, "operator": "Exists"}),
        ];
        return draw.pick(&choices).clone();
    }
    match draw.between(0, 9) {
        0..=5 => named("In", name),
        6..=8 => named("NotIn", name),
        _ => json!({"key": "metadata.namespace", "operator": "NotIn", "values": [name]}),
    }
}

fn named(operator: &str, name: &str) -> Value {
    json!({"key": NODE_NAME, "operator": operator, "values": [name]})
}
