//! "How close to each other must the pods of a gang be?"

use model::{Catalog, Class, FabricId, NodeId};

use crate::plugin::Plugin;

/// Knows the network between nodes. The engine plans gangs by it.
pub trait Network: Plugin {
    /// The network.
    fn fabric(&self) -> FabricId;

    /// How close the pods of a gang with such a pod must be.
    fn closeness(&self, catalog: &Catalog, class: &Class) -> Closeness;

    /// How good the network of nodes is for such a pod, from 0 to 100; nothing if it has no
    /// opinion.
    fn scores<'a>(
        &'a self,
        catalog: &'a Catalog,
        class: &Class,
    ) -> Option<Box<dyn Fn(NodeId) -> i32 + 'a>>;

    /// Labels that say which of several alike pods a pod is, the one that counts most first.
    fn ranks(&self) -> &'static [&'static str];
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
