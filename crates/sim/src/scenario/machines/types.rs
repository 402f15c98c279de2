//! Types of machines. An entry says what of it was checked against which public source; everything
//! else of it is what such machines usually have, and was not checked. That holds for all distances
//! and bandwidths, which are those of the memory channels.
//!
//! Of GPUs were checked: devices 2330, 2335 and 26b9 (NVIDIA/gpu-admin-tools, `devid_names.py`),
//! and the memory of H100, A100 and L40S (modal-labs/modal-client, pull request 2797).

/// A type of machine. All its zones are alike.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) name: &'static str,
    pub(super) arch: &'static str,
    pub(super) sockets: u32,
    pub(super) zones_per_socket: u32,
    pub(super) cores_per_zone: u32,
    /// Hardware threads of a core.
    pub(super) threads: u32,
    /// Memory of a zone.
    pub(super) memory_gib: u64,
    /// What the memory of a zone can move, in MB/s.
    pub(super) bandwidth: u64,
    /// Distances to another zone of the same socket, and to one of another.
    pub(super) distances: (u32, u32),
    pub(super) gpus: Option<Gpus>,
}

/// The GPUs of a machine, which are alike.
#[derive(Debug)]
pub(super) struct Gpus {
    /// As NVML names it.
    pub(super) product: &'static str,
    /// The device by its PCI id.
    pub(super) device: &'static str,
    /// As NVML counts it.
    pub(super) memory_mib: u64,
    /// The zone of every GPU.
    pub(super) zones: &'static [u32],
    pub(super) link: Link,
}

/// How GPUs reach each other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Link {
    /// All over NVSwitch.
    Switch,
    /// Two and two over a bridge.
    Pairs,
    Pcie,
}

impl Link {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Switch => "nvswitch",
            Self::Pairs => "nvlink",
            Self::Pcie => "pcie",
        }
    }
}

/// Two sockets with half of eight GPUs each.
const HALVES: &[u32] = &[0, 0, 0, 0, 1, 1, 1, 1];

const fn gpus(
    product: &'static str,
    device: &'static str,
    memory_mib: u64,
    zones: &'static [u32],
    link: Link,
) -> Option<Gpus> {
    Some(Gpus { product, device, memory_mib, zones, link })
}

/// A server with two sockets of a zone each.
const TWO_SOCKETS: Type = Type {
    name: "",
    arch: "amd64",
    sockets: 2,
    zones_per_socket: 1,
    cores_per_zone: 56,
    threads: 2,
    memory_gib: 1024,
    bandwidth: 307_200,
    distances: (10, 21),
    gpus: None,
};

pub(super) const TYPES: &[Type] = &[
    // Checked: CPUs of both zones and the zone of every GPU, by the `nvidia-smi topo -m` of a DGX
    // in vllm-project/vllm issue 13855.
    Type {
        name: "hgx-h100",
        gpus: gpus("NVIDIA H100 80GB HBM3", "2330", 81_559, HALVES, Link::Switch),
        ..TWO_SOCKETS
    },
    // Checked: two Xeon 8480C of 56 cores and 2 TB (mlcommons/inference_results_v4.1, NVIDIA's
    // H200-SXM-141GBx8_TRT_MaxQ).
    Type {
        name: "hgx-h200",
        gpus: gpus("NVIDIA H200", "2335", 143_771, HALVES, Link::Switch),
        ..TWO_SOCKETS
    },
    // Not checked: taken to be two Xeon 8570 of 56 cores with DDR5-5600 and 2 TB.
    Type {
        name: "hgx-b200",
        bandwidth: 358_400,
        gpus: gpus("NVIDIA B200", "2901", 183_359, HALVES, Link::Switch),
        ..TWO_SOCKETS
    },
    // Checked: the zone of every GPU and the CPUs of these zones, which make eight zones of 16
    // cores with two threads each (NVIDIA/nccl issue 1505, NVIDIA/DCGM issue 149).
    Type {
        name: "dgx-a100",
        zones_per_socket: 4,
        cores_per_zone: 16,
        memory_gib: 128,
        bandwidth: 51_200,
        distances: (12, 32),
        gpus: gpus(
            "NVIDIA A100-SXM4-80GB",
            "20b2",
            81_920,
            &[3, 3, 1, 1, 7, 7, 5, 5],
            Link::Switch,
        ),
        ..TWO_SOCKETS
    },
    // Not checked: taken to be two sockets of 48 cores and eight L40S, which have no NVLink.
    Type {
        name: "pcie-8xl40s",
        cores_per_zone: 48,
        memory_gib: 768,
        bandwidth: 204_800,
        distances: (10, 32),
        gpus: gpus("NVIDIA L40S", "26b9", 46_068, HALVES, Link::Pcie),
        ..TWO_SOCKETS
    },
    // Checked: a bridge for every two A100 PCIe, and 112 CPUs of two sockets, for a machine with
    // eight of them (rapidsai/dask-cuda issue 1381). This is one with half of its GPUs.
    Type {
        name: "4xa100-nvlink",
        cores_per_zone: 28,
        memory_gib: 256,
        bandwidth: 204_800,
        gpus: gpus("NVIDIA A100 80GB PCIe", "20b5", 81_920, &[0, 0, 1, 1], Link::Pairs),
        ..TWO_SOCKETS
    },
    // Checked: two zones of 72 cores with two GPUs each (ishandhanani/srt-slurm pull request 164).
    // Where the memory of GPUs is made zones of its own, there are more than these.
    Type {
        name: "gb200-nvl72",
        arch: "arm64",
        cores_per_zone: 72,
        threads: 1,
        memory_gib: 448,
        bandwidth: 512_000,
        distances: (10, 40),
        gpus: gpus("NVIDIA GB200", "2941", 189_471, &[0, 0, 1, 1], Link::Switch),
        ..TWO_SOCKETS
    },
    // Not checked: two EPYC 9654 with one zone per socket (NPS1), twelve channels of DDR5-4800
    // each.
    Type {
        name: "epyc-2s",
        cores_per_zone: 96,
        memory_gib: 768,
        bandwidth: 460_800,
        distances: (10, 32),
        ..TWO_SOCKETS
    },
    // Not checked: two Xeon 8490H of 60 cores whose sub-NUMA clustering makes four zones of each.
    Type {
        name: "xeon-2s-snc4",
        zones_per_socket: 4,
        cores_per_zone: 15,
        memory_gib: 128,
        bandwidth: 76_800,
        distances: (12, 21),
        ..TWO_SOCKETS
    },
    // Not checked: one Altra Max of 128 cores, eight channels of DDR4-3200.
    Type {
        name: "arm-1s",
        arch: "arm64",
        sockets: 1,
        cores_per_zone: 128,
        threads: 1,
        memory_gib: 512,
        bandwidth: 204_800,
        ..TWO_SOCKETS
    },
];

impl Type {
    pub(super) fn zones(&self) -> u32 {
        self.sockets * self.zones_per_socket
    }

    /// The CPUs of a zone. Linux counts the first thread of every core, then the second.
    pub(super) fn cpus(&self, zone: u32) -> String {
        let cores = self.cores_per_zone;
        let all = self.zones() * cores;
        let range = |thread: u32| {
            let first = thread * all + zone * cores;
            format!("{first}-{}", first + cores - 1)
        };
        (0..self.threads).map(range).collect::<Vec<_>>().join(",")
    }

    /// The CPUs of the first core.
    pub(super) fn first_core(&self) -> String {
        self.core(0)
    }

    /// The CPUs of all cores.
    pub(super) fn cores(&self) -> String {
        let cores = (0..self.zones() * self.cores_per_zone).map(|core| self.core(core));
        cores.collect::<Vec<_>>().join(";")
    }

    fn core(&self, core: u32) -> String {
        let all = self.zones() * self.cores_per_zone;
        let cpus = (0..self.threads).map(|thread| (thread * all + core).to_string());
        cpus.collect::<Vec<_>>().join(",")
    }

    pub(super) fn distance(&self, zone: u32, other: u32) -> u32 {
        let socket = |zone: u32| zone / self.zones_per_socket;
        match (zone == other, socket(zone) == socket(other)) {
            (true, _) => 10,
            (false, true) => self.distances.0,
            (false, false) => self.distances.1,
        }
    }
}
