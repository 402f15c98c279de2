//! "May this pod be tried now?"

use model::{Pod, Reason};

use crate::plugin::Plugin;

/// Keeps pods out of the queue until something about them changes.
pub trait Admit: Plugin {
    /// Why the pod may not be tried, if it may not.
    fn refuses(&self, pod: &Pod) -> Option<Reason>;
}
