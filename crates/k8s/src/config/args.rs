//! Arguments of plugins, with kube-scheduler's defaults and checks.

mod affinity;
mod classifier;
mod company;
mod coscheduling;
mod fabric;
mod gpus;
mod levels;
mod namespaces;
mod numa;
mod preemption;
mod resources;
mod tenant_hardware;
mod unbuilt;
mod volumes;
mod workload;

pub(super) use affinity::node_affinity;
pub(super) use classifier::classifier;
pub(super) use company::{pod_affinity, spread};
pub(super) use coscheduling::coscheduling;
pub(super) use fabric::fabric;
pub(super) use gpus::{fragmentation, vram};
pub(super) use levels::levels;
pub(super) use numa::numa;
pub(super) use preemption::preemption;
pub(super) use resources::{balanced, fit};
pub(super) use tenant_hardware::tenant_hardware;
pub(super) use unbuilt::dynamic_resources;
pub(super) use volumes::volume_binding;
pub(super) use workload::workload;
