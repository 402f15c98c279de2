//! Fixture text to events, and scripts whose commands are followed by what they must answer.
//!
//! ```text
//! testkit::check(
//!     "
//!     node a1 cpu=4 memory=8Gi pods=10 zone=x taint=spot:PreferNoSchedule
//!     pod web cpu=500m memory=1Gi select=zone:x tolerate=spot priority=5
//!     pod big cpu=64
//!     step
//!     > web -> a1
//!     > big waits: 0/1 nodes are available: 1 Insufficient cpu.
//!     ",
//! );
//! ```
//!
//! Words of nodes, pods and groupings are listed in `facts`, commands in `script`. A fixture that
//! makes no sense panics with its line: it is a mistake in the test. Documents that are nearly
//! right, for fuzz targets, are made in [`fuzz`].

mod devices;
pub mod draw;
mod facts;
pub mod fuzz;
mod gangs;
pub mod gpus;
mod hardware;
mod profile;
mod script;
mod storage;
mod terms;

pub use facts::{budget, grouping, namespace, node, pod};
pub use gangs::pod_group;
pub use hardware::node_resource_topology;
pub use profile::{default_profile, kube_profile, only, own_profile, with_args};
pub use script::{Script, check, check_with};
pub use storage::{storage, storage_kind};
