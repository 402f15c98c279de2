//! What pods are to each other: labels, spread constraints, affinity and anti-affinity, and the
//! namespaces that terms speak of.

use serde_json::{Map, Value, json};

use super::theme::World;
use crate::draw::Draw;

const TOPOLOGIES: [&str; 5] =
    ["zone", "zone", "example.com/rack", "kubernetes.io/hostname", "nowhere"];
pub(super) const NAMESPACES: [&str; 3] = ["default", "default", "team"];

/// Namespaces with labels; one that pods are in may be missing.
pub(super) fn namespaces(draw: &mut Draw, world: &World) -> Vec<Value> {
    if !world.theme.pod_affinity {
        return Vec::new();
    }
    let present = draw.subset(&["default", "team", "empty"], 85);
    let namespace = |name: &&str| {
        json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "uid": format!("namespace-{name}"), "labels": labels(draw)},
        })
    };
    present.into_iter().map(namespace).collect()
}

/// Labels of a pod or a namespace.
pub(super) fn labels(draw: &mut Draw) -> Value {
    let mut labels = Map::new();
    if draw.chance(85) {
        labels.insert("app".into(), json!(draw.pick(&["web", "web", "db"])));
    }
    if draw.chance(40) {
        labels.insert("tier".into(), json!(draw.pick(&["front", "back"])));
    }
    if draw.chance(20) {
        labels.insert("hash".into(), json!(draw.pick(&["1", "2"])));
    }
    Value::Object(labels)
}

/// The constraints of the pod to judge.
pub(super) fn spread(draw: &mut Draw, world: &World) -> Vec<Value> {
    let count = *draw.pick(&[1, 1, 2, 3]);
    (0..count).map(|_| constraint(draw, world)).collect()
}

fn constraint(draw: &mut Draw, world: &World) -> Value {
    let mut constraint = json!({
        "maxSkew": draw.pick(&[1, 1, 1, 2, 3, 5]),
        "topologyKey": topology(draw),
        "whenUnsatisfiable": draw.pick(&["DoNotSchedule", "ScheduleAnyway"]),
    });
    let optional = [
        ("labelSelector", 95, selector(draw, world.theme.invalid_selectors)),
        ("minDomains", 25, json!(draw.pick(&[1, 2, 3, 4]))),
        ("matchLabelKeys", 20, json!(draw.subset(&["hash", "tier", "absent"], 50))),
        ("nodeAffinityPolicy", 30, json!(draw.pick(&["Honor", "Ignore"]))),
        ("nodeTaintsPolicy", 30, json!(draw.pick(&["Honor", "Ignore"]))),
    ];
    for (field, percent, value) in optional {
        if draw.chance(percent) {
            constraint[field] = value;
        }
    }
    if world.theme.preemption && means_all(&constraint) {
        constraint["labelSelector"] = json!({"matchLabels": {"app": "web"}});
    }
    constraint
}

/// Whether a constraint is about all pods. kube-scheduler counts none of those on nodes then, but
/// those that it takes off or puts on to see what comes of it; see docs/parity.md.
pub(super) fn means_all(constraint: &Value) -> bool {
    constraint["labelSelector"] == json!({})
}

fn topology(draw: &mut Draw) -> &'static str {
    let known = if draw.chance(5) { 5 } else { 4 };
    draw.pick::<&str>(&TOPOLOGIES[..known])
}

/// Adds terms about other pods to an affinity, each sort with a chance of `percent`. Only pods that
/// are there already may have invalid ones: of the pod to judge, kube-scheduler repeats the words
/// of its parser.
pub(super) fn affinity(draw: &mut Draw, percent: u64, has_invalid: bool, affinity: &mut Value) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let mut terms = json!({});
        if draw.chance(percent) {
            let count = *draw.pick(&[1, 1, 1, 2]);
            terms["requiredDuringSchedulingIgnoredDuringExecution"] =
                (0..count).map(|_| term(draw, has_invalid)).collect();
        }
        if draw.chance(percent) {
            let count = *draw.pick(&[1, 1, 2]);
            let weighted = |draw: &mut Draw| {
                let weight = *draw.pick(&[1, 5, 50, 100]);
                json!({"weight": weight, "podAffinityTerm": term(draw, has_invalid)})
            };
            terms["preferredDuringSchedulingIgnoredDuringExecution"] =
                (0..count).map(|_| weighted(draw)).collect();
        }
        if terms != json!({}) || draw.chance(5) {
            affinity[kind] = terms;
        }
    }
}

fn term(draw: &mut Draw, has_invalid: bool) -> Value {
    let mut term = json!({"topologyKey": topology(draw)});
    if draw.chance(95) {
        term["labelSelector"] = selector(draw, has_invalid);
    }
    if draw.chance(25) {
        term["namespaces"] = json!(draw.subset(&["default", "team", "empty", "absent"], 50));
    }
    if draw.chance(30) {
        let everything = json!({});
        let some = selector(draw, has_invalid);
        term["namespaceSelector"] = if draw.chance(40) { everything } else { some };
    }
    term
}

pub(super) fn selector(draw: &mut Draw, has_invalid: bool) -> Value {
    if has_invalid && draw.chance(8) {
        return json!({"matchExpressions": [invalid(draw)]});
    }
    let mut selector = json!({});
    if draw.chance(75) {
        let app = *draw.pick(&["web", "web", "db"]);
        selector["matchLabels"] = json!({"app": app});
    }
    if draw.chance(35) {
        let count = draw.between(1, 2);
        selector["matchExpressions"] = (0..count).map(|_| expression(draw)).collect();
    }
    selector
}

fn expression(draw: &mut Draw) -> Value {
    let key = *draw.pick(&["app", "tier", "hash", "absent"]);
    let values = draw.subset(&["web", "db", "front", "back", "1"], 40);
    let values = if values.is_empty() { vec![&"web"] } else { values };
    match draw.between(0, 3) {
        0 => json!({"key": key, "operator": "In", "values": values}),
        1 => json!({"key": key, "operator": "NotIn", "values": values}),
        2 => json!({"key": key, "operator": "Exists"}),
        _ => json!({"key": key, "operator": "DoesNotExist"}),
    }
}

fn invalid(draw: &mut Draw) -> Value {
    let choices = [
        json!({"key": "app", "operator": "In", "values": []}),
        json!({"key": "app", "operator": "Exists", "values": ["web"]}),
        json!({"key": "app", "operator": "Gt", "values": ["1"]}),
        json!({"key": "not a key!", "operator": "Exists"}),
        json!({"key": "app", "operator": "In", "values": ["not a label value!"]}),
    ];
    draw.pick(&choices).clone()
}
