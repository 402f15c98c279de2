//! The subcommands, one file each.

pub(crate) mod check_config;
pub(crate) mod demo;
mod report;
pub(crate) mod scheduler;
pub(crate) mod simulate;
mod table;
pub(crate) mod verdict;
