//! Arguments of plugins, with kube-scheduler's defaults and checks.

mod affinity;
mod classifier;
mod company;
mod coscheduling;
mod namespaces;
mod resources;

pub(super) use affinity::node_affinity;
pub(super) use classifier::classifier;
pub(super) use company::{pod_affinity, spread};
pub(super) use coscheduling::coscheduling;
pub(super) use resources::{balanced, fit};
