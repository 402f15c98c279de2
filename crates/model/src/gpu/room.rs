//! How many jobs that want several GPUs, or several whole nodes, would fit now.

use std::collections::BTreeMap;

use crate::catalog::Catalog;
use crate::symbol::Symbol;
use crate::usage::Usage;

/// The sizes that are asked about: GPUs of one island, or whole nodes.
pub const ROOM_SIZES: [u32; 4] = [1, 2, 4, 8];
/// Labels that name the rack of a node; the first that a node has counts.
const RACKS: [&str; 2] = ["topology.kubernetes.io/rack", "network.kubenexus.io/rack-id"];

/// How many jobs of each of [`ROOM_SIZES`] would fit, one beside the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuRoom {
    /// Pods of so many GPUs that reach each other well.
    pub gpus: [u64; ROOM_SIZES.len()],
    /// Jobs of so many nodes whose GPUs are all free.
    pub nodes: [u64; ROOM_SIZES.len()],
    /// The same with all nodes in one rack.
    pub nodes_of_rack: [u64; ROOM_SIZES.len()],
}

impl GpuRoom {
    /// Counts all nodes. Nodes that are closed to new pods have no room.
    #[must_use]
    pub fn new(catalog: &Catalog, usage: &Usage) -> Self {
        let keys: Vec<Symbol> =
            RACKS.iter().filter_map(|key| catalog.symbols().find(key)).collect();
        let mut room = Self::default();
        let (mut whole, mut of_rack) = (0, BTreeMap::<Symbol, u64>::new());
        for node in catalog.nodes() {
            let pools = usage.gpus(*node);
            let facts = catalog.node(*node);
            if pools.is_empty() || facts.is_closed {
                continue;
            }
            for pool in pools {
                for island in pool.layout().islands() {
                    let free = (pool.free() & island).count_ones();
                    room.gpus.iter_mut().zip(ROOM_SIZES).for_each(|(sum, size)| {
                        *sum += u64::from(free / size);
                    });
                }
            }
            if usage.is_whole(catalog, *node) {
                whole += 1;
                let rack = keys.iter().find_map(|key| facts.label(*key));
                rack.into_iter().for_each(|rack| *of_rack.entry(rack).or_default() += 1);
            }
        }
        for (at, size) in ROOM_SIZES.into_iter().enumerate() {
            room.nodes[at] = whole / u64::from(size);
            room.nodes_of_rack[at] = of_rack.values().map(|nodes| nodes / u64::from(size)).sum();
        }
        room
    }
}
