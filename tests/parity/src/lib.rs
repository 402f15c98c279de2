//! Puts random clusters and pods before KubeNexus and before kube-scheduler's own plugins, and
//! compares what they say. A case and a verdict are JSON lines; nothing here knows how either side
//! comes to its answer.

pub mod compare;
pub mod coverage;
pub mod draw;
pub mod generate;
pub mod judge;
pub mod report;
pub mod run;
pub mod shrink;
