//! What is left of every node, column by column, so that all nodes can be looked at in a few
//! nanoseconds each.
//!
//! Amounts are whole numbers in floats, which are exact: a node with an amount for which they would
//! not be, or without cpu or memory, is *odd*, its rows mean nothing, and it is asked by itself.

use std::ops::Range;

use super::Load;
use crate::catalog::Offer;
use crate::ids::NodeId;

/// Amounts below this, and a hundred times as much, are exact in a float.
pub const AMOUNT_MAX: i64 = 1 << 46;

/// Rows of nodes: of all, in the order of their places, or of some.
#[derive(Default)]
pub struct Columns {
    /// CPU.
    pub cpu: Levels,
    /// Memory.
    pub memory: Levels,
    /// Local storage that is free.
    pub ephemeral_free: Vec<f64>,
    /// How many more pods there may be.
    pub pods_free: Vec<f64>,
    /// 1 for a node without GPUs, 0 for one with some.
    pub plain: Vec<f64>,
}

/// Nodes whose rows mean nothing.
#[derive(Default)]
pub(super) struct Odd {
    is_odd: Vec<bool>,
    nodes: Vec<NodeId>,
}

/// What nodes have and have left of one resource.
#[derive(Default)]
pub struct Levels {
    /// What a node offers.
    pub offered: Vec<f64>,
    /// One divided by it.
    pub inverse: Vec<f64>,
    /// What is free of it.
    pub free: Vec<f64>,
    /// What is free of it as scores count.
    pub scored_free: Vec<f64>,
    /// Which share of it is taken, from 0 to 1.
    pub share: Vec<f64>,
}

impl Levels {
    fn all_mut(&mut self) -> [&mut Vec<f64>; 5] {
        let Self { offered, inverse, free, scored_free, share } = self;
        [offered, inverse, free, scored_free, share]
    }

    fn offer(&mut self, at: usize, offered: i64) {
        let offered = float(offered);
        self.offered[at] = offered;
        self.inverse[at] = 1.0 / offered;
    }

    // Hot: twice per placement.
    fn push(&mut self, from: &Self, at: usize) {
        let Self { offered, inverse, free, scored_free, share } = self;
        offered.push(from.offered[at]);
        inverse.push(from.inverse[at]);
        free.push(from.free[at]);
        scored_free.push(from.scored_free[at]);
        share.push(from.share[at]);
    }

    // Hot: twice per placement.
    fn load(&mut self, at: usize, taken: i64, scored: i64) {
        let (offered, taken) = (self.offered[at], float(taken));
        self.free[at] = offered - taken;
        self.scored_free[at] = offered - float(scored);
        // As plugins work it out that look at one node.
        self.share[at] = (taken / offered).min(1.0);
    }
}

impl Columns {
    fn all_mut(&mut self) -> impl Iterator<Item = &mut Vec<f64>> {
        let rest = [&mut self.ephemeral_free, &mut self.pods_free, &mut self.plain];
        self.cpu.all_mut().into_iter().chain(self.memory.all_mut()).chain(rest)
    }

    pub(super) fn resize(&mut self, rows: usize) {
        self.all_mut().for_each(|column| column.resize(rows, 0.0));
    }

    /// Adds a row of other columns at the end.
    // Hot: once per placement.
    pub(super) fn push(&mut self, from: &Self, at: usize) {
        self.cpu.push(&from.cpu, at);
        self.memory.push(&from.memory, at);
        self.ephemeral_free.push(from.ephemeral_free[at]);
        self.pods_free.push(from.pods_free[at]);
        self.plain.push(from.plain[at]);
    }

    pub(super) fn truncate(&mut self, rows: usize) {
        self.all_mut().for_each(|column| column.truncate(rows));
    }

    pub(super) fn drop_first(&mut self, rows: Range<usize>) {
        self.all_mut().for_each(|column| drop(column.drain(rows.clone())));
    }

    /// Takes in what a node offers, and what is taken of it.
    pub(super) fn set(&mut self, node: NodeId, offer: &Offer, load: &Load, has_gpus: bool) {
        self.plain[node.index()] = if has_gpus { 0.0 } else { 1.0 };
        self.cpu.offer(node.index(), offer.amounts.cpu);
        self.memory.offer(node.index(), offer.amounts.memory);
        self.set_load(node, offer, load);
    }

    /// Takes in what is taken of a node.
    // Hot: once per placement.
    pub(super) fn set_load(&mut self, node: NodeId, offer: &Offer, load: &Load) {
        let at = node.index();
        self.cpu.load(at, load.cpu, load.scored_cpu);
        self.memory.load(at, load.memory, load.scored_memory);
        self.ephemeral_free[at] = float(offer.amounts.ephemeral.wrapping_sub(load.ephemeral));
        self.pods_free[at] = float(offer.pods_max.wrapping_sub(load.pods));
    }
}

impl Odd {
    /// In order.
    pub(super) fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.is_odd[node.index()]
    }

    pub(super) fn resize(&mut self, places: usize) {
        self.is_odd.resize(places, false);
    }

    // Hot: once per placement.
    pub(super) fn set(&mut self, node: NodeId, offer: &Offer, load: &Load) {
        let is_odd = is_odd(offer, load);
        if is_odd != self.is_odd[node.index()] {
            self.is_odd[node.index()] = is_odd;
            match self.nodes.binary_search(&node) {
                Ok(at) => drop(self.nodes.remove(at)),
                Err(at) => self.nodes.insert(at, node),
            }
        }
    }
}

fn is_odd(offer: &Offer, load: &Load) -> bool {
    let amounts = &offer.amounts;
    let all = amounts.cpu
        | amounts.memory
        | amounts.ephemeral
        | offer.pods_max
        | load.cpu
        | load.memory
        | load.ephemeral
        | load.scored_cpu
        | load.scored_memory;
    // A negative number has its highest bit set.
    !(0..AMOUNT_MAX).contains(&all) || amounts.cpu == 0 || amounts.memory == 0
}

#[expect(clippy::cast_precision_loss, reason = "amounts of nodes that are not odd are exact")]
fn float(amount: i64) -> f64 {
    amount as f64
}
