//! What the kubelet of a node does with a pod: whether it admits the pod, with which NUMA zones it
//! aligns every container, and what it takes of each zone.
//!
//! The kubelet's topology manager asks three managers (devices, CPUs, memory) with which sets of
//! zones they could serve a container, merges their answers into one mask, and lets them allocate
//! inside it. All of it follows from what the machine is ([`Machine`]), what is taken of it
//! ([`State`]) and what the pod asks for ([`PodAsk`]), but for one thing: of the devices that a
//! mask leaves, the kubelet takes any. [`Taken`] says where that made the prediction a guess.
//!
//! The rules are those of Kubernetes 1.37 with its default feature gates. `tests/kubelet` compares
//! them with the kubelet's own code.
//!
//! Cost: a pod without whole CPUs, pinned memory or devices is answered without looking at a zone.
//! For others it grows with the number of masks, 2 to the power of zones and 255 at most, times
//! containers times resources; the kubelet's cross product of hints is not formed. A [`Predictor`]
//! that is used again allocates nothing.

mod ask;
mod cpus;
mod devices;
mod distribute;
mod facts;
mod hints;
mod machine;
mod memory;
mod merge;
mod needs;
mod predict;
mod processors;
mod renumber;
mod state;
mod take;
mod taken;
mod zones;

#[cfg(test)]
mod tests;

pub use ask::{ContainerAsk, ContainerRole, PodAsk};
pub use cpus::{CPUS_MAX, CpuSet};
pub use facts::{
    CpuFacts, CpuManagerFacts, DeviceFacts, DevicesFacts, HugePagesFacts, MachineFacts,
    TopologyPolicy, TopologyScope, ZoneFacts,
};
pub use machine::{
    DEVICE_RESOURCES_MAX, DEVICES_MAX, MEMORY_KINDS_MAX, Machine, MachineFault, Zone,
};
pub use needs::{Free, Needs, Shared};
pub use predict::{Predictor, Rejection, RejectionCause, predict, predicted_zones};
pub use renumber::DeviceOrder;
pub use state::{State, ZoneMemory};
pub use taken::{Block, DevicesTaken, Taken, ZoneTaken};
pub use zones::{MaskSet, ZONES_MAX, ZoneMask};
