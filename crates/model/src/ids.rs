//! Ids: copyable numbers that index the tables of the catalog. Nothing stores a reference.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(u32);

        impl $name {
            /// The id of the given place in its table.
            #[must_use]
            pub fn at(index: usize) -> Self {
                Self(u32::try_from(index).expect("a table never holds four billion rows"))
            }

            /// The place in its table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

ids! {
    /// A node, or the place kept for a node that pods name but that is not there.
    NodeId;
    /// A pod that is not finished.
    PodId;
    /// What is scheduled as a whole; a plain pod is a unit of one.
    UnitId;
    /// Pods with the same scheduling-relevant spec.
    ClassId;
    /// A namespace and labels that pods share.
    TagsId;
    /// Pods that a rule is about, wherever they are.
    CrowdId;
    /// A label of nodes that divides them into domains.
    KeyId;
    /// Nodes with the same value of such a label.
    DomainId;
    /// The network between nodes, as some levels of labels tell it.
    FabricId;
    /// Nodes that are close to each other in it.
    FabricDomainId;
}

/// A gang, or a tree of gangs. An id is never given to another gang, so one that was kept for too
/// long names nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GangId {
    index: u32,
    generation: NonZeroU32,
}

impl GangId {
    pub(crate) fn new(index: usize, generation: NonZeroU32) -> Self {
        let index = u32::try_from(index).expect("a table never holds four billion rows");
        Self { index, generation }
    }

    pub(crate) const fn index(self) -> usize {
        self.index as usize
    }

    pub(crate) const fn generation(self) -> NonZeroU32 {
        self.generation
    }
}

/// A resource name. There are as many numbers as names can ever come, since none is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceId(u64);

impl ResourceId {
    /// `cpu`, counted in thousandths.
    pub const CPU: Self = Self(0);
    /// `memory`, in bytes.
    pub const MEMORY: Self = Self(1);
    /// `ephemeral-storage`, in bytes.
    pub const EPHEMERAL: Self = Self(2);

    /// The number at the given place of a list.
    #[must_use]
    pub const fn at(index: usize) -> Self {
        Self(index as u64)
    }

    /// The place in a list of numbers.
    #[must_use]
    pub fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}
