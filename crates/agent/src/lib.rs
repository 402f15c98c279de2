//! The node agent: finds out what a node's machine consists of, and publishes it.
//!
//! ```text
//! sysfs, gpus, kubelet ──▶ observe ──▶ Facts ──▶ desired, topology, allocations ──▶ Desired
//!                                                      API server, NFD ◀── api, nfd ◀──┘
//! ```
//!
//! What is between `Facts` and `Desired` is pure: the same facts lead to the same text.

pub mod allocations;
pub mod api;
pub mod cpulist;
pub mod desired;
pub mod gpus;
pub mod keys;
pub mod kubelet;
pub mod nfd;
pub mod observe;
pub mod options;
pub mod run;
pub mod said;
pub mod sysfs;
pub mod topology;
