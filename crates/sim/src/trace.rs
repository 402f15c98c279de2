//! Public traces of real clusters: readers for their files, and runs in the way their authors
//! published them.

mod csv;
pub mod openb;
pub mod philly;

pub use csv::TraceError;
