//! Starts and stops a real control plane on loopback, a scheduler beside it, and a proxy between
//! the two that does to requests what networks and servers do on bad days.
//!
//! ```text
//!  etcd ── kube-apiserver ──┬── kube-controller-manager
//!                           ├── kwok                       nodes and pods without kubelets
//!                           └── Proxy ── Scheduler
//! ```
//!
//! Nothing outlives its owner: every process is ended when its value is dropped, and by a shell
//! that waits for the end of this process if nothing was dropped.

mod audit;
mod flags;
mod http;
mod kubeconfig;
mod kwok;
mod nodes;
mod plane;
mod ports;
mod process;
mod proxy;
mod scheduler;

pub use audit::Call;
pub use http::Answer;
pub use plane::{ControlPlane, Options, User};
pub use process::{Process, Signal};
pub use proxy::{Exchange, Fault, Plan, Proxy};
pub use scheduler::{Kind, Scheduler, Setup};
