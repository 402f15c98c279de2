//! Every key that the agent writes, and no other place that spells one.
//!
//! All are below domains of our own. The admission policy of `deploy/kubenexus-agent.yaml` lets the
//! agent write these and nothing else.

/// How many NUMA nodes are online.
pub const NODE_COUNT: &str = "numa.kubenexus.io/node-count";
/// How many CPUs a core has.
pub const THREADS_PER_CORE: &str = "numa.kubenexus.io/threads-per-core";
/// The CPUs of every core that has several: `0,64;1,65`.
pub const CORES: &str = "numa.kubenexus.io/cores";
/// What the kubelet does about NUMA nodes.
pub const KUBELET: &str = "numa.kubenexus.io/kubelet";
/// All GPUs and what is known of them.
pub const GPUS: &str = "gpu.kubenexus.io/devices";
/// The NVLink fabric that all GPUs of the node are in.
pub const CLIQUE: &str = "gpu.kubenexus.io/clique";
/// `infiniband`, `roce` or `ethernet`.
pub const FABRIC: &str = "network.kubenexus.io/fabric";
/// The rate of its fastest port, `200Gbps`.
pub const BANDWIDTH: &str = "network.kubenexus.io/bandwidth";
/// Ports of RDMA devices, and other network devices.
pub const NETWORK: &str = "network.kubenexus.io/devices";
/// Which pod holds what.
pub const ALLOCATIONS: &str = "device.kubenexus.io/allocations";
/// The CPUs of a zone, an attribute in a NodeResourceTopology.
pub const ZONE_CPUS: &str = "numa.kubenexus.io/cpus";

/// A fact of a NUMA node: `numa.kubenexus.io/node-0-cpus`.
pub fn node(id: u32, fact: &str) -> String {
    format!("numa.kubenexus.io/node-{id}-{fact}")
}

/// The NUMA node of a GPU.
pub fn gpu_numa(index: usize) -> String {
    format!("gpu.kubenexus.io/gpu{index}-numa")
}
