//! Super-islands: nodes that reach each other well. Jobs of several whole nodes need them.

use super::room::ROOM_SIZES;
use crate::catalog::Node;
use crate::map::Map;
use crate::symbol::{Symbol, Symbols};

/// Labels whose value the nodes of a super-island share, the nearest first. The first that a node
/// has counts.
const KEYS: [&str; 5] = [
    "nvidia.com/gpu.clique",
    "gpu.kubenexus.io/clique",
    "topology.kubernetes.io/switch",
    "topology.kubernetes.io/rack",
    "network.kubenexus.io/rack-id",
];

/// How large the jobs are that the whole nodes of each super-island have room for. Only those with
/// room for two nodes or more are kept, by label and value.
#[derive(Default)]
pub(crate) struct SuperIslands {
    levels: Map<(Symbol, Symbol), u8>,
}

/// A super-island by label and value, with its level, as it is written down.
pub(crate) type Written = (Box<str>, Box<str>, u8);

fn of_node(node: &Node, symbols: &Symbols) -> Option<(Symbol, Symbol)> {
    let mut keys = KEYS.iter().filter_map(|key| symbols.find(key));
    keys.find_map(|key| Some((key, node.label(key)?)))
}

impl SuperIslands {
    /// Counts nodes all of whose GPUs are free.
    pub(crate) fn new<'a>(whole: impl Iterator<Item = &'a Node>, symbols: &Symbols) -> Self {
        let mut counts: Map<(Symbol, Symbol), u32> = Map::default();
        for group in whole.filter_map(|node| of_node(node, symbols)) {
            *counts.entry(group).or_default() += 1;
        }
        let level = |count: u32| {
            ROOM_SIZES.iter().fold(0, |sum, size| sum + u8::from(*size > 1 && count >= *size))
        };
        let levels = counts.into_iter().map(|(group, count)| (group, level(count)));
        Self { levels: levels.filter(|(_, level)| *level > 0).collect() }
    }

    /// How many sizes of jobs of several nodes the super-island of a node has room for.
    pub(crate) fn level(&self, node: &Node, symbols: &Symbols) -> u8 {
        if self.levels.is_empty() {
            return 0;
        }
        let level = of_node(node, symbols).and_then(|group| self.levels.get(&group));
        level.copied().unwrap_or(0)
    }

    pub(crate) fn differ(&self, other: &Self) -> bool {
        self.levels != other.levels
    }

    /// Keeps labels and values, which may be forgotten otherwise and stand for something else.
    pub(crate) fn hold(&self, symbols: &mut Symbols) {
        for (key, value) in self.levels.keys() {
            symbols.hold_again(*key);
            symbols.hold_again(*value);
        }
    }

    pub(crate) fn release(self, symbols: &mut Symbols) {
        symbols.release_all(self.levels.into_keys().flat_map(|(key, value)| [key, value]));
    }

    /// As it is written down, in order.
    pub(crate) fn written(&self, symbols: &Symbols) -> Vec<Written> {
        let text = |symbol: Symbol| Box::from(symbols.text(symbol));
        let entries = self.levels.iter();
        let mut all: Vec<_> =
            entries.map(|((key, value), level)| (text(*key), text(*value), *level)).collect();
        all.sort_unstable();
        all
    }

    /// From what was written down; labels and values are kept as by [`Self::hold`].
    pub(crate) fn read(written: &[Written], symbols: &mut Symbols) -> Self {
        let mut entry =
            |(key, value, level): &Written| ((symbols.hold(key), symbols.hold(value)), *level);
        Self { levels: written.iter().map(&mut entry).collect() }
    }
}
