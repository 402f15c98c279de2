//! How much is kept, and how much was looked at.

use super::Catalog;
use crate::looks::Looks;

impl Catalog {
    /// How much is kept of what users name.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        let (keys, key_places) = self.domains.size();
        Sizes {
            symbols: self.symbols.count(),
            resources: self.resources.count(),
            images: self.nodes.images(),
            keys,
            key_places,
            tenants: self.tenants.count(),
        }
    }

    /// How much was looked at so far, by the catalog and by whoever reads it: what an event costs,
    /// whatever the machine. A look is a node that a plugin is asked about or that is added up, a
    /// selector that is matched, or a pod or a part of a gang that is walked past.
    #[must_use]
    pub fn looks(&self) -> u64 {
        let parts = [&self.looks, &self.domains.looks, &self.crowds.looks, &self.gangs.looks];
        parts.into_iter().map(Looks::count).sum()
    }

    /// Counts looks.
    #[inline]
    pub fn look(&self, looks: usize) {
        self.looks.add(looks);
    }
}

/// How much is kept of what users name: it grows and shrinks with what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Strings.
    pub symbols: usize,
    /// Resource names.
    pub resources: usize,
    /// Images that nodes have.
    pub images: usize,
    /// Topology keys that rules speak of.
    pub keys: usize,
    /// Nodes that are listed for these keys.
    pub key_places: usize,
    /// Namespaces that have pods on nodes.
    pub tenants: usize,
}
