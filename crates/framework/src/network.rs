//! "How close to each other must the pods of a gang be?"

use model::{Catalog, Class, FabricId, NodeId};

use crate::plugin::Plugin;

/// Knows the network between nodes. The engine plans gangs by it.
pub trait Network: Plugin {
    /// The network.
    fn fabric(&self) -> FabricId;

    /// How close the pods of a gang with such a pod must be.
    fn closeness(&self, catalog: &Catalog, class: &Class) -> Closeness;

    /// How good the network of a node is for such a pod, from 0 to 100; the same for all nodes if
    /// it has no opinion.
    fn score(&self, catalog: &Catalog, class: &Class, node: NodeId) -> i32;
}

/// How close pods must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closeness {
    /// In one domain of this level, 0 being the tightest.
    Within(usize),
    /// As close as can be.
    Preferred,
    /// It does not matter.
    Any,
}
