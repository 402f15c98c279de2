//! Runs the scheduler against a Kubernetes API server.
//!
//! ```text
//!  API server ──▶ watch ──▶ feed ──▶ core (a thread of its own: the engine decides)
//!      ▲                     ▲         │ orders
//!      │                     │ outcomes▼
//!      ├──── bindings ◀─── dispatch ◀──┤
//!      └──── conditions, events ◀── writes (behind the bindings)
//! ```
//!
//! Two threads: the engine's, and one for everything that waits for the network. Data moves one
//! way around; what became of a decision comes back as just another input.

mod beside;
mod client;
mod core;
mod discovery;
mod dispatch;
mod feed;
mod lease;
mod limit;
mod metrics;
mod order;
mod outage;
mod run;
mod serve;
mod snapshot;
#[cfg(test)]
mod testing;
mod watch;
mod writes;

pub use run::{JournalOptions, Options, run};
pub use serve::{Options as ServeOptions, Source as CertificateSource};
pub use snapshot::{SnapshotProgress, snapshot};
