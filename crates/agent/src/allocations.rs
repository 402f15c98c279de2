//! The annotation `device.kubenexus.io/allocations`: which pod holds which devices, CPUs and
//! memory of the node, in a form that is small.
//!
//! ```json
//! {"version":1,
//!  "devices":{"nvidia.com/gpu":{"POD UID":[0,1]},"example.com/nic":{"POD UID":[null]}},
//!  "cpus":{"POD UID":"2-5,34-37"},
//!  "memory":{"POD UID":{"memory":{"0":1073741824}}},
//!  "left-out":["memory"]}
//! ```
//!
//! A device is its index, which for GPUs is the index of `gpu.kubenexus.io/devices`; `null` is a
//! device whose index is not known. An index twice is a device that is shared. Memory is bytes by
//! NUMA node, or by nodes joined with `,` where the kubelet took it from several. What would make
//! the text longer than it may be is left out, and named in `left-out`: memory first, then CPUs,
//! then resources from the last one on.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::gpus::Gpu;
use crate::kubelet::pods::Uids;
use crate::kubelet::resources::Pod;

/// The longest text that is written.
pub const BYTES_MAX: usize = 16 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Allocations {
    version: u32,
    devices: BTreeMap<String, BTreeMap<String, Vec<Option<usize>>>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cpus: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    memory: BTreeMap<String, BTreeMap<String, BTreeMap<String, u64>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
}

/// The text of the annotation. A pod whose uid is not known yet, because it is just starting, is
/// left out until it is.
pub fn text(pods: &[Pod], uids: &Uids, gpus: &[Gpu]) -> String {
    let mut found = Allocations { version: 1, ..Allocations::default() };
    for pod in pods {
        let name = (pod.namespace.clone(), pod.name.clone());
        let Some(uid) = uids.get(&name) else { continue };
        for held in &pod.devices {
            let of = found.devices.entry(held.resource.clone()).or_default();
            let indices = held.ids.iter().map(|id| index_of(id, gpus));
            of.entry(uid.clone()).or_default().extend(indices);
        }
        if !pod.cpus.is_empty() {
            found.cpus.insert(uid.clone(), pod.cpus.to_string());
        }
        for memory in pod.memory.iter().filter(|memory| !memory.nodes.is_empty()) {
            let of = found.memory.entry(uid.clone()).or_default();
            let nodes: Vec<_> = memory.nodes.iter().map(ToString::to_string).collect();
            let amount = of.entry(memory.kind.clone()).or_default();
            let amount = amount.entry(nodes.join(",")).or_default();
            *amount = amount.saturating_add(memory.bytes);
        }
    }
    for pods in found.devices.values_mut() {
        pods.values_mut().for_each(|indices| indices.sort_unstable());
    }
    fitted(found)
}

fn fitted(mut found: Allocations) -> String {
    loop {
        let text = serde_json::to_string(&found).expect("texts and numbers are JSON");
        if text.len() <= BYTES_MAX {
            return text;
        }
        if !std::mem::take(&mut found.memory).is_empty() {
            found.left_out.push("memory".into());
        } else if !std::mem::take(&mut found.cpus).is_empty() {
            found.left_out.push("cpus".into());
        } else if let Some((resource, _)) = found.devices.pop_last() {
            found.left_out.push(resource);
        } else {
            // Too many names of resources to even list them.
            found.left_out = vec!["devices".into()];
        }
    }
}

/// The index of a device, by the names that device plugins use: a GPU's unique name or address,
/// both possibly with more behind (`GPU-...::2` is a share of a GPU, `MIG-GPU-.../1/0` a part of
/// one), or the index itself.
fn index_of(id: &str, gpus: &[Gpu]) -> Option<usize> {
    let id = id.strip_prefix("MIG-").filter(|rest| rest.starts_with("GPU-")).unwrap_or(id);
    let id = id.split("::").next().unwrap_or(id);
    let id = if id.starts_with("GPU-") { id.split('/').next().unwrap_or(id) } else { id };
    let by_name = |gpu: &Gpu| gpu.uuid.as_deref() == Some(id) || gpu.pci.bus == id;
    let is_number = !id.is_empty() && id.len() <= 3 && id.bytes().all(|b| b.is_ascii_digit());
    let by_number = || id.parse().ok().filter(|index| is_number && *index < gpus.len());
    gpus.iter().position(by_name).or_else(by_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpulist::CpuList;
    use crate::kubelet::resources::{Devices, Memory};

    fn gpus() -> Vec<Gpu> {
        let gpu = |number: usize| {
            let mut gpu = Gpu { uuid: Some(format!("GPU-{number}{number}")), ..Gpu::default() };
            gpu.pci.bus = format!("0000:{number}8:00.0");
            gpu
        };
        (0..4).map(gpu).collect()
    }

    fn pod(name: &str, resource: &str, ids: &[&str]) -> Pod {
        let ids = ids.iter().map(|id| (*id).into()).collect();
        let devices = vec![Devices { resource: resource.into(), ids, nodes: vec![0] }];
        Pod { namespace: "team".into(), name: name.into(), devices, ..Pod::default() }
    }

    fn uids(names: &[&str]) -> Uids {
        names.iter().map(|n| (("team".into(), (*n).into()), format!("uid-of-{n}"))).collect()
    }

    #[test]
    fn devices_are_named_by_their_index() {
        for (id, index) in [
            ("GPU-22", Some(2)),
            ("GPU-22::3", Some(2)),
            ("MIG-GPU-11/7/0", Some(1)),
            ("0000:38:00.0", Some(3)),
            ("2", Some(2)),
            ("2::0", Some(2)),
            ("4", None),
            ("GPU-99", None),
            ("MIG-5ad1", None),
            ("", None),
        ] {
            assert_eq!(index_of(id, &gpus()), index, "{id}");
        }
    }

    #[test]
    fn the_form_is_the_documented_one() {
        let mut first = pod("b", "nvidia.com/gpu", &["GPU-11", "GPU-00"]);
        first.cpus = CpuList::parse("2-5").unwrap();
        let memory = |bytes, nodes| Memory { kind: "memory".into(), bytes, nodes };
        first.memory =
            vec![memory(5, vec![0]), memory(6, vec![0]), memory(7, vec![0, 1]), memory(8, vec![])];
        let pods = [pod("a", "example.com/nic", &["nic-x"]), first, pod("new", "x/y", &["0"])];
        let text = text(&pods, &uids(&["a", "b"]), &gpus());
        let expected = r#"{"version":1,"devices":{"example.com/nic":{"uid-of-a":[null]},"#
            .to_owned()
            + r#""nvidia.com/gpu":{"uid-of-b":[0,1]}},"cpus":{"uid-of-b":"2-5"},"#
            + r#""memory":{"uid-of-b":{"memory":{"0":11,"0,1":7}}}}"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn no_pod_at_all_is_known_too() {
        assert_eq!(text(&[], &Uids::new(), &[]), r#"{"version":1,"devices":{}}"#);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_named() {
        let names: Vec<String> = (0..1000).map(|number| format!("pod-{number}")).collect();
        let pods: Vec<_> = names
            .iter()
            .map(|name| {
                let mut pod = pod(name, "nvidia.com/gpu", &["0"]);
                pod.cpus = CpuList::parse("1,3,5,7").unwrap();
                pod
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let written = text(&pods[..500], &uids(&names), &gpus());
        assert!(written.len() <= BYTES_MAX && written.contains("nvidia.com/gpu"), "{written}");
        assert!(written.ends_with(r#""left-out":["cpus"]}"#), "{written}");
        let written = text(&pods, &uids(&names), &gpus());
        let expected = r#"{"version":1,"devices":{},"left-out":["cpus","nvidia.com/gpu"]}"#;
        assert_eq!(written, expected);
    }
}
