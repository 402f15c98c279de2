//! A deterministic world around the engine.
//!
//! A simulated API server in memory: nodes come and go, pods arrive, run and end, watches lag and
//! are cut, requests are refused and lost, leaders die. The engine that schedules it is the real
//! one. Time is virtual and moves from one happening to the next; chance comes from a seed. Nothing
//! here reads a clock, so the same [`Plan`] leads to the same [`Report`], byte for byte.
//!
//! `world` holds the truth, `run` what lies between it and the schedulers, `checkers` what they
//! must keep to, and [`swarm`] draws worlds from seeds.

mod checkers;
mod cluster;
mod demo;
mod dice;
mod fingerprint;
mod fragmentation;
mod gpu_room;
mod happened;
mod held;
mod history;
mod map;
mod meter;
pub mod page;
mod plan;
mod quantities;
mod replay;
mod report;
mod run;
pub mod scenario;
pub mod swarm;
pub mod text;
pub mod trace;
mod workload;
mod world;

pub use checkers::Violation;
pub use demo::{Demo, IslandReport, SpreadReport};
pub use gpu_room::RoomReport;
pub use happened::Happened;
pub use held::{DevicesHeld, HeldReport, HeldSource, NodeHeld, PodHeld};
pub use history::{Level, Levels, Sample};
pub use map::{ClusterMap, GpuHolder, NodeOnMap};
pub use plan::{
    AgentPlan, Budget, ClaimPlan, ClusterStorage, Fate, Faults, Gates, Job, Life, Membership,
    Mount, NodePlan, Plan, PodGroupPlan, Provisioner, StorageChange, StoragePlan,
};
pub use replay::{Difference, Instead, Placements, Replay, ReplayError, Replayed, replay};
pub use report::{
    Fragmentation, KubeletReport, Placement, PodCounts, PoolReport, Report, Share, TenantReport,
    WaitBucket, WaitingJob, WaitingReport,
};
pub use run::{PodTimes, Progress, Run};
