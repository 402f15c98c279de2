//! Machines by their type: the Node that kubelet, kubenexus-agent and GPU feature discovery would
//! make of one, so that a pool need not spell it out.
//!
//! The types and where they were looked up are in `types`, how the kubelet of a pool is configured
//! is read in `kubelet`.

mod kubelet;
mod types;

use k8s::document::{Fields, Problems};
use model::NodeFacts;
use serde_json::{Map, Value as Json, json};

pub(super) use kubelet::KEYS;
use kubelet::Kubelet;
use types::{Gpus, Link, TYPES, Type};

/// Memory that every machine keeps for the system, in its lowest zone.
const RESERVED_GIB: u64 = 4;
const GIB: u64 = 1 << 30;

/// A machine of a type, and how its kubelet is configured.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    of: &'static Type,
    kubelet: Kubelet,
}

impl Machine {
    /// The machine of a pool.
    pub(super) fn read(fields: &Fields<'_>, problems: &mut Problems) -> Option<Self> {
        let known: Vec<(&str, &Type)> = TYPES.iter().map(|of| (of.name, of)).collect();
        let of = fields.get("machine").and_then(|spot| spot.word(&known, problems));
        let kubelet = Kubelet::read(fields, problems);
        Some(Self { of: of?, kubelet: kubelet? })
    }

    /// A machine whose kubelet has a policy and gives whole CPUs exclusively.
    pub(crate) fn aligned(name: &str, policy: &'static str) -> Option<Self> {
        let of = TYPES.iter().find(|of| of.name == name)?;
        Some(Self { of, kubelet: Kubelet::aligned(policy) })
    }

    /// The facts of the Node, without a name.
    pub(crate) fn facts(&self) -> NodeFacts {
        let facts = super::pools::facts_of(self.node(), Some("machine"));
        facts.expect("machines of all types are read, as a test checks")
    }

    /// The Node, without a name.
    pub(crate) fn node(&self) -> Json {
        let of = self.of;
        let (mut labels, mut annotations) = (Map::new(), Map::new());
        let mut label = |key: String, value: String| _ = labels.insert(key, json!(value));
        label("kubernetes.io/arch".into(), of.arch.into());
        label("kubernetes.io/os".into(), "linux".into());
        label("node.kubernetes.io/instance-type".into(), of.name.into());
        label("numa.kubenexus.io/node-count".into(), of.zones().to_string());
        label("numa.kubenexus.io/threads-per-core".into(), of.threads.to_string());
        for zone in 0..of.zones() {
            let mut fact = |fact: &str, value: String| {
                label(format!("numa.kubenexus.io/node-{zone}-{fact}"), value);
            };
            fact("cpus", of.cpus(zone).replace(',', "_"));
            fact("memory", (of.memory_gib * GIB).to_string());
            fact("bandwidth", of.bandwidth.to_string());
            fact("socket", (zone / of.zones_per_socket).to_string());
            for other in 0..of.zones() {
                fact(&format!("distance-{other}"), of.distance(zone, other).to_string());
            }
        }
        if let Some(gpus) = &of.gpus {
            for (index, zone) in gpus.zones.iter().enumerate() {
                label(format!("gpu.kubenexus.io/gpu{index}-numa"), zone.to_string());
            }
            label("nvidia.com/gpu.product".into(), gpus.product.replace(' ', "-"));
            label("nvidia.com/gpu.memory".into(), gpus.memory_mib.to_string());
            label("nvidia.com/gpu.count".into(), gpus.zones.len().to_string());
            label("nvidia.com/gpu.topology".into(), gpus.link.word().into());
            annotations.insert("gpu.kubenexus.io/devices".into(), json!(devices(gpus)));
        }
        if of.threads > 1 {
            annotations.insert("numa.kubenexus.io/cores".into(), json!(of.cores()));
        }
        let kubelet = self.kubelet.annotation(&of.first_core(), RESERVED_GIB);
        annotations.insert("numa.kubenexus.io/kubelet".into(), json!(kubelet));
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"labels": labels, "annotations": annotations},
            "status": {"capacity": self.amounts(0), "allocatable": self.amounts(1)},
        })
    }

    /// What it has, without what is reserved so many times.
    fn amounts(&self, reserved: u64) -> Json {
        let of = self.of;
        let cpus = u64::from(of.zones() * of.cores_per_zone * of.threads);
        let kept = self.kubelet.reserved_cpus().unwrap_or(of.threads.into());
        let memory_gib = u64::from(of.zones()) * of.memory_gib - reserved * RESERVED_GIB;
        let mut amounts = json!({
            "cpu": (cpus - (reserved * kept).min(cpus)).to_string(),
            "memory": format!("{memory_gib}Gi"),
            "pods": "110",
        });
        if let Some(gpus) = &of.gpus {
            amounts["nvidia.com/gpu"] = json!(gpus.zones.len().to_string());
        }
        amounts
    }
}

/// GPUs as the agent lists them.
fn devices(gpus: &Gpus) -> String {
    let count = gpus.zones.len();
    let entry = |(index, zone): (usize, &u32)| {
        let domain = match gpus.link {
            Link::Switch => Some(0),
            Link::Pairs => Some(index / 2),
            Link::Pcie => None,
        };
        let is_peer = |other: &usize| match gpus.link {
            Link::Switch => *other != index,
            Link::Pairs => *other != index && other / 2 == index / 2,
            Link::Pcie => false,
        };
        let peers: Vec<usize> = (0..count).filter(is_peer).collect();
        let mut entry = json!({
            "index": index,
            "numa-node": zone,
            "vendor": "10de",
            "device": gpus.device,
            "model": gpus.product,
            "vram": gpus.memory_mib << 20,
        });
        if let Some(domain) = domain {
            entry["nvlink-domain"] = json!(domain);
            entry["nvlink-peers"] = json!(peers);
        }
        entry
    };
    Json::Array(gpus.zones.iter().enumerate().map(entry).collect()).to_string()
}

/// Lays an object over another one: maps are merged, everything else is replaced.
pub(super) fn lay_over(under: &mut Json, over: &Json) {
    match (under, over) {
        (Json::Object(under), Json::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.clone()).or_insert(Json::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}
