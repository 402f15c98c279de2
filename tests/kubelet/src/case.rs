//! A case and the oracle's verdict, as lines of JSON. What fields mean is written in the oracle.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A machine and what happens on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Case {
    /// Where it was drawn, to find it again.
    #[serde(default)]
    pub id: String,
    /// The machine and its kubelet.
    pub machine: MachineCase,
    /// What happens, one after the other.
    pub steps: Vec<Step>,
}

/// A machine and how its kubelet is configured, in the kubelet's words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MachineCase {
    /// NUMA zones by id.
    pub zones: Vec<ZoneCase>,
    /// CPUs that nobody gets for itself.
    pub reserved_cpus: Vec<u32>,
    /// Devices by resource.
    pub devices: BTreeMap<String, Vec<DeviceCase>>,
    /// `topologyManagerPolicy`
    pub policy: String,
    /// `topologyManagerScope`
    pub scope: String,
    /// `topologyManagerPolicyOptions`
    pub policy_options: BTreeMap<String, String>,
    /// `cpuManagerPolicy`
    pub cpu_policy: String,
    /// `cpuManagerPolicyOptions`
    pub cpu_options: BTreeMap<String, String>,
    /// `memoryManagerPolicy`
    pub memory_policy: String,
}

/// A NUMA zone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ZoneCase {
    /// The id.
    pub id: u32,
    /// Its cores.
    pub cores: Vec<CoreCase>,
    /// All memory in bytes.
    pub memory: u64,
    /// Memory kept for the system.
    pub memory_reserved: u64,
    /// Huge pages by size.
    pub huge_pages: Vec<HugePagesCase>,
    /// Distances by id of the other zone.
    pub distances: Vec<u32>,
}

/// A core.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CoreCase {
    /// Its number in the zone.
    pub core: u32,
    /// Its socket.
    pub socket: u32,
    /// Its last-level cache.
    pub cache: u32,
    /// Its CPUs.
    pub threads: Vec<u32>,
}

/// Huge pages of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HugePagesCase {
    /// The size of one.
    pub size_kib: u64,
    /// How many.
    pub pages: u64,
    /// Bytes kept for the system.
    pub reserved: u64,
}

/// A device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeviceCase {
    /// Its name.
    pub id: String,
    /// Zones that the plugin names; nothing if it says nothing.
    pub zones: Option<Vec<u32>>,
    /// Whether it may be given.
    pub healthy: bool,
}

/// What happens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A pod comes.
    Add(PodCase),
    /// The init containers of a pod have ended.
    Started(String),
    /// A pod goes.
    Remove(String),
    /// Plugins list their devices anew.
    Devices(BTreeMap<String, Vec<DeviceCase>>),
}

/// A pod.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PodCase {
    /// Its name.
    pub name: String,
    /// Whether limits are the requests.
    pub guaranteed: bool,
    /// Whether it has resources at the level of the pod too.
    pub pod_level: bool,
    /// Init containers first.
    pub containers: Vec<ContainerCase>,
}

/// A container.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ContainerCase {
    /// `init`, `sidecar` or `app`.
    pub role: String,
    /// Thousandths of a CPU.
    pub cpu_milli: u64,
    /// Bytes of memory and huge pages, by resource.
    pub memory: BTreeMap<String, u64>,
    /// Devices by resource.
    pub devices: BTreeMap<String, u32>,
}

/// What the kubelet made of a case.
#[derive(Clone, Debug, Deserialize)]
pub struct Verdict {
    /// Step by step.
    pub steps: Option<Vec<StepVerdict>>,
    /// Why there are no more.
    #[serde(default)]
    pub error: String,
}

/// What the kubelet made of a step.
#[derive(Clone, Debug, Deserialize)]
pub struct StepVerdict {
    /// Whether a pod that came was admitted.
    pub admitted: bool,
    /// Why not.
    #[serde(default)]
    pub reason: String,
    /// Why not, in words.
    #[serde(default)]
    pub message: String,
    /// What the containers of the pod got.
    #[serde(default)]
    pub containers: Vec<ContainerVerdict>,
    /// What is taken now.
    pub state: StateVerdict,
}

/// What a container got.
#[derive(Clone, Debug, Deserialize)]
pub struct ContainerVerdict {
    /// The zones it is aligned with.
    pub zones: Option<Vec<u32>>,
    /// Its own CPUs.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Its devices by resource.
    #[serde(default)]
    pub devices: BTreeMap<String, Vec<String>>,
    /// Its memory.
    #[serde(default)]
    pub blocks: Vec<BlockVerdict>,
}

/// Memory of a container.
#[derive(Clone, Debug, Deserialize)]
pub struct BlockVerdict {
    /// The zones it lies in.
    pub zones: Vec<u32>,
    /// The resource.
    pub kind: String,
    /// Bytes.
    pub size: u64,
}

/// What is taken of a machine.
#[derive(Clone, Debug, Deserialize)]
pub struct StateVerdict {
    /// CPUs that nobody has for itself.
    pub shared: Option<Vec<u32>>,
    /// Devices that are taken.
    pub devices: BTreeMap<String, Vec<String>>,
    /// Memory by zone.
    pub memory: Option<Vec<ZoneVerdict>>,
}

/// Memory of a zone.
#[derive(Clone, Debug, Deserialize)]
pub struct ZoneVerdict {
    /// The zone.
    pub id: u32,
    /// Blocks that lie in it.
    pub assignments: u32,
    /// The zones that serve containers together with it.
    pub group: Vec<u32>,
    /// Free bytes by resource.
    pub free: BTreeMap<String, u64>,
}
