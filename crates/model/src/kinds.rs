//! The kinds of objects that are known: the only list of them.

use serde::{Deserialize, Serialize};

use crate::device::{ResourceClaimFacts, ResourceSliceFacts};
use crate::event::{
    BudgetFacts, ClusterQueueFacts, LocalQueueFacts, NamespaceFacts, NodeFacts, PodFacts,
};
use crate::gang::{JobFacts, PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts};
use crate::grouping::{GroupingFacts, GroupingKey, GroupingKind};
use crate::node_resource_topology::NodeResourceTopologyFacts;
use crate::volume::{StorageFacts, StorageKind};

/// Makes [`Kind`] and [`Fact`] from a list of kinds, each with its facts and with what an object is
/// listed by among its kind; a kind that is several says of which sort an object is.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident$(($sort:ty))?: $facts:ty, |$it:ident| $name:expr;)*) => {
        /// A kind of object.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub enum Kind {
            $($(#[$doc])* $kind$(($sort))?,)*
        }

        /// An object as the API has it.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Fact {
            $($(#[$doc])* $kind(Box<$facts>),)*
        }

        impl Fact {
            /// What it is about.
            #[must_use]
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind($it) => {
                        // Read only where a kind has sorts.
                        let _ = $it;
                        Kind::$kind$((<$sort>::of_facts($it)))?
                    })*
                }
            }

            /// Which object it is about.
            #[must_use]
            pub fn key(&self) -> Key {
                let name = match self {
                    $(Self::$kind($it) => $name,)*
                };
                Key { kind: self.kind(), name }
            }
        }

        $(impl From<$facts> for Fact {
            fn from(facts: $facts) -> Self {
                Self::$kind(Box::new(facts))
            }
        })*
    };
}

kinds! {
    /// A node.
    Node: NodeFacts, |it| it.name.as_str().into();
    /// A pod.
    Pod: PodFacts, |it| it.key.uid.clone();
    /// A namespace.
    Namespace: NamespaceFacts, |it| it.name.clone();
    /// A disruption budget.
    Budget: BudgetFacts, |it| it.key();
    /// A service or a controller.
    Grouping(GroupingKind): GroupingFacts, |it| it.key.listed_by();
    /// An object about a gang. Objects of a sort that was never listed are not asked for where pods
    /// name them for another scheduler.
    PodGroup(PodGroupKind): PodGroupFacts, |it| it.key.listed_by();
    /// A pod of a gang that ran to a good end. Only told if a pod waits for a gang to end.
    Succeeded: SucceededFacts, |it| it.uid.clone();
    /// A LocalQueue of Kueue.
    LocalQueue: LocalQueueFacts, |it| it.key();
    /// A ClusterQueue of Kueue.
    ClusterQueue: ClusterQueueFacts, |it| it.name.clone();
    /// A volume, a claim, or what decides where volumes can be used.
    Storage(StorageKind): StorageFacts, |it| it.name();
    /// A Job that is complete; others are not told. Only told if a pod waits for a gang to end.
    Job: JobFacts, |it| it.uid.clone();
    /// A NodeResourceTopology, by the name of its node.
    NodeResourceTopology: NodeResourceTopologyFacts, |it| it.node.clone();
    /// A ResourceSlice: devices that a driver tells of.
    ResourceSlice: ResourceSliceFacts, |it| it.name.clone();
    /// A ResourceClaim: devices that are allocated.
    ResourceClaim: ResourceClaimFacts, |it| it.key();
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// What it is.
    pub kind: Kind,
    /// Which of them: a name, a namespace and a name with a slash between them, or the uid of a
    /// pod.
    pub name: Box<str>,
}

impl Key {
    /// The key of an object.
    #[must_use]
    pub fn new(kind: Kind, name: impl Into<Box<str>>) -> Self {
        Self { kind, name: name.into() }
    }
}

impl From<GroupingKey> for Key {
    fn from(key: GroupingKey) -> Self {
        Self::new(Kind::Grouping(key.kind), key.listed_by())
    }
}

impl From<PodGroupKey> for Key {
    fn from(key: PodGroupKey) -> Self {
        Self::new(Kind::PodGroup(key.kind), key.listed_by())
    }
}
