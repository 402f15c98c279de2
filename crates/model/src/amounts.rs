//! Amounts of resources: what a pod asks for, what it is charged with, what a node offers.

use serde::{Deserialize, Serialize};

use crate::ids::ResourceId;

/// Amounts per resource. `R` names the counted resources: a string in facts, an id in the catalog.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Amounts<R> {
    /// Thousandths of a CPU.
    pub cpu: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of local storage.
    pub ephemeral: i64,
    /// Everything else that is counted, sorted by name, each name once.
    pub scalars: Box<[(R, i64)]>,
}

impl<R> Default for Amounts<R> {
    fn default() -> Self {
        Self { cpu: 0, memory: 0, ephemeral: 0, scalars: Box::default() }
    }
}

impl<R> Amounts<R> {
    /// The same amounts under other names.
    pub fn renamed<S>(&self, mut name: impl FnMut(&R) -> S) -> Amounts<S> {
        Amounts {
            cpu: self.cpu,
            memory: self.memory,
            ephemeral: self.ephemeral,
            scalars: self
                .scalars
                .iter()
                .map(|(resource, amount)| (name(resource), *amount))
                .collect(),
        }
    }
}

impl<R: PartialEq> Amounts<R> {
    /// The amount of a counted resource, if it is named at all.
    pub fn scalar(&self, resource: &R) -> Option<i64> {
        self.scalars.iter().find(|(name, _)| name == resource).map(|(_, amount)| *amount)
    }
}

impl Amounts<String> {
    /// Everything that is not nothing, by name, in units of its own.
    pub fn named(&self) -> impl Iterator<Item = (&str, i64)> {
        let fixed =
            [("cpu", self.cpu), ("memory", self.memory), ("ephemeral-storage", self.ephemeral)];
        let scalars = self.scalars.iter().map(|(name, amount)| (&**name, *amount));
        fixed.into_iter().chain(scalars).filter(|(_, amount)| *amount != 0)
    }
}

impl Amounts<ResourceId> {
    /// The amount of a resource.
    #[must_use]
    pub fn of(&self, resource: ResourceId) -> i64 {
        match resource {
            ResourceId::CPU => self.cpu,
            ResourceId::MEMORY => self.memory,
            ResourceId::EPHEMERAL => self.ephemeral,
            other => self.scalar(&other).unwrap_or(0),
        }
    }
}

/// What a pod takes of the node it is on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Charge<R> {
    /// What is taken of each resource, a resize under way included.
    pub amounts: Amounts<R>,
    /// CPU as scores count it: containers that ask for none count as 100 thousandths.
    pub scored_cpu: i64,
    /// Memory as scores count it: containers that ask for none count as 200 MiB.
    pub scored_memory: i64,
}

impl<R> Default for Charge<R> {
    fn default() -> Self {
        Self { amounts: Amounts::default(), scored_cpu: 0, scored_memory: 0 }
    }
}

/// All amounts of a pod. They differ only for pods that are being resized, that set resources for
/// the pod as a whole, or that leave requests out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Requests<R> {
    /// What a node must have free.
    pub fit: Amounts<R>,
    /// What the pod takes once it is on a node.
    pub charge: Charge<R>,
    /// What scores of fullness add for the pod: its containers alone, with defaults for cpu and
    /// memory where a container asks for none.
    pub fullness: Amounts<R>,
}

impl<R> Default for Requests<R> {
    fn default() -> Self {
        Self { fit: Amounts::default(), charge: Charge::default(), fullness: Amounts::default() }
    }
}

impl<R> Requests<R> {
    /// The same amounts under other names.
    pub fn renamed<S>(&self, mut name: impl FnMut(&R) -> S) -> Requests<S> {
        Requests {
            fit: self.fit.renamed(&mut name),
            charge: Charge {
                amounts: self.charge.amounts.renamed(&mut name),
                scored_cpu: self.charge.scored_cpu,
                scored_memory: self.charge.scored_memory,
            },
            fullness: self.fullness.renamed(&mut name),
        }
    }
}
