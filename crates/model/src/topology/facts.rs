//! What is known of a machine and of how its kubelet is configured.

use serde::{Deserialize, Serialize};

use crate::ids::ResourceId;

/// A machine and its kubelet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// NUMA zones, in any order.
    pub zones: Vec<ZoneFacts>,
    /// CPUs that are never given exclusively.
    pub reserved_cpus: Vec<u32>,
    /// What device plugins offer. A resource without any device counts: its plugin is registered.
    pub devices: Vec<DevicesFacts>,
    /// Whether nobody tells how the kubelet is configured, so that what follows is assumed.
    pub is_kubelet_unknown: bool,
    /// `topologyManagerPolicy`.
    pub policy: TopologyPolicy,
    /// `topologyManagerScope`.
    pub scope: TopologyScope,
    /// The option `prefer-closest-numa-nodes`.
    pub prefers_closest: bool,
    /// How CPUs are given if `cpuManagerPolicy` is `static`, else nothing.
    pub cpu_manager: Option<CpuManagerFacts>,
    /// Whether `memoryManagerPolicy` is `Static`.
    pub is_memory_static: bool,
}

/// A NUMA zone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ZoneFacts {
    /// The number that the operating system gives it. There may be gaps.
    pub id: u32,
    /// Its CPUs that are online.
    pub cpus: Vec<CpuFacts>,
    /// All of its memory in bytes, huge pages included, if that is known.
    pub memory: Option<u64>,
    /// Memory that the memory manager keeps for the system.
    pub memory_reserved: u64,
    /// Huge pages, one entry for every size of the machine, the same sizes in every zone.
    pub huge_pages: Vec<HugePagesFacts>,
    /// Distances to other zones, as the operating system lists them; 0 for one that is not told.
    pub distances: Vec<u32>,
    /// What its memory can move, in MB/s, if that is known.
    pub bandwidth: Option<u64>,
}

/// A CPU: a hardware thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFacts {
    /// The number that the operating system gives it.
    pub id: u32,
    /// Threads of the same core of a zone have the same number here.
    pub core: u32,
    /// The socket.
    pub socket: u32,
    /// The last-level cache. Matters only to the option `prefer-align-cpus-by-uncorecache`.
    pub cache: u32,
}

/// Huge pages of one size in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePagesFacts {
    /// The resource, `hugepages-2Mi` for example.
    pub resource: ResourceId,
    /// How much there is of it, in bytes.
    pub total: u64,
    /// What the memory manager keeps of it for the system, in bytes.
    pub reserved: u64,
}

/// The devices that a device plugin offers under one resource name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DevicesFacts {
    /// The resource.
    pub resource: ResourceId,
    /// The devices. The place in this list is the number of a device.
    pub devices: Vec<DeviceFacts>,
}

/// A device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Ids of the zones that the plugin says it is near; nothing if the plugin says nothing of its
    /// topology.
    pub zones: Option<Vec<u32>>,
    /// Whether it may be given to anybody.
    pub is_healthy: bool,
}

/// Options of the CPU manager's static policy. `strict-cpu-reservation` is not among them: it
/// changes who else runs on reserved CPUs, and nothing about who is admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CpuManagerFacts {
    /// `full-pcpus-only`
    pub is_full_cores_only: bool,
    /// `distribute-cpus-across-numa`
    pub is_distributed_across_zones: bool,
    /// `distribute-cpus-across-cores`
    pub is_distributed_across_cores: bool,
    /// `align-by-socket`
    pub is_aligned_by_socket: bool,
    /// `prefer-align-cpus-by-uncorecache`
    pub prefers_one_cache: bool,
}

/// What the topology manager insists on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TopologyPolicy {
    /// Nothing is aligned.
    #[default]
    None,
    /// Aligned if possible.
    BestEffort,
    /// Refused unless every resource can have what it prefers.
    Restricted,
    /// Refused unless it fits one zone.
    SingleNumaNode,
}

/// What is aligned as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TopologyScope {
    /// Every container by itself.
    #[default]
    Container,
    /// The pod.
    Pod,
}
