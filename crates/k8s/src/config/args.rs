//! Arguments of plugins, with kube-scheduler's defaults and checks.

mod affinity;
mod company;
mod resources;

pub(super) use affinity::node_affinity;
pub(super) use company::{pod_affinity, spread};
pub(super) use resources::{balanced, fit};
