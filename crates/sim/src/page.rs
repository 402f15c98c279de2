//! One page.

use crate::map::ClusterMap;
use crate::report::Report;

/// A run on the page.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is called; empty if there is only one.
    pub name: String,
    /// What its reader should know.
    pub notes: Vec<String>,
    /// What came of it.
    pub report: Report,
    /// Who was where.
    pub maps: Vec<ClusterMap>,
}

/// The page.
#[must_use]
pub fn page(_parts: &[Part]) -> String {
    String::new()
}
