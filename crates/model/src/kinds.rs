//! The kinds of objects that are known: the only list of them.

use serde::{Deserialize, Serialize};

use crate::event::{
    BudgetFacts, ClusterQueueFacts, LocalQueueFacts, NamespaceFacts, NodeFacts, PodFacts,
};
use crate::gang::{PodGroupFacts, PodGroupKey, PodGroupKind, SucceededFacts};
use crate::grouping::{GroupingFacts, GroupingKey, GroupingKind};

/// Facts of a kind of object.
trait Object {
    /// What it is.
    fn kind(&self) -> Kind;

    /// What it is listed by among its kind.
    fn name(&self) -> Box<str>;
}

/// Makes [`Kind`] and [`Fact`] from a list of kinds, each with its facts; a kind that is several
/// says of which sort an object is.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident$(($sort:ty))?: $facts:ty,)*) => {
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
                    $(Self::$kind(facts) => Object::kind(&**facts),)*
                }
            }

            /// Which object it is about.
            #[must_use]
            pub fn key(&self) -> Key {
                match self {
                    $(Self::$kind(facts) => {
                        Key { kind: Object::kind(&**facts), name: Object::name(&**facts) }
                    })*
                }
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
    Node: NodeFacts,
    /// A pod.
    Pod: PodFacts,
    /// A namespace.
    Namespace: NamespaceFacts,
    /// A disruption budget.
    Budget: BudgetFacts,
    /// A service or a controller.
    Grouping(GroupingKind): GroupingFacts,
    /// An object about a gang. Objects of a sort that was never listed are not asked for where pods
    /// name them for another scheduler.
    PodGroup(PodGroupKind): PodGroupFacts,
    /// A pod of a gang that ran to a good end. Only told if a pod waits for a gang to end.
    Succeeded: SucceededFacts,
    /// A LocalQueue of Kueue.
    LocalQueue: LocalQueueFacts,
    /// A ClusterQueue of Kueue.
    ClusterQueue: ClusterQueueFacts,
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

impl Object for NodeFacts {
    fn kind(&self) -> Kind {
        Kind::Node
    }

    fn name(&self) -> Box<str> {
        self.name.as_str().into()
    }
}

impl Object for PodFacts {
    fn kind(&self) -> Kind {
        Kind::Pod
    }

    fn name(&self) -> Box<str> {
        self.key.uid.clone()
    }
}

impl Object for NamespaceFacts {
    fn kind(&self) -> Kind {
        Kind::Namespace
    }

    fn name(&self) -> Box<str> {
        self.name.clone()
    }
}

impl Object for BudgetFacts {
    fn kind(&self) -> Kind {
        Kind::Budget
    }

    fn name(&self) -> Box<str> {
        self.key()
    }
}

impl Object for GroupingFacts {
    fn kind(&self) -> Kind {
        Kind::Grouping(self.key.kind)
    }

    fn name(&self) -> Box<str> {
        self.key.listed_by()
    }
}

impl Object for PodGroupFacts {
    fn kind(&self) -> Kind {
        Kind::PodGroup(self.key.kind)
    }

    fn name(&self) -> Box<str> {
        self.key.listed_by()
    }
}

impl Object for SucceededFacts {
    fn kind(&self) -> Kind {
        Kind::Succeeded
    }

    fn name(&self) -> Box<str> {
        self.uid.clone()
    }
}

impl Object for LocalQueueFacts {
    fn kind(&self) -> Kind {
        Kind::LocalQueue
    }

    fn name(&self) -> Box<str> {
        self.key()
    }
}

impl Object for ClusterQueueFacts {
    fn kind(&self) -> Kind {
        Kind::ClusterQueue
    }

    fn name(&self) -> Box<str> {
        self.name.clone()
    }
}
