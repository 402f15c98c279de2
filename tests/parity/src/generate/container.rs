//! Containers: their images, ports and requests, and the volumes they mount.

use serde_json::{Value, json};

use super::amount::{self, Size};
use super::theme::World;
use crate::draw::Draw;

/// Images as a container runtime reports them, several names each.
pub(super) const IMAGES: [&[&str]; 6] = [
    &["docker.io/library/web:latest", "docker.io/library/web@sha256:1111", "web:latest"],
    &["docker.io/library/web:1.2", "web:1.2"],
    &["registry.local:5000/team/app:latest", "registry.local:5000/team/app@sha256:2222"],
    &["registry.local:5000/team/app:v2"],
    &["gpu-job:latest", "gpu-job:v7"],
    &["ghcr.io/models/big@sha256:3333"],
];

/// Images as people write them in pods: with and without a tag, a port, a digest.
const REFERENCES: [&str; 12] = [
    "web",
    "web:latest",
    "web:1.2",
    "docker.io/library/web",
    "docker.io/library/web@sha256:1111",
    "registry.local:5000/team/app",
    "registry.local:5000/team/app:v2",
    "gpu-job",
    "gpu-job:v7",
    "ghcr.io/models/big@sha256:3333",
    "ghcr.io/models/big",
    "unheard-of:1",
];

/// Puts the containers of a pod into its `spec`.
pub(super) fn fill(draw: &mut Draw, world: &World, size: Size, spec: &mut Value) {
    let count = *draw.pick(&[1, 1, 1, 2, 3]);
    spec["containers"] =
        (0..count).map(|index| container(draw, world, size, &format!("c{index}"))).collect();
    if world.theme.init_containers && draw.chance(70) {
        let count = draw.between(1, 4);
        spec["initContainers"] = (0..count).map(|index| init(draw, world, size, index)).collect();
    }
}

fn init(draw: &mut Draw, world: &World, size: Size, index: u64) -> Value {
    let mut init = container(draw, world, size, &format!("i{index}"));
    if draw.chance(45) {
        init["restartPolicy"] = json!("Always");
    }
    init
}

fn container(draw: &mut Draw, world: &World, size: Size, name: &str) -> Value {
    let mut container = json!({"name": name, "image": draw.pick(&REFERENCES)});
    if draw.chance(80) {
        container["resources"] = json!({"requests": amount::requests(draw, &world.theme, size)});
    }
    if draw.chance(15) {
        container["resources"]["limits"] = amount::requests(draw, &world.theme, size);
    }
    if world.theme.ports && draw.chance(40) {
        let count = draw.between(1, 2);
        container["ports"] = (0..count).map(|_| port(draw)).collect();
    }
    if world.theme.features {
        needs_features(draw, &mut container);
    }
    container
}

fn port(draw: &mut Draw) -> Value {
    let mut port = json!({"containerPort": draw.pick(&[80, 443, 8080])});
    if draw.chance(75) {
        port["hostPort"] = json!(draw.pick(&[80, 80, 443, 8080]));
    } else if draw.chance(30) {
        port["hostPort"] = json!(0);
    }
    match draw.between(0, 7) {
        0..=2 => {}
        3 => port["hostIP"] = json!(""),
        4 => port["hostIP"] = json!("0.0.0.0"),
        5 => port["hostIP"] = json!("127.0.0.1"),
        _ => port["hostIP"] = json!("10.0.0.5"),
    }
    if draw.chance(85) {
        port["protocol"] = json!(draw.pick(&["TCP", "TCP", "TCP", "UDP", "SCTP", ""]));
    }
    port
}

/// Fields that only nodes which declare the feature can honour, and their harmless neighbours.
fn needs_features(draw: &mut Draw, container: &mut Value) {
    if draw.chance(20) {
        let action = draw.pick(&["RestartAllContainers", "RestartAllContainers", "Restart"]);
        container["restartPolicyRules"] =
            json!([{"action": action, "exitCodes": {"operator": "In", "values": [42]}}]);
        container["restartPolicy"] = json!("Never");
    }
    if draw.chance(20) {
        let options =
            draw.pick(&[json!([]), json!(["noexec"]), json!(["nodev", "nosuid"])]).clone();
        container["volumeMounts"] =
            json!([{"name": "scratch", "mountPath": "/scratch", "bindMountOptions": options}]);
    }
}

/// Volumes that bind a pod to no node; images among them count for image locality.
pub(super) fn volumes(draw: &mut Draw) -> Vec<Value> {
    let choices = [
        json!({"name": "scratch", "emptyDir": {}}),
        json!({"name": "cache", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}}),
        json!({"name": "settings", "configMap": {"name": "settings"}}),
        json!({"name": "keys", "secret": {"secretName": "keys"}}),
        json!({"name": "logs", "hostPath": {"path": "/var/log"}}),
        json!({"name": "token", "projected": {"sources": [{"configMap": {"name": "settings"}}]}}),
        json!({"name": "about", "downwardAPI": {"items": []}}),
    ];
    let mut volumes: Vec<Value> = draw.subset(&choices, 25).into_iter().cloned().collect();
    let images = draw.between(0, 2);
    volumes.extend((0..images).map(|index| {
        json!({"name": format!("image{index}"), "image": {"reference": draw.pick(&REFERENCES)}})
    }));
    volumes
}
