//! GPUs of machines that exist, as facts of a node: what kubenexus-agent and NVIDIA's discovery
//! tell together.
//!
//! Which GPUs reach each other how, and their NUMA nodes, are from outputs of `nvidia-smi topo -m`
//! that owners of such machines have published; each function names them. In these, `NV#` is
//! NVLink, `PIX` one PCIe switch, `PXB` several below one root, `NODE` several roots of a NUMA
//! node, and `SYS` the way between NUMA nodes. Memory is what NVML reports for the product, as in
//! the table of products. Assumed, for all machines: the names of roots and switches. CPUs and
//! memory of NUMA nodes are left out: a test that needs zones adds them.

use model::hardware::{AllGpus, Gpu, GpuLink, HardwareFacts};

/// A GPU's place: its NUMA node, PCIe root, and PCIe switch if it is below one.
type Place = (u32, &'static str, Option<&'static str>);

/// A kind of machine.
struct Machine<'a> {
    model: &'a str,
    memory_mib: u64,
    link: GpuLink,
    places: &'a [Place],
    /// GPUs that reach each other over NVLink.
    domains: &'a [&'a [u32]],
}

impl Machine<'_> {
    fn facts(&self) -> HardwareFacts {
        let memory = Some(self.memory_mib << 20);
        let gpu = |(index, (zone, root, switch)): (u32, &Place)| {
            let mut domains = (0..).zip(self.domains);
            let domain = domains.find(|(_, members)| members.contains(&index));
            let members = domain.map_or(&[][..], |(_, members)| members);
            Gpu {
                index,
                zone: Some(*zone),
                root: Some((*root).into()),
                switch: switch.map(Into::into),
                model: Some(self.model.into()),
                memory,
                nvlink_domain: domain.map(|(number, _)| number),
                nvlink_peers: members.iter().copied().filter(|peer| *peer != index).collect(),
                ..Gpu::default()
            }
        };
        HardwareFacts {
            gpus: (0..).zip(self.places).map(gpu).collect(),
            all_gpus: AllGpus {
                count: u32::try_from(self.places.len()).ok(),
                // Labels have no blanks.
                model: Some(self.model.replace(' ', "-").into()),
                memory,
                link: Some(self.link),
                ..AllGpus::default()
            },
            ..HardwareFacts::default()
        }
    }
}

/// Eight H100 of an HGX board: all on NVSwitch, four to a socket, two to a PCIe root.
///
/// Checked: `NV18` between all; NUMA nodes 0,0,0,0,1,1,1,1 (stas00/ml-engineering, on H100 nodes,
/// and github.com/SzymonOzog/Penny, part 1 of its worklog). Four roots with two GPUs each, each GPU
/// below a switch of its own: there, every GPU is `PIX` to its own NIC, `PXB` to that of its
/// neighbour, and `NODE` to those of the next pair.
#[must_use]
pub fn hgx_h100() -> HardwareFacts {
    Machine {
        model: "NVIDIA H100 80GB HBM3",
        memory_mib: 81_559,
        link: GpuLink::NvSwitch,
        places: &[
            (0, "pci0000:15", Some("0000:16:00.0")),
            (0, "pci0000:15", Some("0000:1a:00.0")),
            (0, "pci0000:37", Some("0000:38:00.0")),
            (0, "pci0000:37", Some("0000:3c:00.0")),
            (1, "pci0000:97", Some("0000:98:00.0")),
            (1, "pci0000:97", Some("0000:9c:00.0")),
            (1, "pci0000:b7", Some("0000:b8:00.0")),
            (1, "pci0000:b7", Some("0000:bc:00.0")),
        ],
        domains: &[&[0, 1, 2, 3, 4, 5, 6, 7]],
    }
    .facts()
}

/// A DGX A100 with eight GPUs of 40 GB: all on NVSwitch, and of eight NUMA nodes four have two
/// each.
///
/// Checked: `NV12` between all; NUMA nodes 3,3,1,1,7,7,5,5 (NVIDIA/nccl issue 1505; the same in the
/// README of examples/jax/encoder of NVIDIA/TransformerEngine). Four roots with two GPUs each: both
/// are `PXB` to the same two NICs and `SYS` to the others. Assumed: that the two have one switch.
#[must_use]
pub fn dgx_a100() -> HardwareFacts {
    Machine {
        model: "NVIDIA A100-SXM4-40GB",
        memory_mib: 40_960,
        link: GpuLink::NvSwitch,
        places: &[
            (3, "pci0000:00", Some("0000:01:00.0")),
            (3, "pci0000:00", Some("0000:01:00.0")),
            (1, "pci0000:40", Some("0000:41:00.0")),
            (1, "pci0000:40", Some("0000:41:00.0")),
            (7, "pci0000:80", Some("0000:81:00.0")),
            (7, "pci0000:80", Some("0000:81:00.0")),
            (5, "pci0000:b0", Some("0000:b1:00.0")),
            (5, "pci0000:b0", Some("0000:b1:00.0")),
        ],
        domains: &[&[0, 1, 2, 3, 4, 5, 6, 7]],
    }
    .facts()
}

/// Eight GPUs on PCIe alone: two sockets with two switches each.
///
/// Checked: `PIX` in pairs, `NODE` between the pairs of a socket, `SYS` between sockets; NUMA nodes
/// 0,0,0,0,1,1,1,1 (johng.cn/cloud-native/kubernetes-cpu-numa-affinity). Assumed: the product,
/// which is not told there.
#[must_use]
pub fn pcie_8() -> HardwareFacts {
    Machine {
        model: "NVIDIA L40",
        memory_mib: 46_068,
        link: GpuLink::Pcie,
        places: &[
            (0, "pci0000:16", Some("0000:17:00.0")),
            (0, "pci0000:16", Some("0000:17:00.0")),
            (0, "pci0000:49", Some("0000:4a:00.0")),
            (0, "pci0000:49", Some("0000:4a:00.0")),
            (1, "pci0000:97", Some("0000:98:00.0")),
            (1, "pci0000:97", Some("0000:98:00.0")),
            (1, "pci0000:c9", Some("0000:ca:00.0")),
            (1, "pci0000:c9", Some("0000:ca:00.0")),
        ],
        domains: &[],
    }
    .facts()
}

/// Four A100 on PCIe, with NVLink bridges in pairs, each in a NUMA node of its own: Azure's
/// `Standard_NC96ads_A100_v4`.
///
/// Checked: `NV12` in pairs and `SYS` between them; NUMA nodes 0,1,2,3; the product (notes of the
/// project malaysia-ai on training on that size of machine). A pair on bare metal is often in one
/// NUMA node; here NVLink crosses them. Assumed: that no GPU is below a switch, which a virtual
/// machine does not show.
#[must_use]
pub fn bridged_a100() -> HardwareFacts {
    Machine {
        model: "NVIDIA A100 80GB PCIe",
        memory_mib: 81_920,
        link: GpuLink::NvLink,
        places: &[
            (0, "pci0001:00", None),
            (1, "pci0002:00", None),
            (2, "pci0003:00", None),
            (3, "pci0004:00", None),
        ],
        domains: &[&[0, 1], &[2, 3]],
    }
    .facts()
}

/// Four L40S, two to a socket, without NVLink and without switches.
///
/// Checked: `NODE` in pairs and `SYS` between them, so every GPU has a root of its own; NUMA nodes
/// 0,0,1,1 (warpem/miss-alignment issue 106). NVIDIA's data sheet of the L40S: no NVLink.
#[must_use]
pub fn l40s_4() -> HardwareFacts {
    Machine {
        model: "NVIDIA L40S",
        memory_mib: 46_068,
        link: GpuLink::Pcie,
        places: &[
            (0, "pci0000:00", None),
            (0, "pci0000:20", None),
            (1, "pci0000:80", None),
            (1, "pci0000:a0", None),
        ],
        domains: &[],
    }
    .facts()
}

/// A compute tray of GB200 NVL72: four GPUs, two to a Grace CPU. The 72 of a rack are one fabric of
/// 18 trays, which all tell the same clique, `<cluster uuid>.<clique id>`.
///
/// Checked: `NV18` between all four; NUMA nodes 0,0,1,1 (NVIDIA/k8s-test-infra issue 371); four
/// GPUs to a node (pull request 727 there) of 189,471 MiB each, in PCI domains of their own: 0008,
/// 0009, 0018 and 0019 (published outputs of `nvidia-smi`).
#[must_use]
pub fn gb200_tray(clique: &str) -> HardwareFacts {
    let machine = Machine {
        model: "NVIDIA GB200",
        memory_mib: 189_471,
        link: GpuLink::NvSwitch,
        places: &[
            (0, "pci0008:00", None),
            (0, "pci0009:00", None),
            (1, "pci0018:00", None),
            (1, "pci0019:00", None),
        ],
        domains: &[&[0, 1, 2, 3]],
    };
    let mut facts = machine.facts();
    facts.all_gpus.clique = Some(clique.into());
    facts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use model::{Catalog, NodeFacts};

    use super::*;

    #[test]
    fn sources_agree_on_every_machine_and_all_of_it_arrives() {
        // (machine, GPUs, NUMA nodes, roots, switches, NVLink domains)
        let table = [
            (hgx_h100(), 8, 2, 4, 8, 1),
            (dgx_a100(), 8, 4, 4, 4, 1),
            (pcie_8(), 8, 2, 4, 4, 0),
            (bridged_a100(), 4, 4, 4, 0, 2),
            (l40s_4(), 4, 2, 4, 0, 0),
            (gb200_tray("b2b6dbd8-5ae1-4d5a-8a3f-6f0b8a0e5f11.1"), 4, 2, 4, 0, 1),
        ];
        for (hardware, gpus, zones, roots, switches, domains) in table {
            let mut catalog = Catalog::default();
            let mut node: NodeFacts = crate::node(&format!("a nvidia.com/gpu={gpus}"));
            node.hardware = Some(Box::new(hardware.clone()));
            let (node, _) = catalog.apply_node(&node);
            let resource = catalog.resource("nvidia.com/gpu");
            let found = catalog.devices(node).and_then(|all| all.get(resource));
            let found = found.expect("all of them are told of");
            assert_eq!(catalog.doubts(node).count(), 0, "{hardware:?}");
            assert_eq!((found.devices.len(), found.link), (gpus, hardware.all_gpus.link));
            for (device, gpu) in found.devices.iter().zip(&hardware.gpus) {
                assert_eq!(device.zones.as_deref(), Some(gpu.zone.as_slice()));
                assert_eq!((&device.root, &device.switch), (&gpu.root, &gpu.switch));
                assert_eq!((device.memory, device.nvlink_domain), (gpu.memory, gpu.nvlink_domain));
                let peers = gpu.nvlink_peers.iter().fold(0, |peers, peer| peers | 1 << peer);
                assert_eq!(device.nvlink_peers, peers);
            }
            let gpus = || hardware.gpus.iter();
            let counted = (
                gpus().map(|gpu| gpu.zone).collect::<BTreeSet<_>>().len(),
                gpus().map(|gpu| &gpu.root).collect::<BTreeSet<_>>().len(),
                gpus().filter_map(|gpu| gpu.switch.as_ref()).collect::<BTreeSet<_>>().len(),
                gpus().filter_map(|gpu| gpu.nvlink_domain).collect::<BTreeSet<_>>().len(),
            );
            assert_eq!(counted, (zones, roots, switches, domains), "{hardware:?}");
        }
    }
}
