//! Which nodes were met, without a table that has to be emptied.

use model::NodeId;

/// Nodes that were met since it last began.
#[derive(Default)]
pub(super) struct Seen {
    /// When each was last met.
    rounds: Vec<u32>,
    round: u32,
}

impl Seen {
    /// Begins with no node of so many places.
    pub(super) fn begin(&mut self, places: usize) {
        if self.round == u32::MAX {
            *self = Self::default();
        }
        self.round += 1;
        if self.rounds.len() < places {
            self.rounds.resize(places, 0);
        }
    }

    /// Adds a node; tells whether it is met for the first time.
    // Hot: once per touched node.
    #[inline]
    pub(super) fn insert(&mut self, node: NodeId) -> bool {
        std::mem::replace(&mut self.rounds[node.index()], self.round) != self.round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_new_once_per_round() {
        let mut seen = Seen { rounds: Vec::new(), round: u32::MAX - 1 };
        for places in [1, 1, 3] {
            seen.begin(places);
            let nodes = (0..places).chain(0..places).map(NodeId::at);
            assert_eq!(nodes.filter(|node| seen.insert(*node)).count(), places);
        }
    }
}
