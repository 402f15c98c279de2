//! A deterministic world around the engine.
//!
//! An embedded cluster in memory: nodes come and go, pods arrive, bindings take a moment and are
//! sometimes refused, pods run and end. The engine that schedules it is the real one. Time is
//! virtual and moves from one happening to the next; chance comes from a seed. Nothing here reads
//! a clock, so the same [`Plan`] leads to the same [`Report`], byte for byte.

mod checkers;
mod cluster;
mod demo;
mod dice;
mod fingerprint;
mod fragmentation;
mod history;
mod map;
mod meter;
pub mod page;
mod plan;
mod quantities;
mod report;
mod run;
pub mod scenario;
pub mod text;
pub mod trace;
mod workload;
mod world;

pub use checkers::Violation;
pub use demo::Demo;
pub use history::{Level, Levels, Sample};
pub use map::{ClusterMap, GpuHolder, NodeOnMap};
pub use plan::{Fate, Faults, Gates, Job, NodePlan, Plan};
pub use report::{
    Fragmentation, Placement, PodCounts, PoolReport, Report, Share, TenantReport, WaitBucket,
    WaitingJob, WaitingReport,
};
pub use run::{PodTimes, Progress, Run};
