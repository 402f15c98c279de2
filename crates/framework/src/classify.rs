//! "What is this pod?" Who it belongs to, what it does and what hardware it wants.

use model::{Bond, Catalog, Class, WorkloadProfile};

use crate::plugin::Plugin;

/// Classifies pods. It is asked once per class, and again when a namespace changes.
pub trait Classify: Plugin {
    /// What pods of a class are; those of a gang may be something else than those that are alone.
    fn classify(&self, catalog: &Catalog, class: &Class, bond: Bond) -> WorkloadProfile;
}
