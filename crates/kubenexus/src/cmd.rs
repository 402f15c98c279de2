//! The subcommands, one file each.

pub(crate) mod check_config;
pub(crate) mod demo;
pub(crate) mod replay;
pub(crate) mod scheduler;
pub(crate) mod simulate;
pub(crate) mod snapshot;
pub(crate) mod verdict;
