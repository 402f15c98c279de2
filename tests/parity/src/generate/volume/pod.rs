//! What pods mount.

use serde_json::{Value, json};

use super::{Store, Subject, claim, source, tolerate};
use crate::draw::Draw;

/// Names of claims that pods share.
const CLAIMS: [&str; 4] = ["c0", "c1", "c2", "c3"];

/// Gives the pod to judge its volumes, and takes from it most of what else could turn it away.
pub(super) fn judged(draw: &mut Draw, store: &mut Store, pod: &mut Value) {
    if draw.chance(85) {
        lighten(pod);
    }
    tolerate(draw, pod);
    if store.subject == Subject::Limits && draw.chance(50) {
        pod["spec"]["priority"] = json!(1000);
    }
    // The first claims are few, so that two volumes of the pod, or another pod, use the same one.
    let count = *draw.pick(&[1, 1, 1, 2, 2, 3, 4]);
    for index in 0..count {
        let name = format!("v{index}");
        let volume = match draw.between(0, 99) {
            0..=3 => json!({"name": name, "emptyDir": {}}),
            4..=6 if store.is_careless => missing(draw, store, &name, true),
            7..=12 if store.is_careless && store.is_one_asked => missing(draw, store, &name, true),
            roll if roll < 5 + inline_share(store.subject) => inline(draw, store, &name),
            roll if roll < 13 + inline_share(store.subject) => ephemeral(draw, store, pod, &name),
            _ => claimed(draw, store, pod, &name, index),
        };
        push(pod, volume);
    }
}

/// How many of a hundred volumes are in the pod itself.
fn inline_share(subject: Subject) -> u64 {
    match subject {
        Subject::Disks => 65,
        Subject::Limits => 20,
        Subject::Everything => 25,
        Subject::Bound | Subject::Matching | Subject::Provisioning | Subject::Once => 4,
    }
}

/// Gives a pod of the cluster some volumes, many of them those of the pod to judge.
pub(super) fn existing(draw: &mut Draw, store: &mut Store, judged: &Value, pod: &mut Value) {
    if draw.chance(75) {
        pod["metadata"]["namespace"] = judged["metadata"]["namespace"].clone();
    }
    if draw.chance(75) {
        lighten(pod);
    }
    let share = match store.subject {
        Subject::Limits => 85,
        Subject::Disks => 65,
        // One pod that holds the claim is enough.
        Subject::Once => 25,
        Subject::Bound | Subject::Matching | Subject::Provisioning | Subject::Everything => 35,
    };
    let most = if store.subject == Subject::Disks { 1 } else { 3 };
    let count = if draw.chance(share) { draw.between(1, most) } else { 0 };
    for index in 0..count {
        let name = format!("v{index}");
        let volume = match draw.between(0, 99) {
            0..=2 => json!({"name": name, "emptyDir": {}}),
            3..=5 => missing(draw, store, &name, false),
            roll if roll < 6 + inline_share(store.subject) => inline(draw, store, &name),
            roll if roll < 14 + inline_share(store.subject) => ephemeral(draw, store, pod, &name),
            // As many different claims as there are pods make a node full.
            _ if store.subject == Subject::Limits && draw.chance(80) => {
                let own = format!("{}-own{index}", pod["metadata"]["name"].as_str().unwrap_or(""));
                bound_to(draw, store, pod, &name, &own)
            }
            _ => {
                let claim =
                    *draw.pick(&CLAIMS[..if store.subject == Subject::Once { 2 } else { 4 }]);
                bound_to(draw, store, pod, &name, claim)
            }
        };
        push(pod, volume);
    }
}

/// Leaves every claim for one pod at a time to one pod on a node. Where several hold it, or claims
/// of that name in several namespaces, kube-scheduler takes it for free when one of them goes, and
/// that one of a pod with a proposed node has it does not keep others from it; see docs/parity.md.
pub(super) fn part_claims(store: &Store, pods: &mut [Value]) {
    let is_once = |claim: &&Value| {
        let modes = claim["spec"]["accessModes"].as_array().into_iter().flatten();
        modes.into_iter().any(|mode| mode == "ReadWriteOncePod")
    };
    let names: Vec<&Value> =
        store.claims.iter().filter(is_once).map(|claim| &claim["metadata"]["name"]).collect();
    let mut held: Vec<Value> = Vec::new();
    for pod in pods {
        let is_waiting = pod["spec"].get("nodeName").is_none();
        for volume in pod["spec"]["volumes"].as_array_mut().into_iter().flatten() {
            let claim = volume["persistentVolumeClaim"]["claimName"].clone();
            if !names.contains(&&claim) {
                continue;
            }
            if is_waiting || held.contains(&claim) {
                *volume = json!({"name": volume["name"], "emptyDir": {}});
            } else {
                held.push(claim);
            }
        }
    }
}

fn push(pod: &mut Value, volume: Value) {
    let spec = &mut pod["spec"];
    if let Some(volumes) = spec["volumes"].as_array_mut() {
        volumes.push(volume);
    } else {
        spec["volumes"] = json!([volume]);
    }
}

/// Takes away what a pod asks of a node.
fn lighten(pod: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            container.as_object_mut().map(|fields| fields.remove("resources"));
        }
    }
}

fn claimed(draw: &mut Draw, store: &mut Store, pod: &Value, name: &str, index: usize) -> Value {
    let claim = if draw.chance(8) { "c0" } else { CLAIMS[index % CLAIMS.len()] };
    bound_to(draw, store, pod, name, claim)
}

/// A volume of a claim that exists.
fn bound_to(draw: &mut Draw, store: &mut Store, pod: &Value, name: &str, claim: &str) -> Value {
    let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
    claim::add(draw, store, namespace, claim);
    let mut source = json!({"claimName": claim});
    if draw.chance(10) {
        source["readOnly"] = json!(true);
    }
    json!({"name": name, "persistentVolumeClaim": source})
}

/// A volume of a claim that is nowhere, or in another namespace, or that has no name, which no pod
/// on a node can have.
fn missing(draw: &mut Draw, store: &mut Store, name: &str, may_be_nameless: bool) -> Value {
    let claim = match draw.between(0, 2) {
        0 => "c-absent",
        1 => {
            claim::add(draw, store, "elsewhere", "c-elsewhere");
            "c-elsewhere"
        }
        _ if may_be_nameless => "",
        _ => "c-absent",
    };
    json!({"name": name, "persistentVolumeClaim": {"claimName": claim}})
}

fn inline(draw: &mut Draw, store: &Store, name: &str) -> Value {
    let (field, disk) = source::inline(draw, store);
    json!({"name": name, field: disk})
}

/// A generic ephemeral volume, mostly with its claim.
fn ephemeral(draw: &mut Draw, store: &mut Store, pod: &Value, name: &str) -> Value {
    if !store.carelessly(draw, 15) {
        claim::add_ephemeral(draw, store, pod, name);
    }
    let template = json!({"spec": {"accessModes": ["ReadWriteOnce"]}});
    json!({"name": name, "ephemeral": {"volumeClaimTemplate": template}})
}
