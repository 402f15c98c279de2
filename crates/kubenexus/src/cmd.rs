//! The subcommands, one file each.

pub(crate) mod check_config;
pub(crate) mod demo;
pub(crate) mod out;
pub(crate) mod replay;
mod report;
pub(crate) mod scheduler;
pub(crate) mod simulate;
pub(crate) mod snapshot;
mod table;
pub(crate) mod verdict;
