//! The plugins, one file each: a free function that decides, and the wiring around it.
//!
//! Meanings, texts, default weights and order are those of kube-scheduler 1.37; `tests/parity`
//! compares every one of them with the original.

mod registry;

pub use registry::{BuildError, build, known};
