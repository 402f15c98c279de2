//! Services and controllers, the owners that pods name, and how a profile spreads pods that do not
//! say it themselves.

use serde_json::{Map, Value, json};

use super::company;
use super::theme::World;
use crate::draw::Draw;

/// The label of the zones that pods are spread over unless a configuration says otherwise.
pub(super) const ZONE: &str = "topology.kubernetes.io/zone";

/// Names of controllers; the last one is never there.
const NAMES: [&str; 5] = ["one", "one", "one", "two", "absent"];

/// Services and controllers of the cluster.
pub(super) fn all(draw: &mut Draw, world: &World) -> Vec<Value> {
    if !world.theme.groupings {
        return Vec::new();
    }
    let mut objects = Vec::new();
    for number in 0..draw.between(0, 4) {
        let name = format!("service-{number}");
        let namespace = *draw.pick(&company::NAMESPACES);
        objects.push(object(draw, "v1", "Service", namespace, &name, map));
    }
    for namespace in ["default", "team"] {
        for name in draw.subset(&NAMES[2..4], 85) {
            let invalid = world.theme.invalid_selectors;
            let selector = |draw: &mut Draw| company::selector(draw, invalid);
            objects.push(object(draw, "v1", "ReplicationController", namespace, name, map));
            objects.push(object(draw, "apps/v1", "ReplicaSet", namespace, name, selector));
            objects.push(object(draw, "apps/v1", "StatefulSet", namespace, name, selector));
        }
    }
    objects
}

fn object(
    draw: &mut Draw,
    version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    selector: impl Fn(&mut Draw) -> Value,
) -> Value {
    let uid = format!("{kind}-{namespace}-{name}");
    let mut spec = json!({});
    // Without a selector a service is about nobody, and with an empty one about everybody.
    match draw.between(0, 19) {
        0 => {}
        1 => spec["selector"] = json!({}),
        _ => spec["selector"] = selector(draw),
    }
    json!({
        "apiVersion": version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": uid}, "spec": spec,
    })
}

/// A selector as services have it.
fn map(draw: &mut Draw) -> Value {
    let mut labels = Map::new();
    if draw.chance(80) {
        labels.insert("app".into(), json!(draw.pick(&["web", "web", "db"])));
    }
    if draw.chance(25) {
        labels.insert("tier".into(), json!(draw.pick(&["front", "back"])));
    }
    Value::Object(labels)
}

/// The owners of a pod, of which one may be its controller.
pub(super) fn owners(draw: &mut Draw) -> Value {
    let kinds = [
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "StatefulSet"),
        ("v1", "ReplicationController"),
        ("/v1", "ReplicationController"),
        ("apps/v1beta1", "ReplicaSet"),
        ("batch/v1", "Job"),
    ];
    let count = *draw.pick(&[1, 1, 1, 2]);
    let owner = |draw: &mut Draw, number: u64| {
        let (version, kind) = *draw.pick(&kinds);
        let name = *draw.pick(&NAMES);
        let mut owner = json!({
            "apiVersion": version, "kind": kind, "name": name, "uid": format!("owner-{number}"),
        });
        if draw.chance(95) {
            owner["controller"] = json!(draw.chance(85));
        }
        owner
    };
    (0..count).map(|number| owner(draw, number)).collect()
}

/// Arguments of the plugin: pods are spread as listed, or as the scheduler thinks fit.
pub(super) fn args(draw: &mut Draw) -> Value {
    if draw.chance(15) {
        return if draw.chance(50) { json!({}) } else { json!({"defaultingType": "System"}) };
    }
    let mut kinds = Vec::new();
    for key in ["zone", "example.com/rack", "kubernetes.io/hostname", ZONE] {
        kinds.extend(["DoNotSchedule", "ScheduleAnyway"].map(|action| (key, action)));
    }
    draw.shuffle(&mut kinds);
    kinds.truncate(*draw.pick(&[0, 1, 1, 2, 3]));
    let list: Vec<Value> = kinds.into_iter().map(|kind| constraint(draw, kind)).collect();
    json!({"defaultingType": "List", "defaultConstraints": list})
}

fn constraint(draw: &mut Draw, (key, action): (&str, &str)) -> Value {
    let max_skew = draw.pick(&[1, 1, 2, 3]);
    let mut constraint =
        json!({"maxSkew": max_skew, "topologyKey": key, "whenUnsatisfiable": action});
    let optional = [
        ("minDomains", 25, json!(draw.pick(&[1, 2, 3, 4]))),
        ("matchLabelKeys", 10, json!(["tier"])),
        ("nodeAffinityPolicy", 30, json!(draw.pick(&["Honor", "Ignore"]))),
        ("nodeTaintsPolicy", 30, json!(draw.pick(&["Honor", "Ignore"]))),
    ];
    for (field, percent, value) in optional {
        if draw.chance(percent) {
            constraint[field] = value;
        }
    }
    constraint
}
