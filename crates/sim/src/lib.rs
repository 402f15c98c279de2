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
mod meter;
mod plan;
mod quantities;
mod replay;
mod report;
mod run;
mod workload;
mod world;

pub use checkers::Violation;
pub use demo::Demo;
pub use plan::{Fate, Faults, Gates, Job, NodePlan, Plan};
pub use replay::{Difference, Instead, Placements, Replay, ReplayError, Replayed, replay};
pub use report::{Placement, PodCounts, PoolReport, Report, Share, TenantReport, WaitingReport};
pub use run::{Progress, Run};
