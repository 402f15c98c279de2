//! The plugins, one file each: a free function that decides, and the wiring around it.
//!
//! Meanings, texts, default weights and order are those of kube-scheduler 1.37; `tests/parity`
//! compares every one of them with the original.

mod coscheduling;
mod gpu_topology;
mod guard;
mod image_locality;
mod network_fabric;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources;
mod node_unschedulable;
mod numa_topology;
mod pod_affinity;
mod priority_sort;
mod profile_classifier;
mod registry;
mod resource_fragmentation;
mod scheduling_gates;
mod spread;
mod sums;
mod taint_toleration;
mod tenant_hardware;
mod topology_spread;
mod volumes;
mod vram_scheduler;
mod workload_aware;

pub use registry::{BuildError, build, known, reads_gang_keys};
